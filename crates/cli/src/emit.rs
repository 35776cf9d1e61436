//! Makes the forms of a report, and prints those for people.

use crate::console::{Stream, complain};
use crate::files::why;
use crate::run::plan::Plan;
use crate::run::session::Outputs;
use crate::symbols::ElfSymbols;
use crate::view::last_of;
use std::io::IsTerminal;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use uncontended_decide::Failure;
use uncontended_report::facts::Facts;
use uncontended_report::history::{History, HistoryError};
use uncontended_report::run::RunReport;
use uncontended_report::{aggregate, json, terminal, tracefile};

/// The widths that `COLUMNS` may ask for.
const WIDTHS: RangeInclusive<usize> = 40..=1000;

/// The addresses that a trace has names of. A program that leaves more in its record is not to be kept waiting.
const NAMES: usize = 1 << 16;

/// Writes everything that `unc run` was asked for. Tries every form, reports each failure, and returns the last. While
/// the program still runs, the record is not kept, nor the run remembered.
pub(crate) fn after_run(
    plan: &Plan,
    record: &[u8],
    mut facts: Facts,
    outputs: &mut Outputs,
    symbols: &mut ElfSymbols,
) -> Result<(), Failure> {
    let Outputs { forms, trace, printing } = outputs;
    let has_ended = !facts.so_far;
    let trace = trace.as_mut().filter(|_| has_ended);
    if trace.is_some() && aggregate::name_all(record, symbols, NAMES).is_ok() {
        facts.names = symbols.names();
    }
    let kept = trace.map_or(Ok(()), |output| {
        let ending = tracefile::ending(record, &facts)
            .map_err(|error| Failure::new(error.to_string(), ""))?;
        output.write(&[record, &ending])
    });
    let started_unix_s = facts.started_unix_s;
    let timelines = forms.timelines(record, &facts, symbols)?;
    let mut report = report(record, facts, symbols)?;
    if !plan.no_history && has_ended {
        remember(&report, started_unix_s);
    }
    plan.view.narrow(&mut report);
    let top = plan.view.top;
    let printed = match (plan.quiet || forms.has_text(), printing.stream) {
        (true, _) => Ok(()),
        (_, Stream::Output) => printing.print(text(&report, top, &std::io::stdout()), has_ended),
        (_, Stream::Error) => printing.print(text(&report, top, &std::io::stderr()), has_ended),
    };
    last_of([kept, printed, forms.write(&report, &timelines, top)])
}

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

/// Adds the run to the history. A failure is reported and changes nothing else.
fn remember(report: &RunReport, started_unix_s: u64) {
    if let Err(error) = History::of_user().and_then(|history| history.add(report, started_unix_s)) {
        let error = match &error {
            HistoryError::Io(path, error) => format!("{}: {}", path.display(), why(error)),
            other => other.to_string(),
        };
        let cause = format!("the run was not added to the history: {error}");
        let remedy =
            "set XDG_STATE_HOME or HOME to a folder that you may write to, or pass --no-history";
        complain(&Failure::new(cause, remedy));
    }
}

/// `value` as JSON, ending in one line feed.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, Failure> {
    json::text(value).map_err(|error| Failure::new(error.to_string(), ""))
}
