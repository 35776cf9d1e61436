//! The calls by which a program forbids itself system calls. Just before them, the observer asks the kernel for what it
//! will need.

use crate::{host, image, module, sandbox};
use libc::{PR_SET_SECCOMP, c_int, c_long};

/// The program makes this system call, through `syscall` or `prctl`.
pub(crate) fn inspect(number: c_long, first: usize) {
    if number == libc::SYS_seccomp || number == libc::SYS_prctl && first as c_int == PR_SET_SECCOMP
    {
        image::provide();
        module::learn_all();
        sandbox::set_filtered();
    }
}

/// The C library's `prctl`.
#[unsafe(no_mangle)]
unsafe extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    inspect(libc::SYS_prctl, option as usize);
    // SAFETY: the program's own call (P1).
    unsafe { host::prctl(option, a, b, c, d) }
}
