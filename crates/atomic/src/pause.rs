//! Faults injected between any two steps: under `--cfg unc_pause` threads stop at random, for up to 50 ms, before
//! atomic operations, fences, sleeps, wakeups and accesses to shared cells. Otherwise this compiles to nothing.
//!
//! A thread that is preempted, or whose virtual CPU is descheduled, stops in the same way, but so rarely at the one
//! instruction that matters that no test would ever see it.
//!
//! A signal handler too may run between any two steps of its thread: a test has one run at a step that it chooses.

/// Runs before every operation.
#[cfg(not(unc_pause))]
#[inline(always)]
pub(crate) fn step() {}

#[cfg(unc_pause)]
pub(crate) use injected::step;
#[cfg(unc_pause)]
pub use injected::{inject_pauses, interrupt_after, never_interrupted, pauses};

#[cfg(unc_pause)]
mod injected {
    #![allow(clippy::disallowed_types)] // Its own counters must not pause.
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::time::Duration;

    /// A handler, and the number of steps that it still lets pass.
    type Interruption = (u64, Box<dyn FnOnce()>);

    const LONGEST_NS: u64 = 50_000_000;

    /// One step in this many is preceded by a pause; 0 means none.
    static ONE_IN: AtomicU64 = AtomicU64::new(0);
    static TAKEN: AtomicU64 = AtomicU64::new(0);
    static SEED: AtomicU64 = AtomicU64::new(0);

    thread_local! {
        static RANDOM: Cell<u64> = const { Cell::new(0) };
        static INTERRUPTION: Cell<Option<Interruption>> = const { Cell::new(None) };
    }

    /// From now on, threads pause before one in `one_in` steps. Each new thread draws from `seed` and its number.
    pub fn inject_pauses(one_in: u64, seed: u64) {
        SEED.store(seed << 20, Relaxed);
        ONE_IN.store(one_in, Relaxed);
    }

    /// The number of pauses so far.
    pub fn pauses() -> u64 {
        TAKEN.load(Relaxed)
    }

    /// The calling thread runs `handler` before its next step but `steps`, as a signal that arrives there would. A
    /// handler that panics never returns to what it interrupted, like one that jumps.
    pub fn interrupt_after(steps: u64, handler: impl FnOnce() + 'static) {
        INTERRUPTION.set(Some((steps, Box::new(handler))));
    }

    /// Takes back the handler that has not run; whether there was one.
    pub fn never_interrupted() -> bool {
        INTERRUPTION.take().is_some()
    }

    fn interrupt() {
        match INTERRUPTION.try_with(Cell::take) {
            Ok(Some((0, handler))) => handler(),
            Ok(Some((steps, handler))) => INTERRUPTION.set(Some((steps - 1, handler))),
            _ => {}
        }
    }

    pub(crate) fn step() {
        interrupt();
        let one_in = ONE_IN.load(Relaxed);
        if one_in > 0 && draw().is_multiple_of(one_in) {
            TAKEN.fetch_add(1, Relaxed);
            std::thread::sleep(Duration::from_nanos(draw() % LONGEST_NS));
        }
    }

    /// SplitMix64; a constant in a thread whose thread-locals are gone.
    fn draw() -> u64 {
        let next = |state: &Cell<u64>| {
            if state.get() == 0 {
                state.set((SEED.fetch_add(1, Relaxed) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            }
            state.set(state.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
            let z = state.get();
            let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        RANDOM.try_with(next).unwrap_or(1)
    }
}
