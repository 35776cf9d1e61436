//! A progress line on standard error.
//!
//! # Contract
//! On a terminal one line, never wider than the terminal, is rewritten at most ten times a second and erased at the
//! end, also if the trial ends by a signal that it caught. Otherwise a line is printed once a second has passed, and
//! then every ten seconds. With `quiet` nothing is printed but what must be known. A closed standard error is ignored.

use crate::text::{clean, fit, wrap};
use crate::{duration_f, short};
use std::io::{IsTerminal as _, Stderr, Write};
use std::time::{Duration, Instant};

/// The state of the work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// What has been done, in words; the time left is appended.
    pub text: String,
    /// An estimate of the remaining steps, if there is one.
    pub left: Option<u64>,
    /// The time after which the work ends in any case.
    pub limit: Option<Duration>,
    /// What is cut first on a narrow terminal.
    pub found: String,
}

/// The progress line.
#[derive(Debug)]
pub struct Line<W: Write = Stderr> {
    out: W,
    mode: Mode,
    started: Instant,
    /// The step and time of the first report.
    first: Option<(u64, Instant)>,
    shown: Option<Instant>,
}

/// Where progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nowhere.
    Quiet,
    /// In a file or a pipe, line by line.
    Lines,
    /// On a terminal with this many columns.
    Terminal(usize),
}

/// The assumed width of a terminal that does not report it.
const COLUMNS: u16 = 80;
/// The shortest time between two updates on a terminal.
const OFTEN: Duration = Duration::from_millis(100);
/// The time before the first line is printed elsewhere, and between two.
const LONG: Duration = Duration::from_secs(1);
const APART: Duration = Duration::from_secs(10);

impl Line {
    /// Progress on standard error, or none if `quiet`.
    #[must_use]
    pub fn new(quiet: bool) -> Line {
        let stderr = std::io::stderr();
        let columns =
            || terminal_size::terminal_size_of(std::io::stderr()).map(|(width, _)| width.0);
        let mode = match quiet {
            true => Mode::Quiet,
            false if stderr.is_terminal() => {
                Mode::Terminal(columns().filter(|&columns| columns > 0).unwrap_or(COLUMNS).into())
            }
            false => Mode::Lines,
        };
        Line::on(stderr, mode)
    }
}

impl<W: Write> Line<W> {
    /// Progress on `out`.
    pub fn on(out: W, mode: Mode) -> Line<W> {
        Line { out, mode, started: Instant::now(), first: None, shown: None }
    }

    /// Prints a line that stays.
    pub fn say(&mut self, text: &str) {
        self.clear();
        match self.mode {
            Mode::Quiet => {}
            Mode::Lines => self.write(&format!("{text}\n")),
            Mode::Terminal(columns) => self.write(&wrap(&clean(text), "", columns)),
        }
    }

    /// Prints a line that stays, also where progress is shown nowhere: what must be known before it happens.
    pub fn insist(&mut self, text: &str) {
        match self.mode {
            Mode::Quiet => self.write(&format!("{text}\n")),
            _ => self.say(text),
        }
    }

    /// Shows the state after `n` steps, if an update is due.
    pub fn tick(&mut self, n: u64, state: &dyn Fn() -> State) {
        let &mut (first, began) = self.first.get_or_insert_with(|| (n, Instant::now()));
        let is_due = match self.mode {
            Mode::Quiet => false,
            Mode::Terminal(_) => self.is_due(OFTEN),
            Mode::Lines => self.started.elapsed() >= LONG && self.is_due(APART),
        };
        if !is_due {
            return;
        }
        let State { mut text, left, limit, found } = state();
        let left_s = left.and_then(|left| seconds(n - first.min(n), began.elapsed(), left));
        if let Some(eta) = eta(left_s, limit) {
            text = format!("{text}: {eta}");
        }
        if !found.is_empty() {
            text = format!("{text}; {found}");
        }
        match self.mode {
            Mode::Terminal(_) => self.show(&text),
            _ => {
                self.shown = Some(Instant::now());
                self.write(&format!("{text}\n"));
            }
        }
    }

    /// Shows the current activity, on a terminal only.
    pub fn status(&mut self, text: &dyn Fn() -> String) {
        if matches!(self.mode, Mode::Terminal(_)) && self.is_due(OFTEN) {
            self.show(&text());
        }
    }

    /// Erases the line.
    pub fn clear(&mut self) {
        if matches!(self.mode, Mode::Terminal(_)) && self.shown.take().is_some() {
            self.write("\r\x1b[K");
        }
    }

