//! What an exploration ends in.

use super::order::Cost;
use crate::diagram::Diagram;
use std::fmt;
use std::panic::Location as Site;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The answer of an exploration.
#[derive(Debug)]
pub enum Verdict {
    /// Every execution that [`Report::coverage`] says was explored, and none broke a rule.
    Holds,
    /// An execution breaks a rule.
    Violated(Box<Violation>),
    /// No execution explored breaks a rule, but a bound kept some out.
    Unknown(Bound),
}

/// A bound that was hit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// This many executions were explored, and more are left.
    Executions(u64),
    /// An execution needs more than this many events: a loop without bound, or one without `spin_loop` in it.
    Events(usize),
    /// An execution starts more than this many threads.
    Threads(usize),
    /// A waiting loop was followed for so many rounds without news. It gives up by itself later, and what it does then
    /// was not explored; or it does nothing but give hints. [`Report::looping`] says where.
    Spins(u32),
    /// No execution came to its end: `assume` left all of them out.
    Assumptions,
    /// Threads wait for ever, except for one whose timed waits have run out so often that no more do.
    Timeouts(u32),
    /// No execution has so few contexts ([`Explorer::contexts`](super::Explorer::contexts)), or `assume` left them out.
    Contexts(u32),
    /// An execution takes more memory than this, in bytes.
    Memory(usize),
    /// One schedule alone was followed, and breaks no rule.
    Replayed,
    /// So much time has passed, and more executions are left.
    Time(Duration),
    /// So many executions were drawn at random ([`Report::sampled`]).
    Sampled(u64),
    /// Preemptions are bounded ([`Explorer::preemptions`](super::Explorer::preemptions)), and code waits here for
    /// another thread's step.
    Waits(&'static Site<'static>),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Executions(n) => write!(f, "more than {n} executions"),
            Bound::Events(n) => {
                write!(f, "an execution of more than {n} events (`Explorer::events` allows more)")
            }
            Bound::Threads(n) => write!(
                f,
                "an execution of more than {n} threads, the first one included (explore one of each role, or two)"
            ),
            Bound::Memory(n) => write!(
                f,
                "an execution that takes more than {n} bytes (if it does not allocate without end, \
                 `Explorer::memory_bytes` gives it more)"
            ),
            Bound::Timeouts(n) => write!(
                f,
                "threads that wait for one whose timed waits have run out {n} times: more is not explored"
            ),
            Bound::Time(time) => write!(f, "more executions than fit in {time:?}"),
            Bound::Sampled(runs) => write!(f, "{runs} executions drawn at random, not all"),
            Bound::Replayed => f.write_str("one schedule alone, which breaks no rule"),
            Bound::Assumptions => f.write_str("no execution is left by `assume`"),
            Bound::Contexts(n) => {
                write!(
                    f,
                    "no execution of at most {n} contexts (a thread needs one, a join another)"
                )
            }
            Bound::Waits(site) => write!(
                f,
                "preemptions are counted for programs of plain atomics only: this one waits at {site}"
            ),
            Bound::Spins(n) => {
                write!(f, "a waiting loop of more than {n} rounds without news")
            }
        }
    }
}

