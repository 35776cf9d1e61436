//! The tasks that wait on some words, oldest first.
//!
//! # Contract
//! A *future* needs a wakeup of its own: one that is chosen counts as woken until it is polled again or leaves. A
//! *bystander* may never be polled again although it lives: it is woken in addition, and then no longer listed.
//! Registering, choosing and leaving take a time that grows with the logarithm of the number of tasks.
//!
//! # Invariants
//! I1: a ticket's number is given out once in a list, so a stale ticket never finds another task.
//! I2: a task is in at most one of `waiting` and `chosen`; only futures are in `chosen`.

use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;

/// A word, as the lists know it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Key {
    /// A number that the word keeps when it is moved. Its remainder is the list's.
    #[cfg(not(unc_model))]
    Id(u32),
    /// A word that several processes share, which is not moved; or, under the checker, any.
    Address(usize),
}

/// A task of a word: the word, and a number that grows with each new task.
type At = (Key, u64);

struct Waiting {
    waker: Waker,
    is_bystander: bool,
}

pub(crate) struct List {
    waiting: BTreeMap<At, Waiting>,
    chosen: BTreeSet<At>,
    next_ticket: u64,
    #[cfg(not(unc_model))]
    pub(super) ids: Ids,
}

/// Numbers of words, divided by the number of lists: the next that was never used, and those of words that are gone.
#[cfg(not(unc_model))]
pub(super) struct Ids {
    next: u32,
    free: Vec<u32>,
}

#[cfg(not(unc_model))]
impl Ids {
    /// A number that no other word of the list has.
    pub(super) fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    pub(super) fn give_back(&mut self, id: u32) {
        self.free.push(id);
    }
}

impl List {
    pub(crate) const fn new() -> List {
        List {
            waiting: BTreeMap::new(),
            chosen: BTreeSet::new(),
            next_ticket: 0,
            #[cfg(not(unc_model))]
            ids: Ids { next: 1, free: Vec::new() },
        }
    }

    /// A number for a new task.
    pub(super) fn take_ticket(&mut self) -> u64 {
        self.next_ticket += 1;
        self.next_ticket - 1
    }

    /// Lists a task, or replaces its waker, which is returned. A task that comes again keeps its place.
    pub(super) fn register(&mut self, at: At, waker: Waker, is_bystander: bool) -> Option<Waker> {
        self.chosen.remove(&at);
        let replaced = self.waiting.insert(at, Waiting { waker, is_bystander });
        debug_assert!(replaced.as_ref().is_none_or(|old| old.is_bystander == is_bystander), "I2");
        replaced.map(|old| old.waker)
    }

    /// Removes a task. Returns its waker, which the caller drops, and whether it had been chosen.
    pub(super) fn leave(&mut self, at: At) -> (Option<Waker>, bool) {
        let was_chosen = self.chosen.remove(&at);
        (self.waiting.remove(&at).map(|waiting| waiting.waker), was_chosen)
    }

    /// Whether a task waits on the word that has not been chosen.
    pub(super) fn has_waiting(&self, key: Key) -> bool {
        self.oldest(key).is_some()
    }

    fn oldest(&self, key: Key) -> Option<At> {
        self.waiting.range((key, 0)..=(key, u64::MAX)).next().map(|(&at, _)| at)
    }

    /// Chooses the oldest `count` futures of a word, and takes the bystanders that came before the last of them; if
    /// there are fewer, all bystanders. Returns the number of futures.
    pub(super) fn choose(&mut self, key: Key, count: usize, woken: &mut Vec<Waker>) -> usize {
        let mut futures = 0;
        while futures < count
            && let Some(at) = self.oldest(key)
        {
            let Some(Waiting { waker, is_bystander }) = self.waiting.remove(&at) else { break };
            woken.push(waker);
            if !is_bystander {
                self.chosen.insert(at);
                futures += 1;
            }
        }
        futures
    }

    /// Removes all tasks of a word, and returns the wakers of those that wait. None of them has a wakeup to pass on.
    pub(super) fn take_all(&mut self, key: Key) -> Vec<Waker> {
        let mut woken = Vec::new();
        while let Some(at) = self.oldest(key) {
            woken.extend(self.waiting.remove(&at).map(|waiting| waiting.waker));
        }
        while let Some(&at) = self.chosen.range((key, 0)..=(key, u64::MAX)).next() {
            self.chosen.remove(&at);
        }
        woken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Key = Key::Address(64);
    const ELSEWHERE: Key = Key::Address(68);

    /// Tasks 0 to 5, of which the even ones are bystanders, and one of another word.
    fn six() -> List {
        let mut list = List::new();
        for _ in 0..6 {
            let ticket = list.take_ticket();
            list.register((HERE, ticket), Waker::noop().clone(), ticket.is_multiple_of(2));
        }
        list.register((ELSEWHERE, 0), Waker::noop().clone(), false);
        list
    }

    fn numbers(list: &List) -> Vec<u64> {
        list.waiting.keys().filter(|at| at.0 == HERE).map(|at| at.1).collect()
    }

    #[test]
    fn the_oldest_futures_are_chosen_and_older_bystanders_come_along() {
        let (mut list, mut woken) = (six(), Vec::new());
        assert_eq!((list.choose(HERE, 0, &mut woken), woken.len()), (0, 0));
        assert_eq!((list.choose(HERE, 1, &mut woken), woken.len()), (1, 2));
        assert_eq!(numbers(&list), [2, 3, 4, 5]);
        // One that comes again keeps its place, and has no wakeup to pass on.
        assert!(list.register((HERE, 1), Waker::noop().clone(), false).is_none());
        assert_eq!(numbers(&list), [1, 2, 3, 4, 5]);
        assert_eq!((list.choose(HERE, 9, &mut woken), woken.len()), (3, 7));
        assert!(!list.has_waiting(HERE) && list.has_waiting(ELSEWHERE));
        assert!(list.leave((HERE, 3)).1 && !list.leave((HERE, 3)).1 && !list.leave((HERE, 4)).1);
        assert!(list.take_all(HERE).is_empty() && list.chosen.is_empty());
    }

    #[test]
    fn bystanders_alone_are_all_woken_and_none_counts() {
        let (mut list, mut woken) = (List::new(), Vec::new());
        for ticket in 0..3 {
            list.register((HERE, ticket), Waker::noop().clone(), true);
        }
        assert_eq!((list.choose(HERE, 1, &mut woken), woken.len()), (0, 3));
        assert!(list.chosen.is_empty());
    }

    #[test]
    fn all_tasks_of_one_word_are_taken() {
        let mut list = six();
        assert!(list.choose(HERE, 1, &mut Vec::new()) == 1 && list.leave((HERE, 4)).0.is_some());
        assert_eq!((list.take_all(HERE).len(), list.chosen.len(), list.waiting.len()), (3, 0, 1));
    }

    #[cfg(not(unc_model))]
    #[test]
    fn the_number_of_a_word_that_is_gone_serves_the_next() {
        let ids = &mut List::new().ids;
        assert_eq!([ids.take(), ids.take()], [1, 2]);
        ids.give_back(1);
        assert_eq!([ids.take(), ids.take()], [1, 3]);
    }
}
