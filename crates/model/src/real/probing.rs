//! Probing: runs loops that were left waiting at a bound for more rounds, to see whether one gives up by itself later.
//!
//! # Contract
//! A loop that a run left waiting is run again from the events that led to it, alone: no other thread moves, so nothing
//! changes. If it continues for `PROBED_ROUNDS` more rounds, it waits. If it does not, what it does then was not
//! explored, and the run counts as cut at [`Bound::Spins`]; likewise if neither can be established. Each loop is probed
//! once per place, start in its thread, set of locations it reads, and path of its thread.

use super::core::Limits;
use super::exploration::Exploration;
use super::explorer::MOST_EVENTS;
use super::panics;
use super::verdict::Bound;
use super::waiting::Waiting;

/// Rounds for which a loop is probed.
pub(super) const PROBED_ROUNDS: u32 = 200;

/// A loop that was left waiting, and whether it continues for that many rounds.
pub(super) struct Probe {
    waiting: Waiting,
    waits: bool,
}

impl<T: Ord + 'static> Exploration<T> {
    /// The bound that keeps out what a loop left waiting by this run would do, if it would have given up by itself.
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
                        "thread {thread} waits at {} and gives up later; what it does then was not explored (raise \
                         `Explorer::{which}` to let it wait for more rounds)",
                        waiting.hint
                    )
                });
                bound = Some(Bound::Spins(most));
            }
        }
        bound
    }

    /// Probes the loop of `thread`, then restores the run.
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
