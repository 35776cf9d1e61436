//! The shared state of a broadcast, and how far each stage lets others go.
//!
//! The header of [`broadcast`](super) has the invariants and the edges.

use super::plan::{Checked, Plan, Readers};
use super::{Consumers, PlanError, Producer};
use crate::notifier::{Listeners, Notifier, Silent};
use crate::position::{Cursor, Mark, Position};
use crate::slots::{Slot, Slots};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use uncontended_atomic::CachePadded;
use uncontended_atomic::Ordering::{Acquire, Relaxed};
use uncontended_atomic::{Arc, AtomicU64, AtomicUsize, Named};

/// All sides of a broadcast.
pub type Sides<T, N = Silent> = (Producer<T, N>, Consumers<T, N>);

/// The state that all sides share.
pub(super) struct Ring<T, N> {
    pub(super) published: CachePadded<Cursor>,
    /// Notifiers for single consumers, which wait for values, and for the producer, which waits for room.
    pub(super) values: CachePadded<Listeners<N>>,
    pub(super) room: CachePadded<N>,
    /// For the members of each group: a value is for one of them.
    groups: Box<[CachePadded<N>]>,
    pub(super) stages: Box<[Stage]>,
    /// The number of consumers that have not gone.
    pub(super) living: AtomicUsize,
    pub(super) slots: Slots<Slot<T>>,
    pub(super) capacity: u64,
    /// The number of positions written; stored when the producer is dropped (I5).
    pub(super) written: AtomicU64,
}

/// A single consumer, or a group.
pub(super) struct Stage {
    pub(super) name: String,
    pub(super) front: CachePadded<Cursor>,
    /// The position that each member holds; empty for a single consumer.
    pub(super) held: Box<[CachePadded<Cursor>]>,
    /// Its index among the groups.
    group: Option<usize>,
    /// The number of members that have not gone.
    pub(super) living: AtomicUsize,
    /// The stages that this one follows.
    after: Box<[usize]>,
    pub(super) is_followed: bool,
}

impl Plan {
    /// Builds the broadcast. Its sides poll.
    ///
    /// # Errors
    /// The plan is invalid, or its capacity exceeds the available memory.
    pub fn polling<T: Send + Sync>(&self) -> Result<Sides<T>, PlanError> {
        self.build(|| Silent)
    }

    /// Builds the broadcast. `readers` makes a notifier for single consumers, and one for each group.
    pub(super) fn build<T: Send + Sync, N: Notifier>(
        &self,
        readers: impl Fn() -> N,
    ) -> Result<Sides<T, N>, PlanError> {
        let stages = self.check()?;
        let slots = Slots::new(self.capacity, |_| Slot::new()).map_err(PlanError::Capacity)?;
        let mut groups = Vec::new();
        let stages = stages.into_iter().map(|stage| {
            let is_group = stage.readers != Readers::One;
            let group = is_group.then_some(groups.len());
            groups.extend(is_group.then(|| CachePadded::new(readers())));
            Stage::new(stage, group)
        });
        let stages: Box<[Stage]> = stages.collect();
        let living = AtomicUsize::new(stages.iter().map(Stage::readers).sum()).named("living");
        let ring = Arc::new(Ring {
            published: CachePadded::new(Cursor::new("published", Position::new(0))),
            values: CachePadded::new(Listeners::at(readers())),
            room: CachePadded::new(N::default()),
            groups: groups.into_boxed_slice(),
            stages,
            living,
            slots,
            capacity: self.capacity as u64,
            written: AtomicU64::new(0).named("written"),
        });
        // SAFETY: the ring is new, and this is its only producer (I1, I4).
        let producer = unsafe { Producer::new(Arc::clone(&ring)) };
        // SAFETY: these are the only consumers of a new ring (I4).
        Ok((producer, unsafe { Consumers::new(&ring) }))
    }
}

impl Stage {
    fn new(stage: Checked, group: Option<usize>) -> Stage {
        let members = match stage.readers {
            Readers::One => 0,
            Readers::Group(members) => members,
        };
        Stage {
            name: stage.name,
            front: CachePadded::new(Cursor::new("front", Position::new(0))),
            held: (0..members)
                .map(|_| CachePadded::new(Cursor::new("held", Position::END)))
                .collect(),
            group,
            living: AtomicUsize::new(members).named("living"),
            after: stage.after,
            is_followed: stage.is_followed,
        }
    }

    /// The number of consumers of this stage.
    pub(super) fn readers(&self) -> usize {
        self.held.len().max(1)
    }

    /// The minimum of the positions that the stage holds. `front` is loaded first: a member that moved it past a
    /// position that it still reads has stored that position in `held` before, so the loads of `held` see it (I3).
    #[inline]
    fn least(&self, of: impl Fn(Mark) -> Mark) -> Mark {
        // EDGE broadcast-release (acquire): the consumer has read everything before.
        // EDGE broadcast-claim (acquire): the `held` of each member that claimed positions before.
        let front = of(self.front.load(Acquire));
        front.least(self.least_held(&of))
    }

    #[inline]
    fn least_held(&self, of: &impl Fn(Mark) -> Mark) -> Mark {
        // EDGE broadcast-release (acquire): the member has read what it no longer holds.
        self.held.iter().fold(Mark::END, |least, held| least.least(of(held.load(Acquire))))
    }

    /// How far stages that follow may read.
    #[inline]
    fn released(&self) -> Mark {
        self.least(|mark| mark)
    }

    /// How far the producer may reuse slots. Members that have gone hold nothing up.
    #[inline]
    fn gate(&self) -> Mark {
        self.least(|mark| if mark.is_gone() { Mark::END } else { mark })
    }
}

impl<T, N> Ring<T, N> {
    /// How far the consumers of `stage` may read.
    #[inline]
    pub(super) fn reach(&self, stage: &Stage) -> Mark {
        // EDGE broadcast-publish (acquire): the values before have been written.
        let published = self.published.load(Acquire);
        let before = stage.after.iter().map(|&before| self.stages[before].released());
        before.fold(published, Mark::least)
    }

    /// The position of the slowest living stage; `END` if none lives.
    #[inline]
    pub(super) fn gate(&self) -> Mark {
        self.stages.iter().fold(Mark::END, |least, stage| least.least(stage.gate()))
    }
}

impl<T, N: Notifier> Ring<T, N> {
    /// The notifier of the consumers of `stage`.
    pub(super) fn notifier(&self, stage: &Stage) -> &N {
        match stage.group {
            None => &self.values,
            Some(group) => &self.groups[group],
        }
    }

    /// Notifies the readers of `count` new values: every single consumer, and up to `count` members of each group.
    #[inline]
    pub(super) fn notify_readers(&self, count: u64) {
        self.values.notify();
        self.groups.iter().for_each(|group| group.notify_sharers(count as usize));
    }

    /// Notifies all consumers of a change.
    pub(super) fn notify_all_readers(&self) {
        self.values.notify();
        self.groups.iter().for_each(|group| group.notify());
    }
}

impl<T, N> Drop for Ring<T, N> {
    fn drop(&mut self) {
        if !core::mem::needs_drop::<T>() {
            return;
        }
        for step in 0..self.written.load(Relaxed).min(self.slots.len() as u64) {
            // SAFETY: slots of written positions hold values (I5); the last handle takes each once.
            drop(unsafe { self.slots.at(Position::new(step)).read() });
        }
    }
}
