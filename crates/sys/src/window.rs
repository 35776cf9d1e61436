//! Memory of a descriptor, mapped and shared: words that another process or the kernel writes.
//!
//! # Contract
//! A [`Window`] is a slice of atomic words until it is dropped.
//! # Invariants
//! I1: `base` is the start of a mapping of `words` words that lives as long as its window, and that can be written if
//!     it was opened so. If the file becomes shorter, an access raises SIGBUS: open only what cannot shrink (a sealed
//!     memory file, a map of the kernel's).
//! # Sources
//! mmap(2), memfd_create(2) for seals.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// What a window is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// To read. A write to it ends the process.
    Read,
    /// To read and write.
    Write,
}

/// Mapped words.
#[derive(Debug)]
pub struct Window {
    base: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: atomic words may be used by all threads, and the mapping is the process's (I1).
unsafe impl Send for Window {}
// SAFETY: likewise (I1).
unsafe impl Sync for Window {}

impl Window {
    /// Maps the first `bytes` bytes of `file`.
    ///
    /// # Errors
    /// Those of `mmap`; `InvalidInput` if `bytes` is not a positive multiple of eight, or the file is known to be
    /// shorter.
    pub fn open(file: BorrowedFd<'_>, bytes: usize, access: Access) -> io::Result<Self> {
        if bytes == 0 || !bytes.is_multiple_of(8) || is_shorter(file, bytes) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let protection = match access {
            Access::Read => libc::PROT_READ,
            Access::Write => libc::PROT_READ | libc::PROT_WRITE,
        };
        let (any, fd) = (std::ptr::null_mut(), file.as_raw_fd());
        // SAFETY: a new mapping (L3).
        let base = unsafe { libc::mmap(any, bytes, protection, libc::MAP_SHARED, fd, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::Other)?;
        Ok(Window { base, words: bytes / 8 })
    }

    /// Its words.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping (I1), which begins at a page; any bits are a word.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.words) }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours (I1), and nothing refers to it any more (L3).
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.words * 8) };
    }
}

/// The bytes of a page of memory.
pub fn page() -> usize {
    // SAFETY: a number (L1).
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Whether it is a plain file of fewer bytes; a map of the kernel's has no size.
fn is_shorter(file: BorrowedFd<'_>, bytes: usize) -> bool {
    // SAFETY: zeroed (L5).
    let mut facts: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a pointer to `facts` (L2).
    let rc = unsafe { libc::fstat(file.as_raw_fd(), &raw mut facts) };
    let is_plain = facts.st_mode & libc::S_IFMT == libc::S_IFREG;
    rc == 0 && is_plain && u64::try_from(facts.st_size).unwrap_or(0) < bytes as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_window_beyond_the_file_is_refused() {
        let folder = uncontended_testkit::Folder::new();
        let path = folder.path().join("f");
        std::fs::write(&path, [0; 100]).unwrap();
        let file = std::fs::File::open(path).unwrap();
        for (bytes, fits) in [(0, false), (12, false), (96, true), (104, false)] {
            let opened = Window::open(file.as_fd(), bytes, Access::Read);
            assert_eq!(opened.is_ok(), fits, "{bytes}");
        }
        assert_eq!(Window::open(file.as_fd(), 96, Access::Read).unwrap().words().len(), 12);
        assert!(Window::open(file.as_fd(), 96, Access::Write).is_err(), "opened to be read");
    }
}
