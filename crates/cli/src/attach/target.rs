//! A process to attach to, or why it is none.

use std::fs::{self, File};
use std::io::Read as _;
use uncontended_decide::Failure;
use uncontended_sys::process::Other;

/// A process that runs already.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) pid: u32,
    process: Other,
    /// Its child processes, when it was opened.
    pub(crate) children: Vec<u32>,
    /// Whether a signal had stopped it then.
    pub(crate) is_stopped: bool,
}

impl Target {
    /// The process `pid`.
    ///
    /// # Errors
    /// There is none that runs a program, or it is a thread of another one.
    pub(crate) fn open(pid: u32) -> Result<Self, Failure> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"));
        let status = status.map_err(|_| gone(pid))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim_start_matches(':').trim().to_owned())
        };
        if let Some(leader) = field("Tgid").filter(|leader| *leader != pid.to_string()) {
            let cause = format!("{pid} is a thread of process {leader}");
            return Err(Failure::new(
                cause,
                format!("attach to the process: `unc attach {leader}`"),
            ));
        }
        let has_ended = field("State").is_some_and(|state| state.starts_with(['Z', 'X']));
        let threads = field("Threads").and_then(|count| count.parse().ok()).unwrap_or(0u32);
        if has_ended && threads < 2 {
            return Err(gone(pid));
        }
        // The first thread may have ended before the others.
        if field("VmSize").is_none() && !has_ended {
            let cause = format!("{pid} is a thread of the kernel, which waits for no futex");
            return Err(Failure::new(cause, "give the PID of a program"));
        }
        if is_of_32_bits(pid) {
            let cause = format!("{pid} runs a program of 32 bits, whose futexes are not watched");
            return Err(Failure::new(cause, "build it for 64 bits to see where its threads wait"));
        }
        let process = Other::open(pid).map_err(|_| gone(pid))?;
        let is_stopped = field("State").is_some_and(|state| state.starts_with(['T', 't']));
        Ok(Target { pid, process, children: children(pid), is_stopped })
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.process.has_ended()
    }
}

/// Whether the process runs a program of 32 bits, as far as its file says.
fn is_of_32_bits(pid: u32) -> bool {
    const START: [u8; 5] = *b"\x7fELF\x01";
    let mut start = [0; START.len()];
    let file = File::open(format!("/proc/{pid}/exe"));
    file.and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == START
}

/// The child processes of `pid`, as far as the kernel lists them.
fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let pids = |list: String| -> Vec<u32> {
        list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    };
    lists.flat_map(pids).collect()
}

fn gone(pid: u32) -> Failure {
    Failure::new(
        format!("there is no process {pid}, or it has ended"),
        "see `ps` or `pgrep` for PIDs",
    )
}
