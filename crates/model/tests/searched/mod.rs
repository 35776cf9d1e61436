//! A program for tests that interrupt and share a search.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_model::real::{AtomicU32, spawn};

/// Readers and adders of one word: branches on reads, branches on writes, revisits.
pub(crate) fn adders_and_readers() {
    let x = Arc::new(AtomicU32::new(0));
    let thread = |number: u32| {
        let x = Arc::clone(&x);
        spawn(move || {
            if number < 3 {
                x.fetch_add(1, Relaxed);
            } else {
                x.load(Acquire);
                x.store(number, Release);
            }
        })
    };
    let threads: Vec<_> = (0..5).map(thread).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
