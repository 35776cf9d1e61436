//! One exploration: runs one execution after another, judges how each ended, and builds the report.

use super::core::{Core, Stop};
use super::explorer::Explorer;
use super::graph::Graph;
use super::growth::Growth;
use super::jobs::Shared;
use super::memory::Memory;
use super::results::Code;
use super::runtime::Run;
use super::schedule::{self, Step};
use super::turns::{self, Turns};
use super::verdict::{
    Bound, Diverged, Failure, Misfit, Report, Sampled, Verdict, Violation, hidden,
};
use super::{panics, shrink, symmetry, trace};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How the search continues after a run.
pub(super) enum Stepped {
    On,
    /// A bound ends it, if anything is left.
    Reached,
    Over(Box<Report>),
}

/// How a run ended, from the view of the search.
pub(super) enum Ended {
    /// It ended normally, with the number of what the code returned if it has ended.
    Whole(Option<usize>),
    Cut(Bound),
    /// The search ends with this: a violation, or a bound beyond which nothing can be said.
    Over(Box<Report>),
}

pub(super) struct Exploration {
    pub(super) bounds: Explorer,
    pub(super) name: String,
    pub(super) run: Rc<Run>,
    code: Code,
    /// How many executions returned the result of each number.
    pub(super) outcomes: BTreeMap<usize, u64>,
    pub(super) executions: u64,
    pub(super) blocked: u64,
    /// Runs abandoned at a bound.
    pub(super) cut: u64,
    /// Executions beyond the bound on preemptions or contexts.
    pub(super) beyond: u64,
    /// Reads that waiting loops had to repeat.
    pub(super) forced: u64,
    /// Runs that left a loop waiting beyond the bound on rounds.
    pub(super) left_waiting: u64,
    /// Runs in which a wait could no longer time out.
    pub(super) out_of_time: u64,
    /// The first execution that was run again and the newest one, with their results. Both are run again at the end, to
    /// find code that depends on hidden state.
    pub(super) samples: Vec<(Graph, Option<usize>)>,
    rerun: u64,
    /// Runs in which something could have failed or woken spuriously, but was not allowed to.
    pub(super) unspurious: u64,
    /// A run ended with threads that wait forever, except for one that might time out once more.
    pub(super) is_out_of_time: bool,
    begun: Instant,
    limit: Option<Duration>,
    /// The limits that keep executions out, and those that did before the search reached its bound.
    pub(super) bound: Option<Bound>,
    bound_before: Option<Bound>,
    /// The last run, if it is not run again for another reason.
    last: Option<(Graph, Option<usize>)>,
    /// The processes that share the search.
    pub(super) shared: Option<Rc<Shared>>,
    /// The fingerprint of the first run, if it is to be recorded.
    pub(super) first: u64,
    /// When the last checkpoint was written.
    pub(super) noted: Instant,
    /// When progress was last reported, if it is to be reported.
    told: Option<Instant>,
    /// The part of the search that is done, as a sum of shares.
    pub(super) done: f64,
    pub(super) sampled: Option<Sampled>,
    /// The sizes of groups of symmetric threads; the most of any run.
    symmetric: Vec<usize>,
    /// Statistics of the last run, if it was drawn at random.
    pub(super) steps: u64,
    /// Why no probability is stated for random runs.
    pub(super) unstated: Option<&'static str>,
    /// A loop that ran until a bound, and what to do about it.
    pub(super) looping: Option<String>,
}

impl Exploration {
    pub(super) fn new(bounds: &Explorer, name: String, code: Code) -> Exploration {
        let limits = bounds.limits();
        let mut growth = Growth::new(bounds.memory);
        growth.turns = bounds.turns;
        growth.symmetry = bounds.symmetry && bounds.turns.is_none() && bounds.sampling.is_none();
        let run = Run::new(Core::new(growth, limits));
        Exploration {
            bounds: bounds.clone(),
            name,
            run,
            code,
            outcomes: BTreeMap::new(),
            executions: 0,
            blocked: 0,
            cut: 0,
            beyond: 0,
            forced: 0,
            left_waiting: 0,
            out_of_time: 0,
            unspurious: 0,
            samples: Vec::new(),
            rerun: 0,
            is_out_of_time: false,
            begun: Instant::now(),
            limit: bounds.time,
            bound: None,
            bound_before: None,
            last: None,
            shared: None,
            first: 0,
            noted: Instant::now(),
            told: std::env::var_os("UNC_PROGRESS").map(|_| Instant::now()),
            done: 0.0,
            sampled: None,
            symmetric: Vec::new(),
            steps: 0,
            unstated: None,
            looping: None,
        }
    }

    pub(super) fn run_as_asked(&mut self) -> Result<Report, Diverged> {
        match (self.bounds.sampling, self.bounds.processes()) {
            (Some(sampling), _) => self.run_samples(sampling),
            (None, 1) => self.run(),
            (None, processes) => self.run_shared(processes),
        }
    }

