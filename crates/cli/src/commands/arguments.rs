//! The whole command line: its help, and what an unusable one exits with.

use super::meant::with_tip;
use super::{Command, tell_usage_error};
use crate::files::unless_closed;
use clap::{CommandFactory as _, Parser};
use std::ffi::OsString;
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  unc run -- sort --parallel=4 FILE                  which lock do its threads wait for, and why?
  unc slo --quantile p99 --at-most 5ms -- ./request  is the 99th percentile within 5 ms?
  unc compare --margin 2% -- ./before ./after        is ./after no more than 2 % worse?
  unc litmus --builtin SB --model sc,tso,machine     which outcomes are allowed, and which occur?
  unc linearize run.jsonl --spec queue               is a recorded history linearizable?

Exit status: 0 yes, 1 no, 3 undecided, 2 could not run; `unc run` exits with its program's status.";

/// Find where the threads of a native program wait, and prove which change helps
#[derive(Debug, Parser)]
#[command(name = "unc", version, max_term_width = 100, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// Does what the command line asks for, and returns the exit status.
pub(crate) fn execute() -> ExitCode {
    match Arguments::try_parse() {
        Ok(arguments) => arguments.command.execute(),
        Err(message) => {
            let words: Vec<OsString> = std::env::args_os().skip(1).collect();
            let mut command = Arguments::command();
            command.build();
            let message = with_tip(message, &command, &words);
            // An error has no other place to be told.
            let printed = unless_closed(message.print()).is_ok();
            if message.exit_code() != 0 {
                tell_usage_error(&message);
            }
            let status = if printed { message.exit_code() } else { 2 };
            ExitCode::from(usage_status(status))
        }
    }
}

/// `unc run` leaves 2 to its program and reports its own failures with 125; so does `unc attach`.
fn usage_status(status: i32) -> u8 {
    let runs =
        std::env::args_os().nth(1).is_some_and(|command| command == "run" || command == "attach");
    match status {
        0 => 0,
        _ if runs => 125,
        _ => 2,
    }
}
