//! For every rule a run in which it speaks and near misses in which it stays silent; and a clean control.

mod common;

use common::*;
use uncontended_report::findings::{MOST, find};
use uncontended_report::run::*;

/// The findings of a run of ten seconds with these locks.
fn said(locks: Vec<Lock>) -> Vec<String> {
    let mut report = run(&["program"]);
    report.wall_ns = 10_000 * MS;
    report.processes = vec![process(1, locks, vec![])];
    let found = find(&report);
    assert!(found.len() <= MOST);
    for finding in &found {
        let is_finite = finding.evidence.values().all(|value| value.is_finite());
        assert!(is_finite && !finding.evidence.is_empty(), "{finding:?}");
        assert!(finding.lock.is_some());
    }
    found.into_iter().map(|finding| finding.text).collect()
}

fn speaks(locks: Vec<Lock>, words: &str) {
    let found = said(locks);
    assert!(found.iter().any(|text| text.contains(words)), "{words:?} not in {found:#?}");
}

fn silent(locks: Vec<Lock>) {
    assert_eq!(said(locks), Vec::<String>::new());
}

fn not_said(locks: Vec<Lock>, words: &str) {
    let found = said(locks);
    assert!(found.iter().all(|text| !text.contains(words)), "{words:?} in {found:#?}");
}

#[test]
fn a_clean_control_has_nothing_to_say() {
    // As xz with two threads: few waits, short, one of them unlucky.
    let waits: Vec<u64> = (1..40).map(|i| i * 4 * US).chain([38 * MS]).collect();
    let mut row = contended(&waits, &[30 * US, 60 * US], &[2 * US; 20_000]);
    row.owner_changes = Some(14_000);
    let mut work = lock(2, Kind::Condition, "worker_start");
    work.class = Class::Queue;
    work.wait_ns = times(&[2_000 * MS; 8]);
    silent(vec![row, work]);
    silent(vec![]);
    assert_eq!(find(&run(&["true"])), vec![]);
}

#[test]
fn long_idle_names_its_cause() {
    let waits = [vec![25 * MS; 30], vec![28 * MS]].concat();
    let late =
        || contended(&waits, &[[20 * MS; 9].as_slice(), &[27 * MS]].concat(), &[2 * MS; 500]);
    speaks(
        vec![late()],
        "longest of 10 idle intervals: 27.0 ms, 13.5 times its longest hold (2.00 ms)",
    );
    let mut no_cpu = late();
    no_cpu.idle_causes = Some(IdleCauses {
        not_scheduled_ns: 120 * MS,
        barged_ns: 87 * MS,
        ..IdleCauses::default()
    });
    speaks(vec![no_cpu], "waiters are woken but get no CPU");
    let mut not_woken = late();
    let worst = worst_idle(27 * MS, IdleCause::NotWoken);
    not_woken.worst_idle = Some(worst);
    speaks(vec![not_woken], "woken late");

    let once = contended(&waits, &[27 * MS, 40 * US, 40 * US], &[2 * MS; 500]);
    not_said(vec![once], "idle intervals");
    let explained_by_holds = contended(&waits, &[20 * MS; 10], &[6 * MS; 500]);
    not_said(vec![explained_by_holds], "idle intervals");
}

/// A finding's evidence is the figures that its sentence rests on.
#[test]
fn evidence_has_the_figures_of_the_sentence() {
    let evidence = |row: Lock| {
        let mut report = run(&["program"]);
        report.wall_ns = 10_000 * MS;
        report.processes = vec![process(1, vec![row], vec![])];
        find(&report).swap_remove(0).evidence
    };
    let waits = [vec![25 * MS; 30], vec![28 * MS]].concat();
    let idle = contended(&waits, &[[20 * MS; 9].as_slice(), &[27 * MS]].concat(), &[2 * MS; 500]);
    let found = evidence(idle);
    let figure = |name: &str| found[name];
    assert_eq!((figure("longest_idle_ns"), figure("fourth_longest_idle_ns")), (27e6, 20e6));
    assert_eq!((figure("idle_intervals"), figure("longest_hold_ns")), (10.0, 2e6));
    assert_eq!(figure("idle_share_of_wait"), 207.0 / 778.0);
    let found = evidence(contended(
        &[[2_000 * MS; 4].as_slice(), &[US; 45]].concat(),
        &[50 * US],
        &[MS; 600],
    ));
    let figure = |name: &str| found[name];
    assert_eq!((figure("longest_wait_ns"), figure("fourth_longest_wait_ns")), (2e9, 2e9));
    assert_eq!(figure("waits"), 49.0);
}

