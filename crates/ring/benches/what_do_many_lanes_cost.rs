//! Question: what does a pop from `lanes` cost, by the number of lanes that have ever had a producer?
//!
//! A look that finds nothing, as before each sleep, looks at all of them; so does a pop that must find the one lane
//! with a value. One thread does both sides; all lanes are in its cache. Not measured: cache lines that producers on
//! other CPUs hold. `cargo bench -p uncontended-ring --bench what_do_many_lanes_cost [-- --markdown]`

use std::hint::black_box;
use uncontended_bench::{Bench, Block, Options, Place};
use uncontended_ring::lanes::{self, Consumer, Producer};

const CAPACITY: usize = 64;

fn main() -> Result<(), String> {
    let options = Options::parse(std::env::args().skip(1).filter(|flag| flag != "--bench"))?;
    let mut bench = Bench::new("ring/lanes_ns", "what does a pop cost that looks at many lanes")
        .places([Place::OneCpu])
        .per("pop");
    let cases: [(&str, Step); 2] = [("nothing there", look), ("a value in one lane", push_and_pop)];
    for (case, step) in cases {
        bench = bench.case(case).baseline("1 lane");
        for (name, lanes) in
            [("1 lane", 1), ("8 lanes", 8), ("64 lanes", 64), ("1024 lanes", 1_024)]
        {
            bench = bench.subject(name, steps(lanes, step));
        }
    }
    bench.show(&options).map(drop)
}

type Step = fn(&mut Producer<u64>, &mut Consumer<u64>);

fn look(_: &mut Producer<u64>, consumer: &mut Consumer<u64>) {
    let _ = black_box(consumer.pop());
}

fn push_and_pop(producer: &mut Producer<u64>, consumer: &mut Consumer<u64>) {
    producer.push(7).expect("the last one was popped");
    black_box(consumer.pop()).expect("it was pushed");
}

/// A block of steps with this many lanes in use, of which the last is pushed to.
fn steps(lanes: usize, step: Step) -> impl FnMut(&mut Block) + 'static {
    let (first, mut consumer) = lanes::ring(lanes, CAPACITY).expect("there is memory");
    let mut producers = vec![first];
    for _ in 1..lanes {
        let another = producers[0].try_clone().expect("a free lane");
        producers.push(another);
    }
    move |block| {
        let count = block.operations();
        let producer = producers.last_mut().expect("there is one");
        block.measure(|| (0..count).for_each(|_| step(producer, &mut consumer)));
    }
}
