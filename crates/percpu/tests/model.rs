//! Every structure, explored: sections that are preempted, migrated and restarted at every step.

#![cfg(unc_model)]

use uncontended_atomic::Ordering::{Acquire, Relaxed};
use uncontended_atomic::{Arc, AtomicU64, spawn};
use uncontended_model::real::{Explorer, Memory};
use uncontended_percpu::{
    Counter, FreeList, Node, NotTaken, PerCpu, Revocable, Word, boot, migrate,
};
use uncontended_testkit::explored::{self, BOTH};

fn explorer(memory: Memory) -> Explorer {
    Explorer::new(memory).events(400)
}

fn holds(scenario: fn()) {
    explored::holds(&BOTH, explorer, || scenario);
}

/// Two threads on one CPU, or one of them on its way to another, lose no addition.
fn additions(cpus: u32, moves: u32) {
    boot(cpus);
    let counter = Arc::new(Counter::new());
    counter.add(1);
    let theirs = Arc::clone(&counter);
    let other = spawn(move || {
        migrate(0, moves);
        theirs.increment();
    });
    counter.add(5);
    assert!([6, 7].contains(&counter.sum()), "no addition is lost while others happen");
    other.join().unwrap();
    assert_eq!(counter.sum(), 7);
}

#[test]
fn no_addition_is_lost_on_one_cpu() {
    holds(|| additions(1, 0));
}

#[test]
fn no_addition_is_lost_on_the_way_to_another_cpu() {
    holds(|| additions(2, 1));
}

#[test]
fn cells_are_seen_as_they_were_made() {
    holds(|| {
        boot(2);
        let counter = Arc::new(Counter::new());
        let theirs = Arc::clone(&counter);
        let other = spawn(move || {
            migrate(1, 0);
            theirs.increment();
        });
        counter.increment();
        other.join().unwrap();
        assert_eq!(counter.sum(), 2);
    });
}

#[test]
fn no_addition_is_lost_without_sections() {
    holds(|| additions(0, 0));
}

#[test]
fn a_word_is_changed_on_its_own_cpu_alone() {
    holds(|| {
        boot(2);
        let word = Arc::new(Word::new());
        let one_more = |word: &Word| word.update(|old| Some(old + 1)).unwrap();
        one_more(&word);
        let theirs = Arc::clone(&word);
        let other = spawn(move || {
            migrate(0, 1);
            one_more(&theirs);
        });
        one_more(&word);
        other.join().unwrap();
        assert_eq!(word.values().sum::<u64>(), 3);
    });
}

/// The numbers in a list and in hands, which must be as they were.
fn all_of(list: &FreeList<u32>, held: Vec<u32>) -> Vec<u32> {
    let mut all = held;
    for number in 0..list.lists() {
        let drained = list.drain(number).expect("no thread uses it");
        all.extend(drained.map(|node| **node));
    }
    all.sort_unstable();
    all
}

fn filled(most: usize, numbers: &[u32]) -> Arc<FreeList<u32>> {
    let list = Arc::new(FreeList::new(most));
    for &number in numbers {
        list.push(Node::new(number)).unwrap();
    }
    list
}

/// Takes the first, then puts it back.
fn in_and_out(list: &FreeList<u32>) -> Vec<u32> {
    let Some(node) = list.pop() else { return Vec::new() };
    match list.push(node) {
        Ok(()) => Vec::new(),
        Err(node) => vec![**node],
    }
}

#[test]
fn a_list_on_one_cpu_keeps_its_nodes() {
    holds(|| {
        boot(1);
        let list = filled(3, &[1, 2]);
        let theirs = Arc::clone(&list);
        let other = spawn(move || in_and_out(&theirs));
        let mut held = list.pop().map_or_else(Vec::new, |node| vec![**node]);
        held.extend(other.join().unwrap());
        assert_eq!(all_of(&list, held), [1, 2]);
    });
}

