//! Loops that are left waiting at a bound, followed further: whether one gives up by itself, later than is explored.
//!
//! # Contract
//! A loop that a run left waiting is run again from what led to it, alone: no other thread moves, so nothing is news.
//! If it goes round for `PROBED_ROUNDS` more, it waits. If it does not, what it does then was not explored, and the run
//! counts as cut at [`Bound::Spins`]; likewise where that cannot be told. This is found out once for each loop, place
//! in its thread where it began, and locations that it reads.

use super::core::Limits;
use super::exploration::Exploration;
use super::explorer::MOST_EVENTS;
use super::panics;
use super::verdict::Bound;
use super::waiting::Waiting;

/// Rounds for which a loop is followed.
pub(super) const PROBED_ROUNDS: u32 = 200;

/// A loop that was left waiting, and whether it continues for that many rounds.
pub(super) struct Probe {
    waiting: Waiting,
    waits: bool,
}

impl<T: Ord + 'static> Exploration<T> {
    /// The bound that keeps out what a loop does which this run left waiting, if it would have given up by itself.
    pub(super) fn gives_up_later(&mut self) -> Option<Bound> {
        let spinning = self.run.core.borrow().spinning();
        let mut bound = None;
        for (thread, waiting) in spinning {
            let known = self.probed.iter().find(|probe| probe.waiting == waiting);
            let waits = known.map(|probe| probe.waits).unwrap_or_else(|| {
                let waits = self.waits_on(thread);
                self.probed.push(Probe { waiting: waiting.clone(), waits });
                waits
            });
            if !waits {
                let (most, which) = if waiting.rewrites {
                    (self.bounds.rounds, "rounds")
                } else {
                    (self.bounds.limits().spins, "spins")
                };
                self.looping.get_or_insert_with(|| {
                    format!(
                        "thread {thread} waits at {} and gives up later, and what it does then was not explored \
                         (`Explorer::{which}` lets it wait for more rounds)",
                        waiting.hint
                    )
                });
                bound = Some(Bound::Spins(most));
            }
        }
        bound
    }

    /// Follows the loop of `thread`, then comes back to where the run was.
    fn waits_on(&mut self, thread: usize) -> bool {
        let (whole, led) = {
            let mut core = self.run.core.borrow_mut();
            let spins = core.limits.spins + PROBED_ROUNDS;
            core.limits = Limits {
                events: MOST_EVENTS,
                rewriting_rounds: u32::MAX,
                spins,
                ..self.bounds.limits()
            };
            (core.growth.single, core.alone) = (true, Some(thread));
            let last = core.graph.last(thread);
            let mut led = core.graph.clone();
            led.keep(&core.graph.clocks(last).prefix);
            (core.graph.clone(), led)
        };
        panics::quietly(|| self.execute(led));
        let waits = {
            let mut core = self.run.core.borrow_mut();
            let waits = core.spinning().iter().any(|(other, _)| *other == thread);
            (core.growth.single, core.alone) = (false, None);
            core.limits = self.bounds.limits();
            waits
        };
        self.execute(whole);
        waits
    }
}
