//! Memory that the caller gives, mapped by several processes or by one: what all rings in such memory have in common.
//!
//! # Contract
//! Such memory begins with a [`Stamp`], which says what kind of ring it is. A ring is laid out first and stamped last,
//! and found only by its stamp. Sides of which there is one are roles in that memory, [`Held`] by one process.
//!
//! # State
//! ```text
//! 0    magic u64 | version u32 | kind u32
//! ```
//! I1: the memory is there as long as its keeper, and roles lie in it.
//!
//! # Edges
//! made: `Stamp::set` stores the magic, last -> `Stamp::check` loads it, first. Carries all that was laid out.

mod error;

pub use self::error::{AttachError, RoleError};

use std::fmt;
use std::ptr::NonNull;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{Arc, AtomicU32, AtomicU64};
use uncontended_wait::role::Role;

const MAGIC: u64 = u64::from_ne_bytes(*b"unc ring");
pub(super) const VERSION: u32 = 2;

/// The kinds of rings in given memory.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Spsc = 1,
    Records = 2,
}

/// What such memory begins with.
#[repr(C)]
pub(crate) struct Stamp {
    magic: AtomicU64,
    version: AtomicU32,
    kind: AtomicU32,
}

impl Stamp {
    /// Of a ring that is being laid out.
    pub(crate) fn unset(kind: Kind) -> Stamp {
        let (version, kind) = (AtomicU32::new(VERSION), AtomicU32::new(kind as u32));
        Stamp { magic: AtomicU64::new(0), version, kind }
    }

    /// The ring is laid out.
    pub(crate) fn set(&self) {
        // EDGE made (release): who sees the magic sees all of it.
        self.magic.store(MAGIC, Release);
    }

    /// Whether there is a ring of that kind.
    pub(crate) fn check(&self, kind: Kind) -> Result<(), AttachError> {
        // EDGE made (acquire): all that was laid out.
        if self.magic.load(Acquire) != MAGIC {
            return Err(AttachError::NoRing);
        }
        match (self.version.load(Relaxed), self.kind.load(Relaxed)) {
            (VERSION, found) if found == kind as u32 => Ok(()),
            (VERSION, found) => Err(AttachError::Kind { found }),
            (found, _) => Err(AttachError::Version { found }),
        }
    }
}

/// Whether a ring that takes so many bytes, aligned so, can be there.
pub(crate) fn check_memory(
    base: NonNull<u8>,
    bytes: usize,
    needed: usize,
    align: usize,
) -> Result<(), AttachError> {
    if bytes < needed {
        return Err(AttachError::TooSmall { needed });
    }
    match base.as_ptr().addr().is_multiple_of(align) {
        true => Ok(()),
        false => Err(AttachError::Misaligned { to: align }),
    }
}

/// A role that this process holds, and gives up in the end; and what keeps the memory.
pub(crate) struct Held {
    role: NonNull<Role>,
    _keep: Arc<dyn Send + Sync>,
}

// SAFETY: a role is an atomic in memory that is kept (I1).
unsafe impl Send for Held {}
// SAFETY: as for `Send` (I1).
unsafe impl Sync for Held {}

impl Held {
    /// For a role just claimed.
    ///
    /// # Safety
    /// It lies in memory that `keep` keeps.
    pub(crate) unsafe fn new(role: NonNull<Role>, keep: Arc<dyn Send + Sync>) -> Held {
        Held { role, _keep: keep }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the memory is kept (I1).
        let role = unsafe { self.role.as_ref() };
        role.give_up();
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}
