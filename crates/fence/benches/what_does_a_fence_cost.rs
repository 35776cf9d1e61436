//! Question: what does each side of an asymmetric fence cost, compared to a full fence on both sides?
//!
//! An operation stores one word, fences, and loads another: Dekker's step, for which the fences exist. A second thread
//! of the process spins, so that a heavy fence has a CPU to interrupt. Not measured: what that interrupt costs the
//! interrupted thread. `cargo bench -p uncontended-fence --bench what_does_a_fence_cost [-- --markdown]`

use std::hint::black_box;
use uncontended_atomic::Ordering::{Relaxed, SeqCst};
use uncontended_atomic::{AtomicBool, AtomicU64, fence};
use uncontended_bench::{Bench, Block, Options, Place};
use uncontended_fence::Fences;

fn main() -> Result<(), String> {
    let options = Options::parse(std::env::args().skip(1).filter(|flag| flag != "--bench"))?;
    let best = Fences::best();
    Bench::new("fence/step_ns", "what does a fence cost between a store and a load")
        .places([Place::TwoCpus])
        .per("step")
        .baseline("fence(SeqCst)")
        .subject("fence(SeqCst)", steps(|| fence(SeqCst)))
        .subject("light", steps(uncontended_fence::light))
        .subject("light of a chosen pair", steps(move || best.light()))
        .subject("heavy", steps(|| uncontended_fence::heavy().expect("not refused")))
        .subject("a ticket, not awaited", steps(move || drop_ticket(best)))
        .show(&options)
        .map(drop)
}

fn drop_ticket(fences: Fences) {
    let _ = black_box(fences.ticket());
}

/// On cache lines of its own: the other thread reads only `done`.
#[derive(Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// A block of steps with this fence, next to a thread that runs.
fn steps(fence: impl Fn() + Copy + 'static) -> impl FnMut(&mut Block) + 'static {
    let Apart(words): &Apart<[AtomicU64; 2]> = Box::leak(Box::default());
    let Apart(done): &Apart<AtomicBool> = Box::leak(Box::default());
    move |block| {
        let count = block.operations();
        done.store(false, Relaxed);
        let own = || {
            for step in 0..count {
                words[0].store(step, Relaxed);
                fence();
                black_box(words[1].load(Relaxed));
            }
            done.store(true, Relaxed);
        };
        block.pair(own, || while !done.load(Relaxed) {});
    }
}
