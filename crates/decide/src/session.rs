//! A trial in progress: its log, its budget and its end.
//!
//! # Contract
//! The head of the log is on disk before the first run, and every run is in the log before it can decide anything.
//! Whatever ends the trial, `finish` gives the verdict of the runs so far, or says why there is none. An existing log
//! of that name stays until every command has run once or there is a verdict; until then the new log is a file next to
//! it.
//!
//! # Invariants
//! S1: a log holds its head and every run pushed before the trial judges that run.
//! S2: the runs alone, pushed into a fresh trial, give the same findings.

use crate::Failure;
use crate::circumstances::Circumstances;
use crate::fingerprint::Fingerprint;
use crate::logfile::LogFile;
use crate::origin::Origin;
use crate::plan::Runs;
use crate::progress::Progress;
use crate::question::Question;
use crate::record::{self, Head, Line, Run, SCHEMA, Stop};
use crate::trial::{self, Trial};
use crate::verdict::Verdict;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};
use uncontended_figures::progress::State;
use uncontended_figures::{duration_f, short};
use uncontended_sys::interrupts;

/// From which part of its time on, and after how many runs, a trial asks whether it will be decided in time.
const EARLY: f64 = 0.05;
const FIRST_ASKED: u64 = 20;
/// How many times as many runs as the time permits make that so.
const HARDLY: u64 = 2;

/// What a session needs in addition to the question.
#[derive(Debug, Clone, Default)]
pub struct Setting<'a> {
    /// Seed of all randomness.
    pub seed: u64,
    /// Warnings that apply whatever the data say.
    pub warnings: Vec<String>,
    /// Most runs of all commands together.
    pub most_runs: Option<u64>,
    /// Longest time.
    pub most_time: Option<Duration>,
    /// Where to write the log.
    pub log: Option<&'a Path>,
    /// Whether the verdict keeps every run.
    pub keep_runs: bool,
    /// The settings of the commands, if any are run.
    pub circumstances: Option<Circumstances>,
}

impl Setting<'_> {
    /// The same, with the settings of the commands that are run.
    #[must_use]
    pub(crate) fn of_commands(self, runs: &Runs) -> Self {
        Setting { circumstances: Some(Circumstances::of(runs)), ..self }
    }
}

/// A trial with its log and its budget.
#[derive(Debug)]
pub struct Session {
    head: Head,
    trial: Box<dyn Trial>,
    log: Option<LogFile>,
    runs: Option<Vec<Run>>,
    pushed: u64,
    most_runs: Option<u64>,
    most_time: Option<Duration>,
    started: Instant,
    /// After how many runs it is asked next whether the time will suffice; none once it was said that it will not.
    ask_at: Option<u64>,
    /// Where progress is shown.
    pub progress: Box<dyn Progress>,
}

impl Session {
    /// Opens the log and writes its head.
    pub fn open(
        hypothesis: Question,
        setting: Setting<'_>,
        mut progress: Box<dyn Progress>,
    ) -> Result<Session, Failure> {
        let trial = hypothesis.asked().trial(None)?;
        let (seed, warnings) = (setting.seed.to_string(), setting.warnings);
        let is_kept = setting.log.is_some() || setting.keep_runs;
        let (machine, origin) = (is_kept.then(Fingerprint::here), is_kept.then(Origin::here));
        let schema = SCHEMA.to_string();
        let circumstances = setting.circumstances;
        let head = Head { schema, hypothesis, seed, warnings, machine, origin, circumstances };
        let log = match setting.log {
            Some(path) => {
                record::check_path(path)?;
                let named = |error| {
                    Failure::new(format!("{}: {error}", path.display()), "see `Limits::log`")
                };
                // A recording replaces another only when it is complete.
                let commands = match &head.hypothesis {
                    Question::Record(_) => vec![usize::MAX],
                    _ => trial.active(),
                };
                Some(LogFile::open(path, commands).map_err(named)?)
            }
            None => None,
        };
        progress.say(&format!("Question: {}", head.hypothesis.asked().sentence()));
        for warning in &head.warnings {
            progress.say(&format!("Warning: {warning}"));
        }
        let mut session = Session {
            head,
            trial,
            runs: setting.keep_runs.then(Vec::new),
            log,
            pushed: 0,
            most_runs: setting.most_runs,
            most_time: setting.most_time,
            started: Instant::now(),
            ask_at: Some(FIRST_ASKED),
            progress,
        };
        session.write(&Line::Head(Box::new(session.head.clone())))?;
        Ok(session)
    }

    /// The trial in its current state.
    pub fn trial(&self) -> &dyn Trial {
        self.trial.as_ref()
    }

    /// Whether there is a run to judge.
    pub(crate) fn has_runs(&self) -> bool {
        self.pushed > 0
    }

