//! How much work that wants no lock is slowed by the threads that want one: they take CPUs from it, and bandwidth.
//!
//! # Contract
//! With three CPUs or more, the bystander has one of them to itself, and each of the others has a thread that wants the
//! lock: what slows it is what all CPUs share. With two, two threads leave it no CPU, so it shares theirs.
//!
//! # Sources
//! Document 003, on AMD's slides: next to fifteen threads at a bad spinlock, matrix multiplications took ten times as
//! long.

use crate::guarded::{Guarding, Guards, Inside, Work, every};
use crate::pool::pin;
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

/// Where the bystander runs, and where the threads that want the lock do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seats {
    /// The bystander's own CPU; none: it shares.
    pub(crate) own: Option<usize>,
    /// The CPU of each of the others; none: any.
    others: Vec<Option<usize>>,
}

impl Seats {
    /// On these CPUs.
    pub(crate) fn on(cpus: &[usize]) -> Seats {
        match cpus.split_last() {
            Some((own, others)) if others.len() >= 2 => {
                Seats { own: Some(*own), others: others.iter().copied().map(Some).collect() }
            }
            _ => Seats { own: None, others: vec![None; cpus.len()] },
        }
    }

    /// How many threads want the lock.
    pub(crate) fn threads(&self) -> usize {
        self.others.len()
    }

    /// For JSON: `own` or `shared`.
    pub(crate) fn key(&self) -> &'static str {
        if self.own.is_some() { "own" } else { "shared" }
    }
}

/// A row for each lock, wanted by threads next to one that multiplies matrices.
pub(crate) fn measure(plan: &Plan, seats: &Seats) -> Topic {
    let question = "how much is work slowed that wants no lock";
    let bench = Bench::new("bystander", question).places([Place::Free]).limit(LIMIT);
    let bench = bench.per("multiplication").baseline(ALONE).subject(ALONE, {
        let own = seats.own;
        move |block| {
            pin(own);
            let mut matrices = Matrices::new();
            let count = block.measure(|| matrices.multiply_for(BLOCK_NS));
            block.counts(count.1, count.0);
        }
    });
    let mut rows = Rows { bench: Some(bench), seats: seats.clone(), work: plan.work };
    every(&plan.locks, &mut rows);
    let bench = rows.bench.take().expect("it is put back after each row");
    let report = bench.until(plan.is_over).run(&plan.options());
    Topic::of(("bystander", ""), &report, |_, _| (seats.threads(), Class::Other))
}

/// Adds a row to a benchmark for each lock.
struct Rows {
    bench: Option<Bench>,
    seats: Seats,
    work: Work,
}

impl Guards for Rows {
    fn add<G: Guarding + Send + 'static>(&mut self, name: &'static str, _: Order, _: Waits) {
        let (seats, work) = (self.seats.clone(), self.work);
        let bench = self.bench.take().expect("it is put back after each row");
        self.bench = Some(bench.subject(name, move |block| run::<G>(block, &seats, work)));
    }
}

/// A block: this thread multiplies, while the others acquire the lock as often as they can.
fn run<G: Guarding + Send>(block: &mut Block, seats: &Seats, work: Work) {
    let lock = CachePadded::new(G::around(Inside::new(work)));
    let is_over = AtomicBool::new(false);
    let (lock, over) = (&*lock, &is_over);
    let contenders = seats.others.iter().map(|&cpu| {
        Box::new(move || {
            pin(cpu);
            let mut own = vec![CachePadded::new(0_u64); work.outside];
            while !over.load(Relaxed) {
                lock.with(Inside::change);
                own.iter_mut().for_each(|line| **line = black_box(**line + 1));
            }
        }) as Box<dyn FnOnce() + Send>
    });
    let mut matrices = Matrices::new();
    let mut multiplied = (0, 0);
    let own = || {
        pin(seats.own);
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
    fn a_bystander_has_a_cpu_of_its_own_where_two_are_left() {
        let shared = Seats { own: None, others: vec![None, None] };
        assert_eq!((Seats::on(&[4, 7]), shared.key()), (shared, "shared"));
        let apart = Seats { own: Some(9), others: vec![Some(4), Some(7)] };
        assert_eq!(
            (Seats::on(&[4, 7, 9]), apart.threads(), apart.key()),
            (apart.clone(), 2, "own")
        );
    }

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
