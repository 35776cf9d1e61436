//! What observing cost: of all locks, and when a report warns of it.

mod common;
mod written;

use common::*;
use uncontended_report::facts::{Facts, ThreadFacts};
use uncontended_report::html::run_page;
use uncontended_report::run::{Observer, RunReport, Thread};
use uncontended_report::terminal::{Options, render};
use uncontended_trace::layout::kind;
use written::{Writer, read};

/// A thread that took locks of these kinds a million times each, at a cost of 10 ns.
fn taken(kinds: &[u8], facts: Facts) -> Observer {
    let mut writer = Writer::new();
    let process = writer.process(7);
    let thread = writer.thread(process, 7);
    for (address, &kind) in (1..).zip(kinds) {
        let lock = writer.lock(process, 0x1000 * address, kind);
        writer.cell(thread, lock, 1_000_000);
    }
    read(&writer, Facts { cost_ns_per_pair: Some(10.0), ..facts }).observer
}

/// The thread ran for so long.
fn ran(cpu_ns: u64) -> Facts {
    let thread = Thread { tid: 7, cpu_ns: Some(cpu_ns), ..Thread::default() };
    Facts { threads: vec![ThreadFacts { pid: 7, thread }], ..written::facts() }
}

#[test]
fn all_locks_cost_what_each_does() {
    let of = |kinds: &[u8], facts| {
        let observer = taken(kinds, facts);
        (observer.cost_ns, observer.cpu_share)
    };
    let two = [kind::MUTEX, kind::SPIN];
    assert_eq!(of(&two, ran(80 * MS)), (Some(20 * MS), Some(0.25)));
    // A signal of a condition is not a lock.
    assert_eq!(of(&[kind::MUTEX, kind::CONDITION], ran(80 * MS)), (Some(10 * MS), Some(0.125)));
    // What its threads were not seen to do, its parent knows.
    let whole = Facts { cpu_ns: Some(200 * MS), ..ran(80 * MS) };
    assert_eq!(of(&two, whole), (Some(20 * MS), Some(0.1)));
    assert_eq!(of(&two, ran(10 * MS)), (Some(20 * MS), Some(1.0)));
    assert_eq!(of(&two, ran(0)), (Some(20 * MS), None));
    assert_eq!(of(&[], ran(80 * MS)), (None, None));
    let unmeasured = read(&Writer::new(), ran(80 * MS)).observer;
    assert_eq!((unmeasured.cost_ns, unmeasured.cpu_share), (None, None));
}

#[test]
fn a_report_warns_of_an_observer_that_took_much_of_the_time() {
    let said = |cpu_share: Option<f64>| {
        let mut report: RunReport = sort();
        report.observer.cost_ns = Some(120 * MS);
        report.observer.cpu_share = cpu_share;
        let options = Options { width: 1000, ..Options::default() };
        [render(&report, &options), run_page(&report)]
    };
    let warns = "Observing took ";
    let in_all = "to an uncontended lock and unlock: an estimated 120 ms in all, ";
    for (share, is_warned, is_said) in [
        (Some(0.71), true, true),
        (Some(0.25), true, true),
        (Some(0.24), false, true),
        (Some(0.009), false, false),
        (None, false, false),
    ] {
        for text in said(share) {
            assert_eq!(text.contains(warns), is_warned, "{share:?}");
            assert_eq!(text.contains(in_all), is_said, "{share:?}");
        }
    }
    let [text, _] = said(Some(0.71));
    assert!(text.contains("Observing took 71.0 % of the CPU time, by an estimate"), "{text}");
    let [text, _] = said(Some(1.0));
    assert!(text.contains("Observing took nearly all of the CPU time"), "{text}");
}
