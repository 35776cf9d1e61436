//! Question: how many items per second do many producers hand to one consumer, if all of them sleep while they wait?
//!
//! Items of 64 bytes. Producers take turns as the kernel schedules them; the ring is full most of the time. Rivals:
//! crossbeam's channel, kanal, flume, std's bounded channel.
//! Not measured: producers that poll, one-way latency (r11).

use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place, Ratio};

use crate::rivals::many::{Crossbeam, Flume, Item, Kanal, Lanes, Ours, Queue, Std};
use crate::rivals::payload::{Payload, checksum};

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench =
        Bench::new("r7_many_producers", "how many items a second many producers hand over")
            .places([Place::Free, Place::OneCpu])
            .per("item")
            .summarised()
            .ratio(Ratio::Speed)
            .baseline("crossbeam-channel")
            .block(Duration::from_millis(20));
    for capacity in [64, 1_024] {
        for producers in [1, 2, 4, 8, 16, 64] {
            bench = bench
                .case(format!("{producers} producers, {capacity}"))
                .subject("crossbeam-channel", many::<Crossbeam>(producers, capacity))
                .subject("ours, mpsc", many::<Ours>(producers, capacity))
                .subject("ours, lanes", many::<Lanes<true>>(producers, capacity))
                .subject("ours, lanes of a part", many::<Lanes<false>>(producers, capacity))
                .subject("kanal", many::<Kanal>(producers, capacity))
                .subject("flume", many::<Flume>(producers, capacity))
                .subject("std sync_channel", many::<Std>(producers, capacity));
        }
    }
    crate::answer(bench, &options)
}

/// One block: with a fresh queue, each producer sends its part, and the consumer checks the sum.
fn many<Q: Queue>(producers: u64, capacity: usize) -> impl FnMut(&mut Block) + Send + 'static {
    move |block| {
        let each = block.at_least(4 * capacity as u64 * producers) / producers;
        let (senders, mut receiver) = Q::new(capacity, producers as usize);
        let sending = senders.into_iter().zip(0..producers).map(|(mut sender, mine)| {
            let items = mine * each..(mine + 1) * each;
            Box::new(move || items.for_each(|n| Q::send(&mut sender, Item::new(n))))
                as Box<dyn FnOnce() + Send>
        });
        block.team(
            || {
                let sums = (0..each * producers).map(|_| Q::receive(&mut receiver).sum());
                let sum = sums.fold(0, u64::wrapping_add);
                assert_eq!(sum, checksum::<Item>(0, each * producers));
            },
            sending.collect(),
        );
    }
}
