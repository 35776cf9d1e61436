//! The settings of `decide`, as the flags that set them.
//!
//! # Contract
//! `decide` knows no flags: its texts name a setting by its type and field, in backticks, such as `Runs::timeout`.
//! Here, and nowhere else, these names become flags. `cargo xtask tidy` checks that the table is complete.

use uncontended_decide::progress::Progress;
use uncontended_decide::{Failure, Verdict};
use uncontended_figures::progress::{Line, State};

/// Names in the texts of `decide`, and what `unc` says instead.
const FLAGS: [(&str, &str); 50] = [
    ("`Asked::Rate`", "--rate"),
    ("`Candidate::Log`", "--candidate"),
    ("`Commands::lines`", "commands after --, each in quotes"),
    ("`Commands::with_itself`", "--aa"),
    ("`ComparePlan::baseline`", "--baseline"),
    ("`ComparePlan::block`", "--block"),
    ("`ComparePlan::ignore_failure`", "--ignore-failure"),
    ("`ComparePlan::bursts`", "--bursts"),
    ("`ComparePlan::margin`", "--margin"),
    ("`ComparePlan::quantile`", "--quantile"),
    ("`ComparePlan::tail_guard` off", "--no-tail-guard"),
    ("`Limits::log`", "--log"),
    ("`Limits::max_error`", "--max-error"),
    ("`Limits::max_runs`", "--max-runs"),
    ("`Limits::max_time`", "--max-time"),
    ("`Parameter::scan`", "--parameter-scan"),
    ("`PermutePlan::level`", "--level"),
    ("`PermutePlan::log`", "--log"),
    ("`PermutePlan::max_error`", "--max-error"),
    ("`PermutePlan::max_runs`", "--max-runs"),
    ("`PermutePlan::or_below`", "--or-below"),
    ("`PermutePlan::scale`", "--scale"),
    ("`PermutePlan::shift`", "--shift"),
    ("`PermutePlan::two_sided`", "--two-sided"),
    ("`RecordPlan::control`", "--control"),
    ("`Runs::conclude`", "--conclude"),
    ("`Runs::directory`", "--dir"),
    ("`Runs::input`", "--input"),
    ("`Runs::metric`", "--metric"),
    ("`Runs::prepare`", "--prepare"),
    ("`Runs::shell`", "--shell"),
    ("`Runs::show_output`", "--show-output"),
    ("`Runs::timeout`", "--timeout"),
    ("`Side::AtLeast`", "--at-least"),
    ("`Side::AtMost`", "--at-most"),
    ("`SloPlan::bursts`", "--bursts"),
    ("`SloPlan::or_below`", "--or-below"),
    ("`Source::Command`", "a command after --"),
    ("`Source::Counts`", "--counts"),
    ("`Source::trusted`", "--trust-sessions"),
    ("`Source::Values`", "values with --from"),
    ("`Commands::names`", "--command-name"),
    ("`Commands::revisions`", "--rev"),
    ("`Servers::lines`", "--server"),
    ("`Servers::load`", "--load"),
    ("`Servers::ready_timeout`", "--ready-timeout"),
    ("`Servers::ready`", "--ready"),
    ("`Comparison::ratio`", "--ratio"),
    ("`Truth::Shift`", "--shift"),
    ("`decide::power`", "unc power --help"),
];

/// A text of `decide`, with flags.
fn with_flags(text: &str) -> String {
    FLAGS.iter().fold(text.to_string(), |text, (name, flag)| text.replace(name, flag))
}

/// A failure of `decide`, with flags.
pub(crate) fn failure(failure: Failure) -> Failure {
    let so_far = failure.so_far.map(|so_far| Box::new(flagged(*so_far)));
    Failure { so_far, ..Failure::new(with_flags(&failure.cause), with_flags(&failure.remedy)) }
}

/// A verdict of `decide`, with flags.
pub(crate) fn verdict(judged: Result<Verdict, Failure>) -> Result<Verdict, Failure> {
    judged.map(flagged).map_err(failure)
}

fn flagged(mut verdict: Verdict) -> Verdict {
    for warning in &mut verdict.warnings {
        *warning = with_flags(warning);
    }
    verdict
}

/// The progress line, with flags.
#[derive(Debug)]
pub(crate) struct Told(pub(crate) Line);

impl Progress for Told {
    fn say(&mut self, text: &str) {
        self.0.say(&with_flags(text));
    }

    fn insist(&mut self, text: &str) {
        self.0.insist(text);
    }

    fn tick(&mut self, n: u64, state: &dyn Fn() -> State) {
        let state = || {
            let state = state();
            State { text: with_flags(&state.text), ..state }
        };
        self.0.tick(n, &state);
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_flags() {
        let told = failure(Failure::new("`Runs::shell` is empty", "see `Limits::log`, or `ls`"));
        assert_eq!(told, Failure::new("--shell is empty", "see --log, or `ls`"));
    }
}
