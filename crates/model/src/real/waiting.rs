//! How a run waits: rounds of loops, time-outs, spurious wakeups, and whether a wait can ever end.
//!
//! # Contract
//! The report states the bounds that apply here (`explorer`): rounds of waiting loops, and time-outs of a thread.

use super::core::{Core, Request, State, Stop};
use super::evaluation;
use super::fingerprint;
use super::graph::{Event, EventId, NOWHERE};
use super::op::{Effect, Op};
use super::probing::Patience;
use super::rounds::{EMPTY_ROUNDS, Seen, What};
use super::runtime;
use super::verdict::Bound;
use std::panic::Location as Site;

/// The least bound on rounds in a run that is drawn at random: there a loop may miss the newest write several times in
/// a row.
const DRAWN_ROUNDS: u32 = 32;

/// A waiting loop: the place of its hint, the number of events of its thread at the first one, and what a round of it
/// reads, by place and name of the location.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Waiting {
    pub(crate) hint: &'static Site<'static>,
    begun: usize,
    /// A round stores what it found.
    pub(crate) rewrites: bool,
    reads: Vec<(&'static Site<'static>, Option<(u8, u32)>)>,
    /// What the thread had found before, and how it had been started.
    path: u64,
}

impl Core {
    /// A hint that the thread waits for another thread's write. False: it is left waiting.
    pub(crate) fn hint(&mut self, thread: usize, site: &'static Site<'static>) -> bool {
        if let Some(sampler) = &mut self.sampler {
            sampler.hinted(thread);
        }
        let run = &mut self.threads[thread];
        run.hinted = true;
        let round = run.rounds.hint(site, run.executed, self.limits.rounds);
        if let Some(guide) = &mut self.guide {
            guide.rest(thread, round.unsuccessful > self.limits.rounds);
        }
        if round.is_endless {
            self.stop.get_or_insert(Stop::Bound(Bound::Spins(EMPTY_ROUNDS)));
            return false;
        }
        let goes_on = match self.alone {
            Some(alone) if alone == thread => self.goes_on_alone(thread, round.unsuccessful),
            _ => {
                let most = self.limits.rounds;
                let most = if self.sampler.is_some() { most.max(DRAWN_ROUNDS) } else { most };
                round.unsuccessful <= most || self.goes_on(thread)
            }
        };
        if !goes_on {
            self.threads[thread].state = State::Spinning;
        }
        goes_on
    }

    /// Whether a loop beyond the bound on rounds continues: it is known to give up by itself, or the graph or a plan
    /// holds more of its steps. One that stores what it finds is not followed further: each of its rounds is new to the
    /// others.
    fn goes_on(&mut self, thread: usize) -> bool {
        if self.threads[thread].rounds.is_followed() {
            return true;
        }
        let waiting = self.waiting_of(thread);
        let patience = waiting.as_ref().and_then(|waiting| self.probed.get(waiting));
        if let (Some(waiting), Some(&Patience::Until(count))) = (&waiting, patience)
            && !waiting.rewrites
        {
            self.threads[thread].rounds.follow(count);
            return true;
        }
        let is_held = self.threads[thread].executed < self.graph.threads[thread].len();
        let turns = self.guide.iter().flat_map(|guide| &guide.turns).map(|turn| turn.thread);
        let mut planned = self.script.iter().map(|step| step.thread).chain(turns);
        is_held || planned.any(|planned| planned == thread)
    }

    /// Whether a wait of the thread may still time out.
    pub(crate) fn may_time_out(&mut self, thread: usize) -> bool {
        let is_left = self.threads[thread].timeouts < self.limits.timeouts;
        self.out_of_time |= !is_left;
        is_left
    }

    /// A wait of the thread has timed out.
    pub(crate) fn timed_out(&mut self, thread: usize) {
        self.threads[thread].timeouts += 1;
    }

    /// Whether the thread may fail or wake spuriously once more.
    pub(crate) fn may_be_spurious(&mut self, thread: usize) -> bool {
        let run = &self.threads[thread];
        let may = run.spurious < self.limits.spurious;
        // A condition is evaluated until it holds, whatever fails in it.
        let counts = run.condition.is_none();
        self.unspurious |= counts && self.limits.spurious == 0;
        may && counts
    }

    /// The thread has failed or woken spuriously.
    pub(crate) fn was_spurious(&mut self, thread: usize) {
        self.threads[thread].spurious += 1;
    }

    /// The write that a read must read again in a round beyond the bound.
    pub(super) fn forced(
        &mut self,
        thread: usize,
        request: &Request,
        draft: &Event,
    ) -> Option<EventId> {
        let from = self.threads[thread].rounds.repeated(request.site, request.location)?;
        let at = request.location;
        let value = self.graph.value_of(at, from);
        let is_possible = matches!(request.op.effect(value), Some(Effect::Read(_)))
            && self.graph.floor(at, thread) <= self.graph.position(at, from)
            && (from == self.graph.newest(at)
                || self.growth.may_read(&mut self.graph, thread, draft, from));
        is_possible.then_some(from)
    }

