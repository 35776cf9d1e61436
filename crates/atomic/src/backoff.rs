//! Waiting a little longer each time.

use crate::{spin_for_ns, yield_now};

/// Exponential backoff for a loop that lost a race or waits for somebody: first pauses of the processor, twice as long
/// each time, then yields of the CPU. Never sleeps: see the crate `wait` for that.
#[derive(Debug, Default)]
pub struct Backoff {
    step: u32,
}

/// The first pause; they double, and after so many rounds the thread yields.
const SHORTEST_NS: u32 = 20;
const SPIN_STEPS: u32 = 6;

impl Backoff {
    /// Begins with the shortest pause.
    pub const fn new() -> Backoff {
        Backoff { step: 0 }
    }

    /// Begins anew: what was waited for has come.
    pub fn reset(&mut self) {
        self.step = 0;
    }

    /// Lost a race against somebody who made progress: pauses, never yields.
    pub fn spin(&mut self) {
        spin_for_ns(SHORTEST_NS << self.step);
        self.step = (self.step + 1).min(SPIN_STEPS);
    }

    /// Waits for somebody who may need this CPU: pauses, later yields.
    pub fn snooze(&mut self) {
        if self.step < SPIN_STEPS {
            self.spin();
        } else {
            self.step = SPIN_STEPS + 1;
            yield_now();
        }
    }

    /// Whether pauses and a yield were of no use: time to sleep.
    pub fn is_exhausted(&self) -> bool {
        self.step > SPIN_STEPS
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;

    #[test]
    fn snoozing_ends_in_exhaustion_and_spinning_does_not() {
        let mut backoff = Backoff::new();
        for _ in 0..100 {
            backoff.spin();
        }
        assert!(!backoff.is_exhausted());
        backoff.snooze();
        assert!(backoff.is_exhausted());
        backoff.reset();
        assert!(!backoff.is_exhausted());
        for _ in 0..=SPIN_STEPS {
            assert!(!backoff.is_exhausted());
            backoff.snooze();
        }
        assert!(backoff.is_exhausted());
    }
}
