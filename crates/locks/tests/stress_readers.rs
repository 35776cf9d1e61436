//! Every lock for readers with more threads than CPUs, whose holders lose their CPU: nothing is lost or torn, and all
//! come to an end.

#![cfg(not(unc_model))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{scope, sleep};
use std::time::Duration;
use uncontended_atomic::{AtomicU32, Ordering::Relaxed};
use uncontended_locks::*;

/// Runs a test for each lock, and says for which.
struct Each<F>(F);

trait Test {
    fn test<L: RawRwLock + 'static>(&self, name: &str);
}

impl<F: Test> VisitReaders for Each<F> {
    fn visit<L: RawRwLock + 'static>(&mut self, name: &'static str, _: Waits) {
        self.0.test::<L>(name);
    }
}

const READERS: u64 = if cfg!(miri) { 2 } else { 4 };
const WRITERS: u64 = 2;
const ROUNDS: u64 = if cfg!(miri) { 3 } else { 60 };

struct Preempted;

/// A holder loses its CPU now and then.
fn now_and_then(round: u64) {
    if round.is_multiple_of(16) {
        sleep(Duration::from_micros(200));
    }
}

impl Test for Preempted {
    fn test<L: RawRwLock + 'static>(&self, name: &str) {
        let pair = RwLock::<(u64, u64), L>::default();
        scope(|threads| {
            for writer in 0..WRITERS {
                let pair = &pair;
                threads.spawn(move || {
                    for round in 0..ROUNDS {
                        let mut pair = pair.write();
                        pair.0 += 1;
                        now_and_then(round + writer);
                        pair.1 += 1;
                    }
                });
            }
            for reader in 0..READERS {
                let pair = &pair;
                threads.spawn(move || {
                    for round in 0..ROUNDS {
                        let seen = pair.read();
                        let first = seen.0;
                        now_and_then(round + reader);
                        assert_eq!((first, seen.1), (seen.0, seen.0), "{name}");
                        drop(seen);
                        assert!(pair.try_read().is_none_or(|seen| seen.0 == seen.1), "{name}");
                    }
                });
            }
        });
        assert_eq!(*pair.read(), (WRITERS * ROUNDS, WRITERS * ROUNDS), "{name}");
        assert!(!pair.is_locked(), "{name}");
    }
}

#[test]
fn readers_see_each_write_whole_and_none_is_lost() {
    each_readers(&mut Each(Preempted));
}

struct Tried;

impl Test for Tried {
    fn test<L: RawRwLock + 'static>(&self, name: &str) {
        let (pair, wrote) = (RwLock::<(u32, u32), L>::default(), AtomicU32::new(0));
        scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    for _ in 0..10 * ROUNDS {
                        if let Some(mut pair) = pair.try_write() {
                            pair.0 += 1;
                            pair.1 += 1;
                            wrote.fetch_add(1, Relaxed);
                        }
                        assert!(pair.try_read().is_none_or(|seen| seen.0 == seen.1), "{name}");
                    }
                });
            }
        });
        assert_eq!(pair.into_inner(), (wrote.load(Relaxed), wrote.load(Relaxed)), "{name}");
    }
}

#[test]
fn threads_that_only_try_come_to_an_end_and_lose_nothing() {
    each_readers(&mut Each(Tried));
}

struct Together;

impl Test for Together {
    fn test<L: RawRwLock + 'static>(&self, name: &str) {
        let number = RwLock::with(L::default(), 7);
        let seen = number.read();
        scope(|threads| {
            threads.spawn(|| assert_eq!((*number.read(), number.try_write().is_none()), (7, true)));
        });
        assert!(number.is_locked(), "{name}");
        assert_eq!(*seen, 7);
        drop(seen);
        assert!(!number.is_locked() && number.try_write().is_some(), "{name}");
    }
}

#[test]
fn readers_are_inside_together() {
    each_readers(&mut Each(Together));
}

struct Panics;

impl Test for Panics {
    fn test<L: RawRwLock + 'static>(&self, name: &str) {
        let number = RwLock::with(L::default(), 1);
        let writes = || {
            *number.write() = 2;
            let _seen = number.read();
            panic!("in the critical section");
        };
        assert!(catch_unwind(AssertUnwindSafe(writes)).is_err(), "{name}");
        assert_eq!(*number.write(), 2, "{name}");
    }
}

#[test]
fn a_panic_gives_the_lock_back() {
    each_readers(&mut Each(Panics));
}

struct Leaked;

impl Test for Leaked {
    fn test<L: RawRwLock + 'static>(&self, name: &str) {
        let mut text = RwLock::with(L::default(), String::from("kept"));
        for _ in 0..3 {
            std::mem::forget(text.read());
        }
        assert_eq!(*text.read(), "kept");
        assert!(text.try_write().is_none() && text.is_locked(), "{name}");
        // It is moved, and another one comes where it was: that one is free.
        let mut moved = RwLock::with(L::default(), String::from("other"));
        std::mem::swap(&mut text, &mut moved);
        *text.write() += " one";
        assert!(moved.try_write().is_none(), "{name}");
        assert_eq!((text.into_inner().as_str(), moved.get_mut().as_str()), ("other one", "kept"));
    }
}

#[test]
fn a_guard_that_is_leaked_keeps_the_lock_and_nothing_else() {
    each_readers(&mut Each(Leaked));
}

