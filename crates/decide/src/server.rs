//! Servers to compare: a fresh one for each run, whose load is measured.
//!
//! # Contract
//! The server is started before the run, and the run begins once the ready command succeeds, which must fail before.
//! After the run the server is asked to end (SIGTERM), and killed with its process group if it does not within
//! [`GRACE`]; whatever ends the trial, none is left. The run measures the load: the server's CPU time and memory are
//! not among its metrics.
//! # Evidence
//! `crates/cli/tests/decide_server.rs`.

use crate::runner::{Launch, Prepared, Runner};
use crate::{Failure, interrupted};
use std::io;
use std::time::{Duration, Instant};
use uncontended_figures::{Dimension, given};
use uncontended_sys::background::Background;

/// How long a server may take until it is ready, unless the plan says otherwise.
pub const READY_WITHIN: Duration = Duration::from_secs(10);
/// How long a server may take to end after SIGTERM.
pub const GRACE: Duration = Duration::from_secs(5);
/// Between two questions whether a server is ready: the first, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(100)];

/// Servers to compare.
#[derive(Debug, Clone)]
pub struct Servers {
    /// Each as one command line.
    pub lines: Vec<String>,
    /// The command that succeeds once a server is ready.
    pub ready: String,
    /// How long that may take.
    pub ready_timeout: Duration,
}

impl Servers {
    /// The servers of `--server`, `--ready` and `--ready-timeout`; none without any.
    ///
    /// # Errors
    /// If there is only one, or nothing tells when it is ready.
    pub fn of(
        lines: Vec<String>,
        ready: Option<String>,
        ready_timeout: Option<Duration>,
    ) -> Result<Option<Servers>, Failure> {
        let ready_timeout = ready_timeout.unwrap_or(READY_WITHIN);
        match (lines.as_slice(), ready) {
            ([], None) => Ok(None),
            ([], Some(_)) => Err(Failure::new(
                "`Servers::ready` is given without a server",
                "name the servers with `Servers::lines`",
            )),
            ([alone], _) => Err(Failure::new(
                format!("there is nothing to compare the server '{alone}' with"),
                "give `Servers::lines` twice; the first is the baseline",
            )),
            (_, None) => Err(Failure::new(
                "nothing tells when a server is ready",
                "give `Servers::ready` a command that succeeds then, such as 'curl -sf localhost:8080'",
            )),
            (_, Some(ready)) => Ok(Some(Servers { lines, ready, ready_timeout })),
        }
    }

    /// The servers, parsed.
    ///
    /// # Errors
    /// If a line cannot be parsed.
    pub(crate) fn prepared(&self, launch: &Launch) -> Result<Vec<Server>, Failure> {
        let each = self.lines.iter();
        each.map(|line| Server::new(line, &self.ready, self.ready_timeout, launch)).collect()
    }
}

/// A server of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    command: Prepared,
    ready: Prepared,
    within: Duration,
}

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Serving<'a> {
    server: &'a Server,
    process: Background,
}

impl Server {
    /// A server, and the command that succeeds once it is ready, at most `within` after its start.
    ///
    /// # Errors
    /// If a line cannot be parsed.
    pub fn new(
        line: &str,
        ready: &str,
        within: Duration,
        launch: &Launch,
    ) -> Result<Server, Failure> {
        let command = Prepared::from_line(line, launch)?;
        Ok(Server { command, ready: Prepared::from_line(ready, launch)?, within })
    }

    /// Starts the server and waits until it is ready; none if the user or the time limit ended the wait.
    pub(crate) fn start(&self, runner: &Runner) -> Result<Option<Serving<'_>>, Failure> {
        if runner.succeeds(&self.ready, self.within)? {
            return Err(self.already_ready());
        }
        let serving = Serving { server: self, process: runner.background(&self.command)? };
        let started = Instant::now();
        let mut pause = PAUSES[0];
        loop {
            let left = self.within.saturating_sub(started.elapsed());
            let is_ready = runner.succeeds(&self.ready, left.max(PAUSES[0]))?;
            if interrupted() || runner.is_out_of_time() {
                serving.stop()?;
                return Ok(None);
            }
            if serving.process.has_ended().map_err(|error| self.failed(&error))? {
                return Err(serving.ended("before it was ready"));
            }
            if is_ready {
                return Ok(Some(serving));
            }
            if left.is_zero() {
                serving.stop()?;
                return Err(self.not_ready());
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(PAUSES[1]);
        }
    }

    /// Another server answers, or the command asks for something else.
    fn already_ready(&self) -> Failure {
        Failure::new(
            format!(
                "'{}' succeeds before the server '{}' is started",
                self.ready.line, self.command.line
            ),
            "end the server that is still there, or let `Servers::ready` ask for this one alone",
        )
    }

    fn not_ready(&self) -> Failure {
        let within = given(self.within.as_nanos() as f64, Dimension::Time);
        Failure::new(
            format!(
                "the server '{}' was not ready within {within}: '{}' kept failing",
                self.command.line, self.ready.line
            ),
            "see what both print with `Runs::show_output`, or raise `Servers::ready_timeout`",
        )
    }

    fn failed(&self, error: &io::Error) -> Failure {
        Failure::new(format!("the server '{}': {error}", self.command.line), "")
    }
}

impl Serving<'_> {
    /// Ends the server after its load, and says if it had to be killed. A server that ended by itself served no whole
    /// load.
    pub(crate) fn finish(self) -> Result<Option<String>, Failure> {
        match self.process.has_ended() {
            Ok(true) => Err(self.ended("during the load")),
            Ok(false) => self.stop(),
            Err(error) => Err(self.server.failed(&error)),
        }
    }

    /// Ends the server, and says if it had to be killed.
    fn stop(self) -> Result<Option<String>, Failure> {
        let server = self.server;
        let (_, is_killed) = self.process.stop(GRACE).map_err(|error| server.failed(&error))?;
        Ok(is_killed.then(|| {
            format!(
                "the server '{}' did not end within {} of SIGTERM, and was killed",
                server.command.line,
                given(GRACE.as_nanos() as f64, Dimension::Time)
            )
        }))
    }

    /// That the server has ended by itself.
    fn ended(self, when: &str) -> Failure {
        let line = &self.server.command.line;
        match self.process.stop(GRACE) {
            Ok((status, _)) => Failure::new(
                format!("the server '{line}' ended {when} ({status})"),
                "see what it prints with `Runs::show_output`; it must stay in the foreground",
            ),
            Err(error) => self.server.failed(&error),
        }
    }
}
