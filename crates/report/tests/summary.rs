//! The line below the header: what there is to gain. It agrees with the findings and the culprits.

mod common;

use common::*;
use uncontended_report::findings::find;
use uncontended_report::html::run_page;
use uncontended_report::run::*;
use uncontended_report::terminal::{Options, render};

/// The third line of the report, if it is not empty.
fn summary(report: &RunReport) -> String {
    let text = render(report, &Options { width: 200, ..Options::default() });
    text.lines().nth(2).unwrap_or("").to_owned()
}

/// A run of ten seconds whose lock #1 had waits of this length, with its findings; its culprit gains `gain_ns`.
fn of(wait_ns: u64, waits: usize, ranked_by: RankedBy, gain_ns: Option<u64>) -> RunReport {
    let mut report = run(&["program"]);
    report.wall_ns = 10_000 * MS;
    let row = contended(&vec![wait_ns; waits], &[], &[wait_ns; 1]);
    report.culprits = vec![Blamed {
        locks: vec![1],
        gain_at_most_ns: gain_ns,
        may_move_to: Vec::new(),
        path_ns: gain_ns,
        ..blamed("hold", wait_ns * waits as u64, 1.0)
    }];
    report.ranked_by = ranked_by;
    report.processes = vec![process(1, vec![row], vec![])];
    report.findings = find(&report);
    report
}

#[test]
fn the_first_line_says_what_there_is_to_gain() {
    let gain = of(MS, 6_000, RankedBy::Gain, Some(3_800 * MS));
    assert!(summary(&gain).starts_with("Most to gain: hold "), "{}", summary(&gain));
    let words = ": an estimated 38.0 % of the run (none if its length is fixed)";
    assert!(summary(&gain).ends_with(words), "{}", summary(&gain));
    let mut bound = gain;
    bound.culprits[0].may_move_to = vec![1];
    let words = ": an estimated 38.0 % of the run at most (none if its length is fixed)";
    assert!(summary(&bound).ends_with(words), "{}", summary(&bound));
    let waits = of(MS, 6_000, RankedBy::Wait, Some(400 * MS));
    assert!(summary(&waits).starts_with("Most waiting: hold "), "{}", summary(&waits));
    let unknown = of(MS, 6_000, RankedBy::Wait, None);
    assert_eq!(
        summary(&waits),
        summary(&unknown),
        "a small gain is not one of a run until a flag is set"
    );
    assert!(summary(&unknown).ends_with(": 60.0 % of the threads' time"), "{}", summary(&unknown));
    let little = of(MS, 40, RankedBy::Wait, Some(40 * MS));
    assert_eq!(little.findings, vec![]);
    let words = "Little to gain from locks: waiting for locks is 0.400 % of the threads' time";
    assert_eq!(summary(&little), words);
    assert!(run_page(&little).contains(&format!("<p class=\"lead\">{words}.</p>")));
    let mut turns = of(MS, 40, RankedBy::Wait, Some(40 * MS));
    let wait_ns = times(&[3_000 * MS]);
    let class = Class::Queue;
    turns.processes[0].locks.push(Lock { wait_ns, class, ..lock(2, Kind::Condition, "turn") });
    assert_eq!(
        summary(&turns),
        format!(
            "{words}; for work, a turn or an event, 30.0 % of their time, the most in turn sort.c:3302 (#2)"
        )
    );
    let mut none = run(&["program"]);
    none.processes = vec![process(1, vec![lock(1, Kind::Mutex, "calm")], vec![])];
    assert_eq!(
        summary(&none),
        "Nothing to gain from locks: no thread waited for one that was seen"
    );
    let row = &mut none.processes[0].locks[0];
    (row.class, row.wait_ns) = (Class::Queue, times(&[100 * MS]));
    let words = "Nothing to gain from locks: threads waited only for work, a turn or an event";
    assert_eq!(summary(&none), words);
}

/// Threads that waited to the end did wait.
#[test]
fn waits_that_did_not_end_count() {
    let mut report = run(&["program"]);
    report.wall_ns = 10_000 * MS;
    let (longest_ns, total_ns) = (600 * MS, 1_800 * MS);
    let left = Unfinished {
        count: 3,
        longest_ns,
        total_ns,
        held_ns: None,
        holder: None,
        holder_ended: false,
        waiters_ended: false,
    };
    let row = Lock { unfinished: Some(left), ..lock(1, Kind::Mutex, "want") };
    report.processes = vec![process(1, vec![row], vec![])];
    let words = "No finding: waiting for locks is 18.0 % of the threads' time";
    assert_eq!(summary(&report), words);
    // Of what no thread is known to hold, that is said.
    let row = &mut report.processes[0].locks[0];
    (row.kind, row.class) = (Kind::Semaphore, Class::Unknown);
    let unfinished_wait_ns = Some(longest_ns);
    let waits = Thread { unfinished_wait_ns, unfinished_object: Some(1), ..Thread::default() };
    report.processes[0].threads = vec![waits];
    let words = "Nothing to gain from locks: no wait ended, and no thread is known to hold what others still waited for";
    assert_eq!(summary(&report), words);
    let found = uncontended_report::findings::none(&report);
    assert!(found.contains("for 600 ms, for a post to semaphore #1 (want"), "{found}");
}

/// Holds on the path may be longer than the waits for them.
#[test]
fn a_report_has_one_figure_for_how_much_shorter_a_run_would_be() {
    let report = of(MS, 40, RankedBy::Wait, Some(200 * MS));
    let text = render(&report, &Options { width: 400, ..Options::default() });
    assert_eq!(text.matches("shorter").count(), 1, "{text}");
    assert!(text.contains("0.400 % shorter at most"), "{text}");
}

