//! Values from a file or a pipe, one line at a time, for as long as a trial needs them.
//!
//! # Contract
//! A trial that waits for its next line ends when the user interrupts it or its time is up, with the verdict of the
//! lines so far. Dropping it closes the pipe, which tells the writer that it can stop. A line without values is
//! an error with its number, never skipped.
//! # Evidence
//! `crates/cli/tests/decide_slo.rs`, `crates/cli/tests/decide_bad_input.rs`.

use crate::Failure;
use crate::record::{Run, Stop};
use crate::session::Session;
use crate::verdict::Verdict;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::Duration;
use uncontended_figures::{Dimension, Quantity};
use uncontended_sys::supervise::readable;

/// The longest line, in bytes: numbers are shorter, and an endless line would fill the memory.
const LONGEST: usize = 4096;

/// How long a trial waits before it checks again whether to continue.
const PATIENCE: Duration = Duration::from_millis(100);

/// Numbered lines of a source with a name.
pub struct Lines {
    name: String,
    /// The expected form of a line, for error messages.
    form: &'static str,
    source: Box<dyn BufRead>,
    /// The part of the next line read so far.
    begun: Vec<u8>,
    /// Lines read.
    number: u64,
    /// Whether it is a file, whose lines are all there.
    is_file: bool,
    /// Whether lines after the answer are read, too.
    reads_on: bool,
}

impl fmt::Debug for Lines {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Lines").field("name", &self.name).field("number", &self.number).finish()
    }
}

/// The next line, if any.
enum Next {
    Line(String),
    /// Nothing yet.
    Wait,
    End,
}

impl Lines {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path, form: &'static str) -> Result<Lines, Failure> {
        let opened = match path == Path::new("-") {
            true => io::stdin().as_fd().try_clone_to_owned().map(File::from),
            false => File::open(path),
        };
        let name = match path == Path::new("-") {
            true => "standard input".to_string(),
            false => path.display().to_string(),
        };
        let file =
            opened.map_err(|error| Failure::new(format!("{name}: {error}"), "check the path"))?;
        let is_file = file.metadata().is_ok_and(|file| file.is_file());
        let lines = Lines::of(name, Box::new(BufReader::new(Impatient(file))), form);
        Ok(Lines { is_file, ..lines })
    }

    /// Of a file, the lines after the answer are judged, too.
    #[must_use]
    pub fn to_the_end(self) -> Lines {
        Lines { reads_on: self.is_file, ..self }
    }

    /// The lines of any source.
    pub fn of(name: String, source: Box<dyn BufRead>, form: &'static str) -> Lines {
        Lines { name, form, source, begun: Vec::new(), number: 0, is_file: false, reads_on: false }
    }

    fn next(&mut self) -> Result<Next, Failure> {
        let room = (LONGEST - self.begun.len()) as u64;
        match self.source.by_ref().take(room).read_until(b'\n', &mut self.begun) {
            Ok(0) if self.begun.is_empty() => return Ok(Next::End),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Next::Wait),
            read => {
                let unread = |error| {
                    Failure::new(format!("{}: cannot be read: {error}", self.name), self.form)
                };
                read.map_err(unread)?;
                self.number += 1;
            }
        }
        let mut line = std::mem::take(&mut self.begun);
        match line.pop_if(|last| *last == b'\n') {
            None if line.len() == LONGEST => Err(self.bad("the line is too long")),
            _ => String::from_utf8(line)
                .map(Next::Line)
                .map_err(|_| self.bad("the line is not UTF-8")),
        }
    }

    /// An error about the line that was read last.
    fn bad(&self, cause: &str) -> Failure {
        Failure::new(format!("{} line {}: {cause}", self.name, self.number), self.form)
    }

    fn end(&self) -> Result<Stop, Failure> {
        let nothing = || format!("{}: there are no values", self.name);
        if self.number == 0 {
            Err(Failure::new(nothing(), self.form))
        } else {
            Ok(Stop::EndOfInput)
        }
    }

    /// Reads every line with `read`.
    pub fn read_all<T>(
        mut self,
        mut read: impl FnMut(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, Failure> {
        let mut all = Vec::new();
        loop {
            match self.next()? {
                Next::Line(line) => all.push(read(&line).map_err(|cause| self.bad(&cause))?),
                Next::Wait => {}
                Next::End => return self.end().map(|_| all),
            }
        }
    }

    /// The verdict after as many lines as it takes. A line gives runs of commands.
    pub fn judge<const N: usize>(
        mut self,
        mut session: Session,
        mut read: impl FnMut(&str) -> Result<[Run; N], String>,
    ) -> Result<Verdict, Failure> {
        loop {
            let stop = session.stop();
            let continues = stop == Some(Stop::Decided) && self.reads_on;
            if let Some(stop) = stop.filter(|_| !continues) {
                return session.finish(stop);
            }
            let line = match self.next()? {
                Next::Line(line) => line,
                Next::Wait => continue,
                Next::End => return session.finish(stop.map_or_else(|| self.end(), Ok)?),
            };
            for run in read(&line).map_err(|cause| self.bad(&cause))? {
                session.push(run)?;
            }
        }
    }
}

/// Why a line is not one value: because it has several, or else `cause`.
pub(crate) fn unless_several(line: &str, cause: String) -> String {
    match line.split_whitespace().filter(|word| Quantity::parse(word).is_ok()).count() {
        0 | 1 => cause,
        several => format!("{several} values; one value a line is expected"),
    }
}

/// Two values, in one unit or in none, each with or without a space before its unit.
pub(crate) fn pair(line: &str) -> Result<([f64; 2], Dimension), String> {
    let words: Vec<&str> = line
        .split(|symbol: char| symbol.is_whitespace() || symbol == ',')
        .filter(|part| !part.is_empty())
        .collect();
    let [a, b] = match words.as_slice() {
        [a, b] => [(*a).to_string(), (*b).to_string()],
        [a, unit_a, b, unit_b] => [format!("{a} {unit_a}"), format!("{b} {unit_b}")],
        _ => return Err(format!("'{line}' is not two values")),
    };
    let (a, b) = (Quantity::parse(&a)?, Quantity::parse(&b)?);
    if a.dimension != b.dimension {
        return Err(format!("the two values in '{line}' have different units"));
    }
    Ok(([a.value, b.value], a.dimension))
}

/// A file whose next bytes are waited for only briefly; a read would then block.
struct Impatient(File);

impl Read for Impatient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match readable(self.0.as_fd(), PATIENCE)? {
            true => self.0.read(buffer),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}
