//! What contention costs on this machine: tables that others made on theirs, with intervals, in a minute.
//!
//! # Contract
//! A [`Survey`] has topics, each of which states its question, measures by the engine of `bench` (interleaved blocks in
//! random order, an A/A control, intervals that hold at all looks) until its intervals are narrow or its share of the
//! time is spent, and says what it did not measure. Figures are of this machine and this hour: a warning says what puts
//! them in doubt.
//! # Evidence
//! tests/ledger.rs: waits, idle times and hand-offs from a schedule made by hand; tests/planted.rs: locks with a
//! bug are named.

#![forbid(unsafe_code)]

mod affinity;
mod bystander;
mod class;
mod clock_share;
mod columns;
mod contention;
mod cores;
mod counted;
mod exchange;
mod fast_path;
mod fences;
mod findings;
mod gaps;
mod guarded;
mod jitter;
pub mod ledger;
pub mod locks;
mod machine;
mod names;
mod osnoise;
mod pool;
mod quota;
mod readers;
mod regression;
mod scale;
mod short;
mod spawn;
mod subject;
mod text;
pub mod throughput;
mod topic;
pub mod usl;

pub use affinity::{OverTime, Slice, Step};
pub use class::Class;
pub use cores::Matrix;
pub use fences::{Comparison, Fence, Percentile, Timed};
pub use findings::{FOUND_ON, Finding, Pair};
pub use gaps::Cause;
pub use jitter::{ByCause, Gaps, LongGap};
pub use machine::{Cache, Machine};
pub use osnoise::Noise;
pub use short::in_short;
pub use text::{markdown, tables, text};
pub use topic::{Ends, HandOff, Intervals, OverBlocks, Row, Slowed, Topic};

use serde::Serialize;
use std::time::{Duration, SystemTime};
use uncontended_bench::{Cpu, Options};

/// The schema of the JSON.
pub const SCHEMA: &str = "uncontended.survey/1";

/// How to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The time for all topics together.
    pub budget: Duration,
    /// Whether to measure every row, or those that most people look for.
    pub full: bool,
    /// The seed of the order of blocks.
    pub seed: u64,
    /// No progress on standard error.
    pub quiet: bool,
    /// The work of a holder and of a thread between two acquisitions, in cache lines that it changes.
    pub work: locks::Work,
    /// The locks to measure, next to std's mutex; none: all.
    pub locks: Vec<&'static str>,
    /// The most threads of a row; none: twice as many as CPUs.
    pub threads: Option<usize>,
    /// Throughput by number of threads to which the topic `scale` fits its law, with its name; none: what was measured.
    pub throughput: Option<(String, Vec<usl::Point>)>,
    /// Whether to end, asked between blocks: the topics that were measured are kept.
    pub is_over: fn() -> bool,
}

impl Plan {
    /// The options of a benchmark that has the whole budget.
    fn options(&self) -> Options {
        Options {
            seconds: self.budget.as_secs_f64(),
            quiet: self.quiet,
            seed: self.seed,
            ..Options::default()
        }
    }
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            budget: Duration::from_secs(60),
            full: false,
            seed: 1,
            quiet: false,
            work: locks::Work::default(),
            locks: Vec::new(),
            threads: None,
            throughput: None,
            is_over: || false,
        }
    }
}

/// What a topic warns of in a build for debugging.
const UNOPTIMISED: &str = "a build without optimisation: the survey's own code takes several times as long; measure with a release build";

/// A part of the survey.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// The question that it answers.
    pub question: &'static str,
    /// Measures, knowing the topics before it.
    measure: fn(&Plan, &[Topic]) -> Topic,
    /// Its part of the time, relative to the others.
    weight: u32,
}

