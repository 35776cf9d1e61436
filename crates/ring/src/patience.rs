//! How long a side looks again and again before it sleeps.
//!
//! # Contract
//! To fall asleep and be woken costs some microseconds, in a virtual machine some tens. A side of a stream that sleeps after each
//! of its few values spends all its time so. But to spin for that long each time that nothing will come for a while is a
//! waste. So a side learns: a wait that ended while it spun, or soon after it fell asleep, lets it spin for [`LONGEST`] the next
//! time; one that did not halves that time, down to [`SHORTEST`]. Other threads of its CPU are let run meanwhile.
//!
//! Only the side itself has its patience: nothing here is shared.

use std::time::Duration;
use uncontended_atomic::{spin_loop, yield_now};
use uncontended_wait::Deadline;

const LONGEST: Duration = Duration::from_micros(50);
const SHORTEST: Duration = Duration::from_micros(1);
/// A look comes after twice as many hints as the last one did, at most after so many; then after the others had the CPU.
const HINTS: u32 = 8;

/// How long one side spins.
#[derive(Debug)]
pub(crate) struct Patience(Duration);

impl Default for Patience {
    fn default() -> Patience {
        Patience(LONGEST)
    }
}

impl Patience {
    /// Looks again and again until `ready`, or until patience or `deadline` has come to its end; then waits by `sleep`.
    /// Under the checker, to which a look is a look, it does not spin.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn wait<S>(
        &mut self,
        side: &mut S,
        ready: impl Fn(&mut S) -> bool,
        deadline: Deadline,
        sleep: impl FnOnce(&mut S),
    ) {
        if cfg!(unc_model) {
            return sleep(side);
        }
        let end = Deadline::after(self.0).min(deadline);
        let mut hints = 1;
        while !end.has_passed() {
            if hints <= HINTS {
                (0..hints).for_each(|_| spin_loop());
                hints *= 2;
            } else {
                yield_now();
            }
            if ready(side) {
                self.0 = LONGEST;
                return;
            }
        }
        let soon = Deadline::after(LONGEST);
        sleep(side);
        self.0 = if soon.has_passed() { (self.0 / 2).max(SHORTEST) } else { LONGEST };
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;

    #[test]
    fn patience_comes_and_goes() {
        let mut patience = Patience::default();
        for _ in 0..20 {
            let asleep = |_: &mut ()| std::thread::sleep(2 * LONGEST);
            patience.wait(&mut (), |()| false, Deadline::NEVER, asleep);
        }
        assert_eq!(patience.0, SHORTEST);
        // On a busy machine this side may not run again before its patience is at its end.
        let mut looks = 0;
        while patience.0 == SHORTEST {
            patience.wait(
                &mut looks,
                |looks| std::mem::replace(looks, 1) == 0,
                Deadline::NEVER,
                |_| {},
            );
        }
        assert_eq!(patience.0, LONGEST);
        let past = Deadline::at_ns(0);
        let mut slept = false;
        patience.wait(&mut slept, |_| unreachable!("no time to look"), past, |slept| *slept = true);
        assert!(slept);
    }
}
