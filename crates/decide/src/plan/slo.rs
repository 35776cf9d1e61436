//! Does a property hold in at least a share of all runs? Of a command, of values, or by counts.

use super::{Files, Keys, Limits, Plan, Runs, Told};
use crate::lines::{Lines, unless_several};
use crate::measure::{self, Budget};
use crate::question::{Bound, Bursts, Decider, Question, Side, Slo};
use crate::record::{Run, Stop};
use crate::runner::{Prepared, Runner};
use crate::session::Session;
use crate::verdict::{Holds, OfRate, SCHEMA, Verdict};
use crate::{Failure, catch_interrupts, rates, value};
use std::path::PathBuf;
use uncontended_figures::text::several;
use uncontended_figures::{Dimension, Quantity, given, given_percent, percentile, whole};
use uncontended_stats::bursts::BurstJudge;
use uncontended_stats::{self as stats, Counts};

/// The plan of `unc slo`, and of `[[slo]]`.
#[derive(Debug, Clone)]
pub struct SloPlan {
    /// The property of one value; none for counts.
    pub bound: Option<(Side, Quantity)>,
    /// The rate asked about.
    pub rate: Asked,
    /// Lower end of the indifference zone.
    pub or_below: Option<f64>,
    /// The test that decides.
    pub method: Decider,
    /// How many times as long as chance makes them bursts of runs without the property may be.
    pub bursts: Option<f64>,
    /// After how many runs it may be decided each time: those of a set that is resampled.
    pub set: Option<u64>,
    /// What to judge.
    pub source: Source,
    /// How to run commands.
    pub runs: Runs,
    /// When to stop.
    pub limits: Limits,
}

/// A share of the runs, stated as such or as a percentile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Asked {
    /// At least this share of the runs has the property.
    Rate(f64),
    /// This percentile has the property.
    Quantile(f64),
}

/// What to judge.
#[derive(Debug, Clone)]
pub enum Source {
    /// Successes / trials.
    Counts(String),
    /// Values, one per line.
    Values(PathBuf),
    /// Runs of a command, given as words, or as a single word that is a command line.
    Command(Vec<String>),
}

impl Source {
    /// The one that was given.
    ///
    /// # Errors
    /// If none was.
    pub fn new(
        counts: Option<String>,
        from: Option<PathBuf>,
        command: Vec<String>,
    ) -> Result<Source, Failure> {
        match (counts, from, command.is_empty()) {
            (Some(counts), ..) => Ok(Source::Counts(counts)),
            (None, Some(path), _) => Ok(Source::Values(path)),
            (None, None, false) => Ok(Source::Command(command)),
            (None, None, true) => Err(Failure::new(
                "there is nothing to judge",
                "name `Source::Command`, or `Source::Values`, or counts with `Source::Counts`",
            )),
        }
    }
}

impl Asked {
    /// The one that was given.
    ///
    /// # Errors
    /// If none was.
    pub fn new(rate: Option<f64>, quantile: Option<f64>) -> Result<Asked, Failure> {
        match (rate, quantile) {
            (Some(rate), _) => Ok(Asked::Rate(rate)),
            (None, Some(quantile)) => Ok(Asked::Quantile(quantile)),
            (None, None) => Err(Failure::new(
                "no rate was given",
                "add `Asked::Rate`, such as `Asked::Rate` 99%",
            )),
        }
    }
}

impl Plan for SloPlan {
    fn files(&self) -> Files<'_> {
        let values = match &self.source {
            Source::Values(path) => Some(path),
            Source::Counts(_) | Source::Command(_) => None,
        };
        let read = values.map(|path| ("from", path.as_path())).into_iter();
        Files { read: read.chain(self.runs.input()).collect(), log: self.limits.log.as_deref() }
    }

    fn verdict(&self, told: Told) -> Result<Verdict, Failure> {
        match &self.source {
            Source::Counts(counts) => self.judge_counts(counts),
            Source::Values(path) => {
                // Opened first: waiting for the writer of a named pipe may be interrupted at once.
                let lines = Lines::open(path, "one value per line, nothing else")?;
                catch_interrupts()?;
                self.judge_values(lines, told)
            }
            Source::Command(command) => self.judge_command(command, told),
        }
    }
}

