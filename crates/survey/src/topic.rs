//! A topic's answer as plain data, from which the table and the JSON are made.

use crate::Class;
use crate::affinity::OverTime;
use crate::cores::Matrix;
use crate::fences::{Comparison, Fence};
use crate::findings::Finding;
use crate::jitter::Gaps;
use crate::usl::Fit;
use serde::Serialize;
use uncontended_bench::{Measurement, Report, Role, Stopped, Table};
use uncontended_stats::{MaxError, Method, QuantileSequence, Rate};

/// A topic's answer.
#[derive(Clone, Debug, Serialize)]
pub struct Topic {
    /// Its name.
    pub topic: &'static str,
    /// Its question.
    pub question: &'static str,
    /// Why it ended: `narrow` intervals, `time`, `rounds`, or `nothing-to-compare`; `read` if nothing was measured.
    pub stopped_by: &'static str,
    /// What the ratios are relative to.
    pub baseline: Option<String>,
    /// The rows.
    pub rows: Vec<Row>,
    /// The latency from each CPU to each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matrix: Option<Matrix>,
    /// How much faster one heavy fence is than another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
    /// What others found, and whether it holds here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What was not measured, with the reason.
    pub not_measured: Vec<String>,
    /// What puts the figures in doubt, each with its remedy.
    pub warnings: Vec<String>,
    /// What to know when reading the figures.
    pub notes: Vec<String>,
}

/// A row of a topic.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// By how many threads.
    pub threads: usize,
    /// Their scheduling class.
    pub class: Class,
    /// Whether the others are compared with it, or it is the baseline once more.
    pub role: &'static str,
    /// Time per operation: the median over blocks.
    pub ns: Option<f64>,
    /// The ratio to the baseline, and its interval, which holds at all looks.
    pub ratio: Option<f64>,
    /// The interval's lower end.
    pub low: Option<f64>,
    /// Its upper end; none if it has no bound yet.
    pub high: Option<f64>,
    /// CPU time of all threads per operation.
    pub cpu_ns: Option<f64>,
    /// The mean time from a call to the acquisition: the median over blocks. Of locks for readers: of writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<f64>,
    /// The mean time per operation during which the lock was free and some thread wanted it: the median over blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_ns: Option<f64>,
    /// From a release to the acquisition by a thread that had waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand_off_ns: Option<HandOff>,
    /// The same by blocks, with intervals, each at 95 %, at all looks, if blocks are independent.
    #[serde(skip_serializing_if = "Intervals::is_empty")]
    pub intervals: Intervals,
    /// The longest waits of the four blocks with the longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_wait_ns: Option<[u64; 4]>,
    /// Whether they were not over when their block ended: they lasted at least as long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_wait_is_cut: Option<[bool; 4]>,
    /// The longest idle times of the four blocks with the longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_idle_ns: Option<[u64; 4]>,
    /// Likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_idle_is_cut: Option<[bool; 4]>,
    /// What the ratio would be without the readings of the clock that both of its terms contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_without_clock: Option<Ends>,
    /// Of locks for readers: one access in this many writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_write_in: Option<u64>,
    /// How often a waiter was overtaken by threads that came later, at 99 of 100 hand-offs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overtaken_p99: Option<f64>,
    /// What a lock and its release cost where no other thread wants it, without a reading of the clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_path_ns: Option<f64>,
    /// How much work that wants no lock is slowed meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bystander: Option<Slowed>,
    /// How many blocks and operations the longest times are of.
    pub blocks: u64,
    /// Operations of all blocks.
    pub operations: u64,
    /// The case of the benchmark that it is from.
    #[serde(skip)]
    pub case: String,
    /// Time per operation of every block.
    #[serde(skip)]
    pub block_ns: Vec<f64>,
    /// Other figures of every block, by name.
    #[serde(skip)]
    pub block_figures: Vec<(&'static str, Vec<f64>)>,
    /// How throughput grows with the number of threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usl: Option<Fit>,
    /// The gaps of a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Gaps>,
    /// Heavy fences, timed one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// The rate over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_time: Option<OverTime>,
    /// Why it has no figures, or should have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl Row {
    /// Whether its whole interval is below the baseline.
    #[must_use]
    pub fn is_faster(&self) -> bool {
        self.high.is_some_and(|high| high < 1.0)
    }

    /// Whether its whole interval is above the baseline.
    #[must_use]
    pub fn is_slower(&self) -> bool {
        self.low.is_some_and(|low| low > 1.0)
    }
}

