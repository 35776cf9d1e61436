//! `unc man`: writes the manual pages, generated from the same definitions as the help.

use crate::console::complain;
use clap::{Args, CommandFactory};
use std::path::PathBuf;
use std::process::ExitCode;
use uncontended_decide::Failure;

/// Write the manual pages into a directory
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  unc man ~/.local/share/man/man1")]
pub(crate) struct Arguments {
    /// The directory; created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Arguments {
    pub(crate) fn execute(self) -> ExitCode {
        let written = std::fs::create_dir_all(&self.folder)
            .and_then(|()| clap_mangen::generate_to(super::Arguments::command(), &self.folder));
        match written {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let cause = format!(
                    "the manual pages could not be written to {}: {error}",
                    self.folder.display()
                );
                complain(&Failure::new(cause, ""));
                ExitCode::from(2)
            }
        }
    }
}
