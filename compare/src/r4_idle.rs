//! Question: what does an idle consumer cost?
//!
//! In a block of 200 ms, a consumer waits for an item that arrives at the end. The baseline is such a block without any
//! consumer, the cost of the measurement itself. CPU time is the column "CPUs" (1 is one CPU busy), wake-ups are
//! "sleeps/s".
//! Rivals: as in r1, with the disruptor's managed consumer in each of its strategies.
//! Not measured: memory; a producer that waits for room.

use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place, Ratio};
use uncontended_wait::idle::{Backoff, Park};

use crate::rivals::broadcasts::{Managed, Strategy};
use crate::rivals::payload::Words;
use crate::rivals::pipe::{Pipe, sides};
use crate::rivals::{ours, pipes};

type Item = Words<1>;
const IDLE: Duration = Duration::from_millis(200);
const SETTLE: Duration = Duration::from_millis(10);

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench = Bench::new("r4_idle", "what does a consumer cost that has nothing to do")
        .places([Place::TwoCpus])
        .per("wait of 200 ms")
        .ratio(Ratio::Cpu)
        .block(IDLE)
        .subject("no thread waits", wait)
        .subject("ours, blocking", idle::<ours::Blocking>())
        .subject("ours, polled with idle::Park", idle::<ours::Idling<Park>>())
        .subject("ours, polled with idle::Backoff", idle::<ours::Idling<Backoff>>())
        .subject("crossbeam-channel", idle::<pipes::CrossbeamChannel>())
        .subject("crossfire", idle::<pipes::Crossfire>())
        .subject("kanal", idle::<pipes::Kanal>())
        .subject("flume", idle::<pipes::Flume>())
        .subject("std sync_channel", idle::<pipes::Std>())
        .subject("rtrb, polled", idle::<pipes::Rtrb>());
    for strategy in Strategy::ALL {
        bench = bench.subject(strategy.name(), move |block: &mut Block| {
            let disruptor = Managed::new::<Item>(64, strategy, 1, block.pinning());
            wait(block);
            drop(disruptor);
        });
    }
    crate::answer(bench, &options)
}

/// Times 200 ms without work, once everybody had time to fall asleep.
fn wait(block: &mut Block) {
    std::thread::sleep(SETTLE);
    block.measure(|| std::thread::sleep(IDLE));
    // One wait, whatever number of operations the block asks for.
    block.counts(IDLE.as_nanos() as u64, 1);
}

fn idle<P: Pipe<Item>>() -> impl FnMut(&mut Block) + Send + 'static {
    |block| {
        let (mut sender, mut receiver) = sides::<Item, P>(64);
        let pinning = block.pinning().clone();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                pinning.pin(1);
                assert_eq!(P::receive(&mut receiver, 1), 1);
            });
            wait(block);
            P::send(&mut sender, 1, 2);
        });
    }
}
