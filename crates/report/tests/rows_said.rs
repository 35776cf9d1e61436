//! What the terminal says of rows apart from their times: failed tries, and waiting whose cause is not known.

mod common;

use common::*;
use uncontended_report::run::*;
use uncontended_report::terminal::{Options, render};

fn text(lock: Lock) -> String {
    let mut report = run(&["program"]);
    report.processes = vec![process(1, vec![lock], vec![])];
    render(&report, &Options { width: 200, ..Options::default() })
}

#[test]
fn failed_tries_have_a_column_where_they_are_many() {
    let tried = |try_failed, acquisitions| {
        text(Lock { try_failed, acquisitions, ..lock(1, Kind::Mutex, "poll") })
    };
    let text = tried(1_748, 150);
    assert!(text.contains("tries failed") && text.contains("1,748"), "{text}");
    let mut report = run(&["program"]);
    let polled = Lock { try_failed: 1_748, ..lock(1, Kind::Mutex, "poll") };
    report.processes = vec![process(1, vec![polled], vec![])];
    let page = uncontended_report::html::run_page(&report);
    assert!(page.contains("tries failed") && page.contains("1,748"));
    for (tries, taken) in [(99, 1), (1_748, 1_749), (0, 0)] {
        assert!(!tried(tries, taken).contains("tries failed"));
    }
}

#[test]
fn waiting_without_a_known_cause_is_said_where_it_is_much() {
    let unknown = |kind, unknown_ns| {
        let mut row = contended(&[MS; 100], &[], &[MS; 100]);
        row.kind = kind;
        row.worst_wait = Some(WorstWait { ns: MS, waiter: vec![], holder: vec![] });
        let held_ns = 100 * MS - unknown_ns;
        row.blame = Some(Blame { held_ns, unknown_ns, ..Blame::default() });
        text(row)
    };
    let words = "of the waiting for #1 (8.00 ms) has no known cause: ";
    let of_lock = unknown(Kind::RwlockRead, 8 * MS);
    assert!(
        of_lock.contains(&format!("8.00 % {words}who held the lock then was not seen")),
        "{of_lock}"
    );
    let of_event = unknown(Kind::Condition, 8 * MS);
    assert!(of_event.contains(&format!("8.00 % {words}what ended it was not seen")), "{of_event}");
    assert!(!unknown(Kind::Mutex, 5 * MS).contains("#1 ("));
}

#[test]
fn a_row_has_the_variable_before_the_place() {
    let one = Lock { variable: Some("queue_lock".to_owned()), ..lock(1, Kind::Mutex, "work") };
    let both = |report: &RunReport, width| {
        let options = Options { width, ..Options::default() };
        (render(report, &options), uncontended_report::html::run_page(report))
    };
    let mut report = run(&["program"]);
    report.processes = vec![process(1, vec![one], vec![])];
    for width in [80, 120] {
        let (text, page) = both(&report, width);
        assert!(text.contains("  queue_lock, work sort.c:3301  "), "{text}");
        assert!(page.contains(">queue_lock, work sort.c:3301</td>"));
    }
    let names = |names: [Option<&str>; 2]| {
        let of = |(id, name): (u64, Option<&str>)| Lock {
            variable: name.map(str::to_owned),
            site: Some(frame("init", "sort.c", 9)),
            ..lock(id, Kind::Mutex, "init")
        };
        let mut report = run(&["program"]);
        report.processes = vec![process(1, (1..).zip(names).map(of).collect(), vec![])];
        both(&report, 100).0
    };
    let parts = names([Some("table"), Some("table+0x40")]);
    assert!(parts.contains("  table, init sort.c:9"), "{parts}");
    for others in [[Some("table"), Some("queue")], [Some("table"), None]] {
        let text = names(others);
        assert!(text.contains("  init sort.c:9  ") && !text.contains("table"), "{text}");
    }
}

#[test]
fn the_two_rows_of_a_read_write_lock_are_said_to_be_one_lock() {
    let side = |id, kind, other_side| Lock {
        other_side,
        address: "0xa".to_owned(),
        ..lock(id, kind, "f")
    };
    let mut report = run(&["program"]);
    let sides = [side(1, Kind::RwlockWrite, Some(2)), side(2, Kind::RwlockRead, Some(1))];
    report.processes = vec![process(1, sides.to_vec(), vec![])];
    let said = "A read-write lock has two rows: #1 (writers) and #2 (readers).";
    let text = render(&report, &Options { width: 80, ..Options::default() });
    assert!(text.contains(&format!("  {said}\n")) && text.contains("· 1 lock\n"), "{text}");
    assert!(uncontended_report::html::run_page(&report).contains(said));
    for only in ["#1", "#2"] {
        let mut report = report.clone();
        report.keep_matching(only);
        assert_eq!(report.processes[0].locks.len(), 2, "{only}");
    }
    report.keep_matching("rwlock-read");
    assert!(!render(&report, &Options::default()).contains("has two rows"));
}

#[test]
fn a_share_of_time_says_whose_where_it_is_shown() {
    let of = |class, width| {
        let mut report = run(&["program"]);
        let row = Lock { class, ..lock(1, Kind::Mutex, "work") };
        report.processes = vec![process(1, vec![row], vec![])];
        render(&report, &Options { width, ..Options::default() })
    };
    let said = "of time: share of the threads' time";
    let text = of(Class::Contention, 80);
    assert!(text.contains(&format!("Locks  by total wait; {said}\n")), "{text}");
    let text = of(Class::Queue, 100);
    assert!(text.contains(&format!("\n  {said}\n")), "{text}");
    assert!(!of(Class::Contention, 50).contains("of time"));
}
