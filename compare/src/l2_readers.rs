//! Question: what does it cost to read a value that others read too, and that one access in ten, in a hundred, or in ten
//! thousand changes?
//!
//! The value is a cache line of eight numbers: a reader adds them up, a writer adds one to each. With one thread, a
//! block does nothing else. With several, each thread does so for 10 ms, and changes eight cache lines of its own
//! between; percentiles are of the waits to write, from the call to the acquisition, with two readings of the clock in
//! them. Reads are not timed one by one: the clock costs more than they do. Rivals: std's and parking_lot's locks. Not
//! measured: long reads, other work on the CPUs.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place, Ratio};
use uncontended_locks::{
    Bravo, PhaseFair, RawRwLock, RwLock, SeqLock, SpinThenPark, SpinThenYield,
};
use uncontended_sys::clock::monotonic_ns;

const BLOCK_NS: u64 = 10_000_000;
const MOST: usize = 1 << 18;

/// A cache line.
type Value = [u64; 8];

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench = Bench::new("l2_readers", "what it costs to read what others read too")
        .places([Place::TwoCpus])
        .per("access")
        .ratio(Ratio::Time)
        .limit(Duration::from_secs(10))
        .baseline("std");
    for one_in in [10_000, 100, 10] {
        for threads in [1, 2, 4, 8] {
            let with = if threads == 1 { "1 thread".into() } else { format!("{threads} threads") };
            let shape = (threads, one_in);
            bench = bench.case(format!("{with}, {} % writes", 100.0 / one_in as f64));
            bench = bench
                .subject("std", subject::<std::sync::RwLock<Value>>(shape))
                .subject("ours, phase-fair", subject::<RwLock<Value, PhaseFair>>(shape))
                .subject(
                    "ours, phase-fair that yields",
                    subject::<RwLock<Value, PhaseFair<SpinThenYield>>>(shape),
                )
                .subject(
                    "ours, bravo",
                    subject::<RwLock<Value, Bravo<PhaseFair<SpinThenPark>>>>(shape),
                )
                .subject("ours, seqlock", subject::<SeqLock<Value>>(shape))
                .subject("parking_lot", subject::<parking_lot::RwLock<Value>>(shape));
        }
    }
    crate::answer(bench, &options)
}

trait Lock: Send + Sync {
    fn new() -> Self;
    fn sum(&self) -> u64;
    /// Returns when it was acquired, if `timed`.
    fn add(&self, timed: bool) -> u64;
}

fn sum(value: &Value) -> u64 {
    value.iter().sum()
}

fn add(value: &mut Value, timed: bool) -> u64 {
    let acquired = if timed { monotonic_ns() } else { 0 };
    value.iter_mut().for_each(|number| *number += 1);
    acquired
}

impl<L: RawRwLock> Lock for RwLock<Value, L> {
    fn new() -> Self {
        RwLock::with(L::default(), [0; 8])
    }
    #[inline(always)]
    fn sum(&self) -> u64 {
        sum(&self.read())
    }
    #[inline(always)]
    fn add(&self, timed: bool) -> u64 {
        add(&mut self.write(), timed)
    }
}

impl Lock for SeqLock<Value> {
    fn new() -> Self {
        SeqLock::new([0; 8])
    }
    #[inline(always)]
    fn sum(&self) -> u64 {
        sum(&self.read())
    }
    #[inline(always)]
    fn add(&self, timed: bool) -> u64 {
        self.update(|value| add(value, timed))
    }
}

impl Lock for std::sync::RwLock<Value> {
    fn new() -> Self {
        std::sync::RwLock::new([0; 8])
    }
    #[inline(always)]
    fn sum(&self) -> u64 {
        sum(&self.read().expect("no holder panics"))
    }
    #[inline(always)]
    fn add(&self, timed: bool) -> u64 {
        add(&mut self.write().expect("no holder panics"), timed)
    }
}

impl Lock for parking_lot::RwLock<Value> {
    fn new() -> Self {
        parking_lot::RwLock::new([0; 8])
    }
    #[inline(always)]
    fn sum(&self) -> u64 {
        sum(&self.read())
    }
    #[inline(always)]
    fn add(&self, timed: bool) -> u64 {
        add(&mut self.write(), timed)
    }
}

/// A value on cache lines of its own.
#[repr(align(128))]
struct Apart<T>(T);

fn subject<L: Lock>((threads, one_in): (usize, u64)) -> impl FnMut(&mut Block) + Send + 'static {
    move |block| {
        let lock = Apart(L::new());
        if threads == 1 {
            alone(block, &lock.0, one_in);
        } else {
            contended(block, &lock.0, threads, one_in);
        }
    }
}

fn alone(block: &mut Block, lock: &impl Lock, one_in: u64) {
    let n = block.operations();
    block.measure(|| {
        for access in 1..=n {
            if access.is_multiple_of(one_in) {
                lock.add(false);
            } else {
                black_box(lock.sum());
            }
        }
    });
    assert_eq!(lock.sum(), 8 * (n / one_in), "writes were lost");
}

fn contended(block: &mut Block, lock: &impl Lock, threads: usize, one_in: u64) {
    let end = OnceLock::new();
    let mut waits: Vec<Vec<u64>> = (0..threads).map(|_| Vec::with_capacity(MOST)).collect();
    let mut members = waits.iter_mut().map(|waits| {
        let end = &end;
        move || access(lock, *end.get_or_init(|| monotonic_ns() + BLOCK_NS), one_in, waits)
    });
    let own = members.next().expect("there are threads");
    let others = members.map(|member| Box::new(member) as Box<dyn FnOnce() + Send>).collect();
    block.team(own, others);
    // From the first access on: threads that were not started yet do not count.
    let taken = monotonic_ns() - (end.get().expect("the threads ran") - BLOCK_NS);
    let writes: u64 = waits.iter().map(|waits| waits.len() as u64).sum();
    assert_eq!(lock.sum(), 8 * writes, "writes were lost");
    block.counts(taken, writes * one_in);
    block.latencies_ns(waits.into_iter().flatten());
}

/// Reads, and writes each `one_in`-th time, until a write comes after `end`.
fn access(lock: &impl Lock, end: u64, one_in: u64, waits: &mut Vec<u64>) {
    let mut own =
        [Apart(0_u64), Apart(0), Apart(0), Apart(0), Apart(0), Apart(0), Apart(0), Apart(0)];
    loop {
        for _ in 1..one_in {
            let sum = lock.sum();
            assert!(sum.is_multiple_of(8), "a torn read");
            own.iter_mut().for_each(|line| line.0 = black_box(line.0 + sum));
        }
        let called = monotonic_ns();
        let acquired = lock.add(true);
        waits.push(acquired - called);
        if acquired >= end || waits.len() == MOST {
            return;
        }
    }
}
