//! The workbench `unc`. One module a command; this file only names them.
#![forbid(unsafe_code)]

mod commands;
mod decide;
mod emit;
mod failure;
mod run;
mod symbols;

use clap::Parser;
use std::process::ExitCode;

/// Find where the threads of a native program wait, and prove what helps.
#[derive(Debug, Parser)]
#[command(name = "unc", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    match Arguments::try_parse() {
        Ok(arguments) => arguments.command.execute(),
        Err(message) => {
            // Where stderr is gone there is nobody to tell.
            let _ = message.print();
            ExitCode::from(usage_status(message.exit_code()))
        }
    }
}

/// `unc run` keeps 2 for its program and says 125 of itself.
fn usage_status(status: i32) -> u8 {
    let runs = std::env::args_os().nth(1).is_some_and(|command| command == "run");
    match status {
        0 => 0,
        _ if runs => 125,
        _ => 2,
    }
}
