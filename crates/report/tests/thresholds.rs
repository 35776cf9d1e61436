//! Each figure of a rule at the last value at which the rule speaks, and at the next.

mod common;

use common::*;
use uncontended_report::findings::find;
use uncontended_report::run::*;

/// Whether a run of ten seconds with this lock has a finding with these words.
fn says(row: &Lock, words: &str) -> bool {
    let mut report = run(&["program"]);
    report.wall_ns = 10_000 * MS;
    report.processes = vec![process(1, vec![row.clone()], vec![])];
    find(&report).iter().any(|finding| finding.text.contains(words))
}

/// Times of which the rules read these figures.
fn figures(count: u64, total: u64, p50: u64, p99: u64) -> Option<Distribution> {
    Some(Distribution { count, total, p50, p99, max: p99, ..times(&[p50]).unwrap() })
}

/// Asserts that the rule speaks of `row`, and no more after each of `changes`.
fn ends_with(row: &Lock, words: &str, changes: &[fn(&mut Lock)]) {
    assert!(says(row, words), "{words:?}");
    for (number, change) in changes.iter().enumerate() {
        let mut changed = row.clone();
        change(&mut changed);
        assert!(!says(&changed, words), "change {number}: {words:?}");
    }
}

fn wait(row: &mut Lock) -> &mut Distribution {
    row.wait_ns.as_mut().unwrap()
}

fn hold(row: &mut Lock) -> &mut Distribution {
    row.hold_ns.as_mut().unwrap()
}

#[test]
fn sleeping_for_short_holds() {
    let mut row = lock(1, Kind::Mutex, "push");
    row.acquisitions = 2_000;
    row.blocked = 1_000;
    row.wait_ns = figures(1_000, 200 * MS, 20 * US, 90 * US);
    row.idle_ns = figures(1_000, 100 * MS, 10 * US, 20 * US);
    row.hold_ns = figures(2_000, 4 * MS, 2 * US, 10 * US);
    ends_with(
        &row,
        "sleeping and waking cost more",
        &[
            |row| wait(row).count = 999,
            |row| wait(row).p50 = 20 * US - 1,
            |row| wait(row).total = 200 * MS + 1,
            |row| hold(row).p99 = 10 * US + 1,
            |row| row.kind = Kind::Spin,
        ],
    );
    ends_with(&row, "in a convoy", &[|row| row.blocked = 999]);
}

#[test]
fn an_owner_that_changes() {
    let mut row = lock(1, Kind::Mutex, "push");
    row.acquisitions = 10_000;
    row.owner_changes = Some(5_000);
    row.wait_ns = figures(10, 100 * MS, 10 * US, 90 * US);
    row.hold_ns = figures(10_000, 100 * MS, 10 * US, 11 * US);
    ends_with(
        &row,
        "acquisitions change owner",
        &[
            |row| row.owner_changes = Some(4_999),
            |row| (row.acquisitions, row.owner_changes) = (9_999, Some(9_999)),
            |row| hold(row).p50 = 10 * US + 1,
            |row| row.kind = Kind::RwlockRead,
            |row| row.kind = Kind::RwlockWrite,
            |row| row.kind = Kind::Semaphore,
            // No finding without a hundredth of the run.
            |row| wait(row).total = 100 * MS - 1,
        ],
    );
}

#[test]
fn a_lock_that_is_polled() {
    let mut row = lock(1, Kind::Mutex, "poll");
    (row.try_failed, row.acquisitions) = (10_000, 1_000);
    ends_with(
        &row,
        "it is polled",
        &[|row| (row.try_failed, row.acquisitions) = (9_999, 1), |row| row.acquisitions = 1_001],
    );
    // A thousand a second.
    let slower = |wall_ns| {
        let mut report = run(&["program"]);
        report.wall_ns = wall_ns;
        report.processes = vec![process(1, vec![row.clone()], vec![])];
        !find(&report).is_empty()
    };
    assert!(slower(10_000 * MS) && !slower(10_000 * MS + MS));
}

#[test]
fn waits_that_time_out() {
    let mut row = lock(1, Kind::Mutex, "take");
    row.wait_ns = figures(40, 200 * MS, 500 * US, MS);
    row.timed_out = Some(TimedOut { count: 10, total: 100 * MS, max: MS });
    ends_with(
        &row,
        "ended without the lock",
        &[
            |row| wait(row).total += 1,
            |row| row.kind = Kind::Condition,
            |row| row.kind = Kind::Barrier,
            |row| row.kind = Kind::Futex,
        ],
    );
}

#[test]
fn a_wait_that_did_not_end() {
    let mut row = lock(1, Kind::Mutex, "take");
    let left = |longest_ns| {
        Some(Unfinished { count: 1, longest_ns, held_ns: Some(9_000 * MS), holder: Some(7) })
    };
    row.unfinished = left(1_000 * MS);
    let words = "1 thread still waited for it when the run ended, the longest for 1.00 s";
    assert!(says(&row, words));
    row.unfinished = left(1_000 * MS - 1);
    assert!(!says(&row, "still waited"), "less than a second");
    row.unfinished = left(1_000 * MS);
    let mut report = run(&["program"]);
    report.wall_ns = 10_010 * MS;
    report.processes = vec![process(1, vec![row], vec![])];
    assert_eq!(find(&report), vec![], "less than a tenth of the run");
}
