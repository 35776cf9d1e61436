//! Starting a program transparently, and waiting for its end.
//!
//! # Contract
//! [`spawn`] gives the program this process's own descriptors (those without close-on-exec), process group, terminal
//! and limits, and the signal state that this process was started with (see [`crate::inherited`]): the program cannot
//! tell that `unc` started it. A program that is to be held is traced until it is let go.
//! # Invariants
//! I1: between `fork` and `execve` the child calls only async-signal-safe functions and does not allocate: another
//!     thread of the parent may have held any lock at the fork.
//! I2: only its [`Child`] reaps a process, so the pid is not reused before that.
//! I3: a held program has not run. It ends with this process (SIGTRAP) if that is killed before it lets it go.
//! # Evidence
//! `crates/cli/tests/run_identity.rs`, `crates/cli/tests/run_status.rs`.

use crate::inherited;
use crate::signals::Signals;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// A program image to start.
#[derive(Debug)]
pub struct Image<'a> {
    /// The file to execute.
    pub path: &'a CStr,
    /// Its arguments, with its name first.
    pub arguments: &'a [CString],
    /// Its environment, `NAME=value` each.
    pub environment: &'a [CString],
    /// Whether to hold it before its first instruction, until [`Child::let_go`], if the kernel lets us.
    pub hold: bool,
}

/// A started program, not yet reaped.
#[derive(Debug)]
pub struct Child {
    pid: i32,
    is_held: bool,
}

/// The exit of a program and the resources it used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that killed it, otherwise.
    pub signal: Option<i32>,
    /// CPU time in user mode, its own and that of the children it waited for.
    pub user: Duration,
    /// CPU time in the kernel, likewise.
    pub system: Duration,
}

/// Starts `image` with the signal mask from before `signals` were blocked.
///
/// # Errors
/// Those of `pipe2`, `fork` and, in the child, `execve`, which is reported here too.
pub fn spawn(image: &Image<'_>, signals: &Signals) -> io::Result<Child> {
    let arguments = pointers(image.arguments);
    let environment = pointers(image.environment);
    let mut ends: [RawFd; 2] = [-1; 2];
    // SAFETY: `ends` has room for the two descriptors (L2).
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor (L4).
    let mut reader = unsafe { File::from_raw_fd(ends[0]) };
    // SAFETY: the other one (L4).
    let writer = unsafe { File::from_raw_fd(ends[1]) };
    // SAFETY: the child runs only `become_image`, which keeps I1.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => return Err(io::Error::last_os_error()),
        0 => become_image(image, &arguments, &environment, signals, ends[1]),
        _ => drop(writer),
    }
    let mut answer = Vec::new();
    reader.read_to_end(&mut answer)?;
    if let Some(errno) = answer.last_chunk() {
        let mut status = 0;
        // SAFETY: a pointer to `status` (L2); the child is ours and about to exit.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        return Err(io::Error::from_raw_os_error(i32::from_ne_bytes(*errno)));
    }
    let mut child = Child { pid, is_held: image.hold && answer.is_empty() };
    if child.is_held {
        child.is_held = child.wait_until_held();
    }
    Ok(child)
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}

/// What the child answers if it cannot be held; what stopped its `execve` is longer.
const NOT_HELD: [u8; 1] = [0];

/// The child's side of [`spawn`]. Keeps I1.
fn become_image(
    image: &Image<'_>,
    arguments: &[*const libc::c_char],
    environment: &[*const libc::c_char],
    signals: &Signals,
    report: RawFd,
) -> ! {
    restore(libc::SIGPIPE, inherited::pipe_ignored());
    restore(libc::SIGCHLD, inherited::child_ignored());
    for stream in (0..3).filter(|&stream| inherited::stream_closed(stream)) {
        // SAFETY: a number (L1): Rust's `/dev/null`, which nothing in the child uses (I1).
        unsafe { libc::close(stream.into()) };
    }
    // SAFETY: `before` is an initialised mask; the old one is not requested (L2).
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, signals.before(), std::ptr::null_mut()) };
    if image.hold {
        // SAFETY: numbers (L1). It stops the child once its `execve` has succeeded.
        let rc = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
        if rc != 0 {
            // SAFETY: the buffer has the length passed (L2).
            unsafe { libc::write(report, NOT_HELD.as_ptr().cast(), NOT_HELD.len()) };
        }
    }
    // SAFETY: a path and two arrays (L7).
    unsafe { libc::execve(image.path.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    let errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO).to_ne_bytes();
    // SAFETY: the buffer has the length passed (L2).
    unsafe { libc::write(report, errno.as_ptr().cast(), errno.len()) };
    // SAFETY: `_exit` runs no handlers (I1).
    unsafe { libc::_exit(127) }
}

fn restore(signal: i32, ignored: bool) {
    let disposition = if ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: numbers (L1); `signal` is async-signal-safe (I1).
    unsafe { libc::signal(signal, disposition) };
}

impl Child {
    /// Its process ID, valid until it is reaped.
    pub fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Whether it has not run yet (I3).
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Lets a program run that was held; by the thread that started it.
    pub fn let_go(&mut self) {
        if std::mem::take(&mut self.is_held) {
            // SAFETY: numbers (L1). The last one is the signal to go on with: none.
            unsafe { libc::ptrace(libc::PTRACE_DETACH, self.pid, 0, 0) };
        }
    }