    fn is_due(&self, apart: Duration) -> bool {
        self.shown.is_none_or(|shown| shown.elapsed() >= apart)
    }

    fn show(&mut self, text: &str) {
        let Mode::Terminal(columns) = self.mode else { return };
        self.shown = Some(Instant::now());
        // A line that wraps could not be erased; the terminal itself may append ^C to it.
        let text = fit(&clean(text), columns.saturating_sub(3));
        self.write(&format!("\r\x1b[K{text}"));
    }

    fn write(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

impl<W: Write> Drop for Line<W> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The estimated time for `left` more steps at the speed of the `done` ones.
fn seconds(done: u64, took: Duration, left: u64) -> Option<f64> {
    let seconds = took.as_secs_f64() * left as f64 / done as f64;
    seconds.is_finite().then_some(seconds)
}

/// An estimate of the time left, and how long it will be at most.
fn eta(left_s: Option<f64>, limit: Option<Duration>) -> Option<String> {
    let limit_s = limit.map(|limit| limit.as_secs_f64());
    match (left_s, limit_s) {
        (None, None) => None,
        (None, Some(limit)) => Some(format!("at most {}", rounded(limit))),
        (Some(left), None) => Some(about(left)),
        (Some(left), Some(limit)) if left > limit => {
            Some(format!("{}, ends in {}", about(left), rounded(limit)))
        }
        (Some(left), Some(limit)) => Some(format!("{}, at most {}", about(left), rounded(limit))),
    }
}

fn about(seconds: f64) -> String {
    if seconds < 1.0 { "less than 1 s".to_owned() } else { format!("about {}", rounded(seconds)) }
}

fn rounded(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{} s", seconds.ceil()),
        seconds => short(&duration_f(seconds * 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(mode: Mode, act: impl FnOnce(&mut Line<&mut Vec<u8>>)) -> String {
        let mut bytes = Vec::new();
        act(&mut Line::on(&mut bytes, mode));
        String::from_utf8(bytes).expect("text")
    }

    fn state(text: &str) -> State {
        State { text: text.to_owned(), left: Some(1), limit: None, found: String::new() }
    }

    #[test]
    fn a_terminal_line_fits_and_is_erased() {
        let text = written(Mode::Terminal(12), |line| {
            line.say("Question");
            line.tick(1, &|| state("a state that is too wide\x1b"));
            // Too soon.
            line.tick(2, &|| state("later"));
        });
        assert_eq!(text, "Question\n\r\x1b[Ka state …\r\x1b[K");
    }

    #[test]
    fn what_is_said_stands_on_a_line_of_its_own() {
        let text = written(Mode::Terminal(80), |line| {
            line.status(&|| "under way".to_owned());
            line.say("said");
        });
        assert_eq!(text, "\r\x1b[Kunder way\r\x1b[Ksaid\n");
    }

    #[test]
    fn elsewhere_only_lines_are_written_and_quiet_writes_nothing() {
        let act = |line: &mut Line<&mut Vec<u8>>| {
            line.say("said");
            line.status(&|| "passing".to_owned());
            let tick = |n: u64, line: &mut Line<&mut Vec<u8>>| {
                line.tick(n, &|| State {
                    text: format!("{n} runs"),
                    found: "a rate".to_owned(),
                    ..State::default()
                });
            };
            tick(1, line);
            line.started = Instant::now() - 2 * LONG;
            tick(2, line);
            tick(3, line);
            line.shown = Some(Instant::now() - APART);
            tick(4, line);
        };
        assert_eq!(written(Mode::Lines, act), "said\n2 runs; a rate\n4 runs; a rate\n");
        assert_eq!(written(Mode::Quiet, act), "");
        assert_eq!(written(Mode::Quiet, |line| line.insist("known")), "known\n");
    }

    #[test]
    fn the_time_left_is_in_proportion() {
        let eta = |done, left, limit_s: Option<u64>| {
            let left_s = seconds(done, Duration::from_secs(5), left);
            eta(left_s, limit_s.map(Duration::from_secs))
        };
        assert_eq!(eta(10, 100, None).unwrap(), "about 50 s");
        assert_eq!(eta(10, 100, Some(60)).unwrap(), "about 50 s, at most 60 s");
        assert_eq!(eta(10, 200, Some(60)).unwrap(), "about 100 s, ends in 60 s");
        assert_eq!(eta(10, 1, None).unwrap(), "less than 1 s");
        assert_eq!(eta(10, 1000, None).unwrap(), "about 8.33 min");
        assert_eq!(eta(0, 1000, None), None);
        assert_eq!(eta(0, 1000, Some(7)).unwrap(), "at most 7 s");
    }
}
