//! A consumer. The header of [`group`](super) has the invariants and the edges.

use super::Group;
use super::lane::{Lane, Miss};
use crate::PopError;
use crate::lanes::QUANTUM;
use crate::notifier::{Notifier, Silent, Sleeping};
use std::fmt;
use std::time::Duration;
use uncontended_atomic::Arc;
use uncontended_atomic::Ordering::{Acquire, Relaxed};
use uncontended_wait::Deadline;

/// A consumer: a side that pops, and shares the values with its clones.
///
/// ```
/// use uncontended_ring::{PopError, lanes::group};
/// let (mut producer, mut consumer) = group::ring(2, 4)?;
/// let mut another = consumer.clone();
/// assert_eq!(consumer.pop(), Err(PopError::Empty));
/// producer.push(1).unwrap();
/// drop(producer);
/// assert_eq!((another.pop(), consumer.pop()), (Ok(1), Err(PopError::Closed)));
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
#[doc(alias = "Receiver")]
pub struct Consumer<T, N: Notifier = Silent> {
    group: Arc<Group<T, N>>,
    turn: Turn,
}

/// The lane that a consumer takes from, and how many more values in a row.
struct Turn {
    at: usize,
    left: u64,
}

impl Turn {
    /// Takes values of the lane whose turn it is, or of the next one that has some. `take` gets a lane and the most
    /// that it may take there, and returns how many it took.
    #[inline(always)]
    fn take<T, N, R>(
        &mut self,
        group: &Group<T, N>,
        mut take: impl FnMut(&Lane<T, N>, u64) -> Result<(R, u64), Miss>,
    ) -> Result<R, PopError> {
        if self.left > 0
            && let Ok((taken, count)) = take(&group.lanes[self.at], self.left)
        {
            self.left -= count;
            return Ok(taken);
        }
        self.search(group, take)
    }

    /// Continues with the next lane that has a value: after all others, with this one.
    #[cold]
    fn search<T, N, R>(
        &mut self,
        group: &Group<T, N>,
        mut take: impl FnMut(&Lane<T, N>, u64) -> Result<(R, u64), Miss>,
    ) -> Result<R, PopError> {
        loop {
            // EDGE group-end (acquire): if all producers have gone, this round sees all that they left.
            let has_ended = group.ended.load(Acquire) != 0;
            let used = group.used.load(Relaxed);
            let mut has_lost = false;
            for _ in 0..used {
                self.at = if self.at + 1 < used { self.at + 1 } else { 0 };
                match take(&group.lanes[self.at], u64::from(QUANTUM)) {
                    Ok((taken, count)) => {
                        self.left = u64::from(QUANTUM) - count;
                        return Ok(taken);
                    }
                    Err(Miss::Lost) => has_lost = true,
                    Err(Miss::Empty) => {}
                }
            }
            // A lane where others were faster may have more.
            if !has_lost {
                return Err(if has_ended { PopError::Closed } else { PopError::Empty });
            }
        }
    }

    #[inline(always)]
    fn pop<T, N: Notifier>(&mut self, group: &Group<T, N>) -> Result<T, PopError> {
        self.take(group, |lane, _| Ok((lane.take()?, 1)))
    }
}

impl<T, N: Notifier> Consumer<T, N> {
    pub(super) fn first(group: Arc<Group<T, N>>) -> Consumer<T, N> {
        Consumer { group, turn: Turn { at: 0, left: u64::from(QUANTUM) } }
    }

    /// Pops the oldest value of a lane.
    ///
    /// # Errors
    /// There is no value now, or there will never be one.
    #[inline(always)]
    #[doc(alias = "try_recv")]
    pub fn pop(&mut self) -> Result<T, PopError> {
        self.turn.pop(&self.group)
    }

