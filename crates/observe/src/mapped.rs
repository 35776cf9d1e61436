//! The calls after which something else is mapped at an address, or nothing: a lock that processes share and that was
//! there is no longer ([`here::moved`]), though others may still have it.
//!
//! # Contract
//! The calls themselves are passed on as they are. Before one of them, the locks at those addresses end for this
//! process (more of them where it is not known how many bytes will go: such a lock is found again by its place). What
//! the C library unmaps by itself is not seen, nor are direct system calls.
//! # Evidence
//! `tests/programs/shared_remapped.c`.

use crate::caller::Caller;
use crate::here;
use crate::host::{self, Object};
use crate::sharing;
use libc::{c_int, c_void};

/// What is mapped at these addresses changes.
#[inline(always)]
fn changes(start: usize, bytes: usize) {
    let addresses = start..start.saturating_add(bytes);
    if sharing::may_be_in(&addresses) {
        here::moved(addresses);
    }
}

/// The C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(address: *mut c_void, bytes: usize) -> c_int {
    changes(address as usize, bytes);
    // SAFETY: the program's own call (P1).
    unsafe { host::munmap(address, bytes) }
}

/// The C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn mremap(
    address: *mut c_void,
    bytes: usize,
    new: usize,
    flags: c_int,
    to: *mut c_void,
) -> *mut c_void {
    changes(address as usize, bytes);
    if flags & libc::MREMAP_FIXED != 0 {
        changes(to as usize, new);
    }
    // SAFETY: the program's own call (P1).
    unsafe { host::mremap(address, bytes, new, flags, to) }
}

/// The C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn shmdt(address: *const c_void) -> c_int {
    changes(address as usize, usize::MAX);
    // SAFETY: the program's own call (P1).
    unsafe { host::shmdt(address) }
}

macro_rules! map {
    ($($map:ident)*) => { $(
        /// The C library's.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $map(
            address: *mut c_void,
            bytes: usize,
            access: c_int,
            flags: c_int,
            file: c_int,
            offset: i64,
        ) -> *mut c_void {
            if flags & libc::MAP_FIXED != 0 {
                changes(address as usize, bytes);
            }
            // SAFETY: the program's own call (P1).
            unsafe { host::$map(address, bytes, access, flags, file, offset) }
        }
    )* };
}

map!(mmap mmap64);

/// The last `sem_close` of a named semaphore unmaps it.
pub(crate) unsafe extern "C-unwind" fn sem_close(semaphore: *mut Object, _: Caller) -> c_int {
    changes(semaphore as usize, 1);
    // SAFETY: the program's own call (P1).
    unsafe { host::sem_close(semaphore) }
}
