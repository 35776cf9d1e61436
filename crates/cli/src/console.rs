//! Lines for people on the terminal.

use crate::files::unless_closed;
use std::io::Write as _;
use std::os::fd::AsFd;
use std::thread::JoinHandle;
use uncontended_decide::Failure;
use uncontended_figures::text::wrap;

/// Writes to standard error. A closed standard error does not stop the measurement.
pub(crate) fn tell(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// A failure as `unc` prints it, with the remedy on a line of its own.
pub(crate) fn told(failure: &Failure) -> String {
    let Failure { cause, remedy } = failure;
    let remedy = if remedy.is_empty() { String::new() } else { format!("     {remedy}\n") };
    format!("unc: {cause}\n{remedy}")
}

/// Prints a failure to standard error.
pub(crate) fn complain(failure: &Failure) {
    tell(&told(failure));
}

/// Prints for people: to standard output, or to standard error if that `is_taken`, as by JSON. A closed pipe is not an
/// error; the exit status still carries the verdict.
pub(crate) fn say(text: &str, is_taken: bool) -> Result<(), Failure> {
    let printed = match is_taken {
        true => std::io::stderr().write_all(on(&std::io::stderr(), text).as_bytes()),
        false => std::io::stdout().write_all(on(&std::io::stdout(), text).as_bytes()),
    };
    unless_closed(printed).map_err(|error| Failure::new(format!("cannot print: {error}"), ""))
}

/// Wraps the lines of `text` if `stream` is a terminal.
fn on(stream: &impl AsFd, text: &str) -> String {
    let Some((width, _)) = terminal_size::terminal_size_of(stream) else { return text.to_string() };
    let width = usize::from(width.0).max(20);
    let wrapped = text.lines().map(|line| match line.len() <= width {
        true => format!("{line}\n"),
        false => {
            let indent = &line[..line.len() - line.trim_start().len()];
            wrap(line, indent, width)
        }
    });
    wrapped.collect()
}

/// The report that is being printed.
#[derive(Debug, Default)]
pub(crate) struct Printing(Option<JoinHandle<()>>);

impl Printing {
    /// Prints a report on standard error: the last one now, others in a thread, for a slow reader must not keep `unc`
    /// from the program. One that comes while the one before is still being printed is left out.
    pub(crate) fn print(&mut self, text: String, is_last: bool) {
        // If stderr is closed, the report has no reader.
        let write = move || drop(std::io::stderr().write_all(text.as_bytes()));
        let before = self.0.take_if(|before| is_last || before.is_finished());
        if let Some(before) = before {
            let _ = before.join(); // It has nothing to say.
        }
        if is_last {
            write();
        } else if self.0.is_none() {
            self.0 = Some(std::thread::spawn(write));
        }
    }
}
