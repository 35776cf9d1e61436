//! Spinning for a time, with the processor's hint for wait loops. A hint lasts a few nanoseconds on one processor and
//! dozens on another, so it is measured with the clock.
//!
//! Without the feature `std` there is no clock, and a hint counts as long as on most processors.
//!
//! # State
//! The duration of a hint, measured at first use.

use crate::spin_loop;

/// Spins for about `ns` nanoseconds with the processor's hint: at least one hint, without reading the clock. It is
/// meant for times too short to read the clock in; longer spins should read it. Under the checker, where no time
/// passes, it is one hint.
#[inline]
pub fn spin_for_ns(ns: u32) {
    (0..measured::hints(ns)).for_each(|_| spin_loop());
}

#[cfg(any(miri, unc_model))]
mod measured {
    pub(super) fn hints(_: u32) -> u32 {
        1
    }
}

#[cfg(not(any(feature = "std", miri, unc_model)))]
mod measured {
    /// Processors take from a few to about 45.
    const HINT_NS: u32 = 20;

    pub(super) fn hints(ns: u32) -> u32 {
        (ns / HINT_NS).max(1)
    }
}

#[cfg(all(feature = "std", not(any(miri, unc_model))))]
mod measured {
    use crate::AtomicU32;
    use crate::Ordering::Relaxed;
    use uncontended_sys::clock::monotonic_ns;

    /// Hints per measurement, and the number of measurements. The shortest counts, because it was not disturbed.
    const HINTS: u32 = 256;
    const ROUNDS: usize = 4;

    /// Picoseconds per hint; 0 until it is measured.
    static HINT_PS: AtomicU32 = AtomicU32::new(0);

    #[inline]
    pub(super) fn hints(ns: u32) -> u32 {
        // Relaxed: it is a plain number. Two threads that measure at once find about the same.
        match HINT_PS.load(Relaxed) {
            0 => fit(ns, measure()),
            hint_ps => fit(ns, hint_ps),
        }
    }

    /// The number of hints closest to `ns`, at least one.
    fn fit(ns: u32, hint_ps: u32) -> u32 {
        let (wanted_ps, hint_ps) = (u64::from(ns) * 1000, u64::from(hint_ps));
        u32::try_from((wanted_ps + hint_ps / 2) / hint_ps).unwrap_or(u32::MAX).max(1)
    }

    #[cold]
    fn measure() -> u32 {
        let round = || {
            let start = monotonic_ns();
            (0..HINTS).for_each(|_| core::hint::spin_loop());
            monotonic_ns() - start
        };
        let least_ns = (0..ROUNDS).map(|_| round()).min().unwrap_or(0);
        let hint_ps = u32::try_from(least_ns * 1000 / u64::from(HINTS)).unwrap_or(u32::MAX).max(1);
        HINT_PS.store(hint_ps, Relaxed);
        hint_ps
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn as_many_hints_as_come_closest_and_never_none() {
            assert_eq!((fit(200, 26_000), fit(200, 44_000), fit(200, 4_000)), (8, 5, 50));
            assert_eq!(
                (fit(0, 26_000), fit(5, 26_000), fit(39, 26_000), fit(40, 26_000)),
                (1, 1, 2, 2)
            );
            assert_eq!((fit(u32::MAX, 1), fit(1, u32::MAX)), (u32::MAX, 1));
        }

        #[test]
        fn a_hint_is_measured_once_and_then_known() {
            let first = hints(1_000_000);
            let known = HINT_PS.load(Relaxed);
            assert!(known > 0 && first >= 1);
            assert_eq!((hints(1_000_000), HINT_PS.load(Relaxed)), (fit(1_000_000, known), known));
        }
    }
}
