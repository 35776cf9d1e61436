//! Each figure of a rule at the last value at which the rule speaks, and at the next; and the evidence of each rule,
//! figure by figure.

mod common;

use common::*;
use uncontended_report::findings::find;
use uncontended_report::run::*;

/// Of most runs here.
const WALL_NS: u64 = 10_000 * MS;

/// The findings of a run of `wall_ns` with these locks and threads.
fn of_run(wall_ns: u64, locks: &[Lock], threads: &[Thread]) -> Vec<Finding> {
    let mut report = run(&["program"]);
    report.wall_ns = wall_ns;
    report.processes = vec![process(1, locks.to_vec(), threads.to_vec())];
    find(&report)
}

fn any_says(findings: &[Finding], words: &str) -> bool {
    findings.iter().any(|finding| finding.text.contains(words))
}

/// Whether a run of ten seconds with this lock has a finding with these words.
fn says(row: &Lock, words: &str) -> bool {
    any_says(&of_run(WALL_NS, std::slice::from_ref(row), &[]), words)
}

/// Times of which the rules read these figures.
fn figures(count: u64, total: u64, p50: u64, p99: u64) -> Option<Distribution> {
    Some(Distribution { count, total, p50, p99, max: p99, ..times(&[p50]).unwrap() })
}

/// Times with a number, a sum and a median; `max` and the longest four have values of their own.
fn long(count: u64, total: u64, p50: u64, max: u64, fourth: u64) -> Option<Distribution> {
    let times = figures(count, total, p50, max)?;
    Some(Distribution { worst: vec![max, max, max, fourth], ..times })
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

/// Asserts that the finding about `row` with these words has this evidence, and no more.
fn rests_on(row: &Lock, words: &str, evidence: &[(&str, f64)]) {
    let found = of_run(WALL_NS, std::slice::from_ref(row), &[]);
    has_evidence(&found, words, evidence);
}

fn has_evidence(found: &[Finding], words: &str, evidence: &[(&str, f64)]) {
    let mut found = found.iter().filter(|finding| finding.text.contains(words));
    let found = found.next().unwrap_or_else(|| panic!("{words:?}"));
    let expected = evidence.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    assert_eq!(found.evidence, expected, "{words:?}");
}

/// A thread that ran and waited for a CPU for so long.
fn ran(tid: u32, cpu_ns: u64, runnable_ns: u64) -> Thread {
    Thread { cpu_ns: Some(cpu_ns), runnable_ns: Some(runnable_ns), ..thread(tid, "worker") }
}

fn wait(row: &mut Lock) -> &mut Distribution {
    row.wait_ns.as_mut().unwrap()
}

fn idle(row: &mut Lock) -> &mut Distribution {
    row.idle_ns.as_mut().unwrap()
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
    rests_on(
        &row,
        "sleeping and waking cost more",
        &[
            ("waits", 1_000.0),
            ("median_wait_ns", 20e3),
            ("p99_hold_ns", 10e3),
            ("idle_share_of_wait", 0.5),
            ("blocked_share", 0.5),
        ],
    );
    // Of all calls, not of those that got the lock.
    let lost = Some(TimedOut { count: 500, total: MS, max: US });
    let tried = Lock { timed_out: lost, blocked: 1_250, ..row.clone() };
    ends_with(&tried, "in a convoy", &[|row| row.blocked -= 1]);
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
    rests_on(
        &Lock { owner_changes: Some(7_500), threads: 3, ..row.clone() },
        "acquisitions change owner",
        &[
            ("owner_change_share", 0.75),
            ("acquisitions", 10e3),
            ("median_hold_ns", 10e3),
            ("threads", 3.0),
        ],
    );
    // Or else without four waits of 50 ms.
    let of_tail = |fourth| {
        let row = Lock { wait_ns: long(10, 200 * MS, 10 * US, 50 * MS, fourth), ..row.clone() };
        any_says(&of_run(100_000 * MS, &[row], &[]), "acquisitions change owner")
    };
    assert!(of_tail(50 * MS) && !of_tail(50 * MS - 1));
}

#[test]
fn a_lock_that_is_polled() {
    let mut row = lock(1, Kind::Mutex, "poll");
    (row.try_failed, row.acquisitions) = (10_000, 1_000);
    ends_with(&row, "it is polled", &[|row| row.acquisitions = 1_001]);
    // Ten thousand tries, however short the run is.
    let few = |tries| {
        !of_run(MS, &[Lock { try_failed: tries, acquisitions: 1, ..row.clone() }], &[]).is_empty()
    };
    assert!(few(10_000) && !few(9_999));
    // A thousand a second.
    let slower = |wall_ns| of_run(wall_ns, std::slice::from_ref(&row), &[]);
    assert!(!slower(WALL_NS).is_empty() && slower(WALL_NS + 1).is_empty());
    row.try_failed = 20_000;
    rests_on(
        &row,
        "it is polled",
        &[("try_failed", 20e3), ("acquisitions", 1e3), ("try_failed_per_s", 2e3)],
    );
    // A failed try costs 100 ns: ten million cost as much as a wait of a second.
    let first_says = |tries| {
        let polled = Lock { try_failed: tries, ..row.clone() };
        let mut waited = lock(2, Kind::Mutex, "take");
        waited.unfinished = stuck(1_000 * MS + 1);
        of_run(WALL_NS, &[polled, waited], &[]).swap_remove(0).text
    };
    assert!(first_says(10_000_000).contains("still waited"));
    assert!(first_says(10_000_001).contains("it is polled"));
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
    rests_on(
        &row,
        "ended without the lock",
        &[
            ("timed_out", 10.0),
            ("waits", 40.0),
            ("timed_out_ns", 100e6),
            ("timed_out_share_of_wait", 0.5),
        ],
    );
}

fn stuck(longest_ns: u64) -> Option<Unfinished> {
    Some(Unfinished { count: 1, longest_ns, held_ns: Some(9_000 * MS), holder: Some(7) })
}

#[test]
fn a_wait_that_did_not_end() {
    let mut row = lock(1, Kind::Mutex, "take");
    row.unfinished = stuck(1_000 * MS);
    let words = "1 thread still waited for it when the run ended, the longest for 1.00 s";
    // Less than a second.
    let less = Lock { unfinished: stuck(1_000 * MS - 1), ..row.clone() };
    assert!(says(&row, words) && of_run(2_000 * MS, &[less], &[]).is_empty());
    let evidence =
        [("waiting_threads", 1.0), ("longest_unfinished_wait_ns", 1e9), ("held_ns", 9e9)];
    rests_on(&row, words, &evidence);
    assert_eq!(of_run(WALL_NS + 1, &[row], &[]), vec![], "less than a tenth of the run");
}

#[test]
fn a_lock_that_is_idle_for_long() {
    let mut row = lock(1, Kind::Mutex, "push");
    (row.acquisitions, row.threads) = (100, 4);
    row.wait_ns = long(40, 400 * MS, 9 * MS, 11 * MS, 9 * MS);
    row.idle_ns = long(7, 40 * MS, MS, 8 * MS, MS);
    row.hold_ns = long(96, 100 * MS, MS, 2 * MS, MS);
    let words = "longest of 7 idle intervals: 8.00 ms";
    ends_with(
        &row,
        words,
        &[
            |row| hold(row).max += 1,
            |row| idle(row).max -= 1,
            |row| wait(row).total += 1,
            |row| idle(row).total -= 1,
            |row| idle(row).worst[3] -= 1,
            // A hold that was not seen may have been longer.
            |row| row.acquisitions += 1,
        ],
    );
    let evidence = [
        ("longest_idle_ns", 8e6),
        ("idle_intervals", 7.0),
        ("fourth_longest_idle_ns", 1e6),
        ("longest_hold_ns", 2e6),
        ("idle_share_of_wait", 0.1),
    ];
    rests_on(&row, words, &evidence);
    lacks_cpus(&row, words, &evidence, "; the program's threads were runnable");

    // More than half of the idle time names the cause.
    for (cause, why) in [
        (IdleCause::NotWoken, "waiters are woken late"),
        (IdleCause::NotScheduled, "waiters are woken but get no CPU"),
        (IdleCause::Barged, "threads that did not wait take it"),
    ] {
        let says = |of_cause: u64, of_others| {
            let moment = |what, ns, cause| Moment { what, at_ns: 0, ns, tid: None, cause };
            let mut row = row.clone();
            row.moments = vec![
                moment(Span::Idle, 6, Some(cause)),
                moment(Span::Idle, of_cause - 6, Some(cause)),
                moment(Span::Idle, of_others, None),
                moment(Span::Wait, 1_000, Some(cause)),
            ];
            says(&row, why)
        };
        assert!(says(11, 10) && !says(10, 10), "{cause:?}");
    }
}

/// Asserts that a finding has these words from 30 % of runnable time without a CPU on.
fn lacks_cpus(row: &Lock, of_finding: &str, evidence: &[(&str, f64)], words: &str) {
    let found = |runnable| {
        let threads = [ran(7, 500, 100), ran(8, 200, runnable)];
        of_run(WALL_NS, std::slice::from_ref(row), &threads)
    };
    assert!(any_says(&found(200), words) && !any_says(&found(199), words), "{words:?}");
    let wanted = [evidence, &[("cpu_wanted_share", 0.3)]].concat();
    has_evidence(&found(200), of_finding, &wanted);
    has_evidence(&found(199), of_finding, evidence);
}

#[test]
fn a_waiter_that_is_passed_over() {
    let mut row = lock(1, Kind::Mutex, "push");
    (row.acquisitions, row.threads) = (100, 4);
    row.wait_ns = long(40, 400 * MS, MS, 16 * MS, 12 * MS);
    row.idle_ns = long(7, MS, US, 500 * US, US);
    row.hold_ns = long(96, 100 * MS, MS, 1_500 * US, MS);
    // Twice the three other threads, for a hold and an idle interval of 2 ms.
    let words = "that waiter was passed over at least 8 times";
    ends_with(
        &row,
        words,
        &[
            |row| wait(row).worst[3] -= 1,
            |row| hold(row).max += 1,
            |row| idle(row).max += 1,
            |row| row.threads = 5,
            |row| row.acquisitions += 1,
            |row| row.kind = Kind::RwlockRead,
            |row| row.kind = Kind::RwlockWrite,
        ],
    );
    rests_on(
        &row,
        words,
        &[
            ("longest_wait_ns", 16e6),
            ("waits", 40.0),
            ("fourth_longest_wait_ns", 12e6),
            ("longest_hold_ns", 1.5e6),
            ("longest_idle_ns", 500e3),
            ("passed_over_at_least", 8.0),
            ("threads", 4.0),
        ],
    );
    row.hold_ns = long(96, MS, US, US, US);
    row.wait_ns = long(40, 400 * MS, MS, 16 * MS, 10 * MS);
    ends_with(&row, "was passed over", &[|row| wait(row).worst[3] -= 1]);
    // One wait is enough if it is a twentieth of the run.
    row.wait_ns = long(1, 500 * MS, 500 * MS, 500 * MS, 0);
    ends_with(&row, "was passed over", &[|row| wait(row).max -= 1]);
}

#[test]
fn a_writer_that_readers_keep_out() {
    let row = |id, kind, max| {
        let hold_ns = long(96, 100 * MS, MS, max, MS);
        let address = "0x10".to_owned();
        Lock { acquisitions: 98, threads: 2, hold_ns, address, ..lock(id, kind, "push") }
    };
    let readers = row(1, Kind::RwlockRead, 2 * MS);
    let mut writers = row(2, Kind::RwlockWrite, 500 * US);
    // Four times a read and two writes.
    writers.wait_ns = long(40, 400 * MS, MS, 16 * MS, 12 * MS);
    let says = |changes: fn(&mut Lock, &mut Lock)| {
        let (mut writers, mut readers) = (writers.clone(), readers.clone());
        changes(&mut writers, &mut readers);
        of_run(WALL_NS, &[writers, readers], &[])
    };
    let words = "a writer waited 16.0 ms";
    has_evidence(
        &says(|_, _| ()),
        words,
        &[
            ("longest_wait_ns", 16e6),
            ("waits", 40.0),
            ("fourth_longest_wait_ns", 12e6),
            ("longest_read_hold_ns", 2e6),
            ("longest_write_hold_ns", 500e3),
            ("reads", 98.0),
        ],
    );
    let ends: [fn(&mut Lock, &mut Lock); 6] = [
        |writers, _| wait(writers).worst[3] -= 1,
        |writers, _| writers.threads = 3,
        |writers, _| hold(writers).max += 1,
        |_, readers| hold(readers).max += 1,
        |writers, _| writers.acquisitions += 1,
        |_, readers| readers.acquisitions += 1,
    ];
    for (number, end) in ends.into_iter().enumerate() {
        assert!(!any_says(&says(end), words), "change {number}");
    }
    let short = |fourth| {
        let mut rows = [writers.clone(), readers.clone()];
        rows.iter_mut().for_each(|row| hold(row).max = US);
        wait(&mut rows[0]).worst[3] = fourth;
        any_says(&of_run(WALL_NS, &rows, &[]), words)
    };
    assert!(short(10 * MS) && !short(10 * MS - 1));
}

#[test]
fn holds_that_are_long() {
    let mut row = lock(1, Kind::Mutex, "push");
    (row.acquisitions, row.threads, row.utilisation) = (100, 100, Some(0.7));
    row.wait_ns = long(40, 400 * MS, MS, 40 * MS, MS);
    row.hold_ns = long(90, 100 * MS, 2 * MS, 20 * MS, 10 * MS);
    let words = "while half of its 90 holds take at most";
    ends_with(
        &row,
        words,
        &[
            // Half of the longest wait, four of 10 ms, ten times the median.
            |row| hold(row).max -= 1,
            |row| wait(row).max += 1,
            |row| hold(row).worst[3] -= 1,
            |row| hold(row).p50 += 1,
        ],
    );
    let evidence = [
        ("longest_wait_ns", 40e6),
        ("waits", 40.0),
        ("fourth_longest_wait_ns", 1e6),
        ("longest_hold_ns", 20e6),
        ("fourth_longest_hold_ns", 10e6),
        ("median_hold_ns", 2e6),
        ("holds", 90.0),
        ("utilisation", 0.7),
    ];
    rests_on(&row, words, &evidence);
    lacks_cpus(&row, words, &evidence, "or the holder lost its CPU");
    let shorter = Lock {
        wait_ns: long(40, 400 * MS, MS, 15 * MS, MS),
        hold_ns: long(90, 100 * MS, MS, 10 * MS, 10 * MS),
        ..row.clone()
    };
    ends_with(&shorter, words, &[|row| hold(row).max -= 1]);
    // Without repetition, the wait is a twentieth of the run.
    let once = Lock {
        wait_ns: long(1, 500 * MS, 500 * MS, 500 * MS, 0),
        hold_ns: long(90, 400 * MS, MS, 300 * MS, MS),
        ..row.clone()
    };
    ends_with(&once, words, &[|row| wait(row).max -= 1]);

    let mut used = Lock { utilisation: Some(0.8), ..row };
    wait(&mut used).total = 5_000 * MS;
    ends_with(
        &used,
        "it is the bottleneck",
        &[
            |row| row.utilisation = Some(0.8f64.next_down()),
            |row| wait(row).total -= 1,
            |row| row.kind = Kind::RwlockRead,
        ],
    );
}

#[test]
fn rare_long_holds() {
    let mut row = lock(1, Kind::Mutex, "push");
    (row.acquisitions, row.threads) = (100_000, 2);
    let long_of = |times, low, count| {
        let buckets = vec![(US, 2 * US, 90), (low, low + 1, count)];
        Distribution { buckets, ..times }
    };
    // Half of the hold time and of the wait is long: as ten medians, which are a millisecond.
    row.hold_ns = long(90_000, 8 * MS, 100 * US, 3 * MS, MS).map(|times| long_of(times, MS, 4));
    row.wait_ns = long(1_100, 2_000 * MS, US, 2 * MS, US).map(|times| long_of(times, MS, 1_000));
    let words = "holds make up most of the";
    ends_with(
        &row,
        words,
        &[
            |row| hold(row).total += 1,
            |row| wait(row).total += 1,
            |row| hold(row).worst[3] -= 1,
            |row| hold(row).p50 += 1,
            |row| row.kind = Kind::RwlockRead,
            |row| row.kind = Kind::RwlockWrite,
            // A tenth of the time of its threads.
            |row| row.threads = 3,
        ],
    );
    rests_on(
        &row,
        words,
        &[
            ("long_holds", 4.0),
            ("long_hold_ns", 4e6),
            ("longest_hold_ns", 3e6),
            ("fourth_longest_hold_ns", 1e6),
            ("median_hold_ns", 100e3),
            ("total_wait_ns", 2e9),
            ("mean_queue", 0.2),
        ],
    );
    // However short the median is.
    let quick = |low: u64| {
        let mut row = row.clone();
        hold(&mut row).p50 = US;
        hold(&mut row).worst[3] = low;
        says(&row, words)
    };
    assert!(quick(MS) && !quick(MS - 1));
    // All threads together lacked a CPU for half of the long holds.
    let preempted = |threads: &[Thread]| {
        let found = of_run(WALL_NS, std::slice::from_ref(&row), threads);
        any_says(&found, "or their holders lost the CPU")
    };
    let unknown = Thread { runnable_ns: None, ..thread(9, "worker") };
    assert!(preempted(&[ran(7, 100 * MS, MS), ran(8, 100 * MS, MS)]) && preempted(&[unknown]));
    assert!(!preempted(&[ran(7, 100 * MS, MS), ran(8, 100 * MS, MS - 1)]));
}

#[test]
fn much_waiting() {
    let mut row = lock(1, Kind::Mutex, "push");
    row.threads = 2;
    row.wait_ns = long(1_100, 2_000 * MS, US, 2 * MS, US);
    row.idle_ns = long(7, 500 * MS, US, 2 * US, US);
    row.hold_ns = long(90, 800 * MS, US, 2 * US, US);
    let words = "threads were waiting";
    ends_with(
        &row,
        words,
        &[
            // A tenth of the time of its threads.
            |row| wait(row).total -= 1,
            |row| row.threads = 3,
            |row| row.kind = Kind::RwlockRead,
            |row| row.kind = Kind::RwlockWrite,
        ],
    );
    let evidence = [
        ("total_wait_ns", 2e9),
        ("waits", 1_100.0),
        ("wait_share_of_threads", 0.1),
        ("mean_queue", 0.2),
        ("total_hold_ns", 800e6),
        ("idle_share_of_wait", 0.25),
    ];
    rests_on(&row, words, &evidence);
    lacks_cpus(&row, words, &evidence, "; the program's threads were runnable");
    // Free for half of the wait.
    row.idle_ns = long(7, 1_000 * MS, US, 2 * US, US);
    ends_with(&row, "of that wait it was free", &[|row| idle(row).total -= 1]);
    // Half a thread waits on average, of however many.
    let mut queue = Lock { threads: 100, ..row.clone() };
    wait(&mut queue).total = 5_000 * MS;
    ends_with(&queue, words, &[|row| wait(row).total -= 1]);
    // In the shortest of runs, ten milliseconds.
    let short = |total| {
        let mut row = row.clone();
        wait(&mut row).total = total;
        any_says(&of_run(20 * MS, &[row], &[]), words)
    };
    assert!(short(10 * MS) && !short(10 * MS - 1));
}

#[test]
fn a_gate() {
    let mut row = lock(1, Kind::Mutex, "push");
    row.class = Class::Gate;
    row.wait_ns = long(40, 1_000 * MS, MS, 40 * MS, MS);
    row.hold_ns = long(90, 2_000 * MS, MS, 500 * MS, MS);
    let words = "mostly one thread held it";
    ends_with(
        &row,
        words,
        &[
            |row| wait(row).total -= 1,
            |row| row.class = Class::Contention,
            |row| row.kind = Kind::RwlockWrite,
        ],
    );
    let evidence = [
        ("longest_hold_ns", 500e6),
        ("total_hold_ns", 2e9),
        ("total_wait_ns", 1e9),
        ("wait_per_wall", 0.1),
    ];
    rests_on(&row, words, &evidence);
    // The thread of the longest hold ran for half of the holds.
    let held = |ns, tid| Moment { what: Span::Hold, at_ns: 0, ns, tid: Some(tid), cause: None };
    row.moments = vec![held(400 * MS, 8), held(500 * MS, 7)];
    let with =
        |cpu_ns| of_run(WALL_NS, std::slice::from_ref(&row), &[ran(8, 0, 0), ran(7, cpu_ns, 0)]);
    assert!(any_says(&with(1_000 * MS), "off the CPU"));
    assert!(!any_says(&with(1_000 * MS + 1), "off the CPU"));
    let off = [evidence.as_slice(), &[("holder_off_cpu_share", 0.5)]].concat();
    has_evidence(&with(1_000 * MS), words, &off);
}

#[test]
fn no_more_findings_than_are_read() {
    let polled = |id: u64| {
        let row = lock(id, Kind::Mutex, &format!("poll{id}"));
        Lock { try_failed: 20_000, ..row }
    };
    let rows: Vec<Lock> = (0..6).map(polled).collect();
    assert_eq!(of_run(WALL_NS, &rows, &[]).len(), 5);
    // Three rules speak of one lock.
    let mut row = polled(1);
    row.wait_ns = long(40, 5_000 * MS, MS, MS, MS);
    row.hold_ns = long(90, 8_000 * MS, MS, MS, MS);
    row.utilisation = Some(0.9);
    row.unfinished = stuck(2_000 * MS);
    let said = of_run(WALL_NS, &[row], &[]);
    let words = ["it is the bottleneck", "still waited for it"];
    assert_eq!(said.len(), 2, "{said:#?}");
    assert!(words.iter().zip(&said).all(|(words, finding)| finding.text.contains(words)));
}
