//! `unc permute`: do two sets of values differ by more than chance?

use super::flags::OutputFlags;
use crate::decide::output::deliver;
use crate::failure::Failure;
use clap::Args;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use uncontended_decide::dealing::DealTrial;
use uncontended_decide::lines::Lines;
use uncontended_decide::question::{Permute, Question};
use uncontended_decide::record::{self, Head, Line, Stop};
use uncontended_decide::trial::{self, more_to_decide, remaining};
use uncontended_decide::value;
use uncontended_decide::verdict::Verdict;
use uncontended_decide::{catch_interrupts, interrupted, seed};
use uncontended_figures::progress::{Line as Telling, State};
use uncontended_figures::{Quantity, whole};
use uncontended_stats::{Counts, Stopped};

/// Test whether B exceeds A by more than a random dealing of their values would give.
///
/// The exact permutation test, with as many dealings as the answer needs. A value is one process or one block: timings
/// within one process are not exchangeable. Exit status: 0 the p-value is below the level, 1 it is not, 3 undecided
/// within the budget, 2 could not run.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:
  unc permute before.txt after.txt --statistic median --level 1% --or-below 0.5%")]
pub(crate) struct Flags {
    /// Values of A, one a line
    a: PathBuf,
    /// Values of B, one a line
    b: PathBuf,
    /// What is compared: mean, median, max, or a percentile such as p99
    #[arg(long, default_value = "mean")]
    statistic: String,
    /// Count differences in either direction as extreme
    #[arg(long)]
    two_sided: bool,
    /// Significant is a p-value below this
    #[arg(long, value_name = "P", default_value = "5%", value_parser = value::rate)]
    level: f64,
    /// Between this and the level either answer is right, so that the test always ends
    #[arg(long, value_name = "P2", value_parser = value::rate)]
    or_below: Option<f64>,
    /// Largest chance of a wrong verdict about the p-value, over all looks together
    #[arg(long, value_name = "E", default_value = "0.001", value_parser = value::rate)]
    max_error: f64,
    /// Give up (undecided) after so many dealings
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    max_runs: u64,
    /// Give up (undecided) after this time
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    max_time: Option<Duration>,
    /// Seed of the dealings [default: from the system]
    #[arg(long)]
    seed: Option<u64>,
    /// Keep the question and the values in a log that `unc verdict` reads
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    #[command(flatten)]
    output: OutputFlags,
}

impl Flags {
    /// Does the work and answers with the exit status.
    pub(crate) fn execute(&self) -> ExitCode {
        deliver(|| self.verdict(), &self.output)
    }

    /// The verdict.
    pub(crate) fn verdict(&self) -> Result<Verdict, Failure> {
        let (a, b) = (values(&self.a)?, values(&self.b)?);
        if a[0].dimension != b[0].dimension {
            return Err(Failure::new("the two files have different units", "give both the same"));
        }
        let permute = self.permute(&a, &b);
        let seed = permute.seed.clone();
        let question = permute.question()?;
        let fewest = question.next_decision(Counts::default());
        if self.max_runs < fewest {
            return Err(Failure::new(
                format!(
                    "{} dealings can never decide this: at least {fewest} are needed",
                    self.max_runs
                ),
                format!("say --max-runs {fewest} or more, or allow a larger --max-error"),
            ));
        }
        let mut progress = Telling::new(self.output.quiet);
        progress.say(&format!("Question: {}", permute.sentence()));
        let head = Head {
            schema: record::SCHEMA.to_string(),
            hypothesis: Question::Permute(permute.clone()),
            seed,
            warnings: Vec::new(),
        };
        let mut log = self.open_log(&Line::Head(head.clone()))?;
        catch_interrupts()?;
        let trial = DealTrial::new(&permute, self.max_time, |judge| {
            let counts = judge.counts();
            if counts.trials() % 256 == 0 {
                progress.tick(counts.trials(), &|| {
                    let left = remaining(&question, counts);
                    let (all, extreme) = (whole(counts.trials()), whole(counts.successes()));
                    let text = format!("{all} dealings; {}", more_to_decide(left));
                    State { text, left, found: format!("{extreme} as extreme") }
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
        if let Some((path, file)) = &mut log {
            let dealings = Some(verdict.finding.n);
            let verdict = verdict.finding.verdict.name().to_string();
            record::write(file, &Line::End { stop, verdict, dealings }).map_err(|error| {
                Failure::new(format!("the log {}: {error}", path.display()), "")
            })?;
        }
        verdict.log = log.map(|(path, _)| path.display().to_string());
        Ok(verdict)
    }

    /// The question about these values.
    fn permute(&self, a: &[Quantity], b: &[Quantity]) -> Permute {
        let plain = |values: &[Quantity]| values.iter().map(|value| value.value).collect();
        Permute {
            unit: a[0].dimension.unit().to_string(),
            a: plain(a),
            b: plain(b),
            statistic: self.statistic.clone(),
            two_sided: self.two_sided,
            level: self.level,
            or_below: self.or_below,
            max_error: self.max_error,
            most_dealings: self.max_runs,
            seed: seed(self.seed).to_string(),
        }
    }

    fn open_log(&self, head: &Line) -> Result<Option<(PathBuf, std::fs::File)>, Failure> {
        let Some(path) = &self.log else { return Ok(None) };
        let failed = |error| Failure::new(format!("{}: {error}", path.display()), "see --log");
        let mut file = std::fs::File::create(path).map_err(failed)?;
        record::write(&mut file, head).map_err(failed)?;
        Ok(Some((path.clone(), file)))
    }
}

/// The values of a file, one a line, all in one dimension.
fn values(path: &Path) -> Result<Vec<Quantity>, Failure> {
    let mut first = None;
    let read = Lines::open(path, "one value a line, nothing else")?.read_all(|line| {
        let value = Quantity::parse(line)?;
        match *first.get_or_insert(value.dimension) == value.dimension {
            true => Ok(value),
            false => Err(format!("'{line}' has another unit than line 1")),
        }
    });
    Ok(read?)
}