    fn run(&mut self) -> Result<Report, Diverged> {
        let mut is_left = self.resume()?;
        while is_left {
            match self.step()? {
                Stepped::On => is_left = self.advance(),
                Stepped::Reached => {
                    if !self.advance() {
                        self.bound = self.bound_before;
                        is_left = false;
                    }
                    break;
                }
                Stepped::Over(report) => {
                    self.forget_checkpoint();
                    return Ok(*report);
                }
            }
        }
        if !is_left {
            self.forget_checkpoint();
        }
        self.finish()
    }

    /// Makes the next graph current. False: none is left.
    pub(super) fn advance(&mut self) -> bool {
        let mut core = self.run.core.borrow_mut();
        let core = &mut *core;
        core.growth.next(&mut core.graph)
    }

    /// Runs the current graph and checks the bounds.
    pub(super) fn step(&mut self) -> Result<Stepped, Diverged> {
        let graph = std::mem::take(&mut self.run.core.borrow_mut().graph);
        let result = match self.run_one(graph)? {
            Ended::Whole(result) => Some(result),
            Ended::Cut(hit) => {
                self.bound = Some(hit);
                None
            }
            Ended::Over(report) => return Ok(Stepped::Over(report)),
        };
        let reached = self.reached();
        self.tell_progress();
        self.done += self.run.core.borrow().growth.share;
        self.note_checkpoint(self.bound, reached.is_some())?;
        let core = self.run.core.borrow();
        if reached.is_some() || !core.growth.is_left() {
            self.last = result.map(|result| (core.graph.clone(), result));
        }
        if reached.is_none() {
            return Ok(Stepped::On);
        }
        self.bound_before = std::mem::replace(&mut self.bound, reached);
        Ok(Stepped::Reached)
    }

    pub(super) fn finish(&mut self) -> Result<Report, Diverged> {
        self.done += self.run.core.borrow().growth.barren;
        self.samples.extend(self.last.take());
        self.repeat_samples()?;
        Ok(self.report(self.bound.map_or(Verdict::Holds, Verdict::Unknown)))
    }

    /// Runs `graph` and what follows from it, and records the run.
    pub(super) fn run_one(&mut self, graph: Graph) -> Result<Ended, Diverged> {
        let result = self.execute_patiently(graph);
        let mut core = self.run.core.borrow_mut();
        let stop = core.stop.take();
        if let Some(sampler) = core.sampler.take() {
            self.steps = sampler.steps;
            self.unstated = self.unstated.or(sampler.unstated);
        }
        drop(core);
        let over = |report| Ended::Over(Box::new(report));
        match stop {
            Some(Stop::Diverged(why) | Stop::Misfit(why)) => return Err(Diverged(why)),
            Some(Stop::Failure(failure)) => return self.violated(failure).map(over),
            Some(Stop::Bound(hit @ Bound::Waits(_))) => {
                return Ok(over(self.report(Verdict::Unknown(hit))));
            }
            Some(Stop::Bound(hit)) => {
                self.cut += 1;
                if let Bound::Events(_) | Bound::Spins(_) = hit {
                    let looping = self.run.core.borrow().looping(hit);
                    self.looping = self.looping.take().or(looping);
                }
                return Ok(Ended::Cut(hit));
            }
            None => {}
        }
        let mut ended = Ended::Whole(result);
        if let Some(hit) = self.keeps_out().or_else(|| self.gives_up_later()) {
            self.cut += 1;
            ended = Ended::Cut(hit);
        } else if let Some(failure) = self.count(result) {
            return self.violated(failure).map(over);
        }
        self.sample(result)?;
        Ok(ended)
    }

    /// Reports progress once a second, if `UNC_PROGRESS` is set.
    fn tell_progress(&mut self) {
        if self.told.is_some_and(|told| told.elapsed() >= Duration::from_secs(1)) {
            self.told = Some(Instant::now());
            let growth = &self.run.core.borrow().growth;
            let done = 100.0 * (self.done + growth.barren);
            let (name, executions, blocked) = (&self.name, self.executions, self.blocked);
            eprintln!(
                "{name}: {executions} executions, {blocked} blocked, {:.0} s, {done:.3} % of the search if its branches \
                 are equally large",
                self.begun.elapsed().as_secs_f64()
            );
        }
    }

    /// The bound that the search has reached.
    fn reached(&self) -> Option<Bound> {
        let own = self.executions + self.cut + self.beyond;
        let all = self.shared.as_ref().map_or(own, |shared| shared.count_run());
        if all >= self.bounds.executions {
            return Some(Bound::Executions(self.bounds.executions));
        }
        let limit = self.limit.filter(|&limit| self.begun.elapsed() >= limit)?;
        Some(Bound::Time(limit))
    }

