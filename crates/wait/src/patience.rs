//! How long to spin before a sleep, and how long to sleep where a wake-up may be missed.

use crate::deadline::{Deadline, now_ns};
use uncontended_atomic::spin_loop;

/// Rounds of spinning before a sleep: about as long as falling asleep takes, so that a wait costs at most twice the
/// better choice.
const SPIN_ROUNDS: u32 = 6;

/// Looks after pauses, each pause twice as long as the last. Never where the process has one CPU: nobody could
/// make the condition hold meanwhile. Not at all under the checker, to which a look is a look.
pub(crate) fn spin<R>(mut ready: impl FnMut() -> Option<R>) -> Option<R> {
    let rounds = if cfg!(unc_model) || is_single_cpu() { 0 } else { SPIN_ROUNDS };
    (0..rounds).find_map(|round| {
        (0..1u32 << round).for_each(|_| spin_loop());
        ready()
    })
}

fn is_single_cpu() -> bool {
    use std::sync::OnceLock;
    static SINGLE: OnceLock<bool> = OnceLock::new();
    *SINGLE.get_or_init(|| std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1))
}

/// Bounded sleeps for where no barrier reaches the publishers: each up to twice as long as the last, from 50 µs to 16 ms,
/// shortened by up to half at random, so that sleepers do not all come back at once.
#[derive(Debug, Default)]
pub(crate) struct Naps {
    taken: u32,
}

const SHORTEST_NS: u64 = 50_000;
const LONGEST_NS: u64 = 16_000_000;

impl Naps {
    /// When the next nap ends, never after `deadline`.
    pub(crate) fn next(&mut self, deadline: Deadline) -> Deadline {
        let now = now_ns();
        let longest = (SHORTEST_NS << self.taken.min(16)).min(LONGEST_NS);
        self.taken += 1;
        // The last digits of the clock and where this thread's stack is tell sleepers apart.
        let seed = now ^ (&raw const *self).addr() as u64;
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let nap = longest - ((random * (longest / 2)) >> 32);
        Deadline::at_ns(now.saturating_add(nap)).min(deadline)
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;

    #[test]
    fn naps_grow_are_bounded_and_never_pass_the_deadline() {
        let mut naps = Naps::default();
        for taken in 0..40u32 {
            let before = now_ns();
            let nap = naps.next(Deadline::NEVER).as_ns() - before;
            let longest = (SHORTEST_NS << taken.min(16)).min(LONGEST_NS);
            assert!(nap >= longest / 2, "{taken}: {nap}");
        }
        let deadline = Deadline::at_ns(now_ns() + 1000);
        assert_eq!(naps.next(deadline), deadline);
    }

    #[test]
    fn spinning_is_bounded_and_stops_at_the_first_success() {
        if !is_single_cpu() {
            let mut looks = 0;
            let found = spin(|| {
                looks += 1;
                (looks == 2).then_some(7)
            });
            assert_eq!((found, looks), (Some(7), 2));
        }
        let mut looks = 0;
        assert_eq!(
            spin(|| {
                looks += 1;
                None::<()>
            }),
            None
        );
        assert!(looks == 0 || looks == SPIN_ROUNDS);
    }
}
