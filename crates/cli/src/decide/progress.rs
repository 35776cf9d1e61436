//! Telling the user how far a trial is, on standard error.
//!
//! On a terminal one line is kept up to date; elsewhere a line is printed at 10, 20, 50, 100, 200, 500, … runs, once a
//! second has passed.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};
use uncontended_decide::progress::Progress;

/// The line of progress.
#[derive(Debug)]
pub(crate) struct Line {
    mode: Mode,
    started: Instant,
    last: Option<Instant>,
}

#[derive(Debug, PartialEq)]
enum Mode {
    Quiet,
    Lines,
    Terminal,
}

impl Line {
    /// Progress for people, or none.
    pub(crate) fn new(quiet: bool) -> Line {
        let mode = match quiet {
            true => Mode::Quiet,
            false if std::io::stderr().is_terminal() => Mode::Terminal,
            false => Mode::Lines,
        };
        Line { mode, started: Instant::now(), last: None }
    }
}

impl Progress for Line {
    fn say(&mut self, text: &str) {
        if self.mode != Mode::Quiet {
            tell(&format!("{text}\n"));
        }
    }

    fn tick(&mut self, n: u64, state: &dyn Fn() -> String) {
        let due = match self.mode {
            Mode::Quiet => false,
            Mode::Terminal => {
                self.last.is_none_or(|last| last.elapsed() >= Duration::from_millis(100))
            }
            Mode::Lines => is_round(n) && self.started.elapsed() >= Duration::from_secs(1),
        };
        if !due {
            return;
        }
        self.last = Some(Instant::now());
        match self.mode {
            Mode::Terminal => tell(&format!("\r\x1b[K{}", fitting(state()))),
            _ => tell(&format!("{}\n", state())),
        }
    }

    fn clear(&mut self) {
        if self.mode == Mode::Terminal && self.last.take().is_some() {
            tell("\r\x1b[K");
        }
    }
}

/// Writes on standard error. That nobody reads it does not stop the measurement.
pub(crate) fn tell(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// As much of a line as the terminal has columns for, since a longer one could not be taken away again.
fn fitting(line: String) -> String {
    let width = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| width.0);
    match line.char_indices().nth(usize::from(width).saturating_sub(1)) {
        Some((end, _)) => line[..end].to_string(),
        None => line,
    }
}

/// Whether `n` is 10, 20, 50, 100, …
fn is_round(n: u64) -> bool {
    let mut leading = n;
    while leading >= 10 && leading.is_multiple_of(10) {
        leading /= 10;
    }
    n >= 10 && [1, 2, 5].contains(&leading)
}
