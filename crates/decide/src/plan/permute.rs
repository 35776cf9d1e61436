//! Do sets of values differ by more than chance?

use super::{Files, Keys, Plan, Told};
use crate::fingerprint::Fingerprint;
use crate::lines::{Lines, unless_several};
use crate::logfile::LogFile;
use crate::origin::Origin;
use crate::question::{Expected, Permute, Question};
use crate::record::{self, Head, Line, Stop};
use crate::resampling::ResampleTrial;
use crate::trial::{self, more_to_decide, remaining};
use crate::verdict::Verdict;
use crate::{Failure, catch_interrupts, interrupted, seed, value};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;
use uncontended_figures::progress::State;
use uncontended_figures::text::several;
use uncontended_figures::{Dimension, Quantity, whole};
use uncontended_stats::{Counts, Stopped};

/// The plan of `unc permute`, and of `[[permute]]`.
#[derive(Debug, Clone)]
pub struct PermutePlan {
    /// The file with the values of A, one per line.
    pub a: PathBuf,
    /// The file with the values of B.
    pub b: PathBuf,
    /// The files with the values of further groups: whether any two differ.
    pub more: Vec<PathBuf>,
    /// What A is multiplied by to give what is expected of B.
    pub scale: Option<f64>,
    /// What is added to A to give what is expected of B.
    pub shift: Option<Quantity>,
    /// What is compared: mean, median, max, or a percentile.
    pub statistic: String,
    /// Whether differences in either direction are extreme.
    pub two_sided: bool,
    /// A p-value below this is significant.
    pub level: f64,
    /// Lower end of the indifference zone.
    pub or_below: Option<f64>,
    /// Largest chance of a wrong verdict about the p-value, over all looks together.
    pub max_error: f64,
    /// Most resamples.
    pub max_runs: u64,
    /// Longest time.
    pub max_time: Option<Duration>,
    /// Seed of the resampling.
    pub seed: Option<u64>,
    /// Where to keep the question and the values.
    pub log: Option<PathBuf>,
}

/// The default level.
pub const DEFAULT_LEVEL: f64 = 0.05;
/// The default budget.
pub const DEFAULT_RESAMPLES: u64 = 1_000_000;
/// Most groups.
const MOST_GROUPS: usize = 8;
/// How many resamples pass between two updates of the progress line.
const OFTEN: u64 = 256;