#[test]
fn waits_that_mostly_time_out() {
    let lossy = |kind, count, total| {
        let mut row = contended(&[20 * MS; 40], &[], &[[US; 100].as_slice(), &[MS]].concat());
        row.kind = kind;
        row.timed_out = Some(TimedOut { count, total, max: 21 * MS });
        row
    };
    let words =
        "30 of 40 waits ended without the lock, after 600 ms in all, the longest after 21.0 ms";
    speaks(vec![lossy(Kind::Mutex, 30, 600 * MS)], words);
    speaks(vec![lossy(Kind::Semaphore, 30, 600 * MS)], words);
    // Other rules may speak of such long waits; this one does not, since most of the waiting got the lock.
    let about_timeouts =
        |row| said(vec![row]).iter().any(|text| text.contains("ended without the lock"));
    assert!(!about_timeouts(lossy(Kind::Mutex, 19, 380 * MS)));
    // A timed wait for a condition is how a program keeps time.
    assert!(!about_timeouts(lossy(Kind::Condition, 30, 600 * MS)));
}

#[test]
fn a_starved_waiter_is_proved_by_arithmetic() {
    let unfair =
        |wait| contended(&[[wait; 4].as_slice(), &[US; 45]].concat(), &[50 * US], &[MS; 600]);
    speaks(vec![unfair(2_000 * MS)], "passed over at least 1,904 times");
    let mut unknown_holds = unfair(2_000 * MS);
    unknown_holds.acquisitions += 100;
    assert!(said(vec![unknown_holds]).iter().all(|text| !text.contains("passed over")));
    // Three others before it, twice: 7 turns of 1.05 ms prove nothing, and neither does a single long wait.
    silent(vec![unfair(5 * MS)]);
    silent(vec![contended(&[90 * MS, US, US, US], &[50 * US], &[MS; 600])]);
}

#[test]
fn a_writer_kept_out_by_readers() {
    let side = |kind, waits: &[u64], hold| {
        let mut row = contended(waits, &[], &[hold; 1_000]);
        row.kind = kind;
        row
    };
    let readers = || side(Kind::RwlockRead, &[], 2 * MS);
    speaks(
        vec![side(Kind::RwlockWrite, &[400 * MS; 5], MS), readers()],
        "readers overlap and keep writers out",
    );
    silent(vec![side(Kind::RwlockWrite, &[20 * MS; 6], MS), readers()]);
    // One wait says it where it is a large part of the run; readers that hold together are no bottleneck.
    speaks(vec![side(Kind::RwlockWrite, &[700 * MS], MS), readers()], "the longest of 1 wait)");
    silent(vec![side(Kind::RwlockWrite, &[90 * MS], MS), readers()]);
    let mut together = side(Kind::RwlockRead, &[12 * US; 900_000], 9 * US);
    together.utilisation = Some(3.2);
    not_said(vec![together.clone()], "bottleneck");
    speaks(vec![together], "3 threads waited 10.8 s");
    not_said(vec![side(Kind::RwlockWrite, &[400 * MS; 5], 100 * MS)], "readers overlap");
}

