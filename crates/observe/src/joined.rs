//! The thread that another one waits for, as the C library describes it to debuggers, even if it is not in the record.
//!
//! # Contract
//! [`tid`] returns the thread's number in the kernel, 0 once it has ended or if that is unknown. Another C library than
//! glibc describes nothing. Before 2.34 the description is for debuggers alone: there the field is where it has always
//! been, if that has the calling thread's number.
//! # Invariants
//! I1: TID is the place of that field in the memory behind a `pthread_t`, as glibc's constant `_thread_db_pthread_tid`
//!     states it (three numbers of 32 bits, there since it was loaded), or as found. Or 0, for none.
//! I2: a thread that may be joined has that memory until it has been joined.
//! # Sources
//! glibc, nptl_db/structs.def: the field; nptl_db/db_info.c: size in bits, number of elements, offset.

use crate::{kernel, lookup, sandbox};
use libc::pthread_t;
use uncontended_atomic::{AtomicUsize, Ordering::Relaxed};

static TID: AtomicUsize = AtomicUsize::new(0);

/// Where the field is in glibc 2.17 to 2.36.
const USUAL: usize = if cfg!(target_arch = "aarch64") { 208 } else { 720 };

/// Finds where the field is.
pub(crate) fn prepare() {
    let offset = match lookup::next(c"_thread_db_pthread_tid", c"GLIBC_PRIVATE") {
        Some(description) => described(description),
        None => Some(USUAL).filter(|&offset| has_own_number(offset)),
    };
    TID.store(offset.unwrap_or(0), Relaxed);
}

fn described(description: usize) -> Option<usize> {
    // SAFETY: the C library's own constants (I1).
    let [size, count, offset] = unsafe { (description as *const [u32; 3]).read() };
    ((size, count) == (32, 1)).then_some(offset as usize)
}

/// Whether the calling thread's number is there.
fn has_own_number(offset: usize) -> bool {
    // SAFETY: a call without arguments (L1).
    let place = unsafe { libc::pthread_self() } as usize + offset;
    // SAFETY: any bytes are a number (I1).
    let number = unsafe { kernel::copy::<u32>(place) };
    number == Some(kernel::thread_id())
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
