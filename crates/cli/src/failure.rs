//! How `unc` reports that it could not do its work: the cause first, then the remedy.

use std::fmt;

/// Why a command could not run, and what the user can do about it.
#[derive(Debug)]
pub(crate) struct CommandFailure {
    /// What went wrong, with the name of the file, flag or program concerned.
    pub(crate) cause: String,
    /// What would fix it; empty if the cause says it all.
    pub(crate) remedy: String,
}

impl CommandFailure {
    /// A failure with a cause and a remedy.
    pub(crate) fn new(cause: impl Into<String>, remedy: impl Into<String>) -> Self {
        CommandFailure { cause: cause.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "unc: {}", self.cause)?;
        if !self.remedy.is_empty() {
            write!(out, "\n     {}", self.remedy)?;
        }
        Ok(())
    }
}

impl From<uncontended_decide::Failure> for CommandFailure {
    fn from(failure: uncontended_decide::Failure) -> Self {
        CommandFailure::new(failure.cause, failure.remedy)
    }
}
