//! When a CPU is quiet: the rule of stamps, apart from where they come from.
//!
//! # State
//! A stamp says: between any two instructions of this CPU's programs, this time passed in kernel code (or the CPU was
//! offline). It never becomes false.
//!
//! # Edges
//! quiet: `mark` stores a time -> `latest` loads it. Carries what the CPU's programs had stored by then.
//! turned: `turn` stores the count -> `turns` loads it. Carries the stamps that the turn rests on.
//!
//! # Evidence
//! tests/model_stamps.rs: with full fences for the kernel's exchange, under C11 and TSO.

use uncontended_atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use uncontended_atomic::{AtomicU64, fence};

/// How far the kernel's clock may be ahead of a program's. `bpf_ktime_get_ns` does not wait for an update of the
/// clock's rate that is in progress: it uses the old rate until then. A rate changes by 500 ppm at most, and an update
/// takes less than 200 ms even if a hypervisor stops the CPU that makes it.
pub const SLACK_NS: u64 = if cfg!(unc_model) { 0 } else { 100_000 };

/// Asks for a heavy fence: the time after a full fence.
#[cfg_attr(unc_model, track_caller)]
pub fn ask(clock: impl FnOnce() -> u64) -> u64 {
    // SeqCst: keeps the caller's stores before the clock is read, and so before every later stamp's program.
    fence(SeqCst);
    clock()
}

/// Stamps a CPU (or all, by a barrier) with a time that was read before.
#[cfg_attr(unc_model, track_caller)]
pub fn mark(stamp: &AtomicU64, at_ns: u64) {
    // SeqCst: keeps the reading of the clock before what the CPU loads later, as the kernel's exchange does.
    fence(SeqCst);
    // EDGE quiet (release): what this CPU stored is visible before the stamp. The latest of several is kept.
    stamp.fetch_max(at_ns, Release);
}

/// States when a CPU was offline, if it is: a time that was read before it is seen to be. Whether it is.
#[cfg_attr(unc_model, track_caller)]
pub fn mark_offline(
    stamp: &AtomicU64,
    clock: impl FnOnce() -> u64,
    is_offline: impl FnOnce() -> bool,
) -> bool {
    let at_ns = clock();
    // SeqCst: keeps the reading of the clock before the look at the CPU, which may come online after that.
    fence(SeqCst);
    let is_offline = is_offline();
    if is_offline {
        mark(stamp, at_ns);
    }
    is_offline
}

/// The latest time of these at which a CPU was quiet.
#[cfg_attr(unc_model, track_caller)]
pub fn latest(stamps: &[&AtomicU64]) -> u64 {
    // EDGE quiet (acquire): what the CPU had stored by then is seen after this.
    stamps.iter().map(|stamp| stamp.load(Acquire)).max().unwrap_or(0)
}

/// Whether a CPU that was quiet at `stamp_ns` was so after a fence was asked for: strictly, since a stamp of the same
/// time may be the earlier one.
pub fn is_later(stamp_ns: u64, asked_ns: u64) -> bool {
    stamp_ns > asked_ns.saturating_add(SLACK_NS)
}

/// Counts a turn: all CPUs have been quiet since the time that the previous call returned. Returns the time since which
/// they have to be quiet for the next.
#[cfg_attr(unc_model, track_caller)]
pub fn turn(count: &AtomicU64, clock: impl FnOnce() -> u64) -> u64 {
    // EDGE turned (release): the stamps that were looked at. One thread counts.
    count.store(count.load(Relaxed).wrapping_add(1), Release);
    // SeqCst: keeps the count before the clock is read: who asked at the old count asked before that time.
    fence(SeqCst);
    clock()
}

/// Asks for a heavy fence in turns, for a program without a clock: the turns so far, after a full fence.
#[cfg_attr(unc_model, track_caller)]
pub fn ask_turns(count: &AtomicU64) -> u64 {
    // SeqCst: keeps the caller's stores before the count is read, and so before the clock of the turn after the next.
    fence(SeqCst);
    count.load(Relaxed)
}

/// Whether the turns since then are enough. The first may have begun before, the second has not.
#[cfg_attr(unc_model, track_caller)]
pub fn is_turned(count: &AtomicU64, asked: u64) -> bool {
    // EDGE turned (acquire): what the CPUs stored before the stamps of that turn is seen after this.
    count.load(Acquire).wrapping_sub(asked) >= 2
}
