//! How findings are said: none contradicts itself or another one, and that there is none has its reason.

mod common;

use common::*;
use uncontended_report::facts::LoadFacts;
use uncontended_report::findings::{MOST, find, none, tried_by};
use uncontended_report::run::*;
use uncontended_report::terminal::{Options, render};

/// One finding says one thing: a lock off the path is not called the bottleneck, and nothing is advised that would not
/// help.
#[test]
fn a_lock_off_the_path_is_no_bottleneck() {
    let found_by = |ranked_by, gain_ns: u64, row: Lock| {
        let mut report = run(&["program"]);
        report.wall_ns = 10_000 * MS;
        report.culprits = [(1, gain_ns), (2, 5_000 * MS)]
            .map(|(lock, gain_ns)| Blamed {
                gain_at_most_ns: Some(gain_ns),
                may_move_to: Vec::new(),
                path_ns: Some(gain_ns),
                locks: vec![lock],
                ..blamed("push", 9_000 * MS, 0.5)
            })
            .to_vec();
        report.ranked_by = ranked_by;
        report.processes = vec![process(1, vec![row], vec![])];
        find(&report).into_iter().map(|finding| finding.text).collect::<Vec<_>>().concat()
    };
    let found = |gain_ns, row| found_by(RankedBy::Gain, gain_ns, row);
    let off = "other work set the run's length, and a change here alone hardly makes it shorter";
    let mut full = contended(&[12 * US; 900_000], &[], &[9 * US; 1_000_000]);
    full.utilisation = Some(0.93);
    let long = contended(&[60 * MS; 50], &[], &[50 * MS; 40]);
    let mut gate =
        contended(&[900 * MS; 12], &[], &[[1_000 * MS; 4].as_slice(), &[US; 12]].concat());
    gate.class = Class::Gate;
    let heavy = contended(&[MS; 6_000], &[], &[40 * US; 100_000]);
    for (row, words) in [
        (full, "it is the bottleneck; do less"),
        (long, "do less while holding it"),
        (gate, "move the long work out of the lock"),
        (heavy, "take it less often"),
    ] {
        let (on, off_path) = (found(500 * MS, row.clone()), found(500 * MS - 1, row.clone()));
        assert!(on.contains(words) && !on.contains(off), "{on}");
        assert!(!off_path.contains(words) && off_path.contains(off), "{off_path}");
        assert!(!off_path.contains("bottleneck"), "{off_path}");
        // Where nothing makes the run shorter, it may be of fixed length.
        let fixed = "that hardly makes the run shorter, but a program that runs for a fixed time gets more done";
        let words = words.trim_start_matches("it is the bottleneck; ");
        let (on, none) = (
            found_by(RankedBy::Wait, 500 * MS, row.clone()),
            found_by(RankedBy::Wait, 500 * MS - 1, row),
        );
        assert!(on.contains(words) && !on.contains(fixed), "{on}");
        assert!(none.contains(words) && none.contains(fixed), "{none}");
        assert!(!none.contains("bottleneck") && !none.contains(off), "{none}");
    }
}

/// A run of ten seconds with these locks.
fn of(locks: Vec<Lock>) -> RunReport {
    let mut report = run(&["program"]);
    report.wall_ns = 10_000 * MS;
    report.processes = vec![process(1, locks, vec![])];
    report
}

#[test]
fn that_there_is_no_finding_has_its_reason() {
    let reason = |report: &RunReport| {
        assert_eq!(find(report), vec![]);
        none(report)
    };
    assert_eq!(reason(&of(vec![])), "no thread waited for a lock that was seen");
    let mut unseen = of(vec![]);
    unseen.coverage.futex_share_unaccounted = Some(0.15);
    assert!(reason(&unseen).ends_with("; 15.0 % of all futex waiting was not seen"));
    unseen.coverage.nothing_seen = Some("Nothing.".to_owned());
    assert_eq!(reason(&unseen), "nothing");
    let work = Lock { class: Class::Queue, ..contended(&[900 * MS; 9], &[], &[]) };
    let turns = Lock { class: Class::Gate, kind: Kind::Barrier, ..work.clone() };
    let all = of(vec![work.clone(), turns]);
    assert!(reason(&all).starts_with("threads waited only for work, a turn or an event"));
    let unknown = Lock { class: Class::Unknown, ..contended(&[901 * MS; 9], &[], &[]) };
    let said = reason(&of(vec![work.clone(), unknown]));
    assert!(said.starts_with("whether threads waited for each other, or for work"), "{said}");
    // What it was for is said if it took a fifth of the time, and the code is known that ended most of it.
    let waits = |total_ms: u64, share: f64| {
        let put = Blamed { kind: BlamedKind::Wake, ..blamed("put", total_ms * MS, share) };
        let wait_ns = times(&[total_ms * MS]);
        reason(&of(vec![Lock { wait_ns, ended_by: vec![put], ..work.clone() }]))
    };
    let words = "; 20.0 % of the threads' time was waiting for work or an event at #1, mostly ended by put sort.c:3301";
    assert!(waits(2_000, 0.5).ends_with(words), "{}", waits(2_000, 0.5));
    assert!(
        !waits(1_999, 0.5).contains("mostly ended by")
            && !waits(2_000, 0.49).contains("mostly ended by")
    );
    let little = contended(&[MS; 499], &[], &[40 * US; 100_000]);
    assert_eq!(
        reason(&of(vec![little])),
        "the most waiting for one lock, #1, is 499 ms, 4.99 % of the threads' time; a finding needs 5.00 %, or long waits"
    );
    let mut short = of(vec![contended(&[MS; 9], &[], &[40 * US; 100])]);
    short.wall_ns = 10 * MS;
    assert!(reason(&short).contains("90.0 % of the threads' time; a finding needs 10.0 ms in all"));
    short.keep_matching("nothing of the kind");
    assert_eq!(none(&short), "no lock matches");
}

