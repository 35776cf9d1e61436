//! The command that decides whether what the findings advise helps.
//!
//! # Contract
//! It can be run as it is printed, once CHANGED stands for the changed program. Of a run with a load it starts the
//! program, waits until it is ready, runs the load and ends the program. Of a program that did not end by itself, two
//! scripts must do that. Of a program that hangs and of locks that were not seen there is nothing to try.
//! # Evidence
//! `tests/findings_said.rs`; `crates/cli/tests/run_load.rs` runs the command.

use super::{UNFINISHED, deadlock, hung, order};
use crate::facts::LoadFacts;
use crate::run::{Finding, RunReport};
use uncontended_figures::text::clean;

/// A longer command would be most of the finding.
const LONGEST_COMMAND: usize = 60;
/// The same of the script that starts a server and its load.
const LONGEST_SCRIPT: usize = 280;

/// A command, and what introduces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// What to do with it, in a sentence.
    pub introduction: &'static str,
    /// For a shell.
    pub command: String,
}

const TRY: &str = "To decide whether a change helps, put the changed program in place of CHANGED:";
const TRY_WITH_LOAD: &str = "To decide whether a change helps, put the changed program in place of CHANGED; what is compared is the time from \
    its start to the end of the load:";
const TRY_SCRIPTS: &str = "To decide whether a change helps, compare two scripts, each of which starts its program, has it do the same work, \
    and ends it:";

/// The command, if the findings advise something and the program's own command is known and short. It needs quotes if
/// it has several words, and has none if they would have to be nested.
pub fn tried_by(report: &RunReport) -> Option<Trial> {
    let untried = [UNFINISHED, deadlock::RULE, hung::RULE, order::RULE];
    let hangs = |finding: &Finding| untried.contains(&&*finding.rule);
    let advises = |finding: &Finding| finding.lock.is_some() && !hangs(finding);
    let line = crate::terminal::command_line(&report.command);
    if line.is_empty() || !report.findings.iter().any(advises) {
        return None;
    }
    if let Some(load) = &report.load {
        return with_load(&line, load).or_else(with_scripts);
    }
    if report.signal.is_some() || report.attached.is_some() || report.so_far {
        return with_scripts();
    }
    let quote = if report.command.len() > 1 { "'" } else { "" };
    (line.len() <= LONGEST_COMMAND && !line.contains('\'')).then(|| Trial {
        introduction: TRY,
        command: format!("unc compare --claim better -- {quote}{line}{quote} CHANGED"),
    })
}

/// The command that does what `unc run --load` did.
fn with_load(line: &str, load: &LoadFacts) -> Option<Trial> {
    let asks =
        |ready: &String| format!("for i in $(seq 1200); do ({ready}) && break; sleep 0.05; done; ");
    let ready = load.ready.as_ref().map_or_else(String::new, asks);
    let rest = format!("{ready}({}); s=$?; kill $!; wait; exit $s", load.command);
    let is_plain = |text: &str| !text.contains('\'') && clean(text) == text;
    let is_short = line.len() + rest.len() <= LONGEST_SCRIPT;
    (is_short && is_plain(&rest) && is_plain(line) && !line.contains(',')).then(|| Trial {
        introduction: TRY_WITH_LOAD,
        command: format!(
            "unc compare --claim better --parameter-list program '{line},CHANGED' -- '{{program}} & {rest}'"
        ),
    })
}

fn with_scripts() -> Option<Trial> {
    let command = "unc compare --claim better -- ./SCRIPT ./CHANGED".to_owned();
    Some(Trial { introduction: TRY_SCRIPTS, command })
}
