//! Forbidding a system call, as sandboxes do.
//!
//! # Sources
//! `seccomp(2)`, filter mode; Linux `include/uapi/linux/seccomp.h`.

use std::io;

/// Makes the system call with this number fail with `errno`, for good, in the calling thread and in all threads and
/// processes that it starts from now on.
///
/// # Errors
/// The kernel has no filters, or another filter forbids them.
pub fn forbid(number: libc::c_long, errno: u16) -> io::Result<()> {
    let (load, equal, answer) = (0x20, 0x15, 0x06);
    let refuse = libc::SECCOMP_RET_ERRNO | u32::from(errno);
    let instruction = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut program = [
        instruction(load, 0, 0, 0), // The number is the first word that a filter sees.
        instruction(equal, 0, 1, u32::try_from(number).unwrap_or(u32::MAX)),
        instruction(answer, 0, 0, refuse),
        instruction(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: numbers only (L1).
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the filter points to `program` with its length, and both live until the call returns (L2).
    match unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) }
    {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_forbidden_call_fails_in_that_thread_and_works_in_others() {
        let call = || {
            // SAFETY: this call takes no argument and changes nothing.
            let result = unsafe { libc::syscall(libc::SYS_getppid) };
            (result, std::io::Error::last_os_error().raw_os_error())
        };
        let refused = std::thread::spawn(move || {
            super::forbid(libc::SYS_getppid, libc::ENOTTY as u16).map(|()| call())
        });
        match refused.join().unwrap() {
            Ok(answer) => assert_eq!(answer, (-1, Some(libc::ENOTTY))),
            Err(error) => {
                uncontended_testkit::skip!("a_forbidden_call_fails", "no filters here: {error}");
            }
        }
        assert!(call().0 >= 0);
    }
}
