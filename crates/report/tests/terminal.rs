//! Whole reports against golden texts in `golden/`; `UNC_BLESS=1` rewrites them, for a reader to compare.

mod common;

use common::*;
use uncontended_figures::text::width;
use uncontended_report::html::run_page;
use uncontended_report::run::*;
use uncontended_report::terminal::{Options, render};
use uncontended_testkit::golden;

fn check(name: &str, report: &RunReport, options: &Options) {
    let found = render(report, options);
    golden(env!("CARGO_MANIFEST_DIR"), &format!("{name}.txt"), &found);
    if !options.colour {
        let wide = found.lines().find(|line| width(line) > options.width);
        assert_eq!(wide, None, "{name}: wider than {}", options.width);
    }
}

fn plain() -> Options {
    Options::default()
}

#[test]
fn a_run_that_saw_nothing_says_why() {
    let mut report = run(&["go-program"]);
    report.coverage.nothing_seen =
        Some("The program is static: no library could be loaded into it.".to_owned());
    report.observer.cost_ns_per_pair = None;
    check("nothing", &report, &plain());
}

/// A program that forks has the same lock in many processes; the block of the first speaks for all.
#[test]
fn the_same_code_in_many_processes_has_one_block() {
    let mut report = run(&["program"]);
    let waited = |id, function: &str, ms| Lock {
        wait_ns: times(&[ms * MS]),
        worst_wait: Some(WorstWait { ns: ms * MS, waiter: vec![], holder: vec![] }),
        site: Some(frame(function, "fork.c", 5)),
        ..lock(id, Kind::Mutex, "")
    };
    let of = |nth: u32| {
        let id = u64::from(nth);
        process(nth, vec![waited(id, "work", 20 + id)], vec![])
    };
    report.processes = (0..20).map(of).collect();
    report.processes[3].locks.push(waited(99, "other", 1));
    let text = render(&report, &plain());
    assert_eq!(text.matches("Longest wait on").count(), 2, "{text}");
    assert!(text.contains("Longest wait on #19+19: 39.0 ms") && text.contains("on #99"), "{text}");
}

#[test]
fn without_utf_8_all_of_a_report_is_ascii() {
    let report = sort();
    let text = render(&report, &Options { utf8: false, ..plain() });
    let other = text.lines().find(|line| !line.is_ascii());
    assert_eq!(other, None);
    assert!(text.contains(" us") && text.contains("---"), "{text}");
    let columns = |text: &str| text.lines().map(width).max();
    assert!(columns(&text) <= Some(100));
}

/// Where the rows have all that the kernel counted, its own list would only say it again, with fewer names.
#[test]
fn the_kernel_s_sites_are_listed_where_rows_lack_waiting() {
    let mut report = run(&["program"]);
    report.coverage.futex_sites = vec![FutexSite { stack: vec![], waits: 3, total_ns: MS }];
    let mut says = |share| {
        report.coverage.futex_share_unaccounted = Some(share);
        render(&report, &plain()).contains("kernel: 1.00 ms of futex waiting in 3 waits")
    };
    assert!(says(0.01) && !says(0.01f64.next_down()));
}

/// The cost is of one lock; where a thread took thousands, it says what those cost.
#[test]
fn the_cost_of_many_locks_is_not_said_to_be_that_of_one() {
    let mut report = run(&["program"]);
    let mut says = |most_locks| {
        report.observer.most_locks = most_locks;
        let text = render(&report, &plain());
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        words.contains("A thread took at least 1,001 here: where a thread takes thousands of locks")
    };
    assert!(says(1_001) && !says(1_000));
}

/// A thread that posts a semaphore as a signal has never held it.
#[test]
fn a_semaphore_without_holders_was_posted() {
    let posted = |held_by| {
        let mut row = lock(1, Kind::Semaphore, "serve");
        row.wait_ns = times(&[10 * MS]);
        let holder = vec![frame("post_it", "a.c", 7)];
        row.worst_wait = Some(WorstWait { ns: 10 * MS, waiter: vec![], holder });
        row.held_by = held_by;
        let mut report = run(&["program"]);
        report.processes = vec![process(1, vec![row], vec![])];
        let text = render(&report, &plain());
        ["it was last posted in", "the last holder released it in"].map(|how| text.contains(how))
    };
    assert_eq!(posted(vec![]), [true, false]);
    assert_eq!(posted(vec![blamed("serve", 10 * MS, 1.0)]), [false, true]);
}

