//! Question: how many items per second reach two consumers that each see all of them, with three threads on two CPUs?
//!
//! Items of 64 bytes, capacity 1,024. Rivals: the disruptor with consumers that it manages, in each of its strategies,
//! and with pollers. "lag" is the maximum distance of the slowest consumer, which the producer samples every 256 items.
//! Not measured: consumers that follow each other, or that share the items.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place, Ratio};

use crate::rivals::broadcasts::{Broadcast, Managed, Pollers, Seen, Strategy, slowest};
use crate::rivals::ours;
use crate::rivals::payload::{Words, checksum};
use crate::rivals::pipe::Apart;

type Item = Words<8>;
const CAPACITY: usize = 1_024;
const LOOK: u64 = 256;

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench = Bench::new("r5_broadcast", "how many items a second reach two consumers")
        .places([Place::TwoCpus, Place::Free])
        .per("item")
        .ratio(Ratio::Speed)
        .baseline("disruptor, Sleep 10 µs")
        .block(Duration::from_millis(20));
    for strategy in Strategy::ALL {
        bench = bench.subject(strategy.name(), managed(strategy));
    }
    bench = bench.subject("disruptor, pollers", own::<Pollers>());
    bench = bench
        .subject("ours, blocking", own::<ours::BlockingBroadcast>())
        .subject("ours, polled", own::<ours::PolledBroadcast>());
    crate::answer(bench, &options)
}

fn managed(strategy: Strategy) -> impl FnMut(&mut Block) + Send + 'static {
    move |block| {
        let n = block.at_least(4 * CAPACITY as u64);
        let mut disruptor = Managed::new::<Item>(CAPACITY, strategy, 2, block.pinning());
        let mut lag = 0;
        block.measure(|| {
            for from in (0..n).step_by(LOOK as usize) {
                let to = (from + LOOK).min(n);
                disruptor.publish(from, to);
                lag = lag.max(1 + to - disruptor.slowest());
            }
            while disruptor.slowest() <= n {
                std::thread::yield_now();
            }
        });
        for seen in disruptor.seen.iter() {
            assert_eq!(seen.sum.load(Relaxed), checksum::<Item>(0, n));
        }
        block.figure("lag, items", lag as f64);
    }
}

fn own<B: Broadcast<Item>>() -> impl FnMut(&mut Block) + Send + 'static {
    move |block| {
        let n = block.at_least(4 * CAPACITY as u64);
        let (sender, receivers) = B::new(CAPACITY);
        let mut sender = Apart(sender);
        let seen = [Seen::default(), Seen::default()];
        let mut lag = 0;
        let consumers = receivers.into_iter().zip(&seen).map(|(receiver, seen)| {
            let mut receiver = Apart(receiver);
            let work = move || {
                assert_eq!(B::receive(&mut receiver, n, &seen.count), checksum::<Item>(0, n));
            };
            Box::new(work) as Box<dyn FnOnce() + Send>
        });
        block.team(
            || {
                for from in (0..n).step_by(LOOK as usize) {
                    let to = (from + LOOK).min(n);
                    B::send(&mut sender, from, to);
                    lag = lag.max(to - slowest(&seen));
                }
            },
            consumers.collect(),
        );
        block.figure("lag, items", lag as f64);
    }
}
