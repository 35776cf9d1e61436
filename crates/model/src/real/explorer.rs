//! The door: explore every execution of a closure.

use super::core::{Core, Limits, Stop};
use super::graph::Graph;
use super::growth::Growth;
use super::memory::Memory;
use super::runtime::Run;
use super::schedule::{self, Step};
use super::verdict::{Bound, Diverged, Failure, Misfit, Report, Verdict, Violation};
use super::waiting::Waiting;
use super::{panics, shrink, trace};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::panic::Location as Site;
use std::path::PathBuf;
use std::rc::Rc;

/// Events that one execution may have at most, whatever is asked for.
const MOST_EVENTS: usize = 60_000;

/// Rounds for which a waiting loop is followed once, to see whether it gives up by itself.
const PROBED_SPINS: u32 = 200;

/// How to explore.
#[derive(Clone, Debug)]
pub struct Explorer {
    memory: Memory,
    executions: u64,
    events: usize,
    rounds: u32,
    spins: u32,
    timeouts: u32,
    spurious: u32,
    leaks: bool,
    shrinks: u32,
    html: Option<PathBuf>,
}

/// Runs in which a violation is made smaller.
const SHRINKS: u32 = 1_000;

/// Failures and wake-ups without a cause that `Explorer::spurious` allows each thread.
const SPURIOUS: u32 = 2;

impl Explorer {
    /// Explores under `memory`, with these bounds: a million executions, 2,000 events in one, 3 rounds of a waiting
    /// loop explored in full, 32 rounds until it is taken to wait for ever, 3 time-outs of each thread, nothing
    /// spurious.
    pub fn new(memory: Memory) -> Explorer {
        Explorer {
            memory,
            executions: 1_000_000,
            events: 2_000,
            rounds: 3,
            spins: 32,
            timeouts: 3,
            spurious: 0,
            leaks: false,
            shrinks: SHRINKS,
            html: None,
        }
    }

    /// Stops after so many executions, cut ones included, with [`Bound::Executions`].
    #[must_use]
    pub fn executions(mut self, most: u64) -> Explorer {
        self.executions = most;
        self
    }

    /// Gives up an execution after so many events with [`Bound::Events`]. At most 60,000.
    #[must_use]
    pub fn events(mut self, most: usize) -> Explorer {
        self.events = most.min(MOST_EVENTS);
        self
    }

    /// Explores so many unsuccessful rounds in a row of a loop that calls `spin_loop` or `yield_now`: rounds that
    /// change nothing and read what the round before them read. Later ones repeat their reads as long as they can, and
    /// a loop that stores what it found (a `swap` that fails) is left waiting. The report then says so, "with at most
    /// so many rounds of waiting": what a loop does that finds news in a later round was not explored. At least 1.
    /// [`wait_until`](super::wait_until) needs no such bound.
    #[must_use]
    pub fn rounds(mut self, most: u32) -> Explorer {
        self.rounds = most.max(1);
        self
    }

    /// Takes a loop that has called `spin_loop` or `yield_now` so often without news to wait for ever. A loop that
    /// gives up by itself later than that, but within 200 rounds, makes the verdict [`Bound::Spins`].
    #[must_use]
    pub fn spins(mut self, most: u32) -> Explorer {
        self.spins = most;
        self
    }

    /// Lets so many timed waits of each thread run out (`park_timeout`, `futex_wait_timeout`). A later one ends by a
    /// wake-up or not at all; the report then says "at most so many time-outs a thread".
    #[must_use]
    pub fn timeouts(mut self, most: u32) -> Explorer {
        self.timeouts = most;
        self
    }

    /// Lets each thread fail or wake twice without a cause, in every way: `compare_exchange_weak`, `Condvar::wait`,
    /// `park` and `futex_wait`, as their contracts allow. Otherwise none does.
    #[must_use]
    pub fn spurious(mut self, allowed: bool) -> Explorer {
        self.spurious = if allowed { SPURIOUS } else { 0 };
        self
    }

