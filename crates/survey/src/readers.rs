//! Locks for readers: what an access costs to a value that some threads only read, and how long writers wait.
//!
//! # Contract
//! The value is a cache line of eight numbers: a reader looks whether all are the same, a writer adds one to each. Each
//! thread reads, and now and then writes, and changes cache lines of its own between. Reads are not timed one by one:
//! the clock costs more than they do. Waits are of writes.
//! # Evidence
//! The test below, and the checks in each block: a torn read, or a write that is lost, fails the row.

use crate::guarded::Work;
use crate::names::waiting;
use crate::{Class, Plan, Topic};
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Duration;
use uncontended_atomic::CachePadded;
use uncontended_bench::{Bench, Block, Place};
use uncontended_locks::{RawRwLock, RwLock, SeqLock, VisitReaders, Waits, each_readers};
use uncontended_sys::clock::monotonic_ns;

/// What locks for readers are compared with.
pub(crate) const BASELINE: &str = "std RwLock";
const SEQLOCK: &str = "SeqLock";
/// Those that are measured where time is short.
const FEW: [&str; 3] = ["PhaseFair<SpinThenPark>", "Bravo<PhaseFair<SpinThenPark>>", SEQLOCK];
/// One access in this many writes.
const ONE_IN: [u64; 2] = [1_000, 10];
const ONE_IN_FEW: [u64; 1] = [100];
const BLOCK_NS: u64 = 10_000_000;
const MOST_WRITES: usize = 1 << 18;
/// A block that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(10);

type Value = [u64; 8];

/// A value that is read and written.
trait Reading: Sync {
    fn around(value: Value) -> Self;
    fn read<R>(&self, f: impl FnOnce(&Value) -> R) -> R;
    fn write<R>(&self, f: impl FnOnce(&mut Value) -> R) -> R;
}

impl<L: RawRwLock> Reading for RwLock<Value, L> {
    fn around(value: Value) -> Self {
        RwLock::with(L::default(), value)
    }

    #[inline(always)]
    fn read<R>(&self, f: impl FnOnce(&Value) -> R) -> R {
        f(&RwLock::read(self))
    }

    #[inline(always)]
    fn write<R>(&self, f: impl FnOnce(&mut Value) -> R) -> R {
        f(&mut RwLock::write(self))
    }
}

impl Reading for std::sync::RwLock<Value> {
    fn around(value: Value) -> Self {
        std::sync::RwLock::new(value)
    }

    #[inline(always)]
    fn read<R>(&self, f: impl FnOnce(&Value) -> R) -> R {
        f(&std::sync::RwLock::read(self).expect("no holder panics"))
    }

    #[inline(always)]
    fn write<R>(&self, f: impl FnOnce(&mut Value) -> R) -> R {
        f(&mut std::sync::RwLock::write(self).expect("no holder panics"))
    }
}

impl Reading for SeqLock<Value> {
    fn around(value: Value) -> Self {
        SeqLock::with(uncontended_locks::Futex::new(), value)
    }

    #[inline(always)]
    fn read<R>(&self, f: impl FnOnce(&Value) -> R) -> R {
        f(&SeqLock::read(self))
    }

    #[inline(always)]
    fn write<R>(&self, f: impl FnOnce(&mut Value) -> R) -> R {
        self.update(f)
    }
}

/// Their names, and what they do.
pub(crate) fn every_reader() -> Vec<(&'static str, String)> {
    struct List(Vec<(&'static str, String)>);
    impl VisitReaders for List {
        fn visit<L: RawRwLock + 'static>(&mut self, name: &'static str, waits: Waits) {
            self.0.push((name, format!("for readers; {}", waiting(waits))));
        }
    }
    let about = "std's lock for readers, with which those are compared".to_owned();
    let mut list = List(vec![(BASELINE, about)]);
    each_readers(&mut list);
    list.0.push((SEQLOCK, "for readers, who copy a small value and write nothing".to_owned()));
    list.0
}

/// Whether some lock for readers is among these, or all are meant.
pub(crate) fn is_asked(locks: &[&'static str]) -> bool {
    locks.is_empty() || every_reader().iter().any(|(name, _)| locks.contains(name))
}

/// The threads of a row, and how often they write.
#[derive(Clone, Copy)]
struct Shape {
    threads: usize,
    one_in: u64,
}

/// Measures locks for readers: `few` of them, by as many threads as CPUs, or all.
pub(crate) fn measure(plan: &Plan, cpus: usize, few: bool) -> Topic {
    let one_in: &[u64] = if few { &ONE_IN_FEW } else { &ONE_IN };
    let most = plan.threads.unwrap_or(2 * cpus);
    let mut counts = if few { vec![cpus.min(most)] } else { vec![1, cpus.min(most), most] };
    counts.dedup();
    let shapes: Vec<Shape> = (counts.iter())
        .flat_map(|&threads| one_in.iter().map(move |&one_in| Shape { threads, one_in }))
        .collect();
    let asked = |name: &str| match plan.locks.is_empty() {
        true => !few || FEW.contains(&name),
        false => plan.locks.contains(&name),
    };
    let mut bench = Bench::new("readers", "what does an access cost that mostly reads")
        .places([Place::Free])
        .per("access")
        .limit(LIMIT)
        .baseline(BASELINE);
    for &shape in &shapes {
        let mut rows =
            Rows { bench: Some(bench.case(shape.name())), shape, work: plan.work, asked: &asked };
        rows.add::<std::sync::RwLock<Value>>(BASELINE, true);
        each_readers(&mut rows);
        rows.add::<SeqLock<Value>>(SEQLOCK, asked(SEQLOCK));
        bench = rows.bench.take().expect("it is put back after each row");
    }
    let report = bench.until(plan.is_over).run(&plan.options());
    let shape = |case: &str| shapes.iter().find(|shape| shape.name() == case);
    let threads =
        |case: &str, _: &str| (shape(case).map_or(1, |shape| shape.threads), Class::Other);
    let mut topic = Topic::of(("locks", ""), &report, threads);
    for row in &mut topic.rows {
        row.one_write_in = shape(&row.case).map(|shape| shape.one_in);
    }
    topic
}

impl Shape {
    fn name(self) -> String {
        let threads = uncontended_figures::text::several(self.threads as u64, "thread", "threads");
        format!("{threads}, one write in {}", self.one_in)
    }
}

/// Adds a row to a benchmark for each lock.
struct Rows<'a> {
    bench: Option<Bench>,
    shape: Shape,
    work: Work,
    asked: &'a dyn Fn(&str) -> bool,
}

impl Rows<'_> {
    fn add<V: Reading + Send + 'static>(&mut self, name: &'static str, is_asked: bool) {
        if is_asked {
            let (shape, work) = (self.shape, self.work);
            let bench = self.bench.take().expect("it is put back after each row");
            self.bench = Some(bench.subject(name, move |block| run::<V>(block, shape, work)));
        }
    }
}

