//! Makes the forms of a report, and prints those for people.

use crate::symbols::ElfSymbols;
use std::io::IsTerminal;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use uncontended_decide::Failure;
use uncontended_report::facts::Facts;
use uncontended_report::run::RunReport;
use uncontended_report::{aggregate, json, terminal};

/// The widths that `COLUMNS` may ask for.
const WIDTHS: RangeInclusive<usize> = 40..=1000;

/// The report on a record and the facts of its run.
pub(crate) fn report(
    record: &[u8],
    facts: Facts,
    symbols: &mut ElfSymbols,
) -> Result<RunReport, Failure> {
    aggregate::report(record, facts, symbols).map_err(unreadable)
}

/// Why there is no report.
pub(crate) fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("the record cannot be read: {error}"), "")
}

/// The report as text for people; coloured, and as wide as the screen, if `stream` is a terminal.
pub(crate) fn text(report: &RunReport, top: usize, stream: &(impl IsTerminal + AsFd)) -> String {
    terminal::render(report, &look(top, stream))
}

/// The options for text on `stream`: as wide as the terminal, else as `COLUMNS` says.
pub(crate) fn look(top: usize, stream: &(impl IsTerminal + AsFd)) -> terminal::Options {
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let screen = terminal_size::terminal_size_of(stream).map(|(width, _)| usize::from(width.0));
    let colour = stream.is_terminal() && !no_colour;
    let plain = plain(top);
    terminal::Options { colour, width: screen.unwrap_or(plain.width), ..plain }
}

/// The options for text in a file: as wide as `COLUMNS` says, in the characters of the locale.
pub(crate) fn plain(top: usize) -> terminal::Options {
    let asked: Option<usize> =
        std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let default = terminal::Options::default();
    let width = asked.filter(|width| WIDTHS.contains(width)).unwrap_or(default.width);
    terminal::Options { top, width, utf8: is_utf8(), ..default }
}

/// Whether the locale has UTF-8, as far as it is set: containers mostly have none, but print on a terminal that has it.
pub(crate) fn is_utf8() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// `value` as JSON, ending in one line feed.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, Failure> {
    json::text(value).map_err(|error| Failure::new(error.to_string(), ""))
}
