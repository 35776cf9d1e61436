//! Functions that cause waiting for those that call them.

mod common;

use common::{blamed, frame};
use uncontended_report::run::{Blamed, BlamedKind, RunReport};
use uncontended_report::terminal::{self, Options};

/// The run, with one culprit, which is to blame for most of its lock.
fn with(culprit: Blamed) -> RunReport {
    let mut report = common::sort();
    report.processes[0].locks[0].held_by = vec![culprit.clone()];
    report.culprits = vec![Blamed { locks: vec![1], ..culprit }];
    report
}

fn text(culprit: Blamed) -> String {
    terminal::render(&with(culprit), &Options { width: 200, ..Options::default() })
}

/// One that these functions call, each with its waiting.
fn called_by(function: &str, callers: &[(&str, u64)]) -> Blamed {
    Blamed {
        callers: callers.iter().map(|(name, _)| frame(name, "sort.c", 7)).collect(),
        callers_wait_ns: callers.iter().map(|&(_, wait_ns)| wait_ns).collect(),
        ..blamed(function, 100, 0.9)
    }
}

#[test]
fn the_caller_of_the_most_waiting_stands_next_to_a_helper() {
    for (function, callers, words) in [
        (
            "with_data",
            &[("compact", 98), ("insert", 2)][..],
            "with_data sort.c:3301 ← compact sort.c:7 ",
        ),
        (
            "with_data",
            &[("compact", 100), ("insert", 0)],
            "with_data sort.c:3301 ← compact sort.c:7 ",
        ),
        ("with_data", &[("a", 40), ("b", 30), ("c", 30)], "with_data sort.c:3301 ← a sort.c:7, … "),
        ("with_lock", &[("compact", 100)], "with_lock sort.c:3301 ← compact sort.c:7 "),
        // Its only caller says nothing, and one that only waited is not to blame.
        ("with_data", &[("compact", 100)], "with_data sort.c:3301 "),
        ("with_data", &[("insert", 0), ("other", 0)], "with_data sort.c:3301 "),
    ] {
        let text = text(called_by(function, callers));
        let line = text
            .lines()
            .find(|line| line.contains(words))
            .unwrap_or_else(|| panic!("{words}: {text}"));
        assert_eq!(line.contains('←'), words.contains('←'), "{line}");
    }
}

#[test]
fn what_wakes_stands_next_to_its_caller() {
    let stack = [frame("ul", "own.c", 3), frame("merge", "own.c", 9)];
    let culprit = |address: &str| {
        let mut stack = stack.to_vec();
        stack[1].address = address.into();
        let [site, caller] = [0, 1].map(|nth| stack[nth].clone());
        Blamed {
            site: Some(site),
            stack,
            kind: BlamedKind::Wake,
            callers: vec![caller],
            callers_wait_ns: vec![100],
            ..blamed("ul", 100, 0.9)
        }
    };
    let inlined = text(culprit(&stack[0].address));
    assert!(inlined.contains("ul own.c:3 ← merge own.c:9"), "{inlined}");
    assert!(inlined.contains("--skip-frames ul\n"), "{inlined}");
    let called = text(culprit("elsewhere"));
    assert!(called.contains("ul own.c:3 ← merge own.c:9"), "it took the time: {called}");
    assert!(!called.contains("--skip-frames"), "{called}");
}
