//! The workbench `unc`. One module a command; this file only names them.
#![forbid(unsafe_code)]

mod commands;
mod decide;
mod failure;

use clap::Parser;
use std::process::ExitCode;

/// Find where the threads of a native program wait, and prove what helps.
#[derive(Debug, Parser)]
#[command(name = "unc", version, max_term_width = 100, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    Arguments::parse().command.execute()
}
