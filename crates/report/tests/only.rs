//! `--only` finds a lock by what is printed of it outside its row.

mod common;

use common::*;
use uncontended_report::html::run_page;
use uncontended_report::run::*;
use uncontended_report::terminal::{Options, render};

/// The locks that stay.
fn kept(report: &RunReport, pattern: &str) -> Vec<u64> {
    let mut report = report.clone();
    report.keep_matching(pattern);
    report.processes.iter().flat_map(|process| &process.locks).map(|lock| lock.id).collect()
}

fn matches(report: &RunReport, id: u64, patterns: &[&str]) {
    for pattern in patterns {
        assert_eq!(report.without_match(pattern), None, "{pattern}");
        assert_eq!(kept(report, pattern), [id], "{pattern}");
    }
}

/// A program of three locks, of different kinds.
fn program() -> RunReport {
    let mut report = run(&["program"]);
    let kinds =
        [(1, Kind::Mutex, "one"), (2, Kind::RwlockRead, "two"), (3, Kind::Condition, "three")];
    let locks = kinds.map(|(id, kind, function)| lock(id, kind, function));
    report.processes = vec![process(7, locks.to_vec(), vec![])];
    report
}

/// A thread that has waited for two seconds.
fn waiting(tid: u32, name: &str, function: &str, line: u32) -> Thread {
    Thread {
        unfinished_wait_ns: Some(2_000 * MS),
        unfinished_stack: vec![
            frame(function, "forever.c", line),
            frame("io_thread", "forever.c", 5),
        ],
        ..thread(tid, name)
    }
}

#[test]
fn a_kind_matches_as_the_table_and_the_json_have_it() {
    matches(&program(), 2, &["rwlock read", "rwlock-read"]);
    assert!(kept(&program(), "rwlock-write").is_empty());
}

/// A program that hangs: threads wait for a held mutex, for a signal, and for another thread's end.
fn hangs() -> RunReport {
    let mut report = program();
    let unfinished = Unfinished {
        count: 1,
        longest_ns: 2_000 * MS,
        total_ns: 2_000 * MS,
        held_ns: Some(2_100 * MS),
        holder: Some(7),
        holder_ended: false,
        waiters_ended: false,
    };
    let head = Head {
        tid: 7,
        name: "keeper".into(),
        lock: 1,
        taken: vec![frame("keep", "forever.c", 6)],
        held_ns: Some(2_100 * MS),
        through: 0,
        behind: 1,
        is_asleep: true,
    };
    let process = &mut report.processes[0];
    process.locks[0].unfinished = Some(unfinished);
    process.locks[0].hung_behind = Some(head);
    process.hung = Some(Hung { threads: 3, since_ns: 2_000 * MS });
    process.threads = vec![
        Thread { unfinished_lock: Some(1), ..waiting(8, "reader", "inner_wait", 4) },
        Thread { unfinished_object: Some(3), ..waiting(9, "sleeper", "await_signal", 14) },
        Thread { unfinished_join: Some(8), ..waiting(7, "keeper", "join_all", 24) },
    ];
    report
}

#[test]
fn who_still_waits_or_holds_matches() {
    let report = hangs();
    let text = render(&report, &Options { width: 200, ..Options::default() });
    let of_mutex = [
        "inner_wait",
        "inner_wait  forever.c:4",
        "inner_wait forever.c:4",
        "/src/coreutils/forever.c:4",
        "thread 8 (reader)",
        "lock #1 (one sort.c:3301)",
        "keep  forever.c:6",
        "thread 7 (keeper)",
    ];
    matches(&report, 1, &of_mutex);
    let of_condition = [
        "await_signal",
        "forever.c:14",
        "thread 9 (sleeper)",
        "sleeper",
        "a signal of condition #3 (three sort.c:3303)",
    ];
    matches(&report, 3, &of_condition);
    let printed = of_mutex.iter().chain(&of_condition).filter(|of| text.contains(**of));
    assert_eq!(
        printed.count(),
        11,
        "all but what the page has, and one with a single space: {text}"
    );
    assert_eq!(kept(&report, "io_thread"), [1, 3]);
    assert_eq!(report.without_match("inner_wiat").unwrap(), "did you mean 'inner_wait'?");
    assert!(kept(&report, "join_all").is_empty(), "no lock, but another thread's end");
}

