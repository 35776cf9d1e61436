//! The table of locks.

use super::{Options, heading, several};
use crate::rows::{Row, class_name, kind_of, sides};
use crate::run::{Class, Distribution, Holds, Kind, RunReport};
use uncontended_figures as figures;
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::text::wrap;

/// A column and its content.
type Shown = (Column, fn(&Row) -> String);

const LOCK: Shown = (Column::figure("lock"), |row| row.label());
const PID: Shown = (Column::figure("pid"), |row| row.pids());
const CLASS: Shown = (Column::word("class"), |row| class_name(row.class()).to_owned());
const KIND: Shown = (Column::word("kind").goes(3), |row| kind_of(row.first()).to_owned());
/// A variable, and the beginning of the code: what a person looks for.
const NAMED: usize = 28;
const WHERE: Shown = (Column::elastic("where").least(NAMED), |row| row.place());
const LOCKS: Shown =
    (Column::figure("locks").goes(4), |row| figures::count(row.locks.len() as u64));
const TAKEN: Shown = (Column::figure("taken"), |row| row.taken().map_or_else(dash, figures::count));
const BLOCKED: Shown = (Column::figure("blocked").goes(1), |row| {
    row.blocked_share().map_or_else(dash, figures::percent)
});
const TRIES: Shown = (Column::figure("tries failed"), |row| figures::count(row.try_failed));
const SLEPT: Shown =
    (Column::figure("slept").goes(11), |row| row.slept.share().map_or_else(dash, figures::percent));
const OF_TIME: &str = "of time";
const WAIT: [Shown; 6] = [
    (Column::figure("total").of("wait"), |row| time(&row.wait, |wait| wait.total)),
    (Column::figure("not ended").of("wait"), |row| {
        row.unfinished.map_or_else(dash, |(_, ns)| figures::duration(ns))
    }),
    (Column::figure(OF_TIME).of("wait").goes(1), |row| {
        // A wait may contain time in which its thread wanted a CPU, which is not in the life that is divided by.
        row.wait_share.map_or_else(dash, |share| figures::percent(share.min(1.0)))
    }),
    (Column::figure("p50").of("wait").goes(6), |row| time(&row.wait, |wait| wait.p50)),
    (Column::figure("p99").of("wait").goes(5), |row| time(&row.wait, |wait| wait.p99)),
    (Column::figure("longest").of("wait"), |row| time(&row.wait, |wait| wait.max)),
];
const IDLE: [Shown; 2] = [
    (Column::figure("of wait").of("idle").goes(1), |row| {
        row.idle_share().map_or_else(dash, figures::percent)
    }),
    (Column::figure("longest").of("idle").goes(1), |row| time(&row.idle, |idle| idle.max)),
];
const HOLD: [Shown; 3] = [
    (Column::figure("p50").goes(9), |row| time(&row.hold, |hold| hold.p50)),
    (Column::figure("p99").goes(8), |row| time(&row.hold, |hold| hold.p99)),
    (Column::figure("longest").goes(2), |row| time(&row.hold, |hold| hold.max)),
];
const USE: [Shown; 2] = [
    (Column::figure("in use").goes(7), |row| row.utilisation.map_or_else(dash, figures::percent)),
    (Column::figure("queue").goes(10), |row| row.mean_queue.map_or_else(dash, figures::number)),
];

/// Which holds a table is of.
pub(crate) fn holds(report: &RunReport) -> &'static str {
    match report.holds {
        Some(Holds::Waited) => "blocking hold",
        Some(Holds::All) | None => "hold",
    }
}

/// The remark on a table of these rows.
fn remark(rows: &[Row], table: &str) -> String {
    let is_contended = rows.iter().all(|row| row.class() == Class::Contention);
    let [intended, before] = match is_contended {
        true => ["", "; "],
        false => ["; that of a queue, a hand-off or a gate may be intended", "  "],
    };
    let has_share = table.lines().take(2).any(|line| line.contains(OF_TIME));
    let share = if has_share {
        format!("{before}{OF_TIME}: share of the threads' time")
    } else {
        String::new()
    };
    format!("by total wait{intended}{share}")
}

/// All rows, without columns that tell nothing: one process, one lock per row, nothing but contention.
pub(super) fn locks(report: &RunReport, rows: &[Row], options: &Options, paint: Paint) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let holds = HOLD.map(|(column, cell)| (column.of(holds(report)), cell));
    let shown = &rows[..rows.len().min(options.top)];
    // Only the kind tells the two rows of a read-write lock apart.
    let has = |kind: Kind| shown.iter().any(|row| row.kind() == kind);
    let kind = match has(Kind::RwlockRead) && has(Kind::RwlockWrite) {
        true => (KIND.0.goes(0), KIND.1),
        false => KIND,
    };
    let columns: [&[Shown]; 5] = [
        &[LOCK, PID, CLASS, kind, WHERE, LOCKS, TAKEN, BLOCKED, TRIES, SLEPT],
        &WAIT,
        &IDLE,
        &holds,
        &USE,
    ];
    let columns = columns.concat();
    let mut table = Table::new(columns.iter().map(|(column, _)| column.clone()).collect());
    for row in shown {
        table.row(columns.iter().map(|(_, cell)| cell(row)));
    }
    if report.processes.len() < 2 {
        table.drop_column("pid");
    }
    if shown.iter().all(|row| row.class() == Class::Contention) {
        table.drop_column("class");
    }
    if shown.iter().all(|row| row.unfinished.is_none()) {
        table.drop_column("not ended");
    }
    if !shown.iter().any(Row::is_polled) {
        table.drop_column("tries failed");
    }
    if shown.iter().all(|row| row.slept.known == 0) {
        table.drop_column("slept");
    }
    if shown.iter().all(|row| row.locks.len() == 1) {
        table.drop_column("locks");
    }
    let sides = sides(shown).map_or_else(String::new, |line| wrap(&line, "  ", options.width));
    let table = table.text(options.width, paint);
    let heading = heading("Locks", &remark(shown, &table), options, paint);
    heading + &table + &left_out(rows, options) + &sides
}

/// A line about the rows that the table omits.
fn left_out(rows: &[Row], options: &Options) -> String {
    let Some(rest) = rows.get(options.top..).filter(|rest| !rest.is_empty()) else {
        return String::new();
    };
    let locks: usize = rest.iter().map(|row| row.locks.len()).sum();
    let wait: u64 = rest.iter().map(Row::wait_total).fold(0, u64::saturating_add);
    let more = several(rest.len() as u64, "more row", "more rows");
    let waited = if wait == 0 {
        "no thread waited".to_owned()
    } else {
        format!("wait {}", figures::duration(wait))
    };
    format!("  and {more} of {}: {waited}\n", several(locks as u64, "lock", "locks"))
}

fn time(of: &Option<Distribution>, figure: fn(&Distribution) -> u64) -> String {
    of.as_ref().map_or_else(dash, |times| figures::duration(figure(times)))
}

fn dash() -> String {
    "–".to_owned()
}
