//! What to measure of a run, and how to read it.
//!
//! # Contract
//! A metric is a finite number in the base unit of its dimension. A run that does not show it is an error with the
//! reason, never a zero.

use crate::path::Path;
use regex_lite::{Regex, RegexBuilder};
use std::io;
use uncontended_figures::{self as figures, Dimension, Quantity};
use uncontended_sys::counters::Event;
use uncontended_sys::supervise::Ended;

/// A metric of a run.
#[derive(Debug, Clone)]
pub struct Metric {
    /// As the user wrote it.
    pub name: String,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Wall,
    User,
    System,
    Cpu,
    MaxRss,
    Counted(fn(&Ended) -> u64),
    Event(Event),
    ExitStatus,
    Printed(Regex),
    Json(Path),
    Run(Path),
}

/// The metrics that a name is enough for.
pub const NAMES: [&str; 17] = [
    "wall",
    "user",
    "sys",
    "cpu",
    "max-rss",
    "minor-faults",
    "major-faults",
    "voluntary-switches",
    "involuntary-switches",
    "cpu-migrations",
    "instructions",
    "cycles",
    "branches",
    "branch-misses",
    "cache-references",
    "cache-misses",
    "exit-status",
];

impl Metric {
    /// Reads a metric's name.
    pub fn parse(text: &str) -> Result<Metric, String> {
        let kind = match text.split_once(':') {
            Some(("regex", pattern)) => {
                // `^` and `$` match at line ends, as users of grep expect.
                let regex = RegexBuilder::new(pattern).multi_line(true).build();
                Kind::Printed(regex.map_err(|error| format!("'{pattern}': {error}"))?)
            }
            Some(("json", path)) => Kind::Json(Path::parse(path)?),
            Some(("run", path)) => Kind::Run(Path::parse(path)?),
            _ => match text {
                "wall" => Kind::Wall,
                "user" => Kind::User,
                "sys" => Kind::System,
                "cpu" => Kind::Cpu,
                "max-rss" => Kind::MaxRss,
                "minor-faults" => Kind::Counted(|ended| ended.minor_faults),
                "major-faults" => Kind::Counted(|ended| ended.major_faults),
                "voluntary-switches" => Kind::Counted(|ended| ended.voluntary_switches),
                "involuntary-switches" => Kind::Counted(|ended| ended.involuntary_switches),
                "exit-status" => Kind::ExitStatus,
                name => match Event::ALL.iter().find(|(event, _)| *event == name) {
                    Some((_, event)) => Kind::Event(*event),
                    None => {
                        return Err(format!(
                            "unknown metric '{text}'; use {}, regex:PATTERN, json:PATH or run:PATH",
                            NAMES.join(", ")
                        ));
                    }
                },
            },
        };
        Ok(Metric { name: text.to_string(), kind })
    }

    /// The dimension of a threshold for this metric; `None` if the printed text decides.
    pub fn dimension(&self) -> Option<Dimension> {
        match &self.kind {
            Kind::Wall | Kind::User | Kind::System | Kind::Cpu => Some(Dimension::Time),
            Kind::MaxRss => Some(Dimension::Bytes),
            Kind::Counted(_) | Kind::Event(_) | Kind::ExitStatus | Kind::Json(_) => {
                Some(Dimension::Number)
            }
            Kind::Run(path) if path.is_time() => Some(Dimension::Time),
            Kind::Run(_) => Some(Dimension::Number),
            Kind::Printed(_) => None,
        }
    }

    /// Whether standard output must be kept.
    pub fn reads_output(&self) -> bool {
        matches!(self.kind, Kind::Printed(_) | Kind::Json(_))
    }

    /// Whether the command runs under `unc run`, whose JSON file is read.
    pub fn reads_run(&self) -> bool {
        matches!(self.kind, Kind::Run(_))
    }

    /// Whether a nonzero status is the measured value instead of a failure.
    pub fn is_exit_status(&self) -> bool {
        matches!(self.kind, Kind::ExitStatus)
    }

