//! Question: how much garbage waits while a reader sleeps?
//!
//! A thread reads an object and keeps it; another one replaces it ten thousand times by objects of a kilobyte. The figure
//! is the most bytes of objects that were alive at once, the current one included. Rivals: as in m2.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place, Ratio};
use uncontended_sys::clock::monotonic_ns;

use crate::rivals::reclaimers::*;

const REPLACED: u64 = 10_000;

/// A kilobyte that is counted while it is alive.
struct Kilobyte([u64; 128], usize);

/// The current block: what earlier ones left behind does not count.
static BLOCK: AtomicUsize = AtomicUsize::new(0);
static ALIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

impl Payload for Kilobyte {
    fn new(value: u64) -> Kilobyte {
        MOST.fetch_max(ALIVE.fetch_add(1, Relaxed) + 1, Relaxed);
        Kilobyte([value; 128], BLOCK.load(Relaxed))
    }
    fn value(&self) -> u64 {
        assert!(self.0.iter().all(|word| *word == self.0[0]), "freed while it is read");
        self.0[0]
    }
}

impl Drop for Kilobyte {
    fn drop(&mut self) {
        if self.1 == BLOCK.load(Relaxed) {
            ALIVE.fetch_sub(1, Relaxed);
        }
        // So that a use after the free is seen.
        self.0[1] = u64::MAX;
    }
}

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let bench = Bench::new("m3_asleep", "how much garbage waits while a reader sleeps")
        .places([Place::TwoCpus])
        .per("replacement")
        .ratio(Ratio::Time)
        .baseline("crossbeam-epoch")
        .block(Duration::from_millis(10))
        .subject("crossbeam-epoch", asleep::<Crossbeam<Kilobyte>>())
        .subject("ours, hazards", asleep::<Hazards<Kilobyte>>())
        .subject("ours, epochs", asleep::<Epochs<Kilobyte>>())
        .subject("haphazard", asleep::<Haphazard<Kilobyte>>())
        .subject("seize", asleep::<Seize<Kilobyte>>())
        .subject("sdd", asleep::<Sdd<Kilobyte>>())
        .subject("arc-swap", asleep::<Swapped<Kilobyte>>())
        .subject("std RwLock of an Arc", asleep::<Locked<Kilobyte>>());
    crate::answer(bench, &options)
}

fn asleep<S: Scheme<Kilobyte>>() -> impl FnMut(&mut Block) + Send + 'static {
    let cell = &*Box::leak(Box::new(S::new(Kilobyte::new(0))));
    move |block| {
        let ((asleep, is_asleep), (wake, is_woken)) = (channel::<()>(), channel::<()>());
        std::thread::scope(|threads| {
            let reader = threads.spawn(move || {
                let mut local = cell.local();
                cell.hold(&mut local, || {
                    asleep.send(()).expect("the writer waits for it");
                    is_woken.recv().expect("the writer wakes it");
                })
            });
            is_asleep.recv().expect("the reader is there");
            let mut local = cell.local();
            BLOCK.fetch_add(1, Relaxed);
            ALIVE.store(0, Relaxed);
            MOST.store(0, Relaxed);
            let begun = monotonic_ns();
            block.measure(|| {
                (0..REPLACED).for_each(|value| cell.replace(&mut local, Kilobyte::new(value)));
            });
            block.counts(monotonic_ns() - begun, REPLACED);
            // And the object that the reader has.
            let most = MOST.load(Relaxed) + 1;
            block.figure("waiting, MB", (most * size_of::<Kilobyte>()) as f64 / 1e6);
            wake.send(()).expect("the reader sleeps");
            reader.join().expect("it reads a whole object");
        });
    }
}
