//! The result of an exploration: verdicts, failures, bounds and reports.

use super::order::Cost;
use super::sentence::{counted, listed};
use crate::diagram::{Diagram, WIDTH, wrapped};
use std::fmt;
use std::panic::Location as Site;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The verdict of an exploration.
#[derive(Debug)]
pub enum Verdict {
    /// No explored execution breaks a rule. [`Report::coverage`] states which executions were explored.
    Holds,
    /// An execution breaks a rule.
    Violated(Box<Violation>),
    /// No explored execution breaks a rule, but a bound kept some executions out.
    Unknown(Bound),
}

/// The bound that kept executions out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// This many executions were explored, and more are left.
    Executions(u64),
    /// An execution needs more than this many events: an unbounded loop, or a waiting loop without `spin_loop`.
    Events(usize),
    /// An execution starts more than this many threads.
    Threads(usize),
    /// A waiting loop was followed for this many unsuccessful rounds, or could not be followed for as many. What it
    /// does later was not explored; or it does nothing except give hints. [`Report::looping`] says which, and where.
    Spins(u32),
    /// No execution was completed: `assume` left all of them out.
    Assumptions,
    /// Threads wait forever, unless timed waits of one of them time out more often than the bound allows.
    Timeouts(u32),
    /// No execution fits in this many contexts ([`Explorer::contexts`](super::Explorer::contexts)), or `assume` left
    /// out all that do.
    Contexts(u32),
    /// An execution takes more memory than this, in bytes.
    Memory(usize),
    /// One schedule was replayed, and it breaks no rule.
    Replayed,
    /// This much time has passed, and more executions are left.
    Time(Duration),
    /// This many executions were drawn at random ([`Report::sampled`]).
    Sampled(u64),
    /// Preemptions are bounded ([`Explorer::preemptions`](super::Explorer::preemptions)), and code waits for another
    /// thread's step at this place.
    Waits(&'static Site<'static>),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Executions(n) => write!(f, "more than {}", counted(*n, "execution")),
            Bound::Events(n) => {
                write!(f, "an execution of more than {}", counted(*n, "event"))
            }
            Bound::Threads(n) => write!(
                f,
                "an execution of more than {}, the first one included (start one or two threads per role)",
                counted(*n, "thread")
            ),
            Bound::Memory(n) => write!(
                f,
                "an execution that takes more than {} (fix unbounded allocation, or raise `Explorer::memory_bytes`)",
                counted(*n, "byte")
            ),
            Bound::Timeouts(n) => write!(
                f,
                "threads wait forever unless a thread's timed waits time out more than {} (raise `Explorer::timeouts`)",
                counted(*n, "time")
            ),
            Bound::Time(time) => write!(f, "more executions than fit in {time:?}"),
            Bound::Sampled(n) => {
                write!(f, "{} drawn at random, not all", counted(*n, "execution"))
            }
            Bound::Replayed => f.write_str("one replayed schedule, which breaks no rule"),
            Bound::Assumptions => f.write_str("`assume` left out every execution"),
            Bound::Contexts(n) => {
                write!(
                    f,
                    "no execution fits in {} (each thread needs one, each join another)",
                    counted(*n, "context")
                )
            }
            Bound::Waits(site) => write!(
                f,
                "preemptions are counted only for programs of plain atomics, and this one waits at {site}"
            ),
            Bound::Spins(n) => {
                let rounds = counted(*n, "round");
                write!(f, "a waiting loop of more than {rounds} without effect")
            }
        }
    }
}

