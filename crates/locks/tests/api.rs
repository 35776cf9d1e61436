//! What users of std and parking_lot write first.

#![cfg(not(unc_model))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::scope;
use std::time::{Duration, Instant};
use uncontended_locks::*;

static COUNTED: Mutex<u32> = Mutex::new(0);
static NAMES: RwLock<Vec<&str>> = RwLock::new(Vec::new());
static POSITION: SeqLock<(f64, u64)> = SeqLock::new((0.0, 0));
static IN_ORDER: Mutex<u32, Mcs<SpinThenPark>> = Mutex::with(Mcs::new(), 0);

#[test]
fn new_is_const_and_infers_the_default_lock() {
    *COUNTED.lock() += 1;
    *IN_ORDER.lock() += 1;
    NAMES.write().push("one");
    POSITION.write((1.5, 1));
    let (local, shared) = (Mutex::new(7), RwLock::new(7));
    let from = (Mutex::from(7), RwLock::from(7), SeqLock::from(7));
    assert_eq!(*COUNTED.lock() + *IN_ORDER.lock() + *local.lock() + *from.0.lock(), 16);
    assert_eq!(NAMES.read().len() + *shared.read() + *from.1.read() + from.2.read(), 22);
    assert_eq!(POSITION.read(), (1.5, 1));
}

#[test]
fn guards_are_shown_as_their_values_are() {
    let (mutex, lock) = (Mutex::new("text"), RwLock::new("text"));
    assert_eq!(format!("{} {:>6}", mutex.lock(), lock.read()), "text   text");
    assert_eq!(format!("{} {mutex:?}", lock.write()), r#"text Mutex("text")"#);
    let part = Guard::map(mutex.lock(), |text| text);
    assert_eq!(format!("{part} {part:?} {mutex:?}"), r#"text "text" Mutex(<locked>)"#);
}

#[test]
fn a_lock_is_tried_for_a_time_or_until_an_instant() {
    let mutex = Mutex::new(1);
    let guard = mutex.lock();
    let begun = Instant::now();
    let tried = |try_lock: &(dyn Fn() -> bool + Sync)| {
        scope(|threads| threads.spawn(try_lock).join().unwrap())
    };
    assert!(!tried(&|| mutex.try_lock_for(Duration::from_millis(2)).is_some()));
    assert!(begun.elapsed() >= Duration::from_millis(2));
    let end = Instant::now() + Duration::from_millis(2);
    assert!(!tried(&|| mutex.try_lock_until(end).is_some()));
    assert!(Instant::now() >= end);
    drop(guard);
    assert!(tried(&|| mutex.try_lock_for(Duration::ZERO).is_some()));
    assert!(tried(&|| mutex.try_lock_for(Duration::MAX).is_some()), "a time without end");
    assert!(tried(&|| mutex.try_lock_until(begun).is_some()), "a free one is taken, however late");
}

#[test]
fn a_wait_for_a_condition_ends_with_its_time() {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    let mut guard = ready.lock();
    assert!(changed.wait_for(&mut guard, Duration::from_millis(1)).timed_out());
    let begun = Instant::now();
    let time = Duration::from_millis(3);
    assert!(changed.wait_while_for(&mut guard, |ready| !*ready, time).timed_out());
    assert!(begun.elapsed() >= time && ready.is_locked());
    scope(|threads| {
        threads.spawn(|| {
            *ready.lock() = true;
            changed.notify_all();
        });
        let minute = Duration::from_secs(60);
        assert!(!changed.wait_while_for(&mut guard, |ready| !*ready, minute).timed_out());
    });
    assert!(*guard);
    let end = Instant::now() + Duration::from_millis(2);
    assert!(changed.wait_while_until(&mut guard, |ready| *ready, end).timed_out());
    assert!(Instant::now() >= end && changed.wait_until(&mut guard, end).timed_out());
    assert!(!changed.wait_while_until(&mut guard, |_| false, end).timed_out(), "it need not wait");
}

/// A program for parking_lot, of which only the path is another.
mod of_parking_lot {
    use std::time::{Duration, Instant};
    use uncontended_locks::{
        Condvar, MappedMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex,
        MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult,
    };

    pub(super) struct Jobs {
        pub(super) waiting: Mutex<Vec<u32>>,
        pub(super) come: Condvar,
        pub(super) names: RwLock<(Vec<String>, usize)>,
    }

    impl Jobs {
        pub(super) fn next_within(&self, time: Duration) -> Option<u32> {
            let end = Instant::now() + time;
            let mut waiting: MutexGuard<'_, Vec<u32>> = self.waiting.lock();
            while waiting.is_empty() {
                if self.come.wait_until(&mut waiting, end).timed_out() {
                    return waiting.pop();
                }
            }
            waiting.pop()
        }

        pub(super) fn pause(&self, time: Duration) -> WaitTimeoutResult {
            self.come.wait_for(&mut self.waiting.lock(), time)
        }

        pub(super) fn last(&self) -> MappedMutexGuard<'_, u32> {
            MutexGuard::map(self.waiting.lock(), |waiting| waiting.last_mut().unwrap())
        }

        pub(super) fn read(&self) -> RwLockReadGuard<'_, (Vec<String>, usize)> {
            self.names.read()
        }

        pub(super) fn names(&self) -> MappedRwLockReadGuard<'_, [String]> {
            RwLockReadGuard::map(self.names.read(), |(names, _)| names.as_slice())
        }

        pub(super) fn names_mut(&self) -> MappedRwLockWriteGuard<'_, Vec<String>> {
            let both: RwLockWriteGuard<'_, (Vec<String>, usize)> = self.names.write();
            RwLockWriteGuard::map(both, |(names, _)| names)
        }
    }
}

