//! A measured benchmark as plain data: what tables and JSON are made of.

use crate::bench::Ratio;
use crate::place::Place;

/// What was measured, and how.
#[derive(Clone, Debug)]
pub struct Report {
    /// The benchmark's name.
    pub name: String,
    /// What it answers.
    pub question: String,
    /// What an operation is called.
    pub operation: &'static str,
    /// Which ratio to the baseline the rows have.
    pub ratio: Ratio,
    /// Of the order of blocks.
    pub seed: u64,
    /// The largest chance that any interval of one table is wrong.
    pub max_error: f64,
    /// The relative width at which a table was to stop.
    pub width: f64,
    /// The machine.
    pub facts: Facts,
    /// One for each case and place.
    pub tables: Vec<Table>,
    /// What is to be known about all tables: what is not measured, which subject was left out.
    pub notes: Vec<String>,
    /// What is wrong with the machine's clock.
    pub warnings: Vec<String>,
}

/// The machine that was measured on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The processor's name.
    pub processor: String,
    /// How many CPUs the process may use.
    pub cpus: usize,
    /// The kernel's release.
    pub kernel: String,
    /// Threads that wanted to run, averaged over the last minute, before the start.
    pub load: Option<f64>,
    /// Nanoseconds of one tick of the processor's counter.
    pub tick_ns: f64,
}

/// A case at a place.
#[derive(Clone, Debug)]
pub struct Table {
    /// The case's name; empty for the only one.
    pub case: String,
    /// Where its threads ran.
    pub place: Place,
    /// The figures, or why there are none.
    pub outcome: Result<Measurement, String>,
}

/// Why a table's rounds ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Every interval is as narrow as asked for.
    Narrow,
    /// Its share of the time was spent.
    Time,
    /// It had as many rounds as allowed.
    Rounds,
    /// No subject is left to compare: all failed, or there is but the baseline.
    Nothing,
}

impl Stopped {
    /// As in JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Stopped::Narrow => "narrow",
            Stopped::Time => "time",
            Stopped::Rounds => "rounds",
            Stopped::Nothing => "nothing-to-compare",
        }
    }
}

/// The figures of one table.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The CPUs of its threads; none if the scheduler chose.
    pub cpus: Vec<usize>,
    /// How often every subject had a block.
    pub rounds: u64,
    /// Why it ended.
    pub stopped: Stopped,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The part of the machine's time that the hypervisor took away.
    pub stolen: f64,
    /// How many CPUs other processes kept busy, on average.
    pub others: f64,
    /// The subjects, in the order given, the A/A control right after the baseline.
    pub rows: Vec<Row>,
    /// What makes the figures weaker than they look, each with what to do about it.
    pub warnings: Vec<String>,
}

/// What a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The others are compared with it.
    Baseline,
    /// The baseline once more, compared with itself: what shows no difference must show none.
    Control,
    /// Anything else.
    Subject,
}

impl Role {
    /// As in JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Role::Baseline => "baseline",
            Role::Control => "control",
            Role::Subject => "subject",
        }
    }
}

/// One subject.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// Why it has no (further) figures, if it failed.
    pub failed: Option<String>,
    /// How many blocks it had.
    pub blocks: u64,
    /// How many operations they had together.
    pub operations: u64,
    /// Wall time of an operation: the median over blocks.
    pub ns_per_operation: Option<f64>,
    /// The ratio to the baseline.
    pub ratio: Option<Estimate>,
    /// CPU time of an operation, of all threads, over all blocks.
    pub cpu_ns_per_operation: Option<f64>,
    /// CPU time for each second of wall time.
    pub cpu_share: Option<f64>,
    /// Context switches because a thread slept, a second.
    pub voluntary_per_s: Option<f64>,
    /// Context switches because a thread was made to give way, a second.
    pub involuntary_per_s: Option<f64>,
    /// Of single operations, where the subject times those.
    pub latency_ns: Option<Latency>,
    /// The subject's own figures: the median over blocks.
    pub figures: Vec<(&'static str, f64)>,
}

impl Row {
    /// A row without figures.
    #[must_use]
    pub fn new(name: &str, role: Role) -> Row {
        Row {
            name: name.to_owned(),
            role,
            failed: None,
            blocks: 0,
            operations: 0,
            ns_per_operation: None,
            ratio: None,
            cpu_ns_per_operation: None,
            cpu_share: None,
            voluntary_per_s: None,
            involuntary_per_s: None,
            latency_ns: None,
            figures: Vec::new(),
        }
    }
}

/// The median of a ratio over rounds, and where it lies at all looks together; an end is 0 or infinite while unbounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median of the ratios seen.
    pub median: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Percentiles, in nanoseconds, each less than 1 % too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// How many operations were timed.
    pub count: u64,
    /// Half are not above it.
    pub p50: u64,
    /// 99 % are not.
    pub p99: u64,
    /// 99.9 % are not.
    pub p999: u64,
    /// The longest, exactly.
    pub max: u64,
}
