//! Memory in a file without a name, reserved before it is written.

use crate::kernel;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::ptr::NonNull;

/// Creates an empty file in memory, closed on exec.
///
/// # Errors
/// Those of `memfd_create`.
pub fn create(name: &CStr) -> io::Result<File> {
    let arguments = [name.as_ptr() as usize, libc::MFD_CLOEXEC as usize, 0, 0, 0, 0];
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
