//! Ways to notify a sleeping thread that a count has advanced.

use event_listener::{Event, Listener};
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Condvar, Mutex, OnceLock};
use std::thread::Thread;
use uncontended_sys::futex::Scope;
use uncontended_wait::{Parker, Sleepers, Unparker, many, single};

/// A count that one thread advances and one waits for.
pub trait Signal: Send + Sync + 'static {
    /// Called by the waiter before anything else.
    fn enlist(&self) {}
    /// Returns the function that sets the count to the next value and wakes the waiter. Called once.
    fn publisher(&self) -> impl FnMut(u64) + Send;
    /// Sleeps until the count is at least `value`.
    fn wait_for(&self, value: u64);
}

/// The system call by itself: what wakes whether or not anybody sleeps.
#[derive(Default)]
#[repr(align(128))]
pub struct BareFutex(AtomicU32);

impl Signal for BareFutex {
    fn publisher(&self) -> impl FnMut(u64) + Send {
        |value| {
            self.0.store(value as u32, Release);
            uncontended_sys::futex::wake(&self.0, 1, Scope::Private);
        }
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

/// The same with a waiter that polls every 2 ms, as Concurrency Kit's does at first.
#[derive(Default)]
#[repr(align(128))]
pub struct TimedFutex(AtomicU32);

impl Signal for TimedFutex {
    fn publisher(&self) -> impl FnMut(u64) + Send {
        |value| {
            self.0.store(value as u32, Release);
            uncontended_sys::futex::wake(&self.0, 1, Scope::Private);
        }
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

    fn publisher(&self) -> impl FnMut(u64) + Send {
        |value| {
            self.count.store(value, Release);
            self.waiter.get().expect("the waiter has enlisted").unpark();
        }
    }

    fn wait_for(&self, value: u64) {
        while self.count.load(Acquire) < value {
            std::thread::park();
        }
    }
}

/// Our parker: the same, with a handle that is not tied to a thread.
#[repr(align(128))]
pub struct OurParker {
    count: AtomicU64,
    unparker: Unparker,
    parker: Mutex<Parker>,
}

impl Default for OurParker {
    fn default() -> OurParker {
        let parker = Parker::new();
        OurParker {
            count: AtomicU64::new(0),
            unparker: parker.unparker(),
            parker: Mutex::new(parker),
        }
    }
}

impl Signal for OurParker {
    fn publisher(&self) -> impl FnMut(u64) + Send {
        |value| {
            self.count.store(value, Release);
            self.unparker.unpark();
        }
    }

    fn wait_for(&self, value: u64) {
        let mut parker = self.parker.lock().expect("no thread panics");
        while self.count.load(Acquire) < value {
            parker.park();
        }
    }
}

/// A mutex and a condition variable.
#[derive(Default)]
#[repr(align(128))]
pub struct Condition(Mutex<u64>, Condvar);

impl Signal for Condition {
    fn publisher(&self) -> impl FnMut(u64) + Send {
        |value| {
            *self.0.lock().expect("no thread panics") = value;
            self.1.notify_one();
        }
    }

    fn wait_for(&self, value: u64) {
        let count = self.0.lock().expect("no thread panics");
        drop(self.1.wait_while(count, |count| *count < value).expect("no thread panics"));
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
    fn publisher(&self) -> impl FnMut(u64) + Send {
        |value| {
            self.count.store(value, SeqCst);
            self.event.notify(1);
        }
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

/// Ours: `Sleepers`, for any condition.
#[derive(Default)]
#[repr(align(128))]
pub struct OurSleepers {
    count: AtomicU64,
    sleepers: Sleepers,
}

impl Signal for OurSleepers {
    fn publisher(&self) -> impl FnMut(u64) + Send {
        |value| {
            self.count.store(value, Release);
            self.sleepers.wake();
        }
    }

    fn wait_for(&self, value: u64) {
        self.sleepers.sleep_until(|| self.count.load(Acquire) >= value);
    }
}

impl Signal for super::concurrency_kit::Count {
    fn publisher(&self) -> impl FnMut(u64) + Send {
        |_| {
            self.increment();
        }
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

/// Increments by the only producer, which is never dropped, since its drop would close the count.
macro_rules! by_producer {
    ($count:expr) => {{
        let mut producer = std::mem::ManuallyDrop::new($count.producer().expect("the first one"));
        move |_| producer.increment()
    }};
}

macro_rules! our_counts {
    ($($name:ident, $count:ty, $value:ty, |$from:ident| $publisher:expr;)*) => {$(
        /// A form of our event counts.
        #[derive(Default)]
        #[repr(align(128))]
        pub struct $name($count);

        impl Signal for $name {
            fn publisher(&self) -> impl FnMut(u64) + Send {
                let $from = &self.0;
                $publisher
            }

            fn wait_for(&self, value: u64) {
                self.0.wait_until(|now| now >= value as $value).expect("it is not closed");
            }
        }
    )*};
}

our_counts! {
    TwoWords32, single::portable::EventCount32, u32, |count| by_producer!(count);
    TwoWords64, single::portable::EventCount64, u64, |count| by_producer!(count);
    Many32, many::EventCount32, u32, |count| move |_| { count.increment(); };
    Many64, many::EventCount64, u64, |count| move |_| { count.increment(); };
}

#[cfg(target_arch = "x86_64")]
our_counts! {
    OneWord32, single::one_word::EventCount32, u32, |count| by_producer!(count);
    OneWord64, single::one_word::EventCount64, u64, |count| by_producer!(count);
}
