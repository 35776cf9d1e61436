//! Runs of a command, and of a control interleaved with it, kept without a question.

use super::{Files, Limits, Plan, Runs, Told};
use crate::measure::{Blocks, Budget, alone};
use crate::question::Question;
use crate::recording::Recording;
use crate::runner::{Prepared, Runner};
use crate::session::Session;
use crate::verdict::Verdict;
use crate::{Failure, catch_interrupts, seed};
use uncontended_figures::text::several;
use uncontended_figures::{Dimension, given};
use uncontended_stats::Rng;

/// The plan of `unc record`.
#[derive(Debug, Clone)]
pub struct RecordPlan {
    /// The command, given as words, or as a single word that is a command line.
    pub command: Vec<String>,
    /// A command that is run as often, so that later sessions can tell a change of the machine.
    pub control: Option<String>,
    /// Whether runs that fail are kept, as lost ones; else they end it.
    pub ignore_failure: bool,
    /// How to run commands.
    pub runs: Runs,
    /// How much to run, and the log. Nothing is decided, so there is no error.
    pub limits: Limits,
}

/// Most runs of a command, if their number is not given.
const DEFAULT_RUNS: u64 = 1000;
/// Most runs that a comparison can use within a reasonable time.
pub const MOST_RUNS: u64 = 100_000;

impl Plan for RecordPlan {
    fn files(&self) -> Files<'_> {
        Files { read: self.runs.input().into_iter().collect(), log: self.limits.log.as_deref() }
    }

    /// Makes the runs. The verdict has their summary; it is always undecided.
    fn verdict(&self, told: Told) -> Result<Verdict, Failure> {
        let metric = self.runs.metric()?;
        let launch = self.runs.launch()?;
        if self.command.is_empty() {
            return Err(Failure::new("there is nothing to record", "name `Source::Command`"));
        }
        let command = Prepared::from_words(&self.command, &launch)?;
        let control = self.control.as_deref();
        let control = control.map(|line| Prepared::from_line(line, &launch)).transpose()?;
        let recording = Recording {
            metric: metric.name.clone(),
            unit: metric.dimension().unwrap_or(Dimension::Number).unit().to_string(),
            command: command.line.clone(),
            control: control.as_ref().map(|control| control.line.clone()),
            ignore_failure: self.ignore_failure,
        };
        let time = self.limits.of_runs().max_time;
        let default = if self.limits.max_time.is_some() { MOST_RUNS } else { DEFAULT_RUNS };
        let most = self.limits.max_runs.unwrap_or(default);
        let warnings = metric.floor(0.0).into_iter().collect();
        let commands: Vec<Option<Prepared>> =
            std::iter::once(command).chain(control).map(Some).collect();
        let around = self.runs.around(&launch, commands.len())?;
        let runner = Runner::new(launch, metric, None)?;
        catch_interrupts()?;
        let setting = self.limits.setting(seed(None), None, warnings, told.keep_runs);
        let setting = setting.of_commands(&self.runs);
        let rng = Rng::new(setting.seed);
        let mut session = Session::open(Question::Record(recording), setting, told.progress)?;
        let limit = time.map_or_else(String::new, |time| {
            format!(", at most {}", given(time.as_nanos() as f64, Dimension::Time))
        });
        let runs = several(most, "run", "runs");
        session.progress.say(&format!("Keeping at most {runs} of each command{limit}"));
        let blocks = Blocks::of_one(session, runner, around, commands, rng);
        let blocks = Blocks { ignore_failure: self.ignore_failure, ..blocks };
        alone(blocks.run(Budget { warmup: self.runs.warmup, most, time }))
    }
}
