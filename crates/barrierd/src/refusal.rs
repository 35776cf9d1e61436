//! Why the daemon does not start.

use std::fmt;
use std::path::PathBuf;

/// Why the daemon does not start, or ends.
#[derive(Debug)]
pub enum Refusal {
    /// The process may not use eBPF.
    NotRoot,
    /// Root may not either.
    Forbidden,
    /// The kernel has no eBPF, or lacks what the daemon needs of it: this.
    TooOld(&'static str),
    /// The kernel's checker rejected the program.
    Rejected(String),
    /// The kernel lacks a tracepoint.
    NoTracepoint(&'static str),
    /// Another daemon has the socket.
    AnotherDaemon(PathBuf),
    /// Something else is at the socket's path.
    NotASocket(PathBuf),
    /// The socket could not be made.
    Socket(PathBuf, std::io::Error),
    /// The kernel does not list its CPUs.
    NotListed,
    /// There is no user of this name.
    NoUser(String),
    /// There is no CPU of this number.
    NoCpu(usize),
    /// A list of CPUs that is none.
    NotCpus(String),
    /// A step failed.
    Failed(&'static str, std::io::Error),
}

impl Refusal {
    /// What helps.
    pub fn remedy(&self) -> &'static str {
        match self {
            Refusal::NotRoot => {
                "run it as root: it gives up its rights once it has started (or needs CAP_BPF and CAP_PERFMON)"
            }
            Refusal::Forbidden => {
                "a filter of system calls or the kernel's lockdown forbids eBPF: run it outside the container"
            }
            Refusal::TooOld(_) | Refusal::NoTracepoint(_) => {
                "it needs Linux 5.19 or newer, with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS; programs use membarrier without it"
            }
            Refusal::Rejected(_) => {
                "this is a defect of `unc`: please report it, with the kernel's version"
            }
            Refusal::AnotherDaemon(_) => {
                "one is enough for the machine: `unc barrierd --status` shows it"
            }
            Refusal::NotASocket(_) => "choose another path: --socket PATH",
            Refusal::Socket(..) => {
                "choose a path in a folder that may be written to: --socket PATH"
            }
            Refusal::NotListed => "mount sysfs at /sys",
            Refusal::NoUser(_) => "name a user of this system: --user NAME",
            Refusal::NoCpu(_) => "`lscpu` lists the CPUs",
            Refusal::NotCpus(_) => "give numbers and ranges: --cpus 0-3,8",
            Refusal::Failed(..) => "see the error",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotRoot => f.write_str("eBPF programs may be loaded by root alone"),
            Refusal::Forbidden => f.write_str("this system forbids eBPF programs, even to root"),
            Refusal::TooOld(what) => write!(f, "the kernel does not support {what}"),
            Refusal::Rejected(log) => write!(f, "the kernel rejects barrierd's program: {log}"),
            Refusal::NoTracepoint(name) => write!(f, "the kernel has no tracepoint {name}"),
            Refusal::AnotherDaemon(path) => {
                write!(f, "another barrierd has the socket {}", path.display())
            }
            Refusal::NotASocket(path) => {
                write!(f, "{} exists and is not a socket", path.display())
            }
            Refusal::Socket(path, error) => {
                write!(f, "the socket {} cannot be made: {error}", path.display())
            }
            Refusal::NotListed => f.write_str("/sys/devices/system/cpu/possible cannot be read"),
            Refusal::NoUser(name) => write!(f, "there is no user `{name}`"),
            Refusal::NoCpu(cpu) => write!(f, "there is no CPU {cpu}"),
            Refusal::NotCpus(text) => write!(f, "`{text}` is not a list of CPUs"),
            Refusal::Failed(step, error) => write!(f, "could not {step}: {error}"),
        }
    }
}

impl std::error::Error for Refusal {}