    /// Replays the execution of a schedule.
    pub(super) fn replay(&mut self, steps: VecDeque<Step>) -> Result<Report, Misfit> {
        {
            let mut core = self.run.core.borrow_mut();
            core.growth.single = true;
            core.script = steps;
        }
        let result = self.execute_patiently(Graph::default());
        let (stop, left) = {
            let mut core = self.run.core.borrow_mut();
            (core.stop.take(), core.script.len())
        };
        let failure = match stop {
            Some(Stop::Misfit(why) | Stop::Diverged(why)) => return Err(Misfit(why)),
            Some(Stop::Bound(bound)) => return Ok(self.report(Verdict::Unknown(bound))),
            Some(Stop::Failure(failure)) => Some(failure),
            None if left > 0 => return Err(Misfit(format!("it continues for {left} steps"))),
            None => match self.gives_up_later() {
                Some(bound) => return Ok(self.report(Verdict::Unknown(bound))),
                None => self.count(result),
            },
        };
        let Some(failure) = failure else {
            return Ok(self.report(Verdict::Unknown(Bound::Replayed)));
        };
        let violation = self.drawn(Violation { replayed: true, ..self.violation(failure) });
        Ok(self.report(Verdict::Violated(Box::new(violation))))
    }

    /// The violation, with a page if one was requested.
    fn drawn(&self, mut violation: Violation) -> Violation {
        let wanted = || std::env::var_os("UNC_HTML").map(PathBuf::from);
        if let Some(folder) = self.bounds.html.clone().or_else(wanted) {
            violation.write_page(&folder);
        }
        violation
    }

    /// The run just made, which broke a rule.
    fn violation(&self, failure: Failure) -> Violation {
        let core = self.run.core.borrow();
        let schedule = schedule::text(&self.name, &schedule::steps(&core.graph, &core.log));
        let all = turns::whole(&core.graph);
        let is_sc = self.bounds.memory == Memory::Sc;
        let least = self
            .bounds
            .turns
            .and_then(|bound| turns::fewest(&core.graph, &all, is_sc, bound.unbounded()));
        let counted =
            |bound: fn(Turns) -> Option<u32>| self.bounds.turns.and_then(bound).and(least);
        Violation {
            preemptions: counted(Turns::preemptions),
            contexts: counted(Turns::contexts),
            trace: trace::diagram(&core, &failure),
            failure,
            after: self.executions,
            schedule,
            shrunk: None,
            replayed: false,
            page: None,
        }
    }

    /// Repeats the last run if its number is a power of two, and keeps it as a sample.
    fn sample(&mut self, result: Option<usize>) -> Result<(), Diverged> {
        self.rerun += 1;
        if self.rerun.is_power_of_two() {
            let graph = self.run.core.borrow().graph.clone();
            self.repeat(graph.clone(), result)?;
            self.samples.truncate(1);
            self.samples.push((graph, result));
        }
        Ok(())
    }

    pub(super) fn report(&self, verdict: Verdict) -> Report {
        let verdict = match verdict {
            Verdict::Holds if self.is_out_of_time => {
                Verdict::Unknown(Bound::Timeouts(self.bounds.timeouts))
            }
            Verdict::Holds if self.executions == 0 => {
                let contexts = self.bounds.turns.and_then(Turns::contexts);
                Verdict::Unknown(contexts.map_or(Bound::Assumptions, Bound::Contexts))
            }
            verdict => verdict,
        };
        let done = match verdict {
            Verdict::Unknown(Bound::Executions(_) | Bound::Time(_)) => Some(self.done),
            _ => None,
        };
        let is_bounded = self.forced + self.left_waiting > 0;
        Report {
            verdict,
            executions: self.executions,
            blocked: self.blocked,
            rounds: is_bounded.then_some(self.bounds.rounds),
            forced: self.forced,
            left_waiting: self.left_waiting,
            spins: (self.left_waiting > 0).then_some(self.bounds.limits().spins),
            timeouts: (self.out_of_time > 0).then_some(self.bounds.timeouts),
            preemptions: self.bounds.turns.and_then(Turns::preemptions),
            contexts: self.bounds.turns.and_then(Turns::contexts),
            spurious: (self.bounds.spurious > 0 || self.unspurious > 0)
                .then_some(self.bounds.spurious),
            beyond: self.beyond,
            sampled: self.sampled,
            symmetric: self.symmetric.clone(),
            done,
            looping: self.looping.clone(),
        }
    }

    /// Runs `graph` and what follows from it; the number of what the code returned, if it did.
    pub(super) fn execute(&self, graph: Graph) -> Option<usize> {
        let body = self.code.body();
        self.run.execute(graph, Box::new(move || body()));
        self.code.result()
    }

