//! The two tables of locks: those that threads contend for, and those where waiting is not contention.

use super::table::{Column, Fit, render};
use super::{Options, Paint, heading, several};
use crate::rows::{Row, class_name, kind_name, place};
use crate::run::{Distribution, RunReport};
use crate::units;

/// A column, and what stands in it.
type Shown = (Column, fn(&Row) -> String);

const fn column(group: &'static str, title: &'static str, fit: Fit, goes: u8) -> Column {
    Column { group, title, fit, goes }
}

const LOCK: Shown = (column("", "lock", Fit::Right, 0), |row| format!("#{}", row.first().id));
const PID: Shown = (column("", "pid", Fit::Right, 0), |row| row.pid.to_string());
const CLASS: Shown = (column("", "class", Fit::Left, 0), |row| class_name(row.class()).to_owned());
const KIND: Shown = (column("", "kind", Fit::Left, 3), |row| kind_name(row.kind()).to_owned());
const WHERE: Shown = (column("", "where", Fit::Elastic, 0), |row| place(row.first()));
const LOCKS: Shown =
    (column("", "locks", Fit::Right, 4), |row| units::count(row.locks.len() as u64));
const TAKEN: Shown = (column("", "taken", Fit::Right, 0), |row| units::count(row.acquisitions));
const BLOCKED: Shown = (column("", "blocked", Fit::Right, 0), |row| {
    row.blocked_share().map_or_else(dash, units::percent)
});
const WAIT: [Shown; 4] = [
    (column("wait", "total", Fit::Right, 0), |row| time(&row.wait, |wait| wait.total)),
    (column("wait", "p50", Fit::Right, 6), |row| time(&row.wait, |wait| wait.p50)),
    (column("wait", "p99", Fit::Right, 5), |row| time(&row.wait, |wait| wait.p99)),
    (column("wait", "longest", Fit::Right, 0), |row| time(&row.wait, |wait| wait.max)),
];
const IDLE: [Shown; 2] = [
    (column("idle", "of wait", Fit::Right, 1), |row| {
        row.idle_share().map_or_else(dash, units::percent)
    }),
    (column("idle", "longest", Fit::Right, 1), |row| time(&row.idle, |idle| idle.max)),
];
const HOLD: [Shown; 3] = [
    (column("hold", "p50", Fit::Right, 9), |row| time(&row.hold, |hold| hold.p50)),
    (column("hold", "p99", Fit::Right, 8), |row| time(&row.hold, |hold| hold.p99)),
    (column("hold", "longest", Fit::Right, 2), |row| time(&row.hold, |hold| hold.max)),
];
const USE: [Shown; 2] = [
    (column("", "in use", Fit::Right, 7), |row| row.utilisation.map_or_else(dash, units::percent)),
    (column("", "queue", Fit::Right, 10), |row| row.mean_queue.map_or_else(dash, units::number)),
];

/// Locks of class contention.
pub(super) fn contention(
    report: &RunReport,
    rows: &[Row],
    options: &Options,
    paint: Paint,
) -> String {
    let columns: [&[Shown]; 5] =
        [&[LOCK, PID, KIND, WHERE, LOCKS, TAKEN, BLOCKED], &WAIT, &IDLE, &HOLD, &USE];
    let heading = heading("Contention", "locks by total wait", options, paint);
    section(report, heading, &columns.concat(), rows, options, paint)
}

/// Locks of the other classes.
pub(super) fn apart(report: &RunReport, rows: &[Row], options: &Options, paint: Paint) -> String {
    let columns: [&[Shown]; 2] = [&[LOCK, PID, CLASS, KIND, WHERE, LOCKS, TAKEN], &WAIT];
    let remark = "waiting for work, a turn or at a gate may be as it should be; unknown: only the wait was seen";
    let heading = heading("Apart", remark, options, paint);
    section(report, heading, &columns.concat(), rows, options, paint)
}

/// A heading and its table, without the columns that say the same in every row: one process, one lock a row.
fn section(
    report: &RunReport,
    heading: String,
    columns: &[Shown],
    rows: &[Row],
    options: &Options,
    paint: Paint,
) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let shown = &rows[..rows.len().min(options.top)];
    let one_process = report.processes.len() < 2;
    let one_each = shown.iter().all(|row| row.locks.len() == 1);
    let told = |(column, _): &&Shown| match column.title {
        "pid" => !one_process,
        "locks" => !one_each,
        _ => true,
    };
    let kept: Vec<&Shown> = columns.iter().filter(told).collect();
    let titles: Vec<Column> = kept.iter().map(|(column, _)| *column).collect();
    let cells = |row: &Row| kept.iter().map(|(_, cell)| cell(row)).collect();
    let texts: Vec<Vec<String>> = shown.iter().map(cells).collect();
    heading + &render(&titles, &texts, options.width, paint) + &left_out(rows, options)
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