/// A thread whose lock is left out is not shown as one that waits for something else.
#[test]
fn who_waits_for_another_lock_is_left_out() {
    let report = hangs();
    for (pattern, shown, left_out) in
        [("inner_wait", "inner_wait", "await_signal"), ("sleeper", "await_signal", "inner_wait")]
    {
        let mut part = report.clone();
        part.keep_matching(pattern);
        let text = render(&part, &Options { width: 200, ..Options::default() });
        for form in [text, run_page(&part)] {
            assert!(form.contains(shown) && !form.contains(left_out), "{pattern}: {form}");
            assert!(form.contains("join_all"), "that is about no lock: {form}");
        }
    }
}

#[test]
fn who_is_in_a_deadlock_matches() {
    let stuck = |tid: u32, lock, holder| Stuck {
        tid,
        name: format!("worker-{tid}"),
        lock,
        shared: false,
        has_deadline: false,
        wait_ns: 2_000 * MS,
        stack: vec![frame("transfer", "bank.c", tid)],
        holder,
        holds: true,
        taken: vec![frame("lock_account", "bank.c", 100 + tid)],
        held_ns: None,
    };
    let mut report = program();
    let threads = vec![stuck(11, Some(1), 12), stuck(12, Some(2), 13), stuck(13, None, 11)];
    report.deadlocks = vec![Deadlock { pid: 7, threads, behind: 0 }];
    matches(&report, 1, &["transfer bank.c:11", "bank.c:111", "thread 11 (worker-11)"]);
    matches(&report, 2, &["transfer bank.c:12", "bank.c:112", "worker-12"]);
    assert!(kept(&report, "bank.c:13").is_empty(), "it waits for no lock");
    assert_eq!(kept(&report, "lock_account"), [1, 2]);
}

#[test]
fn who_took_locks_in_two_orders_matches() {
    let nested = |tid: u32, held: u64, taken: u64| Nested {
        tid,
        name: format!("worker-{tid}"),
        held,
        held_stack: vec![frame("begin", "bank.c", tid)],
        taken,
        taken_stack: vec![frame("finish", "bank.c", tid)],
    };
    let mut report = program();
    let threads = vec![nested(11, 1, 2), nested(12, 2, 1)];
    let inversions = vec![Inversion { pid: 7, threads, more: 0 }];
    report.lock_order = Some(LockOrder { sets: 2, lost: 0, is_complete: true, inversions });
    matches(&report, 1, &["begin bank.c:11", "finish bank.c:12"]);
    matches(&report, 2, &["begin bank.c:12", "finish bank.c:11"]);
    assert_eq!(kept(&report, "worker-11"), [1, 2]);
}

/// The culprits' code, with what it is called by, and what the holders of a lock waited for.
#[test]
fn who_is_to_blame_matches() {
    let mut report = program();
    let callers = vec![frame("serve", "pool.c", 31), frame("close", "pool.c", 32)];
    let helper = Blamed {
        callers,
        callers_wait_ns: vec![MS, MS],
        locks: vec![2],
        ..blamed("flush", 2 * MS, 1.0)
    };
    report.processes[0].locks[1].held_by = vec![Blamed { locks: vec![], ..helper.clone() }];
    let by = ["flush", "serve", "serve pool.c:31", "flush sort.c:3301 ← serve pool.c:31"];
    matches(&report, 2, &by);
    report.processes[0].locks[1].held_by.clear();
    report.culprits = vec![helper];
    matches(&report, 2, &by);
    let on = WaitedOn { lock: Some(3), site: Some(frame("fetch", "pool.c", 9)), wait_ns: MS };
    report.processes[0].locks[0].holders_waited =
        Some(HoldersWaited { wait_ns: MS, waited_ns: MS, on: vec![on] });
    report.processes[0].locks[0].keeper = Some(Keeper {
        tid: 77,
        wait_ns: MS,
        share: 1.0,
        holds: 1,
        hold_ns: None,
        longest_ns: None,
    });
    matches(&report, 1, &["fetch pool.c:9", "thread 77"]);
}
