//! Question: what does it cost to replace an object and to free the old one when no reader is left?
//!
//! A replacement allocates an object of a word, swaps it in, and retires the old one, which is freed sooner or later.
//! With two threads, both replace the same object, or one of them reads it, without pause: barriers interrupt it. The
//! column of CPU time has what both threads took. Rivals: `crossbeam-epoch` (the baseline), `haphazard`, `seize`, `sdd`,
//! `arc-swap`, std's lock. Not measured: objects of different sizes, more threads than CPUs.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place, Ratio};

use crate::rivals::reclaimers::*;

#[derive(Clone, Copy)]
enum With {
    Alone,
    Writer,
    Reader,
}

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench = Bench::new("m2_retire", "what does it cost to replace an object and free it")
        .places([Place::TwoCpus])
        .per("replacement")
        .ratio(Ratio::Time)
        .baseline("crossbeam-epoch")
        .block(Duration::from_millis(4));
    for (with, name) in [
        (With::Alone, "one thread"),
        (With::Writer, "two threads replace"),
        (With::Reader, "another thread reads"),
    ] {
        bench = bench
            .case(name)
            .subject("crossbeam-epoch", replaces::<Crossbeam<u64>>(with))
            .subject("ours, hazards", replaces::<Hazards<u64>>(with))
            .subject("ours, epoch, participant that is kept", replaces::<Epochs<u64>>(with))
            .subject("ours, epoch, the thread's own", replaces::<Pinned<u64>>(with))
            .subject("haphazard", replaces::<Haphazard<u64>>(with))
            .subject("seize", replaces::<Seize<u64>>(with))
            .subject("sdd", replaces::<Sdd<u64>>(with))
            .subject("arc-swap", replaces::<Swapped<u64>>(with))
            .subject("std RwLock", replaces::<Locked<u64>>(with));
    }
    crate::answer(bench, &options)
}

fn replaces<S: Scheme<u64>>(with: With) -> impl FnMut(&mut Block) + Send + 'static {
    let cell = &*Box::leak(Box::new(S::new(1)));
    let replace = |n: u64| {
        let mut local = cell.local();
        (0..n).for_each(|_| cell.replace(&mut local, 1));
    };
    move |block| {
        let n = block.operations();
        match with {
            With::Alone => block.measure(|| replace(n)),
            With::Writer => block.pair(|| replace(n / 2), || replace(n - n / 2)),
            With::Reader => {
                let is_over = AtomicBool::new(false);
                let read = || {
                    let mut local = cell.local();
                    while !is_over.load(Relaxed) {
                        assert_eq!(cell.read(&mut local), 1);
                    }
                };
                let write = || {
                    replace(n);
                    is_over.store(true, Relaxed);
                };
                block.pair(write, read);
            }
        }
        assert_eq!(cell.read(&mut cell.local()), 1);
    }
}
