//! What an increment costs as it becomes contended, and the ways out.
//!
//! # Sources
//! Document 004: 500 million increments of a 64-bit counter on a Westmere of 2.4 GHz, in milliseconds.

use crate::{Class, Plan, Topic};
use std::hint::black_box;
use uncontended_atomic::Ordering::{Relaxed, SeqCst};
use uncontended_atomic::{AtomicU64, CachePadded, fence};
use uncontended_bench::{Bench, Block, Cpu, Place};
use uncontended_locks::Mutex;
use uncontended_ring::lanes;

pub(crate) const QUESTION: &str = "what does an increment cost as it becomes contended";

/// What stands below the figures: document 004's, as ratios to one plain thread.
const DOCUMENT: [(&str, usize, f64); 6] = [
    ("plain", 1, 300.0),
    ("barrier", 1, 4_700.0),
    ("compare-and-swap", 1, 5_700.0),
    ("compare-and-swap", 2, 18_000.0),
    ("lock", 1, 10_000.0),
    ("lock", 2, 118_000.0),
];

/// A way to increment a counter.
#[derive(Clone, Copy, Debug)]
enum Way {
    Plain,
    Barrier,
    FetchAdd,
    CompareAndSwap,
    Lock,
    StdLock,
    OwnCounter,
    Writer,
}

const WAYS: [(&str, Way); 8] = [
    ("plain", Way::Plain),
    ("barrier", Way::Barrier),
    ("fetch-add", Way::FetchAdd),
    ("compare-and-swap", Way::CompareAndSwap),
    ("lock", Way::Lock),
    ("std lock", Way::StdLock),
    ("counter per thread", Way::OwnCounter),
    ("one writer, by a ring", Way::Writer),
];

/// Measures the ladder.
pub(crate) fn measure(plan: &Plan) -> Topic {
    let cpus = Cpu::allowed().map_or(1, |cpus| cpus.len());
    let most = plan.threads.unwrap_or(2 * cpus);
    let mut counts: Vec<usize> =
        [1, 2, cpus, 2 * cpus, most].into_iter().filter(|&n| n <= most).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut topic = by_threads(plan, &counts, &|_| true);
    if cpus == 1 {
        topic
            .not_measured
            .push("contention: only one CPU is allowed, so threads take turns".to_owned());
    }
    topic.notes.push(document());
    topic
}

/// The ways to increment a counter that several threads may take.
pub(crate) fn shared(plan: &Plan, counts: &[usize]) -> Topic {
    by_threads(plan, counts, &|way| !matches!(way, Way::Barrier | Way::OwnCounter | Way::Writer))
}

/// Measures ways with each of these numbers of threads.
fn by_threads(plan: &Plan, counts: &[usize], wants: &dyn Fn(Way) -> bool) -> Topic {
    let cpus = Cpu::allowed().map_or(1, |cpus| cpus.len());
    let mut bench = Bench::new("contention", QUESTION).places([Place::Free]).per("increment");
    let mut rows = Vec::new();
    for &threads in counts {
        for (name, way) in WAYS {
            if !makes_sense(way, threads) || !wants(way) {
                continue;
            }
            let label = format!("{name}, {threads}");
            rows.push((label.clone(), name, threads));
            let place = if threads == 2 && cpus > 1 { Place::TwoCpus } else { Place::Free };
            bench = bench.subject_at(place, &label, move |block| way.run(block, threads));
        }
    }
    let report = bench.until(plan.is_over).run(&plan.options());
    let known = |label: &str| rows.iter().find(|(own, ..)| label.starts_with(own.as_str()));
    let mut topic = Topic::of(("contention", QUESTION), &report, |_, label| {
        (known(label).map_or(1, |(_, _, threads)| *threads), Class::Other)
    });
    for row in &mut topic.rows {
        if let Some((label, name, _)) = known(&row.name) {
            row.name = row.name.replacen(label, name, 1);
        }
    }
    topic.baseline = Some("one plain thread".to_owned());
    topic
}

/// Plain increments by several threads lose some; a barrier between them does not help.
fn makes_sense(way: Way, threads: usize) -> bool {
    match way {
        Way::Plain | Way::Barrier => threads == 1,
        Way::OwnCounter | Way::Writer => threads > 1,
        _ => true,
    }
}

fn document() -> String {
    let plain = DOCUMENT[0].2;
    let ratios: Vec<String> = DOCUMENT[1..]
        .iter()
        .map(|(name, threads, ms)| {
            let ratio = uncontended_figures::number(ms / plain);
            format!(
                "{name} {ratio} ({})",
                uncontended_figures::text::several(*threads as u64, "thread", "threads")
            )
        })
        .collect();
    format!(
        "a Westmere of 2.4 GHz in 2011, in Java, relative to one plain thread (0.6 ns): {}",
        ratios.join(", ")
    )
}