#[test]
fn a_program_for_parking_lot_needs_another_path_alone() {
    let jobs = of_parking_lot::Jobs {
        waiting: Mutex::new(vec![]),
        come: Condvar::new(),
        names: RwLock::new((vec![], 3)),
    };
    assert_eq!(jobs.next_within(Duration::from_millis(1)), None);
    assert!(jobs.pause(Duration::from_millis(1)).timed_out());
    jobs.waiting.lock().extend([1, 2]);
    *jobs.last() += 5;
    assert_eq!(jobs.next_within(Duration::from_secs(60)), Some(7));
    jobs.names_mut().push("one".into());
    assert_eq!((jobs.names().len(), jobs.read().1), (1, 3));
}

#[test]
fn a_mapped_guard_holds_the_lock_until_it_is_dropped() {
    let mutex = Mutex::with(Mcs::<Park>::new(), (1, String::from("a")));
    let mut text = Guard::map(mutex.lock(), |pair| &mut pair.1);
    text.push('b');
    assert!(mutex.is_locked() && mutex.try_lock().is_none());
    // It may go to another thread, as the guard may.
    scope(|threads| threads.spawn(move || text.push('c')).join().unwrap());
    assert!(!mutex.is_locked());
    assert_eq!(mutex.into_inner(), (1, "abc".into()));

    let lock = RwLock::with(Bravo::<PhaseFair>::new(), vec![1, 2, 3]);
    WriteGuard::map(lock.write(), |all| &mut all[1..])[0] = 5;
    let (one, two) = (lock.read(), ReadGuard::map(lock.read(), |all| &all[1]));
    assert!(lock.try_write().is_none() && one[1] == *two);
    drop(one);
    assert!(lock.try_write().is_none(), "the mapped one reads still");
    drop(two);
    assert!(!lock.is_locked());
}

