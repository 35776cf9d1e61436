//! System calls by the bare instruction.
//!
//! # Contract
//! Bypasses any functions that a program or another library puts in place of the C library's (for example a `close`
//! that keeps records under a lock), and keeps `errno`. For code that runs inside another program's process.
//! # Invariants
//! I1: the instruction changes the result register, on x86-64 also RCX and R11, and no other.
//! # Sources
//! syscall(2), "Architecture calling conventions".

use libc::{c_int, c_long};

/// Makes a system call. Returns its result.
///
/// # Safety
/// The requirements of this system call on its arguments.
///
/// # Errors
/// The kernel's error number.
#[inline]
pub unsafe fn call(number: c_long, arguments: [usize; 6]) -> Result<usize, c_int> {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the registers are those of I1; the caller vouches for the call itself.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the registers are those of I1; the caller vouches for the call itself.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a as isize => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack)
        );
    }
    if (-4095..0).contains(&result) { Err(-result as c_int) } else { Ok(result as usize) }
}

#[cfg(test)]
mod tests {
    use super::call;

    #[test]
    fn results_and_errors_are_distinguished_and_errno_stays() {
        let errno = std::io::Error::last_os_error().raw_os_error();
        // SAFETY: this call takes no argument and changes nothing.
        let pid = unsafe { call(libc::SYS_getpid, [0; 6]) };
        assert_eq!(pid, Ok(std::process::id() as usize));
        // SAFETY: no descriptor has this number, so nothing is closed.
        let closed = unsafe { call(libc::SYS_close, [usize::MAX, 0, 0, 0, 0, 0]) };
        assert_eq!(closed, Err(libc::EBADF));
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), errno);
    }

    #[test]
    fn all_six_arguments_arrive() {
        let (read_write, private) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let no_file = usize::MAX;
        let arguments = [0, 4096, read_write as usize, private as usize, no_file, 0];
        // SAFETY: a new mapping disturbs no other memory.
        let base = unsafe { call(libc::SYS_mmap, arguments) }.expect("a page");
        // SAFETY: the page mapped just now.
        unsafe { (base as *mut u64).write(7) };
        // SAFETY: the same page, to which nothing refers.
        assert_eq!(unsafe { call(libc::SYS_munmap, [base, 4096, 0, 0, 0, 0]) }, Ok(0));
        let misplaced = [0, 4096, read_write as usize, private as usize, no_file, 1];
        // SAFETY: the offset is not a multiple of a page, so nothing is mapped.
        assert_eq!(unsafe { call(libc::SYS_mmap, misplaced) }, Err(libc::EINVAL));
    }
}
