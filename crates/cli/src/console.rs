//! Lines for people on the terminal.

use crate::emit;
use crate::files::{unless_closed, why};
use std::borrow::Cow;
use std::io::Write as _;
use std::os::fd::AsFd;
use uncontended_decide::Failure;
use uncontended_figures::text::{ascii, wrap};

/// Writes to standard error. A closed standard error does not stop the measurement.
pub(crate) fn tell(text: &str) {
    let _ = std::io::stderr().write_all(in_locale(text).as_bytes());
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
