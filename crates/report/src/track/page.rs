//! Series as one self-contained page: a chart of each, with its changes.

use super::{Change, Series, Tracked, Turn};
use crate::html::{Cell, Page, table};
use crate::svg::{Axis, Chart, Marks};
use crate::terminal::{date, series_list, series_sentence, turn_word};
use maud::{Markup, html};
use uncontended_figures::text::clean;
use uncontended_figures::{Dimension, at_most_percent, measured, whole};

/// Changes whose revisions are written into a chart: more names would cover each other.
const NAMED: usize = 4;

/// The colour of the figures, of the level, of a change for the worse, and of one for the better.
const COLOURS: [usize; 4] = [2, 3, 0, 4];

const REMARK: &str = "One point a verdict, in the order in which they were kept; the level is the median between two \
                      changes.";

/// All series as one document.
#[must_use]
pub fn page(tracked: &Tracked) -> String {
    let facts = [
        format!("{} series", whole(tracked.series.len() as u64)),
        format!("newest: {}", tracked.newest.told()),
        format!("at most {} false changes per verdict", at_most_percent(tracked.max_error)),
    ];
    let page = Page::new("Verdicts over time", &facts).lead(REMARK);
    let sections = tracked.series.iter();
    sections
        .fold(page, |page, series| page.section(&series.of.title(), &remark(series), &body(series)))
        .html()
}

/// The series as a Markdown section: one a row, and what is known of the newest figure of each.
#[must_use]
pub fn markdown(tracked: &Tracked) -> String {
    let said = tracked.series.iter().map(|series| format!("\n{}\n", series.said()));
    let said: String = said.collect();
    format!(
        "**{}** verdicts over time\n\n{}{said}",
        tracked.newest.told(),
        series_list(tracked).markdown()
    )
}

impl Series {
    /// What is known of its newest figure, in a line: `worse: ./request: median of the wall time; …`.
    #[must_use]
    pub fn said(&self) -> String {
        let told = self.newest.told();
        clean(&format!("{told}: {}; {}", self.of.title(), series_sentence(self)))
    }
}

fn remark(series: &Series) -> String {
    let better = if series.of.higher_is_better { "higher" } else { "lower" };
    let known = format!("{}: {}", series.newest.told(), series_sentence(series));
    [known, format!("{better} is better"), format!("machine: {}", series.of.machine())].join(" · ")
}

fn body(series: &Series) -> Markup {
    html! {
        div class="pair" {
            div { (chart(series)) }
            div { @if series.changes.is_empty() { p class="remark" { "No change was noticed." } } @else { (changes(series)) } }
        }
    }
}

/// The figures in their order, the medians between changes, and a rule where each change began.
fn chart(series: &Series) -> Markup {
    let values = series.values.iter().enumerate();
    let points: Vec<(f64, f64)> =
        values.map(|(index, kept)| ((index + 1) as f64, kept.value)).collect();
    let least = points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let most = points.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    let room = ((most - least) * 0.1).max(most.abs() * 0.01);
    let format: fn(f64) -> String = match Dimension::of_unit(&series.of.unit) {
        Some(Dimension::Time) => |value| measured(value, Dimension::Time),
        Some(Dimension::Bytes) => |value| measured(value, Dimension::Bytes),
        _ => |value| measured(value, Dimension::Number),
    };
    let last = points.len().max(2) as f64;
    let x = Axis::linear(1.0, last, "verdict", |value| whole(value as u64));
    let y = Axis::linear(least - room, most + room, &series.of.figure, format);
    let mut chart = Chart::new(&series.of.title(), x, y)
        .series("level", COLOURS[1], Marks::Steps, &levels(series))
        .series(&series.of.figure, COLOURS[0], Marks::Points, &points);
    let unnamed = series.changes.len().saturating_sub(NAMED);
    for (index, change) in series.changes.iter().enumerate() {
        let name = format!("{} {}", change.size(&series.of), turn_word(change.turn));
        let colour = if change.turn == Turn::Worse { COLOURS[2] } else { COLOURS[3] };
        chart =
            chart.at_x(if index < unnamed { "" } else { &name }, colour, change.since as f64 - 0.5);
    }
    chart.svg()
}

/// The median of the figures between two changes, as the corners of steps.
fn levels(series: &Series) -> Vec<(f64, f64)> {
    let starts = series.changes.iter().map(|change| change.since as f64 - 0.5);
    let starts = std::iter::once(1.0).chain(starts);
    let levels = series.changes.iter().map(|change| change.before).chain([series.level]);
    let end = (series.values.len() as f64, series.level);
    starts.zip(levels).chain([end]).collect()
}

/// A row a change; the machine's differences only where there are some.
fn changes(series: &Series) -> Markup {
    const HEADINGS: [&str; 8] =
        ["since", "revision", "kept (UTC)", "noticed", "before", "after", "change", "machine"];
    let rows: Vec<Vec<Cell>> =
        series.changes.iter().map(|change| row(series, change).into()).collect();
    let differs = series.changes.iter().any(|change| !change.machine.is_empty());
    let headings = if differs { &HEADINGS[..] } else { &HEADINGS[..HEADINGS.len() - 1] };
    table(headings, &rows)
}

fn row(series: &Series, change: &Change) -> [Cell; 8] {
    let first = &series.values[change.since - 1];
    let figure = |value: f64| Cell::figure(series.of.shown(value), value);
    let count = |number: usize| Cell::figure(whole(number as u64), number as f64);
    [
        count(change.since),
        Cell::text(first.revision()),
        Cell::text(date(first.kept_unix_s)),
        count(change.noticed),
        figure(change.before),
        figure(change.after),
        Cell::text(format!("{} {}", change.size(&series.of), turn_word(change.turn))),
        Cell::text(change.machine.join("; ")),
    ]
}
