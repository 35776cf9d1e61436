//! The subcommands: each variant holds the validated flags of one command,
//! and each module does that command's work and nothing else.

mod litmus;

use clap::Subcommand;
use std::process::ExitCode;

/// One subcommand of `unc` with its flags.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Litmus(litmus::Litmus),
}

impl Command {
    /// Runs the command and answers with the exit status that design and help document.
    pub(crate) fn execute(self) -> ExitCode {
        match self {
            Command::Litmus(command) => command.execute(),
        }
    }
}
