//! The load of a server: a command that uses the observed program, and so decides when it ends.
//!
//! # Contract
//! The load starts when the command that asks whether the program is ready has succeeded, at once without one. When it
//! ends, the program gets SIGTERM. Both commands have an empty input and are not observed. A program that ends first
//! takes its load with it.

use super::ending::status;
use super::supervise::{KILL, TERMINATE};
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use uncontended_decide::Failure;
use uncontended_decide::runner::Prepared;
use uncontended_report::facts::LoadFacts;
use uncontended_sys::signals::Signals;
use uncontended_sys::supervise::signal_group;

/// The time between two questions whether the program is ready.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// How long the program may take to get ready.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a load may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// The commands of a load.
#[derive(Debug)]
pub(crate) struct LoadPlan {
    /// Succeeds once the program is ready.
    pub(crate) ready: Option<Prepared>,
    /// Uses the program.
    pub(crate) client: Prepared,
}

/// A load under way.
pub(crate) struct Load<'a> {
    plan: &'a LoadPlan,
    signals: &'a Signals,
    started: Instant,
    stage: Stage,
}

/// What is happening.
enum Stage {
    /// The program is asked whether it is ready, or will be again at a time.
    Asking(Option<Group>, Instant),
    /// The load runs, since a time.
    Running(Group, Instant),
    /// The load ended, after it had begun.
    Over { begun: Instant, ended: Instant, status: ExitStatus },
    /// There was no load.
    Failed(Failure),
    /// The program ended before its load did.
    Left(Failure),
}

/// A command in a process group of its own, which ends with it.
struct Group(Child);

impl Group {
    fn start(prepared: &Prepared, signals: &Signals, is_shown: bool) -> io::Result<Group> {
        let [program, arguments @ ..] = prepared.words() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).process_group(0);
        signals.unblock_in(&mut command);
        if !is_shown {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        command.spawn().map(Group)
    }

    fn status(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }

    /// Ends it by SIGTERM, or by SIGKILL if it takes too long.
    fn end(&mut self) {
        if self.status().is_none() {
            signal_group(self.0.id(), TERMINATE);
        }
        let begun = Instant::now();
        while self.status().is_none() && begun.elapsed() < GRACE {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.status().is_none() {
            signal_group(self.0.id(), KILL);
            // The kernel ends it; there is nothing else to learn.
            let _ = self.0.wait();
        }
    }
}

impl<'a> Load<'a> {
    /// The load of a program started at `started`.
    pub(crate) fn new(plan: &'a LoadPlan, signals: &'a Signals, started: Instant) -> Load<'a> {
        Load { plan, signals, started, stage: Stage::Asking(None, started) }
    }

    /// When to look again, at the latest; none if it is over, so that the program is to end.
    pub(crate) fn look(&mut self, now: Instant) -> Option<Instant> {
        match &mut self.stage {
            Stage::Asking(..) => self.ask(now),
            Stage::Running(group, begun) => {
                if let Some(status) = group.status() {
                    self.stage = Stage::Over { begun: *begun, ended: now, status };
                }
            }
            Stage::Over { .. } | Stage::Failed(_) | Stage::Left(_) => {}
        }
        match &self.stage {
            Stage::Asking(None, next) => Some(*next),
            Stage::Asking(Some(_), _) | Stage::Running(..) => Some(now + ASK_EVERY),
            Stage::Over { .. } | Stage::Failed(_) | Stage::Left(_) => None,
        }
    }

    /// Asks whether the program is ready, and starts the load if it is.
    fn ask(&mut self, now: Instant) {
        let Stage::Asking(asked, next) = &mut self.stage else { return };
        let Some(ready) = &self.plan.ready else { return self.start(now) };
        let answer = asked.as_mut().map(Group::status);
        if let Some(Some(status)) = answer
            && status.success()
        {
            self.start(now);
        } else if now >= self.started + PATIENCE {
            let limit = uncontended_figures::duration(PATIENCE.as_nanos() as u64);
            let cause = format!("the program was not ready after {limit}");
            let remedy = "try the command of --ready by hand";
            self.stage = Stage::Failed(Failure::new(cause, remedy));
        } else if let Some(Some(_)) = answer {
            self.stage = Stage::Asking(None, now + ASK_EVERY);
        } else if answer.is_none() && now >= *next {
            self.stage = match Group::start(ready, self.signals, false) {
                Ok(group) => Stage::Asking(Some(group), now),
                Err(error) => Stage::Failed(not_started("--ready", ready, &error)),
            };
        }
    }

    /// Whether nothing of it is left to wait for.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over { .. } | Stage::Failed(_) | Stage::Left(_))
    }

    fn start(&mut self, now: Instant) {
        self.stage = match Group::start(&self.plan.client, self.signals, true) {
            Ok(group) => Stage::Running(group, now),
            Err(error) => Stage::Failed(not_started("--load", &self.plan.client, &error)),
        };
    }

    /// The program has ended.
    pub(crate) fn end(&mut self) {
        let cause = match &mut self.stage {
            Stage::Asking(..) => "the program ended before its load began",
            Stage::Running(group, _) => {
                group.end();
                "the program ended while its load was running"
            }
            Stage::Over { .. } | Stage::Failed(_) | Stage::Left(_) => return,
        };
        let remedy = "see what it printed; run a server in the foreground";
        self.stage = Stage::Left(Failure::new(cause, remedy));
    }

    /// The facts of a load that ended.
    pub(crate) fn facts(&self) -> Option<LoadFacts> {
        let Stage::Over { begun, ended, status } = &self.stage else { return None };
        let since = |at: &Instant| at.duration_since(self.started).as_nanos() as u64;
        Some(LoadFacts {
            command: self.plan.client.line.clone(),
            ready: self.plan.ready.as_ref().map(|ready| ready.line.clone()),
            exit_status: i32::from(ended_with(*status)),
            begun_ns: since(begun),
            ended_ns: since(ended),
        })
    }

    /// The exit status of `unc` after a program that ended with `status`; or why there was no load.
    pub(crate) fn status(&self, status: u8) -> (u8, Option<&Failure>) {
        match &self.stage {
            Stage::Failed(failure) => (125, Some(failure)),
            Stage::Left(failure) => (if status == 0 { 125 } else { status }, Some(failure)),
            Stage::Over { status, .. } => (ended_with(*status), None),
            Stage::Asking(..) | Stage::Running(..) => (status, None),
        }
    }
}

fn ended_with(ended: ExitStatus) -> u8 {
    status(ended.code(), ended.signal())
}

fn not_started(flag: &str, prepared: &Prepared, error: &io::Error) -> Failure {
    Failure::new(
        format!("'{}' cannot be started: {error}", prepared.line),
        format!("give {flag} a command line, as for a shell"),
    )
}
