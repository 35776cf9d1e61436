//! Question: how long is an item under way when items come at a given rate?
//!
//! Items of 8 bytes arrive at random (Poisson) at a share of the rate that crossbeam-channel carries at most here, the
//! same for all. A producer that waits for each arrival by the clock sends them through a queue of 1,024. An item's
//! time runs from when it was due, not from when the producer came to send it, until the consumer has it: a queue that
//! holds its producer up is charged for all that came meanwhile (no coordinated omission). The first column is the mean.
//! Rivals: as in r1; those that do not block are polled at the consumer's end.
//! Not measured: more than one producer (r11), one CPU (r6), items in bursts (r2).

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use std::time::{Duration, Instant};
use uncontended_bench::{Bench, Block, Options, Place};
use uncontended_sys::clock::{Moment, ticks};

use crate::rivals::payload::{Words, checksum};
use crate::rivals::pipe::{Pipe, sides, warm};
use crate::rivals::queues::{self, Foreign, if_here};
use crate::rivals::{ours, pipes};

type Item = Words<1>;
const CAPACITY: usize = 1_024;

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let most_ns = saturated_ns();
    let mut bench =
        Bench::new("r10_one_way", "how long is an item under way when items come at a given rate")
            .places([Place::TwoCpus])
            .per("item")
            .baseline("crossbeam-channel")
            .block(Duration::from_millis(20))
            .note(format!(
                "100 % is what crossbeam-channel carried at most, an item every {most_ns:.1} ns; times run from when an item was due."
            ));
    for percent in [10, 50, 80, 95] {
        let every_ns = most_ns * 100.0 / f64::from(percent);
        bench = subjects(bench.case(format!("{percent} %")), every_ns);
    }
    crate::answer(bench, &options)
}

fn subjects(bench: Bench, every_ns: f64) -> Bench {
    let bench = bench
        .subject("crossbeam-channel", arrivals::<pipes::CrossbeamChannel>(every_ns))
        .subject("ours, blocking", arrivals::<ours::Blocking>(every_ns))
        .subject("ours, polled", arrivals::<ours::Polled>(every_ns))
        .subject("crossfire", arrivals::<pipes::Crossfire>(every_ns))
        .subject("kanal", arrivals::<pipes::Kanal>(every_ns))
        .subject("flume", arrivals::<pipes::Flume>(every_ns))
        .subject("std sync_channel", arrivals::<pipes::Std>(every_ns))
        .subject("rtrb, polled", arrivals::<pipes::Rtrb>(every_ns))
        .subject("disruptor, poller", arrivals::<pipes::Disruptor>(every_ns));
    let bench = if_here::<Item, { queues::RIGTORP }>(bench, |bench| {
        bench.subject("rigtorp, polled", arrivals::<Foreign<{ queues::RIGTORP }>>(every_ns))
    });
    if_here::<Item, { queues::BOOST }>(bench, |bench| {
        bench.subject("Boost, polled", arrivals::<Foreign<{ queues::BOOST }>>(every_ns))
    })
}

/// The time of an item in the fastest of some streams through crossbeam-channel.
fn saturated_ns() -> f64 {
    const ITEMS: u64 = 500_000;
    let stream = || {
        let (mut sender, mut receiver) = sides::<Item, pipes::CrossbeamChannel>(CAPACITY);
        let from = warm::<Item, pipes::CrossbeamChannel>(&mut sender, &mut receiver, CAPACITY);
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                <pipes::CrossbeamChannel as Pipe<Item>>::send(&mut sender, from, from + ITEMS);
            });
            let sum = <pipes::CrossbeamChannel as Pipe<Item>>::receive(&mut receiver, ITEMS);
            assert_eq!(sum, checksum::<Item>(from, from + ITEMS));
        });
        start.elapsed().as_nanos() as f64 / ITEMS as f64
    };
    (0..5).map(|_| stream()).fold(f64::INFINITY, f64::min)
}

/// One block: items due at random times, `every_ns` apart on average. An item's number is the tick at which it is due.
fn arrivals<P: Pipe<Item>>(every_ns: f64) -> impl FnMut(&mut Block) + Send + 'static {
    let mut random = SmallRng::seed_from_u64(10);
    let tick_ns = tick_ns();
    move |block| {
        let n = block.operations();
        let (mut sender, mut receiver) = sides::<Item, P>(CAPACITY);
        warm::<Item, P>(&mut sender, &mut receiver, CAPACITY);
        let mut at = 0.0;
        let mut after = || {
            at -= random.random::<f64>().max(f64::MIN_POSITIVE).ln() * every_ns / tick_ns;
            at as u64
        };
        let due: Vec<u64> = (0..n).map(|_| after()).collect();
        let mut taken = vec![0u64; n as usize];
        block.pair(
            || {
                let start = ticks();
                for after in due {
                    let due = start + after;
                    while ticks() < due {
                        std::hint::spin_loop();
                    }
                    P::send(&mut sender, due, due + 1);
                }
            },
            || {
                for taken in &mut taken {
                    let due = P::receive(&mut receiver, 1);
                    *taken = ticks().saturating_sub(due);
                }
            },
        );
        let taken = taken.into_iter().map(|ticks| (ticks as f64 * tick_ns) as u64);
        let taken: Vec<u64> = taken.collect();
        block.counts(taken.iter().sum(), n);
        block.latencies_ns(taken);
    }
}

/// How long a tick is, by a tenth of a second.
pub fn tick_ns() -> f64 {
    static TICK_NS: std::sync::OnceLock<f64> = std::sync::OnceLock::new();
    *TICK_NS.get_or_init(|| {
        let start = Moment::now();
        std::thread::sleep(Duration::from_millis(100));
        start.tick_ns(Moment::now())
    })
}
