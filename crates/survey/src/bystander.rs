//! How much work that wants no lock is slowed by the threads that want one: they take CPUs from it, and bandwidth.
//!
//! # Sources
//! Document 003, on AMD's slides: next to fifteen threads at a bad spinlock, matrix multiplications took ten times as
//! long.

use crate::locks::{Guarding, Guards, Inside, Work, every};
use crate::{Class, Plan, Topic};
use std::hint::black_box;
use std::time::Duration;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{AtomicBool, CachePadded};
use uncontended_bench::{Bench, Block, Place};
use uncontended_locks::{Order, Waits};
use uncontended_sys::clock::monotonic_ns;

/// The row in which no thread wants a lock, to which the others are compared.
pub(crate) const ALONE: &str = "alone";
/// Rows and columns of the matrices: 24 KiB in all, which a CPU's own cache holds.
const SIZE: usize = 32;
const BLOCK_NS: u64 = 10_000_000;
/// A block that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(10);

/// A row for each lock, wanted by a number of threads next to one that multiplies matrices.
pub(crate) fn measure(plan: &Plan, threads: usize) -> Topic {
    let question = "how much is work slowed that wants no lock";
    let bench = Bench::new("bystander", question).places([Place::Free]).limit(LIMIT);
    let bench = bench.per("multiplication").baseline(ALONE).subject(ALONE, |block| {
        let mut matrices = Matrices::new();
        let count = block.measure(|| matrices.multiply_for(BLOCK_NS));
        block.counts(count.1, count.0);
    });
    let mut rows = Rows { bench: Some(bench), threads, work: plan.work };
    every(&plan.locks, &mut rows);
    let bench = rows.bench.take().expect("it is put back after each row");
    let report = bench.until(plan.is_over).run(&plan.options());
    Topic::of(("bystander", ""), &report, |_, _| (threads, Class::Other))
}

/// Adds a row to a benchmark for each lock.
struct Rows {
    bench: Option<Bench>,
    threads: usize,
    work: Work,
}

impl Guards for Rows {
    fn add<G: Guarding + Send + 'static>(&mut self, name: &'static str, _: Order, _: Waits) {
        let (threads, work) = (self.threads, self.work);
        let bench = self.bench.take().expect("it is put back after each row");
        self.bench = Some(bench.subject(name, move |block| run::<G>(block, threads, work)));
    }
}

/// A block: this thread multiplies, while the others acquire the lock as often as they can.
fn run<G: Guarding + Send>(block: &mut Block, threads: usize, work: Work) {
    let lock = CachePadded::new(G::around(Inside::new(work)));
    let is_over = AtomicBool::new(false);
    let contenders = (0..threads).map(|_| {
        Box::new(|| {
            let mut own = vec![CachePadded::new(0_u64); work.outside];
            while !is_over.load(Relaxed) {
                lock.with(Inside::change);
                own.iter_mut().for_each(|line| **line = black_box(**line + 1));
            }
        }) as Box<dyn FnOnce() + Send>
    });
    let mut matrices = Matrices::new();
    let mut multiplied = (0, 0);
    let own = || {
        multiplied = matrices.multiply_for(BLOCK_NS);
        is_over.store(true, Relaxed);
    };
    block.team(own, contenders.collect());
    block.counts(multiplied.1, multiplied.0);
}

struct Matrices([[[f64; SIZE]; SIZE]; 3]);

impl Matrices {
    fn new() -> Box<Matrices> {
        Box::new(Matrices([[[1.0; SIZE]; SIZE]; 3]))
    }

    /// Multiplies for a time: how often, and for how long.
    fn multiply_for(&mut self, ns: u64) -> (u64, u64) {
        let (begun, mut count) = (monotonic_ns(), 0);
        loop {
            self.multiply();
            count += 1;
            let taken_ns = monotonic_ns() - begun;
            if taken_ns >= ns {
                return (count, taken_ns);
            }
        }
    }

    fn multiply(&mut self) {
        let [left, right, product] = black_box(&mut self.0);
        for (row, out) in left.iter().zip(product) {
            *out = [0.0; SIZE];
            for (value, other) in row.iter().zip(&*right) {
                out.iter_mut().zip(other).for_each(|(out, other)| *out += value * other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_a_product() {
        let mut matrices = Matrices::new();
        matrices.0[0][1][2] = 3.0;
        matrices.0[1][2][5] = 7.0;
        matrices.multiply();
        let product = &matrices.0[2];
        // Ones, except for a 3 in the row and a 7 in the column.
        assert_eq!((product[0][0], product[1][0]), (32.0, 34.0));
        assert_eq!((product[0][5], product[1][5]), (38.0, 31.0 + 21.0));
    }
}