#[test]
fn holds_that_explain_the_waits() {
    let mut rare =
        contended(&[200 * MS; 5], &[], &[[2 * US; 9_000].as_slice(), &[210 * MS; 5]].concat());
    // The last holder before the longest wait's end is another thread that waited.
    let holder = vec![frame("passer", "log.c", 9)];
    rare.worst_wait = Some(WorstWait { ns: 200 * MS, waiter: vec![], holder });
    let held = |function: &str, longest_ns| Blamed { longest_ns, ..blamed(function, 9 * MS, 0.5) };
    rare.held_by = vec![held("passer", 2 * US), held("flush", 210 * MS)];
    speaks(
        vec![rare.clone()],
        "behind holds of up to 210 ms in flush, while half of its 9,005 holds take at most",
    );
    // The longest hold is one that no thread waited for.
    rare.held_by = vec![held("passer", 2 * US), held("flush", 180 * MS)];
    speaks(vec![rare], "behind holds of up to 210 ms, while half of its 9,005 holds take at most");
    speaks(vec![contended(&[60 * MS; 5], &[], &[50 * MS; 40])], "do less while holding it");
    let mut full = contended(&[12 * US; 900_000], &[], &[9 * US; 1_000_000]);
    full.utilisation = Some(0.93);
    speaks(vec![full], "held for 93.0 % of the run, with 1.08 threads waiting on average");
    let mut seldom_wanted = contended(&[9 * MS; 12], &[], &[8 * MS; 1_000]);
    seldom_wanted.utilisation = Some(0.93);
    silent(vec![seldom_wanted]);
    silent(vec![contended(&[15 * MS], &[], &[16 * MS, US, US])]);
}

/// One hold of 8 ms in five hundred is above every percentile of the table, and takes nearly all of the time.
#[test]
fn holds_too_rare_for_a_percentile() {
    let row = |waits: &[u64], holds: &[u64]| {
        let mut row = contended(waits, &[], holds);
        row.held_by = vec![Blamed { longest_ns: 8 * MS, ..blamed("touch", 700 * MS, 0.97) }];
        row
    };
    let run_of = |row: Lock, runnable_ns| {
        let mut report = run(&["program"]);
        report.wall_ns = 400 * MS;
        let threads = vec![Thread { runnable_ns, ..thread(1, "worker") }];
        report.processes = vec![process(1, vec![row], threads)];
        find(&report).into_iter().map(|finding| finding.text).collect::<Vec<_>>()
    };
    let waits = [[8 * MS; 90].as_slice(), &[5 * US; 70]].concat();
    let holds = [[8 * MS; 30].as_slice(), &[US; 15_000]].concat();
    let found = run_of(row(&waits, &holds), Some(100 * MS)).concat();
    for words in [
        "its few long holds: 30 of 15.0 k holds took 1.00 ms or more, the longest 8.00 ms in touch. These long holds are most of the 255 ms",
        "most of the 720 ms of waiting is in waits as long",
        "take what makes them long (work, sleep, another lock) out of the lock",
    ] {
        assert!(found.contains(words), "{words:?} not in {found:?}");
    }
    // What the kernel's figures allow is not excluded.
    for runnable in [Some(150 * MS), None] {
        let found = run_of(row(&waits, &holds), runnable).concat();
        assert!(found.contains("or their holders lost the CPU"), "{found:?}");
    }
    let explained = |waits: &[u64], holds: &[u64]| {
        run_of(row(waits, holds), None).iter().any(|text| text.contains("its few long holds"))
    };
    assert!(explained(&waits, &holds));
    let few = [[8 * MS; 3].as_slice(), &[US; 15_000]].concat();
    assert!(!explained(&waits, &few), "three holds may be three unlucky moments");
    let long_median = [[8 * MS; 30].as_slice(), &[MS; 40]].concat();
    assert!(!explained(&waits, &long_median), "most holds are long");
    let short_waits = [[8 * MS; 9].as_slice(), &[500 * US; 900]].concat();
    assert!(!explained(&short_waits, &holds), "most waits are short");
    assert!(!explained(&[8 * MS; 2], &holds), "few threads wait");
    let divided = |held_ns| {
        let mut row = row(&waits, &holds);
        row.blame = Some(Blame { held_ns, idle_ns: 720 * MS - held_ns, ..Blame::default() });
        run_of(row, None).iter().any(|text| text.contains("its few long holds"))
    };
    assert!(divided(370 * MS) && !divided(350 * MS), "most of the waiting found it free");
}