/// The rule that an execution breaks.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The code panicked, most often because of an assertion.
    Panic {
        /// The thread.
        thread: usize,
        /// Its place in the code: file, line and column.
        place: Option<String>,
        /// The panic message.
        message: String,
    },
    /// Two accesses to a plain cell, at least one of them a write, that happens-before does not order.
    Race {
        /// The thread of the later access in the trace.
        thread: usize,
        /// The place of that access.
        site: &'static Site<'static>,
        /// The place of the other access.
        other: &'static Site<'static>,
    },
    /// A thread uses an atomic whose creation does not happen before the use.
    Unpublished {
        /// The thread.
        thread: usize,
        /// The place of the use.
        site: &'static Site<'static>,
    },
    /// The condition of a `wait_until` breaks its contract.
    Condition {
        /// The thread.
        thread: usize,
        /// The place of the `wait_until`.
        site: &'static Site<'static>,
        /// How it breaks the contract.
        why: &'static str,
    },
    /// Memory is used after it was freed, or the use is not ordered before the free.
    UseAfterFree {
        /// The thread that uses it.
        thread: usize,
        /// The place of the use.
        site: &'static Site<'static>,
        /// Where the memory was allocated.
        made: &'static Site<'static>,
        /// Where it was freed.
        freed: &'static Site<'static>,
        /// The use comes after the free; otherwise nothing orders them.
        after: bool,
    },
    /// Memory is freed twice.
    DoubleFree {
        /// The thread that frees it again.
        thread: usize,
        /// The place of the second free.
        site: &'static Site<'static>,
        /// Where the memory was allocated.
        made: &'static Site<'static>,
        /// Where it was freed first.
        freed: &'static Site<'static>,
    },
    /// Memory is never freed.
    Leak {
        /// Where it was allocated.
        site: &'static Site<'static>,
    },
    /// Threads wait forever, and nothing is assumed: each waits for a lock, a futex, a condition, an end or a
    /// [`wait_until`](super::wait_until) that no thread can bring about.
    Deadlock {
        /// The threads.
        threads: Vec<usize>,
    },
    /// Threads wait forever, if a waiting loop that was followed for a while without an effect never gives up: no other
    /// thread can end it, and it did not give up in 50 times `rounds` rounds either, or as many as 60,000 events allow.
    /// Other threads may wait as in a deadlock.
    Livelock {
        /// All threads that wait.
        threads: Vec<usize>,
        /// For how many rounds the loops were followed ([`Explorer::spins`](super::Explorer::spins)).
        rounds: u32,
    },
}

/// `threads 0 and 2 wait`
fn waiting(threads: &[usize]) -> String {
    match threads {
        [thread] => format!("thread {thread} waits"),
        threads => format!("threads {} wait", listed(threads)),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Panic { thread, place: Some(place), message } => {
                write!(f, "thread {thread} panics at {place}: {message}")
            }
            Failure::Panic { thread, place: None, message } => {
                write!(f, "thread {thread} panics: {message}")
            }
            Failure::Race { thread, site, other } => {
                write!(
                    f,
                    "data race: thread {thread} at {site} and {other} are not ordered by happens-before"
                )
            }
            Failure::Unpublished { thread, site } => {
                write!(
                    f,
                    "thread {thread} at {site} uses an atomic whose creation does not happen before this use"
                )
            }
            Failure::Condition { thread, site, why } => {
                write!(f, "thread {thread} at {site}: the condition of a `wait_until` {why}")
            }
            Failure::UseAfterFree { thread, site, made, freed, after } => write!(
                f,
                "use after free: thread {thread} at {site} uses memory allocated at {made}; \
                 {} the free at {freed}",
                if *after { "it comes after" } else { "it is not ordered before" }
            ),
            Failure::DoubleFree { thread, site, made, freed } => write!(
                f,
                "double free: thread {thread} at {site} frees memory allocated at {made}, which was already freed at {freed}"
            ),
            Failure::Leak { site } => {
                write!(f, "leak: the memory allocated at {site} is never freed")
            }
            Failure::Deadlock { threads } => write!(f, "deadlock: {} forever", waiting(threads)),
            Failure::Livelock { threads, rounds } => write!(
                f,
                "{} forever, if a loop that gave no sign of giving up in {rounds} rounds never does",
                waiting(threads)
            ),
        }
    }
}

/// A violation: an execution that breaks a rule.
#[derive(Debug)]
pub struct Violation {
    /// The rule.
    pub failure: Failure,
    /// The execution: one column per thread and, under TSO, per store buffer; each row has its place in the source.
    /// [`Diagram::text`] and [`Diagram::svg`] render it.
    pub trace: Diagram,
    /// Executions explored before this one.
    pub after: u64,
    /// The execution as a line of text, for [`Explorer::replay`](super::Explorer::replay).
    pub schedule: String,
    /// How the execution that was found was shrunk to this one; `None` if it was not shrunk, or was replayed.
    pub shrunk: Option<Shrunk>,
    /// Whether it was replayed from a schedule ([`Explorer::replay`](super::Explorer::replay), `UNC_REPLAY`).
    pub replayed: bool,
    /// The page that shows it, if one was requested ([`Explorer::html`](super::Explorer::html)), or why it could not be
    /// written.
    pub page: Option<Result<PathBuf, String>>,
    /// Its preemptions, if they are bounded ([`Explorer::preemptions`](super::Explorer::preemptions)).
    pub preemptions: Option<u32>,
    /// Its contexts, if they are bounded ([`Explorer::contexts`](super::Explorer::contexts)).
    pub contexts: Option<u32>,
}

/// How a violation was shrunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shrunk {
    /// The cost of the execution that was found.
    pub from: Cost,
    /// The cost of the execution that is shown.
    pub to: Cost,
    /// The number of runs it took.
    pub runs: u64,
    /// No execution that breaks the same rule at the same place has fewer switches ([`Cost::counted`]).
    pub is_least: bool,
}

