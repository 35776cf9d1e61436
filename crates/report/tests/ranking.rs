//! What is said of culprits that no gain ranks: why, and which thread set the run's length.

mod common;

use common::*;
use uncontended_report::findings::find;
use uncontended_report::run::*;
use uncontended_report::terminal::{Options, render};

/// A run of ten seconds with this path and a culprit that gains `gain_ns`.
fn of(taken: PathTaken, gain_ns: Option<u64>) -> RunReport {
    let mut report = run(&["program"]);
    report.wall_ns = 10_000 * MS;
    report.culprits = vec![Blamed {
        locks: vec![1],
        gain_at_most_ns: gain_ns,
        path_ns: gain_ns,
        ..blamed("hold", 6_000 * MS, 1.0)
    }];
    report.ranked_by = RankedBy::Wait;
    report.processes = vec![process(1, vec![contended(&[MS; 6_000], &[], &[MS; 1])], vec![])];
    report.paths = vec![taken];
    report
}

/// What is said of the ranking of that.
fn said(taken: PathTaken, gain_ns: Option<u64>) -> String {
    let report = of(taken, gain_ns);
    let text = render(&report, &Options { width: 2_000, ..Options::default() });
    let line = text.lines().find(|line| line.contains("Ranked by waiting: "));
    line.unwrap_or_default().trim().to_owned()
}

fn path() -> PathTaken {
    let (tid, own_ns) = (31, 9_000 * MS);
    let mainly = Some(OnPath { tid, own_ns, body: Some(frame("flusher", "d.cpp", 16)) });
    PathTaken { pid: 1, until_ns: 10_000 * MS, own_ns: 10_000 * MS, mainly, ..Default::default() }
}

const MAINLY: &str =
    "; the path to the run's end is in thread 31 (flusher d.cpp:16) for 90.0 % of it.";

#[test]
fn the_thread_that_set_the_length_is_named() {
    let little = said(path(), Some(400 * MS));
    assert!(little.contains("less than 5.00 % shorter, by estimate"), "{little}");
    assert!(little.ends_with(MAINLY), "{little}");
    let asleep = said(PathTaken { asleep_ns: 6_000 * MS, ..path() }, Some(400 * MS));
    assert!(asleep.contains("for 60.0 % of the run, it is not known what set its"), "{asleep}");
    assert!(asleep.ends_with(MAINLY), "{asleep}");
    let mainly = Some(OnPath { tid: 31, own_ns: 4_999 * MS, body: None });
    let several = said(PathTaken { mainly, ..path() }, Some(400 * MS));
    assert!(!several.contains("thread 31"), "{several}");
}

#[test]
fn a_time_limit_set_the_length_whatever_the_exit_status() {
    let mut report = of(path(), None);
    (report.ended_by_limit, report.paths) = (true, Vec::new());
    let text = render(&report, &Options { width: 2_000, ..Options::default() });
    let why =
        "Ranked by waiting: --for ended the program, and no thread's work set the run's length.";
    assert!(text.contains(why) && text.contains(" · ended by --for (exit status 0)"), "{text}");
    report.signal = Some(15);
    let text = render(&report, &Options { width: 2_000, ..Options::default() });
    assert!(text.contains(why) && text.contains("ended by SIGTERM"), "{text}");
}

#[test]
fn gains_are_said_to_be_of_the_run() {
    let mut report = of(path(), Some(2_000 * MS));
    report.ranked_by = RankedBy::Gain;
    let text = render(&report, &Options::default());
    assert!(text.contains("──── of the run ────\ngain (est.)  on path"), "{text}");
    let page = uncontended_report::html::run_page(&report);
    assert!(page.contains("gain of the run (est.)") && page.contains("of threads' time"));
}

#[test]
fn what_is_not_known_of_the_length_has_its_reason() {
    let from_ns = 9_000 * MS;
    let lost = said(PathTaken { from_ns, outside_ns: from_ns, ..path() }, None);
    assert!(lost.contains("is known of its last 1.00 s only: the record"), "{lost}");
    let from_ns = 1_000 * MS;
    let partly = said(PathTaken { from_ns, outside_ns: 6_000 * MS, ..path() }, None);
    assert!(partly.contains("or the record of that time was overwritten; the path"), "{partly}");
    // A fifth of the run was wakeups, at 20 µs each; the waits are longer than that.
    let woken = said(PathTaken { handovers: 100_000, ..path() }, None);
    assert!(woken.contains("100 k times, one thread's wakeup of another"), "{woken}");
}

/// What threads run takes its time on the CPUs that there are, whether they wait or not.
#[test]
fn a_gain_is_said_to_be_bounded_by_the_cpus() {
    let of_cpus = |cpus, gain_ns| {
        let mut report = RunReport { cpus, ranked_by: RankedBy::Gain, ..of(path(), Some(gain_ns)) };
        report.processes[0].threads = (1..=6).map(|tid| thread(tid, "worker")).collect();
        render(&report, &Options { width: 2_000, ..Options::default() })
    };
    let words = "What the threads ran takes 5.70 s at least on 2 CPUs: a gain above 43.0 % needs them to run less, too.";
    assert!(of_cpus(Some(2), 4_300 * MS + 1).contains(words));
    for (cpus, gain_ns) in [(Some(2), 4_300 * MS), (Some(3), 4_301 * MS), (None, 9_000 * MS)] {
        assert!(!of_cpus(cpus, gain_ns).contains("What the threads ran"), "{cpus:?}");
    }
}

/// A thread that slept set the run's length: for what, is not known. Its holds are not in this lock.
#[test]
fn a_lock_that_is_not_on_the_path_is_said_to_be_that() {
    let is_off = |path_ns: u64, unknown_ns: u64| {
        let asleep = PathTaken { asleep_ns: 6_000 * MS, unknown_ns, ..path() };
        let mut report = of(asleep, Some(path_ns));
        report.culprits[0].gain_at_most_ns = None; // Of such a path, no gain is known.
        let found = find(&report);
        found[0].text.contains("for 90.0 % of it: see whether that waits for this")
    };
    assert!(is_off(499 * MS, 0));
    assert!(!is_off(500 * MS, 0), "it is on the path");
    assert!(!is_off(0, 500 * MS), "a part of the path is not known");
}

/// What others waited for may have been a signal that came after the hold, and little of it the lock.
#[test]
fn long_work_under_a_lock_is_no_small_gain() {
    let mut report = of(path(), Some(6_000 * MS));
    report.processes[0].locks[0] = contended(&[MS; 40], &[], &[MS; 1]);
    report.culprits[0].wait_ns = 40 * MS;
    let text = render(&report, &Options { width: 2_000, ..Options::default() });
    let line = text.lines().nth(2).unwrap();
    assert!(line.starts_with("Little waiting for locks; but hold sort.c:3301 "), "{text}");
    assert!(line.ends_with(" for an estimated 60.0 % of the run's length"), "{text}");
    assert!(!text.contains("less than 5.00 %"), "{text}");
}
