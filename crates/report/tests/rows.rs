//! Rows of locks: shares of nothing, and the names of places.

mod common;

use common::*;
use uncontended_report::rows::{self, callers, function, labels, place, source};
use uncontended_report::run::*;
use uncontended_report::terminal::{Options, render};

#[test]
fn a_share_of_nothing_is_none() {
    let mut calls = lock(1, Kind::Mutex, "push");
    (calls.acquisitions, calls.blocked, calls.try_failed) = (4, 1, 0);
    calls.wait_ns = times(&[40 * US]);
    calls.idle_ns = times(&[10 * US]);
    let shares = |lock: Lock| {
        let mut report = run(&["program"]);
        report.processes = vec![process(1, vec![lock], vec![])];
        let rows = rows::rows(&report);
        let [row] = &rows[..] else { panic!("one row") };
        (row.blocked_share(), row.idle_share())
    };
    assert_eq!(shares(calls.clone()), (Some(0.25), Some(0.25)));
    // Calls that timed out are calls.
    calls.timed_out = Some(TimedOut { count: 4, total: 8 * US, max: 3 * US });
    assert_eq!(shares(calls.clone()), (Some(0.125), Some(0.25)));
    calls.timed_out = None;
    (calls.acquisitions, calls.blocked, calls.wait_ns) = (0, 0, None);
    assert_eq!(shares(calls), (None, None));
}

/// Each figure of a row is of its own figure of the locks: their sum, or the greatest of them.
#[test]
fn a_row_puts_its_locks_together() {
    let part = |id: u64, n: u64| {
        let spans = |count: u64, longest| times(&vec![[longest]; count as usize].concat());
        Lock {
            site: Some(frame("push", "queue.c", 7)),
            acquisitions: 1_000 * n,
            blocked: 100 * n,
            try_failed: 10 * n,
            timed_out: Some(TimedOut { count: n, total: 50 * n, max: 20 * n }),
            owner_changes: Some(300 * n),
            utilisation: Some(0.25 / n as f64),
            mean_queue: Some(0.5 * n as f64),
            wait_ns: spans(2 * n, 16 * n),
            idle_ns: spans(3 * n, 32 * n),
            hold_ns: spans(4 * n, 64 * n),
            worst_wait: Some(WorstWait { ns: 16 * n, waiter: vec![], holder: vec![] }),
            worst_idle: Some(WorstIdle {
                ns: 100 - n,
                releaser: vec![],
                waiter: vec![],
                cause: IdleCause::Unknown,
                on_releasers_cpu: false,
            }),
            ..lock(id, Kind::Mutex, "push")
        }
    };
    let mut report = run(&["program"]);
    report.processes = vec![process(7, vec![part(1, 1), part(2, 2)], vec![])];
    let rows = rows::rows(&report);
    let [row] = &rows[..] else { panic!("one row: {rows:?}") };
    assert_eq!((row.pid, row.first().id, row.locks.len()), (7, 2, 2));
    let counts = [row.acquisitions, row.blocked, row.try_failed, row.attempts];
    assert_eq!(counts, [3_000, 300, 30, 3_003]);
    assert_eq!(row.timed_out, Some(TimedOut { count: 3, total: 150, max: 40 }));
    assert_eq!(row.owner_changes, Some(900));
    assert_eq!((row.utilisation, row.mean_queue), (Some(0.25), Some(1.5)));
    let of = |times: &Option<Distribution>| {
        let times = times.as_ref().unwrap();
        (times.count, times.total, times.max)
    };
    assert_eq!(of(&row.wait), (6, 2 * 16 + 4 * 32, 32));
    assert_eq!(of(&row.idle), (9, 3 * 32 + 6 * 64, 64));
    assert_eq!(of(&row.hold), (12, 4 * 64 + 8 * 128, 128));
    assert_eq!(row.wait_total(), 160);
    assert_eq!((row.blocked_share(), row.idle_share()), (Some(300.0 / 3_003.0), Some(3.0)));
    assert_eq!(row.longest_waited().map(|lock| lock.id), Some(2));
    assert_eq!(row.longest_idle().map(|lock| lock.id), Some(1));
}