#[test]
fn a_lock_for_readers_says_what_it_guards() {
    let number = RwLock::<u32>::from(5);
    assert_eq!(format!("{number:?} {:?}", number.read()), "RwLock(5) 5");
    let guard = number.write();
    assert_eq!(format!("{number:?} {guard:?}"), "RwLock(<locked>) 5");
}

#[test]
fn locks_for_readers_are_as_large_as_they_say() {
    assert_eq!((size_of::<PhaseFair>(), size_of::<Bravo>()), (56, 32 + 56));
}

/// More readers than CPUs that stay, with places that are taken and free, and threads that end.
#[test]
fn biased_readers_come_and_go_while_one_writes() {
    const STARTED: u64 = if cfg!(miri) { 2 } else { 40 };
    let (one, two) = (RwLock::<(u64, u64), Bravo>::default(), RwLock::<u64, Bravo>::default());
    scope(|threads| {
        for _ in 0..STARTED {
            threads.spawn(|| {
                for round in 0..ROUNDS {
                    let (seen, other) = (one.read(), two.read());
                    now_and_then(round);
                    assert_eq!(seen.0, seen.1);
                    drop(seen); // Not in the order in which they were taken.
                    assert!(*other <= STARTED);
                }
            });
            let mut pair = one.write();
            pair.0 += 1;
            pair.1 += 1;
            drop(pair);
            *two.write() += 1;
        }
    });
    assert_eq!((*one.read(), *two.read()), ((STARTED, STARTED), STARTED));
}

#[test]
fn a_reader_biases_the_lock_and_a_writer_takes_it_back() {
    let lock = Bravo::over(PhaseFair::<Park>::new());
    assert!(!lock.is_biased() && !lock.is_locked());
    lock.read();
    assert!(lock.is_biased());
    // SAFETY: this thread took it above.
    unsafe { lock.unlock_read() };
    lock.read(); // In the table.
    assert!(lock.is_locked() && !lock.try_write() && lock.is_biased(), "the reader keeps it");
    // SAFETY: this thread took it above.
    unsafe { lock.unlock_read() };
    assert!(!lock.is_locked() && lock.try_write() && !lock.is_biased());
    // SAFETY: this thread took it above.
    unsafe { lock.unlock_write() };
}

/// A value of eleven words and three bytes, of which all are equal.
type Wide = [u8; 91];

#[test]
fn copies_of_a_value_are_whole_while_several_threads_write() {
    let shared = SeqLock::new([0; 91]);
    let is_whole = |value: &Wide| value.iter().all(|byte| *byte == value[0]);
    scope(|threads| {
        for writer in 0..WRITERS {
            let shared = &shared;
            threads.spawn(move || {
                for round in 0..10 * ROUNDS {
                    if round.is_multiple_of(2) {
                        shared.write([(2 * round + writer) as u8; 91]);
                    } else {
                        shared.update(|value| {
                            assert!(is_whole(value));
                            now_and_then(round + 1);
                            *value = value.map(|byte| byte.wrapping_add(1));
                        });
                    }
                }
            });
        }
        for _ in 0..READERS {
            threads.spawn(|| {
                for round in 0..10 * ROUNDS {
                    assert!(is_whole(&shared.read()));
                    assert!(
                        shared.read_within(round as u32 % 3).is_none_or(|value| is_whole(&value))
                    );
                }
            });
        }
    });
    assert_eq!(shared.writes(), WRITERS * 10 * ROUNDS);
    assert!(is_whole(&shared.into_inner()));
}

#[test]
fn an_update_that_panics_changes_nothing() {
    let shared = SeqLock::<[u32; 3]>::from([1, 2, 3]);
    let panics = || {
        shared.update(|value| {
            value[0] = 7;
            panic!("in the update");
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!((shared.read(), format!("{shared:?}")), ([1, 2, 3], "SeqLock([1, 2, 3])".into()));
    assert_eq!(shared.update(|value| value[1]), 2);
}

#[test]
fn an_update_is_a_write_when_its_closure_has_returned() {
    let shared = SeqLock::<[bool; 5]>::default();
    shared.update(|value| {
        assert_eq!(shared.try_read(), Some([false; 5]), "a closure is not yet a write");
        value[4] = true;
    });
    assert_eq!(shared.read_within(1), Some([false, false, false, false, true]));
    assert_eq!(shared.read_within(0), None);
}

/// Guards and locks of `lock_api` work over each.
#[test]
fn each_is_a_raw_lock_of_lock_api() {
    const ADDED: u64 = if cfg!(miri) { 5 } else { 1000 };
    static TOTAL: lock_api::RwLock<PhaseFair, u64> = lock_api::RwLock::new(0);
    static OTHER: lock_api::RwLock<Bravo, u64> = lock_api::RwLock::new(0);
    fn total<L: lock_api::RawRwLock + Sync>(total: &lock_api::RwLock<L, u64>) {
        scope(|threads| {
            (0..4).for_each(|_| {
                threads.spawn(|| {
                    for _ in 0..ADDED {
                        let seen = *total.read();
                        let mut total = total.write();
                        assert!(seen <= *total);
                        *total += 1;
                    }
                });
            });
        });
        assert_eq!(*total.read(), 4 * ADDED);
        let seen = total.read();
        assert!(total.try_write().is_none() && total.try_read().is_some() && total.is_locked());
        drop(seen);
        assert!(total.try_write().is_some());
    }
    total(&TOTAL);
    total(&OTHER);
}
