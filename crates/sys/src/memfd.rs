//! Memory in a file without a name, reserved before it is written.

use crate::kernel;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, RawFd};
use std::ptr::NonNull;

/// Creates an empty file in memory, closed on exec.
///
/// # Errors
/// Those of `memfd_create`.
pub fn create(name: &CStr) -> io::Result<File> {
    create_with(name, libc::MFD_CLOEXEC)
}

/// A file of `bytes` zeroes for others to read. Its size is sealed for good; call [`seal_for_others`] when this process
/// has mapped it.
///
/// # Errors
/// Those of `memfd_create`, `ftruncate` and `fcntl`.
pub fn create_sized(name: &CStr, bytes: u64) -> io::Result<File> {
    let file = create_with(name, libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING)?;
    file.set_len(bytes)?;
    add_seals(&file, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW)?;
    Ok(file)
}

/// Forbids every later write and every later writable mapping, of any process. Those mappings that exist stay writable.
///
/// # Errors
/// Those of `fcntl`: the kernel is older than 5.1, or the file was not made by [`create_sized`].
pub fn seal_for_others(file: &File) -> io::Result<()> {
    add_seals(file, libc::F_SEAL_FUTURE_WRITE | libc::F_SEAL_SEAL)
}

/// Whether no process can change this file's size, or begin to write to it: [`seal_for_others`] was called.
pub fn is_sealed_for_others(file: BorrowedFd<'_>) -> bool {
    let wanted = libc::F_SEAL_SHRINK | libc::F_SEAL_FUTURE_WRITE;
    // SAFETY: numbers only (L1).
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    seals >= 0 && seals & wanted == wanted
}

fn add_seals(file: &File, seals: i32) -> io::Result<()> {
    // SAFETY: numbers only (L1).
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn create_with(name: &CStr, flags: u32) -> io::Result<File> {
    let arguments = [name.as_ptr() as usize, flags as usize, 0, 0, 0, 0];
    // The C library has a function for it only since glibc 2.27.
    // SAFETY: a name (L7).
    let made = unsafe { kernel::call(libc::SYS_memfd_create, arguments) };
    let fd = made.map_err(io::Error::from_raw_os_error)?;
    // SAFETY: a new descriptor (L4).
    Ok(unsafe { File::from_raw_fd(fd as RawFd) })
}

/// Reserves memory (or disk space) for the bytes `from..to` of `file`, so that no later write to them can fail, and
/// makes the file at least `to` bytes long.
///
/// # Errors
/// Those of `fallocate`: no room, or a file system that cannot reserve.
pub fn reserve(file: &File, from: u64, to: u64) -> io::Result<()> {
    let (Ok(offset), Ok(length)) = (i64::try_from(from), i64::try_from(to.saturating_sub(from)))
    else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // SAFETY: numbers only (L1).
    match unsafe { libc::fallocate(file.as_raw_fd(), 0, offset, length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Adds memory to `bytes` bytes of a shared mapping from `base` on, so that no later write to them can fail. False if
/// there is none, if the bytes are not mapped, or on kernels before 5.14. Keeps `errno`.
pub fn populate(base: NonNull<u8>, bytes: usize) -> bool {
    let arguments = [base.as_ptr() as usize, bytes, libc::MADV_POPULATE_WRITE as usize, 0, 0, 0];
    // SAFETY: populating changes no contents, and the kernel rejects bytes that are not mapped (L1).
    unsafe { kernel::call(libc::SYS_madvise, arguments) }.is_ok()
}

/// Whether [`populate`] works here.
pub fn can_populate() -> bool {
    const PAGE: usize = 4096;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping (L3).
    let base = unsafe { libc::mmap(std::ptr::null_mut(), PAGE, access, kind, -1, 0) };
    let Some(place) = NonNull::new(base.cast()).filter(|_| base != libc::MAP_FAILED) else {
        return false;
    };
    let works = populate(place, PAGE);
    // SAFETY: the mapping made above, with no other reference (L3).
    unsafe { libc::munmap(base, PAGE) };
    works
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::{Access, Window};
    use std::os::fd::AsFd;

    #[test]
    fn a_sealed_file_is_written_by_the_window_that_was_there_alone() {
        let file = create_sized(c"test", 4096).unwrap();
        assert!(!is_sealed_for_others(file.as_fd()));
        let mine = Window::open(file.as_fd(), 4096, Access::Write).unwrap();
        if let Err(error) = seal_for_others(&file) {
            uncontended_testkit::skip!("a_sealed_file", "no seal for future writes: {error}");
            return;
        }
        assert!(is_sealed_for_others(file.as_fd()));
        assert!(Window::open(file.as_fd(), 4096, Access::Write).is_err());
        let theirs = Window::open(file.as_fd(), 4096, Access::Read).unwrap();
        mine.words()[3].store(7, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(theirs.words()[3].load(std::sync::atomic::Ordering::Relaxed), 7);
        assert!(file.set_len(0).is_err() && file.set_len(8192).is_err());
    }
}
