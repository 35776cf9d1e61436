//! System calls and machine instructions, each behind the smallest interface that its users need.
//!
//! Starting and following a program: [`inherited`], [`process`], [`signals`]. Memory that a program shares with its
//! observer: [`memfd`]; system calls from its process: [`kernel`]. What observing costs:
//! [`pair_cost`]. Time: [`clock`]. A word of each thread: [`tls`]. What the kernel sees of a program: [`perf`],
//! [`tracefs`]. Locks of a program's own: [`annotate`]. Measuring a command: [`supervise`], [`interrupts`]; oneself: [`usage`].
//! A barrier on all threads: [`membarrier`]; sleeping on a word: [`futex`]; forbidding a system call: [`filter`]. Cache lines in time: [`prefetch`].
//! Where a thread runs: [`affinity`]; machine code made at run time: [`code`].

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Floor 0: below the door.

pub mod affinity;
pub mod annotate;
pub mod clock;
pub mod code;
pub mod filter;
pub mod futex;
pub mod inherited;
pub mod interrupts;
pub mod kernel;
pub mod membarrier;
pub mod memfd;
pub mod pair_cost;
pub mod perf;
pub mod prefetch;
pub mod process;
pub mod signals;
pub mod supervise;
pub mod tls;
pub mod tracefs;
pub mod usage;
