//! How often the calling thread has slept, seldom by a system call.
//!
//! # Contract
//! [`Sleeps::count`] asks the kernel only if the thread may have left its CPU since it asked last
//! ([`uncontended_sys::switches`]). So a wait that did not sleep costs two loads, and one that did costs a system call
//! or two.
//! # State
//! `seen` is the kernel's count right after the mark was set; it holds as long as the mark is.
//! # Invariants
//! I1: OFFSET is the value in the C library, whose size of the area is not 0; or 0, for none.
//! I2: only a thread that is marked as recording changes its `Sleeps`.
//! I3: in glibc, the size is a constant of 32 bits and the offset one of 64, there since it was loaded.
//! # Evidence
//! `tests/programs`: `slept.c`.

use crate::{image, kernel, lookup, sandbox};
use std::cell::Cell as Own;
use uncontended_atomic::{AtomicUsize, Ordering::Relaxed};
use uncontended_sys::switches::{self, Mark};
use uncontended_trace::layout::flag;

static OFFSET: AtomicUsize = AtomicUsize::new(0);

/// Finds where the threads' marks are, if the kernel makes use of them.
pub(crate) fn prepare() {
    let flags = image::arena().map_or(0, |arena| arena.header().flags.load(Relaxed));
    if flags & flag::SWITCHES == 0 {
        return;
    }
    let (offset, size) = (lookup::next(switches::OFFSET, c""), lookup::next(switches::SIZE, c""));
    let (Some(offset), Some(size)) = (offset, size) else { return };
    // SAFETY: the C library's own constant (I3).
    let size = unsafe { (size as *const u32).read() };
    // SAFETY: the C library's own constant (I3).
    let offset = unsafe { (offset as *const usize).read() };
    if size != 0 {
        OFFSET.store(offset, Relaxed);
    }
}

/// The sleeps of a thread.
pub(crate) struct Sleeps {
    mark: Option<Mark>,
    seen: Own<Option<u64>>,
}

impl Sleeps {
    /// Those of the calling thread.
    pub(crate) fn of_this() -> Sleeps {
        let offset = OFFSET.load(Relaxed);
        // SAFETY: what the C library has (I1).
        let mark = if offset != 0 { unsafe { Mark::here(offset as isize) } } else { None };
        Sleeps { mark, seen: Own::new(None) }
    }

    /// How many there were so far; none if that is unknown. The thread must be marked as recording.
    #[inline]
    pub(crate) fn count(&self) -> Option<u64> {
        let mark = self.mark?;
        match self.seen.get() {
            seen @ Some(_) if mark.is_set() => seen,
            _ => self.ask(mark),
        }
    }

    #[cold]
    fn ask(&self, mark: Mark) -> Option<u64> {
        let may_ask = !sandbox::is_filtered();
        mark.set(); // First: a later sleep clears it.
        let seen = may_ask.then(|| kernel::thread_usage().ru_nvcsw as u64);
        self.seen.set(seen); // I2
        seen
    }
}
