//! What carries out a heavy fence, what that costs, and why another one does not.

use std::fmt;

/// The implementation of a pair of fences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// Expedited membarrier: light fences are free.
    Expedited,
    /// Changes of a page's protection, which interrupt as a membarrier does: light fences are free.
    Mprotect,
    /// Stamps of interrupts that happen anyway, by a running `barrierd`: light fences are free, and no thread is
    /// interrupted.
    Stamps,
    /// Check-ins of registered threads: light fences are free, and no thread is interrupted.
    CheckIn,
    /// Full fences on both sides, for this reason.
    FullFences(Refused),
}

/// What a pair of fences costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// How long a heavy fence takes.
    pub latency: Latency,
    /// What a light fence is.
    pub light: Light,
    /// Whether a heavy fence interrupts the CPUs that run threads in its scope.
    pub interrupts: bool,
}

/// How long a heavy fence takes: the order of magnitude, on CPUs that run programs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Latency {
    /// Less than a microsecond.
    Nanoseconds,
    /// From one to some hundreds of microseconds.
    Microseconds,
    /// From one to some tens of milliseconds.
    Milliseconds,
    /// As long as threads take to check in.
    Unbounded,
}

/// What a light fence is to the processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Light {
    /// No instruction: only the compiler is kept from moving accesses.
    CompilerFence,
    /// A full fence: some nanoseconds, in which the store buffer drains.
    FullFence,
}

/// A backend was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The reason.
    pub reason: Reason,
    /// The kernel's error number; 0 if the kernel was not asked.
    pub errno: i32,
}

/// Why a backend is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The kernel lacks the system call, or is too old for the expedited commands, or a seccomp filter claims so.
    Unknown,
    /// A seccomp filter forbids it.
    Forbidden,
    /// Another error.
    Failed,
    /// The program runs in an interpreter without the call (Miri).
    Interpreted,
    /// The program is built to run without it: for another system than Linux, or with `--cfg unc_portable`. Then its
    /// threads do not sleep on futexes either, but in a table of mutexes and condition variables.
    Portable,
    /// The program asked for full fences ([`Choice::FullFences`](crate::Choice::FullFences)).
    Unwanted,
    /// Changes of protection need not interrupt other CPUs on this processor.
    Processor,
    /// The process may run on one CPU only, so it cannot be tried out.
    OneCpu,
    /// Tried out, it did not order.
    Unordered,
    /// Tried out, the kernel counted no interrupts on another CPU, or does not show its counts.
    NotInterrupted,
}

impl Backend {
    /// What this pair costs.
    pub fn cost(self) -> Cost {
        match self {
            Backend::Expedited | Backend::Mprotect => Cost {
                latency: Latency::Microseconds,
                light: Light::CompilerFence,
                interrupts: true,
            },
            Backend::Stamps => Cost {
                latency: Latency::Milliseconds,
                light: Light::CompilerFence,
                interrupts: false,
            },
            Backend::CheckIn => {
                Cost { latency: Latency::Unbounded, light: Light::CompilerFence, interrupts: false }
            }
            Backend::FullFences(_) => {
                Cost { latency: Latency::Nanoseconds, light: Light::FullFence, interrupts: false }
            }
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Backend::Expedited => f.write_str("expedited membarrier"),
            Backend::Mprotect => f.write_str("changes of a page's protection"),
            Backend::Stamps => f.write_str("stamps of interrupts"),
            Backend::CheckIn => f.write_str("check-ins"),
            Backend::FullFences(refused) => write!(f, "full fences: {refused}"),
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let latency = match self.latency {
            Latency::Nanoseconds => "nanoseconds",
            Latency::Microseconds => "microseconds",
            Latency::Milliseconds => "milliseconds",
            Latency::Unbounded => "until all threads have checked in",
        };
        let light = match self.light {
            Light::CompilerFence => "no instruction",
            Light::FullFence => "a full fence",
        };
        let interrupts =
            if self.interrupts { "interrupts running threads" } else { "interrupts no thread" };
        write!(f, "light: {light}; heavy: {latency}, {interrupts}")
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Reason::Unknown => f.write_str("the kernel does not support expedited membarriers"),
            Reason::Forbidden => f.write_str("a seccomp filter forbids membarrier"),
            Reason::Failed => write!(f, "the system call fails with error {}", self.errno),
            Reason::Interpreted => f.write_str("the interpreter has no membarrier"),
            Reason::Portable => f.write_str("the program is built to run without membarrier"),
            Reason::Unwanted => f.write_str("the program asked for them"),
            Reason::Processor => f.write_str(
                "a change of protection need not interrupt this processor; use membarrier",
            ),
            Reason::OneCpu => f.write_str(
                "with one CPU it cannot be tried out; allow another one, or use membarrier",
            ),
            Reason::Unordered => f.write_str("tried out, it does not order; use membarrier"),
            Reason::NotInterrupted => f.write_str(
                "the kernel counts no interrupt for it in /proc/interrupts; use membarrier",
            ),
        }
    }
}

impl std::error::Error for Refused {}
