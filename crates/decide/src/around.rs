//! The commands around the measured ones: before and after all runs, and before and after every run.

use crate::Failure;
use crate::runner::{Launch, Prepared, Runner};

/// Command lines around the measured ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lines<'a> {
    /// Once before all runs.
    pub setup: Option<&'a str>,
    /// Before every run: once for all commands, or once for each.
    pub prepare: &'a [String],
    /// After every run, likewise.
    pub conclude: &'a [String],
    /// Once after all runs.
    pub cleanup: Option<&'a str>,
}

/// The commands around the measured ones.
#[derive(Debug, Clone, Default)]
pub struct Around {
    setup: Option<Prepared>,
    prepare: Vec<Prepared>,
    conclude: Vec<Prepared>,
    cleanup: Option<Prepared>,
}

impl Around {
    /// The commands around the runs of `count` commands.
    ///
    /// # Errors
    /// If a line cannot be parsed, or their number is neither one nor that of the commands.
    pub fn new(lines: Lines<'_>, launch: &Launch, count: usize) -> Result<Around, Failure> {
        let line =
            |line: Option<&str>| line.map(|line| Prepared::from_line(line, launch)).transpose();
        let each = |name: &str, lines: &[String]| -> Result<Vec<Prepared>, Failure> {
            if !lines.is_empty() && lines.len() != 1 && lines.len() != count {
                let cause = format!("{name} is given {} times for {count} commands", lines.len());
                return Err(Failure::new(cause, "give it once, or once per command"));
            }
            lines.iter().map(|line| Prepared::from_line(line, launch)).collect()
        };
        Ok(Around {
            setup: line(lines.setup)?,
            prepare: each("`Runs::prepare`", lines.prepare)?,
            conclude: each("`Runs::conclude`", lines.conclude)?,
            cleanup: line(lines.cleanup)?,
        })
    }

    /// Runs the one before everything.
    pub fn set_up(&self, runner: &Runner) -> Result<(), Failure> {
        self.setup.iter().try_for_each(|command| runner.around("setup", command))
    }

    /// Runs the one before a run of command `arm`.
    pub fn prepare(&self, runner: &Runner, arm: usize) -> Result<(), Failure> {
        one_of(&self.prepare, arm).map_or(Ok(()), |command| runner.around("prepare", command))
    }

    /// Runs the one after a run of command `arm`.
    pub fn conclude(&self, runner: &Runner, arm: usize) -> Result<(), Failure> {
        one_of(&self.conclude, arm).map_or(Ok(()), |command| runner.around("conclude", command))
    }

    /// Runs the one after everything.
    pub fn clean_up(&self, runner: &Runner) -> Result<(), Failure> {
        self.cleanup.iter().try_for_each(|command| runner.around("cleanup", command))
    }
}

fn one_of(commands: &[Prepared], arm: usize) -> Option<&Prepared> {
    if commands.len() == 1 { commands.first() } else { commands.get(arm) }
}