impl Way {
    fn run(self, block: &mut Block, threads: usize) {
        let counter = CachePadded::new(AtomicU64::new(0));
        let n = block.at_least(threads as u64);
        let share = |thread: u64| n / threads as u64 + u64::from(thread < n % threads as u64);
        match self {
            Way::Plain => {
                each_alone(block, n, || counter.store(counter.load(Relaxed) + 1, Relaxed))
            }
            Way::Barrier => each_alone(block, n, || {
                counter.store(counter.load(Relaxed) + 1, Relaxed);
                fence(SeqCst); // What is measured: it orders this store before the next load.
            }),
            Way::FetchAdd => together(block, threads, &share, || {
                counter.fetch_add(1, Relaxed); // On x86 every order costs the same.
            }),
            Way::CompareAndSwap => together(block, threads, &share, || {
                let mut seen = counter.load(Relaxed);
                while let Err(now) = counter.compare_exchange_weak(seen, seen + 1, Relaxed, Relaxed)
                {
                    seen = now;
                }
            }),
            Way::Lock => {
                let locked = CachePadded::new(Mutex::new(0_u64));
                together(block, threads, &share, || *locked.lock() += 1);
                assert_eq!(*locked.lock(), n, "increments were lost");
                return;
            }
            Way::StdLock => {
                let locked = CachePadded::new(std::sync::Mutex::new(0));
                together(block, threads, &share, || *locked.lock().expect("no holder panics") += 1);
                assert_eq!(*locked.lock().expect("no holder panics"), n, "increments were lost");
                return;
            }
            Way::OwnCounter => {
                let counters: Vec<_> =
                    (0..threads).map(|_| CachePadded::new(AtomicU64::new(0))).collect();
                own_counters(block, &counters, &share);
                let sum: u64 = counters.iter().map(|counter| counter.load(Relaxed)).sum();
                assert_eq!(sum, n, "increments were lost");
                return;
            }
            Way::Writer => {
                return assert_eq!(one_writer(block, threads, &share), n, "increments were lost");
            }
        }
        assert_eq!(counter.load(Relaxed), n, "increments were lost");
    }
}

/// The increments of one thread, and what the compiler may not merge.
#[inline(always)]
fn repeat(n: u64, increment: impl Fn()) {
    for _ in 0..n {
        increment();
    }
}

fn each_alone(block: &mut Block, n: u64, increment: impl Fn()) {
    block.measure(|| repeat(n, increment));
}

fn together(
    block: &mut Block,
    threads: usize,
    share: &dyn Fn(u64) -> u64,
    increment: impl Fn() + Sync,
) {
    let increment = &increment;
    let work = |thread: u64| {
        let n = share(thread);
        Box::new(move || repeat(n, increment)) as Box<dyn FnOnce() + Send>
    };
    let own = share(0);
    if threads == 1 {
        return each_alone(block, own, increment);
    }
    block.team(|| repeat(own, increment), (1..threads as u64).map(work).collect());
}

/// Each thread stores to a counter of its own, which others may read.
fn own_counters(
    block: &mut Block,
    counters: &[CachePadded<AtomicU64>],
    share: &dyn Fn(u64) -> u64,
) {
    let add = |counter: &AtomicU64| counter.store(counter.load(Relaxed) + 1, Relaxed);
    let mut parts = counters.iter().zip(0..);
    let (first, _) = parts.next().expect("there is a thread");
    let others = parts.map(|(counter, thread)| {
        let n = share(thread);
        Box::new(move || repeat(n, || add(counter))) as Box<dyn FnOnce() + Send>
    });
    let own = share(0);
    block.team(|| repeat(own, || add(first)), others.collect());
}

/// The other threads send their increments to the first, which alone writes the counter.
fn one_writer(block: &mut Block, threads: usize, share: &dyn Fn(u64) -> u64) -> u64 {
    let (producer, mut consumer) =
        lanes::blocking::<u64>(threads, 1024).expect("a capacity of 1,024");
    let mut senders: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for thread in 1..threads as u64 {
        // The first thread's own part is sent by the second.
        let n = share(thread) + if thread == 1 { share(0) } else { 0 };
        let mut producer = producer.try_clone().expect("a lane for each thread");
        senders.push(Box::new(move || {
            (0..n).for_each(|_| producer.push_wait(1).expect("the consumer takes all"));
        }));
    }
    drop(producer);
    let mut sum = 0;
    block.team(
        || {
            let mut taken = Vec::with_capacity(1024);
            while consumer.pop_into_wait(&mut taken, 1024).is_some() {
                sum += black_box(taken.drain(..).sum::<u64>());
            }
        },
        senders,
    );
    sum
}