/// The rule that an execution breaks.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The code panicked: an assertion, most often.
    Panic {
        /// The thread.
        thread: usize,
        /// Where in the code: file, line and column.
        place: Option<String>,
        /// What it said.
        message: String,
    },
    /// Two accesses to a plain cell, one of them a write, that no happens-before orders.
    Race {
        /// The thread of the later access in the trace.
        thread: usize,
        /// Where it is.
        site: &'static Site<'static>,
        /// Where the other one is.
        other: &'static Site<'static>,
    },
    /// A thread uses an atomic whose creation it does not know to have happened.
    Unpublished {
        /// The thread.
        thread: usize,
        /// Where it does so.
        site: &'static Site<'static>,
    },
    /// The condition of a `wait_until` breaks its contract.
    Condition {
        /// The thread.
        thread: usize,
        /// Where it is.
        site: &'static Site<'static>,
        /// What it does.
        why: &'static str,
    },
    /// Memory is used after it was freed, or nothing orders the use before the free.
    UseAfterFree {
        /// The thread that uses it.
        thread: usize,
        /// Where it does so.
        site: &'static Site<'static>,
        /// Where the memory was allocated.
        made: &'static Site<'static>,
        /// Where it is freed.
        freed: &'static Site<'static>,
    },
    /// Memory is freed twice.
    DoubleFree {
        /// The thread that frees it again.
        thread: usize,
        /// Where it does so.
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
    /// These threads wait for ever.
    Deadlock {
        /// The threads.
        threads: Vec<usize>,
    },
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
                    "data race: thread {thread} at {site} against {other}, ordered by nothing"
                )
            }
            Failure::Unpublished { thread, site } => {
                write!(
                    f,
                    "thread {thread} at {site} uses an atomic whose creation it can't know to have happened"
                )
            }
            Failure::Condition { thread, site, why } => {
                write!(f, "thread {thread} at {site}: the condition of a `wait_until` {why}")
            }
            Failure::UseAfterFree { thread, site, made, freed } => write!(
                f,
                "use after free: thread {thread} at {site} uses memory allocated at {made}; \
                 it is not ordered before the free at {freed}"
            ),
            Failure::DoubleFree { thread, site, made, freed } => write!(
                f,
                "double free: thread {thread} at {site} frees memory allocated at {made}, freed before at {freed}"
            ),
            Failure::Leak { site } => {
                write!(f, "leak: the memory allocated at {site} is never freed")
            }
            Failure::Deadlock { threads } => write!(f, "threads {threads:?} wait for ever"),
        }
    }
}

/// An execution that breaks a rule.
#[derive(Debug)]
pub struct Violation {
    /// The rule.
    pub failure: Failure,
    /// The execution: columns by thread and, under TSO, by store buffer, and with each moment its place in the
    /// source. [`Diagram::text`] and [`Diagram::svg`] show it.
    pub trace: Diagram,
    /// Executions explored before this one.
    pub after: u64,
    /// The execution as a line of text, for [`Explorer::replay`](super::Explorer::replay).
    pub schedule: String,
    /// How the execution that was found became this one; `None` where it is shown as it was found or replayed.
    pub shrunk: Option<Shrunk>,
    /// Whether it was run alone, along a schedule ([`Explorer::replay`](super::Explorer::replay), `UNC_REPLAY`).
    pub replayed: bool,
    /// The page that shows it, where one was asked for and could be written, or why not
    /// ([`Explorer::html`](super::Explorer::html)).
    pub page: Option<Result<PathBuf, String>>,
    /// Its preemptions, where they are bounded ([`Explorer::preemptions`](super::Explorer::preemptions)).
    pub preemptions: Option<u32>,
    /// Its contexts, where those are ([`Explorer::contexts`](super::Explorer::contexts)).
    pub contexts: Option<u32>,
}

/// How a violation became smaller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shrunk {
    /// The execution that was found.
    pub from: Cost,
    /// The one that is shown.
    pub to: Cost,
    /// Runs that it took.
    pub runs: u64,
    /// No execution that breaks the same rule at the same place has fewer switches, as [`Cost::counted`] has them.
    pub is_least: bool,
}

impl fmt::Display for Shrunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shrunk { from, to, runs, is_least } = self;
        let least = if *is_least { ", the fewest there are" } else { "" };
        let (before, after) = (from.counted(), to.counted());
        write!(f, "shrunk from {before} switches to {after} in {runs} runs{least}")?;
        if from.old > 0 {
            write!(f, " (an access of an old value counts as two: {} to {})", from.old, to.old)?;
        }
        write!(f, "; from {} steps to {}", from.steps, to.steps)
    }
}

