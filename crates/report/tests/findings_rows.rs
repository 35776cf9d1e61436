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

/// Waits for threads that died with the lock are explained by that, from a tenth of the waiting on.
#[test]
fn threads_that_died_with_the_lock() {
    let row = |died_ns| {
        let mut row = lock(1, Kind::Mutex, "push");
        (row.owner_died, row.threads) = (5, 10);
        row.wait_ns = long(5, 200 * MS, 40 * MS, 40 * MS, 40 * MS);
        row.held_by = vec![Blamed { died_ns, ..blamed("die", 198 * MS, 0.99) }];
        row
    };
    let words = "threads died while they held it, 5 times, and 98.0 % of the 200 ms that others waited was for these holds";
    speaks(&[row(196 * MS)], words);
    speaks(&[row(196 * MS)], "was for these holds, mostly in die sort.c:3301: let no thread");
    rests_on(
        &row(196 * MS),
        words,
        &[("owner_died", 5.0), ("died_ns", 196e6), ("died_share", 0.98), ("total_wait_ns", 200e6)],
    );
    // The plain figures are left out from half on.
    assert!(!says(&row(100 * MS), "take it less often") && says(&row(100 * MS), "died"));
    assert!(says(&row(100 * MS - 1), "take it less often") && says(&row(20 * MS), "died"));
    assert!(!says(&row(20 * MS - 1), "died"));
    // Waits that are neither much nor long.
    let mut little = row(196 * MS);
    little.wait_ns = long(5, 99 * MS, 10 * MS, 40 * MS, 10 * MS);
    assert!(!says(&little, "died"));
}

/// Locks that one line makes are one change where the same code is to blame, and several where not.
#[test]
fn each_row_with_enough_waiting_is_in_a_finding() {
    let row = |id, kind, culprit, waits| {
        let mut row = contended(&vec![50 * MS; waits], &[], &[40 * MS; 40]);
        (row.id, row.kind, row.site) = (id, kind, Some(frame("init", "a.c", 15)));
        row.held_by = vec![Blamed { longest_ns: 40 * MS, ..blamed(culprit, 190 * MS, 0.95) }];
        row
    };
    let mutex = |id, culprit, waits| row(id, Kind::Mutex, culprit, waits);
    // Other code, the same code, the same code of another kind of lock, too little.
    let locks = [
        mutex(1, "flush", 8),
        mutex(2, "index", 6),
        mutex(3, "flush", 4),
        row(4, Kind::Spin, "flush", 5),
        mutex(5, "flush", 1),
    ];
    let found = of_run(WALL_NS, &locks, &[]);
    let of: Vec<(Option<u64>, &[u64])> =
        found.iter().map(|finding| (finding.lock, finding.locks.as_slice())).collect();
    assert_eq!(of, [(Some(1), &[3][..]), (Some(2), &[]), (Some(4), &[])], "{found:#?}");
    let text = "lock #1 (init a.c:15, one of 4, waits take 20.0 % of the threads' time, 30.0 % with those for #3): longest of";
    assert!(found[0].text.starts_with(text), "{found:#?}");
    assert_eq!(found[0].evidence["wait_share_of_all"], 0.3);
    assert!(!found[1].evidence.contains_key("wait_share_of_all"));
    let many: Vec<Lock> = (1..=6).map(|id| mutex(id, "flush", 3)).collect();
    speaks(&many, "45.0 % with those for #5, #4, #3 and 2 more)");
    // In other processes: of the time of the threads of all.
    let mut report = run(&["program"]);
    report.wall_ns = WALL_NS;
    let of_process = |pid, id| process(pid, vec![mutex(id, "flush", 8)], vec![]);
    report.processes = vec![of_process(1, 1), of_process(2, 2)];
    let found = uncontended_report::findings::find(&report);
    assert_eq!((found.len(), found[0].evidence["wait_share_of_all"]), (1, 0.2), "{found:#?}");
}