    /// Waits until it stops after its `execve`; false if it was killed before. It is not reaped (I2).
    fn wait_until_held(&self) -> bool {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        let options = libc::WSTOPPED | libc::WEXITED | libc::WNOWAIT;
        loop {
            // SAFETY: a pointer to `info` (L2).
            let rc = unsafe { libc::waitid(libc::P_PID, self.pid(), info.as_mut_ptr(), options) };
            let is_interrupted = || io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
            if rc == 0 || !is_interrupted() {
                // SAFETY: zeroed above (L5), and at most overwritten since.
                return rc == 0 && unsafe { info.assume_init() }.si_code == libc::CLD_TRAPPED;
            }
        }
    }

    /// Sends it a signal. If the program has ended, this does nothing and is not an error.
    pub fn signal(&self, signal: i32) {
        // SAFETY: numbers (L1); the pid is still its own (I2).
        unsafe { libc::kill(self.pid, signal) };
    }

    /// Whether it has ended. It stays in the process table, with its resource usage, until [`Child::reap`].
    pub fn ended(&self) -> bool {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: a pointer to `info` (L2).
        let rc = unsafe { libc::waitid(libc::P_PID, self.pid(), info.as_mut_ptr(), options) };
        // SAFETY: zeroed above (L5), and at most overwritten since.
        let info = unsafe { info.assume_init() };
        // SAFETY: waitid writes the child's fields (L6); zero stands for "none has ended".
        rc != 0 || unsafe { info.si_pid() } != 0
    }

    /// Waits for its end and removes it from the process table.
    ///
    /// # Errors
    /// Those of `wait4`.
    pub fn reap(self) -> io::Result<Exit> {
        let mut status = 0;
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        loop {
            // SAFETY: pointers to `status` and `usage` (L2).
            let rc = unsafe { libc::wait4(self.pid, &mut status, 0, usage.as_mut_ptr()) };
            if rc == self.pid {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        // SAFETY: zeroed above (L5), and wait4 wrote it (L6).
        let usage = unsafe { usage.assume_init() };
        Ok(Exit {
            code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
            signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
            user: duration(usage.ru_utime),
            system: duration(usage.ru_stime),
        })
    }
}

/// A process that this one did not start.
#[derive(Debug)]
pub struct Other {
    pid: u32,
    file: File,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It called `exit` or the like.
    ByItself,
    /// This signal ended it.
    BySignal(i32),
}

/// `struct pidfd_info` in its first form.
#[repr(C)]
#[derive(Default)]
struct Info {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    exit_code: i32,
}

/// `PIDFD_INFO_EXIT`.
const INFO_EXIT: u64 = 1 << 3;
/// `PIDFD_GET_INFO`: a number that has the length of [`Info`].
const GET_INFO: u64 = 0xc040_ff0b;
const _: () = assert!(size_of::<Info>() == 0x40);

impl Other {
    /// The process `pid`, which must not be a thread of another one.
    ///
    /// # Errors
    /// Those of `pidfd_open`: there is no such process.
    pub fn open(pid: u32) -> io::Result<Self> {
        // SAFETY: numbers (L1).
        let answer = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        match RawFd::try_from(answer) {
            // SAFETY: a new descriptor (L4).
            Ok(fd) if fd >= 0 => Ok(Other { pid, file: unsafe { File::from_raw_fd(fd) } }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Whether it has ended, even if its parent has not reaped it.
    pub fn has_ended(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry (L2).
        unsafe { libc::poll(&mut poll, 1, 0) > 0 }
    }
}

impl Other {
    /// How it ended, once it has; nothing if the kernel does not say. After its parent has reaped it, Linux 6.15 and
    /// newer do.
    pub fn ending(&self) -> Option<Ending> {
        let status = self.status_unreaped().or_else(|| self.status_reaped())?;
        Some(match libc::WIFSIGNALED(status) {
            true => Ending::BySignal(libc::WTERMSIG(status)),
            false => Ending::ByItself,
        })
    }

    /// The status for its parent, which has not asked for it yet.
    fn status_unreaped(&self) -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).ok()?;
        let mut words = stat.rsplit_once(") ")?.1.split(' ');
        let is_ended = words.next() == Some("Z");
        // The status is the field 52, the state is the third.
        words.nth(48).filter(|_| is_ended)?.trim_end().parse().ok()
    }

    /// The status that its parent has asked for.
    fn status_reaped(&self) -> Option<i32> {
        let mut info = Info { mask: INFO_EXIT, ..Info::default() };
        // SAFETY: a pointer to `info`, which has the length that the number says (L2).
        let rc = unsafe { libc::ioctl(self.file.as_raw_fd(), GET_INFO as _, &raw mut info) };
        (rc == 0 && info.mask & INFO_EXIT != 0).then_some(info.exit_code)
    }
}

/// Whether the file at `path` grants capabilities to a program started from it.
pub fn has_file_capabilities(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: a path and a name (L7); a null buffer of length zero asks for the value's size only (L2).
    let size = unsafe {
        libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0)
    };
    size > 0
}

fn duration(time: libc::timeval) -> Duration {
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0)) + Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::{Ending, Other};
    use std::process::Command;

    /// How a process of this command is seen to have ended: before its parent asks, and after.
    fn seen(command: &str) -> [Option<Ending>; 2] {
        let mut child = Command::new("sh").args(["-c", command]).spawn().unwrap();
        let other = Other::open(child.id()).unwrap();
        while !other.has_ended() {
            std::thread::yield_now();
        }
        let before = other.ending();
        child.wait().unwrap();
        [before, other.ending()]
    }

    #[test]
    fn a_process_that_has_ended_tells_how() {
        for (command, ending) in [("kill -9 $$", Ending::BySignal(9)), ("exit 3", Ending::ByItself)]
        {
            let [before, after] = seen(command);
            assert_eq!(before, Some(ending), "{command}");
            // Kernels before Linux 6.15 have forgotten it.
            assert!(after.is_none_or(|after| after == ending), "{command}: {after:?}");
        }
    }
}