/// The command that runs the test going on.
fn tested() -> String {
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main");
    format!("cargo test {}", test.unwrap_or("NAME"))
}

impl Violation {
    /// The command that runs this execution alone.
    fn command(&self) -> String {
        format!("UNC_REPLAY='{}' {}", self.schedule, tested())
    }

    /// The execution as a page that needs nothing but itself.
    pub fn html(&self) -> String {
        let how = format!("`{}`", self.command());
        let shrunk = match self.shrunk {
            Some(shrunk) => shrunk.to_string(),
            None if self.replayed => "it was run alone, along the schedule below".into(),
            None => "it is shown as it was found".into(),
        };
        let arrows = "A step that reads what another thread wrote has an arrow from it: solid where what happened \
                      before the one happened before the other, dashed where nothing is ordered. Accesses that clash, \
                      and where the execution ended, are set off.";
        let notes = [
            ("How to read it", arrows),
            (if self.replayed { "Run again" } else { "Found" }, &shrunk),
            ("To run it alone", &how),
        ];
        self.trace.page(&notes)
    }

    /// Writes the page into `folder`, under the names of its test and its exploration.
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
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.trace.text())?;
        if let Some(shrunk) = &self.shrunk {
            write!(f, "  ({shrunk})")?;
        }
        write!(f, "\nTo run this execution alone: {}", self.command())?;
        match &self.page {
            None => {
                write!(f, "\nTo see it drawn, as a page in FOLDER: UNC_HTML=FOLDER {}", tested())
            }
            Some(Ok(path)) => write!(f, "\nDrawn in {}", path.display()),
            Some(Err(why)) => write!(f, "\nIt could not be drawn: {why}"),
        }
    }
}

/// Why a schedule cannot be followed: it is of another program, or not a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit(pub(crate) String);

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the schedule does not fit this program: {}", self.0)
    }
}

impl std::error::Error for Misfit {}

/// No verdict can be given. Most often the explored code does not do the same thing twice under the same schedule: it
/// depends on time, randomness, addresses or a variable outside the checker's sight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diverged(pub String);

/// What to say of code that does not do the same thing twice.
pub(crate) fn hidden(why: impl fmt::Display) -> String {
    format!(
        "the code depends on state that the checker can't see: {why}. Statics, `OnceLock`, thread-locals, clocks and \
         random numbers stay from run to run: make such state anew in the explored closure"
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
    /// The answer.
    pub verdict: Verdict,
    /// Complete executions explored, each a different one.
    pub executions: u64,
    /// Explorations that ended in a wait whose continuation is one of the others.
    pub blocked: u64,
    /// The bound on rounds of waiting, if it kept executions out ([`Explorer::rounds`](super::Explorer::rounds)).
    pub rounds: Option<u32>,
    /// Reads that waiting loops repeated beyond that bound, in all executions together.
    pub forced: u64,
    /// Explorations that ended with a loop left waiting at that bound.
    pub left_waiting: u64,
    /// The bound on time-outs of a thread, if it kept executions out
    /// ([`Explorer::timeouts`](super::Explorer::timeouts)).
    pub timeouts: Option<u32>,
    /// The bound on failures and wake-ups of a thread without a cause, if there may be any
    /// ([`Explorer::spurious`](super::Explorer::spurious)).
    pub spurious: Option<u32>,
    /// The bound on preemptions, if there is one ([`Explorer::preemptions`](super::Explorer::preemptions)).
    pub preemptions: Option<u32>,
    /// The bound on contexts, if there is one ([`Explorer::contexts`](super::Explorer::contexts)).
    pub contexts: Option<u32>,
    /// Executions that the search came across beyond either bound; they are not counted above.
    pub beyond: u64,
    /// The sizes of the groups of symmetric threads whose order was left out
    /// ([`spawn_symmetric`](super::spawn_symmetric)): executions that differ in their names alone are counted as one.
    pub symmetric: Vec<usize>,
    /// How the executions were drawn, if at random ([`Explorer::sample`](super::Explorer::sample)): not all of them are
    /// different then.
    pub sampled: Option<Sampled>,
    /// Where a bound ended the search: the part of it that was done, from 0 to 1, if every way on from a step were as
    /// large as the others. A guess; [`Explorer::estimate`](super::Explorer::estimate) knows its error.
    pub done: Option<f64>,
    /// Where an execution hit the bound on events or that on a loop's rounds: the loop, if there was one, by places in
    /// the code, and what to do about it.
    pub looping: Option<String>,
}

/// Executions drawn at random, and what that promises.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampled {
    /// How many were drawn.
    pub runs: u64,
    /// What they were drawn from.
    pub seed: u64,
    /// How many ordering constraints between steps suffice for a bug ([`Explorer::depth`](super::Explorer::depth)).
    pub depth: u32,
    /// Such a bug, if it shows under sequential consistency in an execution of no more threads and steps than below, is
    /// found at least so probably. 0 where nothing is stated.
    pub probability: f64,
    /// Why no probability is stated, if none is: PCT's bound does not hold for threads that give hints, nor for code
    /// that makes choices ([`choose`](super::choose), time-outs, which of several waiting threads is woken).
    pub unstated: Option<&'static str>,
    /// Of that probability: threads, steps of a run, and runs that count.
    pub threads: usize,
    /// The most steps of a run.
    pub steps: u64,
    /// Runs that follow PCT, find the newest writes, and drew from that many steps.
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
                "a bug that sequential consistency shows in at most {steps} steps of {threads} threads, and for which \
                 {depth} ordering constraints between steps suffice, is found with probability at least {probability:.3}"
            ),
        }
    }
}

