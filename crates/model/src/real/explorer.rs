//! The entry point: explores every execution of a closure.

use super::context::STACK_BYTES;
use super::core::Limits;
use super::exploration::Exploration;
use super::memory::Memory;
use super::results::{Code, Results};
use super::sampling::Sampling;
use super::schedule;
use super::turns::Turns;
use super::verdict::{Diverged, Estimate, Misfit, Report};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Display;
use std::panic::Location as Site;
use std::path::PathBuf;
use std::rc::Rc;
use std::str::FromStr;
use std::time::Duration;

/// The limit on events of one execution; larger requests are clamped to it.
pub(super) const MOST_EVENTS: usize = 60_000;

/// Bounds and options of an exploration.
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

/// The limit on bytes of a thread's stack; larger requests are clamped to it.
const MOST_STACK_BYTES: usize = 1 << 30;

/// Bytes that one execution may take.
const MEMORY_BYTES: usize = 1 << 30;

/// The limit on runs to shrink a violation.
const SHRINKS: u32 = 1_000;

/// Spurious failures and wakeups that `Explorer::spurious` allows each thread.
const SPURIOUS: u32 = 2;

impl Explorer {
    /// Explores under `memory`, with these bounds: a million executions, 2,000 events per execution, 3 rounds of a
    /// waiting loop explored in full, 1,000 rounds until it is taken to wait forever, 3 time-outs per thread, nothing
    /// spurious.
    pub fn new(memory: Memory) -> Explorer {
        Explorer {
            memory,
            executions: 1_000_000,
            events: 2_000,
            rounds: 3,
            spins: 1_000,
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

    /// Stops after `most` executions, cut ones included, with [`Bound::Executions`](super::Bound::Executions).
    #[must_use]
    pub fn executions(mut self, most: u64) -> Explorer {
        self.executions = most;
        self
    }

    /// Ends the search with [`Bound::Events`](super::Bound::Events) at an execution of more events than this. At most
    /// 60,000.
    #[must_use]
    pub fn events(mut self, most: usize) -> Explorer {
        self.events = most.min(MOST_EVENTS);
        self
    }

    /// Explores this many unsuccessful rounds in a row of a loop that calls `spin_loop` or `yield_now`: rounds that
    /// change nothing and read the same writes as the round before. The report then says "with at most 3 rounds of
    /// waiting": what a loop does if it finds something new in a later round is not explored. At least 1. A round of
    /// nested loops is one of the outermost. [`wait_until`](super::wait_until) needs no such bound.
    #[must_use]
    pub fn rounds(mut self, most: u32) -> Explorer {
        self.rounds = most.max(1);
        self
    }

    /// Takes a loop that calls `spin_loop` or `yield_now` to wait forever if it continues for this many rounds in which
    /// nothing changes; the report says so, and threads that wait forever for that reason are a
    /// [`Failure::Livelock`](super::Failure::Livelock), unless a loop of them gives up within 50 times as many rounds:
    /// then the verdict is unknown. A loop that gives up by itself before that is explored to its end (up to
    /// [`Explorer::events`]). More than [`Explorer::rounds`].
    #[must_use]
    pub fn spins(mut self, most: u32) -> Explorer {
        self.spins = most;
        self
    }

    /// Lets this many timed waits of each thread (`park_timeout`, `futex_wait_timeout`) time out. A later one ends by a
    /// wakeup or not at all; the report then says "with at most 3 time-outs a thread".
    #[must_use]
    pub fn timeouts(mut self, most: u32) -> Explorer {
        self.timeouts = most;
        self
    }

    /// Explores spurious failures and wakeups, at most two per thread: of `compare_exchange_weak`, `Condvar::wait`,
    /// `park` and `futex_wait`, as their contracts allow. By default there are none, and the report says "with no
    /// spurious failures or wakeups" if there could have been.
    #[must_use]
    pub fn spurious(mut self, allowed: bool) -> Explorer {
        self.spurious = if allowed { SPURIOUS } else { 0 };
        self
    }

    /// Allows memory to leak. By default a leak is a failure, [`Failure::Leak`](super::Failure::Leak).
    #[must_use]
    pub fn leaks(mut self, allowed: bool) -> Explorer {
        self.leaks = allowed;
        self
    }

    /// Shrinks a violation in at most this many runs; 0 shows it as it was found. The default is 1000. See
    /// [`Shrunk`](super::Shrunk).
    #[must_use]
    pub fn shrink(mut self, most_runs: u32) -> Explorer {
        self.shrinks = most_runs;
        self
    }

    /// Writes a violation as a page into this folder, like the environment variable `UNC_HTML`.
    #[must_use]
    pub fn html(mut self, folder: impl Into<PathBuf>) -> Explorer {
        self.html = Some(folder.into());
        self
    }

    /// Stops after this much time, with [`Bound::Time`](super::Bound::Time). The default is the number of seconds in
    /// the environment variable `UNC_TIME`, if it is set.
    #[must_use]
    pub fn time(mut self, most: Duration) -> Explorer {
        self.time = Some(most);
        self
    }

    /// Explores the executions with at most this many preemptions. The report says "holds in all … executions with at
    /// most 2 preemptions".
    ///
    /// An execution's preemptions are counted in the best sequence of its events: the one with the fewest that keeps
    /// program order and reads-from (under SC also the order of writes and from-reads). A preemption is a switch away
    /// from a thread that has not ended, does not join another thread and has not just given a hint. Weak-memory
    /// behaviour is free: all of it is explored within the bound.
    ///
    /// Preemptions are counted only for programs of plain atomics. Code that waits for another thread's step in another
    /// way (a lock, a condition, a futex, `park`, [`wait_until`](super::wait_until)) ends the search with
    /// [`Bound::Waits`](super::Bound::Waits).
    ///
    /// If the search meets a violation beyond the bound, it reports that too, with its number of preemptions. Replaces
    /// a bound on contexts.
    #[must_use]
    pub fn preemptions(mut self, most: u32) -> Explorer {
        self.turns = Some(Turns::Preemptions(most));
        self
    }

    /// Explores the executions with at most this many contexts. The report says "holds in all … executions with at most
    /// 4 contexts". At least 1. Replaces a bound on preemptions.
    ///
    /// A context is a maximal run of steps of one thread: k contexts have k - 1 switches. An execution's contexts are
    /// counted in the best sequence of its events, as for [`Explorer::preemptions`]. Unlike preemptions, contexts also
    /// count the first thread's start and every thread that ends or waits: two threads that are started and joined need
    /// four. So the bound must grow with the number of threads, but it counts locks and other waits exactly. A wait is
    /// one step, at its end; unsuccessful attempts before it are not counted.
    ///
    /// If the search meets a violation beyond the bound, it reports that too, with its number of contexts.
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

    /// Whether to explore executions that differ only in the names of symmetric threads
    /// ([`spawn_symmetric`](super::spawn_symmetric)) once. On by default.
    #[must_use]
    pub fn symmetry(mut self, reduces: bool) -> Explorer {
        self.symmetry = reduces;
        self
    }

    /// Draws `runs` executions at random instead of exploring all: half of them by PCT (probabilistic concurrency
    /// testing) reading the newest writes, the others by PCT and POS (partial order sampling) with reads and places of
    /// writes drawn uniformly from what the memory model allows (under SC these read the newest writes too). The
    /// verdict is [`Bound::Sampled`](super::Bound::Sampled) with the probability of finding a bug in
    /// [`Report::sampled`], or why none is stated; or it is violated, with a schedule that can be replayed.
    #[must_use]
    pub fn sample(mut self, runs: u64, seed: u64) -> Explorer {
        self.sampling = Some(Sampling { runs, seed });
        self
    }

    /// The depth of the bugs that [`Explorer::sample`] looks for, as PCT defines it: the least number of ordering
    /// constraints ("this step before that one", of different threads) such that every execution that satisfies them
    /// shows the bug. At least 1; the default is 2.
    ///
    /// A use before initialisation has depth 1. An update between another thread's load and store has depth 2, one
    /// constraint for each. If a third thread must run before them, the depth is one more.
    #[must_use]
    pub fn depth(mut self, depth: u32) -> Explorer {
        self.depth = depth.max(1);
        self
    }

    /// Ends the search with [`Bound::Memory`](super::Bound::Memory) at an execution that takes more memory than this
    /// through [`alloc`](super::alloc), [`Box`](super::Box) and atomics. The default is 1 GiB. Other memory is not
    /// counted.
    #[must_use]
    pub fn memory_bytes(mut self, most: usize) -> Explorer {
        self.memory_bytes = most;
        self
    }

    /// The stack size of each thread, at most 1 GiB. The default is 256 KiB. A stack overflow aborts the process, as it
    /// would outside an exploration.
    #[must_use]
    pub fn stack_bytes(mut self, bytes: usize) -> Explorer {
        self.stack_bytes = bytes.min(MOST_STACK_BYTES);
        self
    }

    /// The number of processes that share the search of [`Explorer::explore`]; the default is the value of the
    /// environment variable `UNC_JOBS`. Counts, verdict and violation are those of a single process, unless a bound on
    /// executions or time ends the search. Each process is a fork: explored code that takes a lock which another thread
    /// of this process held at the fork (a panic that prints, for example) would wait forever. Samples, checkpoints and
    /// [`Explorer::outcomes`] use one process.
    #[must_use]
    pub fn jobs(mut self, processes: usize) -> Explorer {
        self.jobs = Some(processes.max(1));
        self
    }

    /// Records the progress of [`Explorer::explore`] in the file `path`, five times a second and when a bound ends the
    /// search. If the file exists at the start, the search resumes from there, and its counts are those of an
    /// uninterrupted search. The file is removed when the search is complete. Samples and [`Explorer::outcomes`] record
    /// nothing.
    ///
    /// A search resumes only with the same executable, byte by byte (it is read once for that), with the same bounds,
    /// and if the runs repeated on the way take the same steps; otherwise [`Diverged`] says what differs. Any other
    /// file at `path` is refused and left unchanged. Shared libraries, and what the closure takes from variables or the
    /// environment without a step that shows it, are not checked: keep them the same.
    #[must_use]
    pub fn checkpoint(mut self, path: impl Into<PathBuf>) -> Explorer {
        self.checkpoint = Some(path.into());
        self
    }

    /// The same, with what the environment asks for where nothing was set.
    fn as_asked(&self) -> Result<Explorer, Diverged> {
        let (jobs, seconds) = (asked_for("UNC_JOBS")?, asked_for("UNC_TIME")?);
        let time = seconds.map(Duration::try_from_secs_f64).transpose();
        let time = time.map_err(|_| meaningless("UNC_TIME", "not a number of seconds"))?;
        Ok(Explorer { jobs: self.jobs.or(jobs), time: self.time.or(time), ..self.clone() })
    }

    /// The number of processes that share the search.
    pub(super) fn processes(&self) -> usize {
        if self.checkpoint.is_some() { 1 } else { self.jobs.unwrap_or(1).max(1) }
    }

    pub(super) fn limits(&self) -> Limits {
        Limits {
            events: self.events,
            rounds: self.rounds,
            spins: self.spins.max(self.rounds.saturating_add(1)),
            timeouts: self.timeouts,
            spurious: self.spurious,
            memory_bytes: self.memory_bytes,
            stack_bytes: self.stack_bytes,
        }
    }

    /// Explores `body` and checks that nothing goes wrong in it.
    ///
    /// `body` is run again and again, so it is `'static` and borrows nothing: it creates its state, or moves it in.
    ///
    /// ```compile_fail,E0597
    /// use uncontended_model::real::{AtomicU32, Explorer, Memory, Ordering};
    ///
    /// let word = AtomicU32::new(0);
    /// let borrowed = &word;
    /// Explorer::new(Memory::C11).explore(move || borrowed.store(1, Ordering::Relaxed));
    /// ```
    ///
    /// If `UNC_PROGRESS` is set, progress is printed to stderr once a second.
    ///
    /// If the environment variable `UNC_REPLAY` holds a schedule of this exploration (a violation prints it), only that
    /// execution is run.
    ///
    /// # Errors
    /// [`Diverged`] if the code depends on state that the checker does not see, or if one of the environment variables
    /// `UNC_TIME`, `UNC_JOBS` and `UNC_REPLAY` has no meaning.
    #[track_caller]
    pub fn explore(&self, body: impl Fn() + 'static) -> Result<Report, Diverged> {
        self.explore_code(self.name(Site::caller()), Code::new(Rc::new(body)))
    }

    fn explore_code(&self, name: String, code: Code) -> Result<Report, Diverged> {
        let asked = self.as_asked()?;
        if let Some(schedule) = std::env::var_os("UNC_REPLAY")
            && let Some(report) = self.replay_asked(&schedule, &name, code.clone())?
        {
            return Ok(report);
        }
        Exploration::new(&asked, name, code).run_as_asked()
    }

    /// The report of the schedule in `UNC_REPLAY`, if it is of the exploration `name` and fails there.
    fn replay_asked(
        &self,
        schedule: &OsStr,
        name: &str,
        code: Code,
    ) -> Result<Option<Report>, Diverged> {
        let schedule = schedule.to_string_lossy();
        let parsed = schedule::parse(&schedule).map_err(|why| meaningless("UNC_REPLAY", why))?;
        // Several explorations may start at one place; the schedule belongs to one of them.
        let why = if parsed.0 == name {
            match self.replay_code(&schedule, code) {
                Ok(report) if report.violation().is_some() => return Ok(Some(report)),
                Ok(_) => "the schedule breaks no rule here".to_owned(),
                Err(misfit) => misfit.to_string(),
            }
        } else {
            format!("the schedule is of {}, this is {name}", parsed.0)
        };
        eprintln!("UNC_REPLAY: {why}; exploring everything");
        Ok(None)
    }

    /// Estimates the number of executions of `body` from `probes` (at least one) random paths through the execution
    /// tree (Knuth 1975). Each probe's estimate is unbiased. Blocked explorations are not counted. Bounds on
    /// preemptions and contexts, and symmetry, are ignored: the estimate is of all executions. If a few branches hold
    /// most executions, a small number of probes misses them, and both the estimate and its error are usually too
    /// small.
    ///
    /// # Errors
    /// [`Diverged`] if the code depends on state that the checker does not see; a report if an execution breaks a rule.
    #[track_caller]
    pub fn estimate(
        &self,
        probes: u64,
        seed: u64,
        body: impl Fn() + 'static,
    ) -> Result<Result<Estimate, Box<Report>>, Diverged> {
        let all = Explorer { turns: None, symmetry: false, ..self.as_asked()? };
        let code = Code::new(Rc::new(body));
        Exploration::new(&all, self.name(Site::caller()), code).estimate(probes, seed)
    }

    /// Replays one execution of `body` from the `schedule` of a [`Violation`](super::Violation). The verdict is
    /// violated, or unknown with [`Bound::Replayed`](super::Bound::Replayed).
    ///
    /// # Errors
    /// [`Misfit`] if `schedule` belongs to another program or is malformed.
    pub fn replay(&self, schedule: &str, body: impl Fn() + 'static) -> Result<Report, Misfit> {
        self.replay_code(schedule, Code::new(Rc::new(body)))
    }

    fn replay_code(&self, schedule: &str, code: Code) -> Result<Report, Misfit> {
        let (name, steps) = schedule::parse(schedule).map_err(Misfit)?;
        let (own, of) = (self.model(), name.split('@').next().unwrap_or_default());
        if of != own {
            return Err(Misfit(format!(
                "it begins with '{of}', not with the memory model, '{own}'"
            )));
        }
        Exploration::new(self, name.to_owned(), code).replay(steps)
    }

    /// The memory model in schedules.
    fn model(&self) -> String {
        format!("{:?}", self.memory).to_lowercase()
    }

    /// Explores, and counts the executions for each result's number.
    fn count_results(
        &self,
        name: String,
        code: Code,
    ) -> Result<(BTreeMap<usize, u64>, Report), Diverged> {
        let unnoted = Explorer { checkpoint: None, jobs: Some(1), ..self.as_asked()? };
        let mut exploration = Exploration::new(&unnoted, name, code);
        let report = exploration.run_as_asked()?;
        Ok((exploration.outcomes, report))
    }

    /// Identifies the exploration by its memory model and its place in the code.
    fn name(&self, site: &Site<'_>) -> String {
        format!(
            "{}@{}:{}",
            self.model(),
            site.file().replace(char::is_whitespace, "_"),
            site.line()
        )
    }

    /// Explores `body` and counts the executions for each result it returns.
    ///
    /// # Errors
    /// [`Diverged`] if the code depends on state that the checker does not see, or if `UNC_TIME` or `UNC_JOBS` has no
    /// meaning.
    #[track_caller]
    pub fn outcomes<T: Ord + 'static>(
        &self,
        body: impl Fn() -> T + 'static,
    ) -> Result<(BTreeMap<T, u64>, Report), Diverged> {
        let (results, code) = Results::of(body);
        let (counts, report) = self.count_results(self.name(Site::caller()), code)?;
        Ok((results.counted(&counts), report))
    }
}

/// The value of an environment variable, if it is set.
fn asked_for<T: FromStr<Err: Display>>(variable: &str) -> Result<Option<T>, Diverged> {
    let Some(value) = std::env::var_os(variable) else { return Ok(None) };
    let parsed = value.to_string_lossy().parse();
    parsed.map(Some).map_err(|why| meaningless(variable, why))
}

fn meaningless(variable: &str, why: impl Display) -> Diverged {
    let value = std::env::var_os(variable).unwrap_or_default();
    Diverged(format!("the environment variable {variable} is {value:?}: {why}"))
}