#[test]
fn a_run_without_waits_says_so() {
    let mut report = run(&["program"]);
    report.processes = vec![process(1, vec![lock(1, Kind::Mutex, "calm")], vec![])];
    let text = render(&report, &plain());
    let last = text.lines().last().unwrap();
    assert_eq!(last, "Findings  none: no thread waited for a lock that was seen");
    let thread = Thread { unfinished_wait_ns: Some(400 * MS), ..thread(7, "waits") };
    report.processes[0].threads = vec![thread];
    let text = render(&report, &plain()).replace("\n         ", "");
    assert!(text.contains("none: no wait for a lock ended, but a thread still waited"), "{text}");
}

#[test]
fn threads_too_short_lived_for_a_bar_have_no_column_of_bars() {
    let mut report = run(&["program"]);
    let thread = Thread { tid: 7, name: "short".into(), lived_ns: None, ..Thread::default() };
    report.processes = vec![process(1, vec![], vec![thread])];
    let text = render(&report, &plain());
    assert!(text.contains("short") && !text.contains("its time"), "{text}");
    assert!(text.lines().all(|line| line.is_empty() || !line.trim().is_empty()), "{text}");
}

#[test]
fn sort_on_three_widths() {
    let report = sort();
    check("sort_100", &report, &plain());
    check("sort_60", &report, &Options { width: 60, ..plain() });
    check("sort_160_colour", &report, &Options { width: 160, colour: true, ..plain() });
}

#[test]
fn many_locks_show_the_costliest() {
    check("many", &many(200, 20), &Options { top: 3, ..plain() });
}

#[test]
fn huge_figures_and_strange_names() {
    let mut report = run(&["/opt/серверы/線程 server", "it's", "\x1b[2J"]);
    report.wall_ns = u64::MAX;
    report.exit_status = 137;
    report.signal = Some(9);
    let mut row =
        lock(u64::MAX, Kind::RwlockWrite, "std::vec::Vec<線程, \x1b[31mAllocator>::größe");
    row.acquisitions = u64::MAX;
    row.blocked = u64::MAX / 2;
    row.wait_ns =
        Some(Distribution { count: 1, total: u64::MAX, max: u64::MAX, ..Distribution::default() });
    row.worst_wait = Some(WorstWait { ns: u64::MAX, waiter: vec![], holder: vec![] });
    row.mean_queue = Some(f64::MAX);
    let mut anonymous = lock(3, Kind::Futex, "");
    anonymous.site = None;
    anonymous.class = Class::Unknown;
    let threads = vec![Thread {
        cpu_ns: None,
        runnable_ns: None,
        voluntary_switches: None,
        involuntary_switches: None,
        migrations: None,
        ..thread(u32::MAX, "поток\u{202e}\n")
    }];
    report.processes =
        vec![process(u32::MAX, vec![row, anonymous], threads), process(1, vec![], vec![])];
    report.coverage.futex_share_unaccounted = Some(0.37);
    report.coverage.futex_sites = vec![FutexSite {
        stack: vec![frame("park", "futex.rs", 12)],
        waits: 14,
        total_ns: 5_000 * MS,
    }];
    report.observer.records_dropped = 12_345;
    report.findings = vec![Finding {
        rule: "idle".to_owned(),
        text: "lock #3: ".to_owned() + &"its waiters are woken late ".repeat(6),
        lock: Some(3),
        locks: vec![],
        wait_share: None,
        evidence: Default::default(),
    }];
    check("strange", &report, &plain());
}

/// Waiting without a culprit is said from 5 % on.
#[test]
fn waiting_without_a_culprit_is_said() {
    let report_of = |shares: &[f64]| {
        let mut report = sort();
        let of = |&share| Blamed { share, ..report.culprits[0].clone() };
        report.culprits = shares.iter().map(of).collect();
        report
    };
    let shown = |shares: &[f64]| render(&report_of(shares), &plain());
    assert!(shown(&[0.5, 0.25]).contains("25.0 % of that waiting has no known cause"));
    assert!(shown(&[0.5, 0.4375]).contains("6.25 % of that waiting"));
    assert!(!shown(&[0.5, 0.453125]).contains("of that waiting"));
    // Of more threads than a read-write lock has places for, not all that wait are kept apart.
    let by_threads = |threads, source| {
        let mut report = report_of(&[0.5, 0.25]);
        report.source = source;
        let of_all = report.processes.iter_mut().flat_map(|process| &mut process.locks);
        let worst = of_all.max_by_key(|lock| lock.blame.map_or(0, |blame| blame.unknown_ns));
        let worst = worst.unwrap();
        (worst.threads, worst.kind) = (threads, Kind::RwlockWrite);
        render(&report, &plain()).replace("\n  ", " ")
    };
    let many = "has no known cause: of the 65 threads that waited for #";
    assert!(by_threads(65, Source::Preload).contains(many));
    for text in [by_threads(64, Source::Preload), by_threads(65, Source::Kernel)] {
        assert!(
            text.contains("has no known cause: who held the lock then was not seen."),
            "{text}"
        );
    }
}

