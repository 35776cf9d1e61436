//! A page whose protection is changed so that the kernel interrupts the CPUs which run the process.
//!
//! # Contract
//! [`Page::shoot_down`] makes the page writable, writes to it and makes it read-only again. Every CPU that may hold the
//! old right in its translation buffer must drop it before the call returns, and Linux on most processors interrupts it
//! for that. Newer ones broadcast instead ([`broadcasts`]), and then the other CPUs may notice nothing.
//!
//! # Invariants
//! I1: `base` is a mapping of one page that this value owns. Only `shoot_down` writes to it, while it is writable.
//! # Sources
//! Linux, arch/x86/mm/tlb.c; AMD APM volume 3, INVLPGB (CPUID 80000008H, EBX bit 3).

use std::io;
use std::ptr::NonNull;

/// The size of the smallest page of x86-64.
const BYTES: usize = 4096;

/// A page to change the protection of. Threads do not share one.
#[derive(Debug)]
pub struct Page {
    base: NonNull<u8>,
}

impl Page {
    /// Maps a page.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new() -> io::Result<Page> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping (L3).
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), BYTES, libc::PROT_READ, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(base.cast()).map(|base| Page { base }).ok_or(io::ErrorKind::OutOfMemory.into())
    }

    /// Lets the page be written to, and no more.
    ///
    /// # Errors
    /// Those of `mprotect`: a filter forbids it, or the process has too many mappings.
    pub fn shoot_down(&mut self) -> io::Result<()> {
        self.protect(libc::PROT_READ | libc::PROT_WRITE)?;
        // A page that is not in memory is in no translation buffer.
        // SAFETY: the page is this value's own, and writable (I1).
        unsafe { self.base.as_ptr().write_volatile(0) };
        self.protect(libc::PROT_READ)
    }

    fn protect(&mut self, protection: libc::c_int) -> io::Result<()> {
        // SAFETY: the range is the mapping, with no reference into it (I1).
        match unsafe { libc::mprotect(self.base.as_ptr().cast(), BYTES, protection) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping (I1).
        let _ = unsafe { libc::munmap(self.base.as_ptr().cast(), BYTES) };
    }
}

/// Whether the processor can make other CPUs drop translations without an interrupt.
pub fn broadcasts() -> bool {
    // SAFETY: every x86-64 processor has the instruction (I1 of `clock`); newer toolchains declare it safe.
    #[allow(unused_unsafe)]
    let cpuid = |leaf| unsafe { std::arch::x86_64::__cpuid(leaf) };
    cpuid(0x8000_0000).eax >= 0x8000_0008 && cpuid(0x8000_0008).ebx & (1 << 3) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_shot_down_any_number_of_times() {
        let mut page = Page::new().unwrap();
        for _ in 0..100 {
            page.shoot_down().unwrap();
        }
        println!("broadcasts: {}", broadcasts());
    }
}
