//! Locks that processes share: in rows, findings and text.

mod common;

use common::*;
use uncontended_report::findings::find;
use uncontended_report::rows;
use uncontended_report::run::*;
use uncontended_report::terminal::{Options, render};

/// A mutex that was free for most of the waiting, and whose longest waits no hold explains.
fn unfair() -> Lock {
    let mut row = lock(1, Kind::Mutex, "push");
    (row.acquisitions, row.blocked, row.threads) = (600, 49, 4);
    row.wait_ns = times(&[[2_000 * MS; 4].as_slice(), &[US; 45]].concat());
    row.idle_ns = times(&[50 * US]);
    row.hold_ns = times(&[MS; 600]);
    row
}

fn run_of(row: Lock, others: &[u32]) -> RunReport {
    let mut report = run(&["program"]);
    report.wall_ns = 10_000 * MS;
    let lived = |tid| Thread { lived_ns: Some(4_000 * MS), runnable_ns: None, ..thread(tid, "w") };
    report.processes = vec![process(1, vec![row], vec![lived(1)])];
    report.processes.extend(others.iter().map(|&pid| process(pid, vec![], vec![lived(pid)])));
    report
}

#[test]
fn of_a_lock_that_stands_apart_nothing_is_argued_from_its_holds() {
    let rules = |row: Lock| {
        let found = find(&run_of(row, &[]));
        found.into_iter().map(|finding| finding.rule).collect::<Vec<_>>()
    };
    let seen = rules(unfair());
    assert!(seen.contains(&"passed-over".to_owned()), "{seen:?}");
    let apart = Lock { shared: true, idle_ns: None, ..unfair() };
    assert_eq!(rules(apart.clone()), ["heavy"]);
    let joined = Lock { processes: vec![1], ..apart };
    assert_eq!(rules(joined)[0], "passed-over", "known in all of them");
}

#[test]
fn the_share_of_a_shared_lock_is_of_all_its_processes() {
    let share = |processes: Vec<u32>| {
        let row = Lock { shared: true, processes, ..unfair() };
        find(&run_of(row, &[2, 3]))[0].wait_share.expect("a share")
    };
    let [one, two] = [share(vec![1]), share(vec![1, 2])];
    assert!((one / two - 2.0).abs() < 1e-9, "{one} {two}");
}

#[test]
fn a_row_says_who_shares_it_and_whose_holds_they_were() {
    let mut row = Lock { shared: true, processes: vec![1, 2, 3], owner_died: 2, ..unfair() };
    row.worst_wait = Some(WorstWait { ns: MS, waiter: vec![], holder: vec![] });
    row.held_by = vec![
        Blamed { pids: vec![2], ..blamed("merge", 600 * MS, 0.6) },
        Blamed { pids: vec![1, 3], ..blamed("split", 300 * MS, 0.3) },
    ];
    let report = run_of(row, &[2, 3]);
    let rows = rows::rows(&report);
    assert_eq!((rows[0].others(), rows[0].pids()), (2, "1+2".to_owned()));
    let text = render(&report, &Options { width: 300, ..Options::default() });
    for words in [
        " 1+2 ",
        "(60.0 % of the waiting, in 2)",
        "(30.0 %, in 2 processes)",
        "#1: 2 times, its holder had died",
    ] {
        assert!(text.contains(words), "{words:?} not in {text}");
    }
    let alone = run_of(Lock { owner_died: 0, ..unfair() }, &[2, 3]);
    assert_eq!(rows::rows(&alone)[0].pids(), "1");
}
