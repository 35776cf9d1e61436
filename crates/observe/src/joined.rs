//! The thread that another one waits for, as the C library describes it to debuggers, even if it is not in the record.
//!
//! # Contract
//! [`of`] returns the thread's number in the kernel, 0 once it has ended, and the address of the function that it began
//! with; 0 for what is unknown. Another C library than glibc describes nothing, and glibc before 2.34 was not seen to.
//! # Invariants
//! I1: TID and FUNCTION are the places of these fields in the memory behind a `pthread_t`, as glibc's constants
//!     `_thread_db_pthread_*` state them: three numbers of 32 bits, there since it was loaded. Or 0, for none.
//! I2: a thread that may be joined has that memory until it has been joined.
//! # Sources
//! glibc, nptl_db/structs.def: the fields; nptl_db/db_info.c: size in bits, number of elements, offset.

use crate::lookup;
use libc::pthread_t;
use std::ffi::CStr;
use uncontended_atomic::{AtomicUsize, Ordering::Relaxed};

static TID: AtomicUsize = AtomicUsize::new(0);
static FUNCTION: AtomicUsize = AtomicUsize::new(0);

/// Finds where the fields are.
pub(crate) fn prepare() {
    TID.store(field(c"_thread_db_pthread_tid", 32), Relaxed);
    FUNCTION.store(field(c"_thread_db_pthread_start_routine", 64), Relaxed);
}

/// The place of a field of `bits` bits; 0 if there is none.
fn field(name: &'static CStr, bits: u32) -> usize {
    let Some(description) = lookup::next(name, c"GLIBC_PRIVATE") else { return 0 };
    // SAFETY: the C library's own constants (I1).
    let [size, count, offset] = unsafe { (description as *const [u32; 3]).read() };
    if (size, count) == (bits, 1) { offset as usize } else { 0 }
}

/// What is known of a thread that the caller is about to join.
pub(crate) fn of(thread: pthread_t) -> (u32, u64) {
    let place = |field: &AtomicUsize| match field.load(Relaxed) {
        0 => None,
        offset => Some(thread as usize + offset),
    };
    // SAFETY: a field of a thread that may be joined (P1, I1, I2); the kernel clears it when the thread ends.
    let tid = place(&TID).map_or(0, |tid| unsafe { (tid as *const u32).read_volatile() });
    // SAFETY: a field of a thread that may be joined (P1, I1, I2), written before it began.
    let function = place(&FUNCTION).map_or(0, |at| unsafe { (at as *const u64).read() });
    (tid, function)
}
