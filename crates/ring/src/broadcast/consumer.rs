//! A consumer: a stage by itself, or a member of a group.

use super::Batch;
use super::ring::{Ring, Stage};
use crate::PopError;
use crate::notifier::{Notifier, Silent};
use crate::position::{Cursor, Mark, Position};
use alloc::vec::Vec;
use core::fmt;
use uncontended_atomic::Arc;
use uncontended_atomic::CachePadded;
use uncontended_atomic::Ordering::{AcqRel, Relaxed, Release};

/// The consumers of a broadcast; take each by the name of its stage. **While this lives, the producer waits for those
/// that have not been taken**, and a ring that they do not read fills up. The ones left when this is dropped have gone:
/// the producer does not wait for them, and stages that follow them see nothing.
///
/// ```
/// use uncontended_ring::broadcast::Plan;
///
/// let (_producer, mut consumers) = Plan::new(4).group("workers", 2, &[]).polling::<u32>()?;
/// let workers: Vec<_> = std::iter::from_fn(|| consumers.take("workers")).collect();
/// assert_eq!(workers.len(), 2);
/// assert!(consumers.take("idlers").is_none());
/// # Ok::<(), uncontended_ring::broadcast::PlanError>(())
/// ```
pub struct Consumers<T, N: Notifier = Silent>(Vec<Consumer<T, N>>);

impl<T, N: Notifier> Consumers<T, N> {
    /// # Safety
    /// The ring is new, and there are no other consumers (I4).
    pub(super) unsafe fn new(ring: &Arc<Ring<T, N>>) -> Consumers<T, N> {
        let readers = |index: usize| (0..ring.stages[index].readers()).map(move |m| (index, m));
        let all = (0..ring.stages.len()).flat_map(readers);
        let consumer = |(stage, member)| Consumer {
            ring: Arc::clone(ring),
            stage,
            member,
            from: Position::new(0),
            to: Position::new(0),
            reach: Mark::START,
        };
        Consumers(all.map(consumer).collect())
    }

    /// Takes the consumer of the stage of this name, or the next member of the group. `None`: there is no such stage,
    /// or all its consumers have been taken.
    #[doc(alias = "subscribe")]
    pub fn take(&mut self, stage: &str) -> Option<Consumer<T, N>> {
        let index = self.0.iter().position(|consumer| consumer.stage().name == stage)?;
        Some(self.0.remove(index))
    }
}

impl<T, N: Notifier> fmt::Debug for Consumers<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

/// A consumer: a stage by itself, or a member of a group. It cannot be cloned.
///
/// ```
/// use uncontended_ring::PopError;
/// use uncontended_ring::broadcast::Plan;
///
/// let plan = Plan::new(8).consumer("journal", &[]).consumer("apply", &["journal"]);
/// let (mut producer, mut consumers) = plan.polling()?;
/// let (mut journal, mut apply) = (consumers.take("journal").unwrap(), consumers.take("apply").unwrap());
/// producer.push("order")?;
/// assert_eq!(apply.read(1).err(), Some(PopError::Empty)); // it is not in the journal yet
/// journal.read(1)?.release();
/// assert_eq!(apply.read(1)?.iter().next(), Some(&"order"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[repr(align(128))]
#[doc(alias = "Receiver")]
pub struct Consumer<T, N: Notifier = Silent> {
    pub(super) ring: Arc<Ring<T, N>>,
    pub(super) stage: usize,
    member: usize,
    /// The range of values that this consumer has and has not released.
    pub(super) from: Position,
    pub(super) to: Position,
    /// For a member: the last load of how far its group may read.
    reach: Mark,
}

