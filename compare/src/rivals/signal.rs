//! Ways to tell a sleeping thread that a count has moved on.

use event_listener::{Event, Listener};
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Condvar, Mutex, OnceLock};
use std::thread::Thread;
use uncontended_sys::futex::Scope;
use uncontended_wait::Sleepers;

/// A count that one thread advances and one waits for.
pub trait Signal: Send + Sync + 'static {
    /// Called by the waiter before anything else.
    fn enlist(&self) {}
    /// Makes the count `value` and wakes the waiter.
    fn publish(&self, value: u64);
    /// Sleeps until the count is at least `value`.
    fn wait_for(&self, value: u64);
}

/// The system call by itself: what wakes whether or not anybody sleeps.
#[derive(Default)]
#[repr(align(128))]
pub struct BareFutex(AtomicU32);

impl Signal for BareFutex {
    #[inline]
    fn publish(&self, value: u64) {
        self.0.store(value as u32, Release);
        uncontended_sys::futex::wake(&self.0, 1, Scope::Private);
    }

    fn wait_for(&self, value: u64) {
        loop {
            let now = self.0.load(Acquire);
            if now >= value as u32 {
                return;
            }
            uncontended_sys::futex::wait(&self.0, now, None, Scope::Private);
        }
    }
}

/// The same with a waiter that looks again every 2 ms, as Concurrency Kit's does at first.
#[derive(Default)]
#[repr(align(128))]
pub struct TimedFutex(AtomicU32);

impl Signal for TimedFutex {
    #[inline]
    fn publish(&self, value: u64) {
        self.0.store(value as u32, Release);
        uncontended_sys::futex::wake(&self.0, 1, Scope::Private);
    }

    fn wait_for(&self, value: u64) {
        loop {
            let now = self.0.load(Acquire);
            if now >= value as u32 {
                return;
            }
            let limit = Some(uncontended_sys::clock::monotonic_ns() + 2_000_000);
            uncontended_sys::futex::wait(&self.0, now, limit, Scope::Private);
        }
    }
}

/// `std::thread::park` and `unpark`.
#[derive(Default)]
#[repr(align(128))]
pub struct Unpark {
    count: AtomicU64,
    waiter: OnceLock<Thread>,
}

impl Signal for Unpark {
    fn enlist(&self) {
        self.waiter.get_or_init(std::thread::current);
    }

    #[inline]
    fn publish(&self, value: u64) {
        self.count.store(value, Release);
        self.waiter.get().expect("the waiter has enlisted").unpark();
    }

    fn wait_for(&self, value: u64) {
        while self.count.load(Acquire) < value {
            std::thread::park();
        }
    }
}

/// A mutex and a condition variable.
#[derive(Default)]
#[repr(align(128))]
pub struct Condition(Mutex<u64>, Condvar);

impl Signal for Condition {
    #[inline]
    fn publish(&self, value: u64) {
        *self.0.lock().expect("nobody panics") = value;
        self.1.notify_one();
    }

    fn wait_for(&self, value: u64) {
        let count = self.0.lock().expect("nobody panics");
        drop(self.1.wait_while(count, |count| *count < value).expect("nobody panics"));
    }
}

/// event-listener, as its documentation shows it.
#[derive(Default)]
#[repr(align(128))]
pub struct Listened {
    count: AtomicU64,
    event: Event,
}

impl Signal for Listened {
    #[inline]
    fn publish(&self, value: u64) {
        self.count.store(value, SeqCst);
        self.event.notify(1);
    }

    fn wait_for(&self, value: u64) {
        while self.count.load(SeqCst) < value {
            let listener = self.event.listen();
            if self.count.load(SeqCst) < value {
                listener.wait();
            }
        }
    }
}

/// Ours, for any condition.
#[derive(Default)]
#[repr(align(128))]
pub struct OurSleepers {
    count: AtomicU64,
    sleepers: Sleepers,
}

impl Signal for OurSleepers {
    #[inline]
    fn publish(&self, value: u64) {
        self.count.store(value, Release);
        self.sleepers.wake();
    }

    fn wait_for(&self, value: u64) {
        self.sleepers.sleep_until(|| (self.count.load(Acquire) >= value).then_some(()));
    }
}

impl Signal for super::concurrency_kit::Count {
    #[inline]
    fn publish(&self, _: u64) {
        self.increment();
    }

    fn wait_for(&self, value: u64) {
        loop {
            let now = self.value();
            if now >= value {
                return;
            }
            self.wait(now);
        }
    }
}
