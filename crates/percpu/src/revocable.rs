//! A right to store that any thread can take over, also from one that is preempted in the middle.
//!
//! # Contract
//! One claim at a time is in force: the last. A thread stores through its claim; if that was revoked by a later one, it
//! gets an error, and no store of it happens once [`Revocable::claim`] has returned to the other thread. The new owner
//! waits for no thread, only for a barrier on the CPUs that run this process. It sees every store of earlier claims.
//! Where sections are not used, or by a thread that is not registered, a store is made under a mark instead; a claim
//! waits for a store that another thread is in the middle of. A child of a fork waits for none of its parent.
//!
//! # State
//! The number of the last claim; the process whose thread stores without a section, or 0.
//! # Edges
//! stored: Claim::store -> the caller loads the word. Carries what the claim's thread did before.
//!
//! # Invariants
//! I1: the number never returns to a value. A thread that stores without a section marks that before it reads the
//!     number, and a claim changes the number before it looks for a mark.
//! I2: the number and a word that is stored to are borrowed, so they live.
//! # Evidence
//! tests/model.rs: stores of a claim and of the one that revokes it.

use crate::away::Trying;
use crate::section::{self, End};
use crate::shape::Shape;
use std::fmt;
use uncontended_atomic::Ordering::{Relaxed, SeqCst};
use uncontended_atomic::{AtomicU64, fence, yield_now};

/// What a claim was revoked by: a later one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Revoked;

impl fmt::Display for Revoked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another thread has taken over")
    }
}

impl std::error::Error for Revoked {}

/// The kernel refuses to restart sections, which it did not when the process began. Stores of the last claim may go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The kernel's error number.
    pub errno: i32,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the kernel refuses to restart sections (error {}), as a seccomp filter may have it",
            self.errno
        )
    }
}

impl std::error::Error for Refused {}

/// The right to store into some words, as its users agree.
///
/// ```
/// use uncontended_atomic::{AtomicU64, Ordering::Relaxed};
/// use uncontended_percpu::{Revocable, Revoked};
/// let (right, head) = (Revocable::new(), AtomicU64::new(0));
/// let first = right.claim()?;
/// assert_eq!(first.store(&head, 1), Ok(()));
/// let second = right.claim()?; // In another thread, perhaps, while the first one sleeps.
/// assert_eq!(first.store(&head, 2), Err(Revoked));
/// assert_eq!(head.load(Relaxed), 1);
/// # second.store(&head, 3).unwrap();
/// # Ok::<(), uncontended_percpu::Refused>(())
/// ```
#[derive(Debug, Default)]
pub struct Revocable {
    claims: AtomicU64,
    storing: Trying,
}

impl Revocable {
    /// No claim.
    #[cfg(not(unc_model))]
    pub const fn new() -> Revocable {
        Revocable { claims: AtomicU64::new(0), storing: Trying::new() }
    }

    /// No claim.
    #[cfg(unc_model)]
    pub fn new() -> Revocable {
        Revocable::default()
    }

    /// Revokes all earlier claims.
    ///
    /// # Errors
    /// No claim is in force any more, but a store of the last one may still happen.
    pub fn claim(&self) -> Result<Claim<'_>, Refused> {
        let number = self.claims.fetch_add(1, Relaxed) + 1;
        if Shape::here().cpus > 0 {
            section::restart(None).map_err(|errno| Refused { errno })?;
        }
        // SeqCst: the store of the number before the load of the mark (I1).
        fence(SeqCst);
        while self.storing.is_held() {
            yield_now();
        }
        Ok(Claim { right: self, number })
    }
}

/// A claim. Dropping it changes nothing: it is in force until the next.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'r> {
    right: &'r Revocable,
    number: u64,
}

impl Claim<'_> {
    /// Stores the value into the word, which only threads with a claim may change. A thread that loads it with
    /// `Acquire` sees what this thread did before.
    ///
    /// # Errors
    /// The claim was revoked: nothing was stored.
    #[inline]
    pub fn store(&self, word: &AtomicU64, value: u64) -> Result<(), Revoked> {
        if Shape::here().cpus > 0 {
            // SAFETY: I2.
            match unsafe { section::store_if(&self.right.claims, self.number, word, value) } {
                End::Committed => return Ok(()),
                End::Differs | End::Full => return Err(Revoked),
                End::Elsewhere => {}
            }
        }
        let _storing = loop {
            match self.right.storing.try_begin() {
                Some(storing) => break storing,
                None => yield_now(),
            }
        };
        // SeqCst: the store of the mark before the load of the number (I1).
        // EDGE stored (release)
        fence(SeqCst);
        if self.right.claims.load(Relaxed) != self.number {
            return Err(Revoked);
        }
        word.store(value, Relaxed);
        Ok(())
    }

    /// Whether it was in force a moment ago.
    pub fn is_in_force(&self) -> bool {
        self.right.claims.load(Relaxed) == self.number
    }
}
