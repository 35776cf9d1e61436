//! Every execution of a small concurrent program, under a stated memory model.
//!
//! Map of the crate. What runs: [`program`]. How it runs: [`memory`] (what loads and stores mean), [`state`], [`step`].
//! Two engines use these: [`search`] (visits every state once; minimal counterexamples) and [`dpor`] (runs one
//! execution of every class; counts). A third engine, [`axioms`], is declarative and shares no code with them. All
//! report [`outcome`]s. Input: [`litmus`], [`classics`]. Output: [`diagram`]. Programs for measurements and tests:
//! [`families`], [`random`].
//!
//! [`history`] checks recorded histories of operations.
//!
//! `real` (a feature, on by default; for Linux on x86-64 and AArch64) checks the code of a library itself, not a
//! description of it.
//!
//! # Engines
//!
//! - [`search`]: which ends exist, and a counterexample with the fewest preemptions, then steps. Bounded by states.
//! - [`dpor`]: how many executions reach each end, one per class: source sets, with a pseudo-thread for each buffer; in
//!   programs that wait or interrupt, sleep sets alone. Bounded by rounds of loops and by executions.
//! - [`axioms`]: the same counts for straight-line programs, from axioms; it shares no code with the others. Bounded by
//!   64 events, and by choices.
//!
//! A thread that waits for its own stores to drain is never reported as a deadlock: an end is a state in which no
//! thread can take a step and every buffer is empty.
//!
//! # Evidence
//!
//! The tests check forty-one verdicts of the literature; seeded bugs, all of which are caught; the public litmus suite
//! and generated ones, if they are next to the checkout, state by state and count by count; the engines against each
//! other on random programs; and the number of classes against closed formulas or, for programs that wait or interrupt,
//! against a count over every interleaving.
//!
//! # What they can't see
//!
//! - **The compiler.** A verdict under TSO is about x86 instructions. A compiler may reorder relaxed accesses of Rust
//!   or C code before that: use the C11 model of `real` for such code.
//! - **Other widths and addresses.** Accesses of mixed size to one location, addresses in registers, 8- and 16-bit
//!   registers, non-temporal stores, `clflush`, self-modifying code and device memory are refused or absent.
//! - **Interrupts that no thread waits for** are not steps, since a drain may happen at any moment anyway. An
//!   interrupt that a thread waits for falls between instructions, after the stores before it have drained;
//!   membarrier's `PRIVATE_EXPEDITED` and a return from an interrupt guarantee this. A `membarrier` interrupts all
//!   other threads of the test.
//! - **Futexes** wake in the order of arrival; spurious wakeups and timeouts are not modelled. A futex call is a full
//!   barrier.
//! - **Time.** Under plain TSO a store may wait for any time. The bound of `Memory::TsoWithin` (`unc litmus --delta
//!   N`) is an assumption about a machine (a core without a timer tick may break it), its ticks have no length, and
//!   executions are not counted under it.
//! - **Fairness.** When executions are counted, a waiting loop is followed for a stated number of rounds; the search
//!   needs no bound if states repeat.
//! - **herd's numbers.** herd 7.57 leaves the two halves of a read-modify-write unordered in `sc.cat` and
//!   `x86tso-mixed.cat`, and so counts executions in which an instruction reads a write that its own write precedes.
//!   The JSON keeps its spelling and counts; verdicts, text and exit statuses exclude them (`axioms::Halves`).
#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Floor 0: below the door.
#![deny(unsafe_code)] // Allowed in six files of `real`: `context`, `runtime`, `heap`, `arc`, `jobs`, `scope`.

pub mod axioms;
pub mod classics;
pub mod diagram;
pub mod dpor;
pub mod families;
mod happening;
pub mod history;
pub mod litmus;
pub mod memory;
pub mod outcome;
pub mod program;
pub mod random;
#[cfg(all(
    feature = "real",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub mod real;
pub mod search;
pub mod state;
pub mod step;

/// The book's page compiles and holds.
#[cfg(doctest)]
#[doc = include_str!("../docs/checking_your_own_code.md")]
mod book {}
