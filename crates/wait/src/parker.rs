//! A token for one thread: it sleeps until somebody gives it.
//!
//! # State
//! One word, shared by a [`Parker`] and its [`Unparker`]s: no token, a token, or no token and its thread may sleep.
//!
//! # Edges
//! token: `unpark` -> `park`. What happened before.
//!
//! # Invariants
//! I1: the only thread that sets PARKED is the parker's, and it sleeps on nothing else; so a wake-up is needed only by
//!     who takes PARKED away. All changes are atomic read-modify-writes of one word, hence no fence.
//!
//! # Evidence
//! tests/model.rs, tests/faults.rs, tests/leaks.rs.

use crate::deadline::{Deadline, TimedOut};
use std::fmt;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{Arc, AtomicU32, Scope, Wait, futex_wait, futex_wake};

const NONE: u32 = 0;
const TOKEN: u32 = 1;
const PARKED: u32 = 2;

/// The side that sleeps. It can be sent to a thread, and belongs to one at a time.
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

/// The side that wakes. As many as you like.
///
/// ```
/// use uncontended_wait::Parker;
/// let mut parker = Parker::new();
/// let one = parker.unparker();
/// let other = one.clone();
/// one.unpark();
/// other.unpark(); // a token is one, however often it was given
/// parker.park();
/// ```
#[derive(Clone)]
pub struct Unparker(Arc<AtomicU32>);

impl Parker {
    /// Without a token.
    pub fn new() -> Parker {
        Parker(Arc::new(AtomicU32::new(NONE)))
    }

    /// A handle to give tokens by.
    pub fn unparker(&self) -> Unparker {
        Unparker(Arc::clone(&self.0))
    }

    /// Takes the token; sleeps until there is one.
    #[cfg_attr(unc_model, track_caller)]
    pub fn park(&mut self) {
        while self.park_deadline(Deadline::NEVER).is_err() {}
    }

    /// The same, but not longer than to `deadline`, never a moment less.
    ///
    /// # Errors
    /// The deadline has passed, and there is no token.
    #[cfg_attr(unc_model, track_caller)]
    pub fn park_deadline(&mut self, deadline: Deadline) -> Result<(), TimedOut> {
        // EDGE token (acquire): what happened before it was given.
        if self.0.compare_exchange(TOKEN, NONE, Acquire, Relaxed).is_ok() {
            return Ok(());
        }
        let mut is_over = deadline.has_passed();
        while !is_over {
            // Fails where it was said before, or where there is a token.
            let _ = self.0.compare_exchange(NONE, PARKED, Relaxed, Relaxed);
            let end = futex_wait(&*self.0, PARKED, deadline.limit_ns(), Scope::Private);
            // EDGE token (acquire): as above.
            if self.0.compare_exchange(TOKEN, NONE, Acquire, Relaxed).is_ok() {
                return Ok(());
            }
            is_over = end == Wait::TimedOut || deadline.has_passed();
        }
        // EDGE token (acquire): one that came at the last moment is taken, and nobody need wake us any more.
        let found = self.0.swap(NONE, Acquire);
        if found == TOKEN { Ok(()) } else { Err(TimedOut) }
    }
}

impl Unparker {
    /// Gives the token, if it is not there yet, and wakes the thread, if it sleeps.
    #[cfg_attr(unc_model, track_caller)]
    pub fn unpark(&self) {
        // EDGE token (release): what happened before.
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
