//! Writes the forms of a report that the flags request.

use crate::console::complain;
use crate::run::plan::Plan;
use crate::run::session::Outputs;
use crate::symbols::ElfSymbols;
use std::io::{IsTerminal, Write};
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use uncontended_decide::Failure;
use uncontended_report::facts::Facts;
use uncontended_report::history::History;
use uncontended_report::run::RunReport;
use uncontended_report::{aggregate, html, json, terminal, tracefile};

/// The widths that `COLUMNS` may ask for.
const WIDTHS: RangeInclusive<usize> = 40..=1000;

/// The addresses that a trace has names of. A program that leaves more in its record is not to be kept waiting.
const NAMES: usize = 1 << 16;

/// Writes everything that `unc run` was asked for. Tries every form, reports each failure, and returns the last.
pub(crate) fn after_run(
    plan: &Plan,
    record: &[u8],
    mut facts: Facts,
    outputs: Outputs,
    symbols: &mut ElfSymbols,
) -> Result<(), Failure> {
    if outputs.trace.is_some() && aggregate::name_all(record, symbols, NAMES).is_ok() {
        facts.names = symbols.names();
    }
    let kept = outputs.trace.map(|output| {
        let ending = tracefile::ending(record, &facts)
            .map_err(|error| Failure::new(error.to_string(), ""))?;
        output.write(&[record, &ending])
    });
    let started_unix_s = facts.started_unix_s;
    let mut report = report(record, facts, symbols)?;
    if !plan.no_history {
        remember(&report, started_unix_s);
    }
    if let Some(pattern) = &plan.only {
        keep_only(&mut report, pattern);
    }
    let data = outputs.json.map(|output| output.write(&[&json(&report)?]));
    let page = outputs.html.map(|output| output.write(&[html::run_page(&report).as_bytes()]));
    let written = outputs.report.map(|output| {
        let look = terminal::Options { top: plan.top, ..terminal::Options::default() };
        output.write(&[terminal::render(&report, &look).as_bytes()])
    });
    if !plan.quiet && written.is_none() {
        // If stderr is closed, the report has no reader.
        let _ = std::io::stderr().write_all(text(&report, plan.top, &std::io::stderr()).as_bytes());
    }
    let outcomes = [kept, data, page, written].into_iter().flatten();
    let mut failures = outcomes.filter_map(Result::err);
    let last = failures.next_back();
    failures.for_each(|failure| complain(&failure));
    last.map_or(Ok(()), Err)
}

/// Keeps the locks that match `--only`, or says that none does.
pub(crate) fn keep_only(report: &mut RunReport, pattern: &str) {
    if let Some(remedy) = report.without_match(pattern) {
        complain(&Failure::new(format!("no lock matches --only '{pattern}'"), remedy));
    }
    report.keep_matching(pattern);
}

/// The report on a record and the facts of its run.
pub(crate) fn report(
    record: &[u8],
    facts: Facts,
    symbols: &mut ElfSymbols,
) -> Result<RunReport, Failure> {
    aggregate::report(record, facts, symbols)
        .map_err(|error| Failure::new(format!("the record cannot be read: {error}"), ""))
}

/// The report as text for people; coloured, and as wide as the screen, if `stream` is a terminal.
pub(crate) fn text(report: &RunReport, top: usize, stream: &(impl IsTerminal + AsFd)) -> String {
    terminal::render(report, &look(top, stream))
}

/// The options for text on `stream`: as wide as the terminal, else as `COLUMNS` says.
pub(crate) fn look(top: usize, stream: &(impl IsTerminal + AsFd)) -> terminal::Options {
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let screen = terminal_size::terminal_size_of(stream).map(|(width, _)| usize::from(width.0));
    let asked =
        || std::env::var("COLUMNS").ok()?.parse().ok().filter(|width| WIDTHS.contains(width));
    let default = terminal::Options::default();
    let colour = stream.is_terminal() && !no_colour;
    terminal::Options { top, colour, width: screen.or_else(asked).unwrap_or(default.width) }
}

/// Adds the run to the history. A failure is reported and changes nothing else.
fn remember(report: &RunReport, started_unix_s: u64) {
    if let Err(error) = History::of_user().and_then(|history| history.add(report, started_unix_s)) {
        let cause = format!("the run was not added to the history: {error}");
        complain(&Failure::new(cause, "pass --no-history to skip it"));
    }
}

/// `value` as JSON, ending in one line feed.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, Failure> {
    json::text(value).map_err(|error| Failure::new(error.to_string(), ""))
}
