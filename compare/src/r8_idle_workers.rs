//! Question: what does it cost to hand an item to one of many idle workers?
//!
//! A producer hands over an item every 200 µs; the workers sleep. The CPU time per item shows the waste: everything
//! beyond waking one worker and handing over one item. Rivals: crossbeam's channel, kanal, flume.
//! Not measured: work, throughput.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place};
use uncontended_ring::broadcast::Plan;

const PAUSE: Duration = Duration::from_micros(200);
const CAPACITY: usize = 64;

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench = Bench::new("r8_idle_workers", "what an item costs among idle workers")
        .places([Place::Free])
        .per("item")
        .summarised()
        .baseline("crossbeam-channel")
        .block(Duration::from_millis(50));
    for workers in [1, 8, 32] {
        bench = bench
            .case(format!("{workers} workers"))
            .subject("crossbeam-channel", crossbeam(workers))
            .subject("ours, a group", ours(workers))
            .subject("kanal", kanal(workers))
            .subject("flume", flume(workers));
    }
    crate::answer(bench, &options)
}

type Work = Box<dyn FnOnce() + Send>;

/// One block: `push` hands over each item after a pause, and ends the workers when it is dropped.
fn hand_out(block: &mut Block, seen: &AtomicU64, mut push: impl FnMut(u64), workers: Vec<Work>) {
    let n = block.at_least(50);
    block.team(
        move || {
            for item in 1..=n {
                std::thread::sleep(PAUSE);
                push(item);
            }
        },
        workers,
    );
    assert_eq!(seen.load(Relaxed), n * (n + 1) / 2);
}

fn ours(count: usize) -> impl FnMut(&mut Block) + Send + 'static {
    move |block| {
        let plan = Plan::new(CAPACITY).group("workers", count, &[]);
        let (mut producer, mut consumers) = plan.blocking().expect("a plan");
        let seen = Arc::new(AtomicU64::new(0));
        let members = std::iter::from_fn(|| consumers.take("workers"));
        let work = members.map(|mut worker| {
            let seen = Arc::clone(&seen);
            Box::new(move || {
                while let Some(batch) = worker.read_wait(1) {
                    seen.fetch_add(batch.iter().sum(), Relaxed);
                    batch.release();
                }
            }) as Work
        });
        let work = work.collect();
        hand_out(block, &seen, move |item| producer.push_wait(item).expect("workers"), work);
    }
}

macro_rules! channel {
    ($name:ident, $new:path) => {
        fn $name(count: usize) -> impl FnMut(&mut Block) + Send + 'static {
            move |block| {
                let (sender, receiver) = $new(CAPACITY);
                let seen = Arc::new(AtomicU64::new(0));
                let work = (0..count).map(|_| {
                    let (receiver, seen) = (receiver.clone(), Arc::clone(&seen));
                    Box::new(move || {
                        while let Ok(item) = receiver.recv() {
                            seen.fetch_add(item, Relaxed);
                        }
                    }) as Work
                });
                let work = work.collect();
                hand_out(block, &seen, move |item| sender.send(item).expect("workers"), work);
            }
        }
    };
}

channel!(crossbeam, crossbeam_channel::bounded);
channel!(kanal, kanal::bounded);
channel!(flume, flume::bounded);
