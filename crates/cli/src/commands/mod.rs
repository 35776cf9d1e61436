//! The subcommands, in the order of the verbs: observe, decide, prove. Each variant holds the validated flags of one
//! command; each module does that command's work and nothing else.

mod arguments;
#[cfg(unc_full)]
mod attach;
#[cfg(all(unc_full, target_arch = "x86_64"))]
mod barrierd;
mod compare;
mod completions;
#[cfg(not(unc_full))]
mod elsewhere;
pub(crate) mod flags;
mod history;
mod linearize;
mod litmus;
mod man;
mod meant;
mod permute;
mod power;
mod record;
mod report;
#[cfg(unc_full)]
pub(crate) mod run;
mod slo;
mod suite;
#[cfg(unc_full)]
mod survey;
mod terms;
mod track;
mod verdict;

pub(crate) use self::arguments::{Arguments, execute};
use crate::deliver::write_failure;
use clap::Subcommand;
#[cfg(not(unc_full))]
use elsewhere::{attach, run};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use uncontended_decide::Failure;

/// One subcommand of `unc` with its flags.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(run::Arguments),
    Attach(attach::Arguments),
    Report(report::Arguments),
    History(history::Arguments),
    Slo(Box<slo::Flags>),
    Compare(Box<compare::Flags>),
    Permute(Box<permute::Flags>),
    Record(Box<record::Flags>),
    Power(Box<power::Flags>),
    Verdict(Box<verdict::Flags>),
    Track(Box<track::Flags>),
    #[cfg(unc_full)]
    Survey(Box<survey::Flags>),
    #[cfg(all(unc_full, target_arch = "x86_64"))]
    Barrierd(barrierd::Flags),
    Litmus(litmus::Litmus),
    Linearize(Box<linearize::Flags>),
    Terms(terms::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
    #[cfg(unc_full)]
    #[command(name = crate::run::cost::SUBCOMMAND, hide = true)]
    MeasureObserverCost,
}

impl Command {
    /// Runs the command and returns its documented exit status.
    pub(crate) fn execute(self) -> ExitCode {
        if matches!(self, Command::Run(_) | Command::Attach(_)) {
            uncontended_sys::limits::exit_with(125);
        }
        match self {
            Command::Run(arguments) => arguments.execute(),
            Command::Attach(arguments) => arguments.execute(),
            Command::Report(arguments) => arguments.execute(),
            Command::History(arguments) => arguments.execute(),
            Command::Slo(flags) => flags.execute(),
            Command::Compare(flags) => flags.execute(),
            Command::Permute(flags) => flags.execute(),
            Command::Record(flags) => flags.execute(),
            Command::Power(flags) => flags.execute(),
            Command::Verdict(flags) => flags.execute(),
            Command::Track(flags) => flags.execute(),
            #[cfg(unc_full)]
            Command::Survey(flags) => flags.execute(),
            #[cfg(all(unc_full, target_arch = "x86_64"))]
            Command::Barrierd(flags) => flags.execute(),
            Command::Litmus(command) => command.execute(),
            Command::Linearize(flags) => flags.execute(),
            Command::Terms(arguments) => arguments.execute(),
            Command::Completions(arguments) => arguments.execute(),
            Command::Man(arguments) => arguments.execute(),
            #[cfg(unc_full)]
            Command::MeasureObserverCost => crate::run::cost::print(),
        }
    }
}

/// Reports invalid flags as JSON, for the commands whose JSON has an error form.
pub(crate) fn tell_usage_error(error: &clap::Error) {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Some((command, words)) = words.split_first() else { return };
    let schema = match command.to_str() {
        Some("slo" | "compare" | "permute" | "verdict") => uncontended_decide::verdict::SCHEMA,
        Some("power") => power::SCHEMA,
        Some("track") => track::SCHEMA,
        Some("linearize") => linearize::SCHEMA,
        #[cfg(all(unc_full, target_arch = "x86_64"))]
        Some("barrierd") => barrierd::SCHEMA,
        _ => return,
    };
    write_usage_error(schema, words, error);
}

/// Reports invalid flags as JSON if `words`, which follow the command's name, ask for JSON.
fn write_usage_error(schema: &str, words: &[OsString], error: &clap::Error) {
    let ours = words.iter().take_while(|word| *word != "--");
    let at = ours.clone().position(|word| word == "--json").and_then(|at| words.get(at + 1));
    let json = at.map(Path::new).or_else(|| {
        let mut joined = ours.filter_map(|word| word.to_str()?.strip_prefix("--json="));
        joined.next().map(Path::new)
    });
    // The error itself is already printed; a second one while reporting it adds nothing.
    let _ = write_failure(schema, &usage_failure(error), json);
}

/// The flag parser's message, in one line.
fn usage_failure(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let lines: Vec<&str> =
        text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    Failure::new(lines.join(" ").trim_start_matches("error: "), "see --help")
}
