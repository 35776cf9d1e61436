//! What people read: herd's lines, and ours where there is more to say.

use super::{Ran, Shown};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use uncontended_model::classics::Classic;
use uncontended_model::litmus::{Answer, Quantifier, States};
use uncontended_model::outcome::Bound;
use uncontended_model::search::Verdict;

/// Writes to stdout; a reader that went away is not our failure.
pub(super) fn out(text: &str) -> std::io::Result<()> {
    std::io::stdout().write_all(text.as_bytes())
}

/// `--list`.
pub(super) fn list(classics: &[Classic]) -> ExitCode {
    let width = classics.iter().map(|classic| classic.name.len()).max().unwrap_or(0);
    let mut text = format!("{:width$}  sc   tso  what it shows\n", "");
    for classic in classics {
        let verdict = |allowed| if allowed { "yes" } else { "no" };
        let (sc, tso) = (verdict(classic.sc), verdict(classic.tso));
        let about = first_sentence(classic.about);
        let _ = writeln!(text, "{:width$}  {sc:4} {tso:4} {about}", classic.name);
    }
    text += "\nsc, tso: whether the model allows what the test asks about.\n\
             `unc litmus --builtin NAME --trace` explains it, and shows how.\n";
    let _ = out(&text);
    ExitCode::SUCCESS
}

fn first_sentence(text: &str) -> &str {
    text.split(['.', ':']).next().unwrap_or(text)
}

/// Everything about one test.
pub(super) fn test(text: &mut String, ran: &Ran) {
    if let Some(about) = ran.about {
        wrapped(text, about);
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

/// Breaks a paragraph into lines of at most 100 characters.
fn wrapped(text: &mut String, paragraph: &str) {
    let mut column = 0;
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > 100 {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}