/// That a process lacks CPUs is about the process, not about each of its locks.
#[test]
fn a_lack_of_cpus_is_said_once() {
    let late = |id, function| Lock {
        id,
        site: Some(frame(function, "a.c", 1)),
        ..contended(&[25 * MS; 30], &[20 * MS; 10], &[2 * MS; 500])
    };
    let mut report = of(vec![late(1, "one"), late(2, "two"), late(3, "three")]);
    let hungry =
        Thread { cpu_ns: Some(500 * MS), runnable_ns: Some(1_500 * MS), ..thread(1, "hungry") };
    report.processes[0].threads = vec![hungry];
    let texts: Vec<String> = find(&report).into_iter().map(|finding| finding.text).collect();
    let times = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
    assert_eq!(texts.len(), 3, "{texts:#?}");
    assert_eq!(times("its threads had no CPU for 75.0 %"), 1, "{texts:#?}");
    assert_eq!(times("its threads lacked CPUs, as said above"), 2, "{texts:#?}");
}

/// No code is to blame for waiting for a CPU: that has a sentence, and no line among the culprits.
#[test]
fn waiting_for_a_cpu_is_not_a_culprit() {
    let mut report = sort();
    let text = |report: &RunReport| {
        render(report, &Options { top: 3, colour: false, width: 200, utf8: true })
    };
    let said = text(&report);
    let words = "For 19.4 % of that waiting (210 ms), #1 (queue+0x20) stood idle: the waiters had been woken, but did not run yet. That is";
    assert!(said.contains(words) && !said.contains("#1 stood idle: no CPU"), "{said}");
    let lock = &mut report.processes[0].locks[0];
    lock.idle_causes = Some(IdleCauses {
        not_scheduled_ns: 200 * MS,
        releasers_cpu_ns: 150 * MS,
        ..IdleCauses::default()
    });
    let said = text(&report).split_whitespace().collect::<Vec<_>>().join(" ");
    let on = "did not run yet; 75.0 % of that time, they waited for the CPU on which the lock had been released, where another thread still ran.";
    assert!(said.contains(on), "{said}");
    // Of a short part of each wait, no lack of CPUs is the cause.
    let lock = &mut report.processes[0].locks[0];
    lock.wait_ns = times(&[MS; 3_000]);
    assert!(text(&report).contains("That is 70.0 µs of a wait on average, as wakeups take"));
    let lock = &mut report.processes[0].locks[0];
    lock.idle_causes = None;
    lock.worst_idle.as_mut().unwrap().cause = IdleCause::Barged;
    let said = text(&report);
    assert!(!said.contains(words) && said.contains("#1 (queue+0x20) stood idle: barged"), "{said}");
}

