//! Question: how long is a round trip when both sides block?
//!
//! Two queues of 64 items of 8 bytes; one thread sends an item and waits for its echo. Rivals: the blocking ones of r1;
//! and rtrb, polled at both ends, as the lower bound that burns two CPUs.
//! Not measured: several messages in flight (r1), pauses between them (r2).

use uncontended_bench::{Bench, Block, Options, Place};
use uncontended_sys::clock::{Moment, ticks};

use crate::rivals::payload::{Words, checksum};
use crate::rivals::pipe::{Pipe, sides, warm};
use crate::rivals::{ours, pipes};

type Item = Words<1>;
const CAPACITY: usize = 64;

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let bench = Bench::new("r3_ping_pong", "how long does a message take there and back")
        .places([Place::TwoCpus, Place::OneCpu])
        .per("round trip")
        .baseline("crossbeam-channel")
        .note("rtrb, polled, spins on both ends; on one CPU it waits for the scheduler to take turns.")
        .subject("crossbeam-channel", echo::<pipes::CrossbeamChannel>())
        .subject("ours, blocking", echo::<ours::Blocking>())
        .subject("crossfire", echo::<pipes::Crossfire>())
        .subject("kanal", echo::<pipes::Kanal>())
        .subject("flume", echo::<pipes::Flume>())
        .subject("std sync_channel", echo::<pipes::Std>())
        .subject("rtrb, polled", echo::<pipes::Rtrb>());
    crate::answer(bench, &options)
}

fn echo<P: Pipe<Item>>() -> impl FnMut(&mut Block) + Send + 'static {
    move |block| {
        let n = block.operations();
        let ((mut there, mut arrives), (mut back, mut returns)) =
            (sides::<Item, P>(CAPACITY), sides::<Item, P>(CAPACITY));
        let from = warm::<Item, P>(&mut there, &mut arrives, CAPACITY);
        warm::<Item, P>(&mut back, &mut returns, CAPACITY);
        let mut times = Vec::with_capacity(n as usize);
        let start = Moment::now();
        block.pair(
            || {
                for number in from..from + n {
                    let sent = ticks();
                    P::send(&mut there, number, number + 1);
                    assert_eq!(P::receive(&mut returns, 1), checksum::<Item>(number, number + 1));
                    times.push(ticks().saturating_sub(sent));
                }
            },
            || {
                for number in from..from + n {
                    assert_eq!(P::receive(&mut arrives, 1), checksum::<Item>(number, number + 1));
                    P::send(&mut back, number, number + 1);
                }
            },
        );
        let tick_ns = start.tick_ns(Moment::now());
        block.latencies_ns(times.into_iter().map(|ticks| (ticks as f64 * tick_ns) as u64));
    }
}
