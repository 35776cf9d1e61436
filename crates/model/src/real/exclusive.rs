//! Objects that are borrowed exclusively: `get_mut`, `into_inner` and `take` of atomics and locks.
//!
//! # Contract
//! Such a borrow is a plain write: happens-before orders it with every other use of the object, or it is a data race.
//! An execution is complete only when each of its events was checked against the borrow: those that the graph holds
//! when the borrow is made, here; those that are added later, when they are made (`Core::is_born`).

use super::atomics::Word;
use super::core::{Core, Stop};
use super::ending::{Access, Clash};
use super::graph::EventId;
use super::op::{Op, Order};
use super::trace::place;
use super::verdict::Failure;
use super::{heap, runtime};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location as Site;

impl Word {
    /// Borrows it exclusively.
    #[track_caller]
    pub(crate) fn own(&self, site: &'static Site<'static>) {
        if self.location().is_none() {
            return;
        }
        heap::touch((&raw const *self).addr(), site);
        let race = runtime::with_core(|core, thread| {
            let location = self.locate(core);
            core.own(thread, location, site)
        });
        if let Some(Some(race)) = race {
            runtime::fail(race);
        }
    }
}

impl Core {
    fn own(
        &mut self,
        thread: usize,
        location: u32,
        site: &'static Site<'static>,
    ) -> Option<Failure> {
        if !self.is_born(thread, location, site) {
            return match self.stop.take() {
                Some(Stop::Failure(failure)) => Some(failure),
                _ => None,
            };
        }
        let (known, events) = (self.known(thread), self.threads[thread].executed);
        self.threads[thread].effects += 1;
        let is_unordered = |&id: &EventId| {
            let is_after = || self.graph.clocks(id).hb.get(thread) > events;
            usize::from(id.thread) != thread && !is_after()
        };
        let uses = &self.graph.locations[location as usize];
        let other = uses.accesses_beyond(&known).find(is_unordered);
        let access = Access { thread, events, site, what: "writes" };
        self.born[location as usize] = Some((thread as u8, events));
        self.owned.insert(location, access);
        let (other, used) = other.map(|id| (id, self.graph.get(id).site))?;
        let other = Access {
            thread: usize::from(other.thread),
            events: usize::from(other.index) - 1,
            site: used,
            what: "uses",
        };
        Some(self.race(location, [other, access]))
    }

    fn race(&mut self, location: u32, accesses: [Access; 2]) -> Failure {
        let found = &self.graph.locations[location as usize];
        let of = found
            .label
            .map_or_else(|| found.made.map_or_else(|| "a static".to_owned(), place), str::to_owned);
        self.clash = Some(Clash { of, accesses });
        let [other, access] = accesses;
        Failure::Race { thread: access.thread, site: access.site, other: other.site }
    }

    /// Why a use is wrong that its object's creation, or its last exclusive borrow, does not happen before.
    pub(super) fn unborn(
        &mut self,
        thread: usize,
        location: u32,
        site: &'static Site<'static>,
    ) -> Failure {
        let Some(owner) = self.owned.get(&location).copied() else {
            return Failure::Unpublished { thread, site };
        };
        let events = self.threads[thread].executed;
        self.race(location, [owner, Access { thread, events, site, what: "uses" }])
    }
}

/// The value of an atomic, borrowed exclusively. It stands in for the `&mut T` that `std`'s `get_mut` returns:
/// borrowing is a relaxed load, and dropping it after a change is a relaxed store.
pub struct AtomicMut<'a, T: Copy> {
    word: &'a Word,
    value: T,
    to_bits: fn(T) -> u64,
    before: u64,
    address: bool,
    site: &'static Site<'static>,
}

/// How a value is made of bits, and its bits.
type Bits<T> = (fn(u64) -> T, fn(T) -> u64);

impl<'a, T: Copy> AtomicMut<'a, T> {
    /// `address`: the value is a pointer.
    pub(crate) fn new(
        word: &'a Word,
        (from_bits, to_bits): Bits<T>,
        address: bool,
        site: &'static Site<'static>,
    ) -> AtomicMut<'a, T> {
        word.own(site);
        let before = word.perform(Op::Load { order: Order::RELAXED }, address, site);
        AtomicMut { word, value: from_bits(before), to_bits, before, address, site }
    }
}

impl<T: Copy> Drop for AtomicMut<'_, T> {
    fn drop(&mut self) {
        let value = (self.to_bits)(self.value);
        if value != self.before {
            self.word.perform(Op::Store { value, order: Order::RELAXED }, self.address, self.site);
        }
    }
}

impl<T: Copy> Deref for AtomicMut<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Copy> DerefMut for AtomicMut<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for AtomicMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
