//! Question: how many false changes does our detector find in series of benchmark results, and how soon does it notice
//! a true one?
//!
//! Writes series with the alarms of `uncontended_stats::change`, one a line, for `compare/oracles/track.py`, which runs
//! this program, gives Apache Otava the same series, and prints the table: `python3 compare/oracles/track.py [data.js…]`.
//! A line is the kind, the number of values before the change (`-` if there is none), the alarms as `since:at` joined by
//! commas (`-` if there is none), and the values. Lines of standard input, `kind value value …`, are answered likewise.

use std::io::{BufRead, BufWriter, Write, stdin, stdout};

use uncontended_stats::change::Detector;
use uncontended_stats::{MaxError, Rng};

/// Series of each kind.
const SERIES: u64 = 100;
/// Values of a series without a change.
const STEADY: usize = 100;
/// Values before a change, and as many after it.
const HALF: usize = 50;
/// The error bound, and Otava's own default.
const MAX_ERROR: f64 = 0.001;

/// A kind of series: its name, whether it changes, and the value at a time, whose distance to the change is given
/// (negative before it).
type Kind = (&'static str, bool, fn(&mut Source, f64) -> f64);

struct Source {
    rng: Rng,
    last: f64,
}

impl Source {
    fn normal(&mut self) -> f64 {
        self.rng.normal()
    }

    /// Of deviation 1 as well, but each half as much as the one before and half new.
    fn autoregressive(&mut self) -> f64 {
        self.last = 0.5 * self.last + 0.75f64.sqrt() * self.rng.normal();
        self.last
    }

    /// Log-normal noise with a spread of a tenth, and one result in twenty three times as large.
    fn noisy(&mut self) -> f64 {
        let outlier = if self.rng.chance(0.05) { 3.0 } else { 1.0 };
        (0.1 * self.rng.normal()).exp() * outlier
    }

    /// Two kinds of machines, one of them half as fast.
    fn two_modes(&mut self) -> f64 {
        (if self.rng.chance(0.3) { 200.0 } else { 100.0 }) + self.rng.normal()
    }
}

fn after(time: f64, shift: f64) -> f64 {
    if time < 0.0 { 0.0 } else { shift }
}

const KINDS: [Kind; 10] = [
    ("normal", false, |source, _| 100.0 + source.normal()),
    ("with outliers", false, |source, _| 100.0 * source.noisy()),
    ("two modes", false, |source, _| source.two_modes()),
    ("dependent: AR(1), 0.5", false, |source, _| 100.0 + source.autoregressive()),
    ("normal, shifted by 1 deviation", true, |source, time| {
        100.0 + source.normal() + after(time, 1.0)
    }),
    ("… by 2 deviations", true, |source, time| 100.0 + source.normal() + after(time, 2.0)),
    ("… by 4 deviations", true, |source, time| 100.0 + source.normal() + after(time, 4.0)),
    ("… slowly, by 3 in 30 values", true, |source, time| {
        100.0 + source.normal() + (time * 0.1).clamp(0.0, 3.0)
    }),
    ("with outliers, 20 % slower", true, |source, time| {
        100.0 * source.noisy() * (1.0 + after(time, 0.2))
    }),
    ("two modes, 5 % slower", true, |source, time| source.two_modes() * (1.0 + after(time, 0.05))),
];

pub fn main(_: &[String]) -> Result<(), String> {
    write().map_err(|error| error.to_string())
}

fn write() -> std::io::Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    for (number, (kind, changes, value)) in KINDS.into_iter().enumerate() {
        for series in 0..SERIES {
            let rng = Rng::new(1 + series + SERIES * number as u64);
            let mut source = Source { rng, last: 0.0 };
            let (length, before) = if changes { (2 * HALF, HALF) } else { (STEADY, STEADY) };
            let times = (0..length).map(|at| at as f64 - before as f64);
            let values: Vec<f64> = times.map(|time| value(&mut source, time)).collect();
            let before = if changes { before.to_string() } else { "-".to_owned() };
            line(&mut out, kind, &before, &values)?;
        }
    }
    for given in stdin().lock().lines() {
        let given = given?;
        let mut words = given.split('\t');
        let kind = words.next().unwrap_or_default();
        let values: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
        line(&mut out, kind, "-", &values.ok_or(std::io::ErrorKind::InvalidInput)?)?;
    }
    out.flush()
}

fn line(out: &mut impl Write, kind: &str, before: &str, values: &[f64]) -> std::io::Result<()> {
    let mut detector = Detector::new(MaxError::new(MAX_ERROR).expect("a bound"));
    let alarms = values.iter().filter_map(|&value| detector.push(value));
    let alarms: Vec<String> = alarms.map(|alarm| format!("{}:{}", alarm.since, alarm.at)).collect();
    let alarms = if alarms.is_empty() { "-".to_owned() } else { alarms.join(",") };
    write!(out, "{kind}\t{before}\t{alarms}")?;
    values.iter().try_for_each(|value| write!(out, "\t{value}"))?;
    writeln!(out)
}