    /// Allows memory to stay behind at an execution's end. Otherwise that is a failure, [`Failure::Leak`].
    #[must_use]
    pub fn leaks(mut self, allowed: bool) -> Explorer {
        self.leaks = allowed;
        self
    }

    /// Makes a violation smaller in at most so many runs; 0 shows it as it was found. A thousand unless this says
    /// otherwise. See [`Shrunk`](super::Shrunk).
    #[must_use]
    pub fn shrink(mut self, most_runs: u32) -> Explorer {
        self.shrinks = most_runs;
        self
    }

    /// Draws a violation as a page in this folder, as the environment variable `UNC_HTML` also asks for.
    #[must_use]
    pub fn html(mut self, folder: impl Into<PathBuf>) -> Explorer {
        self.html = Some(folder.into());
        self
    }

    pub(super) fn limits(&self) -> Limits {
        Limits {
            events: self.events,
            rounds: self.rounds,
            rewriting_rounds: self.rounds,
            spins: self.spins.max(self.rounds.saturating_add(1)),
            timeouts: self.timeouts,
            spurious: self.spurious,
        }
    }

    /// Explores `body` and asks only that nothing goes wrong in it.
    ///
    /// With a schedule of this exploration in the environment variable `UNC_REPLAY` (a violation prints it), that
    /// execution alone is run.
    ///
    /// # Errors
    /// [`Diverged`] where the code depends on what the checker can't see.
    #[track_caller]
    pub fn explore(&self, body: impl Fn() + 'static) -> Result<Report, Diverged> {
        let (name, body) = (self.name(Site::caller()), Rc::new(body));
        let wanted =
            std::env::var("UNC_REPLAY").ok().filter(|text| text.split(' ').next() == Some(&name));
        if let Some(schedule) = wanted {
            let again = Rc::clone(&body);
            // Several explorations may begin at one place: the schedule is that of one of them.
            if let Ok(report) = self.replay(&schedule, move || again())
                && report.violation().is_some()
            {
                return Ok(report);
            }
        }
        Exploration::new(self, name, move || body()).run()
    }

    /// Runs one execution of `body`, as a [`Violation`]'s `schedule` has it: violated, or unknown with
    /// [`Bound::Replayed`].
    ///
    /// # Errors
    /// [`Misfit`] where `schedule` is not of this program, or not a schedule.
    pub fn replay(&self, schedule: &str, body: impl Fn() + 'static) -> Result<Report, Misfit> {
        let (name, steps) = schedule::parse(schedule).map_err(Misfit)?;
        Exploration::new(self, name.to_owned(), body).replay(steps)
    }

    /// What tells an exploration from others: its memory model and its place.
    fn name(&self, site: &Site<'_>) -> String {
        let memory = format!("{:?}", self.memory).to_lowercase();
        format!("{memory}@{}:{}", site.file().replace(char::is_whitespace, "_"), site.line())
    }

    /// Explores `body` and collects what it returns, with the number of executions for each result.
    ///
    /// # Errors
    /// [`Diverged`] where the code depends on what the checker can't see.
    #[track_caller]
    pub fn outcomes<T: Ord + 'static>(
        &self,
        body: impl Fn() -> T + 'static,
    ) -> Result<(BTreeMap<T, u64>, Report), Diverged> {
        let mut exploration = Exploration::new(self, self.name(Site::caller()), body);
        let report = exploration.run()?;
        exploration.samples.clear();
        let unshared = |(result, count)| Rc::into_inner(result).map(|result| (result, count));
        Ok((exploration.outcomes.into_iter().filter_map(unshared).collect(), report))
    }
}

/// What is known of a loop that waits.
struct Probe {
    waiting: Waiting,
    /// Whether it gives up by itself; none while others' news came in between.
    gives_up: Option<bool>,
    attempts: u32,
}

/// How often a loop is followed until it shows whether it gives up.
const MOST_PROBES: u32 = 4;

