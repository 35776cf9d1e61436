//! Lines for people on the terminal.

use crate::emit;
use crate::files::{unless_closed, why};
use std::borrow::Cow;
use std::io::Write as _;
use std::os::fd::AsFd;
use std::thread::JoinHandle;
use uncontended_decide::Failure;
use uncontended_figures::text::{ascii, wrap};

/// Writes to standard error. A closed standard error does not stop the measurement.
pub(crate) fn tell(text: &str) {
    let _ = std::io::stderr().write_all(in_locale(text).as_bytes());
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
fn unprinted(stream: &str, error: &std::io::Error, remedy: &str) -> Failure {
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
    fn write(self, text: &str) -> std::io::Result<()> {
        unless_closed(match self {
            Stream::Output => std::io::stdout().write_all(text.as_bytes()),
            Stream::Error => std::io::stderr().write_all(text.as_bytes()),
        })
    }

    fn name(self) -> &'static str {
        match self {
            Stream::Output => "standard output",
            Stream::Error => "standard error",
        }
    }
}

/// The report that is being printed.
#[derive(Debug)]
pub(crate) struct Printing {
    pub(crate) stream: Stream,
    before: Option<JoinHandle<()>>,
}

impl Printing {
    pub(crate) fn on(stream: Stream) -> Self {
        Printing { stream, before: None }
    }

    /// Prints a report: the last one now, others in a thread, for a slow reader must not keep `unc`
    /// from the program. One that comes while the one before is still being printed is left out. Only that the last one
    /// could not be written is a failure; if the stream is closed, it has no reader.
    pub(crate) fn print(&mut self, text: String, is_last: bool) -> Result<(), Failure> {
        let stream = self.stream;
        let write = move || stream.write(&text);
        let before = self.before.take_if(|before| is_last || before.is_finished());
        if let Some(before) = before {
            let _ = before.join(); // It has nothing to say.
        }
        if is_last {
            let remedy = "pass --report FILE to write the report to a file";
            return write().map_err(|error| unprinted(stream.name(), &error, remedy));
        }
        if self.before.is_none() {
            let thread = std::thread::Builder::new();
            // Without one, this report is left out, too.
            self.before = thread.spawn(move || drop(write())).ok();
        }
        Ok(())
    }
}
