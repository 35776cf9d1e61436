//! Question: what does recording add to a lock and unlock while threads wait for the lock, without the lock itself?
//!
//! The waiters are entries in the lock's list that stay; caches are warm, and a clock reading takes no time. Not
//! measured: cache misses, and the unwinding of new stacks. `cargo bench -p uncontended-events [-- --markdown]`

#[path = "../tests/common/mod.rs"]
mod common;

use common::{At, ROOM, image, recorder};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_bench::{Bench, Block, Options, Place};
use uncontended_events::events::{Blocked, acquired, release};

fn main() -> Result<(), String> {
    let options = Options::parse(std::env::args().skip(1).filter(|flag| flag != "--bench"))?;
    let mut bench = Bench::new("events/release_ns", "what does a contended release cost")
        .places([Place::OneCpu])
        .per("pair")
        .baseline("no waiter");
    for (name, waiters) in [("no waiter", 0), ("1 waiter", 1), ("8 waiters", 8), ("64 waiters", 64)]
    {
        bench = bench.subject(name, pairs(waiters));
    }
    bench.show(&options).map(drop)
}

/// A block of pairs at a lock with this many waiters.
fn pairs(waiters: usize) -> impl FnMut(&mut Block) + 'static {
    let image = image(4 * ROOM);
    image.0.header().capacity.store(4 * ROOM, Relaxed); // An eighth of it is for logs.
    let holder = At::new(recorder(image), 1_000);
    let row = holder.row(64);
    for _ in 0..waiters {
        let waiter = At::new(recorder(image), 500);
        // It never acquires the lock.
        let _ = Blocked::begin(waiter, waiter.row(64));
    }
    let pair = move || {
        acquired(holder, row);
        release(holder, row, || true, || 0);
    };
    move |block| {
        let count = block.operations();
        block.measure(|| (0..count).for_each(|_| pair()));
    }
}