/// How many executions there are, guessed from some.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The mean of the guesses, each of which is right on average.
    pub executions: f64,
    /// The standard error of that mean; infinite for one probe. Where a few ways hold most executions it is too small,
    /// and the mean most often too, as long as none of them has been drawn: then more probes change both much.
    pub error: f64,
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at least about {:.3e} executions, standard error {:.1e} (too small where few ways hold most of them)",
            self.executions, self.error
        )
    }
}

impl Report {
    /// Whether every execution that [`Report::coverage`] says was explored, and none broke a rule.
    pub fn holds(&self) -> bool {
        matches!(self.verdict, Verdict::Holds)
    }

    /// The violation, if there is one.
    pub fn violation(&self) -> Option<&Violation> {
        match &self.verdict {
            Verdict::Violated(violation) => Some(violation),
            _ => None,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.verdict {
            Verdict::Holds => {
                f.write_str("holds")?;
                self.told_coverage(f)?;
            }
            Verdict::Violated(violation) => {
                if violation.replayed {
                    f.write_str("violated along the schedule given")?;
                } else {
                    write!(f, "violated after {} executions", violation.after)?;
                }
                if let Some(preemptions) = violation.preemptions {
                    write!(f, ", with {preemptions} preemptions")?;
                }
                if let Some(contexts) = violation.contexts {
                    write!(f, ", of {contexts} contexts")?;
                }
                write!(f, ": {violation}")?
            }
            Verdict::Unknown(bound) => {
                write!(f, "unknown after {} executions: {bound}", self.executions)?;
                if let Some(sampled) = &self.sampled {
                    write!(f, "; {sampled}")?;
                }
                if let Some(looping) = &self.looping {
                    write!(f, "; {looping}")?;
                }
                if let Some(done) = self.done {
                    write!(f, "; {:.2} % of the search, if its ways are alike", 100.0 * done)?;
                }
            }
        }
        if self.beyond > 0 {
            let bound = if self.contexts.is_some() { "contexts" } else { "preemptions" };
            write!(f, " ({} executions beyond the bound on {bound})", self.beyond)?;
        }
        write!(f, " ({} blocked explorations)", self.blocked)
    }
}