#[test]
fn a_place_has_the_best_name_that_is_known() {
    let all = Frame {
        function: Some("push".into()),
        file: Some("/src/queue.c".into()),
        line: Some(7),
        module: Some("/bin/program".into()),
        address: "0x10".into(),
    };
    let named = |frame: &Frame| (function(frame), source(frame));
    assert_eq!(named(&all), ("push".into(), Some("queue.c:7".into())));
    let no_line = Frame { line: None, ..all.clone() };
    assert_eq!(named(&no_line), ("push".into(), Some("queue.c".into())));
    let no_file = Frame { file: None, ..no_line };
    assert_eq!(named(&no_file), ("push".into(), Some("program".into())));
    let nameless = Frame { function: None, ..no_file.clone() };
    assert_eq!(named(&nameless), ("program+0x10".into(), Some("program".into())));
    let bare = Frame { module: None, ..nameless.clone() };
    assert_eq!(named(&bare), ("0x10".into(), None));

    let at = |site: Option<Frame>| {
        place(&Lock { site, address: "0x99".into(), ..lock(1, Kind::Mutex, "x") })
    };
    assert_eq!(at(Some(all.clone())), "push queue.c:7");
    assert_eq!(at(Some(no_file)), "push program");
    assert_eq!(at(Some(nameless)), "program+0x10", "the module once");
    assert_eq!(at(None), "at 0x99");

    let own = Frame { function: Some("pthread_mutex_lock".into()), ..all.clone() };
    let stack = [own.clone(), own.clone(), all.clone(), own];
    let outside: Vec<&Frame> = callers(&stack).collect();
    assert_eq!(outside, [&stack[2], &stack[3]], "only the innermost are the lock's own");
}

/// Two locks with different words.
fn two_locks() -> RunReport {
    let mut report = sort();
    report.processes[0].locks.truncate(1);
    let waited = WaitedIn {
        site: None,
        stack: vec![frame("look_up", "cache.c", 3)],
        wait_ns: MS,
        share: 1.0,
        waits: 1,
        longest_ns: MS,
    };
    report.processes[0].locks.push(Lock {
        held_by: vec![Blamed { stack: vec![], ..blamed("evict", MS, 0.5) }],
        ended_by: vec![Blamed { stack: vec![], ..blamed("refill", MS, 0.5) }],
        waited_in: vec![waited],
        variable: Some("handed+0x40".into()),
        ..lock(9, Kind::Spin, "other")
    });
    report
}

/// `--only` finds whatever a report prints of a lock.
#[test]
fn a_lock_matches_by_all_its_words() {
    let kept = |pattern: &str| {
        let mut report = two_locks();
        assert_eq!(report.without_match(pattern), None, "{pattern}");
        report.keep_matching(pattern);
        report.processes[0].locks.iter().map(|lock| lock.id).collect::<Vec<_>>()
    };
    for pattern in [
        "queue_insert",
        "#1",
        "queue_insert sort.c:3301",
        "#1 queue_insert sort.c:3301",
        "#1 (queue+0x20)  queue_insert",
        "#1  queue+0x20, queue_insert",
        "mutex",
        "sortlines_thread",
        "queue*sort.c",
        "*_insert",
        "q*e*1",
    ] {
        assert_eq!(kept(pattern), [1], "{pattern}");
    }
    assert_eq!(kept("*"), [1, 9]);
    assert_eq!(kept("#*"), [1, 9]);
    for pattern in [
        "other",
        "evict",
        "refill",
        "look_up",
        "cache.c",
        "handed",
        "(handed+0x40)",
        "#9 (handed+0x40)",
        "look_up cache.c:3",
    ] {
        assert_eq!(kept(pattern), [9], "{pattern}");
    }
    assert_eq!(kept("contention"), [1, 9]);
    for (pattern, remedy) in [
        ("queue_isnert", "did you mean 'queue_insert'?"),
        ("Mutex", "did you mean 'mutex'?"),
        ("hadned+0x40", "did you mean 'handed+0x40'?"),
        (
            "nothing of the kind",
            "locks of this run: #1 queue+0x20, queue_insert sort.c:3301, #9 handed+0x40, other sort.c:3309",
        ),
        (
            "queue*of",
            "locks of this run: #1 queue+0x20, queue_insert sort.c:3301, #9 handed+0x40, other sort.c:3309",
        ),
        (
            "#99",
            "locks of this run: #1 queue+0x20, queue_insert sort.c:3301, #9 handed+0x40, other sort.c:3309",
        ),
    ] {
        assert_eq!(two_locks().without_match(pattern).as_deref(), Some(remedy));
        let mut none = two_locks();
        none.keep_matching(pattern);
        assert!(none.processes[0].locks.is_empty());
        let text = render(&none, &Options::default());
        assert!(
            text.ends_with(&format!(
                "Findings  none about the locks that match '{pattern}': no lock matches\n"
            )),
            "{text}"
        );
    }
    assert_eq!(run(&["true"]).without_match("x"), None, "no locks, nothing to match");
}

