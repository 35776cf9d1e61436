//! A token for one thread, which sleeps until another thread hands it over.
//!
//! # State
//! One word, shared by a [`Parker`] and its [`Unparker`]s: no token, a token, or no token and the thread may sleep.
//!
//! # Edges
//! token: `unpark` -> `park`. What happened before `unpark`.
//!
//! # Invariants
//! I1: only the parker's thread sets PARKED, and it sleeps on nothing else, so only the thread that replaces PARKED has
//!     to wake it. Every change is an atomic read-modify-write of one word, so no fence is needed.
//!
//! # Evidence
//! Test below; tests/model.rs, tests/faults.rs, tests/leaks.rs.

use crate::deadline::{Deadline, TimedOut};
use std::fmt;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{Arc, AtomicU32, Named, Scope, Wait, futex_wait, futex_wake};

const NONE: u32 = 0;
const TOKEN: u32 = 1;
const PARKED: u32 = 2;

/// The side that sleeps. It can be sent to another thread and belongs to one thread at a time.
///
/// ```
/// use uncontended_wait::Parker;
/// let mut parker = Parker::new();
/// let unparker = parker.unparker();
/// let other = std::thread::spawn(move || unparker.unpark());
/// parker.park();
/// other.join().unwrap();
/// ```
pub struct Parker(Arc<AtomicU32>);

/// The side that wakes. Clone it as often as needed.
///
/// ```
/// use uncontended_wait::Parker;
/// let mut parker = Parker::new();
/// let one = parker.unparker();
/// let other = one.clone();
/// one.unpark();
/// other.unpark(); // tokens do not add up: there is at most one
/// parker.park();
/// ```
#[derive(Clone)]
pub struct Unparker(Arc<AtomicU32>);

impl Parker {
    /// A parker without a token.
    pub fn new() -> Parker {
        Parker(Arc::new(AtomicU32::new(NONE).named("parker")))
    }

    /// A handle that hands over tokens.
    pub fn unparker(&self) -> Unparker {
        Unparker(Arc::clone(&self.0))
    }

    /// Sleeps until there is a token, and takes it.
    #[cfg_attr(unc_model, track_caller)]
    pub fn park(&mut self) {
        while self.park_deadline(Deadline::NEVER).is_err() {}
    }

    /// Like [`park`](Parker::park), but ends at `deadline`, never earlier.
    ///
    /// # Errors
    /// The deadline passed without a token.
    #[cfg_attr(unc_model, track_caller)]
    #[doc(alias = "park_timeout")]
    pub fn park_deadline(&mut self, deadline: Deadline) -> Result<(), TimedOut> {
        // EDGE token (acquire): what happened before it was handed over.
        if self.0.compare_exchange(TOKEN, NONE, Acquire, Relaxed).is_ok() {
            return Ok(());
        }
        let mut is_over = deadline.has_passed();
        while !is_over {
            // Fails if it is PARKED already or has a token.
            let _ = self.0.compare_exchange(NONE, PARKED, Relaxed, Relaxed);
            let end = futex_wait(&*self.0, PARKED, deadline.limit_ns(), Scope::Private);
            // EDGE token (acquire): as above.
            if self.0.compare_exchange(TOKEN, NONE, Acquire, Relaxed).is_ok() {
                return Ok(());
            }
            is_over = end == Wait::TimedOut || deadline.has_passed();
        }
        // EDGE token (acquire): takes a token that comes at the last moment. From here on no thread needs to wake us.
        let found = self.0.swap(NONE, Acquire);
        // Under the checker no time passes.
        debug_assert!(found == TOKEN || cfg!(unc_model) || deadline.has_passed(), "too early");
        if found == TOKEN { Ok(()) } else { Err(TimedOut) }
    }
}

impl Unparker {
    /// Hands over the token, unless it is there already, and wakes the thread if it sleeps.
    #[cfg_attr(unc_model, track_caller)]
    #[doc(alias = "notify")]
    pub fn unpark(&self) {
        // EDGE token (release): what happened before it was handed over.
        if self.0.swap(TOKEN, Release) == PARKED {
            futex_wake(&*self.0, 1, Scope::Private);
        }
    }
}

impl Default for Parker {
    fn default() -> Parker {
        Parker::new()
    }
}

impl fmt::Debug for Parker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Parker")
    }
}

impl fmt::Debug for Unparker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unparker")
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_deadline_is_never_early_and_leaves_the_parker_usable() {
        let mut parker = Parker::new();
        for ms in 0..20 {
            let deadline = Deadline::after(Duration::from_millis(ms));
            assert_eq!(parker.park_deadline(deadline), Err(TimedOut));
            assert!(deadline.has_passed());
        }
        parker.unparker().unpark();
        assert_eq!(parker.park_deadline(Deadline::NEVER), Ok(()));
    }
}
