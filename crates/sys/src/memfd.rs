//! Memory in a file without a name, reserved in advance.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};

/// Makes an empty file that lives in memory only, closed on exec.
///
/// # Errors
/// What `memfd_create` reports.
pub fn create(name: &CStr) -> io::Result<File> {
    // SAFETY: `name` ends in NUL and outlives the call.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, so nobody else owns it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Gives the bytes `from..to` of `file` memory (or disk), so that no later write to them can fail, and makes the file at
/// least `to` bytes long.
///
/// # Errors
/// What `fallocate` reports: no room, or a file system that cannot reserve.
pub fn reserve(file: &File, from: u64, to: u64) -> io::Result<()> {
    let (Ok(offset), Ok(length)) = (i64::try_from(from), i64::try_from(to.saturating_sub(from)))
    else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // SAFETY: `fallocate` takes no pointer.
    match unsafe { libc::fallocate(file.as_raw_fd(), 0, offset, length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