impl fmt::Display for Shrunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shrunk { from, to, runs, is_least } = self;
        let least = if *is_least { ", the fewest possible" } else { ", perhaps not the fewest" };
        let (before, after) = (from.counted(), to.counted());
        let (runs, switches) =
            (counted(*runs, "run"), if before == 1 { "switch" } else { "switches" });
        write!(f, "shrunk from {before} {switches} to {after} in {runs}{least}")?;
        if from.old > 0 {
            write!(f, " (each access to an old value counts as two: {} to {})", from.old, to.old)?;
        }
        write!(f, "; from {} to {}", counted(from.steps, "step"), to.steps)
    }
}

/// The command that runs the current test.
fn tested() -> String {
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main");
    format!("cargo test {}", test.unwrap_or("NAME"))
}

impl Violation {
    /// The command that replays this execution.
    fn command(&self) -> String {
        format!("UNC_REPLAY='{}' {}", self.schedule, tested())
    }

    /// What to do about an assumption that it rests on.
    fn waited(&self) -> Option<&'static str> {
        matches!(self.failure, Failure::Livelock { .. }).then_some(
            "that the loop never gives up is assumed; to follow it further, raise `Explorer::spins`, or wait with \
             `wait_until`, which needs no assumption",
        )
    }

    /// The execution as a self-contained HTML page.
    pub fn html(&self) -> String {
        let how = format!("`{}`", self.command());
        let shrunk = match self.shrunk {
            Some(shrunk) => shrunk.to_string(),
            None if self.replayed => "this execution was replayed along the schedule below".into(),
            None => "it is shown as found, without shrinking".into(),
        };
        let arrows = "A step that reads what another thread wrote has an arrow from that write. The arrow is solid if what \
                      happened before the write also happens before the read, and dashed if the read orders nothing. \
                      Accesses that conflict, and the point where the execution ended, are highlighted.";
        let waited = self.waited();
        let mut notes = vec![
            ("How to read it", arrows),
            (if self.replayed { "Replayed" } else { "Found" }, &shrunk),
            ("To replay it", &how),
        ];
        notes.extend(waited.map(|waited| ("What is assumed", waited)));
        self.trace.page(&notes)
    }

    /// Writes the page into `folder`; the test and the exploration name the file.
    pub(crate) fn write_page(&mut self, folder: &Path) {
        let exploration = self.schedule.split(' ').next().unwrap_or_default();
        let thread = std::thread::current();
        let name = format!("{} {exploration}", thread.name().unwrap_or_default());
        let name: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' })
            .collect();
        let path = folder.join(format!("{name}.html"));
        let written =
            std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, self.html()));
        self.page = Some(match written {
            Ok(()) => Ok(path),
            Err(error) => Err(format!("{}: {error}", path.display())),
        });
    }

    /// The violation in words, after `lead`.
    pub(crate) fn told(&self, lead: &str) -> String {
        let mut told = self.trace.text_after(lead);
        let notes = self
            .shrunk
            .map(|shrunk| shrunk.to_string())
            .into_iter()
            .chain(self.waited().map(str::to_owned));
        told.extend(notes.map(|note| wrapped("  (", 3, &format!("{note})"))));
        let (alone, command) = ("To run this execution alone:", self.command());
        let fits = alone.len() + 1 + command.len() <= WIDTH;
        told += &format!("{alone}{}{command}\n", if fits { " " } else { "\n  " });
        told + &match &self.page {
            None => {
                format!("To see it drawn, as a page in FOLDER:\n  UNC_HTML=FOLDER {}", tested())
            }
            Some(Ok(path)) => format!("Drawn in {}", path.display()),
            Some(Err(why)) => format!("It could not be drawn: {why}"),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(""))
    }
}

/// Why a schedule cannot be replayed: it belongs to another program, or is malformed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit(pub(crate) String);

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the schedule does not fit this program: {}", self.0)
    }
}

impl std::error::Error for Misfit {}

/// No verdict is possible. Most often the explored code behaves differently under the same schedule: it depends on
/// time, randomness, addresses or state that the checker does not see.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diverged(pub String);

/// The message for code that behaves differently under the same schedule.
pub(crate) fn hidden(why: impl fmt::Display) -> String {
    format!(
        "the code depends on state that the checker can't see: {why}. Statics, `OnceLock`, thread-locals, clocks and \
         random numbers are not reset between runs: create such state in the explored closure"
    )
}

impl fmt::Display for Diverged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Diverged {}