/// Of many processes, those that have the lock: the row's own share.
#[test]
fn other_processes_do_not_dilute_a_share() {
    let mut report = of(MS, 6_000, RankedBy::Wait, None);
    report.processes.extend((2..50).map(|pid| process(pid, vec![], vec![])));
    assert!(summary(&report).ends_with(": 60.0 % of the threads' time"), "{}", summary(&report));
    // Many locks of one function, none of them enough for a finding.
    report.findings.clear();
    assert!(summary(&report).starts_with("Most waiting: hold "), "{}", summary(&report));
}

/// Little waiting for a lock is not the line where a finding is about another.
#[test]
fn what_is_little_is_not_called_the_most() {
    let mut report = of(MS, 40, RankedBy::Wait, None);
    let mut row = lock(2, Kind::Condition, "take");
    (row.class, row.wait_ns) = (Class::Queue, times(&[9_000 * MS]));
    report.processes[0].locks.push(row);
    let finding = |rule: &str, lock| Finding {
        rule: rule.to_owned(),
        text: String::new(),
        lock,
        locks: vec![],
        wait_share: None,
        evidence: [].into(),
    };
    report.findings = vec![finding("own_locks", None), finding("asleep", Some(2))];
    assert_eq!(summary(&report), "Look first at lock #2 (take sort.c:3302), finding 2");
}

/// What is ranked is not called the most where most is not ranked.
#[test]
fn more_waiting_of_unknown_class_has_no_culprit_before_it() {
    let mut report = of(MS, 6_000, RankedBy::Wait, None);
    let mut row = lock(2, Kind::Futex, "wait");
    (row.class, row.wait_ns) = (Class::Unknown, times(&[9_000 * MS]));
    report.processes[0].locks.push(row);
    assert!(summary(&report).starts_with("Look first at lock #1"), "{}", summary(&report));
    report.findings.clear();
    assert_eq!(summary(&report), "");
}

/// Where a part was not seen, or a part is asked for, or the program hung, the line would say too much.
/// So do the findings.
#[test]
fn of_little_waiting_of_unknown_class_it_is_not_said_that_it_is_for_work() {
    let mut report = of(MS, 4, RankedBy::Wait, None);
    report.processes[0].locks[0].class = Class::Unknown;
    report.culprits.clear();
    report.findings = find(&report);
    let words = "whether for locks, or for work or an event, was not seen";
    assert_eq!(summary(&report), format!("Little waiting, 4.00 ms in all: {words}"));
    let text = render(&report, &Options { width: 200, ..Options::default() });
    assert!(text.contains("or for work or an event, was not seen\n"), "{text}");
}

#[test]
fn there_is_no_line_on_a_part_of_a_run() {
    let little = || of(MS, 40, RankedBy::Wait, None);
    let mut part = little();
    part.keep_matching("#1");
    assert_eq!(summary(&part), "");
    let mut unseen = little();
    unseen.coverage.nothing_seen = Some("Nothing.".to_owned());
    assert_eq!(summary(&unseen), "");
    unseen.findings = vec![Finding {
        rule: "unseen".to_owned(),
        text: String::new(),
        lock: None,
        locks: vec![],
        wait_share: None,
        evidence: [].into(),
    }];
    for rule in ["unseen", "lost"] {
        unseen.findings[0].rule = rule.to_owned();
        assert_eq!(summary(&unseen), "Look first at the waiting that was not seen, finding 1");
    }
    let mut unknown = little();
    let mut row = lock(2, Kind::Futex, "wait");
    (row.class, row.wait_ns) = (Class::Unknown, times(&[10 * MS]));
    unknown.processes[0].locks.push(row);
    assert_eq!(summary(&unknown), "");
    let mut stuck = little();
    stuck.deadlocks = vec![Deadlock { pid: 1, threads: vec![], behind: 0 }];
    assert_eq!(summary(&stuck), "");
}

/// A hang is not shorter without the waits that ended, and a run that a signal ended has no length of its own.
#[test]
fn only_a_run_that_ends_by_itself_can_be_shorter() {
    let text = |report: &RunReport| render(report, &Options { width: 200, ..Options::default() });
    let mut report = of(MS, 40, RankedBy::Wait, None);
    assert!(
        text(&report).contains("the run would be 0.400 % shorter at most"),
        "{}",
        text(&report)
    );
    report.signal = Some(15);
    let cut = text(&report);
    assert!(
        cut.contains("none: all waiting at contended locks is 40.0 ms, 0.400 % of the run"),
        "{cut}"
    );
    report.deadlocks = vec![Deadlock { pid: 1, threads: vec![], behind: 0 }];
    let stuck = text(&report);
    assert!(stuck.contains("the waiting at contended locks that ended is 40.0 ms"), "{stuck}");
    // The same below a table, which a finding about a lock brings.
    report.findings = find(&of(MS, 6_000, RankedBy::Wait, None));
    let stuck = text(&report);
    assert!(
        stuck.contains(
            "that ended is 40.0 ms, 0.400 % of the run. The waits that did not end stand above"
        ),
        "{stuck}"
    );
    report.deadlocks.clear();
    assert!(text(&report).contains("threads would have had that much more time at most"));
    report.signal = None;
    assert!(text(&report).contains("the run would be shorter by that at most"));
}