/// Percentiles of all hand-offs of a row together, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
pub struct HandOff {
    /// The median.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
}

/// Both ends of an interval; none if an end has no bound yet.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Ends {
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// A figure of each block: its median over blocks, with an interval at 95 %.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct OverBlocks {
    /// The median.
    pub median: f64,
    /// The interval's lower end; none if it has no bound yet.
    pub low: Option<f64>,
    /// Its upper end; none likewise.
    pub high: Option<f64>,
}

/// Figures of a row's blocks.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq)]
pub struct Intervals {
    /// The mean wait of a block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<OverBlocks>,
    /// The mean idle time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_ns: Option<OverBlocks>,
    /// The median hand-off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand_off_p50_ns: Option<OverBlocks>,
    /// The 99th percentile of hand-offs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand_off_p99_ns: Option<OverBlocks>,
}

impl Intervals {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Intervals::default()
    }

    fn of(figures: &[(&'static str, Vec<f64>)]) -> Intervals {
        let of = |name| {
            let (_, values) = figures.iter().find(|(own, _)| *own == name)?;
            let sequence = sequence(values);
            let Ends { low, high } = Ends::bounded(sequence.interval());
            Some(OverBlocks { median: sequence.estimate()?, low, high })
        };
        Intervals {
            wait_ns: of("wait_ns"),
            idle_ns: of("idle_ns"),
            hand_off_p50_ns: of("hand_off_p50_ns"),
            hand_off_p99_ns: of("hand_off_p99_ns"),
        }
    }
}

/// The median of these values, with an interval at 95 %, at all looks.
fn sequence(values: &[f64]) -> QuantileSequence {
    let max_error = MaxError::new(0.05).expect("a chance");
    let mut median = QuantileSequence::new(Rate::HALF, Method::OneSided, max_error);
    // Times are numbers.
    values.iter().for_each(|&value| _ = median.push(value));
    median
}

impl Ends {
    /// Of the median of these values, at 95 %, at all looks.
    pub(crate) fn of(values: &[f64]) -> Ends {
        Ends::bounded(sequence(values).interval())
    }

    /// An end that is infinite has no bound.
    pub(crate) fn bounded((low, high): (f64, f64)) -> Ends {
        let end = |value: f64| value.is_finite().then_some(value);
        Ends { low: end(low), high: end(high) }
    }
}

/// How much a bystander was slowed: its time relative to that without threads that want the lock.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Slowed {
    /// The median over rounds.
    pub ratio: f64,
    /// The interval's lower end.
    pub low: Option<f64>,
    /// Its upper end; none if it has no bound yet.
    pub high: Option<f64>,
    /// Its CPU: `own`, or `shared` with the threads that want the lock, where there are only two.
    pub cpu: &'static str,
}

impl Slowed {
    /// As a row has it.
    pub(crate) fn of(row: &Row, cpu: &'static str) -> Option<Slowed> {
        Some(Slowed { ratio: row.ratio?, low: row.low, high: row.high, cpu })
    }
}