#[test]
fn a_closure_that_panics_gives_the_lock_back() {
    let mutex = Mutex::new(1);
    let mapped = || drop(Guard::map(mutex.lock(), |_| -> &mut u32 { panic!("in map") }));
    assert!(catch_unwind(AssertUnwindSafe(mapped)).is_err());
    assert!(!mutex.is_locked());
    let lock = RwLock::new(1);
    let mapped = || drop(WriteGuard::map(lock.write(), |_| -> &mut u32 { panic!("in map") }));
    assert!(catch_unwind(AssertUnwindSafe(mapped)).is_err());
    let mapped = || drop(ReadGuard::map(lock.read(), |_| -> &u32 { panic!("in map") }));
    assert!(catch_unwind(AssertUnwindSafe(mapped)).is_err());
    assert!(!lock.is_locked());

    let seq = SeqLock::new((1, 2));
    let updated = || {
        seq.update(|value| -> u32 {
            value.0 = 9;
            panic!("in update")
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(updated)).is_err());
    assert_eq!((seq.read(), seq.writes()), ((1, 2), 0));
    seq.write((3, 4));
    assert_eq!(seq.try_read(), Some((3, 4)));
}

#[test]
fn a_condition_that_panics_keeps_the_lock_until_its_guard_goes() {
    let (mutex, changed) = (Mutex::new(0), Condvar::new());
    let waits = || changed.wait_while(&mut mutex.lock(), |_| panic!("in the condition"));
    assert!(catch_unwind(AssertUnwindSafe(waits)).is_err());
    assert!(!mutex.is_locked());
    let mut guard = mutex.lock();
    let unlocked = || {
        Guard::unlocked(&mut guard, || -> u32 {
            assert!(!mutex.is_locked());
            panic!("while it is given back")
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(unlocked)).is_err());
    assert!(mutex.is_locked(), "it was taken again");
    *guard += 1;
}

#[repr(align(64))]
struct Wide(u8);

#[test]
fn values_of_no_size_and_of_a_wide_alignment_are_guarded() {
    let nothing = Mutex::with(Tas::new(), ());
    *nothing.lock() = ();
    let wide = Mutex::with(Tas::new(), Wide(1));
    wide.lock().0 = 2;
    assert_eq!((&raw const *wide.lock()).addr() % 64, 0);
    assert_eq!(wide.into_inner().0, 2);
    let unsized_one: &Mutex<[u32]> = &Mutex::new([1, 2]);
    unsized_one.lock()[1] = 3;
    assert_eq!(*unsized_one.lock(), [1, 3]);
    let parts: &RwLock<[Wide]> = &RwLock::new([Wide(1), Wide(2)]);
    assert_eq!(ReadGuard::map(parts.read(), |all| &all[1]).0, 2);
    assert_eq!((SeqLock::new(()).read(), SeqLock::new([0_u64; 0]).read()), ((), []));
}

/// Without the check each of these would wait forever.
#[test]
#[cfg(debug_assertions)]
fn a_closure_that_runs_another_on_the_same_value_panics_in_a_debug_build() {
    let (total, other) = (Combining::new(1), Combining::new(10));
    let nested = || total.run(|_| total.run(|total| *total += 1));
    let panic = catch_unwind(AssertUnwindSafe(nested)).unwrap_err();
    assert!(panic.downcast_ref::<&str>().unwrap().contains("would wait for itself"), "{panic:?}");
    let through_another = || total.run(|_| other.run(|_| total.run(|total| *total += 1)));
    assert!(catch_unwind(AssertUnwindSafe(through_another)).is_err());
    // Neither value is lost, and one may be used while the other is.
    assert_eq!(total.run(|total| *total + other.run(|other| *other)), 11);
    let inside = Combining::new(Combining::new(5));
    assert_eq!(inside.run(|inner| inner.run(|five| *five)), 5);
}

/// The closure that nests is run by another thread, of which the first must not be told.
#[test]
#[cfg(debug_assertions)]
fn a_nested_closure_panics_in_the_thread_that_asked_for_it() {
    let total = Combining::new(0);
    let asked = std::sync::Barrier::new(2);
    scope(|threads| {
        let asks = threads.spawn(|| {
            asked.wait();
            catch_unwind(AssertUnwindSafe(|| total.run(|_| total.run(|_| ())))).is_err()
        });
        total.run(|_| {
            asked.wait();
            std::thread::sleep(Duration::from_millis(5));
        });
        assert!(asks.join().unwrap());
    });
    assert_eq!(total.run(|total| *total), 0);
}
