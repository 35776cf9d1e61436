//! When a fence is complete: the rule of stamps, apart from where they come from.
//!
//! # State
//! Two counts for each CPU, which only grow: the runs of the kernel's program there, each one step that is a full
//! barrier, and the looks at which the daemon found the CPU offline.
//!
//! # Edges
//! run: the kernel's program adds to `runs` -> `is_quiet` loads it. Carries what the CPU's programs had stored by then.
//! turned: `turn` stores the count -> `is_turned` loads it. Carries what the turn rests on.
//!
//! # Evidence
//! tests/model_stamps.rs: with a full fence for the kernel's addition, under C11 and TSO.

use uncontended_atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use uncontended_atomic::{AtomicU64, fence};

/// The counts of a CPU.
#[derive(Clone, Copy, Debug)]
pub struct Counts<'a> {
    /// The runs of the kernel's program.
    pub runs: &'a AtomicU64,
    /// How often the CPU was found offline.
    pub absences: &'a AtomicU64,
}

/// Asks for a heavy fence: each CPU's two counts, after a full fence.
#[cfg_attr(unc_model, track_caller)]
pub fn ask<'a>(cpus: impl Iterator<Item = Counts<'a>>) -> Box<[[u64; 2]]> {
    // SeqCst: keeps the caller's stores before the counts are read, and so before each run that they do not include.
    fence(SeqCst);
    cpus.map(|cpu| [cpu.runs.load(Relaxed), cpu.absences.load(Relaxed)]).collect()
}

/// Whether the fence that was asked for with these counts, of the same CPUs in the same order, is complete.
#[cfg_attr(unc_model, track_caller)]
pub fn is_past<'a>(cpus: impl Iterator<Item = Counts<'a>>, asked: &[[u64; 2]]) -> bool {
    cpus.zip(asked).all(|(cpu, &asked)| is_quiet(cpu, asked))
}

/// Whether a CPU has been quiet since its counts were these: the program has run, or the CPU was offline.
#[cfg_attr(unc_model, track_caller)]
pub fn is_quiet(cpu: Counts<'_>, [runs, absences]: [u64; 2]) -> bool {
    // EDGE run (acquire): what the CPU had stored by then is seen after this. The release is the kernel's addition.
    cpu.runs.load(Acquire) > runs || is_turned(cpu.absences, absences)
}

/// Counts that something was found so, by the one thread that looks: all CPUs quiet, or one offline. What the thread
/// looks at next, it finds so after this.
#[cfg_attr(unc_model, track_caller)]
pub fn turn(count: &AtomicU64) {
    // EDGE turned (release): what was looked at.
    count.store(count.load(Relaxed).wrapping_add(1), Release);
    // SeqCst: keeps the count before the next look: who asked at the old count asked before that look.
    fence(SeqCst);
}

/// Asks for a heavy fence by turns: the count, after a full fence.
#[cfg_attr(unc_model, track_caller)]
pub fn ask_turns(count: &AtomicU64) -> u64 {
    // SeqCst: keeps the caller's stores before the count is read, and so before the look of the turn after the next.
    fence(SeqCst);
    count.load(Relaxed)
}

/// Whether the turns since then are enough. The first may rest on an earlier look, the second does not.
#[cfg_attr(unc_model, track_caller)]
pub fn is_turned(count: &AtomicU64, asked: u64) -> bool {
    // EDGE turned (acquire): what that turn rests on is seen after this.
    count.load(Acquire).wrapping_sub(asked) >= 2
}