    /// Pops up to `most` values and appends them to `into`, and returns their number. Values of one lane that follow
    /// each other are claimed together.
    ///
    /// # Errors
    /// There is no value, as for [`pop`](Consumer::pop).
    #[doc(alias = "try_iter")]
    pub fn pop_into(&mut self, into: &mut Vec<T>, most: usize) -> Result<usize, PopError> {
        let mut count = 0;
        while count < most {
            let take = |lane: &Lane<T, N>, turn: u64| {
                let taken = lane.take_into(into, turn.min((most - count) as u64))?;
                Ok((taken, taken))
            };
            match self.turn.take(&self.group, take) {
                Ok(taken) => count += taken as usize,
                Err(error) if count == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(count)
    }

    /// How many values are in the lanes; others may change that at once. It looks at each value's slot.
    pub fn len(&self) -> usize {
        self.group.lanes.iter().map(Lane::len).sum()
    }

    /// Whether there is none; others may change that at once.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The capacity of a lane, in values.
    pub fn capacity(&self) -> usize {
        self.group.lanes[0].capacity as usize
    }

    /// Whether all producers have gone. The values that they left can still be popped.
    pub fn is_closed(&self) -> bool {
        self.group.ended.load(Relaxed) != 0
    }
}

impl<T, N: Sleeping> Consumer<T, N> {
    /// Pops the oldest value of a lane. Sleeps until there is one. `None`: there will never be one.
    #[inline(always)]
    #[doc(alias = "recv")]
    pub fn pop_wait(&mut self) -> Option<T> {
        loop {
            match self.pop_deadline(Deadline::NEVER) {
                Ok(value) => return Some(value),
                Err(PopError::Closed) => return None,
                Err(PopError::Empty) => {}
            }
        }
    }

    /// Like [`pop_wait`](Self::pop_wait), but gives up at `deadline`.
    ///
    /// # Errors
    /// There is still no value, or there will never be one.
    #[inline(always)]
    pub fn pop_deadline(&mut self, deadline: impl Into<Deadline>) -> Result<T, PopError> {
        match self.pop() {
            Err(PopError::Empty) => self.sleep_and_pop(deadline.into()),
            done => done,
        }
    }

    /// Like [`pop_wait`](Self::pop_wait), but gives up after `time`.
    ///
    /// # Errors
    /// As for [`pop_deadline`](Self::pop_deadline).
    #[doc(alias = "recv_timeout")]
    pub fn pop_timeout(&mut self, time: Duration) -> Result<T, PopError> {
        self.pop_deadline(Deadline::after(time))
    }

    /// Sleeps until this consumer has popped a value (one that it only saw, another may pop), or there never will be
    /// one.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn sleep_and_pop(&mut self, deadline: Deadline) -> Result<T, PopError> {
        let Consumer { group, turn } = self;
        let look = || match turn.pop(group) {
            Err(PopError::Empty) => None,
            done => Some(done),
        };
        let popped = group.values.sleepers().sleep_until_deadline(look, deadline);
        popped.unwrap_or(Err(PopError::Empty))
    }
}

impl<T, N: Notifier> Clone for Consumer<T, N> {
    /// Another consumer, which starts at another lane.
    fn clone(&self) -> Consumer<T, N> {
        // Relaxed: a plain count, which is not zero while this consumer lives.
        let before = self.group.consumers.fetch_add(1, Relaxed);
        let turn = Turn { at: before % self.group.lanes.len(), left: u64::from(QUANTUM) };
        Consumer { group: Arc::clone(&self.group), turn }
    }
}

impl<T, N: Notifier> Drop for Consumer<T, N> {
    fn drop(&mut self) {
        // Relaxed: a plain count. The marks carry the reads.
        if self.group.consumers.fetch_sub(1, Relaxed) == 1 {
            self.group.values.go();
            let last = Last(&self.group);
            while std::mem::needs_drop::<T>() && self.turn.pop(last.0).is_ok() {}
        }
    }
}

/// Wakes the producers when it is dropped, even if the drop of a queued value panics.
struct Last<'c, T, N: Notifier>(&'c Group<T, N>);

impl<T, N: Notifier> Drop for Last<'_, T, N> {
    fn drop(&mut self) {
        self.0.lanes.iter().for_each(|lane| lane.room.notify());
    }
}

impl<T, N: Notifier> fmt::Debug for Consumer<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("lanes", &self.group.lanes.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

// SAFETY: the notifier lies in the group, which this side keeps (I6).
#[cfg(feature = "async")]
unsafe impl<T, N: Sleeping> crate::tasks::Source for Consumer<T, N> {
    type Item = T;

    fn sleepers(&self) -> &uncontended_wait::Sleepers {
        self.group.values.sleepers()
    }

    fn take(&mut self) -> Result<T, PopError> {
        self.pop()
    }
}
