//! The subcommands, in the order of the verbs: observe, decide, prove. Each variant holds the validated flags of one
//! command, and each module does that command's work and nothing else.

mod compare;
mod completions;
pub(crate) mod flags;
mod history;
mod litmus;
mod man;
mod permute;
mod power;
mod report;
pub(crate) mod run;
mod slo;
mod suite;
mod verdict;

use clap::Subcommand;
use std::ffi::OsString;
use std::process::ExitCode;

/// One subcommand of `unc` with its flags.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(run::Arguments),
    Report(report::Arguments),
    History(history::Arguments),
    Slo(Box<slo::Flags>),
    Compare(Box<compare::Flags>),
    Permute(Box<permute::Flags>),
    Power(Box<power::Flags>),
    Verdict(Box<verdict::Flags>),
    Litmus(litmus::Litmus),
    Completions(completions::Arguments),
    Man(man::Arguments),
    #[command(name = crate::run::cost::SUBCOMMAND, hide = true)]
    MeasureObserverCost,
}

impl Command {
    /// Runs the command and answers with the exit status that design and help document.
    pub(crate) fn execute(self) -> ExitCode {
        match self {
            Command::Run(arguments) => arguments.execute(),
            Command::Report(arguments) => arguments.execute(),
            Command::History(arguments) => arguments.execute(),
            Command::Slo(flags) => flags.execute(),
            Command::Compare(flags) => flags.execute(),
            Command::Permute(flags) => flags.execute(),
            Command::Power(flags) => flags.execute(),
            Command::Verdict(flags) => flags.execute(),
            Command::Litmus(command) => command.execute(),
            Command::Completions(arguments) => arguments.execute(),
            Command::Man(arguments) => arguments.execute(),
            Command::MeasureObserverCost => crate::run::cost::print(),
        }
    }
}

/// Writes as JSON that flags could not be understood, for the commands whose JSON has an entry for that.
pub(crate) fn tell_usage_error(error: &clap::Error) {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Some((command, words)) = words.split_first() else { return };
    let schema = match command.to_str() {
        Some("slo" | "compare" | "permute" | "verdict") => uncontended_decide::verdict::SCHEMA,
        Some("power") => power::SCHEMA,
        _ => return,
    };
    crate::decide::output::write_usage_error(schema, words, error);
}