fn about_a_lock() -> Finding {
    let (rule, text) = ("long-hold".to_owned(), "held for long".to_owned());
    Finding {
        rule,
        text,
        lock: Some(1),
        locks: vec![],
        wait_share: None,
        evidence: Default::default(),
    }
}

/// A run that hardly waits for locks has no culprits, unless a finding or the question is about one.
#[test]
fn little_waiting_is_called_so() {
    let of = |times: u64, change: fn(&mut RunReport)| {
        let mut report = sort();
        change(&mut report);
        let locks = report.processes.iter().flat_map(|process| &process.locks);
        let contended = locks.filter(|lock| matches!(lock.class, Class::Contention | Class::Gate));
        let waits = contended.filter_map(|lock| lock.wait_ns.as_ref());
        report.wall_ns = times * waits.map(|wait| wait.total).sum::<u64>();
        render(&report, &Options { width: 200, ..plain() })
    };
    let none = "Culprits  none: without all waiting at contended locks, 1.08 s, the run would be 4.00 % shorter at most\n";
    let shown = of(25, |_| ());
    assert!(shown.contains(none), "{shown}");
    assert!(!of(20, |_| ()).contains("Culprits  none"), "5 % of the run");
    let little = ", 4.00 % of the run: without it, the run would be shorter by that at most.";
    for change in [
        |report: &mut RunReport| report.only = Some("queue".to_owned()),
        |report: &mut RunReport| report.findings = vec![about_a_lock()],
    ] {
        let shown = of(25, change);
        assert!(!shown.contains(none) && shown.contains(little), "{shown}");
    }
}

/// What a language runtime's own locks look like: little waiting at mutexes, much for events.
#[test]
fn waiting_for_work_is_named_where_there_is_no_culprit() {
    let of = |queue_ns: u64| {
        let mut report = run(&["java", "H"]);
        report.wall_ns = 1_000 * MS;
        let mut locks = vec![lock(1, Kind::Mutex, "taken"), lock(2, Kind::Condition, "monitor")];
        (locks[0].wait_ns, locks[0].class) = (times(&[MS]), Class::Contention);
        (locks[1].wait_ns, locks[1].class) = (times(&[queue_ns]), Class::Queue);
        report.processes = vec![process(1, locks, vec![])];
        render(&report, &Options { width: 200, ..plain() })
    };
    let said = "Not counted: 200 ms of waiting for work or a turn, at #2.";
    let shown = of(200 * MS);
    assert!(shown.contains("Culprits  none: ") && shown.contains(said), "{shown}");
    assert!(!of(199 * MS).contains("Not counted"));
}

/// Two threads in a cycle, a reader behind a waiting writer, and a wait with a deadline.
#[test]
fn deadlocks_come_first_with_the_stacks_of_all_threads() {
    let stuck = |tid: u32, lock: u64, holder: u32| Stuck {
        tid,
        name: format!("worker-{tid}"),
        lock: Some(lock),
        shared: false,
        has_deadline: false,
        wait_ns: 1_900 * MS,
        stack: vec![frame("transfer", "bank.c", 40 + tid)],
        holder,
        holds: true,
        taken: vec![frame("lock_account", "bank.c", 30 + holder)],
        held_ns: Some(2_000 * MS),
    };
    let mut report = run(&["bank"]);
    report.processes = vec![process(
        1,
        vec![lock(1, Kind::Mutex, "one"), lock(2, Kind::RwlockWrite, "two")],
        vec![],
    )];
    let reader =
        Stuck { shared: true, holds: false, taken: vec![], held_ns: None, ..stuck(13, 2, 14) };
    let limited = Stuck { has_deadline: true, ..stuck(15, 1, 15) };
    report.deadlocks = vec![
        Deadlock { pid: 1, threads: vec![stuck(11, 1, 12), stuck(12, 2, 11)], behind: 3 },
        Deadlock { pid: 1, threads: vec![reader, stuck(14, 2, 13)], behind: 0 },
        Deadlock { pid: 1, threads: vec![limited], behind: 0 },
    ];
    report.findings = uncontended_report::findings::find(&report);
    assert!(report.findings.iter().all(|finding| finding.rule == "deadlock"));
    assert_eq!(uncontended_report::findings::tried_by(&report), None);
    check("deadlocks_80", &report, &Options { width: 80, ..plain() });
    let page = uncontended_report::html::run_page(&report);
    for text in [
        "Deadlock",
        "Cycle of waits",
        "lock_account",
        "no reader comes before",
        "3 more threads wait",
    ] {
        assert!(page.contains(text), "{text}");
    }
    report.keep_matching("two");
    assert_eq!(report.deadlocks.len(), 2);
}

