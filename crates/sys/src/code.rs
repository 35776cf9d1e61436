//! Machine code made at run time, in memory that is never both writable and executable.
//!
//! # State
//! I1: `base` is a mapping of `length` bytes that this value owns; it is written only before it becomes executable.

use std::io;
use std::ptr::NonNull;

/// A mapping with machine code, read-only and executable until it is dropped.
#[derive(Debug)]
pub struct Code {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is never written after `new` (I1), and belongs to no thread.
unsafe impl Send for Code {}
// SAFETY: shared, it can only be read and run (I1).
unsafe impl Sync for Code {}

impl Code {
    /// Maps memory, copies `bytes` into it, then makes it executable instead of writable.
    ///
    /// # Errors
    /// `bytes` is empty, there is no memory, or the system forbids new executable memory.
    pub fn new(bytes: &[u8]) -> io::Result<Code> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping (L3).
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes.len(), protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let code = Code { base, length: bytes.len() };
        // SAFETY: the mapping is new, writable, and as long as `bytes` (I1).
        unsafe { base.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        // SAFETY: the range is the mapping (I1), with no reference into it.
        match unsafe { libc::mprotect(base.as_ptr().cast(), code.length, protection) } {
            0 => Ok(code),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The address of byte `at` of the code, if it exists.
    pub fn address(&self, at: usize) -> Option<NonNull<u8>> {
        // SAFETY: `at` is within the mapping (I1).
        (at < self.length).then(|| unsafe { self.base.add(at) })
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping (I1). Code that runs it borrows this value.
        let _ = unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn code_runs_and_its_memory_is_not_writable() {
        let code = Code::new(&[0xb8, 42, 0, 0, 0, 0xc3]).unwrap(); // mov eax, 42; ret
        let entry = code.address(0).unwrap();
        // SAFETY: the bytes are a function without arguments that returns a number.
        let function: extern "C" fn() -> u32 = unsafe { std::mem::transmute(entry.as_ptr()) };
        assert_eq!(function(), 42);
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let start = format!("{:x}-", entry.as_ptr().addr());
        let line = maps.lines().find(|line| line.starts_with(&start)).unwrap();
        assert_eq!(line.split(' ').nth(1), Some("r-xp"));
        assert_eq!(code.address(6), None);
    }

    #[test]
    fn no_code_is_refused() {
        assert!(Code::new(&[]).is_err());
    }
}
