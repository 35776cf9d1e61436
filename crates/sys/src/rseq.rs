//! The C library's registration of threads for restartable sequences.
//!
//! # Contract
//! glibc registers every thread, from 2.35 on, and tells by three symbols where its area lies from the thread pointer,
//! how much of it the kernel fills, and with what flags. This module reads them and registers nothing: a thread has one
//! area, and it is the C library's. The symbols are looked up at run time, so that a program runs with older libraries.
//! # Invariants
//! I1: in glibc these symbols are constants, of 64 bits the offset and of 32 bits the others, set before the program
//!     starts.
//! I2: the kernel refuses a registration of no bytes, so asking for one changes nothing.
//! # Sources
//! glibc manual, Restartable Sequences; Linux include/uapi/linux/rseq.h, kernel/rseq.c.

use crate::switches::{OFFSET, SIZE};
use std::ffi::CStr;
use std::ptr::NonNull;

const FLAGS: &CStr = c"__rseq_flags";

/// What a sequence needs: the number of the CPU twice, the descriptor's address, the flags.
const NEEDED: u32 = 20;

/// Why there is no area to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absent {
    /// The C library has no such symbols: glibc before 2.35, or another library.
    Library,
    /// The program is linked statically, so symbols cannot be looked up.
    Static,
    /// The C library was told not to register threads (`GLIBC_TUNABLES=glibc.pthread.rseq=0`).
    TurnedOff,
    /// The kernel does not know the call, or a filter claims so.
    Kernel,
    /// A filter of system calls forbids it.
    Forbidden,
    /// The kernel fills fewer bytes of the area than a sequence needs.
    Small,
    /// The C library registered threads with flags that mean something else.
    Flags,
}

/// The offset of a thread's area from its thread pointer, the same in all threads. A thread that the C library could
/// not register has an area too, in which the number of its CPU is negative.
///
/// # Errors
/// Threads are not registered, or not in a way that is known here.
pub fn offset() -> Result<isize, Absent> {
    let (Some(offset), Some(size), Some(flags)) = (symbol(OFFSET), symbol(SIZE), symbol(FLAGS))
    else {
        return Err(if is_static() { Absent::Static } else { Absent::Library });
    };
    // SAFETY: the C library's own (I1).
    let size = unsafe { size.cast::<u32>().read() };
    // SAFETY: the C library's own (I1).
    let flags = unsafe { flags.cast::<u32>().read() };
    match (size, flags) {
        (0, _) => Err(unregistered()),
        (..NEEDED, _) => Err(Absent::Small),
        // SAFETY: the C library's own (I1).
        (_, 0) => Ok(unsafe { offset.cast::<isize>().read() }),
        _ => Err(Absent::Flags),
    }
}

fn symbol(name: &CStr) -> Option<NonNull<libc::c_void>> {
    // SAFETY: a name that ends in NUL (L7).
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// Whether the program was started without a dynamic linker.
fn is_static() -> bool {
    // SAFETY: the call receives a number (L1).
    unsafe { libc::getauxval(libc::AT_BASE) == 0 }
}

/// Why the C library registered no threads: what the kernel says to a registration that it must refuse.
fn unregistered() -> Absent {
    // SAFETY: an area of no bytes (L2), which the kernel does not register (I2).
    unsafe { libc::syscall(libc::SYS_rseq, std::ptr::null::<u32>(), 0, 0, 0) };
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::ENOSYS) => Absent::Kernel,
        Some(libc::EPERM | libc::EACCES) => Absent::Forbidden,
        _ => Absent::TurnedOff,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registered_thread_knows_its_cpu() {
        let Ok(offset) = offset() else {
            return uncontended_testkit::skip!("rseq", "{:?}", offset().unwrap_err());
        };
        // SAFETY: the offset is that of this program's C library.
        let mark = unsafe { crate::switches::Mark::here(offset) };
        assert!(mark.is_some(), "the C library registered this thread");
    }

    #[test]
    fn the_reason_is_told() {
        assert_eq!(is_static(), cfg!(target_feature = "crt-static"));
        assert_ne!(unregistered(), Absent::Forbidden);
        if crate::filter::forbid(libc::SYS_rseq, libc::EPERM as u16).is_ok() {
            assert_eq!(unregistered(), Absent::Forbidden);
        }
    }
}
