//! Question: what does an item cost, in time and in CPU time, when items come in bursts with pauses in between?
//!
//! A burst of 1, 10 or 100 items of 8 bytes passes through a queue of 128; then the producer pauses for 0, 1 or 10 ms.
//! The time per item runs from the start of its burst until the consumer has taken the last item, divided by their
//! number. CPU time is that of the whole block, pauses included, divided by the number of items. Rivals: as in r1;
//! those that do not block burn a CPU in the pauses.
//! Not measured: a full queue (r1), several producers.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place};
use uncontended_sys::clock::monotonic_ns;

use crate::rivals::payload::{Words, checksum};
use crate::rivals::pipe::{Apart, Pipe, sides, warm};
use crate::rivals::{ours, pipes};

type Item = Words<1>;
const CAPACITY: usize = 128;

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench = Bench::new("r2_bursts", "what does an item cost when items come in bursts")
        .places([Place::TwoCpus])
        .per("item")
        .summarised()
        .baseline("crossbeam-channel")
        .block(Duration::from_millis(30))
        .note("CPU time is of the whole block, pauses included. rtrb and the disruptor's poller are polled without a break.");
    for pause in [0, 1, 10] {
        for burst in [1, 10, 100] {
            let pause = Duration::from_millis(pause);
            bench = subjects(bench.case(format!("{burst} every {pause:?}")), burst, pause);
        }
    }
    crate::answer(bench, &options)
}

fn subjects(bench: Bench, burst: u64, pause: Duration) -> Bench {
    bench
        .subject("crossbeam-channel", bursts::<pipes::CrossbeamChannel>(burst, pause))
        .subject("ours, blocking", bursts::<ours::Blocking>(burst, pause))
        .subject("crossfire", bursts::<pipes::Crossfire>(burst, pause))
        .subject("kanal", bursts::<pipes::Kanal>(burst, pause))
        .subject("flume", bursts::<pipes::Flume>(burst, pause))
        .subject("rtrb, polled", bursts::<pipes::Rtrb>(burst, pause))
        .subject("disruptor, poller", bursts::<pipes::Disruptor>(burst, pause))
        .subject("ours, polled", bursts::<ours::Polled>(burst, pause))
}

fn bursts<P: Pipe<Item>>(burst: u64, pause: Duration) -> impl FnMut(&mut Block) + Send + 'static {
    move |block| {
        // At least one burst, and only whole ones.
        let count = block.operations().div_ceil(burst);
        let (mut sender, mut receiver) = sides::<Item, P>(CAPACITY);
        let first = warm::<Item, P>(&mut sender, &mut receiver, CAPACITY);
        let taken = Apart(AtomicU64::new(0));
        let (mut began, mut ended) = (Apart(Vec::new()), Apart(Vec::new()));
        block.pair(
            || {
                for number in 0..count {
                    let from = first + number * burst;
                    began.push(monotonic_ns());
                    P::send(&mut sender, from, from + burst);
                    while taken.load(Acquire) <= number {
                        std::hint::spin_loop();
                    }
                    if !pause.is_zero() {
                        std::thread::sleep(pause);
                    }
                }
            },
            || {
                for number in 0..count {
                    let from = first + number * burst;
                    assert_eq!(
                        P::receive(&mut receiver, burst),
                        checksum::<Item>(from, from + burst)
                    );
                    ended.push(monotonic_ns());
                    taken.store(number + 1, Release);
                }
            },
        );
        let spent = began.iter().zip(ended.iter()).map(|(from, to)| to.saturating_sub(*from)).sum();
        block.counts(spent, count * burst);
    }
}
