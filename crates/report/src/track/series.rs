//! The series that kept verdicts form, and the changes in each.
//!
//! # Contract
//! A series is compared by the ranks of its figures ([`uncontended_stats::change`]), after every figure, in the order
//! in which they were kept. If its figures are exchangeable, there are on average at most `max_error` false changes per
//! figure. Medians and ratios of a change describe what was seen, and no bound is stated for them.

use super::{Kept, Of};
use serde::Serialize;
use uncontended_decide::spread::Spread;
use uncontended_stats::MaxError;
use uncontended_stats::change::{Alarm, Detector, Direction};

/// Which way a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// For the worse.
    Worse,
    /// For the better.
    Better,
}

/// What is known of the newest figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Newest {
    /// There is no sign of a change since the last one.
    Unchanged,
    /// With it, a change for the worse was noticed.
    Worse,
    /// With it, a change for the better was noticed.
    Better,
    /// There are too few figures since the last change, or at all, for a change to be noticed.
    TooLittle,
}

impl Newest {
    /// The words on the terminal and on the page.
    #[must_use]
    pub fn told(self) -> &'static str {
        match self {
            Newest::Unchanged => "no change",
            Newest::Worse => "worse",
            Newest::Better => "better",
            Newest::TooLittle => "too little history",
        }
    }

    /// The exit status: 0 no change or a better one, 1 worse, 3 too little history.
    #[must_use]
    pub fn exit_status(self) -> u8 {
        match self {
            Newest::Unchanged | Newest::Better => 0,
            Newest::Worse => 1,
            Newest::TooLittle => 3,
        }
    }

    /// The rank that decides when there are several: the greatest wins.
    #[must_use]
    pub fn badness(self) -> u8 {
        match self {
            Newest::Unchanged => 0,
            Newest::Better => 1,
            Newest::TooLittle => 2,
            Newest::Worse => 3,
        }
    }
}

/// A change of a series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Which way.
    pub turn: Turn,
    /// The likeliest first figure after it, counted from 1.
    pub since: usize,
    /// The figure with which it was noticed, counted from 1.
    pub noticed: usize,
    /// The median of the figures before it, since the change before.
    pub before: f64,
    /// The median of the figures from it on, up to the one with which it was noticed.
    pub after: f64,
    /// How the machine differed, a sentence each.
    pub machine: Vec<String>,
}

impl Change {
    /// Its size: `× 1.21`, or both medians where there is no ratio.
    #[must_use]
    pub fn size(&self, of: &Of) -> String {
        let ratio = self.after / self.before;
        if ratio.is_finite() && ratio > 0.0 {
            return format!("× {}", uncontended_figures::number(ratio));
        }
        format!("{} to {}", of.shown(self.before), of.shown(self.after))
    }
}

/// A series with its changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// Its number: series are counted in the order of their first figures, from 1 on.
    pub number: usize,
    /// What it is of.
    pub of: Of,
    /// What is known of the newest figure.
    pub newest: Newest,
    /// The median of the figures since the last change.
    pub level: f64,
    /// How many figures are compared: those since the last change was noticed.
    pub compared: usize,
    /// How many it takes at least to notice a change.
    pub fewest: usize,
    /// All changes, oldest first.
    pub changes: Vec<Change>,
    /// All figures, oldest first.
    pub values: Vec<Kept>,
}

/// The value of `schema` of [`Tracked`].
pub const SCHEMA: &str = "uncontended.track/1";

/// Several series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tracked {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// The bound on false changes per figure, on average.
    pub max_error: f64,
    /// What is known of the newest figures: the worst of it.
    pub newest: Newest,
    /// The numbers of the lines that are not ours.
    pub other_lines: Vec<usize>,
    /// The series.
    pub series: Vec<Series>,
}

impl Tracked {
    /// Only the series that `wanted` names.
    #[must_use]
    pub fn only(mut self, wanted: impl Fn(&Series) -> bool) -> Tracked {
        self.series.retain(wanted);
        self.newest = worst(&self.series);
        self
    }
}

/// All series of these lines.
#[must_use]
pub fn tracked(lines: super::Lines, max_error: MaxError) -> Tracked {
    let mut groups: Vec<(Of, Vec<Kept>)> = Vec::new();
    for kept in lines.kept {
        match groups.iter_mut().find(|(of, _)| *of == kept.of) {
            Some((_, values)) => values.push(kept),
            None => groups.push((kept.of.clone(), vec![kept])),
        }
    }
    let fewest = Detector::fewest(max_error);
    let numbered = groups.into_iter().enumerate();
    let series: Vec<Series> = numbered
        .map(|(index, (of, values))| series(index + 1, of, values, max_error, fewest))
        .collect();
    Tracked {
        schema: SCHEMA,
        max_error: max_error.get(),
        newest: worst(&series),
        other_lines: lines.others,
        series,
    }
}

fn worst(series: &[Series]) -> Newest {
    let all = series.iter().map(|series| series.newest);
    all.max_by_key(|newest| newest.badness()).unwrap_or(Newest::TooLittle)
}

fn series(number: usize, of: Of, values: Vec<Kept>, max_error: MaxError, fewest: usize) -> Series {
    let mut detector = Detector::new(max_error);
    let mut changes: Vec<Change> = Vec::new();
    for kept in &values {
        if let Some(alarm) = detector.push(kept.value) {
            let from = changes.last().map_or(0, |change| change.since - 1);
            changes.push(change(&alarm, from, &of, &values));
        }
    }
    let newest = match changes.last() {
        Some(last) if last.noticed == values.len() => match last.turn {
            Turn::Worse => Newest::Worse,
            Turn::Better => Newest::Better,
        },
        _ if detector.values() < fewest => Newest::TooLittle,
        _ => Newest::Unchanged,
    };
    let from = changes.last().map_or(0, |change| change.since - 1);
    let (level, compared) = (median(&values[from..]), detector.values());
    Series { number, of, newest, level, compared, fewest, changes, values }
}

/// The change that an alarm tells of; the figures before it begin at `from`.
fn change(alarm: &Alarm, from: usize, of: &Of, values: &[Kept]) -> Change {
    let machine = |index: usize| values[index].machine.as_ref();
    let differences = machine(alarm.since - 1)
        .zip(machine(alarm.since))
        .map(|(before, after)| before.differences(after))
        .unwrap_or_default();
    Change {
        turn: match (alarm.direction == Direction::Up) == of.higher_is_better {
            true => Turn::Better,
            false => Turn::Worse,
        },
        since: alarm.since + 1,
        noticed: alarm.at + 1,
        before: median(&values[from..alarm.since]),
        after: median(&values[alarm.since..=alarm.at]),
        machine: differences,
    }
}

fn median(values: &[Kept]) -> f64 {
    let values: Vec<f64> = values.iter().map(|kept| kept.value).collect();
    Spread::of(&values).map_or(f64::NAN, |spread| spread.median)
}
