//! A lock on one futex word: 0 free, 1 held, 2 held with possible sleepers (Drepper: Futexes are tricky, mutex 2).
//!
//! I1: the thread that stored 1 or 2 over 0 holds the lock, and only it accesses the counter.
//! handover: `unlock` stores 0 -> `lock` finds 0.

use super::Mutant;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_model::real::{AtomicU32, UnsafeCell, futex_wait, futex_wake, spawn};

pub(crate) const MUTANTS: &[&str] = &[
    "lock: handover is relaxed",
    "lock: handover is read relaxed",
    "lock: no wake",
    "lock: wake before the word is free",
    "lock: a sleeper takes it without its mark",
    "lock: sleeps on the wrong value",
];

struct Lock {
    word: AtomicU32,
    counter: UnsafeCell<u32>,
    mutant: Mutant,
}

// SAFETY: the counter belongs to the thread that holds the lock (I1).
unsafe impl Sync for Lock {}

impl Lock {
    fn lock(&self) {
        let m = self.mutant;
        let acquire = m.order("lock: handover is read relaxed", Acquire);
        // EDGE handover (acquire): the last holder has finished.
        if self.word.compare_exchange(0, 1, acquire, Relaxed).is_ok() {
            return;
        }
        let mark = if m.is("lock: a sleeper takes it without its mark") { 1 } else { 2 };
        // EDGE handover (acquire): the same, and others may sleep.
        while self.word.swap(mark, acquire) != 0 {
            futex_wait(&self.word, if m.is("lock: sleeps on the wrong value") { 1 } else { mark });
        }
    }

    fn unlock(&self) {
        let m = self.mutant;
        if m.is("lock: wake before the word is free") {
            futex_wake(&self.word, 1);
            self.word.store(0, Release);
            return;
        }
        // EDGE handover (release): what was done under the lock.
        let old = self.word.swap(0, m.order("lock: handover is relaxed", Release));
        if old == 2 && !m.is("lock: no wake") {
            futex_wake(&self.word, 1);
        }
    }
}

/// Three threads add one each; the mutant that forgets the mark needs all three.
pub(crate) fn scenario(mutant: Mutant) {
    contend(mutant, 3);
}

/// The same with two.
pub(crate) fn small(mutant: Mutant) {
    contend(mutant, 2);
}

fn contend(mutant: Mutant, threads: u32) {
    let lock = Arc::new(Lock { word: AtomicU32::new(0), counter: UnsafeCell::new(0), mutant });
    let add = |lock: &Lock| {
        lock.lock();
        // SAFETY: the lock is held (I1).
        lock.counter.with_mut(|counter| unsafe { *counter += 1 });
        lock.unlock();
    };
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let lock = Arc::clone(&lock);
            spawn(move || add(&lock))
        })
        .collect();
    add(&lock);
    for other in others {
        other.join().unwrap();
    }
    // SAFETY: all threads have ended (I1).
    assert_eq!(lock.counter.with(|counter| unsafe { *counter }), threads);
}
