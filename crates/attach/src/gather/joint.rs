//! Locks of several processes: one each, by the place of its word.
//!
//! # Contract
//! A lock has one number in all parts of a record. It is in the list of the first process that has it.

use super::{Sum, Waiting};
use crate::shared::{Place, Shared};
use std::collections::{BTreeMap, HashMap};
use uncontended_trace::layout::{Unit, kind, sharing};
use uncontended_trace::reader::LockRecord;

/// The locks of the processes so far.
#[derive(Debug, Default)]
pub(super) struct Joint {
    /// The last number.
    last: Unit,
    /// Those of locks that processes share.
    numbers: HashMap<Place, Unit>,
    /// Since when threads of later processes than the first have waited for such a lock.
    waiting: HashMap<Unit, Vec<u64>>,
}

impl Joint {
    /// The numbers of a process's locks by their addresses, and those locks that no earlier process has.
    pub(super) fn locks(
        &mut self,
        memory: &Shared,
        sums: &[Sum],
        waiting: &[Waiting],
    ) -> (BTreeMap<u64, Unit>, Vec<LockRecord>) {
        let of_locks = || waiting.iter().filter(|wait| wait.joined == 0);
        let waits = of_locks().map(|wait| (wait.address, wait.is_shared));
        let mut words: BTreeMap<u64, bool> = BTreeMap::new();
        for (word, is_shared) in sums.iter().map(|sum| (sum.address, sum.is_shared)).chain(waits) {
            *words.entry(word).or_default() |= is_shared;
        }
        let (mut numbers, mut locks) = (BTreeMap::new(), Vec::new());
        for (address, is_shared) in words {
            let place = memory.place(address).filter(|_| is_shared);
            let sharing = if place.is_some() { sharing::JOINED } else { sharing::PRIVATE };
            let (unit, is_new) = self.number(place);
            numbers.insert(address, unit);
            let waiting = of_locks().filter(|wait| wait.address == address).map(|wait| wait.since);
            if is_new {
                let lock = LockRecord { unit, address, sharing, ..LockRecord::default() };
                locks.push(LockRecord { kind: kind::FUTEX, waiting: waiting.collect(), ..lock });
            } else {
                self.waiting.entry(unit).or_default().extend(waiting);
            }
        }
        (numbers, locks)
    }

    /// The number of a lock, of one process if it has no place; and whether it is new.
    fn number(&mut self, place: Option<Place>) -> (Unit, bool) {
        let new = self.last + 1;
        let number = place.map_or(new, |place| *self.numbers.entry(place).or_insert(new));
        self.last = self.last.max(number);
        (number, number == new)
    }

    /// Adds the threads of later processes that wait for the locks of one.
    pub(super) fn complete(&mut self, locks: &mut [LockRecord]) {
        for lock in locks.iter_mut().filter(|lock| lock.sharing == sharing::JOINED) {
            lock.waiting.extend(self.waiting.remove(&lock.unit).unwrap_or_default());
            lock.waiting.sort_unstable();
        }
    }
}