#[test]
fn a_list_is_as_long_as_it_may_be() {
    holds(|| {
        boot(1);
        let list = filled(2, &[1]);
        let theirs = Arc::clone(&list);
        let other = spawn(move || theirs.push(Node::new(2)).is_ok());
        let mine = list.push(Node::new(3)).is_ok();
        assert!(mine != other.join().unwrap(), "one of both is the second");
        assert_eq!(**list.push(Node::new(4)).unwrap_err(), 4);
    });
}

/// One thread pops and pushes on its CPU while another drains that list from elsewhere.
fn drained(cpus: u32) {
    boot(cpus);
    let list = filled(3, &[1, 2]);
    let theirs = Arc::clone(&list);
    let other = spawn(move || {
        let mut held = theirs.pop().map_or_else(Vec::new, |node| vec![**node]);
        held.extend(theirs.push(Node::new(3)).err().map(|node| **node));
        held
    });
    let mut held: Vec<u32> = match list.drain(0) {
        Ok(drained) => drained.map(|node| **node).collect(),
        Err(why) => {
            assert_eq!(why, NotTaken::Raced);
            Vec::new()
        }
    };
    held.extend(other.join().unwrap());
    assert_eq!(all_of(&list, held), [1, 2, 3]);
}

#[test]
fn a_list_is_drained_while_its_cpu_uses_it() {
    holds(|| drained(1));
}

#[test]
fn a_shard_is_drained_while_a_thread_uses_it() {
    holds(|| drained(0));
}

#[test]
fn two_threads_drain_what_a_third_uses() {
    holds(|| {
        boot(1);
        let list = filled(3, &[1, 2]);
        let drain = |list: &FreeList<u32>| {
            list.drain(0).map_or_else(|_| Vec::new(), |all| all.map(|node| **node).collect())
        };
        let users = Arc::clone(&list);
        let user = spawn(move || in_and_out(&users));
        let theirs = Arc::clone(&list);
        let other = spawn(move || drain(&theirs));
        let mut held: Vec<u32> = drain(&list);
        held.extend(drain(&list));
        held.extend(user.join().unwrap());
        held.extend(other.join().unwrap());
        assert_eq!(all_of(&list, held), [1, 2]);
    });
}

/// A node that went to a shard while its CPU's list was drained is found again.
#[test]
fn a_node_that_went_to_a_shard_comes_back() {
    holds(|| {
        boot(1);
        let list = filled(3, &[1]);
        let theirs = Arc::clone(&list);
        let other = spawn(move || theirs.push(Node::new(2)).is_ok());
        let mut held = list.drain(0).map_or(0, Iterator::count);
        assert!(other.join().unwrap());
        while list.pop().is_some() {
            held += 1;
        }
        assert_eq!(held, 2);
    });
}

/// Adds one to a value of this CPU: the checker reports a race if another thread has it.
fn add_here(values: &PerCpu<u64>) -> u64 {
    values.here().map_or(0, |mut value| {
        *value += 1;
        1
    })
}

fn add_there(values: &PerCpu<u64>, cell: usize) -> u64 {
    values.take(cell).map_or(0, |mut value| {
        *value += 1;
        1
    })
}

fn sum(values: &PerCpu<u64>) -> u64 {
    (0..values.len()).map(|cell| *values.take(cell).expect("no thread has it")).sum()
}

fn excluded(cpus: u32, moves: u32) {
    boot(cpus);
    let values = Arc::new(PerCpu::new());
    let theirs = Arc::clone(&values);
    let other = spawn(move || {
        migrate(0, moves);
        add_here(&theirs)
    });
    let mine = add_here(&values) + add_here(&values);
    assert_eq!(sum_after(&values, other.join().unwrap()), mine);
}

/// What others than the thread added.
fn sum_after(values: &PerCpu<u64>, theirs: u64) -> u64 {
    sum(values) - theirs
}

#[test]
fn a_value_has_one_owner_on_one_cpu() {
    holds(|| excluded(1, 0));
}

#[test]
fn a_value_has_one_owner_on_the_way_to_another_cpu() {
    holds(|| excluded(2, 1));
}