    /// What the kernel or the processor has to count.
    pub fn event(&self) -> Option<Event> {
        match self.kind {
            Kind::Event(event) => Some(event),
            _ => None,
        }
    }

    /// Whether the metric is the resident set.
    pub fn is_max_rss(&self) -> bool {
        matches!(self.kind, Kind::MaxRss)
    }

    /// A warning if `threshold` is close to what the metric cannot show: before its exec, a child is a copy of this
    /// process, and the kernel counts that memory too.
    pub fn floor(&self, threshold: f64) -> Option<String> {
        let floor = own_data_bytes()? + HALF_MIB;
        let near = self.is_max_rss() && threshold < 4.0 * floor;
        near.then(|| {
            format!(
                "max-rss shows nothing below about {}, the memory of the child before its exec",
                figures::measured(floor, Dimension::Bytes)
            )
        })
    }

    /// The number that `ended` shows; `run_json` is what `unc run` wrote.
    pub fn read(&self, ended: &Ended, run_json: Option<&[u8]>) -> Result<Quantity, String> {
        let exact = |value: f64, dimension| Quantity { value, dimension, scale: 1.0 };
        let time = |time: std::time::Duration| exact(time.as_nanos() as f64, Dimension::Time);
        match &self.kind {
            Kind::Wall => Ok(time(ended.wall)),
            Kind::User => Ok(time(ended.user)),
            Kind::System => Ok(time(ended.system)),
            Kind::Cpu => Ok(time(ended.user + ended.system)),
            Kind::MaxRss => Ok(exact(ended.max_rss_bytes as f64, Dimension::Bytes)),
            Kind::Counted(count) => Ok(exact(count(ended) as f64, Dimension::Number)),
            Kind::Event(event) => {
                let counts = &ended.counts;
                match counts.iter().find(|(counted, _)| counted == event).map(|(_, count)| count) {
                    Some(Ok(count)) => Ok(exact(*count as f64, Dimension::Number)),
                    Some(Err(error)) if error.kind() == io::ErrorKind::ResourceBusy => {
                        Err("the processor has too few counters for all that is counted, and others may use them too".to_owned())
                    }
                    Some(Err(error)) => Err(error.to_string()),
                    None => Err("it was not counted".to_owned()),
                }
            }
            Kind::ExitStatus => {
                let status = ended.code.or(ended.signal.map(|signal| 128 + signal)).unwrap_or(0);
                Ok(exact(f64::from(status), Dimension::Number))
            }
            Kind::Printed(pattern) => printed(pattern, &ended.output),
            Kind::Json(path) => {
                number(path, &ended.output).map(|value| exact(value, Dimension::Number))
            }
            Kind::Run(path) => {
                let dimension = self.dimension().unwrap_or(Dimension::Number);
                number(path, run_json.unwrap_or_default()).map(|value| exact(value, dimension))
            }
        }
    }
}

/// What a child touches of its own memory before its exec; measured.
const HALF_MIB: f64 = 524_288.0;

/// The resident data of this process, as the kernel counts it.
fn own_data_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok().map(|kibibytes| kibibytes * 1024.0)
}

/// The first match in the output: its group 1, or the whole match.
fn printed(pattern: &Regex, output: &[u8]) -> Result<Quantity, String> {
    let text = String::from_utf8_lossy(output);
    let Some(groups) = pattern.captures(&text) else {
        return Err(format!("nothing on its standard output matches '{pattern}'"));
    };
    let found = groups.get(1).or(groups.get(0)).map_or("", |group| group.as_str());
    Quantity::parse(found)
        .map_err(|error| format!("what matches '{pattern}' is not a number: {error}"))
}

fn number(path: &Path, json: &[u8]) -> Result<f64, String> {
    let document =
        serde_json::from_slice(json).map_err(|error| format!("it is not JSON: {error}"))?;
    path.number(&document)
}
