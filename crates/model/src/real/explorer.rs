//! The door: explore every execution of a closure.

use super::context::STACK_BYTES;
use super::core::Limits;
use super::exploration::Exploration;
use super::memory::Memory;
use super::preemptions::Turns;
use super::sampling::Sampling;
use super::schedule;
use super::verdict::{Diverged, Estimate, Misfit, Report};
use std::collections::BTreeMap;
use std::panic::Location as Site;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// Events that one execution may have at most, whatever is asked for.
pub(super) const MOST_EVENTS: usize = 60_000;

/// How to explore.
#[derive(Clone, Debug)]
pub struct Explorer {
    pub(super) memory: Memory,
    pub(super) executions: u64,
    pub(super) events: usize,
    pub(super) rounds: u32,
    pub(super) spins: u32,
    pub(super) timeouts: u32,
    pub(super) spurious: u32,
    pub(super) leaks: bool,
    pub(super) time: Option<Duration>,
    pub(super) sampling: Option<Sampling>,
    pub(super) depth: u32,
    pub(super) shrinks: u32,
    pub(super) html: Option<PathBuf>,
    pub(super) memory_bytes: usize,
    pub(super) stack_bytes: usize,
    pub(super) turns: Option<Turns>,
    pub(super) symmetry: bool,
    pub(super) checkpoint: Option<PathBuf>,
    pub(super) jobs: Option<usize>,
}

