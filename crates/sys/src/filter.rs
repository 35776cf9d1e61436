//! Forbidding system calls, as sandboxes do.
//!
//! # Contract
//! A filter holds for good, in the calling thread and in all threads and processes that it starts from then on.
//! # Sources
//! `seccomp(2)`, filter mode; Linux `include/uapi/linux/seccomp.h`.

use std::io;

const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const ANSWER: u16 = 0x06;
/// Where a filter finds the call's number.
const NUMBER_AT: u32 = 0;

/// Makes the system call with this number fail with `errno`.
///
/// # Errors
/// The kernel has no filters, or another filter forbids them.
pub fn forbid(number: libc::c_long, errno: u16) -> io::Result<()> {
    install(&mut [
        instruction(LOAD, 0, 0, NUMBER_AT),
        instruction(JUMP_IF_EQUAL, 0, 1, u32::try_from(number).unwrap_or(u32::MAX)),
        instruction(ANSWER, 0, 0, refuse(errno)),
        instruction(ANSWER, 0, 0, libc::SECCOMP_RET_ALLOW),
    ])
}

/// Makes every system call but these fail with EPERM, and kills the process at one by another processor's numbers.
///
/// # Errors
/// As [`forbid`]; `InvalidInput` for more than 200 numbers.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub fn allow_only(numbers: &[libc::c_long]) -> io::Result<()> {
    /// Where a filter finds the processor that the call is for.
    const PROCESSOR_AT: u32 = 4;
    /// `AUDIT_ARCH_X86_64` and `AUDIT_ARCH_AARCH64`.
    const PROCESSOR: u32 = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };
    if numbers.len() > 200 {
        return Err(io::ErrorKind::InvalidInput.into()); // A jump has eight bits.
    }
    let mut program = vec![
        instruction(LOAD, 0, 0, PROCESSOR_AT),
        instruction(JUMP_IF_EQUAL, 1, 0, PROCESSOR),
        instruction(ANSWER, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        instruction(LOAD, 0, 0, NUMBER_AT),
    ];
    for (nth, &number) in numbers.iter().enumerate() {
        let to_allow = (numbers.len() - nth) as u8;
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        program.push(instruction(JUMP_IF_EQUAL, to_allow, 0, number));
    }
    program.push(instruction(ANSWER, 0, 0, refuse(libc::EPERM as u16)));
    program.push(instruction(ANSWER, 0, 0, libc::SECCOMP_RET_ALLOW));
    install(&mut program)
}

fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}

fn refuse(errno: u16) -> u32 {
    libc::SECCOMP_RET_ERRNO | u32::from(errno)
}

fn install(program: &mut [libc::sock_filter]) -> io::Result<()> {
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

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[test]
    fn what_is_not_allowed_fails() {
        // SAFETY: the child makes system calls only, and ends by `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let allowed = [libc::SYS_getpid, libc::SYS_exit_group];
            let code = match super::allow_only(&allowed) {
                Err(_) => 77,
                Ok(()) => {
                    // SAFETY: this call takes no argument and changes nothing.
                    let first = unsafe { libc::syscall(libc::SYS_getpid) };
                    // SAFETY: this call takes no argument and changes nothing.
                    let other = unsafe { libc::syscall(libc::SYS_getppid) };
                    i32::from(first <= 0) | i32::from(other != -1) << 1
                }
            };
            // SAFETY: ends the child (L1).
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: a pointer to `status`, and our own child.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert!(libc::WIFEXITED(status), "{status}");
        match libc::WEXITSTATUS(status) {
            77 => uncontended_testkit::skip!("what_is_not_allowed_fails", "no filters here"),
            code => assert_eq!(code, 0),
        }
    }
}
