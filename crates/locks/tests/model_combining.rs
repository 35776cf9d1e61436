//! Flat combining, explored: every execution that C11 and x86-TSO allow.

#![cfg(unc_model)]

use uncontended_atomic::{Arc, spawn};
use uncontended_locks::{Combining, Park, Spin};
use uncontended_model::real::{Explorer, Memory};
use uncontended_testkit::explored::{self, BOTH};

fn holds(scenario: fn()) {
    let explorer = |memory: Memory| Explorer::new(memory).events(300);
    explored::holds(&BOTH, explorer, || scenario);
}

/// Two threads add through closures, and so does this one: each has a number of its own, and the closures that are left
/// are handed over after one.
#[test]
fn combining_runs_each_closure_once() {
    fn scenario() {
        let total = Arc::new(Combining::<u32, Spin>::waiting_by(0));
        let add = |total: &Combining<u32, Spin>| {
            total.run(|total| {
                *total += 1;
                *total
            })
        };
        let others = [1, 2].map(|_| {
            let total = Arc::clone(&total);
            spawn(move || add(&total))
        });
        let own = add(&total);
        let mut numbers = others.map(|other| other.join().unwrap());
        numbers.sort_unstable();
        assert_eq!(own + numbers[0] + numbers[1], 6);
        assert!(numbers[0] != numbers[1] && !numbers.contains(&own));
        assert_eq!(total.run(|total| *total), 3);
    }
    holds(scenario);
}

/// A waiter that sleeps is woken with its result.
#[test]
fn combining_wakes_the_thread_whose_closure_was_run() {
    fn scenario() {
        let total = Arc::new(Combining::<u32, Park>::waiting_by(0));
        let theirs = Arc::clone(&total);
        let other = spawn(move || theirs.run(|total| std::mem::replace(total, 5)));
        let before = total.run(|total| std::mem::replace(total, 7));
        let other = other.join().unwrap();
        assert!((before, other) == (0, 7) || (before, other) == (5, 0));
    }
    holds(scenario);
}
