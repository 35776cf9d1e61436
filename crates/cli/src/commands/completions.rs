//! `unc completions`: prints a shell's completion script for `unc`.

use crate::console::complain;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::path::Path;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  unc completions bash > ~/.local/share/bash-completion/completions/unc
  unc completions zsh  > ~/.zfunc/_unc
  unc completions fish > ~/.config/fish/completions/unc.fish";

/// Print the completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Arguments {
    pub(crate) fn execute(self) -> ExitCode {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut super::Arguments::command(), "unc", &mut text);
        match crate::files::write(Path::new("-"), &text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                complain(&failure);
                ExitCode::from(2)
            }
        }
    }
}