    /// Why the trial should stop, if it should.
    pub fn stop(&self) -> Option<Stop> {
        let over = |limit: Option<u64>| limit.is_some_and(|most| self.pushed >= most);
        match () {
            () if self.trial.is_settled() => Some(Stop::Decided),
            () if interrupts::received().is_some() => Some(Stop::Interrupted),
            () if over(self.most_runs) => Some(Stop::MaxRuns),
            () if self.most_time.is_some_and(|most| self.started.elapsed() >= most) => {
                Some(Stop::MaxTime)
            }
            () => None,
        }
    }

    /// Takes one run: logs it first, then judges it.
    pub fn push(&mut self, run: Run) -> Result<(), Failure> {
        self.pushed += 1;
        self.head.hypothesis.learn_unit(run.unit.as_deref());
        let line = Line::Run(run);
        self.write(&line)?;
        let Line::Run(run) = line else { return Ok(()) };
        self.write_with(|log| log.has_run(run.arm))?;
        debug_assert!(self.log.as_ref().is_none_or(|log| log.lines == self.pushed + 1), "S1");
        self.trial.push(&run)?;
        if let Some(runs) = &mut self.runs {
            runs.push(run);
        }
        self.show();
        Ok(())
    }

    /// Says once that the budget will hardly suffice, and for what it would. It is asked after twice as many runs each
    /// time, since an estimate costs more than a run of a fast stream, and early ones are often too low.
    fn warn_early(&mut self) {
        let Some(most) = self.most_time.map(|most| most.as_secs_f64()) else { return };
        let spent = self.started.elapsed().as_secs_f64();
        if self.ask_at.is_none_or(|at| self.pushed < at) || spent < EARLY * most {
            return;
        }
        self.ask_at = Some(self.pushed.saturating_mul(2));
        let affordable = (self.pushed as f64 * (most - spent).max(0.0) / spent) as u64;
        let Some(left) = self.trial.state().left else { return };
        if left < affordable.saturating_mul(HARDLY) {
            return;
        }
        self.ask_at = None;
        let share = (self.pushed + left) as f64 / self.pushed as f64;
        let takes = short(&duration_f(spent * 1e9 * share));
        let easier = self.trial.decidable(affordable);
        let easier = easier.map_or_else(String::new, |easier| format!("; {easier} fits it"));
        self.progress.say(&format!(
            "Warning: this will take some {takes}, longer than `Limits::max_time`{easier}"
        ));
    }

    /// Shows the progress, if that is due.
    pub(crate) fn show(&mut self) {
        self.warn_early();
        let (trial, started, most) = (&self.trial, self.started, self.most_time);
        let limit = || most.map(|most| most.saturating_sub(started.elapsed()));
        self.progress.tick(self.pushed, &|| State { limit: limit(), ..trial.state() });
    }

    /// The verdict of the runs so far.
    pub fn finish(mut self, stop: Stop) -> Result<Verdict, Failure> {
        self.progress.clear();
        if let Some(refusal) = self.trial.refusal() {
            return Err(refusal);
        }
        let mut verdict = trial::verdict(self.trial.as_ref(), &self.head, stop);
        debug_assert!(self.runs.as_ref().is_none_or(|runs| self.is_repeated_by(runs)), "S2");
        // A trial that failed has no verdict to replace an earlier log's.
        if stop != Stop::Failed {
            self.write_with(LogFile::take_place)?;
        }
        let name = verdict.finding.verdict.name().to_string();
        self.write(&Line::End { stop, verdict: name, resamples: None })?;
        verdict.log = self.log.map(|log| log.path.display().to_string());
        verdict.runs = self.runs;
        Ok(verdict)
    }

    /// Whether a fresh trial of these runs finds the same. Its text, since a figure may be no number.
    fn is_repeated_by(&self, runs: &[Run]) -> bool {
        let fresh = self.head.hypothesis.asked().trial(None).and_then(|mut trial| {
            runs.iter().try_for_each(|run| trial.push(run))?;
            Ok(trial)
        });
        let found = |trial: &dyn Trial| format!("{:?}", trial.findings_in_full());
        fresh.is_ok_and(|fresh| found(fresh.as_ref()) == found(self.trial()))
    }

    /// Writes one line at once, so that no crash of ours loses a run.
    fn write(&mut self, line: &Line) -> Result<(), Failure> {
        self.write_with(|log| log.write(line))
    }

    fn write_with(
        &mut self,
        act: impl FnOnce(&mut LogFile) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let Some(log) = &mut self.log else { return Ok(()) };
        act(log).map_err(|error| {
            Failure::new(format!("the log {}: {error}", log.path.display()), "see `Limits::log`")
        })
    }
}
