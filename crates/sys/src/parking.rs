//! Sleeping on a word where the kernel offers no such call: a table of mutexes and condition variables.
//!
//! # Contract
//! That of [`futex`](crate::futex), within one process: a sleeper compares the word and goes to sleep in one step, as
//! seen by a thread that changes the word and then wakes. Sleepers of one word are woken longest first. No table
//! reaches other processes, so a sleep with [`Scope::Shared`] ends after a millisecond at the latest: slow, but no
//! wakeup is lost. A process that forks while its threads sleep or wake here may leave its child with a locked mutex:
//! the child must not sleep or wake before it executes another program.
//! # State
//! Each address belongs to one of the buckets. A bucket's mutex guards the list of its sleepers, oldest first, and all
//! of them sleep on its condition variable: a wakeup takes some off the list, and each sleeper looks whether it still
//! stands there.
//! # Invariants
//! I1: the word is compared, and the sleeper put on the list, under the mutex under which a waker reads the list. So a
//!     waker that finds no sleeper changed the word before any later sleeper compares it.
//! I2: a ticket is on a list once, and no other sleeper of that bucket ever has it.

use crate::clock::monotonic_ns;
use crate::futex::{Scope, Wait};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const BUCKETS: usize = 64;
/// How long a sleep lasts that a thread of another process may have to end.
const SHARED_NS: u64 = 1_000_000;

static TABLE: [Bucket; BUCKETS] = [const { Bucket::new() }; BUCKETS];

struct Bucket {
    sleepers: Mutex<Sleepers>,
    changed: Condvar,
}

struct Sleepers {
    next: u64,
    /// Oldest first.
    list: Vec<Sleeper>,
}

struct Sleeper {
    address: usize,
    ticket: u64,
}

impl Bucket {
    const fn new() -> Bucket {
        let sleepers = Sleepers { next: 0, list: Vec::new() };
        Bucket { sleepers: Mutex::new(sleepers), changed: Condvar::new() }
    }

    fn of(address: usize) -> &'static Bucket {
        // Fibonacci hashing: words of one structure are a few bytes apart.
        let hash = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &TABLE[(hash >> 58) as usize % BUCKETS]
    }

    /// A panic of a sleeper's comparison leaves the list as it was.
    fn lock(&self) -> MutexGuard<'_, Sleepers> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until a wakeup, or until the clock reaches `end_ns`.
    fn sleep<'b>(
        &'b self,
        sleepers: MutexGuard<'b, Sleepers>,
        end_ns: Option<u64>,
    ) -> MutexGuard<'b, Sleepers> {
        let Some(end_ns) = end_ns else {
            return self.changed.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        };
        let left = Duration::from_nanos(end_ns.saturating_sub(monotonic_ns()));
        self.changed.wait_timeout(sleepers, left).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Sleepers {
    fn enter(&mut self, address: usize) -> u64 {
        let ticket = self.next;
        self.next += 1;
        self.list.push(Sleeper { address, ticket });
        ticket
    }

    fn place(&self, ticket: u64) -> Option<usize> {
        self.list.iter().position(|sleeper| sleeper.ticket == ticket)
    }
}

/// Sleeps on the word at `address` if `holds` says that it holds what the sleeper expects, until a wakeup or until
/// [`monotonic_ns`] reaches `deadline_ns`. `holds` must not sleep or wake.
pub fn wait(
    address: usize,
    holds: impl FnOnce() -> bool,
    deadline_ns: Option<u64>,
    scope: Scope,
) -> Wait {
    let bucket = Bucket::of(address);
    let mut sleepers = bucket.lock();
    if !holds() {
        return Wait::Changed;
    }
    let bound_ns = (scope == Scope::Shared).then(|| monotonic_ns() + SHARED_NS);
    let end_ns = [deadline_ns, bound_ns].into_iter().flatten().min();
    let ticket = sleepers.enter(address);
    loop {
        // Woken first: a wakeup that has chosen this thread must not be lost to its deadline (I2).
        let Some(place) = sleepers.place(ticket) else { return Wait::Woken };
        let now_ns = end_ns.map_or(0, |_| monotonic_ns());
        if end_ns.is_some_and(|end_ns| end_ns <= now_ns) {
            sleepers.list.remove(place);
            let is_over = deadline_ns.is_some_and(|deadline_ns| deadline_ns <= now_ns);
            return if is_over { Wait::TimedOut } else { Wait::Woken };
        }
        sleepers = bucket.sleep(sleepers, end_ns);
    }
}

