//! Series of kept verdicts: all of them as one table, or one with its figures and changes.

use super::history::date;
use super::{Options, heading, several};
use crate::track::{Change, Kept, Newest, Series, Tracked, Turn};
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::text::{clean, wrap};
use uncontended_figures::{at_most_percent, whole};

/// The series, one a row.
pub fn track(tracked: &Tracked, options: &Options) -> String {
    if tracked.series.is_empty() {
        return "No verdict is kept yet; `unc track FILE` adds that of a log.\n".to_owned();
    }
    let paint = Paint { colour: options.colour };
    let below = "level: the median since the last change. `unc track --show N` shows one of them.";
    let text = list(tracked).text(options.width, paint) + &wrap(below, "", options.width);
    options.in_locale(text + &others(tracked, options))
}

/// The table of series.
pub(crate) fn list(tracked: &Tracked) -> Table {
    const COLUMNS: [Column; 8] = [
        Column::figure("#"),
        Column::elastic("figure"),
        Column::word("machine").goes(3),
        Column::figure("verdicts"),
        Column::figure("level"),
        Column::figure("newest"),
        Column::word("last change").goes(2),
        Column::word("now"),
    ];
    let mut table = Table::new(COLUMNS.to_vec());
    for series in &tracked.series {
        let newest = series.values.last();
        let last = series.changes.last().map(|change| {
            let revision = clean(&series.values[change.since - 1].revision());
            format!("{} {} at {revision}", change.size(&series.of), word(change.turn))
        });
        table.row([
            series.number.to_string(),
            clean(&series.of.title()),
            clean(&series.of.machine()),
            whole(series.values.len() as u64),
            series.of.shown(series.level),
            newest.map_or_else(String::new, |kept| series.of.shown(kept.value)),
            last.unwrap_or_else(|| "–".to_owned()),
            series.newest.told().to_owned(),
        ]);
    }
    table
}

/// One series: what is known of its newest figure, its changes, and its newest figures.
pub fn one_series(series: &Series, tracked: &Tracked, options: &Options) -> String {
    let paint = Paint { colour: options.colour };
    let head = clean(&format!("{}: {}", series.newest.told(), series.of.title()));
    let mut text = wrap(&head, "", options.width);
    text.push_str(&wrap(&clean(&sentence(series)), "  ", options.width));
    let better = if series.of.higher_is_better { "higher" } else { "lower" };
    let facts = [
        format!("machine: {}", clean(&series.of.machine())),
        several(series.values.len() as u64, "verdict", "verdicts"),
        format!("{better} is better"),
        format!("at most {} false changes per verdict", at_most_percent(tracked.max_error)),
    ];
    text.push_str(&wrap(&facts.join(" · "), "  ", options.width));
    if !series.changes.is_empty() {
        text.push_str(&heading("Changes", "the newest last", options, paint));
        text.push_str(&changes(series).text(options.width, paint));
    }
    let hidden = series.values.len().saturating_sub(options.top);
    let before = match hidden {
        0 => "the newest last".to_owned(),
        hidden => format!("the newest last; {} before these", whole(hidden as u64)),
    };
    text.push_str(&heading("Verdicts", &before, options, paint));
    text.push_str(&values(series, hidden).text(options.width, paint));
    options.in_locale(text + &others(tracked, options))
}

/// What is known of the newest figure, in a sentence.
pub(crate) fn sentence(series: &Series) -> String {
    let of = &series.of;
    match (series.newest, series.changes.last()) {
        (Newest::Worse | Newest::Better, Some(change)) => {
            let first = &series.values[change.since - 1];
            let machine = match change.machine.as_slice() {
                [] => String::new(),
                differences => format!("; there {}", differences.join("; ")),
            };
            format!(
                "{} {} since verdict {} (revision {}), noticed with the newest: median {} before, {} after{machine}",
                change.size(of),
                word(change.turn),
                change.since,
                first.revision(),
                of.shown(change.before),
                of.shown(change.after),
            )
        }
        (Newest::TooLittle, last) => {
            let since = if last.is_some() { " since the last change was noticed" } else { "" };
            let (compared, fewest) = (whole(series.compared as u64), whole(series.fewest as u64));
            format!("{compared} of the {fewest} verdicts that it takes to notice a change{since}")
        }
        (_, Some(change)) => format!(
            "median {} since verdict {} (revision {}: {} {})",
            of.shown(series.level),
            change.since,
            series.values[change.since - 1].revision(),
            change.size(of),
            word(change.turn),
        ),
        (_, None) => format!("median {}", of.shown(series.level)),
    }
}

pub(crate) fn word(turn: Turn) -> &'static str {
    match turn {
        Turn::Worse => "worse",
        Turn::Better => "better",
    }
}

fn changes(series: &Series) -> Table {
    const COLUMNS: [Column; 8] = [
        Column::figure("since"),
        Column::word("revision"),
        Column::word("kept (UTC)").goes(2),
        Column::figure("noticed").goes(1),
        Column::figure("before").of("median"),
        Column::figure("after").of("median"),
        Column::word("change"),
        Column::elastic("machine"),
    ];
    let mut table = Table::new(COLUMNS.to_vec());
    for change in &series.changes {
        let Change { since, noticed, before, after, .. } = change;
        let first = &series.values[since - 1];
        table.row([
            since.to_string(),
            clean(&first.revision()),
            date(first.kept_unix_s),
            noticed.to_string(),
            series.of.shown(*before),
            series.of.shown(*after),
            format!("{} {}", change.size(&series.of), word(change.turn)),
            clean(&change.machine.join("; ")),
        ]);
    }
    if series.changes.iter().all(|change| change.machine.is_empty()) {
        table.drop_column("machine");
    }
    table
}

fn values(series: &Series, hidden: usize) -> Table {
    const COLUMNS: [Column; 6] = [
        Column::figure("#"),
        Column::word("kept (UTC)").goes(2),
        Column::elastic("revision"),
        Column::figure("value"),
        Column::figure("runs").goes(1),
        Column::word("verdict"),
    ];
    let mut table = Table::new(COLUMNS.to_vec());
    for (index, kept) in series.values.iter().enumerate().skip(hidden) {
        let Kept { value, runs, kept_unix_s, .. } = kept;
        table.row([
            (index + 1).to_string(),
            date(*kept_unix_s),
            clean(&kept.revision()),
            series.of.shown(*value),
            whole(*runs),
            kept.answer().to_owned(),
        ]);
    }
    table
}

/// What is said of the lines that are not ours.
fn others(tracked: &Tracked, options: &Options) -> String {
    let lines = &tracked.other_lines;
    let Some(first) = lines.first() else { return String::new() };
    let count = several(lines.len() as u64, "line", "lines");
    let text = format!(
        "warning: {count} of the file, from line {first} on, are left out: no verdict can be read there"
    );
    wrap(&text, "", options.width)
}
