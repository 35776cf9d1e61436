//! Findings about locks with several rows, and of several locks of one place: each speaks of its own waiting and holds.

mod common;

use common::rules::*;
use common::*;
use uncontended_report::run::*;

/// The findings of a run of two seconds with these locks.
fn said(locks: &[Lock]) -> Vec<String> {
    of_run(WALL_NS, locks, &[]).into_iter().map(|finding| finding.text).collect()
}

fn speaks(locks: &[Lock], words: &str) {
    let found = said(locks);
    assert!(found.iter().any(|text| text.contains(words)), "{words:?} not in {found:#?}");
}

fn not_said(locks: &[Lock], words: &str) {
    let found = said(locks);
    assert!(found.iter().all(|text| !text.contains(words)), "{words:?} in {found:#?}");
}

/// The waits of a side may be for holds of the other one: a sentence has the figures of the code that it names.
#[test]
fn a_side_waits_for_the_holds_of_either() {
    let side = |kind, wait_ns, hold_ns, culprit, longest_ns| {
        let mut row = contended(&[wait_ns; 8], &[], &[hold_ns; 8]);
        row.kind = kind;
        let by = blamed(culprit, 9 * wait_ns, 0.98);
        row.held_by = vec![Blamed { longest_ns, holds: 8, ..by }, blamed("another", MS, 0.02)];
        row
    };
    let write = side(Kind::RwlockWrite, 80 * MS, 60 * MS, "read_for_long", 100 * MS);
    let read = side(Kind::RwlockRead, 50 * MS, 100 * MS, "write_for_long", 60 * MS);
    let of_writers = "longest of 8 waits: 80.0 ms, behind holds of up to 100 ms in read_for_long: do less while holding it";
    let of_readers = "longest of 8 waits: 50.0 ms, behind holds of up to 60.0 ms in write_for_long: do less while holding it";
    let both = [write.clone(), read];
    speaks(&both[..1], of_writers);
    speaks(&both[1..], of_readers);
    let findings = said(&both).concat();
    assert!(!findings.contains("median") && !findings.contains("another"), "{findings}");
    // Its culprit's holds, and not its own, are as long as the waits.
    let mut short = write;
    short.held_by[0].longest_ns = 39 * MS;
    not_said(&[short], "behind holds");
}

/// A lock that a reader holds for long is not idle for longer than it is held.
#[test]
fn the_longest_hold_is_that_of_either_side() {
    let side = |kind, hold_ns| {
        let mut row = contended(&[200 * MS; 5], &[100 * MS; 5], &[hold_ns; 8]);
        (row.kind, row.acquisitions) = (kind, 8);
        row
    };
    let with_readers = |hold_ns| vec![side(Kind::RwlockWrite, MS), side(Kind::RwlockRead, hold_ns)];
    speaks(
        &with_readers(20 * MS),
        "longest of 5 idle intervals: 100 ms, 5.00 times its longest hold (20.0 ms)",
    );
    not_said(&with_readers(30 * MS), "100 times its longest hold");
}