/// Memory that one execution may take.
const MEMORY_BYTES: usize = 1 << 30;

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
            memory_bytes: MEMORY_BYTES,
            stack_bytes: STACK_BYTES,
            time: None,
            sampling: None,
            depth: 2,
            turns: None,
            symmetry: true,
            checkpoint: None,
            jobs: None,
        }
    }

    /// Stops after so many executions, cut ones included, with
    /// [`Bound::Executions`](super::Bound::Executions).
    #[must_use]
    pub fn executions(mut self, most: u64) -> Explorer {
        self.executions = most;
        self
    }

    /// Gives up an execution after so many events with [`Bound::Events`](super::Bound::Events). At most 60,000.
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
    /// gives up by itself later than that, but within 200 rounds, makes the verdict
    /// [`Bound::Spins`](super::Bound::Spins).
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

    /// Allows memory to stay behind at an execution's end. Otherwise that is a failure,
    /// [`Failure::Leak`](super::Failure::Leak).
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

    /// Stops when so much time has passed, with [`Bound::Time`](super::Bound::Time). Otherwise the seconds in the
    /// environment variable `UNC_TIME`, if it is set, are the limit.
    #[must_use]
    pub fn time(mut self, most: Duration) -> Explorer {
        self.time = Some(most);
        self
    }

    /// Explores the executions with at most so many preemptions, and says so: "holds in all … executions with at most
    /// so many preemptions".
    ///
    /// An execution's preemptions are the fewest with which its events can be put in a row that keeps program order and
    /// what each read reads from (under SC also the order of writes, and what reads miss). A preemption is where a
    /// thread is left that has not ended, does not wait for another thread's end and has not just given a hint. What
    /// weak memory lets reads find costs nothing: all of it is explored within the bound.
    ///
    /// They are counted for programs of plain atomics only. Code that waits for another thread's step in another way
    /// (a lock, a condition, a futex, `park`, [`wait_until`](super::wait_until)) ends the search with
    /// [`Bound::Waits`](super::Bound::Waits).
    ///
    /// A violation beyond the bound that the search comes across is told too, with its own number. Takes the place of a
    /// bound on contexts.
    #[must_use]
    pub fn preemptions(mut self, most: u32) -> Explorer {
        self.turns = Some(Turns::Preemptions(most));
        self
    }

    /// Explores the executions of at most so many contexts, and says so: "holds in all … executions with at most so
    /// many contexts". At least 1. Takes the place of a bound on preemptions.
    ///
    /// A context is a stretch of steps of one thread: to have k of them is to switch threads k - 1 times. An
    /// execution's contexts are the fewest with which its events can be put in a row, as for
    /// [`Explorer::preemptions`]; but the first thread's beginning counts too, and so does every thread that ends or
    /// waits: two threads that are started and joined need four. So the bound must grow with the threads, which one on
    /// preemptions need not; but locks and other waits are counted exactly. A wait ends in one step; what a thread did
    /// in vain before it is none.
    ///
    /// A violation beyond the bound that the search comes across is told too, with its own number.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use uncontended_model::real::{Explorer, Memory, Mutex, spawn};
    ///
    /// let program = || {
    ///     let count = Arc::new(Mutex::new(0));
    ///     let threads = [(); 2].map(|()| {
    ///         let count = Arc::clone(&count);
    ///         spawn(move || (0..2).for_each(|_| *count.lock().unwrap() += 1))
    ///     });
    ///     threads.into_iter().for_each(|thread| thread.join().unwrap());
    /// };
    /// let counted = |most| Explorer::new(Memory::Sc).contexts(most).explore(program).unwrap().executions;
    /// // aabb and bbaa; with one more switch abba and baab too; then abab and baba.
    /// assert_eq!([3, 4, 5, 6].map(counted), [0, 2, 4, 6]);
    /// ```
    #[must_use]
    pub fn contexts(mut self, most: u32) -> Explorer {
        self.turns = Some(Turns::Contexts(most.max(1)));
        self
    }

    /// Explores executions that differ in the names of symmetric threads alone once
    /// ([`spawn_symmetric`](super::spawn_symmetric)); it does unless this says otherwise.
    #[must_use]
    pub fn symmetry(mut self, reduces: bool) -> Explorer {
        self.symmetry = reduces;
        self
    }

    /// Draws `runs` executions at random instead of exploring all: half of them by PCT (probabilistic concurrency
    /// testing) with the newest writes read, the others by PCT and POS (partial order sampling) with reads and places
    /// of writes drawn evenly from what the memory model allows (under SC with the newest too). The verdict is
    /// [`Bound::Sampled`](super::Bound::Sampled), and [`Report::sampled`] says how probably a bug is found, or why
    /// nothing is said of that; or it is violated, and the violation's schedule replays.
    #[must_use]
    pub fn sample(mut self, runs: u64, seed: u64) -> Explorer {
        self.sampling = Some(Sampling { runs, seed });
        self
    }

    /// The depth of the bugs that [`Explorer::sample`] looks for, as PCT has it: the least number of ordering
    /// constraints ("this step before that one", of different threads) that make every execution which keeps them show
    /// the bug. At least 1; 2 if not said.
    ///
    /// A use before the step that makes it ready is of depth 1; an update between another thread's load and store of
    /// depth 2, one constraint for each. If a third thread must have gone before them, that is one more.
    #[must_use]
    pub fn depth(mut self, depth: u32) -> Explorer {
        self.depth = depth.max(1);
        self
    }

    /// Gives up an execution that takes more memory than this through [`alloc`](super::alloc), [`Box`](super::Box) and
    /// atomics, with [`Bound::Memory`](super::Bound::Memory). A GiB unless this says otherwise. Other memory is out of
    /// sight.
    #[must_use]
    pub fn memory_bytes(mut self, most: usize) -> Explorer {
        self.memory_bytes = most;
        self
    }

    /// Gives each thread a stack of this size. 256 KiB unless this says otherwise. A thread that needs more aborts the
    /// process, as it would outside an exploration.
    #[must_use]
    pub fn stack_bytes(mut self, bytes: usize) -> Explorer {
        self.stack_bytes = bytes;
        self
    }

    /// Lets so many processes share the search of [`Explorer::explore`]; if not said, as many as the environment
    /// variable `UNC_JOBS` has. Counts, verdict and the violation told are those of one process, except where a bound
    /// on executions or time ends the search. Each process is a fork: code that locks what another thread of this
    /// process holds at that moment (a panic that prints, for one) would wait for ever. Samples, checkpoints and
    /// [`Explorer::outcomes`] use one process.
    #[must_use]
    pub fn jobs(mut self, processes: usize) -> Explorer {
        self.jobs = Some(processes.max(1));
        self
    }

    /// Notes in the file `path`, five times a second and when a bound ends the search, how far [`Explorer::explore`]
    /// has come. If there is such a file when it begins, it goes on from there, and its counts are those of a search
    /// that was never interrupted. The file goes when the search is over. Samples and [`Explorer::outcomes`] note
    /// nothing.
    ///
    /// It goes on only in the same executable, byte by byte (which is read once for that), with the same bounds, and if
    /// the runs made again on its way take the same steps; otherwise [`Diverged`] says what differs. Whatever else is
    /// at `path` is refused and left as it is. Code in shared libraries, and what the closure takes from variables or
    /// the environment without a step that shows it, must stay the same by themselves.
    #[must_use]
    pub fn checkpoint(mut self, path: impl Into<PathBuf>) -> Explorer {
        self.checkpoint = Some(path.into());
        self
    }

    /// The processes, as set or as `UNC_JOBS` has them.
    pub(super) fn processes(&self) -> usize {
        let asked = || std::env::var("UNC_JOBS").ok()?.parse().ok();
        if self.checkpoint.is_some() { 1 } else { self.jobs.or_else(asked).unwrap_or(1) }
    }

    /// The time limit, as set or as `UNC_TIME` has it.
    pub(super) fn time_limit(&self) -> Option<Duration> {
        let seconds = || std::env::var("UNC_TIME").ok()?.parse().ok();
        self.time.or_else(|| Duration::try_from_secs_f64(seconds()?).ok())
    }

    pub(super) fn limits(&self) -> Limits {
        Limits {
            events: self.events,
            rounds: self.rounds,
            rewriting_rounds: self.rounds,
            spins: self.spins.max(self.rounds.saturating_add(1)),
            timeouts: self.timeouts,
            spurious: self.spurious,
            memory_bytes: self.memory_bytes,
            stack_bytes: self.stack_bytes,
        }
    }

    /// Explores `body` and asks only that nothing goes wrong in it.
    ///
    /// With `UNC_PROGRESS` set it says once a second, on stderr, how far it is.
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
            match self.replay(&schedule, move || again()) {
                Ok(report) if report.violation().is_some() => return Ok(report),
                Ok(_) => eprintln!("UNC_REPLAY: the schedule breaks no rule here; all is explored"),
                Err(misfit) => eprintln!("UNC_REPLAY: {misfit}; all is explored"),
            }
        }
        Exploration::new(self, name, move || body()).run_as_asked()
    }

    /// Guesses how many executions of `body` there are, from `probes` ways (at least one) drawn through the tree of
    /// them: each guess is right on average. Blocked explorations are not counted. Bounds on preemptions and
    /// contexts are left out, and symmetry too: the guess is of all executions. Where a few ways hold most executions,
    /// which few probes then miss, both the guess and its error are most often too small.
    ///
    /// # Errors
    /// [`Diverged`] where the code depends on what the checker can't see; a report where an execution breaks a rule.
    #[track_caller]
    pub fn estimate(
        &self,
        probes: u64,
        seed: u64,
        body: impl Fn() + 'static,
    ) -> Result<Result<Estimate, Box<Report>>, Diverged> {
        let all = Explorer { turns: None, symmetry: false, ..self.clone() };
        Exploration::new(&all, self.name(Site::caller()), body).estimate(probes, seed)
    }

    /// Runs one execution of `body`, as a [`Violation`](super::Violation)'s `schedule` has it: violated, or unknown
    /// with [`Bound::Replayed`](super::Bound::Replayed).
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
        let unnoted = Explorer { checkpoint: None, jobs: Some(1), ..self.clone() };
        let mut exploration = Exploration::new(&unnoted, self.name(Site::caller()), body);
        let report = exploration.run_as_asked()?;
        exploration.samples.clear();
        let unshared = |(result, count)| Rc::into_inner(result).map(|result| (result, count));
        Ok((exploration.outcomes.into_iter().filter_map(unshared).collect(), report))
    }
}
