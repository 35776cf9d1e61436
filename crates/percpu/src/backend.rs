//! Whether this process uses restartable sequences, and why not.
//!
//! # Contract
//! One decision for all structures of the process (`shape.rs`). Cells of CPUs exist only where sequences are used;
//! sequences alone change them, atomic operations alone the others, the shards. So the two never meet in a cell.

use crate::shape::Shape;
use std::fmt;

/// How structures per CPU are changed in this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// By restartable sequences, in a cell for each CPU.
    Sequences {
        /// The number of cells: CPUs with higher numbers use the shards.
        cpus: u32,
    },
    /// By atomic operations in shards, each for some of the threads.
    Shards(Why),
}

/// Why sequences are not used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// Sequences are written for x86-64 Linux alone.
    Processor,
    /// The program is built to run on any system (`--cfg unc_portable`).
    Portable,
    /// The program runs in an interpreter (Miri).
    Interpreted,
    /// The C library has no registration: glibc before 2.35, or another library.
    Library,
    /// The program is linked statically: glibc's registration is found in others alone.
    Static,
    /// The C library was told not to register threads.
    TurnedOff,
    /// The kernel does not know the call, or a filter claims so.
    Kernel,
    /// A filter of system calls forbids `rseq`.
    Forbidden,
    /// The kernel fills too little of the registered area.
    Small,
    /// Threads are registered with flags that are unknown here.
    Flags,
    /// The kernel cannot restart sequences from another CPU: it is older than 5.10, or built without that.
    Barrier,
    /// A filter of system calls forbids `membarrier`.
    BarrierForbidden,
    /// The kernel does not say which CPUs there are, neither in `/sys` nor by `sched_getaffinity`.
    Cpus,
}

impl Why {
    /// All reasons.
    pub(crate) const ALL: [Why; 13] = [
        Why::Processor,
        Why::Portable,
        Why::Interpreted,
        Why::Library,
        Why::Static,
        Why::TurnedOff,
        Why::Kernel,
        Why::Forbidden,
        Why::Small,
        Why::Flags,
        Why::Barrier,
        Why::BarrierForbidden,
        Why::Cpus,
    ];
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Processor => "sequences are written for x86-64 Linux alone",
            Why::Portable => "the program is built to run without them",
            Why::Interpreted => "the interpreter has no sequences",
            Why::Library => "the C library has no registration of threads (glibc has one from 2.35 on)",
            Why::Static => "in a program that is linked statically, no registration of threads is found",
            Why::TurnedOff => "GLIBC_TUNABLES turns the registration off (glibc.pthread.rseq=0)",
            Why::Kernel => "the kernel has no restartable sequences (Linux has them from 4.18 on)",
            Why::Forbidden => "a seccomp filter forbids rseq",
            Why::Small => "the kernel fills too little of the registered area",
            Why::Flags => "threads are registered with unknown flags",
            Why::Barrier => "membarrier restarts no sequences (it does in Linux from 5.10 on)",
            Why::BarrierForbidden => "a seccomp filter forbids membarrier",
            Why::Cpus => "neither /sys/devices/system/cpu/possible nor sched_getaffinity told which CPUs there are",
        })
    }
}

impl std::error::Error for Why {}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Backend::Sequences { cpus: 1 } => f.write_str("restartable sequences, for 1 CPU"),
            Backend::Sequences { cpus } => write!(f, "restartable sequences, for {cpus} CPUs"),
            Backend::Shards(why) => write!(f, "sharded atomics: {why}"),
        }
    }
}

/// The implementation for this process. The first call, or the first use of a structure, decides it for good: it reads
/// a file in `/sys` and calls `membarrier`, so call this before the program enters a sandbox. If the file cannot be
/// read, there are cells for the CPUs up to the last one on which the calling thread may run.
///
/// ```
/// let backend = uncontended_percpu::backend();
/// println!("{backend}"); // restartable sequences, for 2 CPUs
/// assert_eq!(backend, uncontended_percpu::backend());
/// ```
pub fn backend() -> Backend {
    Shape::here().backend()
}
