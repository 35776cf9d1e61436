//! The two tables of locks: those that threads contend for, and those where waiting is not contention.

use super::table::{Column, Fit, render};
use super::{Options, Paint, heading, several};
use crate::rows::{Row, class_name, kind_name, place};
use crate::run::{Distribution, RunReport};
use crate::units;

const fn column(group: &'static str, title: &'static str, fit: Fit, goes: u8) -> Column {
    Column { group, title, fit, goes }
}

/// Locks of class contention.
pub(super) fn contention(
    report: &RunReport,
    rows: &[Row],
    options: &Options,
    paint: Paint,
) -> String {
    const COLUMNS: [Column; 18] = [
        column("", "lock", Fit::Right, 0),
        column("", "pid", Fit::Right, 0),
        column("", "kind", Fit::Left, 3),
        column("", "where", Fit::Elastic, 0),
        column("", "locks", Fit::Right, 4),
        column("", "taken", Fit::Right, 0),
        column("", "blocked", Fit::Right, 0),
        column("wait", "total", Fit::Right, 0),
        column("wait", "p50", Fit::Right, 6),
        column("wait", "p99", Fit::Right, 5),
        column("wait", "longest", Fit::Right, 0),
        column("idle", "of wait", Fit::Right, 1),
        column("idle", "longest", Fit::Right, 1),
        column("hold", "p50", Fit::Right, 9),
        column("hold", "p99", Fit::Right, 8),
        column("hold", "longest", Fit::Right, 2),
        column("", "in use", Fit::Right, 7),
        column("", "queue", Fit::Right, 10),
    ];
    if rows.is_empty() {
        return String::new();
    }
    let cells = |row: &Row| {
        vec![
            format!("#{}", row.first().id),
            row.pid.to_string(),
            kind_name(row.kind()).to_owned(),
            place(row.first()),
            units::count(row.locks.len() as u64),
            units::count(row.acquisitions),
            row.blocked_share().map_or_else(dash, units::percent),
            time(&row.wait, |wait| wait.total),
            time(&row.wait, |wait| wait.p50),
            time(&row.wait, |wait| wait.p99),
            time(&row.wait, |wait| wait.max),
            row.idle_share().map_or_else(dash, units::percent),
            time(&row.idle, |idle| idle.max),
            time(&row.hold, |hold| hold.p50),
            time(&row.hold, |hold| hold.p99),
            time(&row.hold, |hold| hold.max),
            row.utilisation.map_or_else(dash, units::percent),
            row.mean_queue.map_or_else(dash, units::number),
        ]
    };
    let mut text = heading("Contention", "locks by total wait", options, paint);
    text.push_str(&table(report, &COLUMNS, rows, cells, options, paint));
    text.push_str(&left_out(rows, options));
    text
}

/// Locks of the other classes.
pub(super) fn apart(report: &RunReport, rows: &[Row], options: &Options, paint: Paint) -> String {
    const COLUMNS: [Column; 11] = [
        column("", "lock", Fit::Right, 0),
        column("", "pid", Fit::Right, 0),
        column("", "class", Fit::Left, 0),
        column("", "kind", Fit::Left, 2),
        column("", "where", Fit::Elastic, 0),
        column("", "locks", Fit::Right, 3),
        column("", "taken", Fit::Right, 0),
        column("wait", "total", Fit::Right, 0),
        column("wait", "p50", Fit::Right, 5),
        column("wait", "p99", Fit::Right, 4),
        column("wait", "longest", Fit::Right, 1),
    ];
    if rows.is_empty() {
        return String::new();
    }
    let cells = |row: &Row| {
        vec![
            format!("#{}", row.first().id),
            row.pid.to_string(),
            class_name(row.class()).to_owned(),
            kind_name(row.kind()).to_owned(),
            place(row.first()),
            units::count(row.locks.len() as u64),
            units::count(row.acquisitions),
            time(&row.wait, |wait| wait.total),
            time(&row.wait, |wait| wait.p50),
            time(&row.wait, |wait| wait.p99),
            time(&row.wait, |wait| wait.max),
        ]
    };
    let remark = "waiting for work, for a turn or at a gate: it may be as it should be";
    let mut text = heading("Apart", remark, options, paint);
    text.push_str(&table(report, &COLUMNS, rows, cells, options, paint));
    text.push_str(&left_out(rows, options));
    text
}

/// The table without the columns that say the same in every row: one process, one lock a row.
fn table(
    report: &RunReport,
    columns: &[Column],
    rows: &[Row],
    cells: impl Fn(&Row) -> Vec<String>,
    options: &Options,
    paint: Paint,
) -> String {
    let rows = &rows[..rows.len().min(options.top)];
    let one_process = report.processes.len() < 2;
    let one_each = rows.iter().all(|row| row.locks.len() == 1);
    let told = |column: &Column| match column.title {
        "pid" => !one_process,
        "locks" => !one_each,
        _ => true,
    };
    let kept: Vec<Column> = columns.iter().copied().filter(|column| told(column)).collect();
    let texts: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            columns
                .iter()
                .zip(cells(row))
                .filter(|(column, _)| told(column))
                .map(|(_, cell)| cell)
                .collect()
        })
        .collect();
    render(&kept, &texts, options.width, paint)
}

/// What the table does not show.
fn left_out(rows: &[Row], options: &Options) -> String {
    let Some(rest) = rows.get(options.top..).filter(|rest| !rest.is_empty()) else {
        return String::new();
    };
    let locks: usize = rest.iter().map(|row| row.locks.len()).sum();
    let wait: u64 = rest.iter().map(Row::wait_total).fold(0, u64::saturating_add);
    let more = several(rest.len() as u64, "more row", "more rows");
    let waited = if wait == 0 {
        "nobody waited".to_owned()
    } else {
        format!("wait {}", units::duration(wait))
    };
    format!("  and {more} of {}: {waited}\n", several(locks as u64, "lock", "locks"))
}

fn time(of: &Option<Distribution>, figure: fn(&Distribution) -> u64) -> String {
    of.as_ref().map_or_else(dash, |times| units::duration(figure(times)))
}

fn dash() -> String {
    "–".to_owned()
}
