//! Rings in memory that the caller provides, mapped by one process or by several: what they have in common.
//!
//! # Contract
//! The memory begins with a [`Stamp`], which names the kind of ring. The creator lays out the ring first and stamps it
//! last; `attach` accepts only stamped memory. A side that exists once is a role in that memory, [`Held`] by one
//! process.
//!
//! # State
//! ```text
//! 0    magic u64 | version u32 | kind u32
//! ```
//! I1: the memory stays mapped as long as its keeper lives, and roles lie in it.
//!
//! # Edges
//! made: `Stamp::set` stores the magic, last -> `Stamp::check` loads it, first. Carries the whole layout.

mod error;

pub use self::error::{AttachError, RoleError};

use std::fmt;
use std::ptr::NonNull;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{Arc, AtomicU32, AtomicU64};
use uncontended_wait::role::Role;

const MAGIC: u64 = u64::from_ne_bytes(*b"unc ring");
pub(super) const VERSION: u32 = 2;

/// The kinds of rings in provided memory.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Spsc = 1,
    Records = 2,
}

/// The start of the memory.
#[repr(C)]
pub(crate) struct Stamp {
    magic: AtomicU64,
    version: AtomicU32,
    kind: AtomicU32,
}

impl Stamp {
    /// The stamp of a ring that is being laid out.
    pub(crate) fn unset(kind: Kind) -> Stamp {
        let (version, kind) = (AtomicU32::new(VERSION), AtomicU32::new(kind as u32));
        Stamp { magic: AtomicU64::new(0), version, kind }
    }

    /// Marks the ring as laid out.
    pub(crate) fn set(&self) {
        // EDGE made (release): a thread that sees the magic sees the whole layout.
        self.magic.store(MAGIC, Release);
    }

    /// Checks that the memory holds a ring of this kind and layout.
    pub(crate) fn check(&self, kind: Kind) -> Result<(), AttachError> {
        // EDGE made (acquire): the whole layout.
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

/// Checks that the `bytes` bytes at `base` can hold a ring of `needed` bytes with alignment `align`.
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

/// A role that this process holds until it is dropped, and the keeper of its memory.
pub(crate) struct Held {
    role: NonNull<Role>,
    _keep: Arc<dyn Send + Sync>,
}

// SAFETY: a role is an atomic in memory that `_keep` keeps (I1).
unsafe impl Send for Held {}
// SAFETY: as for `Send` (I1).
unsafe impl Sync for Held {}

impl Held {
    /// Wraps a role that was claimed just now.
    ///
    /// # Safety
    /// The role lies in memory that `keep` keeps.
    pub(crate) unsafe fn new(role: NonNull<Role>, keep: Arc<dyn Send + Sync>) -> Held {
        Held { role, _keep: keep }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: `_keep` keeps the memory (I1).
        let role = unsafe { self.role.as_ref() };
        role.give_up();
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}
