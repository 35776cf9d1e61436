//! Question: what does it cost to read an object that another thread may free at any time?
//!
//! One thread reads an object of a word, again and again; no thread replaces it. The baseline is what a hazard pointer
//! cannot do without: publish the pointer, keep the compiler from swapping, look again. A publish-on-ping reader
//! (arXiv 2501.04250) has the same instructions. Rivals: `crossbeam-epoch`, `haphazard`, `seize`, `sdd`, `arc-swap`, std's
//! lock. Not measured: cold caches, readers that are interrupted by barriers (m2), replaced objects.

use std::hint::black_box;
use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place};

use crate::rivals::reclaimers::*;

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let bench = Bench::new("m1_read", "what does it cost to read what another thread may free")
        .places([Place::TwoCpus])
        .per("read")
        .baseline("publish, look again")
        .block(Duration::from_millis(1))
        .subject("acquire load, nothing protected", by_hand(ByHand::<false>::load))
        .subject("publish, look again", by_hand(ByHand::<false>::read))
        .subject("publish, full fence, look again", by_hand(ByHand::<true>::read))
        .subject("ours, hazard that is kept", reads::<Hazards<u64>>())
        .subject("ours, hazard for each read", reads::<HazardGuards<u64>>())
        .subject("ours, epoch, participant that is kept", reads::<Epochs<u64>>())
        .subject("ours, epoch, the thread's own", reads::<Pinned<u64>>())
        .subject("crossbeam-epoch", reads::<Crossbeam<u64>>())
        .subject("haphazard", reads::<Haphazard<u64>>())
        .subject("seize", reads::<Seize<u64>>())
        .subject("sdd", reads::<Sdd<u64>>())
        .subject("arc-swap", reads::<Swapped<u64>>())
        .subject("std RwLock", reads::<Locked<u64>>());
    crate::answer(bench, &options)
}

fn by_hand<const FENCED: bool>(
    read: impl Fn(&ByHand<FENCED>) -> u64 + Send + Copy + 'static,
) -> impl FnMut(&mut Block) + Send + 'static {
    let cell = &*Box::leak(Box::new(ByHand::<FENCED>::new(1)));
    move |block| {
        let (n, cell) = (block.operations(), black_box(cell));
        let sum = block.measure(|| (0..n).fold(0, |sum, _| sum + black_box(read(cell))));
        assert_eq!(sum, n);
    }
}

fn reads<S: Scheme<u64>>() -> impl FnMut(&mut Block) + Send + 'static {
    let cell = &*Box::leak(Box::new(S::new(1)));
    move |block| {
        let (n, cell) = (block.operations(), black_box(cell));
        let mut local = cell.local();
        let sum = block.measure(|| (0..n).fold(0, |sum, _| sum + black_box(cell.read(&mut local))));
        assert_eq!(sum, n);
    }
}
