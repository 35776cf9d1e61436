//! The history of runs, and the difference between two of them, as tables.

use super::{Options, command_line, heading, several};
use crate::history::{Change, Diff, Summary};
use uncontended_figures as figures;
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::text::wrap;

/// The newest runs, the newest last, as [`Options::top`] allows.
pub fn history(runs: &[Summary], options: &Options) -> String {
    const COLUMNS: [Column; 9] = [
        Column::figure("run"),
        Column::word("began (UTC)").goes(2),
        Column::figure("status").goes(1),
        Column::figure("wall"),
        Column::figure("total").of("wait"),
        Column::figure("contention").of("wait"),
        Column::figure("longest").of("wait").goes(3),
        Column::figure("findings").goes(4),
        Column::elastic("command"),
    ];
    if runs.is_empty() {
        return "No run is kept yet; `unc run -- PROGRAM` adds one.\n".to_owned();
    }
    let hidden = runs.len().saturating_sub(options.top);
    let mut table = Table::new(COLUMNS.to_vec());
    for run in &runs[hidden..] {
        table.row([
            run.number.to_string(),
            date(run.started_unix_s),
            run.exit_status.to_string(),
            figures::duration(run.wall_ns),
            run.all_wait_ns.map_or_else(|| "–".to_owned(), figures::duration),
            figures::duration(run.wait_ns),
            run.all_longest_wait_ns.map_or_else(|| "–".to_owned(), figures::duration),
            run.findings.to_string(),
            command_line(&run.command),
        ]);
    }
    let paint = Paint { colour: options.colour };
    let mut text = String::new();
    if hidden > 0 {
        text = format!("{} before these\n", several(hidden as u64, "run", "runs"));
    }
    options.in_locale(text + &table.text(options.width, paint))
}

/// The difference between two runs, with their summaries.
pub fn difference(before: &Summary, after: &Summary, diff: &Diff, options: &Options) -> String {
    const COLUMNS: [Column; 9] = [
        Column::word("class").goes(4),
        Column::word("kind").goes(3),
        Column::elastic("where"),
        Column::figure("before").of("wait"),
        Column::figure("after").of("wait"),
        Column::figure("change"),
        Column::figure("before").of("longest wait").goes(1),
        Column::figure("after").of("longest wait").goes(1),
        Column::figure("taken").goes(2),
    ];
    let paint = Paint { colour: options.colour };
    let mut text = String::new();
    for (name, run) in [("before", before), ("after", after)] {
        text.push_str(&wrap(
            &format!("run {}: {}", run.number, command_line(&run.command)),
            &format!("{name:6}  "),
            options.width,
        ));
    }
    if before.command != after.command {
        text.push_str("        The commands differ.\n");
    }
    let spans = [diff.wall_ns, diff.wait_ns, diff.contention_wait_ns];
    let [wall, wait, contention] = spans.map(|[before, after]| {
        format!(
            "{} to {} ({})",
            figures::duration(before),
            figures::duration(after),
            change(before, after)
        )
    });
    let line = format!("wall {wall} · wait {wait} · contention {contention}");
    text.push_str(&wrap(&line, "", options.width));
    let mut table = Table::new(COLUMNS.to_vec());
    diff.rows.iter().take(options.top).for_each(|row| table.row(cells(row)));
    if !diff.rows.is_empty() && options.top > 0 {
        text.push_str(&heading("Locks", "the greatest change of total wait first", options, paint));
        text.push_str(&table.text(options.width, paint));
    }
    if diff.rows.len() > options.top {
        text.push_str(&format!(
            "  and {}\n",
            several((diff.rows.len() - options.top) as u64, "more row", "more rows")
        ));
    }
    let caution = "A difference between two runs proves nothing about the next: `unc compare` decides whether a change is real.";
    options.in_locale(text + "\n" + &wrap(caution, "", options.width))
}

/// The cells of one row of a difference.
fn cells(row: &Change) -> Vec<String> {
    let [before, after] = row.sides;
    let time = |side: Option<u64>| side.map_or_else(|| "–".to_owned(), figures::duration);
    let waits = row.sides.map(|side| side.map_or(0, |side| side.wait_ns));
    let mut classes: Vec<&str> = row.sides.iter().flatten().map(|side| side.class).collect();
    classes.dedup();
    vec![
        classes.join(" → "),
        row.kind.to_owned(),
        row.place.clone(),
        time(before.map(|side| side.wait_ns)),
        time(after.map(|side| side.wait_ns)),
        change(waits[0], waits[1]),
        time(before.map(|side| side.longest_wait_ns)),
        time(after.map(|side| side.longest_wait_ns)),
        after.or(before).map_or_else(String::new, |side| figures::count(side.acquisitions)),
    ]
}

/// `× 0.5`, `new`, `gone`, `same`.
fn change(before: u64, after: u64) -> String {
    match (before, after) {
        (0, 0) => "same".to_owned(),
        (0, _) => "new".to_owned(),
        (_, 0) => "gone".to_owned(),
        _ => format!("× {}", figures::number(after as f64 / before as f64)),
    }
}

/// Seconds since 1970 as a date and time, UTC.
pub(crate) fn date(unix_s: u64) -> String {
    let (days, seconds) = (unix_s / 86_400, unix_s % 86_400);
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", seconds / 3_600, seconds / 60 % 60)
}

/// Year, month and day of the `days`th day after 1970-01-01 in the Gregorian calendar. Years are counted from March, so
/// the leap day ends them, in eras of 400 years, which all have the same number of days.
fn civil(days: u64) -> (u64, u64, u64) {
    const ERA_DAYS: u64 = 146_097;
    let shifted = days + 719_468; // From the first of March of year 0.
    let (era, of_era) = (shifted / ERA_DAYS, shifted % ERA_DAYS);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / (ERA_DAYS - 1)) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01 00:00"),
            (951_782_399, "2000-02-28 23:59"),
            (951_782_400, "2000-02-29 00:00"),
            (4_107_542_400, "2100-03-01 00:00"),
            (1_763_733_960, "2025-11-21 14:06"),
        ];
        for (seconds, text) in cases {
            assert_eq!(date(seconds), text);
        }
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut last = (1969, 12, 31);
        for days in 0..200_000 {
            let today = civil(days);
            let next_day = today == (last.0, last.1, last.2 + 1);
            let next_month = today == (last.0, last.1 + 1, 1) && last.2 >= 28;
            let next_year = today == (last.0 + 1, 1, 1) && (last.1, last.2) == (12, 31);
            assert!(next_day || next_month || next_year, "{last:?} then {today:?}");
            last = today;
        }
        assert_eq!(last, (2517, 7, 31));
    }
}
