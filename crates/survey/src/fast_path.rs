//! What a lock and its release cost where no other thread wants it, and what a yield costs.
//!
//! # Sources
//! Document 003: 7 and 14 ns for a spinlock's and a mutex's, 130 ns for a yield.

use crate::guarded::{BASELINE, Guarding, Guards, Inside, Work, every};
use crate::{Class, Plan, Topic};
use std::hint::black_box;
use uncontended_bench::{Bench, Block, Place};
use uncontended_locks::{Order, Waits};

/// The row of a yield.
pub(crate) const YIELD: &str = "yield";

/// A row for each lock, and one for a yield.
pub(crate) fn measure(plan: &Plan) -> Topic {
    let bench =
        Bench::new("fast path", "what do a lock and its release cost").places([Place::Free]);
    let mut rows = Rows(Some(bench.per("acquisition").baseline(BASELINE)));
    every(&plan.locks, &mut rows);
    let bench = rows.0.take().expect("it is put back after each row");
    let bench = bench.subject(YIELD, |block| {
        let operations = block.operations();
        block.measure(|| (0..operations).for_each(|_| std::thread::yield_now()));
    });
    let report = bench.until(plan.is_over).run(&plan.options());
    Topic::of(("fast path", ""), &report, |_, _| (1, Class::Other))
}

/// Adds a row to a benchmark for each lock.
struct Rows(Option<Bench>);

impl Guards for Rows {
    fn add<G: Guarding + Send + 'static>(&mut self, name: &'static str, _: Order, _: Waits) {
        let bench = self.0.take().expect("it is put back after each row");
        self.0 = Some(bench.subject(name, run::<G>));
    }
}

fn run<G: Guarding>(block: &mut Block) {
    let lock = G::around(Inside::new(Work { inside: 0, outside: 0 }));
    let operations = block.operations();
    block.measure(|| {
        for _ in 0..operations {
            black_box(&lock).with(|inside| inside.changes += 1);
        }
    });
    assert_eq!(lock.with(|inside| inside.changes), operations, "changes were lost");
}
