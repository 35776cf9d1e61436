//! The C library's error number, which the program must find as it left it.
//!
//! # Invariants
//! I1: the address of errno belongs to the thread as long as the thread lives.

/// The C library's error number of this thread.
pub(crate) fn errno() -> libc::c_int {
    let at = place();
    // SAFETY: the thread's errno (I1).
    unsafe { *at }
}

fn place() -> *mut libc::c_int {
    // SAFETY: a call without arguments (L1).
    unsafe { libc::__errno_location() }
}

/// Restores `errno` when dropped.
pub(crate) struct Errno {
    kept: libc::c_int,
}

impl Errno {
    pub(crate) fn keep() -> Self {
        Errno { kept: errno() }
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        let at = place();
        // SAFETY: the thread's errno (I1).
        unsafe { *at = self.kept };
    }
}
