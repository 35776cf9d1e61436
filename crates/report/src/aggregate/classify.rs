//! Classifies the waiting at a lock by its pattern.
//!
//! # Contract
//! A rule applies only to a plain pattern. Waiting without one stays `contention` for locks that exclude (that is what
//! they are for) and `unknown` for futexes, of which only the waiting is visible. A class follows from what threads
//! waited for, so it does not depend on whether holds are recorded that no thread waited for.
//! # Sources
//! Patterns met in real programs: a main thread that holds a mutex for a second to stop its I/O threads (a gate),
//! worker threads that wait for jobs on a condition variable (a queue), two threads that alternate (a hand-off), a
//! semaphore that a thread holds until its end for others to wait for that (Python's `Thread.join`, a hand-off).

use super::sum;
use crate::run::{Class, Kind};

/// One thread's use of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Part {
    /// Its acquisitions.
    pub acquisitions: u64,
    /// Acquisitions that did not get the lock at the first try.
    pub blocked: u64,
    /// Its total wait.
    pub wait_ns: u64,
    /// Its holds that a thread waited for.
    pub waited_holds: u64,
    /// The waiting of others that they caused.
    pub caused_ns: u64,
    /// The sum of its holds, of those that are recorded.
    pub hold_ns: u64,
    /// Whether it is a started thread that held the lock for most of its life and until about its end.
    pub until_its_end: bool,
}

/// The class of a lock of `kind`, from its threads' use and the number of owner changes. `is_signal`: of a semaphore,
/// that another thread posts it than the one that waited.
pub fn classify(kind: Kind, is_signal: bool, parts: &[Part], owner_changes: u64) -> Class {
    match kind {
        Kind::Condition => Class::Queue,
        Kind::Barrier => Class::Gate,
        Kind::Futex => Class::Unknown,
        Kind::Semaphore if is_signal => Class::Queue,
        // A mutex held that long is waited for as mutexes are.
        Kind::Semaphore if is_join(parts) => Class::HandOff,
        _ if is_gate(parts) => Class::Gate,
        _ if is_hand_off(parts, owner_changes) => Class::HandOff,
        _ => Class::Contention,
    }
}

const LONG_NS: u64 = 1_000_000;
/// Fewer events than this do not make a pattern.
const OFTEN: u64 = 3;

/// The thread of a gate causes at least this part of the waiting.
const MOSTLY: f64 = 0.5;

/// The holds of one thread cause most of the waiting, each for long, and ten times what those of all others cause;
/// the others wait for it, and it for none of them. What counts is the waiting that holds caused, and not how long they
/// are: holds that no thread waited for may be in the record or not.
fn is_gate(parts: &[Part]) -> bool {
    let Some(keeper) = parts.iter().max_by_key(|part| part.caused_ns) else { return false };
    let others =
        |figure: fn(&Part) -> u64| sum(parts.iter().map(figure)).saturating_sub(figure(keeper));
    let (passes, waits) = (others(|part| part.acquisitions), others(|part| part.blocked));
    let (waiting_ns, caused_ns) = (others(|part| part.wait_ns), others(|part| part.caused_ns));
    if keeper.waited_holds < OFTEN || passes < OFTEN || waits < OFTEN {
        return false;
    }
    keeper.caused_ns / keeper.waited_holds >= LONG_NS
        && caused_ns < keeper.caused_ns / 10
        && keeper.caused_ns as f64 >= MOSTLY * waiting_ns as f64
        && keeper.wait_ns < waiting_ns / 10
}

/// One thread holds the lock, once and without waiting, until its end; each of the others takes it once and passes
/// through: it waits for that thread to end.
fn is_join(parts: &[Part]) -> bool {
    let Some(keeper) = parts.iter().find(|part| part.until_its_end) else { return false };
    let passing_ns = sum(parts.iter().map(|part| part.hold_ns)).saturating_sub(keeper.hold_ns);
    keeper.blocked == 0
        && parts.iter().all(|part| part.acquisitions <= 1)
        && passing_ns < keeper.hold_ns / 10
}