/// A lock that most threads wait for is named, whatever the pattern; but only if no other rule explains it.
#[test]
fn much_waiting_is_never_passed_over_in_silence() {
    let busy = |waits: usize| contended(&vec![MS; waits], &[], &[40 * US; 100_000]);
    speaks(
        vec![busy(6_000)],
        "3 threads waited 6.00 s for it, 0.600 at a time on average; it was held for 40.0 % of the run: take it less often",
    );
    // A twentieth of the threads' time.
    speaks(vec![busy(500)], "3 threads waited 500 ms");
    silent(vec![busy(499)]);
    let mut readers = busy(6_000);
    readers.kind = Kind::RwlockRead;
    not_said(vec![readers.clone()], "it was held");
    readers.hold_ns = None;
    speaks(vec![readers], "take it less often");
    for (class, kind, speaks) in [
        (Class::HandOff, Kind::Mutex, true),
        (Class::HandOff, Kind::Semaphore, false),
        (Class::Gate, Kind::RwlockWrite, true),
        (Class::Gate, Kind::Barrier, false),
        (Class::Queue, Kind::Semaphore, false),
        (Class::Unknown, Kind::Futex, false),
    ] {
        let row = Lock { class, kind, ..busy(6_000) };
        assert_eq!(!said(vec![row]).is_empty(), speaks, "{class:?} {kind:?}");
    }
    let mut short = run(&["program"]);
    short.wall_ns = 10 * MS;
    short.processes = vec![process(1, vec![contended(&[MS; 9], &[], &[40 * US; 100])], vec![])];
    assert_eq!(find(&short), vec![], "9 ms in all");
    let explained = said(vec![contended(&[60 * MS; 100], &[], &[50 * MS; 40])]);
    assert!(
        explained.len() == 1 && explained[0].contains("do less while holding it"),
        "{explained:?}"
    );
}

/// A lock that two threads wait for during a third of their time has its finding, whatever the shape of the waits; one
/// that takes three hundredths has one only for long waits, and with other words.
#[test]
fn a_finding_follows_cost() {
    let idles: [&[u64]; 3] = [&[], &[US; 2_000], &[30 * MS; 100]];
    let holds: [&[u64]; 3] = [&[200; 2_000_000], &[40 * US; 100_000], &[20 * MS; 300]];
    let both = |lock: Lock| {
        let mut report = run(&["program"]);
        report.wall_ns = 10_000 * MS;
        let threads = (1..3).map(|_| ran_for(10_000 * MS)).collect();
        report.processes = vec![process(1, vec![lock], threads)];
        find(&report)
    };
    for (wait_ns, times_33, times_3) in
        [(4 * US, 1_650_000, 150_000), (MS, 6_600, 600), (60 * MS, 110, 10)]
    {
        for (nth, &idle) in idles.iter().enumerate() {
            for changes in [0, 1_500_000] {
                let row = |waits: usize| {
                    let mut row = contended(&vec![wait_ns; waits], idle, holds[nth]);
                    row.threads = 2;
                    row.owner_changes = Some(changes);
                    row
                };
                let third = both(row(times_33));
                let [first, ..] = &third[..] else { panic!("{wait_ns} {nth} {changes}") };
                assert!(
                    first.text.contains("waits take 33.0 % of the threads' time): "),
                    "{third:?}"
                );
                assert_eq!(first.wait_share, Some(0.33));
                assert!(third.iter().all(|finding| !finding.text.contains("rare")), "{third:?}");
                let little = both(row(times_3));
                assert!(little.is_empty() || wait_ns >= 50 * MS, "{little:?}");
                assert!(little.iter().all(|finding| finding.text.contains("waits are rare")));
            }
        }
    }
}

fn ran_for(lived_ns: u64) -> Thread {
    Thread { lived_ns: Some(lived_ns), runnable_ns: None, ..thread(2, "worker") }
}

