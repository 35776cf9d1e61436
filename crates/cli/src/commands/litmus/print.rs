//! The text output: herd's lines, and our own where there is more to say.

use super::{Ran, Shown};
use crate::files;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::Path;
use uncontended_decide::Failure;
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::text::wrap;
use uncontended_model::classics::Classic;
use uncontended_model::litmus::{Answer, Quantifier, States};
use uncontended_model::outcome::Bound;
use uncontended_model::search::Verdict;

/// Prints what `--list` shows.
pub(super) fn list(classics: &[Classic]) -> Result<u8, Failure> {
    let columns = ["", "sc", "tso"].map(Column::word);
    let mut table = Table::new([&columns[..], &[Column::elastic("what it shows")]].concat());
    for classic in classics {
        let verdict = |allowed| if allowed { "yes" } else { "no" };
        let about = first_sentence(classic.about);
        table.row([classic.name, verdict(classic.sc), verdict(classic.tso), about]);
    }
    let stdout = std::io::stdout();
    let look = crate::emit::look(0, &stdout);
    // In a pipe, nothing is truncated.
    let width = if stdout.is_terminal() { look.width } else { usize::MAX };
    let mut text = table.text(width, Paint { colour: look.colour });
    text += "\nsc, tso: whether the model allows what the test asks about.\n\
             `unc litmus --builtin NAME --trace` explains it, and shows how.\n";
    files::write(Path::new("-"), text).map(|()| 0)
}

fn first_sentence(text: &str) -> &str {
    text.split(['.', ':']).next().unwrap_or(text)
}

/// Everything about one test.
pub(super) fn test(text: &mut String, ran: &Ran) {
    if let Some(about) = ran.about {
        text.push_str(&wrap(about, "", 100));
        text.push('\n');
    }
    for shown in &ran.models {
        match &shown.answer {
            Ok(answer) => answered(text, ran, shown, answer),
            Err(reason) => {
                let _ = writeln!(text, "Test {} under {}: {reason}\n", ran.test.name, shown.memory);
            }
        }
    }
    match &ran.machine {
        Some(Ok(seen)) => seen.print(text, &ran.test),
        Some(Err(reason)) => {
            let _ = writeln!(text, "Test {} on the machine: {reason}\n", ran.test.name);
        }
        None => {}
    }
}

fn answered(text: &mut String, ran: &Ran, shown: &Shown, answer: &Answer) {
    let name = &ran.test.name;
    let kind = match ran.test.condition.quantifier {
        Quantifier::Exists => "Allowed",
        Quantifier::NotExists => "Forbidden",
        Quantifier::Forall => "Required",
    };
    let _ = writeln!(text, "Test {name} {kind} ({})", shown.memory);
    let states = &answer.states;
    let _ = writeln!(text, "States {}", states.by_line.len());
    for (line, (count, holds)) in &states.by_line {
        let _ = writeln!(text, "{count:8} {}>{line}", if *holds { '*' } else { ':' });
    }
    let least = |count: u64| match (answer.bound, answer.exhaustive && count == 0) {
        (None, _) | (_, true) => count.to_string(),
        _ => format!("at least {count}"),
    };
    let (positive, negative) = (least(states.positive), least(states.negative));
    let _ = writeln!(text, "Witnesses\nPositive: {positive} Negative: {negative}");
    let _ = writeln!(text, "Condition {}", ran.test.condition);
    observation(text, name, answer);
    if answer.blocked > 0 {
        let _ = writeln!(text, "Redundant explorations given up: {}", answer.blocked);
    }
    if let Some((verdict, diagram)) = &shown.trace {
        let _ = match (verdict, diagram) {
            (Verdict::Allowed(trace), Some(diagram)) => {
                let plural = if trace.preemptions == 1 { "" } else { "s" };
                write!(
                    text,
                    "Reached with {} preemption{plural}:\n{}",
                    trace.preemptions,
                    diagram.text()
                )
            }
            (Verdict::Forbidden { states }, _) => {
                writeln!(text, "No execution shows it: all {states} states visited.")
            }
            (Verdict::Unknown(bound), _) => {
                writeln!(text, "No execution found that shows it, but {bound}.")
            }
            (Verdict::Allowed(_), None) => Ok(()),
        };
    }
    text.push('\n');
}

fn observation(text: &mut String, name: &str, answer: &Answer) {
    let States { positive, negative, .. } = answer.states;
    let _ = match (answer.observation(), answer.bound) {
        (Some(observation), None) => {
            writeln!(text, "Observation {name} {observation} {positive} {negative}")
        }
        (Some(observation), Some(Bound::Uncounted)) => writeln!(
            text,
            "Observation {name} {observation} (every state was visited; {})",
            Bound::Uncounted
        ),
        (Some(observation), Some(bound)) => writeln!(
            text,
            "Observation {name} {observation} (every state was visited; the counts are incomplete: {bound})"
        ),
        (None, bound) => {
            let bound = bound.map_or_else(String::new, |bound| format!(": {bound}"));
            writeln!(text, "Observation {name} Unknown{bound}")
        }
    };
    if let Some(theirs) = &answer.as_herd {
        let _ = writeln!(
            text,
            "herd 7.57 counts {} {} {}: it leaves the halves of a read-modify-write unordered, and so adds executions \
             that no machine shows.",
            theirs.observation(),
            theirs.positive,
            theirs.negative
        );
    }
}
