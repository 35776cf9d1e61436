//! Each figure of the rules about holds and about much waiting at the last value at which the rule speaks, and at the
//! next; and the evidence of each rule, figure by figure. The other rules: tests/thresholds.rs.

mod common;

use common::rules::*;
use common::*;
use uncontended_report::run::*;

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
        wait_ns: long(1, 100 * MS, 100 * MS, 100 * MS, 0),
        hold_ns: long(90, 400 * MS, MS, 60 * MS, MS),
        ..row.clone()
    };
    ends_with(&once, words, &[|row| wait(row).max -= 1]);

    let mut used = Lock { utilisation: Some(0.8), ..row };
    wait(&mut used).total = 1_000 * MS;
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
    let words = "its few long holds";
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
            ("mean_queue", 1.0),
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
    row.wait_ns = long(1_100, 100 * MS, US, 2 * MS, US);
    row.idle_ns = long(7, 25 * MS, US, 2 * US, US);
    row.hold_ns = long(90, 800 * MS, US, 2 * US, US);
    let words = "at a time on average";
    // A twentieth of the threads' time.
    ends_with(&row, words, &[|row| wait(row).total -= 1]);
    let evidence = [
        ("total_wait_ns", 100e6),
        ("waits", 1_100.0),
        ("wait_share_of_threads", 0.025),
        ("mean_queue", 0.05),
        ("total_hold_ns", 800e6),
        ("idle_share_of_wait", 0.25),
    ];
    rests_on(&row, words, &evidence);
    lacks_cpus(&row, words, &evidence, "; its threads had no CPU");
    // Free for half of the wait.
    row.idle_ns = long(7, 50 * MS, US, 2 * US, US);
    ends_with(&row, "of that wait it was free", &[|row| idle(row).total -= 1]);
    // Half a thread waits on average, of however many.
    let threads: Vec<Thread> = (0..100).map(|tid| thread(tid, "worker")).collect();
    let queue = |total| {
        let mut row = row.clone();
        wait(&mut row).total = total;
        any_says(&of_run(WALL_NS, &[row], &threads), words)
    };
    assert!(queue(1_000 * MS) && !queue(1_000 * MS - 1));
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
    row.wait_ns = long(40, 100 * MS, MS, 40 * MS, MS);
    row.hold_ns = long(90, 2_000 * MS, MS, 500 * MS, MS);
    let words = "mostly one thread held it";
    ends_with(
        &row,
        words,
        &[
            |row| wait(row).total -= 1,
            |row| row.class = Class::Contention,
            // What an earlier version kept does not say whose holds these are.
            |row| row.kind = Kind::RwlockWrite,
            |row| row.kind = Kind::Barrier,
        ],
    );
    let evidence = [
        ("longest_hold_ns", 500e6),
        ("total_hold_ns", 2e9),
        ("total_wait_ns", 100e6),
        ("wait_per_wall", 0.05),
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

/// The keeper's holds have their own figures, which a side of a read-write lock does not have; without them, its share
/// is left.
#[test]
fn a_gate_with_a_keeper() {
    let (hold_ns, longest_ns) = (Some(180 * MS), Some(16 * MS));
    let keeper = Keeper { tid: 7, wait_ns: 490 * MS, share: 0.98, holds: 12, hold_ns, longest_ns };
    for kind in [Kind::Mutex, Kind::Semaphore, Kind::Spin, Kind::RwlockRead, Kind::Annotated] {
        let mut row = lock(1, kind, "mutate");
        (row.class, row.keeper) = (Class::Gate, Some(keeper));
        row.wait_ns = long(36, 500 * MS, 15 * MS, 16 * MS, 15 * MS);
        row.hold_ns = long(300, 20 * MS, 50 * US, 60 * US, 50 * US);
        row.held_by = vec![blamed("collect", 490 * MS, 0.98)];
        let words = "98.0 % of the waiting is for the holds of one thread, in collect sort.c:3301";
        let with = "for up to 16.0 ms at a time (in all 9.00 % of the run), and the others waited 500 ms in all";
        assert!(says(&row, &format!("{words}, {with}")), "{kind:?}");
        row.keeper = Some(Keeper { hold_ns: None, longest_ns: None, ..keeper });
        assert!(says(&row, &format!("{words}, and the others waited 500 ms in all")), "{kind:?}");
    }
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

/// A thread that signals and keeps the lock keeps out those that it wakes; a gate's keeper does not. From half of the
/// waiting on.
#[test]
fn waking_into_a_held_lock() {
    let mut row = lock(1, Kind::Mutex, "push");
    row.wait_ns = times(&[250 * MS; 4]);
    row.hold_ns = times(&[300 * MS; 4]);
    let held_by = |woken_into_ns| {
        vec![Blamed { woken_into_ns, longest_ns: 300 * MS, ..blamed("announce", 900 * MS, 0.9) }]
    };
    let words = "for 50.0 % of the 1.00 s that threads waited, they had been woken by a signal while announce sort.c:3301 held it \
                 (for up to 300 ms): signal after the long work, or release the lock before it";
    let gate = "mostly one thread held it";
    for class in [Class::Gate, Class::Contention] {
        row.class = class;
        row.held_by = held_by(500 * MS);
        assert!(says(&row, words) && !says(&row, gate));
        rests_on(
            &row,
            words,
            &[
                ("woken_into_ns", 500e6),
                ("woken_into_share", 0.5),
                ("total_wait_ns", 1e9),
                ("longest_hold_ns", 300e6),
            ],
        );
        row.held_by = held_by(500 * MS - 1);
        assert!(!says(&row, "woken by a signal"));
        assert_eq!(says(&row, gate), class == Class::Gate);
    }
    // Not much of the threads' time.
    row.held_by = held_by(40 * MS);
    row.wait_ns = times(&[10 * MS; 4]);
    assert!(!says(&row, "woken by a signal"));
}

/// A holder that waits for another lock is not told to do less; from half of the waiting on.
#[test]
fn holders_that_wait_themselves() {
    let mut row = lock(1, Kind::Mutex, "push");
    row.wait_ns = times(&[250 * MS; 4]);
    row.hold_ns = times(&[300 * MS; 4]);
    row.utilisation = Some(0.9);
    let held_by = |passed_on_ns| {
        let more = Blamed { passed_on_ns: 10 * MS, ..blamed("other", 100 * MS, 0.1) };
        vec![Blamed { passed_on_ns, ..blamed("convoy", 900 * MS, 0.9) }, more]
    };
    let words = "for 50.0 % of the 1.00 s that threads waited, its holder waited for another thread (mostly in convoy sort.c:3301): \
                 shorten what ends that wait, in the code that the culprits name; or let go of this lock before waiting for it";
    let of_its_own = ["do less while holding it", "mostly one thread held it"];
    for class in [Class::Gate, Class::Contention] {
        row.class = class;
        row.held_by = held_by(490 * MS);
        assert!(says(&row, words) && !of_its_own.iter().any(|words| says(&row, words)));
        let figures = [("passed_on_ns", 500e6), ("passed_on_share", 0.5), ("total_wait_ns", 1e9)];
        rests_on(&row, words, &figures);
        row.held_by = held_by(490 * MS - 1);
        assert!(!says(&row, "waited for another thread"));
        assert!(of_its_own.iter().any(|words| says(&row, words)));
    }
    // Not much of the threads' time.
    row.held_by = held_by(40 * MS);
    row.wait_ns = times(&[10 * MS; 4]);
    assert!(!says(&row, "waited for another thread"));
}

/// The same for waits of every kind, which the log has: from half of the waiting on they are what the finding is about,
/// from a tenth on they are said.
#[test]
fn holders_that_wait_for_anything() {
    let mut row = lock(1, Kind::Mutex, "push");
    row.hold_ns = times(&[[2 * US; 900].as_slice(), &[300 * MS; 4]].concat());
    let mut ready = lock(2, Kind::Condition, "ready");
    ready.class = Class::Queue;
    let waited = |waited_ns| {
        let site = Some(frame("await", "a.c", 7));
        let on = [(Some(2), site, waited_ns - 9 * MS), (None, None, 9 * MS)];
        let on = on.map(|(lock, site, wait_ns)| WaitedOn { lock, site, wait_ns }).to_vec();
        Some(HoldersWaited { wait_ns: 1_000 * MS, waited_ns, on })
    };
    let found = |row: &Lock| {
        let threads = [ran(7, 500, 100), ran(8, 200, 200)];
        of_run(WALL_NS, &[row.clone(), ready.clone()], &threads)
    };
    let mostly = "for 50.0 % of the 1.00 s that threads waited, its holder itself waited, for the condition #2 (ready \
                  sort.c:3302) in await a.c:7: if it waits for work there, nothing is wrong; else shorten what ends that wait, in the code \
                  that the culprits name, or let go of this lock before waiting for it";
    let of_its_own = ["slept or waited for input", "rare long work", "mostly one thread held it"];
    for (class, used) in [(Class::Gate, 0.2), (Class::Contention, 0.2), (Class::Contention, 0.9)] {
        (row.class, row.utilisation) = (class, Some(used));
        row.wait_ns = times(&[250 * MS; 4]);
        row.holders_waited = waited(500 * MS);
        let said = found(&row);
        assert!(any_says(&said, mostly), "{said:#?}");
        assert!(!of_its_own.iter().any(|words| any_says(&said, words)), "{said:#?}");
        let figures = [
            ("passed_on_ns", 0.0),
            ("passed_on_share", 0.0),
            ("total_wait_ns", 1e9),
            ("holders_waited_share", 0.5),
        ];
        has_evidence(&said, mostly, &figures);
        row.holders_waited = waited(500 * MS - 1);
        let said = found(&row);
        assert!(!any_says(&said, "its holder itself"), "{said:#?}");
        assert!(of_its_own.iter().any(|words| any_says(&said, words)), "{said:#?}");
    }
    let also = "for 10.0 % of that waiting, the holder itself waited, for the condition #2";
    row.holders_waited = waited(100 * MS);
    assert!(any_says(&found(&row), also));
    row.holders_waited = waited(100 * MS - 1);
    assert!(!any_says(&found(&row), "the holder itself waited"));
    // Waits that are long but rare.
    row.wait_ns = times(&[250 * MS; 4]);
    row.holders_waited = waited(500 * MS);
    let said = of_run(100_000 * MS, &[row, ready], &[]);
    let words = "; these waits are rare";
    assert!(any_says(&said, "its holder itself waited") && any_says(&said, words), "{said:#?}");
    assert!(!of_its_own.iter().any(|words| any_says(&said, words)), "{said:#?}");
}