/// Threads that lived for a part of the run count for that part.
#[test]
fn a_share_is_of_the_lives_of_the_threads() {
    let of = |lived_ns: &[Option<u64>]| {
        let mut report = run(&["program"]);
        report.wall_ns = 10_000 * MS;
        let threads = lived_ns
            .iter()
            .map(|&lived_ns| Thread { lived_ns, runnable_ns: None, ..thread(1, "worker") })
            .collect();
        let row = contended(&[MS; 600], &[], &[40 * US; 100_000]);
        report.processes = vec![process(1, vec![row], threads)];
        find(&report).first().and_then(|finding| finding.wait_share)
    };
    assert_eq!(of(&[]), Some(0.06));
    assert_eq!(of(&[None]), Some(0.06));
    assert_eq!(of(&[None, None]), None);
    assert_eq!(of(&[Some(2_000 * MS), Some(1_000 * MS)]), Some(0.2));
    assert_eq!(of(&[None, Some(2_000 * MS)]), Some(0.05));
    let mut report = run(&["program"]);
    report.wall_ns = 10_000 * MS;
    let joiner = Thread { joined_ns: Some(9_000 * MS), runnable_ns: None, ..thread(1, "main") };
    let row = contended(&[MS; 600], &[], &[40 * US; 100_000]);
    report.processes = vec![process(1, vec![row], vec![joiner, ran_for(2_000 * MS)])];
    assert_eq!(find(&report)[0].wait_share, Some(0.2));
    // What its threads wait for a CPU is their time, too.
    let crowded = Thread { runnable_ns: Some(9_000 * MS), ..ran_for(12_000 * MS) };
    report.processes[0].threads = vec![crowded];
    assert_eq!(find(&report)[0].wait_share, Some(0.05));
}

fn worst_idle(ns: u64, cause: IdleCause) -> WorstIdle {
    WorstIdle { ns, releaser: vec![], waiter: vec![], cause, on_releasers_cpu: false }
}

/// Shorter holds do not help a lock that is free while its waiters come late: the cause decides the advice.
#[test]
fn the_advice_about_a_free_lock_follows_its_cause() {
    let row = |idle_ns, cause| {
        let mut row = contended(&[MS; 6_000], &[idle_ns; 600], &[40 * US; 100_000]);
        row.worst_idle = Some(worst_idle(idle_ns, cause));
        row
    };
    // Half of the wait, in intervals too short for the rule about long ones.
    let free = 5 * MS;
    let about = |row: Lock| {
        let mut row = row;
        row.hold_ns.as_mut().unwrap().max = 2 * MS;
        said(vec![row]).concat()
    };
    for (cause, words) in [
        (IdleCause::NotWoken, "its waiters had not been woken yet; spin briefly"),
        (IdleCause::NotScheduled, "had been woken but got no CPU; shorter holds would not help"),
        (IdleCause::Barged, "threads that had not waited took it before the waiters did"),
        (IdleCause::Unknown, "the record does not show which"),
    ] {
        let text = about(row(free, cause));
        assert!(text.contains("for 50.0 % of that wait it was free: "), "{text}");
        assert!(text.contains(words) && !text.contains("hold it for less"), "{text}");
        let held = about(row(free - 1, cause));
        assert!(held.contains("hold it for less") && !held.contains("free"), "{held}");
    }
}