impl Plan for PermutePlan {
    fn files(&self) -> Files<'_> {
        let more = self.more.iter().map(|path| ("values", path.as_path()));
        let read = [("values", self.a.as_path()), ("values", &self.b)].into_iter().chain(more);
        Files { read: read.collect(), log: self.log.as_deref() }
    }

    fn verdict(&self, told: Told) -> Result<Verdict, Failure> {
        let groups = [&self.a, &self.b].into_iter().chain(&self.more);
        let groups: Vec<Vec<Quantity>> =
            groups.map(|path| values(path)).collect::<Result<_, _>>()?;
        let permute = self.permute(&groups)?;
        let question = permute.question()?;
        let fewest = question.next_decision(Counts::default());
        if self.max_runs < fewest {
            return Err(Failure::new(
                format!(
                    "{} cannot decide this: it takes at least {}",
                    several(self.max_runs, "resample", "resamples"),
                    whole(fewest)
                ),
                format!(
                    "pass `PermutePlan::max_runs` {fewest} or more, or allow a larger `PermutePlan::max_error`"
                ),
            ));
        }
        let mut progress = told.progress;
        progress.say(&format!("Question: {}", permute.sentence()));
        let head = Head {
            schema: record::SCHEMA.to_string(),
            hypothesis: Question::Permute(permute.clone()),
            seed: permute.seed.clone(),
            warnings: Vec::new(),
            machine: Some(Fingerprint::here()),
            origin: Some(Origin::here()),
            circumstances: None,
        };
        let mut log = self.open_log(&Line::Head(Box::new(head.clone())))?;
        catch_interrupts()?;
        let trial = ResampleTrial::new(&permute, self.max_time, |judge| {
            let counts = judge.counts();
            if counts.trials().is_multiple_of(OFTEN) {
                progress.tick(counts.trials(), &|| {
                    let left = remaining(&question, counts);
                    let (all, extreme) = (whole(counts.trials()), whole(counts.successes()));
                    let text = format!("{all} resamples; {}", more_to_decide(left));
                    let found = format!("{extreme} as extreme");
                    State { text, left, found, ..State::default() }
                });
            }
            if interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        progress.clear();
        let stop = match trial.stopped() {
            Stopped::Decided => Stop::Decided,
            Stopped::Asked => Stop::Interrupted,
            Stopped::Time => Stop::MaxTime,
            _ => Stop::MaxRuns,
        };
        let mut verdict = trial::verdict(&trial, &head, stop);
        if let Some(log) = &mut log {
            let resamples = Some(verdict.finding.n);
            let verdict = verdict.finding.verdict.name().to_string();
            let end = Line::End { stop, verdict, resamples };
            log.write(&end).and_then(|()| log.take_place()).map_err(|error| self.failed(&error))?;
        }
        verdict.log = log.map(|log| log.path.display().to_string());
        Ok(verdict)
    }
}

impl PermutePlan {
    /// From the keys of a suite's table.
    ///
    /// # Errors
    /// What is wrong with a value.
    pub fn from_keys(keys: &mut Keys, max_error: f64) -> Result<PermutePlan, String> {
        let files = keys.texts("values")?;
        let mut plan = PermutePlan {
            a: PathBuf::new(),
            b: PathBuf::new(),
            more: Vec::new(),
            scale: keys.read("scale", value::factor)?,
            shift: keys.read("shift", Quantity::parse)?,
            statistic: keys.text("statistic")?.unwrap_or_else(|| "mean".to_string()),
            two_sided: keys.flag("two-sided")?,
            level: keys.read("level", value::rate)?.unwrap_or(DEFAULT_LEVEL),
            or_below: keys.read("or-below", value::rate)?,
            max_error,
            max_runs: keys.whole("max-runs", 1..=u64::MAX)?.unwrap_or(DEFAULT_RESAMPLES),
            max_time: keys.read("max-time", value::duration)?,
            seed: keys.whole("seed", 0..=u64::MAX)?,
            log: keys.text("log")?.map(PathBuf::from),
        };
        // Before a missing key: it may be there, mistyped.
        keys.end()?;
        let [a, b, more @ ..] = files.as_slice() else {
            return Err("values are two files, of A and of B, or more".to_string());
        };
        (plan.a, plan.b) = (a.into(), b.into());
        plan.more = more.iter().map(PathBuf::from).collect();
        Ok(plan)
    }

    /// The question about these values, of A, B and further groups.
    fn permute(&self, groups: &[Vec<Quantity>]) -> Result<Permute, Failure> {
        let dimension = groups[0][0].dimension;
        if groups.iter().any(|group| group[0].dimension != dimension) {
            return Err(Failure::new("the files have different units", "give all the same"));
        }
        if groups.len() > MOST_GROUPS {
            let cause = format!("{} files of values", groups.len());
            return Err(Failure::new(cause, format!("give at most {MOST_GROUPS}")));
        }
        let is_asked = self.scale.is_some() || self.shift.is_some() || self.two_sided;
        if !self.more.is_empty() && is_asked {
            return Err(Failure::new(
                "three groups or more have no direction, and none is expected to differ",
                "leave out `PermutePlan::two_sided`, `PermutePlan::scale` and `PermutePlan::shift`, or give two files",
            ));
        }
        // A bare number has the unit of the values.
        let shift = match self.shift {
            Some(shift) if shift.dimension == dimension => shift.value,
            Some(shift) if shift.dimension == Dimension::Number => shift.value * groups[0][0].scale,
            Some(_) => {
                let cause = "`PermutePlan::shift` has another unit than the values";
                return Err(Failure::new(cause, "give it in theirs"));
            }
            None => 0.0,
        };
        let expected = Expected { scale: self.scale.unwrap_or(1.0), shift };
        let plain = |values: &Vec<Quantity>| values.iter().map(|value| value.value).collect();
        Ok(Permute {
            unit: dimension.unit().to_string(),
            a: plain(&groups[0]),
            b: plain(&groups[1]),
            more: groups[2..].iter().map(plain).collect(),
            expected: (expected.scale != 1.0 || shift != 0.0).then_some(expected),
            statistic: self.statistic.clone(),
            two_sided: self.two_sided,
            level: self.level,
            or_below: self.or_below,
            max_error: self.max_error,
            most_resamples: self.max_runs,
            seed: seed(self.seed).to_string(),
        })
    }

    /// The log with its head. An existing one stays until the verdict.
    fn open_log(&self, head: &Line) -> Result<Option<LogFile>, Failure> {
        let Some(path) = &self.log else { return Ok(None) };
        record::check_path(path)?;
        let log = LogFile::open(path, Vec::new());
        log.and_then(|mut log| log.write(head).map(|()| Some(log)))
            .map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> Failure {
        let path = self.log.as_deref().unwrap_or(Path::new("")).display();
        Failure::new(format!("the log {path}: {error}"), "see `PermutePlan::log`")
    }
}

/// The values of a file, one per line, all in one dimension.
fn values(path: &Path) -> Result<Vec<Quantity>, Failure> {
    let mut first = None;
    Lines::open(path, "one value per line, nothing else")?.read_all(|line| {
        let value = Quantity::parse(line).map_err(|cause| unless_several(line, cause))?;
        match *first.get_or_insert(value.dimension) == value.dimension {
            true => Ok(value),
            false => Err(format!("'{line}' has a different unit than line 1")),
        }
    })
}