impl VisitReaders for Rows<'_> {
    fn visit<L: RawRwLock + 'static>(&mut self, name: &'static str, _: Waits) {
        let is_asked = (self.asked)(name);
        self.add::<RwLock<Value, L>>(name, is_asked);
    }
}

/// A block: for [`BLOCK_NS`], every thread reads, and writes each `one_in`-th time.
fn run<V: Reading>(block: &mut Block, shape: Shape, work: Work) {
    let value = CachePadded::new(V::around([0; 8]));
    let end = OnceLock::new();
    let mut waits: Vec<Vec<u64>> =
        (0..shape.threads).map(|_| Vec::with_capacity(MOST_WRITES)).collect();
    let threads = waits.iter_mut().map(|waits| {
        let (value, end) = (&*value, &end);
        Box::new(move || {
            let end = *end.get_or_init(|| monotonic_ns() + BLOCK_NS);
            access(value, end, shape.one_in, work, waits);
        }) as Box<dyn FnOnce() + Send>
    });
    block.team(|| {}, threads.collect());
    // From the first access on: threads that were not started yet do not count.
    let taken = monotonic_ns() - (end.get().expect("the threads ran") - BLOCK_NS);
    let writes: u64 = waits.iter().map(|waits| waits.len() as u64).sum();
    let is_kept = value.read(|value| *value == [writes; 8]);
    assert!(is_kept, "writes were lost: it does not lock");
    block.counts(taken, writes * shape.one_in);
    let all = || waits.iter().flatten().copied();
    block.figure("wait_ns", all().sum::<u64>() as f64 / writes.max(1) as f64);
    block.figure("longest_wait_ns", all().max().unwrap_or(0) as f64);
}

/// Reads, and writes each `one_in`-th time, until a write comes after `end`.
fn access(value: &impl Reading, end: u64, one_in: u64, work: Work, waits: &mut Vec<u64>) {
    let mut own = vec![CachePadded::new(0_u64); work.outside];
    loop {
        for _ in 1..one_in {
            let is_whole = value.read(|value| value.iter().all(|number| *number == value[0]));
            assert!(is_whole, "a read saw half of a write: it does not lock");
            own.iter_mut().for_each(|line| **line = black_box(**line + 1));
        }
        let called = monotonic_ns();
        let acquired = value.write(|value| {
            let acquired = monotonic_ns();
            value.iter_mut().for_each(|number| *number += 1);
            acquired
        });
        waits.push(acquired - called);
        if acquired >= end || waits.len() == MOST_WRITES {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_bench::Options;

    /// Lets writers change the value while others read it. (Each number is an atomic, so that the test has no race.)
    struct Torn([uncontended_atomic::AtomicU64; 8]);

    impl Reading for Torn {
        fn around(value: Value) -> Self {
            Torn(value.map(uncontended_atomic::AtomicU64::new))
        }

        fn read<R>(&self, f: impl FnOnce(&Value) -> R) -> R {
            f(&std::array::from_fn(|at| self.0[at].load(uncontended_atomic::Ordering::Relaxed)))
        }

        fn write<R>(&self, f: impl FnOnce(&mut Value) -> R) -> R {
            let mut value =
                std::array::from_fn(|at| self.0[at].load(uncontended_atomic::Ordering::Relaxed));
            let result = f(&mut value);
            for (own, number) in self.0.iter().zip(value) {
                own.store(number, uncontended_atomic::Ordering::Relaxed);
                std::thread::yield_now();
            }
            result
        }
    }

    fn failure<V: Reading + Send + 'static>() -> Option<String> {
        let (shape, work) = (Shape { threads: 3, one_in: 10 }, Work { inside: 1, outside: 2 });
        let bench = Bench::new("readers", "does it lock")
            .places([Place::Free])
            .subject("std", move |block| run::<std::sync::RwLock<Value>>(block, shape, work))
            .subject("other", move |block| run::<V>(block, shape, work));
        let report =
            bench.run(&Options { seconds: 2.0, rounds: 10, quiet: true, ..Options::default() });
        report.tables[0].outcome.as_ref().unwrap().rows.last().unwrap().failed.clone()
    }

    #[test]
    fn a_lock_that_lets_readers_see_half_of_a_write_is_named() {
        let why = failure::<Torn>().expect("a failure");
        assert!(why.contains("it does not lock"), "{why}");
        assert_eq!(failure::<SeqLock<Value>>(), None);
    }
}
