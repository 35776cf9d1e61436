//! The interface through which chunks and records reach their sides.

use super::words::Words;
use crate::position::Position;

/// Room for a record.
#[derive(Clone, Copy, Debug)]
pub struct Claimed {
    /// The position of its header.
    pub(super) at: Position,
    /// The words of padding before the header.
    pub(super) padding: u64,
    /// Its length in bytes.
    pub(super) len: usize,
}

/// The place of a record.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The position of its header.
    pub(super) at: Position,
    /// Its length in bytes.
    pub(super) len: usize,
}

/// A producer, as its chunks see it. Sealed: its module is private.
pub trait Writer {
    #[doc(hidden)]
    fn words(&self) -> &Words;
    /// # Safety
    /// `claimed` was claimed from this side and is neither committed nor aborted, and no references into it are left.
    #[doc(hidden)]
    unsafe fn commit(&mut self, claimed: Claimed);
    /// # Safety
    /// As for [`commit`](Writer::commit).
    #[doc(hidden)]
    unsafe fn abort(&mut self, claimed: Claimed);
}

/// A consumer, as its records see it. Sealed: its module is private.
pub trait Reader {
    #[doc(hidden)]
    fn words(&self) -> &Words;
    /// # Safety
    /// `place` is what this side found last, and no references into it are left.
    #[doc(hidden)]
    unsafe fn release(&mut self, place: Place);
}
