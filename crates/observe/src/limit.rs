//! The calls by which a program limits its own address space. Just before them, the record gives back what it has only
//! reserved, so that the limit leaves the program as much as without an observer, except for a thirty-second of it.
//!
//! # Contract
//! The limit itself is passed on as it is: what the program asks for later, and what it leaves to other programs, is
//! what it set. A limit that another process sets is not seen.

use crate::{host, image, kernel, sandbox};
use libc::{RLIMIT_AS, c_int, c_long, c_uint, pid_t, rlimit};

/// The program limits this resource of this process.
fn inspect(process: pid_t, resource: c_uint, limit: *const rlimit) {
    let is_this =
        || process == 0 || !sandbox::is_filtered() && process as u32 == kernel::process_id();
    if resource == RLIMIT_AS as c_uint && !limit.is_null() && is_this() {
        // SAFETY: the program's own argument (P1).
        let most = unsafe { limit.read_unaligned() }.rlim_cur;
        image::give_back(usize::try_from(most).unwrap_or(usize::MAX));
    }
}

/// The program makes this system call, which has these first arguments.
pub(crate) fn inspect_call(number: c_long, [a, b, c]: [usize; 3]) {
    match number {
        libc::SYS_setrlimit => inspect(0, a as c_uint, b as *const rlimit),
        libc::SYS_prlimit64 => inspect(a as pid_t, b as c_uint, c as *const rlimit),
        _ => {}
    }
}

macro_rules! interpose {
    ($($set:ident $set_of:ident)*) => { $(
        /// The C library's.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $set(resource: c_uint, limit: *const rlimit) -> c_int {
            inspect(0, resource, limit);
            // SAFETY: the program's own call (P1).
            unsafe { host::$set(resource, limit) }
        }

        /// The C library's.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $set_of(
            process: pid_t,
            resource: c_uint,
            limit: *const rlimit,
            old: *mut rlimit,
        ) -> c_int {
            inspect(process, resource, limit);
            // SAFETY: the program's own call (P1).
            unsafe { host::$set_of(process, resource, limit, old) }
        }
    )* };
}

interpose! {
    setrlimit prlimit
    setrlimit64 prlimit64
}
