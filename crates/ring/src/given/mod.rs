//! Rings in memory that the caller provides, mapped by one process or by several: what they have in common.
//!
//! # Contract
//! The memory begins with a [`Stamp`], which names the kind of ring. The creator lays out the ring first and stamps it
//! last; `attach` accepts only stamped memory. A side that exists once is a role in that memory, [`Held`] by one
//! process.
//!
//! # Edges
//! made: the edge of the stamp (`stamp`).

mod error;
#[cfg(not(unc_model))]
mod held;
mod stamp;

pub use self::error::{AttachError, RoleError};
#[cfg(not(unc_model))]
pub(crate) use self::held::Held;
pub use self::stamp::{Kind, Stamp};

#[cfg(not(unc_model))]
use std::ptr::NonNull;

/// Checks that the `bytes` bytes at `base` can hold a ring of `needed` bytes with alignment `align`.
#[cfg(not(unc_model))]
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
