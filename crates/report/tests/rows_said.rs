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
