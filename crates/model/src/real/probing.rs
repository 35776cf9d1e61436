//! Probing: follows loops that a run left waiting, to see whether one gives up by itself later.
//!
//! # Contract
//! A loop that a run left waiting is run again from the events that led to it, alone: no other thread moves, so nothing
//! changes. If it continues for [`Explorer::spins`](super::Explorer::spins) rounds that are all the same, it is taken
//! to wait forever. If it does anything else before that, it gives up: the run is made again and follows the loop that
//! far. If it can't be followed, or gives up but stores what it finds in each round, the run counts as cut at
//! [`Bound::Spins`]. Each loop is probed once per place, start in its thread, set of locations it reads, and path of
//! its thread. Before a violation rests on loops that never give up, they are followed `FURTHER` times as far, or as
//! far as events allow: if one gives up by then, only a bound speaks against the program, and the run counts as cut.

use super::core::{Core, Limits, Stop};
use super::exploration::Exploration;
use super::explorer::MOST_EVENTS;
use super::graph::Graph;
use super::panics;
use super::rounds::Hinted;
use super::verdict::{Bound, Failure, hidden};
use super::waiting::Waiting;

/// Runs of one execution that may each find a loop to follow.
const MOST_AGAIN: u32 = 1_000;

/// How many times as far as the bound says a loop is followed before a violation rests on it.
const FURTHER: u32 = 50;

/// How long a loop waits if nothing changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Patience {
    /// As long as the bound on it says.
    Endless,
    /// It does something else before it has made this many stretches (see `rounds`).
    Until(u32),
    /// It gives up, but only beyond the bound, after about this many stretches.
    Later(u32),
    /// A bound kept it from being followed far enough.
    Unknown,
}

/// The loop that is being probed.
#[derive(Debug)]
pub(crate) struct Probe {
    from: Hinted,
    /// The events of its thread by then.
    executed: usize,
    /// The stretches that it has made so far.
    count: u32,
    patience: Option<Patience>,
}

impl Core {
    /// Whether a thread that is being probed continues after a hint that ended a round of any of its loops.
    pub(super) fn goes_on_alone(&mut self, thread: usize, unsuccessful: u32) -> bool {
        let run = &self.threads[thread];
        let (Some(probe), Some(hinted)) = (&mut self.probe, run.rounds.hinted()) else {
            return false;
        };
        if run.executed < probe.executed || probe.patience.is_some() {
            return true;
        }
        if hinted.site != probe.from.site {
            // A loop around it or inside it, which waits as long, or one after it.
            if unsuccessful < 2 * self.limits.spins {
                return true;
            }
            probe.patience = Some(Patience::Until(probe.count + 1));
            return false;
        }
        probe.patience = match run.rounds.repeats_since(&probe.from) {
            None => Some(Patience::Until(hinted.count.max(probe.count + 1))),
            Some(rounds) if rounds >= self.limits.spins => Some(Patience::Endless),
            Some(_) => None,
        };
        probe.count = hinted.count;
        probe.patience.is_none()
    }
}

impl Exploration {
    /// Runs `graph` and what follows from it, and follows each loop that gives up by itself.
    pub(super) fn execute_patiently(&mut self, graph: Graph) -> Option<usize> {
        let (mark, sampler, script) = {
            let core = self.run.core.borrow();
            let mark = (graph.next_stamp, core.growth.mark());
            (mark, core.sampler.clone(), core.script.clone())
        };
        let mut result = self.execute(graph);
        for again in 0.. {
            if !self.learns_patience() {
                break;
            }
            let mut core = self.run.core.borrow_mut();
            let mut graph = std::mem::take(&mut core.graph);
            graph.cut_back(mark.0);
            core.growth.forget_since(mark.1);
            (core.sampler, core.script) = (sampler.clone(), script.clone());
            drop(core);
            result = self.execute(graph);
            if again == MOST_AGAIN {
                let why = hidden("a loop that waits differs whenever the execution is run again");
                self.run.core.borrow_mut().stop.get_or_insert(Stop::Diverged(why));
            }
        }
        result
    }