/// `#1` is not `#10`, and a row of several locks is called `#1+2`.
#[test]
fn a_number_is_of_one_row() {
    let mut report = run(&["p"]);
    let locks =
        vec![lock(1, Kind::Mutex, "a"), lock(10, Kind::Spin, "b"), lock(11, Kind::Spin, "c")];
    report.processes = vec![process(7, locks, vec![])];
    report.keep_matching("#1");
    assert_eq!(report.processes[0].locks.iter().map(|lock| lock.id).collect::<Vec<_>>(), [1]);

    let mut report = run(&["p"]);
    let mut locks: Vec<Lock> = [1, 2, 3].map(|id| lock(id, Kind::Mutex, "same")).into();
    let site = locks[0].site.clone();
    locks.iter_mut().for_each(|lock| lock.site.clone_from(&site));
    locks[1].acquisitions += 1;
    report.processes = vec![process(7, locks, vec![])];
    let name = rows::rows(&report)[0].label();
    let kept = |pattern: &str| {
        let mut report = report.clone();
        report.keep_matching(pattern);
        report.processes[0].locks.len()
    };
    assert_eq!((&*name, kept(&name), kept("#1"), kept("#3")), ("#2+2", 3, 1, 1));
    assert_eq!((kept("#2+2  same sort.c:3301"), kept("#2 same sort.c:3301")), (3, 1));
}

/// Workers that are processes have the same locks, each its own: one row, over the time of all of them. Locks that they
/// share are apart.
#[test]
fn private_locks_of_several_processes_are_one_row() {
    let of = |id: u64| Lock {
        id,
        site: Some(frame("push", "a.c", 1)),
        wait_ns: times(&[id * 10 * MS]),
        wait_share: Some(0.9),
        ..lock(id, Kind::Mutex, "push")
    };
    let lived = |ms| Thread { lived_ns: Some(ms * MS), runnable_ns: None, ..thread(1, "worker") };
    let shared = Lock { shared: true, processes: vec![11, 12], ..of(7) };
    let apart = Lock { shared: true, ..of(6) };
    let mut report = run(&["p"]);
    report.wall_ns = 100 * MS;
    report.processes = vec![
        process(11, vec![of(1), shared], vec![lived(100)]),
        process(12, vec![of(2), of(3), apart], vec![lived(300)]),
        process(13, vec![of(4)], vec![lived(600)]),
        process(14, vec![], vec![lived(900)]),
    ];
    let rows = rows::rows(&report);
    let names: Vec<[String; 2]> = rows.iter().map(|row| [row.label(), row.pids()]).collect();
    let expected = [["#4+3", "×3"], ["#7", "11+1"], ["#6", "12"]];
    assert_eq!(names, expected.map(|names| names.map(str::to_owned)));
    assert_eq!((rows[0].wait_total(), rows[0].pid), (100 * MS, 13));
    assert_eq!(rows[0].wait_share, Some(100.0 / 1_000.0));
    assert_eq!(labels(&report, &[1, 2, 7, 3, 4, 6, 9]), ["#4+3", "#7", "#6", "#9"]);
}

