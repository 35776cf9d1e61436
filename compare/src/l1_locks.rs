//! Question: what does a lock cost, free and wanted by several threads, and how long do they wait for it?
//!
//! With one thread, a block locks and unlocks, and nothing else. With several, each thread acquires the lock for 10 ms,
//! changes a cache line with it and eight of its own without; percentiles are of the waits, from the call to the
//! acquisition, with two readings of the clock in them. Rivals: std's mutex, parking_lot's, spin's, the C library's.
//! Not measured: fairness, other work on the CPUs (`unc survey locks` has idle times and overtakings).

use std::sync::OnceLock;
use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place, Ratio};
use uncontended_locks::{
    Bounded, Combining, Futex, HintThenYield, Mcs, Mutex, PreemptionAware, Published, RawLock,
    Reciprocating, SpinThenPark, Ttas, WordQueue, Yield,
};
use uncontended_sys::c_mutex::CMutex;
use uncontended_sys::clock::monotonic_ns;

const BLOCK_NS: u64 = 10_000_000;
const MOST: usize = 1 << 18;

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench = Bench::new("l1_locks", "what a lock costs, free and contended")
        .places([Place::TwoCpus])
        .per("acquisition")
        .ratio(Ratio::Time)
        .limit(Duration::from_secs(10))
        .baseline("std");
    for threads in [1, 2, 4, 8] {
        bench =
            bench.case(if threads == 1 { "1 thread".into() } else { format!("{threads} threads") });
        bench = bench
            .subject("std", subject::<std::sync::Mutex<u64>>(threads))
            .subject("ours, futex", subject::<Mutex<u64, Futex>>(threads))
            .subject(
                "ours, ttas that yields after 16 hints",
                subject::<Mutex<u64, Ttas<HintThenYield>>>(threads),
            )
            .subject("ours, ttas that yields", subject::<Mutex<u64, Ttas<Yield>>>(threads))
            .subject("ours, preemption-aware", subject::<Mutex<u64, PreemptionAware>>(threads))
            .subject("ours, word queue", subject::<Mutex<u64, WordQueue>>(threads))
            .subject("ours, bounded", subject::<Mutex<u64, Bounded>>(threads))
            .subject(
                "ours, reciprocating that parks",
                subject::<Mutex<u64, Reciprocating<SpinThenPark>>>(threads),
            )
            .subject("ours, published", subject::<Mutex<u64, Published>>(threads))
            .subject("ours, combining", subject::<Combining<u64>>(threads))
            .subject("ours, mcs that parks", subject::<Mutex<u64, Mcs<SpinThenPark>>>(threads))
            .subject("parking_lot", subject::<parking_lot::Mutex<u64>>(threads))
            .subject("parking_lot, fair", subject::<FairMutex>(threads))
            .subject("spin", subject::<spin::Mutex<u64>>(threads))
            .subject("C library", subject::<CMutex<u64>>(threads));
    }
    crate::answer(bench, &options)
}

trait Lock: Send + Sync {
    fn new() -> Self;
    fn with<R: Send>(&self, f: impl FnOnce(&mut u64) -> R + Send) -> R;
}

impl Lock for Combining<u64> {
    fn new() -> Self {
        Combining::new(0)
    }
    #[inline(always)]
    fn with<R: Send>(&self, f: impl FnOnce(&mut u64) -> R + Send) -> R {
        self.run(f)
    }
}

impl<L: RawLock> Lock for Mutex<u64, L> {
    fn new() -> Self {
        Mutex::with(L::default(), 0)
    }
    #[inline(always)]
    fn with<R: Send>(&self, f: impl FnOnce(&mut u64) -> R + Send) -> R {
        f(&mut self.lock())
    }
}

impl Lock for std::sync::Mutex<u64> {
    fn new() -> Self {
        std::sync::Mutex::new(0)
    }
    #[inline(always)]
    fn with<R: Send>(&self, f: impl FnOnce(&mut u64) -> R + Send) -> R {
        f(&mut self.lock().expect("no holder panics"))
    }
}

impl Lock for parking_lot::Mutex<u64> {
    fn new() -> Self {
        parking_lot::Mutex::new(0)
    }
    #[inline(always)]
    fn with<R: Send>(&self, f: impl FnOnce(&mut u64) -> R + Send) -> R {
        f(&mut self.lock())
    }
}

struct FairMutex(parking_lot::FairMutex<u64>);

impl Lock for FairMutex {
    fn new() -> Self {
        FairMutex(parking_lot::FairMutex::new(0))
    }
    #[inline(always)]
    fn with<R: Send>(&self, f: impl FnOnce(&mut u64) -> R + Send) -> R {
        f(&mut self.0.lock())
    }
}

impl Lock for spin::Mutex<u64> {
    fn new() -> Self {
        spin::Mutex::new(0)
    }
    #[inline(always)]
    fn with<R: Send>(&self, f: impl FnOnce(&mut u64) -> R + Send) -> R {
        f(&mut self.lock())
    }
}

impl Lock for CMutex<u64> {
    fn new() -> Self {
        CMutex::new(0)
    }
    #[inline(always)]
    fn with<R: Send>(&self, f: impl FnOnce(&mut u64) -> R + Send) -> R {
        CMutex::with(self, f)
    }
}

/// A value on cache lines of its own.
#[repr(align(128))]
struct Apart<T>(T);

fn subject<L: Lock>(threads: usize) -> impl FnMut(&mut Block) + Send + 'static {
    move |block| {
        let lock = Apart(L::new());
        if threads == 1 {
            let n = block.operations();
            block.measure(|| (0..n).for_each(|_| lock.0.with(|value| *value += 1)));
            assert_eq!(lock.0.with(|value| *value), n);
        } else {
            contended(block, &lock.0, threads);
        }
    }
}

fn contended(block: &mut Block, lock: &impl Lock, threads: usize) {
    let end = OnceLock::new();
    let mut waits: Vec<Vec<u64>> = (0..threads).map(|_| Vec::with_capacity(MOST)).collect();
    let mut members = waits.iter_mut().map(|waits| {
        let end = &end;
        move || acquire(lock, *end.get_or_init(|| monotonic_ns() + BLOCK_NS), waits)
    });
    let own = members.next().expect("there are threads");
    let others = members.map(|member| Box::new(member) as Box<dyn FnOnce() + Send>).collect();
    block.team(own, others);
    // From the first acquisition on: threads that were not started yet do not count.
    let taken = monotonic_ns() - (end.get().expect("the threads ran") - BLOCK_NS);
    let all = waits.iter().map(|waits| waits.len() as u64).sum();
    assert_eq!(lock.with(|value| *value), all, "increments were lost");
    block.counts(taken, all);
    block.latencies_ns(waits.into_iter().flatten());
}

fn acquire(lock: &impl Lock, end: u64, waits: &mut Vec<u64>) {
    let mut own =
        [Apart(0_u64), Apart(0), Apart(0), Apart(0), Apart(0), Apart(0), Apart(0), Apart(0)];
    loop {
        let called = monotonic_ns();
        let acquired = lock.with(|value| {
            let acquired = monotonic_ns();
            *value += 1;
            acquired
        });
        waits.push(acquired - called);
        own.iter_mut().for_each(|line| line.0 = std::hint::black_box(line.0 + 1));
        if acquired >= end || waits.len() == MOST {
            return;
        }
    }
}