impl SloPlan {
    /// From the keys of a suite's table.
    ///
    /// # Errors
    /// What is wrong with a value, or with all of them together.
    pub fn from_keys(keys: &mut Keys, max_error: f64) -> Result<SloPlan, String> {
        keys.exclude(&["at-most", "at-least", "counts"])?;
        keys.exclude(&["rate", "quantile"])?;
        keys.exclude(&["counts", "from", "command"])?;
        keys.exclude(&["counts", "quantile"])?;
        keys.exclude(&["counts", "set"])?;
        keys.exclude(&["bursts", "set"])?;
        let at_most = keys.read("at-most", Quantity::parse)?;
        let at_least = keys.read("at-least", Quantity::parse)?;
        let rate = keys.read("rate", value::rate)?;
        let quantile = keys.read("quantile", value::percentile)?;
        let (counts, from) = (keys.text("counts")?, keys.text("from")?.map(PathBuf::from));
        let command = keys.texts("command")?;
        let or_below = keys.read("or-below", value::rate)?;
        let method = keys.named("method", &Decider::ALL)?.unwrap_or_default();
        let bursts = keys.read("bursts", value::stretch)?;
        let set = keys.whole("set", 1..=u64::MAX)?;
        let (runs, limits) = (Runs::from_keys(keys)?, Limits::from_keys(keys, max_error)?);
        // Before a missing key: it may be there, mistyped.
        keys.end()?;
        let plain = |failure: Failure| failure.cause;
        Ok(SloPlan {
            bound: SloPlan::bound(at_most, at_least),
            rate: Asked::new(rate, quantile).map_err(plain)?,
            or_below,
            method,
            bursts,
            set,
            source: Source::new(counts, from, command).map_err(plain)?,
            runs,
            limits,
        })
    }

    /// The property that was given.
    #[must_use]
    pub fn bound(
        at_most: Option<Quantity>,
        at_least: Option<Quantity>,
    ) -> Option<(Side, Quantity)> {
        let most = at_most.map(|threshold| (Side::AtMost, threshold));
        most.or(at_least.map(|threshold| (Side::AtLeast, threshold)))
    }

    fn property(&self) -> Result<(Side, Quantity), Failure> {
        self.bound.ok_or_else(|| {
            let remedy = "add `Side::AtMost` X or `Side::AtLeast` X, such as `Side::AtMost` 5ms";
            Failure::new("no property is asked about", remedy)
        })
    }

    fn hypothesis(&self, metric: &str, bound: Option<(Side, Quantity)>) -> Result<Slo, Failure> {
        let (rate, quantile) = match (self.rate, bound) {
            (Asked::Rate(rate), _) => (rate, None),
            // "p5 at least X" means "at least X in 95 % of the runs".
            (Asked::Quantile(quantile), Some((Side::AtLeast, _))) => {
                (complement(quantile), Some(quantile))
            }
            (Asked::Quantile(quantile), _) => (quantile, Some(quantile)),
        };
        let dimension = bound.map_or(Dimension::Number, |(_, threshold)| threshold.dimension);
        let slo = Slo {
            metric: metric.to_string(),
            unit: dimension.unit().to_string(),
            bound: bound.map(|(side, threshold)| Bound { side, threshold: threshold.value }),
            rate,
            or_below: self.or_below,
            max_error: self.limits.max_error,
            method: self.method,
            // Counts have no order.
            bursts: bound.filter(|_| self.set.is_none()).and_then(|_| Bursts::new(self.bursts)),
            set: self.set,
            quantile,
            command: None,
        };
        slo.question()?;
        Ok(slo)
    }

    /// A warning about a percentile with a threshold on its far side, which is probably not what was meant.
    fn doubt(&self, slo: &Slo) -> Option<String> {
        let (quantile, (side, threshold)) = (slo.quantile.filter(|_| slo.rate < 0.5)?, self.bound?);
        let side = if side == Side::AtLeast { "at least" } else { "at most" };
        let threshold = given(threshold.value, threshold.dimension);
        Some(format!(
            "{} {side} {threshold} holds if {} of the runs have it; if nearly all should, use {}",
            percentile(quantile),
            given_percent(slo.rate),
            percentile(complement(quantile))
        ))
    }

    fn judge_counts(&self, counts: &str) -> Result<Verdict, Failure> {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let read = counts.split_once('/').and_then(|(s, n)| Some((number(s)?, number(n)?)));
        let Some((successes, trials)) = read else {
            let cause = format!("`Source::Counts` '{counts}' is not of the form S/N");
            return Err(Failure::new(cause, "give successes / trials, such as 3972/4000"));
        };
        let counts = Counts::new(trials, successes)
            .map_err(|error| Failure::new(error.to_string(), "see `Source::Counts`"))?;
        if trials == 0 {
            let cause = "`Source::Counts`: there were no trials";
            return Err(Failure::new(cause, "give successes / trials, such as 3972/4000"));
        }
        let slo = self.hypothesis("counts", None)?;
        let report = slo.question()?.report(counts);
        let log_criterion = report.log_criterion;
        let about =
            OfRate { log_criterion, dependence: None, rest: None, quantile: None, values: None };
        let finding = rates::finding(&slo, &report, about);
        Ok(Verdict {
            schema: SCHEMA,
            question: slo.sentence(),
            finding,
            max_error: slo.max_error,
            error_holds: Holds::AsStated,
            stopped_by: Stop::EndOfInput,
            comparisons: Vec::new(),
            hypothesis: Question::Slo(slo),
            warnings: Vec::new(),
            seed: NOTHING_RANDOM.to_string(),
            machine: None,
            origin: None,
            circumstances: None,
            log: None,
            runs: Some(Vec::new()),
        })
    }

