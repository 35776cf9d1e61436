//! What is written after a run: its report in every form, its record, and its place in the history.

use super::plan::Plan;
use super::session::Outputs;
use crate::console::{Stream, complain};
use crate::emit;
use crate::files::why;
use crate::symbols::ElfSymbols;
use crate::view::last_of;
use uncontended_decide::Failure;
use uncontended_report::facts::Facts;
use uncontended_report::history::{History, HistoryError};
use uncontended_report::run::RunReport;
use uncontended_report::{aggregate, tracefile};

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
    let mut report = emit::report(record, facts, symbols)?;
    if !plan.no_history && has_ended {
        remember(&report, started_unix_s);
    }
    plan.view.narrow(&mut report);
    let top = plan.view.top;
    let printed = match (plan.quiet || plan.view.report.is_some(), printing.stream) {
        (true, _) => Ok(()),
        (_, Stream::Output) => {
            printing.print(emit::text(&report, top, &std::io::stdout()), has_ended)
        }
        (_, Stream::Error) => {
            printing.print(emit::text(&report, top, &std::io::stderr()), has_ended)
        }
    };
    last_of([kept, printed, forms.write(&report, &timelines, top)])
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