    /// Whether a thread that waits at the end of the run would wait forever: there is nothing newer to read.
    pub(crate) fn is_stuck(&self, thread: usize) -> bool {
        let run = &self.threads[thread];
        match run.state {
            State::Finished | State::Ready | State::Impossible => false,
            State::Joining(child, _) => self.is_stuck(usize::from(child)),
            State::Spinning | State::Awaiting => self.is_up_to_date(thread),
            State::Blocked => !self.is_timed(thread) && self.is_unsatisfied(thread),
        }
    }

    /// Whether the round that the thread waits in found the newest values: in a loop, the last read of each location;
    /// in a condition, all reads, for the newest value read twice may decide otherwise than an older one and the
    /// newest. Of a loop that has ended no round, nothing is known; a condition that reads nothing finds nothing newer.
    pub(super) fn is_up_to_date(&self, thread: usize) -> bool {
        let run = &self.threads[thread];
        let round = run.rounds.last();
        let is_last = |at: usize, seen: &Seen| {
            round[at + 1..].iter().all(|later| later.location != seen.location)
        };
        let is_newest = |seen: &Seen| {
            let newest = self.graph.newest(seen.location);
            match seen.what {
                What::Read(write) => newest == write,
                // Other threads may have stored the same since.
                What::Rewritten(value, _) => self.graph.value_of(seen.location, newest) == value,
                What::Chosen(_) | What::Fenced => true,
            }
        };
        let mut reads = round.iter().enumerate().filter(|(_, seen)| seen.location != NOWHERE);
        let is_condition = run.state == State::Awaiting;
        let counts = |at: usize, seen: &Seen| is_condition || is_last(at, seen);
        let is_known = !round.is_empty() || is_condition;
        is_known && reads.all(|(at, seen)| !counts(at, seen) || is_newest(seen))
    }

    /// Whether a blocked run that ended with this thread waiting is continued by another run: the thread has something
    /// newer to find, or is on a path that another run takes differently.
    pub(crate) fn is_continued(&self, thread: usize) -> bool {
        let run = &self.threads[thread];
        match run.state {
            State::Finished | State::Ready => false,
            State::Impossible => true,
            State::Joining(child, _) => self.is_continued(usize::from(child)),
            State::Spinning | State::Awaiting => {
                !run.rounds.last().is_empty() && !self.is_up_to_date(thread)
            }
            State::Blocked => self.is_timed(thread) || !self.is_unsatisfied(thread),
        }
    }

    /// Whether a thread waits with a time-out, but may not time out any more.
    pub(crate) fn has_run_out(&self, thread: usize) -> bool {
        let run = &self.threads[thread];
        match run.state {
            State::Joining(child, _) => self.has_run_out(usize::from(child)),
            State::Blocked => {
                self.is_timed(thread)
                    && run.timeouts >= self.limits.timeouts
                    && self.is_unsatisfied(thread)
            }
            _ => false,
        }
    }

    fn is_timed(&self, thread: usize) -> bool {
        let event = self.graph.get(self.graph.last(thread));
        matches!(event.op, Op::AwaitCas { timed: true, .. })
    }

    /// Whether a blocked thread would wait on the newest value too.
    fn is_unsatisfied(&self, thread: usize) -> bool {
        let event = self.graph.get(self.graph.last(thread));
        let newest = self.graph.value_of(event.location, self.graph.newest(event.location));
        event.op.effect(newest) == Some(Effect::Blocked)
    }

    /// Threads left in a waiting loop, with what it is.
    pub(crate) fn spinning(&self) -> Vec<(usize, Waiting)> {
        let is_spinning = |&thread: &usize| self.threads[thread].state == State::Spinning;
        let spinning = (0..self.threads.len()).filter(is_spinning);
        spinning.filter_map(|thread| Some((thread, self.waiting_of(thread)?))).collect()
    }

    /// The loop of the thread's last hint.
    fn waiting_of(&self, thread: usize) -> Option<Waiting> {
        let name = |at: u32| self.graph.locations.get(at as usize).map(|found| found.name);
        let rounds = &self.threads[thread].rounds;
        let reads = rounds.last().iter().map(|seen| (seen.site, name(seen.location)));
        let hinted = rounds.hinted()?;
        let rewrites = rounds.last_rewrites();
        let (reads, path) = (
            reads.collect(),
            fingerprint::of_path(&self.graph, thread, self.threads[thread].executed),
        );
        Some(Waiting { hint: hinted.site, begun: hinted.begun, rewrites, reads, path })
    }
}

/// Whether a timed wait times out here: both cases are explored, as often as the bound on time-outs allows.
pub(crate) fn times_out(site: &'static Site<'static>) -> bool {
    evaluation::refuse("sleeps");
    let may = runtime::with_core(|core, thread| core.may_time_out(thread)).unwrap_or(false);
    let does = may && runtime::request_plain(Op::Choice { options: 2 }, site) == Some(1);
    if does {
        runtime::with_core(|core, thread| core.timed_out(thread));
    }
    does
}

/// Whether the running thread fails or wakes spuriously here: both cases are explored, if that was requested.
pub(crate) fn is_spurious(site: &'static Site<'static>) -> bool {
    let may = runtime::with_core(|core, thread| core.may_be_spurious(thread)).unwrap_or(false);
    let is = may && runtime::request_plain(Op::Choice { options: 2 }, site) == Some(1);
    if is {
        runtime::with_core(|core, thread| core.was_spurious(thread));
    }
    is
}
