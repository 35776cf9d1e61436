//! A measured benchmark as plain data, from which tables and JSON are made.

use crate::bench::Ratio;
use crate::place::Place;

/// A measured benchmark.
#[derive(Clone, Debug)]
pub struct Report {
    /// The benchmark's name.
    pub name: String,
    /// The question that it answers.
    pub question: String,
    /// The name of an operation.
    pub operation: &'static str,
    /// The ratio to the baseline that the rows show.
    pub ratio: Ratio,
    /// The seed of the order of blocks.
    pub seed: u64,
    /// The largest probability that any interval of one table is wrong.
    pub max_error: f64,
    /// The relative width of intervals at which a table stops.
    pub width: f64,
    /// The machine.
    pub facts: Facts,
    /// One table for each case and place.
    pub tables: Vec<Table>,
    /// Notes on all tables: what is not measured, which subject was left out.
    pub notes: Vec<String>,
    /// Warnings about the machine's clock.
    pub warnings: Vec<String>,
}

/// The machine that was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The processor's name.
    pub processor: String,
    /// The number of CPUs that the process may use.
    pub cpus: usize,
    /// The kernel's release.
    pub kernel: String,
    /// The load average of the last minute, before the start.
    pub load: Option<f64>,
    /// The length of one tick of the processor's counter, in nanoseconds.
    pub tick_ns: f64,
}

/// A case at a place.
#[derive(Clone, Debug)]
pub struct Table {
    /// The case's name; empty if there is only one.
    pub case: String,
    /// Where its threads ran.
    pub place: Place,
    /// The measurement, or why there is none.
    pub outcome: Result<Measurement, String>,
}

/// Why the rounds of a table ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Every interval is as narrow as requested.
    Narrow,
    /// Its share of the time is spent.
    Time,
    /// It had the largest allowed number of rounds.
    Rounds,
    /// It was interrupted.
    Interrupted,
    /// No subject is left to compare: all failed, or there is only the baseline.
    Nothing,
}

impl Stopped {
    /// The value in JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Stopped::Narrow => "narrow",
            Stopped::Time => "time",
            Stopped::Rounds => "rounds",
            Stopped::Interrupted => "interrupted",
            Stopped::Nothing => "nothing-to-compare",
        }
    }
}

/// The measurement of one table.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The CPUs of its threads; none if the scheduler chose.
    pub cpus: Vec<usize>,
    /// The number of blocks of every subject.
    pub rounds: u64,
    /// Why it ended.
    pub stopped: Stopped,
    /// Its duration in seconds.
    pub seconds: f64,
    /// The share of the machine's time that the hypervisor took.
    pub stolen: f64,
    /// The average number of CPUs that other processes kept busy.
    pub others: f64,
    /// The subjects in the order given, the A/A control right after the baseline.
    pub rows: Vec<Row>,
    /// What makes the table weaker than it looks, each with its remedy.
    pub warnings: Vec<String>,
}

/// The role of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The other rows are compared with it.
    Baseline,
    /// The baseline once more, compared with itself: the ratio must show no difference.
    Control,
    /// A subject that is compared with the baseline.
    Subject,
}

impl Role {
    /// The value in JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Role::Baseline => "baseline",
            Role::Control => "control",
            Role::Subject => "subject",
        }
    }
}

/// The row of one subject.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Why it has no (further) measurements, if it failed.
    pub failed: Option<String>,
    /// The number of its blocks.
    pub blocks: u64,
    /// The number of operations of all its blocks.
    pub operations: u64,
    /// Wall time per operation: the median over blocks.
    pub ns_per_operation: Option<f64>,
    /// The ratio to the baseline.
    pub ratio: Option<Estimate>,
    /// CPU time per operation, of all threads, over all blocks.
    pub cpu_ns_per_operation: Option<f64>,
    /// CPU time per second of wall time.
    pub cpu_share: Option<f64>,
    /// Voluntary context switches per second: a thread slept.
    pub voluntary_per_s: Option<f64>,
    /// Involuntary context switches per second: a thread was preempted.
    pub involuntary_per_s: Option<f64>,
    /// Latencies of single operations, if the subject times them.
    pub latency_ns: Option<Latency>,
    /// The subject's own figures: their medians over blocks.
    pub figures: Vec<(&'static str, f64)>,
    /// Wall time per operation of every block, in their order.
    pub block_ns: Vec<f64>,
    /// The subject's own figures of every block, in their order.
    pub block_figures: Vec<(&'static str, Vec<f64>)>,
}

impl Row {
    /// A row without measurements.
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
            block_ns: Vec::new(),
            block_figures: Vec::new(),
        }
    }
}

/// The median of a ratio over rounds, with an interval that holds at all looks together; an unbounded end is 0 or
/// infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median of the ratios seen.
    pub median: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Percentiles in nanoseconds, each less than 1 % too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// The number of operations timed.
    pub count: u64,
    /// The median.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The 99.99th percentile.
    pub p9999: u64,
    /// The longest time, exact.
    pub max: u64,
}
