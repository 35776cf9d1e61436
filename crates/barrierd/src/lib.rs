//! The daemon behind `unc barrierd`: how often each CPU has run kernel code, for programs to read.
//!
//! # Contract
//! [`Daemon::start`] loads a program of 30 instructions into the kernel, where it runs at each timer interrupt and
//! context switch and counts its runs; [`Daemon::confine`] gives up all rights; [`Daemon::run`] serves clients until
//! its end is asked for. Clients map the counts; [`uncontended_fence::stamps`] describes the memory, the socket, and
//! why counts are fences. The daemon matters to a client where a CPU takes no interrupt (it has the program run there,
//! while a client waits) and for waking up waiters. While none waits, it works ten times a second.
//!
//! For Linux on x86-64; elsewhere the crate is empty.
//!
//! # Evidence
//! crates/cli/tests/barrierd.rs: the daemon as a process, its clients, and what becomes of them when it
//! stops; tests/daemon.rs, tests/litmus.rs, tests/client_in_c.rs.
//! # Sources
//! P. Khuong, barrierd (2018).
#![cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_model, unc_portable))))]
#![forbid(unsafe_code)]

mod clients;
mod daemon;
mod kernel;
pub mod program;
mod refusal;

pub use daemon::{Daemon, Options};
pub use refusal::Refusal;
pub use uncontended_fence::stamps;
pub use uncontended_sys::rights::User;
