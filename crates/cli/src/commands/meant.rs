//! What a command line that cannot be used probably meant: tips below the parser's message.
//!
//! # Contract
//! A misspelt command is answered with the near one, a program's path with how to run it, and a flag before the command
//! with where it belongs. Where the parser has a tip of its own, that stays the only one.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::path::Path;
use uncontended_figures::text::closest;

/// `error` with a tip, if there is one to give; `words` follow `unc`.
pub(super) fn with_tip(
    mut error: clap::Error,
    command: &clap::Command,
    words: &[OsString],
) -> clap::Error {
    let has_tip =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::Suggested];
    let tip = match error.kind() {
        ErrorKind::UnknownArgument if of_report(&error, words).is_some() => {
            error.remove(ContextKind::SuggestedArg);
            of_report(&error, words)
        }
        ErrorKind::UnknownArgument if of_hyperfine(&error, words).is_some() => {
            error.remove(ContextKind::SuggestedArg);
            of_hyperfine(&error, words)
        }
        _ if has_tip.into_iter().any(|kind| error.get(kind).is_some()) => None,
        ErrorKind::InvalidSubcommand => of_command(&error, command),
        ErrorKind::UnknownArgument => of_flag(command, words),
        _ => None,
    };
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// For a command that does not exist.
fn of_command(error: &clap::Error, command: &clap::Command) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let known = command.get_subcommands().filter(|known| !known.is_hide_set());
    let known = known.map(clap::Command::get_name).chain(["help"]);
    if let Some(near) = closest(typed, known) {
        return Some(format!("a similar subcommand exists: '{near}'"));
    }
    let is_program = typed.contains('/') && Path::new(typed).is_file();
    is_program.then(|| format!("to see where its threads wait: unc run -- {typed}"))
}

/// The flags of reports that a flag of other tools stands for.
pub(super) fn of_other_tools(flag: &str) -> Option<&'static str> {
    match flag {
        "-o" | "--out" | "--output" | "--outfile" | "--output-file" | "--file" | "--log-file" => {
            Some("--report FILE (text), --json FILE or --html FILE")
        }
        "-f" | "--format" | "--output-format" => Some("--json FILE, --html FILE or --folded FILE"),
        _ => None,
    }
}

/// For such a flag of a command that reports on a run.
fn of_report(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return None };
    let command = words.first()?.to_str()?;
    let is_report = ["attach", "report"].contains(&command);
    let meant = of_other_tools(typed.split('=').next()?).filter(|_| is_report)?;
    Some(format!("did you mean {meant}?"))
}

/// For a flag of hyperfine that has no equal meaning in a sequential test, or another name.
fn of_hyperfine(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return None };
    let is_decided = ["compare", "slo"].contains(&words.first()?.to_str()?);
    let meant = match typed.split('=').next()? {
        "-r" | "--runs" => {
            "the test finds out how many runs it takes; give the most with --max-runs N (-M)"
        }
        "-m" | "--min-runs" => {
            "the test stops as soon as the answer is certain, and more runs would not change it; give the most with --max-runs N (-M)"
        }
        "-u" | "--time-unit" => "every figure is shown in the unit that fits it",
        "--reference" => "the first command is the baseline; --baseline N names another",
        "--output" => "the commands' output is thrown away; --show-output shows it",
        "--style" => "--quiet leaves out the progress line, and NO_COLOR the colours",
        "--sort" => "commands are shown in the order in which they are given",
        _ => return None,
    };
    is_decided.then(|| meant.to_owned())
}

/// For a flag before the command, which takes none there: the commands that have it.
fn of_flag(command: &clap::Command, words: &[OsString]) -> Option<String> {
    let typed = words.first()?.to_str()?.split('=').next()?;
    let long = typed.strip_prefix("--")?;
    let has = |of: &&clap::Command| of.get_arguments().any(|flag| flag.get_long() == Some(long));
    let having = command.get_subcommands().filter(|of| !of.is_hide_set()).filter(has);
    let having: Vec<String> = having.map(|of| format!("unc {}", of.get_name())).collect();
    let (first, rest) = having.split_first()?;
    let rest = if rest.is_empty() { String::new() } else { format!("; also {}", rest.join(", ")) };
    Some(format!("{typed} goes after the command: {first} {typed} ...{rest}"))
}
