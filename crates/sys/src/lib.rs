//! System calls and machine instructions, each behind the smallest interface that its callers need.
//!
//! Starting and following a program: [`inherited`], [`process`], [`signals`]. Memory shared between a program and its
//! observer: [`memfd`]; system calls from the program's process: [`kernel`]. The cost of observing: [`pair_cost`].
//! Time: [`clock`]. A word per thread: [`tls`]. What the kernel sees of a program: [`perf`], [`bpf`], [`tracefs`]. A
//! program's own locks: [`annotate`]. What this process does at its limits: [`limits`]. Measuring a command:
//! [`supervise`], [`counters`], [`background`], [`interrupts`]; measuring this process: [`usage`]. A barrier on all
//! threads: [`membarrier`], [`shootdown`], and the interrupts that it takes: [`interrupt_counts`]; restartable
//! sequences: [`rseq`]; whether a thread left its CPU: [`switches`], [`segment`]; sleeping on a word: [`futex`],
//! [`parking`]; forbidding a system call: [`filter`]; whether a process is there: [`pids`]. Where and when a thread
//! runs: [`affinity`], [`scheduling`]; machine code made at run time: [`code`]. Locks of files: [`filelock`]; the C
//! library's mutex: [`c_mutex`]. What is known of the machine: [`host`].
//!
//! What the rings and waits need exists on every system: [`annotate`], [`clock`], [`futex`]'s words, [`parking`],
//! [`pids`].
//! What measuring commands and reading a record need is POSIX: [`interrupts`], [`limits`], [`supervise`].
//! The rest is Linux's, and what runs in an observed program is for x86-64 and AArch64 alone.
//!
//! # Contracts of the C library and the kernel
//! SAFETY comments cite these; the invariants of one module (`I1`) are in its header.
//!
//! L1: a call that receives only numbers and descriptors touches no memory of ours and runs none of our code.
//! L2: a pointer passed to a call is null, where that means "none", or points to memory of the type and size that the
//!     call takes, which lives until the call returns; the call keeps no pointer.
//! L3: a new mapping at an address of the kernel's choice, and its removal by its owner, change no other memory.
//! L4: a descriptor that a call has just returned has no other owner.
//! L5: the C structures used here are plain numbers: all zeroes is a valid value of each.
//! L6: after a call has succeeded, what it is documented to write is initialised.
//! L7: a name or path passed to a call ends in NUL, and an array of them in a null pointer.
//! L8: the layouts that programs are compiled against do not change: a mutex begins with its lock word, a link map with
//!     the module's bias and name.
//! L9: a callback has the type that the call requires, and stays loaded.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Floor 0: below `atomic`.

#[cfg(target_os = "linux")]
pub mod affinity;
pub mod annotate;
#[cfg(target_os = "linux")]
mod aside;
#[cfg(unix)]
pub mod background;
#[cfg(target_os = "linux")]
pub mod bpf;
#[cfg(unix)]
pub mod c_mutex;
pub mod clock;
#[cfg(target_os = "linux")]
pub mod code;
#[cfg(unix)]
pub mod counters;
#[cfg(unix)]
mod ended;
#[cfg(unix)]
pub mod filelock;
#[cfg(target_os = "linux")]
pub mod filter;
pub mod fork;
pub mod futex;
pub mod host;
#[cfg(target_os = "linux")]
pub mod inherited;
#[cfg(target_os = "linux")]
pub mod interrupt_counts;
#[cfg(unix)]
pub mod interrupts;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod kernel;
#[cfg(unix)]
pub mod limits;
#[cfg(target_os = "linux")]
pub mod membarrier;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod memfd;
#[cfg(target_os = "linux")]
pub mod pair_cost;
pub mod parking;
#[cfg(target_os = "linux")]
pub mod perf;
pub mod pids;
#[cfg(target_os = "linux")]
pub mod process;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod rseq;
#[cfg(target_os = "linux")]
pub mod scheduling;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod segment;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod shootdown;
#[cfg(target_os = "linux")]
pub mod signals;
#[cfg(unix)]
pub mod supervise;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod switches;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod tls;
#[cfg(target_os = "linux")]
pub mod tracefs;
#[cfg(target_os = "linux")]
pub mod usage;
