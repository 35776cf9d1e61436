//! `unc terms`, or `unc help terms`: the words of a report, explained.

use crate::console::{complain, in_locale};
use clap::Args;
use std::path::Path;
use std::process::ExitCode;
use uncontended_report::terms;

const COLUMNS: usize = 80;

/// Explain the words in a report
#[derive(Debug, Args)]
#[command(after_help = terms::text(COLUMNS))]
pub(crate) struct Arguments {}

impl Arguments {
    pub(crate) fn execute(self) -> ExitCode {
        let text = terms::text(COLUMNS) + "\n";
        match crate::files::write(Path::new("-"), in_locale(&text).as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                complain(&failure);
                ExitCode::from(2)
            }
        }
    }
}
