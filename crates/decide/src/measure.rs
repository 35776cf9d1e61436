//! Makes runs until they are decided: of one command, or of several in blocks of random order.
//!
//! # Contract
//! Whatever ends the runs, the cleanup command runs and the session gives the verdict of the runs so far. A run that
//! the user or the time limit cut off does not count. A cleanup that fails is a warning; the verdict stands. A run that
//! fails where that is not ignored is a failure, which keeps the verdict of the runs before it.

use crate::Failure;
use crate::around::Around;
use crate::interrupted;
use crate::record::{Outcome, Run, Stop};
use crate::runner::{Prepared, Runner};
use crate::server::Server;
use crate::session::Session;
use crate::verdict::Verdict;
use std::collections::BTreeSet;
use std::time::Duration;
use uncontended_stats::Rng;

/// How much to run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// Warm-up runs of each command, made first and not counted.
    pub warmup: u64,
    /// Most runs of each command.
    pub most: u64,
    /// The longest time; a run in progress is ended at twice that.
    pub time: Option<Duration>,
}

/// Makes runs of one command until its session is settled.
///
/// # Errors
/// If the command cannot be run, or does not show the metric.
pub fn runs(
    mut session: Session,
    mut runner: Runner,
    command: &Prepared,
    around: &Around,
    budget: Budget,
) -> Result<Verdict, Failure> {
    runner.limit(budget.time);
    let stop = around
        .set_up(&runner)
        .and_then(|()| run_until_settled(&mut session, &mut runner, command, around, budget));
    clean_up(stop, session, &mut runner, around)
}

/// Runs the cleanup whatever happened, and gives the verdict.
fn clean_up(
    stop: Result<Stop, Failure>,
    session: Session,
    runner: &mut Runner,
    around: &Around,
) -> Result<Verdict, Failure> {
    let stop = if runner.is_out_of_time() { Ok(Stop::MaxTime) } else { stop };
    runner.limit(None);
    let cleaned = around.clean_up(runner);
    let (stop, failure) = match stop {
        Ok(stop) => (stop, None),
        Err(failure) => (Stop::Failed, Some(failure)),
    };
    if let Some(failure) = failure.as_ref().filter(|_| !session.has_runs()) {
        return Err(failure.clone());
    }
    let verdict = session.finish(stop).map(|mut verdict| {
        verdict.warnings.extend(cleaned.err().map(|failure| failure.cause));
        verdict
    });
    match failure {
        None => verdict,
        Some(failure) => {
            let so_far = verdict.ok().filter(|verdict| verdict.finding.n > 0);
            Err(Failure { so_far: so_far.map(Box::new), ..failure })
        }
    }
}

fn run_until_settled(
    session: &mut Session,
    runner: &mut Runner,
    command: &Prepared,
    around: &Around,
    budget: Budget,
) -> Result<Stop, Failure> {
    let (mut warmup, mut made) = (budget.warmup, 0);
    session.show();
    loop {
        if let Some(stop) = session.stop() {
            return Ok(stop);
        }
        if made >= budget.most {
            return Ok(Stop::MaxRuns);
        }
        let prepared = around.prepare(runner, 0);
        let run = prepared.and_then(|()| runner.measure(command));
        let run = run.and_then(|run| around.conclude(runner, 0).map(|()| run));
        // Checked before the result: the interrupt has killed whatever was running.
        if interrupted() {
            return Ok(Stop::Interrupted);
        }
        if runner.is_out_of_time() {
            return Ok(Stop::MaxTime);
        }
        let run = run?;
        if warmup > 0 {
            warmup -= 1;
        } else {
            session.push(run)?;
            made += 1;
        }
    }
}

/// One run, with a server of its own if there is one, and a warning about that; none if the wait for the server was
/// ended.
fn served(
    runner: &mut Runner,
    command: &Prepared,
    server: Option<&Server>,
) -> Result<Option<(Run, Option<String>)>, Failure> {
    let Some(server) = server else { return runner.measure(command).map(|run| Some((run, None))) };
    let Some(serving) = server.start(runner)? else { return Ok(None) };
    let run = runner.measure(command);
    let note = serving.finish()?;
    run.map(|run| Some((run, note)))
}

