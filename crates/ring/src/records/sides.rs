//! What chunks and records ask of the sides that they came from.

use super::words::Words;
use crate::position::Position;

/// Room for a record.
#[derive(Clone, Copy, Debug)]
pub struct Claimed {
    /// Where its header goes.
    pub(super) at: Position,
    /// How many words of padding are before that.
    pub(super) padding: u64,
    /// Its length in bytes.
    pub(super) len: usize,
}

/// Where a record is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Where its header is.
    pub(super) at: Position,
    /// Its length in bytes.
    pub(super) len: usize,
}

/// A side that chunks go back to. Sealed: nobody outside can name it.
pub trait Writer {
    #[doc(hidden)]
    fn words(&self) -> &Words;
    /// # Safety
    /// It was claimed from this side, and has been neither committed nor aborted; nobody has references into it any
    /// more.
    #[doc(hidden)]
    unsafe fn commit(&mut self, claimed: Claimed);
    /// # Safety
    /// As for [`commit`](Writer::commit).
    #[doc(hidden)]
    unsafe fn abort(&mut self, claimed: Claimed);
}

/// A side that records go back to. Sealed: nobody outside can name it.
pub trait Reader {
    #[doc(hidden)]
    fn words(&self) -> &Words;
    /// # Safety
    /// It is what this side found last, and nobody has references into it any more.
    #[doc(hidden)]
    unsafe fn release(&mut self, place: Place);
}
