//! Whether the program forbids itself system calls, and memory for then. From then on the observer makes none at all:
//! some sandboxes kill for any call but reading, writing and leaving.
//!
//! # Contract
//! [`is_filtered`] is true once the process asked for a filter of system calls (seccomp), which may kill it for a
//! forbidden one. From then on facts about ending threads and forked children are missing, and events only if the
//! record needs more memory than it got just before, or more threads record than there are pieces of it. A filter that
//! is asked for by an instruction of the program's own is not seen.
//! # State
//! `FILTERED`: set before the filter takes effect, never cleared; forked children inherit it, as they do the filter.
//! # Invariants
//! I1: what `Pieces` got from the kernel, now or in advance, is a mapping of its size in bytes, and in use once.
//! # Edges
//! piece: `Pieces::put` stores an address -> `Pieces::take` takes it. Carries that the piece is all zero.
//! # Evidence
//! `tests/programs`: `sandbox.c`, `sandbox_kills.c`.

use crate::kernel;
use std::ptr::NonNull;
use uncontended_atomic::{AtomicBool, AtomicUsize, Ordering::*};

static FILTERED: AtomicBool = AtomicBool::new(false);

/// Whether system calls may be forbidden.
#[inline(always)]
pub(crate) fn is_filtered() -> bool {
    FILTERED.load(Relaxed)
}

/// Called just before they may be.
pub(crate) fn set_filtered() {
    FILTERED.store(true, Relaxed);
}

/// Threads that begin to record after that, at a time.
const MOST: usize = 64;

/// Memory got in advance, in pieces of one size, which are all zero.
pub(crate) struct Pieces {
    bytes: usize,
    /// The address of each; 0 if it is in use.
    free: [AtomicUsize; MOST],
}

impl Pieces {
    pub(crate) const fn of(bytes: usize) -> Self {
        Pieces { bytes, free: [const { AtomicUsize::new(0) }; MOST] }
    }

    /// Gets them from the kernel, each with `prepare` applied.
    pub(crate) fn provide(&self, prepare: impl Fn(NonNull<u8>)) {
        for _ in 0..MOST {
            let Some(piece) = kernel::private_memory(self.bytes) else { return };
            prepare(piece);
            self.keep(piece);
        }
    }

    /// Memory of the size: of the kernel's if it may be asked.
    pub(crate) fn get(&self, prepare: impl Fn(NonNull<u8>)) -> Option<NonNull<u8>> {
        if is_filtered() {
            // EDGE piece (acquire): it is zero.
            return self
                .free
                .iter()
                .find_map(|place| NonNull::new(place.swap(0, Acquire) as *mut u8));
        }
        kernel::private_memory(self.bytes).inspect(|&memory| prepare(memory))
    }

    /// Gives it back.
    ///
    /// # Safety
    /// It is memory that [`Self::get`] returned, to which there is no reference.
    pub(crate) unsafe fn give(&self, memory: NonNull<u8>) {
        if !is_filtered() {
            // SAFETY: of the kernel's, in that many bytes (I1), by the contract unused.
            return unsafe { kernel::unmap(memory, self.bytes) };
        }
        let words = memory.cast::<u64>().as_ptr();
        for word in (0..self.bytes / size_of::<u64>()).map(|at| words.wrapping_add(at)) {
            // SAFETY: in memory that is ours alone, by the contract (I1).
            if unsafe { word.read_volatile() } != 0 {
                // SAFETY: as above (I1). What is zero may have no page yet.
                unsafe { word.write_volatile(0) };
            }
        }
        self.keep(memory);
    }

    /// Without a place it stays, unused.
    fn keep(&self, piece: NonNull<u8>) {
        let address = piece.as_ptr() as usize;
        // EDGE piece (release): it is zero.
        let _ = self.free.iter().find(|place| {
            place.load(Relaxed) == 0 && place.compare_exchange(0, address, Release, Relaxed).is_ok()
        });
    }
}
