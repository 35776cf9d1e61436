//! What waits in a collector: fresh garbage, the batch of the round that has begun, and batches that age.

use crate::garbage::{Garbage, Limits};
use crate::latch::Reopened;
use crate::retired::Retired;
use std::collections::VecDeque;
use std::mem;

/// How many epochs after its own a batch is freed (E3).
pub(super) const AGE: u64 = 2;

/// Garbage that was collected in one epoch.
#[derive(Debug, Default)]
pub(super) struct Batch {
    number: u64,
    epoch: u64,
    items: Vec<Retired>,
    weight: Garbage,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    fresh: Vec<Retired>,
    weight: Garbage,
    /// The number of the next batch.
    number: u64,
    /// Batches below this number have tickets: they are needed even if they are empty.
    tickets_below: u64,
    /// The batch of the round that has begun, or whose heavy fence was refused or lost in a fork.
    begun: Option<Batch>,
    aging: VecDeque<Batch>,
}

impl Reopened for Queue {
    /// All earlier tickets wait for the first new batch, and new ones for a later one.
    fn reopened(half_changed: &Queue) -> Queue {
        let number = half_changed.number.max(half_changed.tickets_below) + 1;
        Queue { number, begun: Some(Batch::default()), ..Queue::default() }
    }
}

impl Queue {
    /// Adds what was retired.
    pub(super) fn add(&mut self, items: Vec<Retired>) {
        items.iter().for_each(|item| self.weight.add(item.bytes()));
        if self.fresh.is_empty() {
            self.fresh = items;
        } else {
            self.fresh.extend(items);
        }
    }

    /// Whether there is something to do for a thread that retires: a round to begin, or one to end.
    pub(super) fn is_due(&self, limits: Limits) -> bool {
        self.begun.is_some() || limits.are_reached(self.weight)
    }

    /// The number of the batch that will have what is fresh.
    pub(super) fn ticket(&mut self) -> u64 {
        self.tickets_below = self.tickets_below.max(self.number + 1);
        self.number
    }

    /// Begins a round: what is fresh is its batch, with that of an earlier round that had no end.
    pub(super) fn begin(&mut self) {
        if self.begun.is_none() && (self.has_ticket() || !self.fresh.is_empty()) {
            self.begun = Some(Batch { number: self.number, ..Batch::default() });
            self.number += 1;
        }
        if let Some(batch) = &mut self.begun {
            batch.items.append(&mut self.fresh);
            batch.weight += mem::take(&mut self.weight);
        }
    }

    /// Gives the batch of the round its epoch.
    pub(super) fn age(&mut self, epoch: u64) {
        self.aging.extend(self.begun.take().map(|batch| Batch { epoch, ..batch }));
    }

    /// Takes the batches that are old enough in `epoch`; and the number of the first one whose time has not come.
    pub(super) fn take_old(&mut self, epoch: u64) -> (Vec<Retired>, u64) {
        let mut old = Vec::new();
        while self.aging.front().is_some_and(|batch| batch.epoch + AGE <= epoch) {
            let items = self.aging.pop_front().map(|batch| batch.items).unwrap_or_default();
            if old.is_empty() { old = items } else { old.extend(items) }
        }
        (old, self.aging.front().map_or(self.number, |batch| batch.number))
    }

    /// Takes all, whatever its age.
    pub(super) fn take_all(&mut self) -> Vec<Retired> {
        let Queue { fresh, begun, aging, .. } = mem::take(self);
        aging.into_iter().chain(begun).flat_map(|batch| batch.items).chain(fresh).collect()
    }

    pub(super) fn waits(&self) -> Garbage {
        let mut waits = self.weight;
        self.aging.iter().chain(&self.begun).for_each(|batch| waits += batch.weight);
        waits
    }

    /// Whether a collection would have something to do.
    pub(super) fn is_empty(&self) -> bool {
        let is_aged = self.aging.is_empty() && self.begun.is_none();
        self.fresh.is_empty() && is_aged && !self.has_ticket()
    }

    fn has_ticket(&self) -> bool {
        self.tickets_below > self.number
    }
}
