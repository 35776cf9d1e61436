//! How a run waits: rounds of loops, time-outs, wake-ups without a cause, and whether a wait will ever end.
//!
//! # Contract
//! What is bounded here the report states (`explorer`): rounds of waiting loops, and time-outs of a thread.

use super::clock::Clock;
use super::core::{Core, Request, State};
use super::graph::EventId;
use super::op::{Effect, Op};
use super::rounds::What;
use std::panic::Location as Site;

impl Core {
    /// A hint that the thread waits for another one's write. False: it has waited as long as the bound allows.
    pub(crate) fn hint(&mut self, thread: usize, site: &'static Site<'static>) -> bool {
        let run = &mut self.threads[thread];
        let round = run.rounds.hint(site, self.limits.rounds);
        let goes_on = round.hints <= self.limits.spins
            && !(round.rewrites && round.unsuccessful > self.limits.rewriting_rounds);
        if !goes_on {
            run.state = State::Spinning;
        }
        goes_on
    }

    /// Whether a wait of the thread may still run out.
    pub(crate) fn may_time_out(&mut self, thread: usize) -> bool {
        let is_left = self.threads[thread].timeouts < self.limits.timeouts;
        self.out_of_time |= !is_left;
        is_left
    }

    /// A wait of the thread has run out.
    pub(crate) fn timed_out(&mut self, thread: usize) {
        self.threads[thread].timeouts += 1;
    }

    /// Whether the thread may fail or wake once more without a cause.
    pub(crate) fn may_be_spurious(&self, thread: usize) -> bool {
        self.threads[thread].spurious < self.limits.spurious
    }

    /// The thread has failed or woken without a cause.
    pub(crate) fn was_spurious(&mut self, thread: usize) {
        self.threads[thread].spurious += 1;
    }

    /// The write that a read must read again in a round beyond the bound.
    pub(super) fn forced(
        &mut self,
        thread: usize,
        request: &Request,
        known: &Clock,
    ) -> Option<EventId> {
        let from = self.threads[thread].rounds.repeated(request.site, request.location)?;
        let at = request.location;
        let value = self.graph.value_of(at, from);
        let position = self.graph.position(at, from);
        let is_possible = matches!(request.op.effect(value), Some(Effect::Read(_)))
            && self.graph.floor(at, known) <= position;
        self.threads[thread].rounds.has_news |= !is_possible;
        is_possible.then_some(from)
    }

    /// Whether a thread that waits at the end of the run would wait for ever: nothing newer is there to be seen.
    pub(crate) fn is_stuck(&self, thread: usize) -> bool {
        let run = &self.threads[thread];
        match run.state {
            State::Finished | State::Ready | State::Impossible => false,
            State::Joining(child) => self.is_stuck(usize::from(child)),
            State::Spinning | State::Awaiting => {
                run.rounds.last().iter().all(|seen| match seen.what {
                    What::Read(write) | What::Rewritten(_, write) => {
                        self.graph.newest(seen.location) == write
                    }
                    What::Chosen(_) => true,
                })
            }
            State::Blocked => {
                let event = self.graph.get(self.graph.last(thread));
                let newest = self.graph.value_of(event.location, self.graph.newest(event.location));
                let is_timed = matches!(event.op, Op::AwaitCas { timed: true, .. });
                !is_timed && event.op.effect(newest) == Some(Effect::Blocked)
            }
        }
    }

    /// Threads left in a waiting loop, with the place of its hint.
    pub(crate) fn spinning(&self) -> Vec<(usize, &'static Site<'static>)> {
        let threads =
            self.threads.iter().enumerate().filter(|(_, run)| run.state == State::Spinning);
        threads.filter_map(|(thread, run)| Some((thread, run.rounds.hinted_at()?))).collect()
    }
}