/// What an exploration found.
#[derive(Debug)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// The number of complete executions explored; no two are the same.
    pub executions: u64,
    /// Explorations that ended in a wait that continues in another exploration.
    pub blocked: u64,
    /// The bound on rounds of waiting, if it kept executions out ([`Explorer::rounds`](super::Explorer::rounds)).
    pub rounds: Option<u32>,
    /// How many reads waiting loops repeated beyond that bound, in all executions together.
    pub forced: u64,
    /// Explorations that ended with a loop left waiting at that bound.
    pub left_waiting: u64,
    /// If there are any: for how many rounds these loops went on, at least
    /// ([`Explorer::spins`](super::Explorer::spins)).
    pub spins: Option<u32>,
    /// The bound on time-outs per thread, if it kept executions out
    /// ([`Explorer::timeouts`](super::Explorer::timeouts)).
    pub timeouts: Option<u32>,
    /// The bound on spurious failures and wakeups per thread, if they are explored
    /// ([`Explorer::spurious`](super::Explorer::spurious)); 0 if they are not, and there could have been some.
    pub spurious: Option<u32>,
    /// The bound on preemptions, if there is one ([`Explorer::preemptions`](super::Explorer::preemptions)).
    pub preemptions: Option<u32>,
    /// The bound on contexts, if there is one ([`Explorer::contexts`](super::Explorer::contexts)).
    pub contexts: Option<u32>,
    /// Executions that the search met beyond either bound; the other counts exclude them.
    pub beyond: u64,
    /// The sizes of the groups of symmetric threads ([`spawn_symmetric`](super::spawn_symmetric)). Executions that
    /// differ only in the names of these threads are counted as one.
    pub symmetric: Vec<usize>,
    /// How the executions were drawn, if they were drawn at random ([`Explorer::sample`](super::Explorer::sample)). The
    /// same execution may then be counted more than once.
    pub sampled: Option<Sampled>,
    /// If a bound ended the search: the part of it that was done, from 0 to 1, assuming that all branches of a step are
    /// equally large. A guess; [`Explorer::estimate`](super::Explorer::estimate) gives one with an error.
    pub done: Option<f64>,
    /// If an execution hit the bound on events or on a loop's rounds: the loop, if one was found, by its places in the
    /// code, and what to do about it.
    pub looping: Option<String>,
}

/// Executions drawn at random, and the probability of finding a bug that they guarantee.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampled {
    /// The number of executions drawn.
    pub runs: u64,
    /// The seed.
    pub seed: u64,
    /// How many ordering constraints between steps suffice for the bug ([`Explorer::depth`](super::Explorer::depth)).
    pub depth: u32,
    /// A lower bound on the probability of finding such a bug, if it shows under sequential consistency in an execution
    /// with at most the threads and steps below. 0 if no probability is stated.
    pub probability: f64,
    /// Why no probability is stated, if none is: PCT's bound does not hold for threads that give hints, nor for code
    /// that makes choices ([`choose`](super::choose), time-outs, which of several waiting threads is woken).
    pub unstated: Option<&'static str>,
    /// The number of threads that the probability is for.
    pub threads: usize,
    /// The most steps of a run.
    pub steps: u64,
    /// Runs that follow PCT, read the newest writes, and drew their steps from at least that many.
    pub counted: u64,
}

impl fmt::Display for Sampled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sampled { seed, depth, probability, threads, steps, .. } = self;
        write!(f, "seed {seed}, ")?;
        match self.unstated {
            Some(why) => write!(f, "no probability of finding a bug is stated, because {why}"),
            None => write!(
                f,
                "a bug that shows under sequential consistency in at most {steps} steps of {threads} threads, and for \
                 which {depth} ordering constraints between steps suffice, is found with probability at least {probability:.3}"
            ),
        }
    }
}

/// An estimate of the number of executions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The mean of the probes' estimates, each of which is unbiased.
    pub executions: f64,
    /// The standard error of that mean; infinite for one probe. If a few branches hold most executions and no probe has
    /// reached them, the error is too small, and usually the mean too; more probes then change both much.
    pub error: f64,
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at least about {:.3e} executions, standard error {:.1e} (too small if a few branches hold most of them)",
            self.executions, self.error
        )
    }
}

impl Report {
    /// Whether no explored execution breaks a rule ([`Report::coverage`] states which were explored).
    pub fn holds(&self) -> bool {
        matches!(self.verdict, Verdict::Holds)
    }

    /// The violation, if one was found.
    pub fn violation(&self) -> Option<&Violation> {
        match &self.verdict {
            Verdict::Violated(violation) => Some(violation),
            _ => None,
        }
    }
}
