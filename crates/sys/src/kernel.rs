//! System calls by the bare instruction.
//!
//! # Contract
//! Nothing that a program or another library puts in the place of the C library's functions (a `close` that keeps books
//! under a lock, say) comes between, and `errno` stays as it is. For whoever lives in a stranger's process.
//! # Invariants
//! I1: the instruction changes the register of the answer, on x86-64 RCX and R11 too, and no other.
//! # Sources
//! syscall(2), "Architecture calling conventions".

use libc::{c_int, c_long};

/// Calls the kernel: what it answered, or its error number.
///
/// # Safety
/// Whatever the call of this number demands of these arguments.
///
/// # Errors
/// The kernel's error number.
#[inline]
pub unsafe fn call(number: c_long, arguments: [usize; 6]) -> Result<usize, c_int> {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the registers are those of I1; what the call is about is the caller's to vouch for.
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
    // SAFETY: the registers are those of I1; what the call is about is the caller's to vouch for.
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
    fn answers_and_errors_are_told_apart_and_errno_stays() {
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