/// An inversion of two threads, and more of them than are shown.
#[test]
fn locks_taken_in_two_orders_are_shown_with_both_stacks() {
    let nested = |tid: u32, held: u64, taken: u64| Nested {
        tid,
        name: format!("worker-{tid}"),
        held,
        held_stack: vec![frame("lock_account", "bank.c", 30 + tid)],
        taken,
        taken_stack: vec![frame("transfer", "bank.c", 40 + tid)],
    };
    let inversion = |more: u64, threads: Vec<Nested>| Inversion { pid: 1, threads, more };
    let mut report = run(&["bank"]);
    let locks = [(1, "one"), (2, "two"), (3, "three")];
    let locks = locks.map(|(id, function)| lock(id, Kind::Mutex, function));
    report.processes = vec![process(1, locks.to_vec(), vec![])];
    let unknown = Nested { held_stack: vec![], ..nested(12, 2, 1) };
    let inversions = vec![inversion(1_234, vec![nested(11, 1, 2), unknown])];
    report.lock_order = Some(LockOrder { sets: 5_678, lost: 9, is_complete: false, inversions });
    check("lock_order_80", &report, &Options { width: 80, ..plain() });
    let page = uncontended_report::html::run_page(&report);
    for text in ["Lock order inversion", "lock_account", "1,234 other sets", "9 acquisitions"] {
        assert!(page.contains(text), "{text}");
    }
    // A read-write lock has two rows and one number.
    let side = |id, kind| Lock { address: "0x77".into(), ..lock(id, kind, "table") };
    let mut sides = report.clone();
    sides.processes[0].locks.extend([side(4, Kind::RwlockWrite), side(5, Kind::RwlockRead)]);
    let threads = vec![nested(11, 5, 1), nested(12, 1, 4)];
    sides.lock_order.as_mut().unwrap().inversions = vec![inversion(0, threads)];
    let text = render(&sides, &plain());
    let place = "lock #4 (table sort.c:3304)";
    for part in [format!("held {place} to read, taken in"), format!("and took {place} to write in")]
    {
        assert!(text.contains(&part), "{part}: {text}");
    }
    let order = report.lock_order.as_mut().unwrap();
    let three = || vec![nested(11, 1, 2), nested(12, 2, 3), nested(13, 3, 1)];
    order.inversions = (0..7).map(|_| inversion(0, three())).collect();
    let text = render(&report, &plain());
    assert_eq!(text.matches("Lock order inversion").count(), 5);
    assert!(text.contains("… and 2 inversions"), "{text}");
    report.keep_matching("one");
    assert_eq!(report.lock_order.as_ref().unwrap().inversions.len(), 7);
    report.keep_matching("none of these");
    assert_eq!(report.lock_order.unwrap().inversions, []);
}

/// Of several processes, the title is not the first one's command.
#[test]
fn a_report_on_several_processes_names_all() {
    let title = |pids: &[u32]| {
        let mut report = run(&["/usr/bin/server", "-d"]);
        let attached = AttachedTo { pids: pids.to_vec(), ..AttachedTo::default() };
        report.attached = Some(attached);
        let of = |&pid: &u32| {
            let name = if pid < 10 { "/usr/bin/server" } else { "worker: idle" };
            Process { command: vec![name.to_owned()], ..process(pid, vec![], vec![]) }
        };
        report.processes = pids.iter().filter(|&&pid| pid != 99).map(of).collect();
        let text = render(&report, &Options::default());
        let first = text.lines().next().unwrap().to_owned();
        assert!(run_page(&report).contains(&format!("<h1>{first}</h1>")), "{first}");
        first
    };
    assert_eq!(title(&[7]), "/usr/bin/server -d");
    assert_eq!(title(&[7, 8, 12]), "server (7, 8), worker: idle (12)");
    assert_eq!(title(&[7, 99]), "? (99), server (7)");
}
