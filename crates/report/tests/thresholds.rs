//! Each figure of the rules about waiting and idle locks at the last value at which the rule speaks, and at the next;
//! and the evidence of each rule, figure by figure. The rules about holds: tests/thresholds_held.rs.

mod common;

use common::rules::*;
use common::*;
use uncontended_report::run::*;

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
        "sleeping and waking may cost more",
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
        "sleeping and waking may cost more",
        &[
            ("waits", 1_000.0),
            ("median_wait_ns", 20e3),
            ("p99_hold_ns", 10e3),
            ("idle_share_of_wait", 0.5),
            ("blocked_share", 0.5),
        ],
    );
    // Of a thousand waits, threads slept in fewer than half.
    let with = |own: Option<u64>| {
        let threads =
            [own, Some(200)].map(|own| Thread { voluntary_switches: own, ..ran(7, 0, 0) });
        of_run(WALL_NS, std::slice::from_ref(&row), &threads)
    };
    assert!(any_says(&with(Some(299)), "threads slept in at most 499 of them"));
    for own in [Some(300), None] {
        assert!(any_says(&with(own), "sleeping and waking may cost more"), "{own:?}");
    }
    assert_eq!(with(Some(299))[0].evidence["slept_at_most"], 499.0);
    // What is known of each wait comes before that.
    let slept = |slept, slept_known| {
        let row = Lock { slept, slept_known, ..row.clone() };
        of_run(WALL_NS, &[row], &[Thread { voluntary_switches: Some(7), ..ran(7, 0, 0) }])
    };
    assert!(any_says(
        &slept(Some(499), None),
        "threads slept in 499 of them, fewer than half, so spinning"
    ));
    assert!(any_says(
        &slept(Some(500), None),
        "threads slept in 500 of them, half or more, and sleeping and waking cost"
    ));
    assert_eq!(slept(Some(500), None)[0].evidence["slept"], 500.0);
    assert!(any_says(&slept(Some(500), Some(999)), "threads slept in at most 7 of them"));
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
        "acquisitions came after another thread's",
        &[
            |row| row.owner_changes = Some(4_999),
            |row| (row.acquisitions, row.owner_changes) = (9_999, Some(9_999)),
            |row| hold(row).p50 = 10 * US + 1,
            |row| row.kind = Kind::RwlockRead,
            |row| row.kind = Kind::RwlockWrite,
            |row| row.kind = Kind::Semaphore,
            // No finding without a twentieth of the threads' time.
            |row| wait(row).total = 100 * MS - 1,
        ],
    );
    rests_on(
        &Lock { owner_changes: Some(7_500), threads: 3, ..row.clone() },
        "acquisitions came after another thread's",
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
        of_run(100_000 * MS, &[row], &[])
    };
    assert!(of_tail(50 * MS - 1).is_empty());
    // Which another rule explains, and not that the lock moves.
    let said = of_tail(50 * MS);
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(!any_says(&said, "came after another thread's"), "{said:#?}");
    // Nor where threads hand work over by a condition in the same function.
    let (stack, wait_ns) = (row.site.clone().into_iter().collect(), 100 * MS);
    let at = WaitedIn { site: None, stack, wait_ns, share: 1.0, waits: 10, longest_ns: 10 * US };
    let condition = Lock {
        wait_ns: figures(10, wait_ns, 10 * US, 90 * US),
        waited_in: vec![at],
        ..lock(2, Kind::Condition, "push")
    };
    let said = of_run(1_000 * MS, &[row, condition], &[]);
    assert!(!any_says(&said, "came after another thread's"), "{said:#?}");
}