/// Every topic, in the order of the report.
pub const PARTS: [Part; 8] = [
    Part {
        name: "machine",
        question: machine::QUESTION,
        measure: |plan, _| machine::measure(plan),
        weight: 0,
    },
    Part {
        name: "contention",
        question: contention::QUESTION,
        measure: |plan, _| contention::measure(plan),
        weight: 2,
    },
    Part {
        name: "locks",
        question: locks::QUESTION,
        measure: |plan, _| locks::measure(plan),
        weight: 5,
    },
    Part { name: "scale", question: scale::QUESTION, measure: scale::measure, weight: 2 },
    Part {
        name: "fences",
        question: fences::QUESTION,
        measure: |plan, _| fences::measure(plan),
        weight: 2,
    },
    Part {
        name: "spawn",
        question: spawn::QUESTION,
        measure: |plan, _| spawn::measure(plan),
        weight: 2,
    },
    Part {
        name: "jitter",
        question: jitter::QUESTION,
        measure: |plan, _| jitter::measure(plan),
        weight: 1,
    },
    Part {
        name: "affinity",
        question: affinity::QUESTION,
        measure: |plan, _| affinity::measure(plan),
        weight: 2,
    },
];

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Survey {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The version that measured.
    pub version: &'static str,
    /// When it began, in seconds since 1970.
    pub started_unix_s: u64,
    /// The command line; empty if a program measured by [`measure`].
    pub command: Vec<String>,
    /// The time that the topics were given together.
    pub budget_s: f64,
    /// The seed of the order of blocks.
    pub seed: u64,
    /// The machine.
    pub machine: Machine,
    /// The topics.
    pub topics: Vec<Topic>,
}

impl Survey {
    /// Whether nothing was measured, or read: each topic says why.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.topics.iter().all(|topic| topic.rows.is_empty() && topic.matrix.is_none())
    }

    /// Whether some row has no interval that excludes or includes anything yet, or no figure is to be trusted.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        let has_figures = |topic: &&Topic| topic.topic != "machine" && !topic.rows.is_empty();
        let mut topics = self.topics.iter().filter(has_figures).peekable();
        let is_in_doubt = topics.peek().is_some() && topics.all(Topic::is_in_doubt);
        is_in_doubt || self.topics.iter().any(Topic::is_undecided)
    }
}

/// Measures these parts, one after the other, in the order of [`PARTS`]: some use what others measured.
#[must_use]
pub fn measure(parts: &[Part], plan: &Plan) -> Survey {
    let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let machine = Machine::read();
    let mut parts = parts.to_vec();
    parts.sort_by_key(|part| PARTS.iter().position(|known| known.name == part.name));
    let parts = &parts;
    let weights: u32 = parts.iter().map(|part| weight(part, parts, plan)).sum();
    let groups = quota::Groups::own().limited();
    let mut topics: Vec<Topic> = Vec::new();
    for part in parts {
        if (plan.is_over)() {
            topics.push(Topic::left_out(part.name, part.question, "interrupted"));
            continue;
        }
        let share = f64::from(weight(part, parts, plan)) / f64::from(weights.max(1));
        let plan = Plan { budget: plan.budget.mul_f64(share), ..plan.clone() };
        let before = groups.throttled();
        let mut topic = (part.measure)(&plan, &topics);
        topic.warnings.extend(groups.throttled().since(before).said());
        if cfg!(debug_assertions) && !topic.rows.is_empty() {
            topic.warnings.insert(0, UNOPTIMISED.to_owned());
        }
        if (plan.is_over)() {
            topic.stopped_by = "interrupted";
            topic
                .warnings
                .push("interrupted: the figures are of what was measured until then".to_owned());
        }
        topics.push(topic);
    }
    Survey {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        started_unix_s: started.map_or(0, |since| since.as_secs()),
        command: Vec::new(),
        budget_s: plan.budget.as_secs_f64(),
        seed: plan.seed,
        machine,
        topics,
    }
}

/// A part's weight among these: the law of scaling takes no time if its figures come from elsewhere.
fn weight(part: &Part, parts: &[Part], plan: &Plan) -> u32 {
    let cpus = Cpu::allowed().map_or(1, |cpus| cpus.len());
    let is_given =
        plan.throughput.is_some() || scale::is_fed(parts.iter().map(|part| part.name), cpus);
    if part.name == "scale" && is_given { 0 } else { part.weight }
}
