//! The stamp: the first words of the memory, which say that a ring has been laid out there, and which.
//!
//! # State
//! ```text
//! 0    magic u64 | version u32 | kind u32
//! ```
//!
//! # Edges
//! made: `Stamp::set` stores the magic, last -> `Stamp::check` loads it, first. Carries the whole layout.
//!
//! # Evidence
//! tests/model_given.rs.

use super::AttachError;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU32, AtomicU64, Named};

const MAGIC: u64 = u64::from_ne_bytes(*b"unc ring");
pub(super) const VERSION: u32 = 4;

/// The kinds of rings in provided memory.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `spsc::shared`.
    Spsc = 1,
    /// `records::shared`.
    Records = 2,
}

/// The start of the memory.
#[repr(C)]
#[derive(Debug)]
pub struct Stamp {
    magic: AtomicU64,
    version: AtomicU32,
    kind: AtomicU32,
}

impl Stamp {
    /// The stamp of a ring that is being laid out.
    pub fn unset(kind: Kind) -> Stamp {
        let (version, kind) = (AtomicU32::new(VERSION), AtomicU32::new(kind as u32));
        Stamp { magic: AtomicU64::new(0).named("magic"), version, kind }
    }

    /// Marks the ring as laid out.
    pub fn set(&self) {
        // EDGE made (release): a thread that sees the magic sees the whole layout.
        self.magic.store(MAGIC, Release);
    }

    /// Checks that the memory holds a ring of this kind and layout.
    ///
    /// # Errors
    /// It holds none, or another one.
    pub fn check(&self, kind: Kind) -> Result<(), AttachError> {
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