/// A culprit's lock is named as the table names its row.
#[test]
fn a_lock_is_called_by_the_first_of_its_row() {
    let mut waits = lock(4, Kind::Mutex, "push");
    waits.wait_ns = times(&[MS; 100]);
    let mut nowhere = lock(6, Kind::Mutex, "x");
    nowhere.site = None;
    let other = Lock { id: 7, ..nowhere.clone() };
    let first = Lock { id: 3, wait_ns: None, ..waits.clone() };
    let locks = vec![first, waits, lock(5, Kind::Spin, "push"), nowhere, other];
    let mut report = run(&["p"]);
    report.processes = vec![process(1, locks, vec![])];
    let of = [(3, "#4+1"), (4, "#4+1"), (5, "#5"), (6, "#6"), (8, "#8")];
    of.iter().for_each(|&(id, label)| assert_eq!(labels(&report, &[id]), [label]));
    let mut firsts: Vec<u64> = rows::rows(&report).iter().map(|row| row.first().id).collect();
    firsts.sort_unstable();
    assert_eq!(firsts, [4, 5, 6, 7]);
}

#[test]
fn a_long_wait_for_a_threads_end_is_said() {
    let of = |wait_ns| {
        let body = Some(frame("work", "pool.c", 9));
        let mut report = run(&["program"]);
        report.wall_ns = 100 * MS;
        report.processes = vec![process(7, vec![], vec![thread(7, "main")])];
        report.processes[0].joins =
            vec![Join { tid: 7, of: 8, name: "worker".to_owned(), body, wait_ns }];
        render(&report, &Options { width: 200, ..Options::default() })
    };
    let said =
        "Longest wait for a thread's end: 10.0 ms, of thread 7 for 8 (worker, work pool.c:9).";
    assert!(of(10 * MS).contains(said), "{}", of(10 * MS));
    assert!(!of(10 * MS - 1).contains("Longest wait for a thread's end"));
}

/// Sums of what is known, in the row, in its longest wait, and in the sentence about switches.
#[test]
fn in_how_many_waits_threads_slept_is_said_as_far_as_known() {
    let waits = |id, slept, slept_known| Lock {
        site: Some(frame("push", "queue.c", 7)),
        blocked: 400,
        slept,
        slept_known,
        wait_ns: times(&[40 * US; 400]),
        worst_wait: Some(WorstWait { ns: 40 * US, waiter: vec![], holder: vec![] }),
        ..lock(id, Kind::Mutex, "push")
    };
    let of = |locks: Vec<Lock>| {
        let mut report = run(&["program"]);
        let waiter =
            Thread { blocked: Some(800), voluntary_switches: Some(1_500), ..thread(7, "t") };
        report.processes = vec![process(7, locks, vec![waiter])];
        let text = render(&report, &Options { width: 200, ..Options::default() });
        let rows = rows::rows(&report);
        let [row] = &rows[..] else { panic!("one row: {rows:?}") };
        (row.slept.share(), text)
    };
    let (share, text) = of(vec![waits(1, Some(100), None), waits(2, Some(60), None)]);
    assert_eq!(share, Some(0.2));
    assert!(text.contains("of 800 waits, asleep in 160 of them"), "{text}");
    assert!(
        text.contains(
            "Threads slept 1,500 times, in 160 of the 800 waits above: the rest was for something else"
        ),
        "{text}"
    );
    assert!(text.contains("  slept  ") && text.contains("20.0 %"), "{text}");
    let (share, text) = of(vec![waits(1, Some(300), None), waits(2, Some(20), Some(80))]);
    assert_eq!(share, Some(320.0 / 480.0));
    assert!(text.contains("of 800 waits, asleep in at least 320 of them"), "{text}");
    assert!(!text.contains("Threads slept"), "with 800 waits, perhaps for them: {text}");
    let all = of(vec![waits(1, Some(400), None)]).1;
    assert!(all.contains("of 400 waits, asleep in all of them"), "{all}");
    let unknown = of(vec![waits(1, Some(0), Some(80))]).1;
    assert!(unknown.contains("of 400 waits  push"), "in at least none says nothing: {unknown}");
    let none = of(vec![waits(1, Some(0), None)]).1;
    assert!(none.contains("of 400 waits, asleep in none of them"), "{none}");
    let (share, text) = of(vec![waits(1, None, None), waits(2, None, None)]);
    assert_eq!(share, None);
    assert!(!text.contains("slept") && !text.contains("asleep"), "{text}");
}
