//! The thread that another one waits for, as the C library describes it to debuggers, even if it is not in the record.
//!
//! # Contract
//! [`tid`] returns the thread's number in the kernel, 0 once it has ended or if that is unknown. Another C library than
//! glibc describes nothing, and glibc before 2.34 was not seen to.
//! # Invariants
//! I1: TID is the place of that field in the memory behind a `pthread_t`, as glibc's constant `_thread_db_pthread_tid`
//!     states it: three numbers of 32 bits, there since it was loaded. Or 0, for none.
//! I2: a thread that may be joined has that memory until it has been joined.
//! # Sources
//! glibc, nptl_db/structs.def: the field; nptl_db/db_info.c: size in bits, number of elements, offset.

use crate::{kernel, lookup, sandbox};
use libc::pthread_t;
use uncontended_atomic::{AtomicUsize, Ordering::Relaxed};

static TID: AtomicUsize = AtomicUsize::new(0);

/// Finds where the field is.
pub(crate) fn prepare() {
    let Some(description) = lookup::next(c"_thread_db_pthread_tid", c"GLIBC_PRIVATE") else {
        return;
    };
    // SAFETY: the C library's own constants (I1).
    let [size, count, offset] = unsafe { (description as *const [u32; 3]).read() };
    if (size, count) == (32, 1) {
        TID.store(offset as usize, Relaxed);
    }
}

/// The number of the calling thread: the kernel's answer, or the C library's if the kernel may not be asked; 0 if that
/// is unknown.
pub(crate) fn this_thread() -> u32 {
    match sandbox::is_filtered() {
        false => kernel::thread_id(),
        // SAFETY: a call without arguments (L1).
        true => tid(unsafe { libc::pthread_self() }),
    }
}

/// The number of the calling thread, or of one that the caller is about to join.
pub(crate) fn tid(thread: pthread_t) -> u32 {
    let place = Some(TID.load(Relaxed)).filter(|&offset| offset != 0);
    let tid = place.map(|offset| (thread as usize + offset) as *const u32);
    // SAFETY: a field of a thread that may be joined (P1, I1, I2); the kernel clears it when the thread ends.
    tid.map_or(0, |tid| unsafe { tid.read_volatile() })
}
