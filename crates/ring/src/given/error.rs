//! Errors of attaching to memory and of claiming a role in it.

use crate::CapacityError;
use std::error::Error;
use std::fmt;
use uncontended_wait::role::Holder;

/// Why the memory cannot be used as this ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttachError {
    /// The memory is too small.
    TooSmall {
        /// Bytes that the ring needs.
        needed: usize,
    },
    /// The memory is not aligned.
    Misaligned {
        /// Required alignment, in bytes.
        to: usize,
    },
    /// The memory holds no ring, or one whose creation is not complete.
    NoRing,
    /// Another version of this library created the ring, with another layout.
    Version {
        /// The layout found.
        found: u32,
    },
    /// The ring is of another kind.
    Kind {
        /// The kind found.
        found: u32,
    },
    /// The ring holds elements of another size or alignment.
    Element {
        /// The size of its elements, in bytes.
        size: u64,
        /// Their alignment, in bytes.
        align: u64,
    },
    /// A ring cannot have this capacity.
    Capacity(CapacityError),
    /// The size or the positions in the header are impossible.
    Corrupt,
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttachError::TooSmall { needed } => {
                write!(f, "the memory is too small: the ring needs {needed} bytes")
            }
            AttachError::Misaligned { to } => write!(f, "the memory must be aligned to {to} bytes"),
            AttachError::NoRing => f.write_str("the memory holds no ring"),
            AttachError::Version { found } => {
                write!(
                    f,
                    "the ring has layout {found}; this library reads {}",
                    super::stamp::VERSION
                )
            }
            AttachError::Kind { found } => write!(f, "the ring is of another kind ({found})"),
            AttachError::Element { size, align } => {
                write!(f, "the ring holds elements of {size} bytes, aligned to {align}")
            }
            AttachError::Capacity(error) => error.fmt(f),
            AttachError::Corrupt => f.write_str("the ring's header is corrupt"),
        }
    }
}

impl Error for AttachError {}

/// Why a role could not be claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoleError {
    /// Another holder has the role.
    Held {
        /// The process that holds it.
        pid: u32,
    },
    /// The process that held the role died. The role can be taken over.
    Died {
        /// The process that died.
        pid: u32,
    },
    /// The holder gave the role up, which closed this side for good; or the ring of records was closed to producers.
    GivenUp,
    /// The role's word or the positions in the header are impossible.
    Corrupt,
}

impl From<Holder> for RoleError {
    fn from(holder: Holder) -> RoleError {
        match holder {
            Holder::Lives { pid } => RoleError::Held { pid },
            Holder::Died { pid } => RoleError::Died { pid },
            Holder::GaveUp => RoleError::GivenUp,
            // This library never leaves such a word in a ring.
            Holder::Here | Holder::Nobody => RoleError::Corrupt,
        }
    }
}

impl fmt::Display for RoleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RoleError::Held { pid } => write!(f, "process {pid} holds this role"),
            RoleError::Died { pid } => {
                write!(f, "process {pid} died holding this role: take it over")
            }
            RoleError::GivenUp => f.write_str("this side of the ring is closed"),
            RoleError::Corrupt => f.write_str("the ring's header is corrupt"),
        }
    }
}

impl Error for RoleError {}
