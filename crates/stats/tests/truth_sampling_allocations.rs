//! Sampling allocates nothing after construction, as counted by this test program's allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use uncontended_stats::Rng;
use uncontended_stats::sampling::{FisherYates, Floyd, Sampler, SparseSet};

/// The system's allocator, with a count of the allocations.
struct Counting;

thread_local! {
    /// Calls by this thread: the harness makes its own.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on unchanged; `System` keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and all memory is the system's.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The number of allocations while `work` runs.
fn calls(work: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    work();
    CALLS.get() - before
}

#[test]
fn nothing_is_allocated_after_construction() {
    let mut rng = Rng::new(3);
    assert_eq!(calls(|| drop(black_box(vec![0_u8; 100]))), 1, "the count counts");
    let mut shuffle = FisherYates::new(10_000);
    let mut sparse = SparseSet::new(10_000);
    let mut floyd = Floyd::new(1 << 30, 2500);
    let mut kept = Sampler::new(10_000, 2500);
    let mut table = Sampler::new(1 << 30, 2500);
    let sizes = (1..=10).chain([20, 40, 80, 160, 320, 640, 1000, 2000, 2500]);
    let mut sum = 0_u64;
    let made = calls(|| {
        for n in sizes.cycle().take(2000) {
            sum += u64::from(shuffle.sample(n, &mut rng)[0]);
            sum += u64::from(sparse.sample(n, &mut rng)[0]);
            sum += u64::from(floyd.sample(n, &mut rng)[0]);
            sum += u64::from(floyd.shuffled(&mut rng)[0]);
            sum += u64::from(kept.sample(n, &mut rng)[0]);
            sum += u64::from(table.sample(n, &mut rng)[0]);
        }
    });
    assert!(sum > 0);
    assert_eq!(made, 0);
}
