//! Running a measured command to its end: its exit, its time, its resources and its output.
//!
//! # Contract
//! [`supervise`] takes a child that leads its own process group. It returns when the child has ended, whatever its
//! descendants still do; if `timeout` passes first, the whole group is killed. Output is read while the command runs,
//! so a full pipe never blocks it; output still in the pipe when the child ends counts, later output does not.
//! # Invariants
//! I1: the child is reaped only here, so its pid stays its own until `wait4` returns.
//! I2: the closure between fork and exec is empty; any closure keeps the standard library from using `posix_spawn`.
//! # Evidence
//! `crates/cli/tests/decide_runner.rs`.
//! # Sources
//! wait4(2), getrusage(2).

use crate::counters::{Counter, Event};
use crate::{ended, interrupts};
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Bytes of output to keep; the rest is read and discarded.
pub const OUTPUT_LIMIT: usize = 64 << 20;

/// The exit of a measured command and the resources it used.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that killed it, otherwise.
    pub signal: Option<i32>,
    /// The time from `started` until it was reaped.
    pub wall: Duration,
    /// CPU time in user mode, its own and that of the children it waited for.
    pub user: Duration,
    /// CPU time in the kernel, likewise.
    pub system: Duration,
    /// The largest resident set of any of these processes, in bytes. Never below that of the child before its exec,
    /// which the kernel counts too: see [`start_small`].
    pub max_rss_bytes: u64,
    /// Page faults that needed no input, of all of them.
    pub minor_faults: u64,
    /// Page faults that read from a disk, likewise.
    pub major_faults: u64,
    /// Context switches since a thread slept, likewise.
    pub voluntary_switches: u64,
    /// Context switches since a thread was preempted, likewise.
    pub involuntary_switches: u64,
    /// Whether it was killed because `timeout` had passed.
    pub timed_out: bool,
    /// What the counters counted.
    pub counts: Vec<(Event, io::Result<u64>)>,
    /// Its output to a piped standard output.
    pub output: Vec<u8>,
}

/// Whether `fd` becomes readable, or ends, within `limit`. A signal ends the wait with false.
///
/// # Errors
/// Those of `poll`.
pub fn readable(fd: BorrowedFd<'_>, limit: Duration) -> io::Result<bool> {
    poll([fd.as_raw_fd(), -1], Some(limit)).map(|[readable, _]| readable)
}

/// Follows `child`, started at `started` as the leader of its own process group, to its end. The thread that opened
/// `counters` started it.
///
/// # Errors
/// Those of `pipe`, `poll`, `fcntl`, `read`, `wait4` and of starting a thread. The child is killed then.
pub fn supervise(
    mut child: Child,
    started: Instant,
    timeout: Option<Duration>,
    counters: &[Counter],
) -> io::Result<Ended> {
    let pid = i32::try_from(child.id()).expect("process IDs are positive ints");
    interrupts::follow(pid);
    let mut pipe = match child.stdout.take() {
        Some(stdout) => Some(nonblocking(OwnedFd::from(stdout).into())?),
        None => None,
    };
    let mut output = Vec::new();
    let ended = watch(pid, started, timeout, &mut pipe, &mut output);
    if ended.is_err() {
        kill_group(pid);
    }
    let reaped = reap(pid);
    interrupts::follow(0);
    let wall = started.elapsed();
    let (status, usage) = reaped?;
    Ok(Ended {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        wall,
        user: duration(usage.ru_utime),
        system: duration(usage.ru_stime),
        max_rss_bytes: resident_bytes(usage.ru_maxrss),
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
        timed_out: ended?,
        counts: counters.iter().map(|counter| (counter.event, counter.read())).collect(),
        output,
    })
}

/// Makes `command` start by `fork` instead of `vfork`. The kernel counts the child's memory before its exec in its
/// largest resident set: after `vfork` that is all of this process's, after `fork` only its anonymous pages. The cost
/// is copying their page tables.
pub fn start_small(command: &mut Command) {
    // SAFETY: the closure does nothing (I2).
    unsafe { command.pre_exec(|| Ok(())) };
}

/// Reads and waits until the child has ended; true if it had to be killed for its time.
fn watch(
    pid: i32,
    started: Instant,
    timeout: Option<Duration>,
    pipe: &mut Option<File>,
    output: &mut Vec<u8>,
) -> io::Result<bool> {
    let end = ended::of_child(pid)?;
    let mut timed_out = false;
    loop {
        let left = match timeout {
            Some(timeout) if !timed_out => Some(timeout.saturating_sub(started.elapsed())),
            _ => None,
        };
        if left == Some(Duration::ZERO) {
            timed_out = true;
            kill_group(pid);
            continue;
        }
        let pipe_fd = pipe.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let [ended, readable] = poll([end.as_raw_fd(), pipe_fd], left)?;
        if (readable || ended) && drain(pipe, output)? {
            *pipe = None;
        }
        if ended {
            return Ok(timed_out);
        }
    }
}

/// Reads what is available; true at the end of the pipe.
fn drain(pipe: &mut Option<File>, output: &mut Vec<u8>) -> io::Result<bool> {
    let Some(file) = pipe else { return Ok(false) };
    let mut chunk = [0; 1 << 16];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok(true),
            Ok(read) => {
                let room = OUTPUT_LIMIT - output.len();
                output.extend_from_slice(&chunk[..read.min(room)]);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Which of two descriptors (a negative one never) are ready, waiting at most `timeout`.
fn poll(fds: [i32; 2], timeout: Option<Duration>) -> io::Result<[bool; 2]> {
    let mut polled = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // Rounded up, so that the deadline has passed when it is checked.
    let millis = timeout
        .map_or(-1, |left| i32::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX));
    // SAFETY: an array of two (L2).
    let rc = unsafe { libc::poll(polled.as_mut_ptr(), 2, millis) };
    if rc < 0 {
        let error = io::Error::last_os_error();
        // An interrupt handler has killed the group: the next round sees its end.
        return if error.kind() == io::ErrorKind::Interrupted {
            Ok([false; 2])
        } else {
            Err(error)
        };
    }
    Ok(polled.map(|fd| fd.revents != 0))
}

fn nonblocking(file: File) -> io::Result<File> {
    // SAFETY: numbers only (L1).
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(file),
    }
}

/// Sends a signal to the process group of a child that leads one and has not been reaped. If it has ended, this does
/// nothing and is not an error.
pub fn signal_group(leader: u32, signal: i32) {
    // SAFETY: numbers (L1).
    unsafe { libc::kill(-(leader as i32), signal) };
}

fn kill_group(pid: i32) {
    signal_group(pid.unsigned_abs(), libc::SIGKILL); // The pid is our unreaped child's (I1).
}

fn reap(pid: i32) -> io::Result<(i32, libc::rusage)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: pointers to `status` and `usage` (L2).
        if unsafe { libc::wait4(pid, &mut status, 0, usage.as_mut_ptr()) } == pid {
            // SAFETY: zeroed above (L5), and wait4 wrote it (L6).
            return Ok((status, unsafe { usage.assume_init() }));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// The largest resident set that `getrusage` reports as `count`.
fn resident_bytes(count: libc::c_long) -> u64 {
    const UNIT: u64 = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    self::count(count) * UNIT
}

/// A figure that the kernel counts upwards.
fn count(count: libc::c_long) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

fn duration(time: libc::timeval) -> Duration {
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0)) + Duration::from_micros(micros)
}