/// Wakes up to `count` threads that sleep on the word at `address`, longest sleepers first, and returns how many were
/// woken.
pub fn wake(address: usize, count: u32) -> usize {
    let bucket = Bucket::of(address);
    let mut woken = 0;
    // I1: the caller has changed the word before.
    bucket.lock().list.retain(|sleeper| {
        let is_chosen = sleeper.address == address && woken < count as usize;
        woken += usize::from(is_chosen);
        !is_chosen
    });
    if woken > 0 {
        bucket.changed.notify_all();
    }
    woken
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};

    fn address(word: &AtomicU32) -> usize {
        word.as_ptr().addr()
    }

    fn asleep(address: usize) -> usize {
        let sleepers = Bucket::of(address).lock();
        sleepers.list.iter().filter(|sleeper| sleeper.address == address).count()
    }

    #[test]
    fn a_sleeper_is_woken_and_another_value_does_not_sleep() {
        for scope in [Scope::Private, Scope::Shared] {
            let word = AtomicU32::new(0);
            let at = address(&word);
            assert_eq!(wait(at, || word.load(SeqCst) == 1, None, scope), Wait::Changed);
            assert_eq!((asleep(at), wake(at, u32::MAX)), (0, 0));
            std::thread::scope(|threads| {
                let sleeper = threads.spawn(|| {
                    while word.load(SeqCst) == 0 {
                        wait(at, || word.load(SeqCst) == 0, None, scope);
                    }
                });
                while wake(at, 1) == 0 {
                    std::thread::yield_now();
                }
                word.store(1, SeqCst);
                wake(at, u32::MAX);
                sleeper.join().unwrap();
            });
        }
    }

    #[test]
    fn the_longest_sleepers_of_a_word_are_woken_and_no_others() {
        let (word, order) = (AtomicU32::new(0), AtomicUsize::new(0));
        let at = address(&word);
        std::thread::scope(|threads| {
            let sleepers: Vec<_> = (0..3)
                .map(|number| {
                    let sleeper = threads.spawn(|| {
                        assert_eq!(wait(at, || true, None, Scope::Private), Wait::Woken);
                        order.fetch_add(1, SeqCst)
                    });
                    while asleep(at) <= number {
                        std::thread::yield_now();
                    }
                    sleeper
                })
                .collect();
            // Another word, in whatever bucket.
            assert_eq!(wake(at + 4, u32::MAX), 0);
            let turns = sleepers.into_iter().map(|sleeper| {
                assert_eq!(wake(at, 1), 1);
                sleeper.join().unwrap()
            });
            assert_eq!(turns.collect::<Vec<_>>(), [0, 1, 2]);
        });
        assert_eq!(asleep(at), 0);
    }

    #[test]
    fn a_deadline_is_absolute_and_never_early() {
        let word = AtomicU32::new(0);
        let at = address(&word);
        let until = |deadline_ns, scope| wait(at, || true, Some(deadline_ns), scope);
        let deadline_ns = monotonic_ns() + 20_000_000;
        while until(deadline_ns, Scope::Private) != Wait::TimedOut {}
        assert!(monotonic_ns() >= deadline_ns);
        assert_eq!(until(deadline_ns, Scope::Private), Wait::TimedOut, "in the past");
        assert_eq!(until(0, Scope::Shared), Wait::TimedOut, "long in the past");
        assert_eq!(wait(at, || false, Some(u64::MAX), Scope::Private), Wait::Changed, "far ahead");
        assert_eq!(until(u64::MAX, Scope::Shared), Wait::Woken, "a bounded sleep");
        assert_eq!(asleep(at), 0);
    }
}
