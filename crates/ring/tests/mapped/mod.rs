//! Memory that several processes map, and children that run the test program.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Child, Command, ExitStatus};
use std::ptr::NonNull;

const CHILD: &str = "UNC_RING_CHILD";
const FD: &str = "UNC_RING_FD";

/// A mapping of a file, and the file.
pub(crate) struct Mapping {
    pub(crate) base: NonNull<u8>,
    pub(crate) bytes: usize,
    _file: File,
}

// SAFETY: the memory is mapped as long as this lives, for any thread with the address (I1 of `shared`).
unsafe impl Send for Mapping {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn of(file: File) -> Mapping {
        let bytes = file.metadata().unwrap().len() as usize;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, at an address that the kernel chooses, affects no other memory.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        assert_ne!(base, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        Mapping { base: NonNull::new(base.cast()).unwrap(), bytes, _file: file }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping made above; everything that it kept is gone (I1 of `shared`).
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// Maps this much memory of a file that children inherit.
pub(crate) fn memory(bytes: usize) -> (Mapping, i32) {
    // SAFETY: the name ends in NUL.
    let fd = unsafe { libc::memfd_create(c"ring".as_ptr(), 0) };
    assert!(fd >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the descriptor is new, so nothing else owns it.
    let file = unsafe { File::from_raw_fd(fd) };
    file.set_len(bytes as u64).unwrap();
    (Mapping::of(file), fd)
}

/// In a child: its task, and the memory that it inherited.
pub(crate) fn as_child() -> Option<(String, Mapping)> {
    let child = std::env::var(CHILD).ok()?;
    let fd = std::env::var(FD).unwrap().parse().unwrap();
    // SAFETY: the descriptor was inherited for this, and nothing else in this process owns it.
    Some((child, Mapping::of(unsafe { File::from_raw_fd(fd) })))
}

/// Starts a child that runs only the test `as_a_child`.
pub(crate) fn start(child: &str, fd: i32) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "as_a_child", "--nocapture", "--test-threads=1"]);
    command.env(CHILD, child).env(FD, fd.to_string()).spawn().unwrap()
}

/// Kills this process, as another one would.
pub(crate) fn die() -> ! {
    // SAFETY: the signal goes to this process only.
    unsafe { libc::raise(libc::SIGKILL) };
    unreachable!("killed")
}

pub(crate) fn killed(status: ExitStatus) -> bool {
    std::os::unix::process::ExitStatusExt::signal(&status) == Some(libc::SIGKILL)
}

/// Stops this child, wherever it is, for as long as `meanwhile` takes.
pub(crate) fn while_stopped(child: &Child, meanwhile: impl FnOnce()) {
    let pid = child.id().cast_signed();
    // SAFETY: the child has not been waited for, so its ID is not reused.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGSTOP) }, 0);
    let mut status = 0;
    // SAFETY: `status` lives until the call returns.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, libc::WUNTRACED) }, pid);
    assert!(libc::WIFSTOPPED(status), "the child has ended: {status}");
    meanwhile();
    // SAFETY: as for the first signal.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGCONT) }, 0);
}

/// Forks a child that runs `act` on its copy of `value`, and returns the parent's once the child has ended.
pub(crate) fn beside_a_copy<T>(value: T, act: impl FnOnce(T)) -> T {
    // SAFETY: the child has a copy of this thread only. It takes no lock that another thread could hold, except the
    // allocator's, which the C library handles.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "{}", std::io::Error::last_os_error());
    if pid == 0 {
        act(value);
        // SAFETY: ends the child at once, without running the parent's exit handlers.
        unsafe { libc::_exit(7) };
    }
    let mut status = 0;
    // SAFETY: `status` lives until the call returns.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert!(
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7,
        "the child failed: {status}"
    );
    value
}
