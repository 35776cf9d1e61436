//! The stand-in for `RwLock`: which threads it excludes, what it orders, and every order of few threads, counted.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use uncontended_model::real::{
    AtomicU32, Explorer, Failure, Memory, Named, Report, RwLock, UnsafeCell, choose, spawn,
    spawn_symmetric,
};
use uncontended_testkit::one_line;

const MODELS: [Memory; 3] = [Memory::C11, Memory::Tso, Memory::Sc];

struct Shared(RwLock<u32>, UnsafeCell<u32>, AtomicU32);

// SAFETY: sharing this is unsound where a test expects the race; elsewhere the lock protects the cell.
unsafe impl Sync for Shared {}

fn shared() -> Arc<Shared> {
    Arc::new(Shared(RwLock::new(0).named("lock"), UnsafeCell::new(0), AtomicU32::new(0)))
}

fn explore(body: impl Fn() + 'static) -> Report {
    Explorer::new(Memory::C11).explore(body).unwrap()
}

#[track_caller]
fn fails(body: impl Fn() + 'static) -> Failure {
    let report = explore(body);
    report.violation().unwrap_or_else(|| panic!("{report}")).failure.clone()
}

/// Each thread locks once.
fn once_each(writers: usize, readers: usize) -> impl Fn() + 'static {
    move || {
        let lock = Arc::new(RwLock::new(0));
        let threads = (0..writers + readers).map(|at| {
            let lock = Arc::clone(&lock);
            spawn(move || {
                if at < writers {
                    *lock.write().unwrap() += 1;
                } else {
                    assert!(*lock.read().unwrap() <= writers);
                }
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*lock.read().unwrap(), writers);
    }
}

/// What a thread that locks once does next.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Read,
    EndRead,
    Write,
    EndWrite,
}

/// In how many orders threads can make these steps. A writer that finds readers inside says that it waits, unless
/// another has said so: that keeps readers out until no reader is inside.
fn orders(next: &[Next], waits: bool) -> u64 {
    let inside = |step| next.iter().filter(|&&next| next == step).count();
    let (readers, writers) = (inside(Next::EndRead), inside(Next::EndWrite));
    if next.is_empty() {
        return 1;
    }
    let count = |at: usize, then: Option<Next>, waits: bool| {
        let mut left = next.to_vec();
        match then {
            Some(then) => left[at] = then,
            None => _ = left.remove(at),
        }
        orders(&left, waits)
    };
    let each = (0..next.len()).map(|at| match next[at] {
        Next::Read if writers == 0 && !waits => count(at, Some(Next::EndRead), false),
        Next::EndRead => count(at, None, waits && readers > 1),
        Next::Write if writers + readers == 0 => count(at, Some(Next::EndWrite), false),
        Next::Write if writers == 0 && !waits => orders(next, true),
        Next::EndWrite => count(at, None, false),
        Next::Read | Next::Write => 0,
    });
    each.sum()
}

#[test]
fn every_order_is_explored_once() {
    for (writers, readers) in
        [(0, 1), (0, 3), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (3, 1)]
    {
        let threads = [vec![Next::Write; writers], vec![Next::Read; readers]].concat();
        let expected = orders(&threads, false);
        for memory in MODELS {
            let body = once_each(writers, readers);
            let report = Explorer::new(memory).explore(body).unwrap();
            assert!(report.holds(), "{report}");
            assert_eq!(report.executions, expected, "{writers} {readers} {memory:?}: {report}");
        }
    }
    assert_eq!(orders(&[Next::Read; 3], false), 90, "6! / 2^3");
}

#[test]
fn locks_order_plain_accesses() {
    let report = explore(|| {
        let shared = shared();
        let threads = [0, 1].map(|_| {
            let shared = Arc::clone(&shared);
            spawn(move || {
                let held = shared.0.write().unwrap();
                // SAFETY: no other thread holds the lock.
                shared.1.with_mut(|n| unsafe { *n += 1 });
                drop(held);
                let held = shared.0.read().unwrap();
                // SAFETY: a reader holds the lock, so no thread writes.
                let seen = shared.1.with(|n| unsafe { *n });
                drop(held);
                assert!(seen > 0);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn a_reader_that_writes_is_a_race() {
    let failure = fails(|| {
        let shared = shared();
        let other = Arc::clone(&shared);
        let writes = |shared: &Shared| {
            let _held = shared.0.read().unwrap();
            // SAFETY: none; the test expects the race.
            shared.1.with_mut(|n| unsafe { *n += 1 });
        };
        let thread = spawn(move || writes(&other));
        writes(&shared);
        thread.join().unwrap();
    });
    assert!(matches!(failure, Failure::Race { .. }), "{failure}");
}

/// Plain memory is handed over by a lock of each thread; a relaxed flag says which of them came first.
fn hand_over(gives_by_write: bool, takes_by_write: bool) -> impl Fn() + 'static {
    let passes = |lock: &RwLock<u32>, by_write: bool| {
        if by_write {
            drop(lock.write().unwrap());
        } else {
            drop(lock.read().unwrap());
        }
    };
    move || {
        let shared = shared();
        let other = Arc::clone(&shared);
        let giver = spawn(move || {
            // SAFETY: read only after the flag was seen.
            other.1.with_mut(|n| unsafe { *n = 1 });
            passes(&other.0, gives_by_write);
            other.2.store(1, Relaxed);
        });
        if shared.2.load(Relaxed) == 1 {
            passes(&shared.0, takes_by_write);
            // SAFETY: as far as the locks order it after the write.
            assert_eq!(shared.1.with(|n| unsafe { *n }), 1);
        }
        giver.join().unwrap();
    }
}

#[test]
fn readers_do_not_order_each_other_and_writers_order_all() {
    for (gives, takes) in [(true, true), (true, false), (false, true)] {
        let report = explore(hand_over(gives, takes));
        assert!(report.holds(), "{gives} {takes}: {report}");
    }
    let failure = fails(hand_over(false, false));
    assert!(matches!(failure, Failure::Race { .. }), "{failure}");
}

#[test]
fn two_readers_are_inside_at_once_and_no_writer_is() {
    let outcomes = |writes: bool| {
        let (found, _) = Explorer::new(Memory::C11)
            .outcomes(move || {
                let shared = shared();
                let other = Arc::clone(&shared);
                let thread = spawn(move || {
                    let _held = other.0.read().unwrap();
                    let before = other.2.fetch_add(1, Relaxed);
                    other.2.fetch_sub(1, Relaxed);
                    before
                });
                let inside = |shared: &Shared| {
                    let before = shared.2.fetch_add(1, Relaxed);
                    shared.2.fetch_sub(1, Relaxed);
                    before
                };
                let mine = if writes {
                    let _held = shared.0.write().unwrap();
                    inside(&shared)
                } else {
                    let _held = shared.0.read().unwrap();
                    inside(&shared)
                };
                (mine, thread.join().unwrap())
            })
            .unwrap();
        found.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(outcomes(true), [(0, 0)]);
    assert_eq!(outcomes(false), [(0, 0), (0, 1), (1, 0)]);
}

#[test]
fn an_upgrade_is_a_deadlock() {
    let report = explore(|| {
        let lock = RwLock::new(0).named("lock");
        let read = lock.read().unwrap();
        *lock.write().unwrap() = *read;
    });
    let violation = report.violation().expect("the reader waits for itself");
    assert!(matches!(violation.failure, Failure::Deadlock { .. }), "{report}");
    let told = one_line(&report);
    for part in [
        "thread 0 waits forever at crates/model/tests/real_rwlock.rs:",
        " to write-lock `lock`, which thread 0 has read-locked at ",
        "read-locks lock",
    ] {
        assert!(told.contains(part), "{part}: {report}");
    }
}

/// A thread that reads twice.
fn reads_twice(with_writer: bool) -> impl Fn() + 'static {
    move || {
        let lock = Arc::new(RwLock::new(0).named("lock"));
        let other = Arc::clone(&lock);
        let thread = spawn(move || {
            if with_writer {
                *other.write().unwrap() = 1;
            }
        });
        let first = lock.read().unwrap();
        let second = lock.read().unwrap();
        assert_eq!(*first, *second);
        drop((first, second));
        thread.join().unwrap();
    }
}

#[test]
fn reading_twice_is_a_deadlock_if_a_writer_comes_in_between() {
    assert!(explore(reads_twice(false)).holds());
    let report = explore(reads_twice(true));
    let violation = report.violation().expect("the second read waits for the writer");
    assert!(matches!(violation.failure, Failure::Deadlock { .. }), "{report}");
    let text = violation.trace.text();
    assert!(text.contains("begins to write-lock lock"), "{text}");
}

#[test]
fn two_readers_who_wait_for_each_other_deadlock_with_a_writer_in_between() {
    for first in [true, false] {
        let failure = fails(move || {
            let lock = Arc::new(RwLock::new(0));
            let reads = |lock: &Arc<RwLock<u32>>| {
                let lock = Arc::clone(lock);
                spawn(move || drop(lock.read().unwrap()))
            };
            let writes = |lock: &Arc<RwLock<u32>>| {
                let lock = Arc::clone(lock);
                spawn(move || drop(lock.write().unwrap()))
            };
            // The reader's word comes before this thread's in no order that matters.
            let held = lock.read().unwrap();
            let (reader, writer) = if first {
                (reads(&lock), writes(&lock))
            } else {
                let writer = writes(&lock);
                (reads(&lock), writer)
            };
            reader.join().unwrap();
            drop(held);
            writer.join().unwrap();
        });
        assert!(matches!(failure, Failure::Deadlock { .. }), "{failure}");
    }
}

#[test]
fn what_is_tried_fails_only_if_another_thread_is_inside() {
    let (found, _) = Explorer::new(Memory::C11)
        .outcomes(|| {
            let lock = Arc::new(RwLock::new(0));
            let other = Arc::clone(&lock);
            let holds_by_write = choose(2) == 1;
            let thread = spawn(move || {
                if holds_by_write {
                    drop(other.write().unwrap());
                } else {
                    drop(other.read().unwrap());
                }
            });
            let read = lock.try_read().is_ok();
            let write = lock.try_write().is_ok();
            thread.join().unwrap();
            assert!(lock.try_write().is_ok() && lock.try_read().is_ok(), "all have left");
            (holds_by_write, read, write)
        })
        .unwrap();
    let found: Vec<_> = found.into_keys().collect();
    let (t, f) = (true, false);
    assert_eq!(found, [(f, t, f), (f, t, t), (t, f, f), (t, f, t), (t, t, f), (t, t, t)]);
    let alone = explore(|| {
        let lock = RwLock::new(0);
        let read = lock.read().unwrap();
        assert!(lock.try_read().is_ok() && lock.try_write().is_err());
        drop(read);
        let write = lock.write().unwrap();
        assert!(lock.try_read().is_err() && lock.try_write().is_err());
        drop(write);
        assert!(lock.try_write().is_ok());
    });
    assert!(alone.holds() && alone.executions == 1, "{alone}");
}

#[test]
fn readers_may_be_symmetric() {
    let report = explore(|| {
        let lock = Arc::new(RwLock::new(0));
        spawn_symmetric(3, move || *lock.read().unwrap()).join().unwrap();
    });
    assert!(report.holds(), "{report}");
    assert_eq!(report.executions, 90 / 6, "{report}");
}

/// The reader's unlock, the other reader's lock and both writers, in every order: with a cell that the lock protects.
#[test]
fn a_try_that_fails_changes_nothing() {
    for reads in [false, true] {
        let report = explore(move || {
            let shared = shared();
            let reader = Arc::clone(&shared);
            let reader = spawn(move || drop(reader.0.read().unwrap()));
            let writer = Arc::clone(&shared);
            let writer = spawn(move || {
                let held = writer.0.write().unwrap();
                // SAFETY: no other thread holds the lock.
                writer.1.with_mut(|n| unsafe { *n = 1 });
                drop(held);
            });
            let tries = |shared: &Shared| _ = shared.0.try_write().is_ok();
            let other = Arc::clone(&shared);
            let trier = reads.then(|| spawn(move || tries(&other)));
            let held = shared.0.read().unwrap();
            // SAFETY: a reader holds the lock, so no thread writes.
            shared.1.with(|n| unsafe { *n });
            drop(held);
            if !reads {
                tries(&shared);
            }
            trier.into_iter().chain([reader, writer]).for_each(|thread| thread.join().unwrap());
        });
        assert!(report.holds(), "{reads}: {report}");
    }
}

#[test]
fn what_is_tried_is_one_step() {
    for memory in MODELS {
        // If `try_write` fails, the writer is inside: a `try_read` that succeeds comes after it.
        let report = Explorer::new(memory).explore(|| {
            let lock = Arc::new(RwLock::new(0));
            let other = Arc::clone(&lock);
            let writer = spawn(move || *other.write().unwrap() = 1);
            if lock.try_write().is_err()
                && let Ok(found) = lock.try_read()
            {
                assert_eq!(*found, 1);
            }
            writer.join().unwrap();
        });
        let report = report.unwrap();
        assert!(report.holds(), "{report}");
        // A reader is inside throughout: no thread writes, so `try_read` succeeds.
        let report = Explorer::new(memory).explore(|| {
            let lock = Arc::new(RwLock::new(0));
            let held = lock.read().unwrap();
            let (one, two) = (Arc::clone(&lock), Arc::clone(&lock));
            let writer = spawn(move || assert!(one.try_write().is_err()));
            let reader = spawn(move || assert!(two.try_read().is_ok()));
            writer.join().unwrap();
            reader.join().unwrap();
            drop(held);
        });
        let report = report.unwrap();
        assert!(report.holds(), "{report}");
    }
}

/// The values that a second writer finds if it has seen that a first one waits, and those that a reader finds.
#[test]
fn a_writer_that_waits_may_be_overtaken_once_all_have_left() {
    for writes in [true, false] {
        let (found, report) = Explorer::new(Memory::C11)
            .outcomes(move || {
                let lock = Arc::new(RwLock::new(0));
                let other = Arc::clone(&lock);
                let writer = spawn(move || *other.write().unwrap() += 1);
                let held = lock.read().unwrap();
                let waits = lock.try_read().is_err();
                drop(held);
                let found = if writes { *lock.write().unwrap() } else { *lock.read().unwrap() };
                writer.join().unwrap();
                (waits, found)
            })
            .unwrap();
        assert!(report.holds(), "{report}");
        let found: Vec<_> = found.into_keys().collect();
        assert_eq!(found, [(false, 0), (false, 1), (true, 0), (true, 1)], "writes: {writes}");
    }
}

#[test]
fn two_writers_and_one_who_tries_do_not_wait_forever() {
    let report = explore(|| {
        let lock = Arc::new(RwLock::new(0));
        let locks = [0, 1, 2].map(|_| Arc::clone(&lock));
        let [reads, tries, writes] = locks;
        let threads = [
            spawn(move || drop(reads.read().unwrap())),
            spawn(move || _ = tries.try_write().is_ok()),
            spawn(move || *writes.write().unwrap() += 1),
        ];
        *lock.write().unwrap() += 1;
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*lock.read().unwrap(), 2);
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn a_trace_says_who_is_in_the_way() {
    let told = |tries: fn(&RwLock<u32>), writes: bool| {
        let report = explore(move || {
            let lock = Arc::new(RwLock::new(0).named("lock"));
            let other = Arc::clone(&lock);
            let thread = spawn(move || {
                if writes {
                    let _held = other.write().unwrap();
                    tries(&RwLock::new(0).named("own"));
                } else {
                    let _held = other.read().unwrap();
                }
            });
            tries(&lock);
            thread.join().unwrap();
        });
        one_line(&report)
    };
    let told_of = told(|lock| assert!(lock.try_read().is_ok()), true);
    assert!(told_of.contains("cannot read-lock lock: thread 1 writes"), "{told_of}");
    let told_of = told(|lock| assert!(lock.try_write().is_ok()), true);
    assert!(told_of.contains("cannot write-lock lock: thread 1 writes"), "{told_of}");
    let told_of = told(|lock| assert!(lock.try_write().is_ok()), false);
    assert!(told_of.contains("cannot write-lock lock: thread 1 reads"), "{told_of}");
    let report = explore(|| {
        let lock = Arc::new(RwLock::new(0).named("lock"));
        let other = Arc::clone(&lock);
        let thread = spawn(move || *other.write().unwrap() = 1);
        let held = lock.read().unwrap();
        assert!(lock.try_read().is_ok());
        drop(held);
        thread.join().unwrap();
    });
    let told_of = one_line(&report);
    assert!(told_of.contains("cannot read-lock lock: thread 1 waits to write"), "{told_of}");
}

#[test]
fn it_works_by_itself_and_hands_its_value_out() {
    let uses = || {
        let mut lock: RwLock<Vec<u32>> = RwLock::default();
        lock.write().unwrap().push(1);
        lock.get_mut().unwrap().push(2);
        assert_eq!(lock.read().unwrap().len(), 2);
        assert!(lock.try_read().is_ok() && lock.try_write().is_ok());
        assert_eq!(lock.into_inner().unwrap(), [1, 2]);
        assert_eq!(*RwLock::from(3).read().unwrap(), 3);
    };
    uses();
    assert!(explore(uses).holds());
}
