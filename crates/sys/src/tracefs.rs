//! The kernel's list of tracepoints, read without mounting tracefs where others could see it.
//!
//! # Contract
//! `event_id` returns the number by which perf events identify a tracepoint, `offset` where a field of it is. Needs
//! root.
//! # Sources
//! fsopen(2), fsmount(2); `Documentation/trace/events.rst`.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

const FSOPEN_CLOEXEC: libc::c_ulong = 1;
const FSCONFIG_CMD_CREATE: libc::c_ulong = 6;
const FSMOUNT_CLOEXEC: libc::c_ulong = 1;

/// A tracefs instance that is not mounted anywhere.
#[derive(Debug)]
pub struct Tracefs {
    root: File,
}

impl Tracefs {
    /// Opens one.
    ///
    /// # Errors
    /// Those of `fsopen`, `fsconfig` and `fsmount`: missing permission, or a kernel without tracing.
    pub fn open() -> io::Result<Self> {
        // SAFETY: a name (L7).
        let context =
            unsafe { libc::syscall(libc::SYS_fsopen, c"tracefs".as_ptr(), FSOPEN_CLOEXEC) };
        let context = owned(context)?;
        let none = std::ptr::null::<libc::c_void>();
        // SAFETY: this command takes no key or value: null pointers (L2).
        let rc = unsafe {
            libc::syscall(
                libc::SYS_fsconfig,
                context.as_raw_fd(),
                FSCONFIG_CMD_CREATE,
                none,
                none,
                0 as libc::c_ulong,
            )
        };
        if rc < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: numbers only (L1).
        let root = unsafe {
            libc::syscall(
                libc::SYS_fsmount,
                context.as_raw_fd(),
                FSMOUNT_CLOEXEC,
                0 as libc::c_ulong,
            )
        };
        Ok(Tracefs { root: owned(root)? })
    }

    /// The number of the tracepoint `name`, such as `syscalls/sys_enter_futex`.
    ///
    /// # Errors
    /// Those of opening and reading its `id` file; `InvalidData` if it does not hold a number.
    pub fn event_id(&self, name: &str) -> io::Result<u64> {
        self.read(&format!("events/{name}/id"))?.trim().parse().map_err(|_| invalid())
    }

    /// Where the field `field` begins in what a program at the tracepoint `name` is given.
    ///
    /// # Errors
    /// Those of opening and reading its `format` file; `InvalidData` if it has no such field.
    pub fn offset(&self, name: &str, field: &str) -> io::Result<i16> {
        let format = self.read(&format!("events/{name}/format"))?;
        let declares = |line: &&str| {
            let declared =
                line.trim().strip_prefix("field:").and_then(|rest| rest.split(';').next());
            declared.and_then(|declared| declared.rsplit(' ').next()) == Some(field)
        };
        let line = format.lines().find(declares).ok_or_else(invalid)?;
        let mut parts = line.split(';').filter_map(|part| part.trim().strip_prefix("offset:"));
        parts.next().and_then(|offset| offset.parse().ok()).ok_or_else(invalid)
    }

    fn read(&self, name: &str) -> io::Result<String> {
        let path = CString::new(name)?;
        // SAFETY: a path (L7).
        let file = unsafe {
            libc::openat(self.root.as_raw_fd(), path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC)
        };
        let mut text = String::new();
        owned(file.into())?.read_to_string(&mut text)?;
        Ok(text)
    }
}

fn invalid() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// The descriptor that a system call returned.
fn owned(answer: libc::c_long) -> io::Result<File> {
    match RawFd::try_from(answer) {
        // SAFETY: a new descriptor (L4).
        Ok(fd) if fd >= 0 => Ok(unsafe { File::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}
