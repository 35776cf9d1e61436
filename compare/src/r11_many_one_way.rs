//! Question: how long is an item of one of many producers under way to their consumer, if all sleep while they wait?
//!
//! Items of 64 bytes, in queues of 1,024. Each producer sleeps, wakes and pushes 16 items, as threads do that write
//! lines into a log. Together they push an item every 5 µs on average, which leaves the CPUs idle for most of the time.
//! An item's time runs from when its push begins until the consumer has it; a push that waits is charged for its wait.
//! The first column is the mean. Rivals: as in r7.
//! Not measured: a full queue (r7), one producer at rates up to saturation (r10).

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place};
use uncontended_sys::clock::ticks;

use crate::r10_one_way::tick_ns;
use crate::rivals::many::{Crossbeam, Flume, Item, Kanal, Lanes, Ours, Queue, Std};
use crate::rivals::payload::Payload;

const CAPACITY: usize = 1_024;
/// The items of a producer that follow each other.
const RUN: u64 = 16;
/// The time of an item on average.
const EVERY: Duration = Duration::from_micros(5);

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench =
        Bench::new("r11_many_one_way", "how long an item of one of many producers is under way")
            .places([Place::Free, Place::OneCpu])
            .per("item")
            .baseline("crossbeam-channel")
            .block(Duration::from_millis(50))
            .note(
                "times run from when a push begins; the producers sleep between runs of 16 items",
            );
    for producers in [2, 8, 32] {
        bench = bench
            .case(format!("{producers} producers"))
            .subject("crossbeam-channel", runs::<Crossbeam>(producers))
            .subject("ours, mpsc", runs::<Ours>(producers))
            .subject("ours, lanes", runs::<Lanes<true>>(producers))
            .subject("kanal", runs::<Kanal>(producers))
            .subject("flume", runs::<Flume>(producers))
            .subject("std sync_channel", runs::<Std>(producers));
    }
    crate::answer(bench, &options)
}

/// One block: with a fresh queue, each producer sends its runs at random times. An item's number is the tick at which
/// its push begins.
fn runs<Q: Queue>(producers: u64) -> impl FnMut(&mut Block) + Send + 'static {
    let mut random = SmallRng::seed_from_u64(11);
    let tick_ns = tick_ns();
    move |block| {
        let count = block.at_least(RUN * producers) / (RUN * producers);
        let (senders, mut receiver) = Q::new(CAPACITY, producers as usize);
        let sending = senders.into_iter().map(|mut sender| {
            let pauses: Vec<Duration> = (0..count)
                .map(|_| {
                    EVERY.mul_f64(
                        -random.random::<f64>().max(f64::MIN_POSITIVE).ln()
                            * (RUN * producers) as f64,
                    )
                })
                .collect();
            Box::new(move || {
                for pause in pauses {
                    std::thread::sleep(pause);
                    (0..RUN).for_each(|_| Q::send(&mut sender, Item::new(ticks())));
                }
            }) as Box<dyn FnOnce() + Send>
        });
        let mut taken = vec![0u64; (count * RUN * producers) as usize];
        let sending = sending.collect();
        block.team(
            || {
                for taken in &mut taken {
                    let began = Q::receive(&mut receiver).sum() / Item::new(1).sum();
                    *taken = ticks().saturating_sub(began);
                }
            },
            sending,
        );
        let taken: Vec<u64> =
            taken.into_iter().map(|ticks| (ticks as f64 * tick_ns) as u64).collect();
        block.counts(taken.iter().sum(), taken.len() as u64);
        block.latencies_ns(taken);
    }
}