    /// Probes the loops that this run left waiting and that are not known. True: one of them gives up, and is followed
    /// if the run is made again. Otherwise leaves the run as it was.
    pub(super) fn learns_patience(&mut self) -> bool {
        let (unknown, whole, sampler) = {
            let mut core = self.run.core.borrow_mut();
            if core.stop.is_some() || !core.script.is_empty() {
                return false;
            }
            let mut unknown = core.spinning();
            unknown.retain(|(_, waiting)| !core.probed.contains_key(waiting));
            if unknown.is_empty() {
                return false;
            }
            (unknown, core.graph.clone(), core.sampler.take())
        };
        let from = |&(thread, _): &(usize, _)| {
            let core = self.run.core.borrow();
            let run = &core.threads[thread];
            Some((run.rounds.hinted()?, run.executed))
        };
        let begins: Vec<_> = unknown.iter().map(from).collect();
        let mut gives_up = false;
        for ((thread, waiting), from) in unknown.into_iter().zip(begins) {
            let Some((from, executed)) = from else { continue };
            let count = from.count;
            let probe = Probe { from, executed, count, patience: None };
            let patience = self.probe(thread, &whole, probe, 1);
            gives_up |= matches!(patience, Patience::Until(_)) && !waiting.rewrites;
            self.run.core.borrow_mut().probed.insert(waiting, patience);
        }
        if gives_up {
            self.run.core.borrow_mut().graph = whole;
        } else {
            self.execute(whole);
            self.run.core.borrow_mut().sampler = sampler;
        }
        gives_up
    }

    /// The bound that this run has hit if it ended in a livelock and one of its loops gives up later. Leaves the run as
    /// it was.
    pub(super) fn gives_up_later(&mut self) -> Option<Bound> {
        let (spinning, whole) = {
            let core = self.run.core.borrow();
            let spinning = core.spinning();
            if spinning.is_empty() {
                return None;
            }
            let Some(Failure::Livelock { .. }) = core.ending(self.bounds.leaks) else {
                return None;
            };
            let hinted = |(thread, waiting): (usize, Waiting)| {
                let run = &core.threads[thread];
                Some((thread, waiting, run.rounds.hinted()?, run.executed))
            };
            let spinning: Vec<_> = spinning.into_iter().filter_map(hinted).collect();
            (spinning, core.graph.clone())
        };
        for (thread, waiting, from, executed) in spinning {
            let count = from.count;
            let probe = Probe { from, executed, count, patience: None };
            if let Patience::Until(count) = self.probe(thread, &whole, probe, FURTHER) {
                self.run.core.borrow_mut().probed.insert(waiting, Patience::Later(count));
            }
        }
        self.execute(whole);
        self.keeps_out()
    }

    /// Follows the loop of `thread` alone, this many times as far as the bound says.
    fn probe(&self, thread: usize, whole: &Graph, probe: Probe, times: u32) -> Patience {
        let (led, single) = {
            let mut core = self.run.core.borrow_mut();
            let limits = self.bounds.limits();
            let spins = limits.spins.saturating_mul(times);
            core.limits = Limits { events: MOST_EVENTS, spins, ..limits };
            (core.alone, core.probe) = (Some(thread), Some(probe));
            let mut led = whole.clone();
            led.keep(&whole.clocks(whole.last(thread)).prefix);
            (led, std::mem::replace(&mut core.growth.single, true))
        };
        panics::quietly(|| self.execute(led));
        let mut core = self.run.core.borrow_mut();
        core.growth.single = single;
        core.alone = None;
        core.limits = self.bounds.limits();
        let stop = core.stop.take();
        let Some(Probe { count, patience, .. }) = core.probe.take() else {
            return Patience::Unknown;
        };
        match (patience, stop) {
            (Some(patience), _) => patience,
            (None, None | Some(Stop::Failure(_))) => Patience::Until(count + 1),
            (None, Some(_)) => Patience::Unknown,
        }
    }

    /// The bound that keeps out what a loop left waiting by this run would do later.
    pub(super) fn keeps_out(&mut self) -> Option<Bound> {
        let core = self.run.core.borrow();
        core.spinning().into_iter().find_map(|(thread, waiting)| {
            let (bound, why) = match core.probed.get(&waiting)? {
                Patience::Endless => return None,
                Patience::Until(_) => (
                    self.bounds.rounds,
                    "gives up later; what it does then was not explored, because each round stores what it found (raise \
                     `Explorer::rounds`)"
                        .to_owned(),
                ),
                Patience::Later(count) => (
                    core.limits.spins,
                    format!(
                        "gives up after {count} rounds or fewer; what it does then was not explored (raise \
                         `Explorer::spins` to {count}, and `Explorer::events` with it, or let it give up sooner)"
                    ),
                ),
                Patience::Unknown => (
                    core.limits.spins,
                    "could not be followed to see whether it gives up (lower `Explorer::spins`)".to_owned(),
                ),
            };
            let hint = waiting.hint;
            self.looping.get_or_insert_with(|| format!("thread {thread} waits at {hint} and {why}"));
            Some(Bound::Spins(bound))
        })
    }
}
