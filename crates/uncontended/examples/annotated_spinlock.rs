//! A spinlock of the program's own, with two threads: `unc run -- target/debug/examples/annotated_spinlock` shows it as
//! a row.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // A user's own atomics.

use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
use std::time::Duration;

static SPIN: AtomicBool = AtomicBool::new(false);

fn lock() {
    if SPIN.swap(true, Acquire) {
        uncontended::wait_begin!(&SPIN);
        while SPIN.swap(true, Acquire) {
            std::hint::spin_loop();
        }
    }
    uncontended::acquired!(&SPIN);
}

fn unlock() {
    uncontended::released!(&SPIN);
    SPIN.store(false, Release);
}

fn main() {
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..10 {
                    lock();
                    std::thread::sleep(Duration::from_millis(1));
                    unlock();
                }
            });
        }
    });
}