/// Makes blocks of runs.
#[derive(Debug)]
pub struct Blocks {
    /// The trial.
    pub session: Session,
    /// Starts the runs.
    pub runner: Runner,
    /// The commands around the runs.
    pub around: Around,
    /// The commands, by number; none for those whose runs were recorded.
    pub commands: Vec<Option<Prepared>>,
    /// The server of each command's runs, started afresh for each; empty without servers.
    pub servers: Vec<Server>,
    /// Warnings about them.
    pub notes: BTreeSet<String>,
    /// Determines the order.
    pub rng: Rng,
    /// Runs of each command in a block.
    pub block: u64,
    /// Whether the trial continues after a run that fails.
    pub ignore_failure: bool,
}

impl Blocks {
    /// One run; none if the user interrupted it.
    fn measure(&mut self, arm: usize) -> Result<Option<Run>, Failure> {
        let Some(command) = &self.commands[arm] else { return Ok(None) };
        // A recorded command has none of its own to prepare for.
        let number = self.commands[..arm].iter().flatten().count();
        let prepared = self.around.prepare(&self.runner, number);
        let server = self.servers.get(arm);
        let run = prepared.and_then(|()| served(&mut self.runner, command, server));
        let run = run.and_then(|run| self.around.conclude(&self.runner, number).map(|()| run));
        // Checked before the result: the interrupt has killed whatever was running.
        if interrupted() || self.runner.is_out_of_time() {
            return Ok(None);
        }
        let Some((mut run, note)) = run? else { return Ok(None) };
        self.notes.extend(note);
        if run.outcome != Outcome::Ok && !self.ignore_failure {
            let how = match run.outcome {
                Outcome::TimedOut => "took longer than `Runs::timeout`".to_string(),
                Outcome::Failed(status) => format!("failed with status {status}"),
                Outcome::Ok => String::new(),
            };
            return Err(Failure::new(
                format!(
                    "'{}' {how}: a failing program is not compared, since a fast crash must not win",
                    command.line
                ),
                "fix it (see `Runs::show_output`), or pass `ComparePlan::ignore_failure`",
            ));
        }
        run.arm = arm;
        Ok(Some(run))
    }

    /// Makes blocks until the session is settled.
    ///
    /// # Errors
    /// If a command cannot be run, does not show the metric, or fails where that is not ignored.
    pub fn run(mut self, budget: Budget) -> Result<Verdict, Failure> {
        self.runner.limit(budget.time);
        let stop = self.run_until_settled(budget);
        clean_up(stop, self.session, &mut self.runner, &self.around).map(|mut verdict| {
            verdict.warnings.extend(self.notes);
            verdict
        })
    }

    fn run_until_settled(&mut self, budget: Budget) -> Result<Stop, Failure> {
        self.around.set_up(&self.runner)?;
        self.session.show();
        for _ in 0..budget.warmup {
            self.warm_up()?;
        }
        for block in 1.. {
            if let Some(stop) = self.session.stop() {
                return Ok(stop);
            }
            if self.block.saturating_mul(block) > budget.most {
                break;
            }
            if let Some(stop) = self.one_block()? {
                return Ok(stop);
            }
        }
        Ok(Stop::MaxRuns)
    }

    fn warm_up(&mut self) -> Result<(), Failure> {
        for arm in 0..self.commands.len() {
            self.measure(arm)?;
        }
        Ok(())
    }

    /// One block in random order; returns why, if it could not be completed.
    fn one_block(&mut self) -> Result<Option<Stop>, Failure> {
        let mut order: Vec<usize> = Vec::new();
        for arm in self.session.trial().active() {
            order.extend((0..self.block).map(|_| arm));
        }
        self.rng.shuffle(&mut order);
        for arm in order {
            match self.measure(arm)? {
                Some(run) => self.session.push(run)?,
                None => return Ok(Some(Stop::Interrupted)),
            }
        }
        Ok(None)
    }
}