    /// Records a run that was not ended early, and returns what is wrong with its end.
    fn count(&mut self, result: Option<usize>) -> Option<Failure> {
        let core = self.run.core.borrow();
        let is_beyond = self.bounds.turns.is_some_and(|bound| {
            let all = turns::whole(&core.graph);
            let is_sc = self.bounds.memory == Memory::Sc;
            turns::fewest(&core.graph, &all, is_sc, bound).is_none()
        });
        self.forced += core.graph.forced as u64;
        self.left_waiting += u64::from(!core.spinning().is_empty());
        self.out_of_time += u64::from(core.out_of_time);
        self.unspurious += u64::from(core.unspurious);
        let groups = symmetry::groups(&core.graph);
        if groups.len() > self.symmetric.len() {
            self.symmetric = groups.iter().map(Vec::len).collect();
        }
        let failure = core.ending(self.bounds.leaks);
        if failure.is_some() {
            return failure;
        }
        let waiting: Vec<usize> = core.waiting().collect();
        if waiting.is_empty() {
            if is_beyond {
                self.beyond += 1;
                return None;
            }
            self.executions += 1;
            let result = result.expect("thread 0 has ended");
            *self.outcomes.entry(result).or_insert(0) += 1;
            return None;
        }
        let is_left = |&thread: &usize| core.is_stuck(thread) || core.has_run_out(thread);
        self.is_out_of_time |= waiting.iter().all(is_left);
        debug_assert!(
            waiting.iter().any(|&thread| core.is_continued(thread)),
            "a run that is blocked is continued by another run"
        );
        self.blocked += 1;
        None
    }

    pub(super) fn repeat_samples(&mut self) -> Result<(), Diverged> {
        let samples = std::mem::take(&mut self.samples);
        samples.into_iter().try_for_each(|(graph, result)| self.repeat(graph, result))
    }

    /// Repeats an execution: it must be the same, hold again, and return the same result.
    fn repeat(&mut self, graph: Graph, before: Option<usize>) -> Result<(), Diverged> {
        let events = graph.len();
        self.run.core.borrow_mut().growth.single = true;
        let result = self.execute(graph);
        let mut core = self.run.core.borrow_mut();
        core.growth.single = false;
        let stop = core.stop.take();
        // A run of as many events as the bound allows: a thread that waits asks again once all of them are there.
        let is_at_bound = matches!(stop, Some(Stop::Bound(Bound::Events(_))));
        match stop.filter(|_| !(is_at_bound && before.is_none())) {
            None if result == before && core.graph.len() == events => {
                let is_whole = core.waiting().next().is_none();
                drop(core);
                result.filter(|_| is_whole).map_or(Ok(()), |result| self.run_twins(result))
            }
            Some(Stop::Diverged(why)) => Err(Diverged(why)),
            Some(Stop::Failure(failure)) => Err(Diverged(hidden(format!(
                "{failure}; but the same execution broke no rule before"
            )))),
            _ => Err(Diverged(hidden("an execution behaves differently when it is run again"))),
        }
    }

    /// Confirms a violation by repeating it and the first execution, which broke no rule; then reports it.
    fn violated(&mut self, failure: Failure) -> Result<Report, Diverged> {
        let violation = self.violation(failure);
        let graph = self.run.core.borrow().graph.clone();
        let result = panics::quietly(|| self.execute(graph));
        let stop = self.run.core.borrow_mut().stop.take();
        let again = match stop {
            Some(Stop::Failure(again)) => Some(again),
            Some(Stop::Diverged(why)) => return Err(Diverged(why)),
            _ => self.count(result),
        };
        let kind = std::mem::discriminant(&violation.failure);
        if again.is_none_or(|again| std::mem::discriminant(&again) != kind) {
            let why = "but the same execution breaks no rule when it is run again";
            return Err(Diverged(hidden(format!("{}; {why}", violation.failure))));
        }
        self.repeat_samples()?;
        let shrunk = self.shrunk(violation);
        let violation = self.drawn(shrunk);
        Ok(self.report(Verdict::Violated(Box::new(violation))))
    }

    /// The same violation, shrunk.
    fn shrunk(&mut self, violation: Violation) -> Violation {
        if self.bounds.shrinks == 0 {
            return violation;
        }
        let execute = || {
            self.execute(Graph::default());
        };
        let (core, most) = (&self.run.core, self.bounds.shrinks as usize);
        let found =
            panics::quietly(|| shrink::shrink(core, &execute, self.bounds.leaks, &violation, most));
        match found {
            Some((failure, shrunk)) => {
                let shrunk = Some(shrunk);
                let after = violation.after;
                let least = Violation { after, shrunk, ..self.violation(failure) };
                // Its loops have not been followed yet.
                let gives_up = self.learns_patience()
                    || self.keeps_out().or_else(|| self.gives_up_later()).is_some();
                if gives_up { violation } else { least }
            }
            None => violation,
        }
    }
}
