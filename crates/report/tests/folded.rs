//! Waiting in the folded format: the waiter's stack, the lock, the culprit's stack.

mod common;

use common::{MS, blamed, frame, lock, process, run, times};
use uncontended_report::folded::render;
use uncontended_report::run::*;

/// A lock with a stack of its longest wait.
fn waited(id: u64, kind: Kind) -> Lock {
    let waiter = vec![frame("pop;all", "queue.c", 9), frame("worker", "main.c", 5)];
    let worst = WorstWait { ns: 4 * MS, waiter, holder: vec![] };
    Lock { wait_ns: times(&[10 * MS]), worst_wait: Some(worst), ..lock(id, kind, "make") }
}

#[test]
fn each_piece_of_a_wait_has_a_line_from_the_waiter_to_its_culprit() {
    let mut report = run(&["program"]);
    let blame = Blame { held_ns: 7 * MS, ended_ns: 0, idle_ns: 2 * MS, unknown_ns: 1 };
    let nameless = Blamed { stack: vec![], ..blamed("", MS, 0.1) };
    let mutex = Lock {
        blame: Some(blame),
        held_by: vec![blamed("push", 6 * MS, 0.6), nameless],
        ..waited(3, Kind::Mutex)
    };
    let blame = Blame { held_ns: 0, ended_ns: 5 * MS, idle_ns: 0, unknown_ns: 0 };
    let condition = Lock {
        blame: Some(blame),
        ended_by: vec![blamed("signal", 2 * MS + 500, 0.4)],
        ..waited(4, Kind::Condition)
    };
    let silent = lock(5, Kind::Mutex, "make");
    let without_blame = waited(6, Kind::Futex);
    report.processes = vec![process(7, vec![mutex, condition, silent, without_blame], vec![])];
    let line = |lock: &str, culprit: &str| format!("pid 7;worker;pop:all;;{lock};;{culprit}");
    let expected = [
        line("mutex #3 make sort.c:3303", "pthread_mutex_lock;push 6000"),
        line("mutex #3 make sort.c:3303", "code not recorded 1000"),
        line("mutex #3 make sort.c:3303", "idle 2000"),
        line("mutex #3 make sort.c:3303", "unknown 1"),
        line("condition #4 make sort.c:3304", "pthread_mutex_lock;signal 2001"),
        line("condition #4 make sort.c:3304", "deadline 3000"),
        line("futex #6 make sort.c:3306", "unknown 10000"),
    ];
    assert_eq!(render(&report).lines().collect::<Vec<_>>(), expected);
}