#[test]
fn code_is_not_blamed_where_cpus_were_missing() {
    let holds = [[2 * US; 9_000].as_slice(), &[210 * MS; 5]].concat();
    let long = contended(&[200 * MS; 5], &[], &holds);
    let late = contended(&[25 * MS; 30], &[20 * MS; 10], &[2 * MS; 500]);
    let barged = |mut row: Lock| {
        row.worst_idle = Some(worst_idle(20 * MS, IdleCause::Barged));
        row
    };
    let short = contended(&[MS; 600], &[900 * US; 600], &[400 * US; 1_000]);
    for (row, words) in [
        (
            barged(late.clone()),
            "threads that did not wait take it before the waiters; its threads had no",
        ),
        (barged(short), "took it before the waiters did; its threads had no CPU"),
        (long.clone(), "or the holder lost its CPU"),
        (long, "its threads had no CPU for 75.0 % of the time in which they wanted one"),
        (late, "; its threads had no CPU"),
    ] {
        let mut report = run(&["program"]);
        let hungry =
            Thread { cpu_ns: Some(500 * MS), runnable_ns: Some(1_500 * MS), ..thread(1, "hungry") };
        report.processes = vec![process(1, vec![row], vec![hungry])];
        let found = find(&report);
        assert!(found.iter().any(|finding| finding.text.contains(words)), "{found:?}");
        assert!(
            found.iter().any(|finding| finding.evidence.get("cpu_wanted_share") == Some(&0.75)),
            "{found:?}"
        );
        report.processes[0].threads[0].runnable_ns = Some(10 * MS);
        assert!(find(&report).iter().all(|finding| !finding.text.contains(words)));
    }
}

#[test]
fn sleeping_for_short_holds() {
    let waits = [80 * US; 8_000];
    let mut row = contended(&waits, &[60 * US; 8_000], &[2 * US; 14_000]);
    speaks(vec![row.clone()], "in a convoy, 8,000 acquisitions blocked for");
    row.kind = Kind::Spin;
    not_said(vec![row], "sleeping");
    not_said(vec![contended(&waits, &[10 * US; 8_000], &[2 * US; 14_000])], "sleeping");
}

#[test]
fn one_writer_and_a_queue_would_do() {
    let changing = |changes| {
        let mut row = contended(&[60 * US; 10_000], &[], &[US; 20_000]);
        row.owner_changes = Some(changes);
        row
    };
    speaks(
        vec![changing(12_200)],
        "it moves between threads: 61.0 % of its 20.0 k acquisitions came after another thread's",
    );
    not_said(vec![changing(8_000)], "after another thread");
}

#[test]
fn threads_that_were_stuck_at_the_end() {
    let stuck = Unfinished { count: 2, ..rules::stuck(8_000 * MS).unwrap() };
    let of = |left, kind| vec![Lock { unfinished: Some(left), ..lock(1, kind, "push") }];
    let held = "2 threads still waited for it when the run ended, the longest for 8.00 s: thread 7 had held it for 9.00 s";
    speaks(of(stuck, Kind::Mutex), held);
    let dead = Unfinished { holder_ended: true, ..stuck };
    speaks(of(dead, Kind::Mutex), "thread 7, which has ended, had held it");
    let before = Unfinished { waiters_ended: true, ..stuck };
    speaks(of(before, Kind::Mutex), "2 threads still waited for it when their process ended, the");
    silent(of(Unfinished { longest_ns: 900 * MS, ..stuck }, Kind::Mutex));
    let unknown = Unfinished { holder: None, held_ns: None, ..stuck };
    speaks(of(unknown, Kind::Mutex), "the longest for 8.00 s: its holder was not seen");
    speaks(of(unknown, Kind::RwlockWrite), "readers that come and go may keep it taken");
    silent(of(unknown, Kind::Semaphore));
}

#[test]
fn polling_and_gates() {
    let mut polled = lock(1, Kind::Mutex, "poll");
    polled.try_failed = 1_000_000;
    speaks(vec![polled.clone()], "1.00 M tries failed for 100 acquisitions");
    speaks(vec![polled.clone()], "its holds were not recorded: --all-holds does; block,");
    polled.hold_ns = common::times(&[20 * MS; 5]);
    polled.moments =
        vec![Moment { what: Span::Hold, at_ns: 0, ns: 20 * MS, tid: Some(7), cause: None }];
    speaks(
        vec![polled.clone()],
        "while it is held for up to 20.0 ms by thread 7 (median of its holds",
    );
    polled.acquisitions = 500_000;
    silent(vec![polled]);
    let mut gate =
        contended(&[900 * MS; 12], &[], &[[1_000 * MS; 4].as_slice(), &[US; 12]].concat());
    gate.class = Class::Gate;
    speaks(vec![gate.clone()], "mostly one thread held it, for up to 1.00 s at a time");
    gate.kind = Kind::Barrier;
    silent(vec![gate]);
}

