//! What changed from one run to another, row by row.
//!
//! # Contract
//! Rows are matched by kind and place: a lock that is a variable by that; others by the function that first took them
//! and its file, without the line, which edits above it shift; rows without a function by module and address. Locks of
//! one code in several processes are one row, and so are those of all classes: a class that differs by chance from run
//! to run changes no total. A difference between two runs is not a verdict, and every page that shows it says so.

use crate::rows::{self, Row, class_name, kind_name};
use crate::run::RunReport;
use serde::Serialize;
use std::collections::HashMap;

/// Two runs side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diff {
    /// `uncontended.history-diff/1`.
    pub schema: &'static str,
    /// Wall times.
    pub wall_ns: [u64; 2],
    /// Total waits.
    pub wait_ns: [u64; 2],
    /// The same of classes contention and gate, whose holders cause it.
    pub contention_wait_ns: [u64; 2],
    /// The rows of either run that threads waited on in at least one; the greatest change of total wait first.
    pub rows: Vec<Change>,
}

/// One row in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Kind of its locks.
    pub kind: &'static str,
    /// Where it is in the code.
    pub place: String,
    /// Its figures in each run, if it is there.
    pub sides: [Option<Side>; 2],
}

/// The figures of a row in one run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Side {
    /// The class of its costliest locks.
    pub class: &'static str,
    /// All acquisitions.
    pub acquisitions: u64,
    /// Those that were blocked.
    pub blocked: u64,
    /// Their total wait.
    pub wait_ns: u64,
    /// The longest.
    pub longest_wait_ns: u64,
    /// The longest idle interval.
    pub longest_idle_ns: u64,
    /// The longest hold.
    pub longest_hold_ns: u64,
}

/// What changed from `before` to `after`.
pub fn diff(before: &RunReport, after: &RunReport) -> Diff {
    let mut found: HashMap<(&'static str, String), [Option<Side>; 2]> = HashMap::new();
    let (mut wait_ns, mut contention_wait_ns) = ([0u64; 2], [0u64; 2]);
    for (nth, report) in [before, after].into_iter().enumerate() {
        for row in rows::rows(report) {
            wait_ns[nth] = wait_ns[nth].saturating_add(row.wait_total());
            if row.class().is_caused_by_holders() {
                contention_wait_ns[nth] = contention_wait_ns[nth].saturating_add(row.wait_total());
            }
            let sides = found.entry((kind_name(row.kind()), key(&row))).or_default();
            let new = || Side { class: class_name(row.class()), ..Side::default() };
            add(sides[nth].get_or_insert_with(new), &row);
        }
    }
    let mut rows: Vec<Change> = found
        .into_iter()
        .filter(|(_, sides)| sides.iter().flatten().any(|side| side.wait_ns > 0))
        .map(|((kind, place), sides)| Change { kind, place, sides })
        .collect();
    rows.sort_by(|a, b| {
        b.wait_change()
            .cmp(&a.wait_change())
            .then_with(|| (a.kind, &a.place).cmp(&(b.kind, &b.place)))
    });
    Diff {
        schema: "uncontended.history-diff/1",
        wall_ns: [before.wall_ns, after.wall_ns],
        wait_ns,
        contention_wait_ns,
        rows,
    }
}

impl Change {
    /// By how much the total wait differs.
    fn wait_change(&self) -> u64 {
        let [before, after] = self.sides.map(|side| side.map_or(0, |side| side.wait_ns));
        before.abs_diff(after)
    }
}

fn key(row: &Row) -> String {
    let lock = row.first();
    // Which function takes it first may be another one in each run. A part's place in a variable changes with edits.
    let is_whole = |name: &String| row.locks.len() == 1 && !name.contains('+');
    if let Some(variable) = rows::variable(lock).filter(is_whole) {
        return variable;
    }
    let Some(site) = &lock.site else { return rows::place(lock) };
    let file = site.file.as_deref().map(|file| file.rsplit('/').next().unwrap_or(file));
    match (file, &site.function) {
        (Some(file), Some(_)) => format!("{} {file}", rows::whole_function(site)),
        _ => rows::whole_function(site),
    }
}

fn add(side: &mut Side, row: &Row) {
    let longest =
        |times: &Option<crate::run::Distribution>| times.as_ref().map_or(0, |times| times.max);
    side.acquisitions = side.acquisitions.saturating_add(row.acquisitions);
    side.blocked = side.blocked.saturating_add(row.blocked);
    side.wait_ns = side.wait_ns.saturating_add(row.wait_total());
    side.longest_wait_ns = side.longest_wait_ns.max(longest(&row.wait));
    side.longest_idle_ns = side.longest_idle_ns.max(longest(&row.idle));
    side.longest_hold_ns = side.longest_hold_ns.max(longest(&row.hold));
}
