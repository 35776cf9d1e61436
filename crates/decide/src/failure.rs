//! Why a question could not be asked, run or read: the cause first, then the remedy.
//!
//! # Contract
//! A text names a setting by its type and field, in backticks: `Limits::max_runs`. The command line turns these names
//! into flags.

use crate::verdict::Verdict;
use std::fmt;

/// What went wrong, and what the user can do about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What went wrong, with the name of the file, flag or program concerned.
    pub cause: String,
    /// What would fix it; empty if the cause says it all.
    pub remedy: String,
    /// The verdict of the runs before it, if there were any.
    pub so_far: Option<Box<Verdict>>,
}

impl Failure {
    /// A failure with a cause and a remedy.
    pub fn new(cause: impl Into<String>, remedy: impl Into<String>) -> Self {
        Failure { cause: cause.into(), remedy: remedy.into(), so_far: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.cause)?;
        if !self.remedy.is_empty() {
            write!(out, " ({})", self.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}
