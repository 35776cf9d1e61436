//! The command that decides whether what the findings advise helps.
//!
//! # Contract
//! It can be run as it is printed, once CHANGED stands for the changed program, whatever characters the program's
//! command line and those of the load have: a shell and `unc compare` read them back as they were. Nothing in it
//! controls a terminal. Of a run with a load it starts the program, waits until it is ready, runs the load and ends the
//! program. Of a program that did not end by itself, two scripts must do that; so they must for a command that is very
//! long or not UTF-8. Of a program that hangs and of locks that were not seen there is nothing to try.
//! # Evidence
//! `tests/trial.rs`: what a shell makes of it; `tests/findings_said.rs`; `crates/cli/tests/run_load.rs` runs it.

use super::{UNFINISHED, deadlock, hung, order};
use crate::facts::LoadFacts;
use crate::run::{Finding, RunReport};
use uncontended_decide::words;
use uncontended_figures::text::clean;

/// A longer command is more than anyone reads or copies.
const LONGEST_COMMAND: usize = 2000;

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

/// The command, if the findings advise something and the program's own command is known.
pub fn tried_by(report: &RunReport) -> Option<Trial> {
    let untried = [UNFINISHED, deadlock::RULE, hung::RULE, order::RULE];
    let hangs = |finding: &Finding| untried.contains(&&*finding.rule);
    let advises = |finding: &Finding| finding.lock.is_some() && !hangs(finding);
    if report.command.is_empty() || !report.findings.iter().any(advises) {
        return None;
    }
    let line = report.command.iter().map(|argument| word(argument)).collect::<Vec<_>>().join(" ");
    let is_ended = report.signal.is_some() || report.ended_by_limit;
    let does_end = !is_ended && report.attached.is_none() && !report.so_far;
    let (introduction, command) = match &report.load {
        Some(load) => (TRY_WITH_LOAD, with_load(&line, load)),
        None if does_end => (TRY, format!("{COMPARE} -- {} CHANGED", shown(word, &line))),
        None => (TRY_SCRIPTS, scripts()),
    };
    // What is not UTF-8 is not known exactly.
    let is_whole = !command.contains(char::REPLACEMENT_CHARACTER);
    Some(match is_whole && command.chars().count() <= LONGEST_COMMAND {
        true => Trial { introduction, command },
        false => Trial { introduction: TRY_SCRIPTS, command: scripts() },
    })
}

const COMPARE: &str = "unc compare --claim better";

fn scripts() -> String {
    format!("{COMPARE} -- ./SCRIPT ./CHANGED")
}

/// The command that does what `unc run --load` did.
fn with_load(line: &str, load: &LoadFacts) -> String {
    let asks = |ready: &String| {
        format!("for i in $(seq 1200); do {} && break; sleep 0.05; done; ", grouped(ready))
    };
    let ready = load.ready.as_ref().map_or_else(String::new, asks);
    let rest = format!("{ready}{}; s=$?; kill $!; wait; exit $s", grouped(&load.command));
    // A comma would end the value of a parameter.
    if line.contains(',') || rest.contains("{program}") {
        let scripts = [line, "CHANGED"].map(|of| shown(quoted, &format!("{of} & {rest}")));
        return format!("{COMPARE} -- {}", scripts.join(" "));
    }
    let programs = shown(quoted, &format!("{line},CHANGED"));
    let script = shown(quoted, &format!("{{program}} & {rest}"));
    format!("{COMPARE} --parameter-list program {programs} -- {script}")
}

/// A command in a shell of its own: between parentheses, unless it might not end at the second one.
fn grouped(command: &str) -> String {
    let is_odd = command.contains(['#', '\n']) || command.ends_with('\\');
    match is_odd || command.starts_with('(') {
        true => format!("sh -c {}", quoted(command)),
        false => format!("({command})"),
    }
}

/// `text` as one word of a shell's command line, and of one that `unc compare` splits itself.
fn word(text: &str) -> String {
    let is_plain = words::join(&[text.to_owned()]) == text;
    if is_plain { text.to_owned() } else { quoted(text) }
}

/// The same with quotes in any case: double ones where the text has single ones and nothing that double ones treat
/// in a way of their own.
fn quoted(text: &str) -> String {
    match text.contains('\'') && !text.contains(['"', '$', '`', '\\', '!']) {
        true => format!("\"{text}\""),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// `text` as one word of the printed line: by `printf`, with octal bytes, if it has characters that control a terminal.
/// A shell drops line ends at the end of that; here, they are never last, as a word with one is in quotes.
fn shown(quoted: fn(&str) -> String, text: &str) -> String {
    if clean(text) == text {
        return quoted(text);
    }
    let octal = |c: char| {
        let bytes = c.to_string().into_bytes();
        bytes.iter().map(|byte| format!("\\{byte:03o}")).collect::<String>()
    };
    let of = |c: char| match c {
        '%' => "%%".to_owned(),
        '\\' => r"\\".to_owned(),
        '\'' | '!' => octal(c),
        _ if clean(&c.to_string()) != c.to_string() => octal(c),
        _ => c.to_string(),
    };
    format!("\"$(printf '{}')\"", text.chars().map(of).collect::<String>())
}
