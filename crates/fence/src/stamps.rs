//! Heavy fences that interrupts have paid for: a daemon's stamps of when each CPU last ran kernel code.
//!
//! # Contract
//! `unc barrierd` has the kernel count, for each CPU, timer interrupts and context switches. [`Stamps::connect`] maps
//! these counts. A heavy fence is then: write, full fence, read the counts ([`Stamps::ask`]), and wait until each CPU's
//! has grown ([`Asked::is_past`]). No CPU is interrupted for it, except one that has taken no interrupt for longer than
//! a tick (an idle one, or one without ticks), and that only while a thread waits. It takes up to a tick of the
//! kernel's timer: 4 ms where there are 250 a second. Light fences are compiler fences, in this process and in every
//! other that has connected. Linux on x86-64 alone; elsewhere `connect` says so.
//!
//! A page that is frozen delays and never deceives: a count that has grown states a fact of the past, which stays true
//! whatever becomes of the daemon. Where the daemon is silent for longer than it promised, tickets are completed by
//! membarrier ([`Asked::poll`]); [`Stamps::renew`] connects to the next daemon.
//!
//! # The socket
//! A client connects to the daemon's stream socket and receives one message: [`HELLO_WORDS`] words of 64 bits and two
//! descriptors, of the stamps and of the page. It checks that the daemon is root's or its own user's. Later it may
//! write [`WAITS`]: "I wait; see after CPUs that lag". The daemon never writes again; its end closes the socket.
//!
//! # Why it is a fence
//! A reader R stores P, runs a light fence and loads X; a writer W stores X, runs a full fence and reads the count of
//! the CPU on which R stores P: n. Later W reads a greater one. The kernel's program makes it greater by one locked
//! addition on that CPU, a full barrier; say that A is the one that makes n+1. A comes after W read n, so X is visible
//! at A. On its CPU, R stores P before A or after it.
//! - Before: P is visible when A is (x86 keeps the order of stores), so W, which saw A or a later addition, sees P.
//! - After: R loads X after P was stored, wherever it runs by then, so after A, and sees X. The processor may load
//!   before it stores, but not before A, since A is a full barrier.
//!
//! There is no third case, since A is one instruction. That the run of the program which made n may still be under way
//! when W reads it does no harm: what counts is the addition. So growth by one is enough, and no clock is read.
//!
//! An idle CPU makes no exception: it is not told apart, but the daemon has the same program run there. (A flag "idle"
//! would have to be cleared in time by a program that may be left out, and would freeze with the daemon.) Of a CPU that
//! is offline, the daemon counts how often it looked and found it so. Its threads were moved away, with full barriers,
//! and those that run there later load later. Growth by one may be of a look that began before W's fence; growth by two
//! is not ([`rule::turn`]), and so it is with the turns of [`Stamps::ask_turns`].
//!
//! # Evidence
//! tests/model_stamps.rs; crates/barrierd/tests/litmus.rs: on the machine, in one process and across two;
//! crates/cli/tests/barrierd.rs: daemons that stop, forged pages.
//! # Sources
//! P. Khuong, "Preemption is GC for memory reordering" and barrierd; Intel SDM volume 3, 9.2.2 and 9.2.5 (locked
//! instructions).

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_model, unc_portable))))]
mod asked;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_model, unc_portable))))]
mod client;
#[cfg(not(all(
    target_os = "linux",
    target_arch = "x86_64",
    not(any(miri, unc_model, unc_portable))
)))]
mod elsewhere;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_model, unc_portable))))]
mod hello;
pub mod layout;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_model, unc_portable))))]
mod lease;
mod no_stamps;
pub mod rule;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_model, unc_portable))))]
mod words;

#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    not(any(miri, unc_model, unc_portable))
))]
pub use asked::Asked;
#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    not(any(miri, unc_model, unc_portable))
))]
pub use client::{Cpu, Seen, Stamps, Work};
#[cfg(not(all(
    target_os = "linux",
    target_arch = "x86_64",
    not(any(miri, unc_model, unc_portable))
)))]
pub use elsewhere::{Asked, Stamps};
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

/// The path of the daemon's socket.
pub fn socket() -> std::path::PathBuf {
    std::env::var_os(SOCKET_VARIABLE).unwrap_or_else(|| SOCKET.into()).into()
}