/// Locks taken in two orders are a finding, after what costs time, and never pushed out by that.
#[test]
fn locks_taken_in_two_orders_are_a_finding() {
    let nested = |tid: u32, held, taken| Nested {
        tid,
        name: format!("worker-{tid}"),
        held,
        held_stack: vec![],
        taken,
        taken_stack: vec![frame("transfer", "bank.c", tid)],
    };
    let inversion =
        Inversion { pid: 1, threads: vec![nested(11, 1, 2), nested(12, 2, 1)], more: 0 };
    let order = |inversions| Some(LockOrder { sets: 9, lost: 0, is_complete: true, inversions });
    let quiet = vec![lock(1, Kind::Mutex, "one"), lock(2, Kind::Mutex, "two")];
    let mut report = of(quiet.clone());
    report.lock_order = order(vec![inversion.clone()]);
    report.findings = find(&report);
    let [only] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!(
        (only.rule.as_str(), only.lock, only.evidence["inversions"]),
        ("lock-order", Some(1), 1.0)
    );
    assert_eq!(
        only.text,
        "lock order inversion: nothing happened this time, but these threads may deadlock: thread 11 (worker-11) held lock \
         #1 (one sort.c:3301) and took lock #2 (two sort.c:3302) in transfer bank.c:11; thread 12 (worker-12) held lock #2 \
         (two sort.c:3302) and took lock #1 (one sort.c:3301) in transfer bank.c:12; take these locks in the same order \
         everywhere, or never two at a time"
    );
    assert_eq!(tried_by(&report), None, "no run shows that it helped");
    let busy = |id| Lock {
        id,
        site: Some(frame(&format!("f{id}"), "a.c", 1)),
        ..contended(&[60 * MS; 50], &[], &[50 * MS; 40])
    };
    let mut report = of(quiet.into_iter().chain((3..12).map(busy)).collect());
    report.lock_order = order(vec![inversion.clone(), inversion]);
    let found = find(&report);
    assert_eq!((found.len(), found[MOST - 1].rule.as_str()), (MOST, "lock-order"));
    assert!(found[MOST - 1].text.ends_with("; 1 more inversion"));
    report.lock_order = order(vec![]);
    assert!(find(&report).iter().all(|finding| finding.rule != "lock-order"));
}

/// Of a chain of threads that wait, the head is named, once, with its code; the others have no finding of their own.
#[test]
fn a_hang_is_followed_to_its_head() {
    let head = |through| Head {
        tid: 9,
        name: "saver".to_owned(),
        lock: 3,
        taken: vec![frame("pthread_mutex_lock", "lock.c", 80), frame("save", "db.c", 7)],
        held_ns: Some(9_100 * MS),
        through,
        behind: 5,
        is_asleep: through == 0,
    };
    let stuck = |id: u64, function: &str, head: Option<Head>| Lock {
        unfinished: rules::stuck(8_000 * MS),
        hung_behind: head,
        ..lock(id, Kind::Mutex, function)
    };
    let texts = |locks: Vec<Lock>| -> Vec<String> {
        find(&of(locks)).into_iter().map(|finding| finding.text).collect()
    };
    let alone = texts(vec![stuck(1, "one", None)]);
    assert!(
        alone[0].ends_with("thread 7 had held it for 9.00 s without releasing it"),
        "{alone:?}"
    );
    let middles = || vec![stuck(1, "one", Some(head(2))), stuck(2, "two", Some(head(1)))];
    let found = texts(middles());
    let words = "thread 7 had held it for 9.00 s and waited itself: in the end, 5 threads wait for thread 9 (saver), which has \
                 held lock #3 for 9.10 s, which it took in save db.c:7";
    assert!(found.len() == 2 && found[0].ends_with(words), "{found:#?}");
    let all = [middles(), vec![stuck(3, "three", Some(head(0)))]].concat();
    let found = texts(all.clone());
    let words = "without releasing it, which it took in save db.c:7; it was asleep itself, for no lock that is known; 4 more \
                 wait behind these";
    assert!(found.len() == 1 && found[0].ends_with(words), "{found:#?}");
    let mut waits = of(all.clone());
    let mut saver = thread(9, "saver");
    saver.unfinished_join = Some(11);
    waits.processes[0].threads = vec![saver];
    let text = &find(&waits)[0].text;
    assert!(text.contains("db.c:7; it waited itself for the end of thread 11; 4 more"), "{text}");
    // Waits that did not end count: their rows come first, and the table has them.
    let mut report = of(all);
    let mut ended = contended(&[MS; 100], &[], &[]);
    ended.id = 8;
    report.processes[0].locks.insert(0, ended);
    let said = render(&report, &Options { top: 4, colour: false, width: 200, utf8: true });
    let rows: Vec<&str> = said.lines().filter(|line| line.trim_start().starts_with('#')).collect();
    assert!(said.contains("not ended") && rows[0].contains("8.00 s"), "{said}");
    assert!(rows[3].contains("#8"), "{said}");
    let mut thread = thread(7, "waiter");
    (thread.unfinished_wait_ns, thread.unfinished_lock) = (Some(8_000 * MS), Some(1));
    report.processes[0].threads = vec![thread.clone()];
    let said = render(&report, &Options { top: 4, colour: false, width: 200, utf8: true });
    assert!(said.contains("8.00 s  █×××××××··"), "for locks: {said}");
    thread.unfinished_lock = None;
    report.processes[0].threads = vec![thread];
    let said = render(&report, &Options { top: 4, colour: false, width: 200, utf8: true });
    assert!(said.contains("8.00 s  ██········"), "for anything else: {said}");
}

