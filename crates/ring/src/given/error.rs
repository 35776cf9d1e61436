//! What can be wrong with given memory, and with a role.

use crate::CapacityError;
use std::error::Error;
use std::fmt;
use uncontended_wait::role::Holder;

/// Why there is no ring in the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttachError {
    /// It takes more bytes.
    TooSmall {
        /// So many.
        needed: usize,
    },
    /// The memory has to be aligned.
    Misaligned {
        /// To so many bytes.
        to: usize,
    },
    /// There has never been a ring here, or it is not finished yet.
    NoRing,
    /// The ring has another layout: it was made by another version of this library.
    Version {
        /// The layout found.
        found: u32,
    },
    /// It is another kind of ring.
    Kind {
        /// The kind found.
        found: u32,
    },
    /// The ring is for other elements.
    Element {
        /// The size of its elements, in bytes.
        size: u64,
        /// Their alignment, in bytes.
        align: u64,
    },
    /// A ring cannot have that capacity.
    Capacity(CapacityError),
    /// Producer and consumer stand further apart than they can.
    Corrupt,
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttachError::TooSmall { needed } => {
                write!(f, "the ring takes {needed} bytes of memory")
            }
            AttachError::Misaligned { to } => write!(f, "memory has to be aligned to {to} bytes"),
            AttachError::NoRing => f.write_str("there is no ring in the memory"),
            AttachError::Version { found } => {
                write!(f, "the ring has layout {found}, not {}", super::VERSION)
            }
            AttachError::Kind { found } => write!(f, "it is a ring of another kind ({found})"),
            AttachError::Element { size, align } => {
                write!(f, "the ring is for elements of {size} bytes aligned to {align}")
            }
            AttachError::Capacity(error) => error.fmt(f),
            AttachError::Corrupt => f.write_str("the ring's positions cannot be"),
        }
    }
}

impl Error for AttachError {}

/// Why a role was not given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoleError {
    /// Somebody holds it.
    Held {
        /// The process that does.
        pid: u32,
    },
    /// The process that held it is no more. The role can be taken over.
    Died {
        /// Its number.
        pid: u32,
    },
    /// Its holder has given it up, which closed that side for ever.
    GivenUp,
    /// Producer and consumer stand further apart than they can.
    Corrupt,
}

impl From<Holder> for RoleError {
    fn from(holder: Holder) -> RoleError {
        match holder {
            Holder::Lives { pid } => RoleError::Held { pid },
            Holder::Died { pid } => RoleError::Died { pid },
            Holder::GaveUp => RoleError::GivenUp,
            // No process of this library leaves such a word in a ring.
            Holder::Here | Holder::Nobody => RoleError::Corrupt,
        }
    }
}

impl fmt::Display for RoleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RoleError::Held { pid } => write!(f, "process {pid} has that role"),
            RoleError::Died { pid } => write!(f, "process {pid} died with that role: take it over"),
            RoleError::GivenUp => f.write_str("that side of the ring has been closed"),
            RoleError::Corrupt => f.write_str("the ring's positions cannot be"),
        }
    }
}

impl Error for RoleError {}