/// Two threads, nearly every acquisition of which waits for the other.
fn is_hand_off(parts: &[Part], owner_changes: u64) -> bool {
    let acquisitions = sum(parts.iter().map(|part| part.acquisitions));
    let active = parts.iter().filter(|part| part.acquisitions > 0);
    let each_waits = active.clone().all(|part| part.blocked / 4 >= part.acquisitions / 10);
    active.count() == 2
        && acquisitions >= 20
        && each_waits
        && owner_changes / 9 >= acquisitions / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class_of(kind: Kind, parts: &[Part], owner_changes: u64) -> Class {
        classify(kind, false, parts, owner_changes)
    }

    #[test]
    fn a_main_thread_that_holds_others_off_is_a_gate() {
        let main = Part {
            acquisitions: 10,
            waited_holds: 10,
            caused_ns: 19_000_000_000,
            ..Part::default()
        };
        let worker =
            Part { acquisitions: 10, blocked: 10, wait_ns: 9_500_000_000, ..Part::default() };
        assert_eq!(class_of(Kind::Mutex, &[main, worker, worker], 20), Class::Gate);
        // Whatever holds are recorded.
        for (kept, passed) in [(10_000_000_000, 20_000), (10_000_000_000, 9_000_000_000), (0, 0)] {
            let main = Part { hold_ns: kept, ..main };
            let worker = Part { hold_ns: passed, ..worker };
            assert_eq!(class_of(Kind::Mutex, &[main, worker, worker], 20), Class::Gate);
        }
    }

    /// Each figure of a gate at the last value that makes one, and at the next.
    #[test]
    fn a_gate_has_each_of_its_signs() {
        let main = Part {
            acquisitions: 3,
            waited_holds: 3,
            caused_ns: 3_000_000,
            wait_ns: 599_999,
            ..Part::default()
        };
        let worker = Part {
            acquisitions: 3,
            waited_holds: 3,
            blocked: 3,
            wait_ns: 6_000_000,
            caused_ns: 299_999,
            ..Part::default()
        };
        let idle = Part::default();
        let class = |main, worker| class_of(Kind::Mutex, &[idle, main, worker], 4);
        assert_eq!(class(main, worker), Class::Gate);
        for (keeper, other) in [
            (Part { waited_holds: 2, ..main }, worker),
            (Part { waited_holds: 4, ..main }, worker),
            (Part { caused_ns: 2_999_999, ..main }, worker),
            (Part { wait_ns: 600_000, ..main }, worker),
            (main, Part { acquisitions: 2, ..worker }),
            (main, Part { blocked: 2, ..worker }),
            (main, Part { caused_ns: 300_000, ..worker }),
            (main, Part { wait_ns: 6_000_001, ..worker }),
        ] {
            assert_eq!(class(keeper, other), Class::Contention, "{keeper:?} {other:?}");
        }
    }

    /// The same of a hand-off: two threads, of which nearly every acquisition waits, in turn.
    #[test]
    fn a_hand_off_has_each_of_its_signs() {
        let thread =
            Part { acquisitions: 10, blocked: 4, wait_ns: 900, hold_ns: 100, ..Part::default() };
        let idle = Part::default();
        let class = |parts: &[Part], changes| class_of(Kind::Mutex, parts, changes);
        assert_eq!(class(&[thread, idle, thread], 18), Class::HandOff);
        let few = Part { acquisitions: 9, ..thread };
        let seldom = Part { blocked: 3, ..thread };
        for (parts, changes) in [
            (&[thread, thread, thread][..], 27),
            (&[thread], 18),
            (&[thread, few], 18),
            (&[thread, seldom], 18),
            (&[thread, thread], 17),
        ] {
            assert_eq!(class(parts, changes), Class::Contention, "{parts:?} {changes}");
        }
    }

    /// Each figure of a join at the last value that makes one, and at the next.
    #[test]
    fn a_lock_held_for_a_threads_life_is_waited_for_to_join_it() {
        let keeper =
            Part { acquisitions: 1, hold_ns: 100_000_000, until_its_end: true, ..Part::default() };
        let joiner =
            Part { acquisitions: 1, blocked: 1, wait_ns: 90_000_000, hold_ns: 9_999_999, ..keeper };
        let joiner = Part { until_its_end: false, ..joiner };
        let class = |parts: &[Part]| class_of(Kind::Semaphore, parts, 1);
        assert_eq!(class(&[keeper, joiner]), Class::HandOff);
        assert_eq!(class_of(Kind::Mutex, &[keeper, joiner], 1), Class::Contention);
        for (keeper, joiner) in [
            (Part { until_its_end: false, ..keeper }, joiner),
            (Part { blocked: 1, ..keeper }, joiner),
            (Part { acquisitions: 2, ..keeper }, joiner),
            (keeper, Part { acquisitions: 2, ..joiner }),
            (keeper, Part { hold_ns: 10_000_000, ..joiner }),
        ] {
            assert_eq!(class(&[keeper, joiner]), Class::Contention, "{keeper:?} {joiner:?}");
        }
    }

    #[test]
    fn threads_of_one_kind_contend() {
        let thread = Part {
            acquisitions: 1000,
            blocked: 300,
            wait_ns: 900_000_000,
            hold_ns: 1_000_000_000,
            ..Part::default()
        };
        assert_eq!(class_of(Kind::Mutex, &[thread; 4], 900), Class::Contention);
        assert_eq!(class_of(Kind::Mutex, &[thread; 2], 300), Class::Contention);
        assert_eq!(class_of(Kind::Mutex, &[], 0), Class::Contention);
    }

    #[test]
    fn two_threads_in_turn_hand_off() {
        let thread = Part {
            acquisitions: 1000,
            blocked: 990,
            wait_ns: 900_000_000,
            hold_ns: 100_000,
            ..Part::default()
        };
        assert_eq!(class_of(Kind::Mutex, &[thread; 2], 1999), Class::HandOff);
    }

    #[test]
    fn what_is_waited_on_for_work_is_a_queue() {
        let waiter =
            Part { acquisitions: 5, blocked: 5, wait_ns: 1_000, hold_ns: 0, ..Part::default() };
        assert_eq!(class_of(Kind::Condition, &[waiter], 0), Class::Queue);
        assert_eq!(classify(Kind::Semaphore, true, &[waiter], 0), Class::Queue);
        // Its holds need not be recorded.
        assert_eq!(class_of(Kind::Semaphore, &[waiter], 0), Class::Contention);
        assert_eq!(class_of(Kind::Futex, &[waiter], 0), Class::Unknown);
    }
}
