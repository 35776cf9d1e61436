//! What waits in a collector: fresh garbage, and batches that age.

use crate::garbage::Garbage;
use crate::latch::Reopened;
use crate::retired::Retired;
use std::collections::VecDeque;
use std::mem;

/// How many epochs after its own a batch is freed (E3).
pub(super) const AGE: u64 = 2;

/// Garbage that was collected in one epoch.
#[derive(Debug)]
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
    /// The number of the batch that a collector has taken and not given an epoch yet, or has lost: the collector
    /// vanished in a fork. Then the next batch takes its number, so that its tickets wait.
    in_hand: Option<u64>,
    aging: VecDeque<Batch>,
}

impl Reopened for Queue {
    /// All earlier tickets wait for the first new batch, and new ones for a later one.
    fn reopened(half_changed: &Queue) -> Queue {
        let number = half_changed.number.max(half_changed.tickets_below) + 1;
        Queue { number, in_hand: Some(0), ..Queue::default() }
    }
}

impl Queue {
    /// Adds what was retired; returns how much is fresh.
    pub(super) fn add(&mut self, items: Vec<Retired>) -> Garbage {
        items.iter().for_each(|item| self.weight.add(item.bytes()));
        if self.fresh.is_empty() {
            self.fresh = items;
        } else {
            self.fresh.extend(items);
        }
        self.weight
    }

    /// The number of the batch that will have what is fresh.
    pub(super) fn ticket(&mut self) -> u64 {
        self.tickets_below = self.tickets_below.max(self.number + 1);
        self.number
    }

    /// Takes what is fresh, as a batch without an epoch.
    pub(super) fn take_fresh(&mut self) -> Option<Batch> {
        let is_wanted = self.has_ticket() || self.in_hand.is_some() || !self.fresh.is_empty();
        is_wanted.then(|| {
            let number = self.in_hand.unwrap_or(self.number);
            self.in_hand = Some(number);
            self.number = self.number.max(number + 1);
            let (items, weight) = (mem::take(&mut self.fresh), mem::take(&mut self.weight));
            Batch { number, epoch: 0, items, weight }
        })
    }

    /// Takes a batch back that could not be given an epoch: the next one takes its objects, and its number.
    pub(super) fn put_back(&mut self, batch: Batch) {
        self.add(batch.items);
    }

    /// Adds a batch of `epoch`.
    pub(super) fn age(&mut self, batch: Batch, epoch: u64) {
        self.in_hand = None;
        self.aging.push_back(Batch { epoch, ..batch });
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
        let Queue { fresh, aging, .. } = mem::take(self);
        aging.into_iter().flat_map(|batch| batch.items).chain(fresh).collect()
    }

    pub(super) fn waits(&self) -> Garbage {
        let mut waits = self.weight;
        self.aging.iter().for_each(|batch| waits += batch.weight);
        waits
    }

    /// Whether a collection would have something to do.
    pub(super) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.aging.is_empty() && !self.has_ticket()
    }

    fn has_ticket(&self) -> bool {
        self.tickets_below > self.number
    }
}