#[test]
fn a_lock_that_is_polled() {
    let mut row = lock(1, Kind::Mutex, "poll");
    (row.try_failed, row.acquisitions) = (5_000, 1_000);
    ends_with(&row, "it is polled", &[|row| row.acquisitions = 1_001]);
    // A thousand tries, however short the run is.
    let few = |tries| {
        !of_run(MS, &[Lock { try_failed: tries, acquisitions: 1, ..row.clone() }], &[]).is_empty()
    };
    assert!(few(1_000) && !few(999));
    // Five hundred a second.
    let slower = |wall_ns| of_run(wall_ns, std::slice::from_ref(&row), &[]);
    assert!(!slower(10_000 * MS).is_empty() && slower(10_000 * MS + 1).is_empty());
    row.try_failed = 20_000;
    rests_on(
        &row,
        "it is polled",
        &[("try_failed", 20e3), ("acquisitions", 1e3), ("try_failed_per_s", 10e3)],
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
    assert_eq!(of_run(10_000 * MS + 1, &[row], &[]), vec![], "less than a tenth of the run");
}

/// What no thread holds: from a fifth of the threads' time on, if half of the ends were seen.
#[test]
fn an_end_that_was_waited_for() {
    let mut row = lock(1, Kind::Barrier, "meet");
    row.class = Class::Gate;
    row.wait_ns = figures(40, 400 * MS, MS, 11 * MS);
    let late = Blamed { kind: BlamedKind::Wake, ..blamed("late", 160 * MS, 0.4) };
    row.ended_by = vec![late, blamed("other", 40 * MS, 0.1)];
    let words = "threads waited 400 ms for the last one to arrive, and 40.0 % of that ended when late sort.c:3301 arrived";
    ends_with(
        &row,
        words,
        &[
            |row| wait(row).total -= 1,
            |row| row.ended_by[0].share -= 0.001,
            |row| row.ended_by.clear(),
            |row| row.kind = Kind::Condition,
        ],
    );
    rests_on(&row, words, &[("total_wait_ns", 400e6), ("ended_share", 0.5), ("first_share", 0.4)]);
    // From half of that time on, the last one's own waiting is what matters.
    assert!(says(&row, "divide the work before it more evenly"));
    let delayed =
        "arrived, which itself waited for 50.0 % of that time: see which code the culprits name";
    row.ended_by[0].passed_on_ns = 80 * MS;
    ends_with(&row, delayed, &[|row| row.ended_by[0].passed_on_ns -= 1]);
    row.ended_by[0].passed_on_ns = 0;
    (row.kind, row.class) = (Kind::Futex, Class::Unknown);
    let words = "threads waited 400 ms to be woken, and 40.0 % of that ended when late sort.c:3301 woke them";
    ends_with(&row, words, &[|row| row.class = Class::Queue, |row| row.class = Class::Contention]);
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
    lacks_cpus(&row, words, &evidence, "; its threads had no CPU");

    // More than half of the idle time names the cause.
    type Causes = fn(u64) -> [u64; 3];
    let of: [(Causes, &str); 3] = [
        (|ns| [ns, 0, 0], "waiters are woken late"),
        (|ns| [0, ns, 0], "waiters are woken but get no CPU"),
        (|ns| [0, 0, ns], "threads that did not wait take it"),
    ];
    for (causes, why) in of {
        let says = |ns: u64| {
            let [not_woken_ns, not_scheduled_ns, barged_ns] = causes(ns);
            let causes =
                IdleCauses { not_woken_ns, not_scheduled_ns, releasers_cpu_ns: 0, barged_ns };
            says(&Lock { idle_causes: Some(causes), ..row.clone() }, why)
        };
        assert!(says(20 * MS + 1) && !says(20 * MS), "{why}");
    }
    // A waiter that others overtake needs no CPU to lose its turn.
    let causes = IdleCauses { barged_ns: 40 * MS, ..IdleCauses::default() };
    let barged = Lock { idle_causes: Some(causes), ..row };
    let found = of_run(WALL_NS, &[barged], &[ran(7, 500, 100), ran(8, 200, 200)]);
    assert!(any_says(&found, "did not wait take it") && !any_says(&found, "had no CPU"));
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
            // A hold that continues, in which a wait ran out.
            |row| {
                let longest_ns = 1_500 * US + 1;
                row.held_by = vec![Blamed { longest_ns, ..blamed("keep", MS, 0.01) }];
            },
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
    row.wait_ns = long(1, 100 * MS, 100 * MS, 100 * MS, 0);
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
fn threads_woken_for_nothing() {
    let mut row = lock(1, Kind::Condition, "work");
    row.class = Class::Queue;
    row.wait_ns = figures(200, 3_000 * MS, 20 * US, 90 * US);
    row.herd = Some(Herd { wakeups: 200, for_nothing: 100, wait_ns: 100 * MS, mutex: Some(2) });
    fn herd(row: &mut Lock) -> &mut Herd {
        row.herd.as_mut().unwrap()
    }
    let words = "100 of 200 wakeups were for nothing: they woke several threads";
    ends_with(
        &row,
        words,
        &[
            |row| herd(row).for_nothing = 99,
            |row| herd(row).wakeups = 201,
            |row| herd(row).wait_ns = 100 * MS - 1,
            |row| row.herd = None,
        ],
    );
    let evidence = [
        ("wakeups", 200.0),
        ("for_nothing", 100.0),
        ("mutex_wait_ns", 100e6),
        ("mutex_wait_per_wall", 0.05),
    ];
    rests_on(&row, words, &evidence);
    // Of many threads, half a one waits on average.
    let threads: Vec<Thread> = (1..100).map(|tid| ran(tid, 0, 0)).collect();
    for (wait_ns, is_said) in [(1_000 * MS, true), (1_000 * MS - 1, false)] {
        herd(&mut row).wait_ns = wait_ns;
        assert_eq!(any_says(&of_run(WALL_NS, &[row.clone()], &threads), words), is_said);
    }
    // The logs have the newest half of the waits.
    let row = Lock { wait_ns: figures(400, 3_000 * MS, 20 * US, 90 * US), ..row };
    let half = Lock { herd: row.herd.map(|herd| Herd { wait_ns: 50 * MS, ..herd }), ..row };
    assert!(says(
        &half,
        "after waiting 100 ms for the mutex #2 (5.00 % of the threads' time): if any one"
    ));
    assert!(says(
        &Lock { ended_by: vec![blamed("tell", MS, 0.5)], ..half },
        "for nothing, most by tell"
    ));
}

/// Waits that time out for a lock whose owner has ended.
#[test]
fn an_owner_that_has_ended() {
    let mut row = contended(&[60 * MS; 4], &[], &[]);
    row.timed_out = Some(TimedOut { count: 4, total: 240 * MS, max: 60 * MS });
    row.held_by = vec![blamed("take", 240 * MS, 1.0)];
    row.left = Some(Left { tid: 7, wait_ns: 120 * MS });
    let words = "thread 7 had taken it, in take sort.c:3301, and had ended without a release: let no thread or process end";
    ends_with(&row, words, &[|row| row.left = Some(Left { tid: 7, wait_ns: 120 * MS - 1 })]);
    assert!(!says(&row, "timeouts are shorter"));
    row.left = None;
    assert!(says(&row, "their timeouts are shorter than the wait for the lock"));
}