    /// The verdict of values, one per line.
    ///
    /// # Errors
    /// If the question makes no sense, or a line has no value.
    pub fn judge_values(&self, lines: Lines, told: Told) -> Result<Verdict, Failure> {
        let (side, threshold) = self.property()?;
        let slo = self.hypothesis("value", Some((side, threshold)))?;
        let most = self.limits.max_runs;
        let mut warnings = check_budget(&slo, most)?;
        warnings.extend(self.doubt(&slo));
        let setting = self.limits.setting(NOTHING_RANDOM, most, warnings, told.keep_runs);
        let session = Session::open(Question::Slo(slo), setting, told.progress)?;
        lines.to_the_end().judge(session, |line| {
            let value = Quantity::parse_for_threshold(line, threshold);
            Ok([Run::of(0, value.map_err(|cause| unless_several(line, cause))?)])
        })
    }

    fn judge_command(&self, words: &[String], told: Told) -> Result<Verdict, Failure> {
        let limits = self.limits.of_runs();
        let (side, threshold) = self.property()?;
        let metric = self.runs.metric()?;
        let wanted = metric.dimension();
        if wanted.is_some_and(|dimension| dimension != threshold.dimension) {
            let noun = wanted.map_or("number", Dimension::noun);
            let cause = format!("the threshold of {} is not a {noun}", metric.name);
            return Err(Failure::new(
                cause,
                "give `Side::AtMost` or `Side::AtLeast` the unit of the metric",
            ));
        }
        let launch = self.runs.launch()?;
        let command = Prepared::from_words(words, &launch)?;
        let mut slo = self.hypothesis(&metric.name, Some((side, threshold)))?;
        slo.command = Some(command.line.clone());
        let most = self.limits.max_runs.unwrap_or(u64::MAX);
        let mut warnings = check_budget(&slo, self.limits.max_runs)?;
        warnings.extend(metric.floor(threshold.value));
        warnings.extend(self.doubt(&slo));
        let around = self.runs.around(&launch, 1)?;
        let runner =
            Runner::new(launch, metric, Some(threshold.dimension))?.for_threshold(threshold);
        catch_interrupts()?;
        let most_runs = self.limits.max_runs;
        let setting = limits
            .setting(NOTHING_RANDOM, most_runs, warnings, told.keep_runs)
            .of_commands(&self.runs);
        let mut session = Session::open(Question::Slo(slo), setting, told.progress)?;
        let budget = limits.sentence(limits.max_runs);
        session.progress.say(&format!("Command: {} ({budget})", command.line));
        let time = limits.max_time;
        let budget = Budget { warmup: self.runs.warmup, most, time };
        measure::runs(session, runner, &command, &around, budget)
    }
}

/// 1 - `rate` as the decimal that it is: in binary, 1 - 0.99 is slightly more than 0.01.
fn complement(rate: f64) -> f64 {
    ((1.0 - rate) * 1e15).round() / 1e15
}

/// The seed in reports: the same input always gives the same output.
const NOTHING_RANDOM: u64 = 0;

/// Runs that are enough for any answer.
const MANY: u64 = 100_000;

/// Refuses a budget that permits no answer, and warns of one that permits only one.
fn check_budget(slo: &Slo, most: Option<u64>) -> Result<Vec<String>, Failure> {
    let Some(most) = most else { return Ok(Vec::new()) };
    let question = slo.question()?;
    let possible = |success: bool| {
        let counts = Counts::new(most, if success { most } else { 0 });
        counts.is_ok_and(|counts| question.verdict(counts) != stats::Verdict::Undecided)
    };
    let answers = |success: bool| {
        let Some(bursts) = slo.bursts.filter(|_| possible(success)) else {
            return possible(success);
        };
        // If all runs are alike, they decide soon or never; a budget beyond this is not narrow.
        let mut judge = BurstJudge::new(question, bursts.into());
        most > MANY || (0..most).any(|_| judge.push(success) != stats::Verdict::Undecided)
    };
    let runs = several(most, "run", "runs");
    match (answers(true), answers(false)) {
        (true, true) => Ok(Vec::new()),
        (false, false) if possible(true) || possible(false) => Ok(vec![format!(
            "{runs} can never answer: if they may come in bursts it takes more (`SloPlan::bursts` 1 if they are independent)"
        )]),
        (false, false) => {
            let fewest = question.next_decision(Counts::default());
            Err(Failure::new(
                format!(
                    "{runs} cannot decide this: it takes at least {}, even if all agree",
                    whole(fewest)
                ),
                format!(
                    "pass `Limits::max_runs` {fewest} or more, or allow a larger `Limits::max_error`"
                ),
            ))
        }
        (yes, _) => {
            let (can, cannot) = if yes { ("yes", "no") } else { ("no", "yes") };
            Ok(vec![format!("{runs} can only ever answer {can}, never {cannot}")])
        }
    }
}