/// A thread that sleeps inside a lock looks like one that keeps others out on purpose: the sentence claims neither.
#[test]
fn a_long_holder_is_not_accused_of_an_intent() {
    let mut gate =
        contended(&[900 * MS; 12], &[], &[[1_000 * MS; 4].as_slice(), &[US; 12]].concat());
    gate.class = Class::Gate;
    gate.utilisation = Some(0.4);
    let hold =
        |tid| Moment { what: Span::Hold, at_ns: 0, ns: 1_000 * MS, tid: Some(tid), cause: None };
    gate.moments = vec![hold(1)];
    let says = |cpu_ns| {
        let mut report = run(&["program"]);
        report.wall_ns = 10_000 * MS;
        let holder = Thread { cpu_ns, ..thread(1, "holder") };
        report.processes = vec![process(1, vec![gate.clone()], vec![holder])];
        find(&report).swap_remove(0).text
    };
    let asleep = says(Some(200 * MS));
    for words in [
        "held it, for up to 1.00 s at a time (in all 40.0 % of the run",
        "off the CPU for at least 95.0 % of that)",
        "the others waited 10.8 s in all",
        "if that is intended, nothing is wrong; else move the long work out of the lock",
    ] {
        assert!(asleep.contains(words), "{words:?} not in {asleep:?}");
    }
    for text in [asleep, says(Some(3_900 * MS)), says(None)] {
        assert!(!text.contains("not contention") && !text.contains("not how"), "{text}");
    }
    assert!(!says(Some(3_900 * MS)).contains("off the CPU"));
    assert!(!says(None).contains("off the CPU"));
}

/// "longest wait 30.5 ms of 37" reads as thirty of thirty-seven milliseconds; and the only wait of a lock need not be
/// the only one of its row.
#[test]
fn a_maximum_is_said_with_its_number() {
    speaks(vec![contended(&[60 * MS; 5], &[], &[50 * MS; 40])], "longest of 5 waits: 60.0 ms");
    let once = said(vec![contended(&[700 * MS], &[], &[600 * MS])]);
    assert!(once[0].contains("one wait of 700 ms") && !once[0].contains("only"), "{once:?}");
}

#[test]
fn locks_of_one_site_speak_once_and_all_speak_at_most_five_times() {
    let of_site = |id: u64, function| {
        let mut row = contended(&[60 * MS; 5], &[], &[50 * MS; 40]);
        row.id = id;
        row.site = Some(frame(function, "a.c", 1));
        row
    };
    let same = said((0..50).map(|id| of_site(id, "same")).collect());
    assert!(same.len() == 1 && same[0].contains("(same a.c:1, one of 50, waits"), "{same:?}");
    let many = ["a", "b", "c", "d", "e", "f", "g"];
    assert_eq!(
        said(many.iter().zip(0..).map(|(name, id)| of_site(id, name)).collect()).len(),
        MOST
    );
}

#[test]
fn nothing_overflows() {
    let mut row = contended(&[1], &[1], &[1]);
    let most = Distribution {
        count: u64::MAX,
        total: u64::MAX,
        max: u64::MAX,
        worst: vec![u64::MAX; 4],
        ..Default::default()
    };
    (row.wait_ns, row.idle_ns, row.hold_ns) = (Some(most.clone()), Some(most.clone()), Some(most));
    (row.try_failed, row.owner_changes, row.utilisation) =
        (u64::MAX, Some(u64::MAX), Some(f64::MAX));
    let mut readers = row.clone();
    readers.kind = Kind::RwlockRead;
    let mut writers = row.clone();
    writers.kind = Kind::RwlockWrite;
    said(vec![row, readers, writers]);
}