#[test]
fn a_value_is_taken_from_its_cpu() {
    holds(|| {
        boot(1);
        let values = Arc::new(PerCpu::new());
        assert_eq!(add_here(&values), 1);
        let theirs = Arc::clone(&values);
        let other = spawn(move || add_here(&theirs));
        let mine = add_there(&values, 0);
        assert_eq!(sum_after(&values, other.join().unwrap()), 1 + mine);
    });
}

#[test]
fn a_value_is_given_back_from_elsewhere() {
    holds(|| {
        boot(2);
        let values = Arc::new(PerCpu::new());
        let mut held = values.here().expect("no thread has it");
        let (second, third) = (Arc::clone(&values), Arc::clone(&values));
        let user = spawn(move || add_here(&second));
        let taker = spawn(move || add_there(&third, 0));
        migrate(1, 0);
        *held += 1;
        drop(held);
        let theirs = user.join().unwrap() + taker.join().unwrap();
        assert_eq!(sum_after(&values, theirs), 1);
    });
}

#[test]
fn two_threads_take_a_value_from_its_cpu() {
    holds(|| {
        boot(1);
        let values = Arc::new(PerCpu::new());
        assert_eq!(add_here(&values), 1);
        let (second, third) = (Arc::clone(&values), Arc::clone(&values));
        let user = spawn(move || add_here(&second));
        let taker = spawn(move || add_there(&third, 0));
        let mine = add_there(&values, 0);
        let theirs = user.join().unwrap() + taker.join().unwrap();
        assert_eq!(sum_after(&values, theirs), 1 + mine);
    });
}

/// A thread whose first try fails tries again while the other's lasts.
#[test]
fn a_try_that_fails_ends_no_other() {
    holds(|| {
        boot(1);
        let values = Arc::new(PerCpu::new());
        assert_eq!(add_here(&values), 1);
        let (second, third) = (Arc::clone(&values), Arc::clone(&values));
        let user = spawn(move || add_here(&second));
        let taker = spawn(move || add_there(&third, 0));
        let mine = add_there(&values, 0) + add_there(&values, 0);
        let theirs = user.join().unwrap() + taker.join().unwrap();
        assert_eq!(sum_after(&values, theirs), 1 + mine);
    });
}

/// After a claim has returned, no store of an earlier one happens, and all that happened are seen.
fn revoked(cpus: u32) {
    boot(cpus);
    let shared = Arc::new((Revocable::new(), AtomicU64::new(0)));
    let theirs = Arc::clone(&shared);
    let other = spawn(move || {
        let (right, word) = &*theirs;
        let claim = right.claim().unwrap();
        (1..=2).take_while(|&value| claim.store(word, value).is_ok()).count() as u64
    });
    let (right, word) = &*shared;
    let claim = right.claim().unwrap();
    let seen = word.load(Relaxed);
    let was_stored = claim.store(word, 10 + seen).is_ok();
    let stored = other.join().unwrap();
    let last = word.load(Relaxed);
    if was_stored && claim.is_in_force() {
        assert_eq!((seen, last), (stored, 10 + stored), "the later claim has the last word");
    } else {
        assert_eq!((stored, last), (2, 2), "the other claim is the later one");
    }
}

#[test]
fn a_revoked_claim_stores_nothing() {
    holds(|| revoked(2));
}

#[test]
fn a_revoked_claim_stores_nothing_without_sections() {
    holds(|| revoked(0));
}

#[test]
fn a_store_carries_what_was_done_before() {
    fn stored(cpus: u32) {
        boot(cpus);
        let shared = Arc::new((Revocable::new(), AtomicU64::new(0), AtomicU64::new(0)));
        let theirs = Arc::clone(&shared);
        let other = spawn(move || {
            let (right, data, word) = &*theirs;
            let claim = right.claim().unwrap();
            data.store(1, Relaxed);
            claim.store(word, 1).unwrap();
        });
        let (_, data, word) = &*shared;
        if word.load(Acquire) == 1 {
            assert_eq!(data.load(Relaxed), 1);
        }
        other.join().unwrap();
    }
    holds(|| stored(1));
    holds(|| stored(0));
}
