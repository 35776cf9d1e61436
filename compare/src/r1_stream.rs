//! Question: how many items per second does a stream from one thread to another carry?
//!
//! Rivals: rtrb, ringbuf, crossbeam's queue and channel, kanal, flume, crossfire, the disruptor, std's bounded channel;
//! where they are installed, Boost's and rigtorp's queues (C++) and Concurrency Kit's ring (C).
//! Rivals that do not block are polled with the processor's spin hint. Every item is written in full, read in full and
//! checksummed.
//! Not measured: more than one producer or consumer, idle time (r4), wake-ups (r3), one CPU (r6).

use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place, Ratio};

use crate::rivals::payload::{Payload, Words, checksum};
use crate::rivals::pipe::{Pipe, sides, warm};
use crate::rivals::queues::{self, Foreign, if_here};
use crate::rivals::{ours, pipes};

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench = Bench::new("r1_stream", "how many items a second does a stream carry")
        .places([Place::TwoCpus])
        .per("item")
        .summarised()
        .ratio(Ratio::Speed)
        .baseline("rtrb")
        .block(Duration::from_millis(5))
        .note("Those that are polled spin with the processor's hint, except for one row; chunks and batches are of at most 64 items.");
    for capacity in [64, 1_024, 65_536] {
        bench = subjects::<Words<1>>(bench.case(format!("{capacity} × 8 B")), capacity);
        bench = subjects::<Words<8>>(bench.case(format!("{capacity} × 64 B")), capacity);
        bench = subjects::<Words<32>>(bench.case(format!("{capacity} × 256 B")), capacity);
    }
    crate::answer(bench, &options)
}

fn subjects<T: Payload>(bench: Bench, capacity: usize) -> Bench {
    let bench = bench
        .subject("rtrb", stream::<T, pipes::Rtrb>(capacity))
        .subject("ours, polled", stream::<T, ours::Polled>(capacity))
        .subject("rtrb, no spin hint", stream::<T, pipes::RtrbUnhinted>(capacity))
        .subject("ours, blocking", stream::<T, ours::Blocking>(capacity))
        .subject("ringbuf", stream::<T, pipes::Ringbuf>(capacity))
        .subject("disruptor, poller", stream::<T, pipes::Disruptor>(capacity))
        .subject("disruptor, batches", stream::<T, pipes::DisruptorBatches>(capacity))
        .subject("crossbeam-queue", stream::<T, pipes::CrossbeamQueue>(capacity))
        .subject("rtrb, chunks", stream::<T, pipes::RtrbChunks>(capacity))
        .subject("ours, batches", stream::<T, ours::PolledBatches>(capacity))
        .subject("rtrb, slices", stream::<T, pipes::RtrbSlices>(capacity))
        .subject("ours, slices", stream::<T, ours::PolledSlices>(capacity))
        .subject("ours, blocking batches", stream::<T, ours::BlockingBatches>(capacity))
        .subject("crossbeam-channel", stream::<T, pipes::CrossbeamChannel>(capacity))
        .subject("crossfire", stream::<T, pipes::Crossfire>(capacity))
        .subject("kanal", stream::<T, pipes::Kanal>(capacity))
        .subject("flume", stream::<T, pipes::Flume>(capacity))
        .subject("std sync_channel", stream::<T, pipes::Std>(capacity));
    let bench = foreign::<T, { queues::BOOST }>(bench, "Boost", capacity);
    let bench = foreign::<T, { queues::BOOST_BATCHES }>(bench, "Boost, batches", capacity);
    let bench = foreign::<T, { queues::RIGTORP }>(bench, "rigtorp", capacity);
    foreign::<T, { queues::CK }>(bench, "Concurrency Kit", capacity)
}

fn foreign<T: Payload, const RIVAL: u32>(bench: Bench, name: &str, capacity: usize) -> Bench {
    if_here::<T, RIVAL>(bench, |bench| bench.subject(name, stream::<T, Foreign<RIVAL>>(capacity)))
}

/// One block: a fresh queue, filled and emptied once, then the number of items that the block asks for, but at least
/// four times its capacity.
pub fn stream<T: Payload, P: Pipe<T>>(capacity: usize) -> impl FnMut(&mut Block) + Send + 'static {
    move |block| {
        let n = block.at_least(4 * capacity as u64);
        let (mut sender, mut receiver) = sides::<T, P>(capacity);
        let from = warm::<T, P>(&mut sender, &mut receiver, capacity);
        block.pair(
            || P::send(&mut sender, from, from + n),
            || assert_eq!(P::receive(&mut receiver, n), checksum::<T>(from, from + n)),
        );
    }
}
