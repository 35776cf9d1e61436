//! Memory in pieces of one size, which one thread after another uses: making a mapping, touching it first and removing
//! it costs a thread more than all else that the observer does for it.
//!
//! # Contract
//! [`Pieces::get`] takes a piece, all zero, and [`Pieces::give`] gives it back. [`MOST`] are kept for later. Once
//! system calls may be forbidden ([`sandbox`](crate::sandbox)), there are those alone; [`Pieces::provide`] gets them
//! just before.
//! # Invariants
//! I1: a piece is a mapping of its size in bytes, and in use once.
//! # Edges
//! piece: `keep` stores an address -> `take` takes it. Carries that the piece is all zero.
//! # Evidence
//! `tests/programs`: `sandbox.c`, `sandbox_kills.c`, `many_threads.c`, `late_destructors.c`.

use crate::kernel;
use crate::sandbox::is_filtered;
use std::ptr::NonNull;
use uncontended_atomic::{AtomicUsize, Ordering::*};

/// Pieces that are kept.
const MOST: usize = 64;

/// Pieces of one size.
pub(crate) struct Pieces {
    bytes: usize,
    /// The address of each that is kept; 0 if there is none.
    free: [AtomicUsize; MOST],
}

impl Pieces {
    pub(crate) const fn of(bytes: usize) -> Self {
        Pieces { bytes, free: [const { AtomicUsize::new(0) }; MOST] }
    }

    /// Gets all that may be kept from the kernel, each with `prepare` applied.
    pub(crate) fn provide(&self, prepare: impl Fn(NonNull<u8>)) {
        while self.free.iter().any(|place| place.load(Relaxed) == 0) {
            let Some(piece) = self.make(&prepare) else { return };
            if !self.keep(piece) {
                // SAFETY: made just now (I1).
                return unsafe { kernel::unmap(piece, self.bytes) };
            }
        }
    }

    /// A piece. `prepare` is applied to one that is new.
    pub(crate) fn get(&self, prepare: impl Fn(NonNull<u8>)) -> Option<NonNull<u8>> {
        match self.take() {
            None if !is_filtered() => self.make(prepare),
            kept => kept,
        }
    }

    /// Gives it back.
    ///
    /// # Safety
    /// It is memory that [`Self::get`] returned, to which there is no reference.
    pub(crate) unsafe fn give(&self, piece: NonNull<u8>) {
        let words = piece.cast::<u64>().as_ptr();
        for word in (0..self.bytes / size_of::<u64>()).map(|at| words.wrapping_add(at)) {
            // SAFETY: in memory that is ours alone, by the contract (I1).
            if unsafe { word.read_volatile() } != 0 {
                // SAFETY: as above (I1). What is zero may have no page yet.
                unsafe { word.write_volatile(0) };
            }
        }
        if !self.keep(piece) && !is_filtered() {
            // SAFETY: of that many bytes (I1), by the contract unused.
            unsafe { kernel::unmap(piece, self.bytes) };
        }
    }

    fn make(&self, prepare: impl Fn(NonNull<u8>)) -> Option<NonNull<u8>> {
        kernel::private_memory(self.bytes).inspect(|&piece| prepare(piece))
    }

    fn take(&self) -> Option<NonNull<u8>> {
        // EDGE piece (acquire): it is zero.
        let swapped = |place: &AtomicUsize| place.swap(0, Acquire);
        let mut kept = self.free.iter().filter(|place| place.load(Relaxed) != 0);
        kept.find_map(|place| NonNull::new(swapped(place) as *mut u8))
    }

    /// Whether there was a place for it.
    fn keep(&self, piece: NonNull<u8>) -> bool {
        let address = piece.as_ptr() as usize;
        // EDGE piece (release): it is zero.
        let kept = |place: &AtomicUsize| place.compare_exchange(0, address, Release, Relaxed);
        self.free.iter().any(|place| place.load(Relaxed) == 0 && kept(place).is_ok())
    }
}