impl<T, N: Notifier> Consumer<T, N> {
    /// The oldest values that this consumer has not released, at most `most` (0 counts as 1). A member of a group
    /// claims up to `most` values for itself.
    ///
    /// **A batch that is not released is returned again by the next read**: a loop that releases none reads the same
    /// values forever, and the producer waits for it. [`pop`](Self::pop), and `for value in batch`, release by
    /// themselves.
    ///
    /// # Errors
    /// There is no value now, or there will never be one.
    #[inline]
    pub fn read(&mut self, most: usize) -> Result<Batch<'_, T, N>, PopError> {
        let len = self.find(most)?;
        Ok(Batch { consumer: self, len })
    }

    /// Clones the oldest value out, and releases it.
    ///
    /// ```
    /// use uncontended_ring::{PopError, broadcast::Plan};
    ///
    /// let (mut producer, mut consumers) = Plan::new(1).consumer("a", &[]).consumer("b", &[]).polling()?;
    /// let (mut a, mut b) = (consumers.take("a").unwrap(), consumers.take("b").unwrap());
    /// producer.push("news")?;
    /// assert_eq!((a.pop(), a.pop(), b.pop()), (Ok("news"), Err(PopError::Empty), Ok("news")));
    /// assert_eq!(producer.push("more"), Ok(()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is no value now, or there will never be one.
    #[inline]
    #[doc(alias = "try_recv")]
    pub fn pop(&mut self) -> Result<T, PopError>
    where
        T: Clone,
    {
        let mut batch = self.read(1)?.into_iter();
        Ok(batch.next().expect("a batch is never empty"))
    }

    /// Makes sure that there is a value to read. Returns how many there are, up to `most`.
    #[inline]
    pub(super) fn find(&mut self, most: usize) -> Result<usize, PopError> {
        let most = most.max(1) as u64;
        if self.from == self.to {
            match self.held() {
                None => self.look()?,
                Some(_) => self.claim(most)?,
            }
        }
        Ok(self.to.since(self.from).min(most) as usize)
    }

    /// Loads how far a single consumer may read.
    #[inline]
    fn look(&mut self) -> Result<(), PopError> {
        let reach = self.ring.reach(self.stage());
        if reach.position() > self.to {
            self.to = reach.position();
            return Ok(());
        }
        Err(none_before(reach))
    }

    /// Claims values for a member of a group.
    fn claim(&mut self, most: u64) -> Result<(), PopError> {
        loop {
            let front = self.stage().front.load(Relaxed).position();
            if front >= self.reach.position() {
                self.reach = self.ring.reach(self.stage());
                if front >= self.reach.position() {
                    return Err(none_before(self.reach));
                }
            }
            let to = front.plus(self.reach.position().since(front).min(most));
            if self.hold_and_claim(front, to) {
                (self.from, self.to) = (front, to);
                return Ok(());
            }
        }
    }

    /// Stores what this member is about to hold, then claims it (I3). If another member was faster, takes `held` back
    /// and notifies all, since it may have held up others for a moment.
    fn hold_and_claim(&self, front: Position, to: Position) -> bool {
        let (stage, held) = (self.stage(), self.held().expect("only a member of a group claims"));
        // EDGE broadcast-release (release): this member's earlier reads. EDGE broadcast-claim carries this store on.
        held.store(front, Release);
        // EDGE broadcast-claim (release): a side that sees this claim sees `held`.
        let is_claimed = stage.front.advance(front, to, Release);
        if !is_claimed {
            // EDGE broadcast-release (release): this member holds nothing.
            held.store(Position::END, Release);
            self.notify_all();
        }
        is_claimed
    }

    #[inline]
    pub(super) fn stage(&self) -> &Stage {
        &self.ring.stages[self.stage]
    }

    /// The cursor in which a member of a group announces what it holds.
    #[inline]
    pub(super) fn held(&self) -> Option<&CachePadded<Cursor>> {
        self.stage().held.get(self.member)
    }

    /// Notifies the sides that wait for this consumer that it released `count` values.
    #[inline]
    pub(super) fn notify(&self, count: u64) {
        self.ring.room.notify();
        if self.stage().is_followed {
            match self.held() {
                None => self.ring.notify_readers(count),
                // Values that other members released earlier may become readable too, so the number is unknown.
                Some(_) => self.ring.notify_all_readers(),
            }
        }
    }

    /// Notifies them that this consumer holds nothing or has gone.
    fn notify_all(&self) {
        self.ring.room.notify();
        if self.stage().is_followed {
            self.ring.notify_all_readers();
        }
    }

    /// The name of its stage.
    pub fn name(&self) -> &str {
        &self.stage().name
    }

    /// How many published values its stage has not released yet (a group: not claimed).
    pub fn lag(&self) -> usize {
        let published = self.ring.published.load(Relaxed).position();
        let front = self.stage().front.load(Relaxed).position();
        // A group's `front` may be newer than this load of `published`.
        published.max(front).since(front) as usize
    }

    /// Whether the producer has gone. The values that it left can still be read.
    pub fn is_closed(&self) -> bool {
        self.ring.published.load(Relaxed).is_gone()
    }
}

/// Why nothing can be read past `reach`.
fn none_before(reach: Mark) -> PopError {
    if reach.is_gone() { PopError::Closed } else { PopError::Empty }
}

impl<T, N: Notifier> Drop for Consumer<T, N> {
    fn drop(&mut self) {
        let stage = self.stage();
        // EDGE broadcast-release (release): all reads of this consumer.
        match self.held() {
            None => stage.front.store_gone(self.from, Release),
            Some(held) => {
                let holds = if self.from == self.to { Position::END } else { self.from };
                held.store_gone(holds, Release);
                // EDGE broadcast-last (acq-rel): the last member sees where the others moved `front`.
                if stage.living.fetch_sub(1, AcqRel) == 1 {
                    // EDGE broadcast-release (release): no member will claim more.
                    stage.front.store_gone(stage.front.load(Relaxed).position(), Release);
                }
            }
        }
        // Relaxed: a plain count. The cursors carry the reads.
        if self.ring.living.fetch_sub(1, Relaxed) == 1 {
            self.ring.values.go();
        }
        self.notify_all();
    }
}

impl<T, N: Notifier> fmt::Debug for Consumer<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("stage", &self.name()).finish_non_exhaustive()
    }
}
