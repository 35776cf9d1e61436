//! What an object without a holder is used for: its waiters wait for a thread, as at a lock, or for an event.
//!
//! # Contract
//! Of a futex, the functions that waited tell it; without names, its wakeups do. A condition whose waiters pass it on
//! is a lock in all but name; so is a condition or a semaphore on which mostly the code of a known lock makes a thread
//! sleep, or one in which Python's functions wait for the interpreter lock.

use super::blame::Division;
use crate::code::{self, Skipped};
use crate::run::{Class, Frame, Kind, Like, WaitedIn};

/// Threads pass an object on, as they do a lock, if this share of the waiting ended with a pass.
const MOSTLY_PASSED: f64 = 0.8;

/// A thread's semaphore or condition is a lock's if at least this share of its waiting is in the code of locks.
const MOSTLY_IN_LOCKS: f64 = 0.5;

/// What an object is used for.
pub(super) struct Nature {
    pub(super) class: Class,
    pub(super) like: Option<Like>,
    pub(super) known_as: Option<&'static str>,
}

impl Nature {
    /// What the functions say that waited for it, the longest of them in `waiter`.
    pub(super) fn by_name(
        kind: Kind,
        waiter: &[Frame],
        waited_in: &[WaitedIn],
        skipped: &Skipped,
    ) -> Option<Like> {
        let in_locks = || {
            let of = waited_in.iter().filter(|waits| skipped.is_in_made(&waits.stack));
            of.map(|waits| waits.share).sum::<f64>() >= MOSTLY_IN_LOCKS
        };
        match kind {
            Kind::Futex => skipped.like(waiter),
            Kind::Condition | Kind::Semaphore if in_locks() => Some(Like::Mutex),
            _ => None,
        }
    }

    /// Of an object of `kind`, of `class` as far as its threads' figures tell, whose longest wait was in `waiter`, and
    /// what its functions say.
    pub(super) fn of(
        kind: Kind,
        class: Class,
        division: &Division,
        waiter: &[Frame],
        named: Option<Like>,
    ) -> Self {
        let is_passed = division.passed >= MOSTLY_PASSED;
        let by_wakeups = (kind == Kind::Futex && is_passed).then_some(Like::Mutex);
        // A thread that got it without waiting is not seen to pass it on.
        let is_passed = is_passed || kind == Kind::Condition && code::takes_interpreter(waiter);
        let like = named.or(by_wakeups);
        let class = match class {
            Class::Unknown if like == Some(Like::Condition) => Class::Queue,
            Class::Unknown if like == Some(Like::Mutex) => Class::Contention,
            Class::Queue if is_passed || named == Some(Like::Mutex) => Class::Contention,
            class => class,
        };
        let known_as = if is_passed { code::known_as(kind, waiter) } else { None };
        Nature { class, like, known_as }
    }
}
