//! Heavy fences that interrupts have paid for: a daemon's stamps of when each CPU last ran kernel code.
//!
//! # Contract
//! `unc barrierd` has the kernel store the time, for each CPU, at each timer interrupt and context switch.
//! [`Stamps::connect`] maps these stamps. A heavy fence is then: write, full fence, read the clock ([`Stamps::ask`]),
//! and wait until every CPU's stamp is later ([`Stamps::is_past`]). No CPU is interrupted for it, except one that has
//! taken no interrupt for longer than a tick (an idle one, or one without ticks), and that only while a thread waits.
//! It takes up to a tick of the kernel's timer: 4 ms where there are 250 a second. Light fences are compiler fences, in
//! this process and in every other that has connected. Linux on x86-64 alone; elsewhere `connect` says so.
//!
//! A page that is frozen delays and never deceives: each word that counts states a fact of the past, "this CPU ran no
//! program at that time", and stays true whatever becomes of the daemon. Where the daemon is silent for longer than it
//! promised, tickets are completed by membarrier ([`Stamps::poll`]).
//!
//! # The socket
//! A client connects to the daemon's stream socket and receives one message: [`HELLO_WORDS`] words of 64 bits and two
//! descriptors, of the stamps and of the page. It checks that the daemon is root's or its own user's. Later it may
//! write [`WAITS`]: "I wait; see after CPUs that lag". The daemon never writes again; its end closes the socket.
//!
//! # Why it is a fence
//! A reader R stores P, runs a light fence and loads X on one CPU; a writer W stores X, runs a full fence and reads the
//! clock (t0). Say that R's CPU is stamped with a time s > t0. The kernel's program reads the clock, then exchanges the
//! stamp, which on x86 is a full barrier. R's accesses come wholly before the program, wholly after, or around it.
//! - P before: it is visible before the stamp is (x86 keeps the order of stores), so W, which saw the stamp, sees P.
//! - X after: the load comes after the exchange, which comes after the clock was read, at s > t0, when W's store was
//!   visible already: so R sees X.
//!
//! One of both holds in each of the three cases. A thread that moves to another CPU in between was switched out, which
//! is a full barrier, and so is each CPU's switch to another thread: a CPU on which R no longer runs has published P.
//! The clock of the program may run ahead by what [`SLACK_NS`](rule::SLACK_NS) allows for. Both sides read the
//! machine's clock: a process in a time namespace of its own is refused (`clock`).
//!
//! An idle CPU makes no exception: it is not told apart, but the daemon has the same program run there. (A flag "idle"
//! would have to be cleared in time by a program that may be left out, and would freeze with the daemon.) Of a CPU that
//! is offline, the daemon states when it was: a time that it read before it saw, in the kernel's list, that the CPU is
//! not there. Its threads were moved away, with full barriers, and those that run there later load later.
//!
//! # Evidence
//! tests/model_stamps.rs; crates/barrierd/tests/litmus.rs: on the machine, in one process and across two;
//! crates/cli/tests/barrierd.rs: daemons that stop, forged pages.
//! # Sources
//! P. Khuong, "Preemption is GC for memory reordering" and barrierd; Intel SDM volume 3, 9.2.2 and 9.2.5 (locked
//! instructions); Linux kernel/time/timekeeping.c on `ktime_get_mono_fast_ns`.

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_model, unc_portable))))]
mod client;
#[cfg(not(all(
    target_os = "linux",
    target_arch = "x86_64",
    not(any(miri, unc_model, unc_portable))
)))]
#[path = "stamps/elsewhere.rs"]
mod client;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_model, unc_portable))))]
pub mod clock;
pub mod layout;
mod no_stamps;
pub mod rule;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_model, unc_portable))))]
mod words;

pub use client::Stamps;
#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    not(any(miri, unc_model, unc_portable))
))]
pub use client::{Cpu, Work};
pub use no_stamps::NoStamps;
#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    not(any(miri, unc_model, unc_portable))
))]
pub use words::{Access, Words};

/// Where the daemon's socket is, unless [`SOCKET_VARIABLE`] says otherwise.
pub const SOCKET: &str = "/run/unc/barrierd.sock";
/// The environment variable with another path.
pub const SOCKET_VARIABLE: &str = "UNC_BARRIERD";
/// The words of the daemon's message: magic number, version, number of CPUs; the others are zero.
pub const HELLO_WORDS: usize = 8;
/// What a client writes when it waits.
pub const WAITS: u8 = b'w';

/// When a heavy fence was asked for, by `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Asked {
    /// The time in nanoseconds.
    pub at_ns: u64,
}

/// The path of the daemon's socket.
pub fn socket() -> std::path::PathBuf {
    std::env::var_os(SOCKET_VARIABLE).unwrap_or_else(|| SOCKET.into()).into()
}