/// A ring of many threads has a line for each, up to a bound.
#[test]
fn a_long_deadlock_has_a_line_for_each_thread() {
    let ring = |threads: u32| {
        let stuck = |nth| Stuck {
            tid: 100 + nth,
            name: String::new(),
            lock: Some(1 + u64::from(nth % 2)),
            shared: false,
            has_deadline: false,
            wait_ns: 1_900 * MS,
            stack: vec![],
            holder: 100 + (nth + 1) % threads,
            holds: true,
            taken: vec![],
            held_ns: None,
        };
        let mut report = of(vec![lock(1, Kind::Mutex, "one"), lock(2, Kind::Mutex, "two")]);
        report.deadlocks =
            vec![Deadlock { pid: 1, threads: (0..threads).map(stuck).collect(), behind: 0 }];
        report.findings = find(&report);
        let text = report.findings[0].text.clone();
        (text, render(&report, &Options { top: 3, colour: false, width: 200, utf8: true }))
    };
    assert_eq!(ring(3).0.lines().count(), 1);
    let (text, said) = ring(4);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("deadlock of 4 threads: take these locks in the same order"));
    assert_eq!(lines[4], "thread 103 waits for lock #2 (two sort.c:3302), held by thread 100");
    assert_eq!(lines.len(), 5);
    let line = "\n     thread 103 waits for lock #2 (two sort.c:3302), held by thread 100\n";
    assert!(said.contains("  1. deadlock of 4 threads: ") && said.contains(line), "{said}");
    let (text, _) = ring(40);
    assert_eq!(text.lines().count(), 18);
    assert!(text.ends_with("… and 24 more threads"), "{text}");
}

/// What a finding advises is a guess until `unc compare` has tried it; of a program that hangs there is nothing to try.
#[test]
fn advice_comes_with_the_command_that_tests_it() {
    let advised = |command: &[&str], lock| {
        let mut report = run(command);
        report.wall_ns = 400 * MS;
        report.processes = vec![process(1, vec![lock], vec![])];
        report.findings = find(&report);
        assert_eq!(report.findings.len(), 1);
        report
    };
    let busy = || contended(&[60 * MS; 5], &[], &[50 * MS; 40]);
    let tried = |report: &RunReport| tried_by(report).map(|trial| trial.command);
    let command = |words: &[&str]| tried(&advised(words, busy()));
    assert_eq!(command(&["./p"]).unwrap(), "unc compare --claim better -- ./p CHANGED");
    assert!(command(&["./p", "-t", "4"]).unwrap().ends_with(" -- './p -t 4' CHANGED"));
    assert!(command(&["sh", "-c", "a b"]).unwrap().ends_with(" -- \"sh -c 'a b'\" CHANGED"));
    assert_eq!(command(&[]), None);
    let mut stuck = lock(1, Kind::Mutex, "push");
    stuck.unfinished = rules::stuck(8_000 * MS);
    assert_eq!(tried(&advised(&["./p"], stuck)), None);

    // Programs that do not end by themselves.
    let mut server = advised(&["./server", "9000"], busy());
    let scripts = "unc compare --claim better -- ./SCRIPT ./CHANGED";
    let loaded = |load: &str, ready: Option<&str>| {
        let (command, ready) = (load.to_owned(), ready.map(str::to_owned));
        let load = LoadFacts { command, ready, exit_status: 0, begun_ns: 0, ended_ns: MS };
        tried(&RunReport { load: Some(load), ..server.clone() }).unwrap()
    };
    assert_eq!(
        loaded("./client 9000", None),
        "unc compare --claim better --parameter-list program './server 9000,CHANGED' -- \
         '{program} & (./client 9000); s=$?; kill $!; wait; exit $s'"
    );
    let asks = "'{program} & for i in $(seq 1200); do (nc -z ::1 9000) && break; sleep 0.05; done; (./client";
    assert!(loaded("./client", Some("nc -z ::1 9000")).contains(asks));
    assert!(loaded("./client 'a b'", None).contains(" & (./client '\\''a b'\\''); s=$?"));
    assert_eq!(loaded(&"x".repeat(2000), None), scripts);
    server.signal = Some(15);
    assert_eq!(tried(&server).unwrap(), scripts);
}

#[test]
fn a_finding_names_the_variable_that_a_lock_is() {
    let mut row = contended(&[200 * MS; 50], &[], &[200 * MS; 50]);
    row.variable = Some("audit_log".to_owned());
    let found = find(&of(vec![row]));
    assert!(found[0].text.starts_with("lock #1 (audit_log, "), "{found:#?}");
}
