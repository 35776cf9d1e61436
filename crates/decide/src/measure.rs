//! Makes runs until they are decided: of one command, or of several in blocks of random order.
//!
//! # Contract
//! Whatever ends the runs, the cleanup command runs and the session gives the verdict of the runs so far. A run that
//! the user or the time limit cut off does not count. A cleanup that fails is a warning; the verdict stands. A run that
//! fails where that is not ignored is a failure, which keeps the verdict of the runs before it.

use crate::Failure;
use crate::around::Around;
use crate::interrupted;
use crate::record::{Outcome, Run, Shown, Stop};
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
    Ending::of(stop, &mut runner, around).verdict(session)
}

/// How the runs ended.
struct Ending {
    stop: Result<Stop, Failure>,
    /// What is to be said of them.
    warnings: Vec<String>,
}

impl Ending {
    /// Runs the cleanup, whatever happened.
    fn of(stop: Result<Stop, Failure>, runner: &mut Runner, around: &Around) -> Ending {
        let stop = if runner.is_out_of_time() { Ok(Stop::MaxTime) } else { stop };
        runner.limit(None);
        let cleaned = around.clean_up(runner);
        Ending { stop, warnings: cleaned.err().map(|failure| failure.cause).into_iter().collect() }
    }

    /// The verdict of a session of these runs.
    fn verdict(&self, session: Session) -> Result<Verdict, Failure> {
        let failure = self.stop.as_ref().err().filter(|_| !session.trial().is_settled());
        if let Some(failure) = failure.filter(|_| !session.has_runs()) {
            return Err(failure.clone());
        }
        let stop = match self.stop {
            _ if session.trial().is_settled() => Stop::Decided,
            Ok(stop) => stop,
            Err(_) => Stop::Failed,
        };
        let verdict = session.finish(stop).map(|mut verdict| {
            verdict.warnings.extend(self.warnings.iter().cloned());
            verdict
        });
        match failure {
            None => verdict,
            Some(failure) => {
                let so_far = verdict.ok().filter(|verdict| verdict.finding.n > 0);
                Err(Failure { so_far: so_far.map(Box::new), ..failure.clone() })
            }
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

/// The verdict of the only session.
///
/// # Panics
/// Panics if there is none.
pub fn alone(verdicts: Vec<Result<Verdict, Failure>>) -> Result<Verdict, Failure> {
    verdicts.into_iter().next().expect("blocks have a session")
}

/// Makes blocks of runs.
#[derive(Debug)]
pub struct Blocks {
    /// One for each question about the runs; at least one. The first is about the runs' first metric, and so on.
    pub sessions: Vec<Session>,
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
    /// Blocks of a run of each command, for one session and without servers; a run that fails ends them.
    pub fn of_one(
        session: Session,
        runner: Runner,
        around: Around,
        commands: Vec<Option<Prepared>>,
        rng: Rng,
    ) -> Blocks {
        Blocks {
            sessions: vec![session],
            runner,
            around,
            commands,
            servers: Vec::new(),
            notes: BTreeSet::new(),
            rng,
            block: 1,
            ignore_failure: false,
        }
    }

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

    /// Makes blocks until every session is settled, and gives the verdict of each: an error if a command cannot be run,
    /// does not show the metric, or fails where that is not ignored, before that session was settled.
    pub fn run(mut self, budget: Budget) -> Vec<Result<Verdict, Failure>> {
        self.runner.limit(budget.time);
        let stop = self.run_until_settled(budget);
        let mut ending = Ending::of(stop, &mut self.runner, &self.around);
        ending.warnings.extend(self.notes);
        self.sessions.into_iter().map(|session| ending.verdict(session)).collect()
    }

    /// The first session that is not settled.
    fn first_open(&self) -> Option<usize> {
        self.sessions.iter().position(|session| !session.trial().is_settled())
    }

    /// Lets one session show its progress where another did.
    fn hand_progress(&mut self, from: usize, to: usize) {
        if let Ok([from, to]) = self.sessions.get_disjoint_mut([from, to]) {
            from.progress.clear();
            std::mem::swap(&mut from.progress, &mut to.progress);
        }
    }

    fn run_until_settled(&mut self, budget: Budget) -> Result<Stop, Failure> {
        self.around.set_up(&self.runner)?;
        self.sessions.iter_mut().for_each(Session::show);
        for _ in 0..budget.warmup {
            self.warm_up()?;
        }
        let mut shown = 0;
        for block in 1.. {
            let Some(open) = self.first_open() else { return Ok(Stop::Decided) };
            self.hand_progress(std::mem::replace(&mut shown, open), open);
            if let Some(stop) = self.sessions[open].stop() {
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
        let of_open = |session: &Session| match session.trial() {
            trial if trial.is_settled() => Vec::new(),
            trial => trial.active(),
        };
        let active: Vec<Vec<usize>> = self.sessions.iter().map(of_open).collect();
        let all: BTreeSet<usize> = active.iter().flatten().copied().collect();
        let mut order: Vec<usize> = Vec::new();
        for arm in all {
            order.extend((0..self.block).map(|_| arm));
        }
        self.rng.shuffle(&mut order);
        for arm in order {
            let Some(mut run) = self.measure(arm)? else { return Ok(Some(Stop::Interrupted)) };
            let first = Shown { value: run.value, unit: run.unit.take() };
            let shown = std::iter::once(first).chain(std::mem::take(&mut run.more));
            for ((session, active), shown) in self.sessions.iter_mut().zip(&active).zip(shown) {
                if active.contains(&arm) {
                    let Shown { value, unit } = shown;
                    session.push(Run { value, unit, ..run.clone() })?;
                }
            }
        }
        Ok(None)
    }
}