struct Exploration<T> {
    bounds: Explorer,
    name: String,
    run: Rc<Run>,
    body: Rc<dyn Fn() -> T>,
    outcomes: BTreeMap<Rc<T>, u64>,
    executions: u64,
    blocked: u64,
    /// Runs given up at a bound.
    cut: u64,
    /// Reads that waiting loops had to repeat.
    forced: u64,
    /// Runs with a loop left waiting beyond the bound on rounds.
    left_waiting: u64,
    /// Runs in which a wait could not run out any more.
    out_of_time: u64,
    /// The first execution that was run again and the newest one, with what they returned, to be run again at the end:
    /// code that depends on hidden state shows there if not before.
    samples: Vec<(Graph, Option<Rc<T>>)>,
    sampled: u64,
    /// Waiting loops that have been followed for `PROBED_SPINS` rounds.
    probed: Vec<Probe>,
    /// A run ended with threads that wait for ever, except for one that might time out once more.
    is_out_of_time: bool,
}

impl<T: Ord + 'static> Exploration<T> {
    fn new(bounds: &Explorer, name: String, body: impl Fn() -> T + 'static) -> Exploration<T> {
        let limits = bounds.limits();
        let run = Run::new(Core::new(Growth::new(bounds.memory), limits));
        let (outcomes, body) = (BTreeMap::new(), Rc::new(body));
        Exploration {
            bounds: bounds.clone(),
            name,
            run,
            body,
            outcomes,
            executions: 0,
            blocked: 0,
            cut: 0,
            forced: 0,
            left_waiting: 0,
            out_of_time: 0,
            samples: Vec::new(),
            sampled: 0,
            probed: Vec::new(),
            is_out_of_time: false,
        }
    }

    fn run(&mut self) -> Result<Report, Diverged> {
        let (mut bound, mut last) = (None, None);
        let mut is_left = true;
        while is_left {
            let graph = std::mem::take(&mut self.run.core.borrow_mut().graph);
            let result = self.execute(graph).map(Rc::new);
            let stop = self.run.core.borrow_mut().stop.take();
            let mut is_whole = false;
            match stop {
                Some(Stop::Diverged(why) | Stop::Misfit(why)) => return Err(Diverged(why)),
                Some(Stop::Failure(failure)) => return self.violated(failure),
                Some(Stop::Bound(hit)) => {
                    bound = Some(hit);
                    self.cut += 1;
                }
                None => {
                    if self.gives_up_later() {
                        bound = Some(Bound::Spins(self.bounds.spins));
                        self.cut += 1;
                    } else if let Some(failure) = self.count(result.clone()) {
                        return self.violated(failure);
                    }
                    self.sample(result.clone())?;
                    is_whole = true;
                }
            }
            let is_enough = self.executions + self.cut >= self.bounds.executions;
            let mut core = self.run.core.borrow_mut();
            let core = &mut *core;
            if is_enough || !core.growth.is_left() {
                last = is_whole.then(|| (core.graph.clone(), result));
            }
            is_left = core.growth.next(&mut core.graph);
            if is_left && is_enough {
                bound = Some(Bound::Executions(self.bounds.executions));
                break;
            }
        }
        self.samples.extend(last);
        self.repeat_samples()?;
        Ok(self.report(bound.map_or(Verdict::Holds, Verdict::Unknown)))
    }

    /// Runs the execution of a schedule alone.
    fn replay(&mut self, steps: VecDeque<Step>) -> Result<Report, Misfit> {
        {
            let mut core = self.run.core.borrow_mut();
            core.growth.single = true;
            core.script = steps;
        }
        let result = self.execute(Graph::default()).map(Rc::new);
        let (stop, left) = {
            let mut core = self.run.core.borrow_mut();
            (core.stop.take(), core.script.len())
        };
        let failure = match stop {
            Some(Stop::Misfit(why) | Stop::Diverged(why)) => return Err(Misfit(why)),
            Some(Stop::Bound(bound)) => return Ok(self.report(Verdict::Unknown(bound))),
            Some(Stop::Failure(failure)) => Some(failure),
            None if left > 0 => return Err(Misfit(format!("it goes on for {left} steps"))),
            None => self.count(result),
        };
        let Some(failure) = failure else {
            return Ok(self.report(Verdict::Unknown(Bound::Replayed)));
        };
        let violation = self.drawn(self.violation(failure));
        Ok(self.report(Verdict::Violated(Box::new(violation))))
    }

    /// The violation, with a page where one is asked for.
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
        Violation {
            trace: trace::diagram(&core, &failure),
            failure,
            after: self.executions,
            schedule,
            shrunk: None,
            page: None,
        }
    }

    /// Runs the execution just run again if its number is a power of two, and keeps it as a sample.
    fn sample(&mut self, result: Option<Rc<T>>) -> Result<(), Diverged> {
        self.sampled += 1;
        if self.sampled.is_power_of_two() {
            let graph = self.run.core.borrow().graph.clone();
            self.repeat(graph.clone(), result.as_deref())?;
            self.samples.truncate(1);
            self.samples.push((graph, result));
        }
        Ok(())
    }

    fn report(&self, verdict: Verdict) -> Report {
        let verdict = match verdict {
            Verdict::Holds if self.is_out_of_time => {
                Verdict::Unknown(Bound::Timeouts(self.bounds.timeouts))
            }
            Verdict::Holds if self.executions == 0 => Verdict::Unknown(Bound::Assumptions),
            verdict => verdict,
        };
        let is_bounded = self.forced + self.left_waiting > 0;
        Report {
            verdict,
            executions: self.executions,
            blocked: self.blocked,
            rounds: is_bounded.then_some(self.bounds.rounds),
            forced: self.forced,
            left_waiting: self.left_waiting,
            timeouts: (self.out_of_time > 0).then_some(self.bounds.timeouts),
        }
    }

    fn execute(&self, graph: Graph) -> Option<T> {
        let result = Rc::new(RefCell::new(None));
        let (slot, body) = (Rc::clone(&result), Rc::clone(&self.body));
        self.run.execute(
            graph,
            Box::new(move || {
                let value = body();
                *slot.borrow_mut() = Some(value);
            }),
        );
        result.take()
    }

    /// Books a run that was not ended early, and says what is wrong with where it ended.
    fn count(&mut self, result: Option<Rc<T>>) -> Option<Failure> {
        let core = self.run.core.borrow();
        self.forced += core.graph.forced as u64;
        self.left_waiting += u64::from(!core.spinning().is_empty());
        self.out_of_time += u64::from(core.out_of_time);
        let failure = core.ending(self.bounds.leaks);
        if failure.is_some() {
            return failure;
        }
        let waiting: Vec<usize> = core.waiting().collect();
        if waiting.is_empty() {
            self.executions += 1;
            let result = result.expect("thread 0 has ended");
            *self.outcomes.entry(result).or_insert(0) += 1;
            return None;
        }
        let is_left = |&thread: &usize| core.is_stuck(thread) || core.has_run_out(thread);
        self.is_out_of_time |= waiting.iter().all(is_left);
        self.blocked += 1;
        None
    }

    /// Whether a loop that this run left at the bound on rounds would have given up by itself, a good deal later. Then
    /// what comes after it is not explored. Found out once for each loop.
    fn gives_up_later(&mut self) -> bool {
        let spinning = self.run.core.borrow().spinning();
        for (_, waiting) in &spinning {
            if !self.probed.iter().any(|probe| probe.waiting == *waiting) {
                let waiting = waiting.clone();
                self.probed.push(Probe { waiting, gives_up: None, attempts: 0 });
            }
        }
        let is_open = |probe: &Probe| probe.gives_up.is_none() && probe.attempts < MOST_PROBES;
        let is_meant = |probe: &Probe| spinning.iter().any(|(_, it)| *it == probe.waiting);
        if self.probed.iter().any(|probe| is_meant(probe) && is_open(probe)) {
            self.probe(&spinning);
        }
        self.probed.iter().any(|probe| is_meant(probe) && probe.gives_up == Some(true))
    }

    /// Follows these loops further, then comes back to where they are.
    fn probe(&mut self, spinning: &[(usize, Waiting)]) {
        let graph = {
            let mut core = self.run.core.borrow_mut();
            core.limits = Limits {
                events: MOST_EVENTS,
                rewriting_rounds: u32::MAX,
                spins: PROBED_SPINS.max(core.limits.spins + 1),
                ..self.bounds.limits()
            };
            core.growth.single = true;
            core.graph.clone()
        };
        self.execute(graph.clone());
        {
            let mut core = self.run.core.borrow_mut();
            let still = core.spinning();
            for (thread, waiting) in spinning {
                let probe = self.probed.iter_mut().find(|probe| probe.waiting == *waiting);
                let probe = probe.expect("noted before");
                probe.attempts += 1;
                if still.iter().any(|(other, _)| other == thread) {
                    probe.gives_up.get_or_insert(false);
                } else if !core.threads[*thread].rounds.has_news {
                    probe.gives_up = Some(true);
                }
            }
            core.limits = self.bounds.limits();
            core.growth.single = false;
        }
        self.execute(graph);
    }

    fn repeat_samples(&mut self) -> Result<(), Diverged> {
        let samples = std::mem::take(&mut self.samples);
        samples.into_iter().try_for_each(|(graph, result)| self.repeat(graph, result.as_deref()))
    }

    /// Runs an execution once more: it must be the same, hold again, and return what it returned before.
    fn repeat(&mut self, graph: Graph, before: Option<&T>) -> Result<(), Diverged> {
        let events = graph.len();
        self.run.core.borrow_mut().growth.single = true;
        let result = self.execute(graph);
        let mut core = self.run.core.borrow_mut();
        core.growth.single = false;
        match core.stop.take() {
            None if result.as_ref() == before && core.graph.len() == events => Ok(()),
            Some(Stop::Diverged(why)) => Err(Diverged(why)),
            Some(Stop::Failure(failure)) => {
                Err(Diverged(format!("{failure}; but not when the same execution was run before")))
            }
            _ => Err(Diverged("an execution, run again, does something else".into())),
        }
    }

    /// Confirms a violation by running it again, and the first execution, which broke no rule; then reports it.
    fn violated(&mut self, failure: Failure) -> Result<Report, Diverged> {
        let violation = self.violation(failure);
        let graph = self.run.core.borrow().graph.clone();
        let result = panics::quietly(|| self.execute(graph));
        let stop = self.run.core.borrow_mut().stop.take();
        let again = match stop {
            Some(Stop::Failure(again)) => Some(again),
            Some(Stop::Diverged(why)) => return Err(Diverged(why)),
            _ => self.count(result.map(Rc::new)),
        };
        let kind = std::mem::discriminant(&violation.failure);
        if again.is_none_or(|again| std::mem::discriminant(&again) != kind) {
            return Err(Diverged(format!(
                "{}; but not when the same execution is run again",
                violation.failure
            )));
        }
        self.repeat_samples()?;
        let violation = self.drawn(self.shrunk(violation));
        Ok(self.report(Verdict::Violated(Box::new(violation))))
    }

    /// The same violation, made smaller.
    fn shrunk(&self, violation: Violation) -> Violation {
        if self.bounds.shrinks == 0 {
            return violation;
        }
        let execute = || drop(self.execute(Graph::default()));
        let (core, most) = (&self.run.core, self.bounds.shrinks as usize);
        let found =
            panics::quietly(|| shrink::shrink(core, &execute, self.bounds.leaks, &violation, most));
        match found {
            Some((failure, shrunk)) => {
                let shrunk = Some(shrunk);
                Violation { after: violation.after, shrunk, ..self.violation(failure) }
            }
            None => violation,
        }
    }
}