impl Topic {
    /// A topic without rows, for the reason given.
    pub(crate) fn left_out(topic: &'static str, question: &'static str, why: &str) -> Topic {
        Topic {
            topic,
            question,
            stopped_by: "nothing-to-compare",
            baseline: None,
            rows: Vec::new(),
            comparisons: Vec::new(),
            findings: Vec::new(),
            matrix: None,
            not_measured: vec![format!("everything: {why}")],
            warnings: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// From a benchmark; `describe` says how many threads, of which class, a row of a case has.
    pub(crate) fn of(
        (topic, question): (&'static str, &'static str),
        report: &Report,
        describe: impl Fn(&str, &str) -> (usize, Class),
    ) -> Topic {
        let mut all = Topic::left_out(topic, question, "");
        (all.not_measured, all.warnings) = (Vec::new(), report.warnings.clone());
        all.stopped_by = stopped(report).key();
        for Table { case, outcome, .. } in &report.tables {
            match outcome {
                Ok(measured) => all.add(case, measured, &describe),
                Err(why) if case.is_empty() => {
                    all.not_measured.push(format!("{}: {why}", report.name))
                }
                Err(why) => all.not_measured.push(format!("{case}: {why}")),
            }
        }
        all.warnings.dedup();
        all
    }

    fn add(
        &mut self,
        case: &str,
        measured: &Measurement,
        describe: &impl Fn(&str, &str) -> (usize, Class),
    ) {
        for row in &measured.rows {
            let (threads, class) = describe(case, &row.name);
            if row.blocks == 0 && row.failed.as_deref().is_none_or(is_interruption) {
                let case = if case.is_empty() { "" } else { &format!(", {case}") };
                self.not_measured.push(format!("{}{case}: interrupted", row.name));
                continue;
            }
            if row.role == Role::Baseline {
                self.baseline.get_or_insert_with(|| row.name.clone());
            }
            let end = |value: f64| value.is_finite().then_some(value);
            let figure = |name| row.figures.iter().find(|(own, _)| *own == name).map(|(_, v)| *v);
            self.rows.push(Row {
                name: row.name.clone(),
                threads,
                class,
                role: row.role.key(),
                ns: row.ns_per_operation,
                ratio: row.ratio.map(|ratio| ratio.median),
                low: row.ratio.and_then(|ratio| end(ratio.low)),
                high: row.ratio.and_then(|ratio| end(ratio.high)),
                cpu_ns: row.cpu_ns_per_operation,
                wait_ns: figure("wait_ns"),
                idle_ns: figure("idle_ns"),
                overtaken_p99: figure("overtaken_p99"),
                hand_off_ns: row.latency_ns.map(|latency| HandOff {
                    p50: latency.p50,
                    p99: latency.p99,
                    p999: latency.p999,
                }),
                intervals: Intervals::of(&row.block_figures),
                blocks: row.blocks,
                operations: row.operations,
                block_ns: row.block_ns.clone(),
                block_figures: row.block_figures.clone(),
                failed: row.failed.as_deref().map(reason),
                case: case.to_owned(),
                ..Row::default()
            });
        }
        let named = |warning: &String| {
            let warning = warning.replace("panicked: ", "");
            // The flag of `unc survey` for what the benchmarks call so.
            let warning = warning.replace("--seconds", "--budget");
            let warning = warning.replace(
                "leave it out with --only",
                "leave it out, with --lock for each of the others,",
            );
            if case.is_empty() { warning } else { format!("{case}: {warning}") }
        };
        self.warnings.extend(measured.warnings.iter().map(named));
    }

    /// Whether some row failed, or has no bounded interval.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        let open = |row: &Row| {
            let is_slowed_open = row.bystander.is_some_and(|slowed| slowed.high.is_none());
            row.failed.is_some() || row.ratio.is_some() && row.high.is_none() || is_slowed_open
        };
        let mut fits = self.rows.iter().filter_map(|row| row.usl.as_ref()).peekable();
        let no_fit_is_bounded = fits.peek().is_some() && !fits.any(|fit| fit.is_bounded());
        self.rows.iter().any(open) || no_fit_is_bounded
    }

    /// Whether no row has a figure that is to be trusted.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.rows.iter().all(|row| row.usl.as_ref().is_some_and(|fit| !fit.is_trusted))
    }
}

/// Why a row failed. A check of the survey panics; that is how, and not why.
fn reason(failed: &str) -> String {
    failed.strip_prefix("panicked: ").unwrap_or(failed).to_owned()
}

fn is_interruption(failed: &str) -> bool {
    failed.starts_with("interrupted") || failed == "hung earlier"
}

/// Why the last table ended that ended by its time, else any.
fn stopped(report: &Report) -> Stopped {
    let ends = report.tables.iter().filter_map(|table| table.outcome.as_ref().ok());
    let ends: Vec<Stopped> = ends.map(|measured| measured.stopped).collect();
    let by_time = ends.iter().find(|&&end| end == Stopped::Time);
    by_time.or(ends.first()).copied().unwrap_or(Stopped::Nothing)
}
