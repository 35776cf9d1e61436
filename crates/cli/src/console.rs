//! Lines for people on the terminal.

use crate::emit;
use crate::files::{unless_closed, why};
use std::borrow::Cow;
use std::io::Write as _;
use std::os::fd::AsFd;
use uncontended_decide::Failure;
use uncontended_figures::text::{ascii, width, wrap};

/// Writes to standard error, wrapped if that is a terminal. A closed standard error does not stop the measurement.
pub(crate) fn tell(text: &str) {
    let mut stderr = std::io::stderr();
    let _ = stderr.write_all(on(&stderr, &in_locale(text)).as_bytes());
}

/// A failure as `unc` prints it, with the remedy on a line of its own.
pub(crate) fn told(failure: &Failure) -> String {
    let Failure { cause, remedy, .. } = failure;
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
    let text = &*in_locale(text);
    let (stream, text) = match is_taken {
        true => (Stream::Error, on(&std::io::stderr(), text)),
        false => (Stream::Output, on(&std::io::stdout(), text)),
    };
    stream.write(&text).map_err(|error| unprinted(stream.name(), &error, ""))
}

/// `text` in the characters of the locale.
pub(crate) fn in_locale(text: &str) -> Cow<'_, str> {
    if emit::is_utf8() { Cow::Borrowed(text) } else { Cow::Owned(ascii(text)) }
}

/// That a stream could not be written.
pub(crate) fn unprinted(stream: &str, error: &std::io::Error, remedy: &str) -> Failure {
    Failure::new(format!("{stream} could not be written: {}", why(error)), remedy)
}

/// Wraps the lines of `text` if `stream` is a terminal.
fn on(stream: &impl AsFd, text: &str) -> String {
    match terminal_size::terminal_size_of(stream) {
        Some((width, _)) => wrapped(text, usize::from(width.0).max(20)),
        None => text.to_string(),
    }
}

/// `text` with the lines wrapped that are wider than this; the others, such as rows of tables, stay as they are.
fn wrapped(text: &str, columns: usize) -> String {
    let wrapped = text.lines().map(|line| match shown_width(line) <= columns {
        true => format!("{line}\n"),
        false => {
            let indent = &line[..line.len() - line.trim_start().len()];
            wrap(line, indent, columns)
        }
    });
    wrapped.collect()
}

/// The columns that a line takes on a terminal, which shows no codes of colours: from ESC to `m`.
fn shown_width(line: &str) -> usize {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().map_or(0, width);
    first + parts.map(|part| part.split_once('m').map_or(0, |(_, rest)| width(rest))).sum::<usize>()
}

/// A standard stream for reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Output,
    /// Standard output is a program's, or has another form.
    Error,
}

impl Stream {
    pub(crate) fn write(self, text: &str) -> std::io::Result<()> {
        unless_closed(match self {
            Stream::Output => std::io::stdout().write_all(text.as_bytes()),
            Stream::Error => std::io::stderr().write_all(text.as_bytes()),
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Stream::Output => "standard output",
            Stream::Error => "standard error",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_fits_stays_as_it_is() {
        let row = "sleep 0.0011 0.…   undecided   2.57 ms  881 µs";
        assert_eq!(width(row), 46);
        assert_eq!(wrapped(row, 46), format!("{row}\n"));
        assert_eq!(
            wrapped(&format!("  {row} x"), 46),
            "  sleep 0.0011 0.… undecided 2.57 ms 881 µs x\n"
        );
        assert_eq!(wrapped("  one two three\nfour\n", 10), "  one two\n  three\nfour\n");
        assert_eq!(wrapped("", 46), "");
        let coloured = format!("\u{1b}[2m{row}\u{1b}[0m");
        assert_eq!(wrapped(&coloured, 46), format!("{coloured}\n"));
    }
}
