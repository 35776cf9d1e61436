//! Question: how much slower is a stream when both of its ends share one CPU?
//!
//! Each rival runs the same stream on two CPUs and on one, interleaved: the ratio is the slowdown. 64-byte items,
//! capacity 1,024. Rivals that spin wait for the scheduler to switch threads; their users add a yield to the loop for
//! that.
//! Not measured: other work on that CPU.

use std::time::Duration;
use uncontended_bench::{Bench, Options, Place};

use crate::r1_stream::stream;
use crate::rivals::payload::Words;
use crate::rivals::pipe::Pipe;
use crate::rivals::{ours, pipes};

type Item = Words<8>;
const CAPACITY: usize = 1_024;

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let bench = Bench::new("r6_one_cpu", "how much slower is a stream whose ends share a CPU")
        .places([Place::Free])
        .per("item")
        .summarised()
        .block(Duration::from_millis(20));
    let bench = both::<ours::Blocking>(bench, "ours, blocking");
    let bench = both::<pipes::CrossbeamChannel>(bench, "crossbeam-channel");
    let bench = both::<pipes::Crossfire>(bench, "crossfire");
    let bench = both::<pipes::Kanal>(bench, "kanal");
    let bench = both::<pipes::Flume>(bench, "flume");
    let bench = both::<pipes::Std>(bench, "std sync_channel");
    let bench = both::<pipes::Rtrb>(bench, "rtrb, polled");
    let bench = both::<pipes::Disruptor>(bench, "disruptor, poller");
    let bench = both::<ours::Polled>(bench, "ours, polled");
    crate::answer(bench, &options)
}

fn both<P: Pipe<Item>>(bench: Bench, name: &str) -> Bench {
    bench.case(name).subject_at(Place::TwoCpus, "two CPUs", stream::<Item, P>(CAPACITY)).subject_at(
        Place::OneCpu,
        "one CPU",
        stream::<Item, P>(CAPACITY),
    )
}
