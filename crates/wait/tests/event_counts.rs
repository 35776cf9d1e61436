//! Every form of event count with real threads: nothing lost, nothing invented; wraparound, closing, deadlines.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // A user's own atomics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::Duration;
use uncontended_wait::event_count::{EventCount, Form, SingleProducer};
use uncontended_wait::{ClaimError, Closed, Deadline, Producer, WaitError, many, single};

/// Miri is a thousand times slower.
const SCALE: u64 = if cfg!(miri) { 1 } else { 1_000 };

/// Values as numbers, for either width.
trait Number: uncontended_wait::Width {
    const BITS: u32;
    fn of(value: u64) -> Self;
    fn get(self) -> u64;
}

impl Number for u32 {
    const BITS: u32 = 31;
    fn of(value: u64) -> u32 {
        value as u32
    }
    fn get(self) -> u64 {
        self.into()
    }
}

impl Number for u64 {
    const BITS: u32 = 63;
    fn of(value: u64) -> u64 {
        value
    }
    fn get(self) -> u64 {
        self
    }
}

/// A producer and three kinds of waiters: one follows every change, one waits for a distance, one waits for the end.
fn stream<F: SingleProducer + Sync>()
where
    F::Value: Number,
{
    let count = EventCount::<F>::new();
    let mut producer = count.producer().unwrap();
    let events = 20 * SCALE;
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut seen = F::Value::of(0);
            while seen.get() < events {
                let next = count.wait(seen).unwrap();
                assert!(next.get() > seen.get(), "changed, and forward");
                seen = next;
            }
        });
        threads.spawn(|| {
            for tenth in 1..=10 {
                let enough = |value: F::Value| value.get() >= tenth * events / 10;
                assert!(count.wait_until(enough).unwrap().get() >= tenth * events / 10);
            }
        });
        threads.spawn(|| assert_eq!(count.wait_until(|_| false), Err(Closed)));
        for event in 0..events {
            if event % 100 == 0 {
                std::thread::yield_now();
            }
            producer.increment();
        }
        assert_eq!(producer.value().get(), events);
        drop(producer);
    });
    assert_eq!(count.value().get(), events);
    assert_eq!(count.producer().unwrap_err(), ClaimError::Closed);
}

/// Two counts, each with one of the threads as its producer: every event waits for the other's.
fn ping_pong<F: SingleProducer + Sync + Send>()
where
    F::Value: Number,
{
    let counts = [EventCount::<F>::new(), EventCount::new()];
    let turns = 5 * SCALE;
    std::thread::scope(|threads| {
        for me in 0..2 {
            let counts = &counts;
            threads.spawn(move || {
                let mut mine = counts[me].producer().unwrap();
                for turn in 0..turns {
                    if me == 0 {
                        mine.increment();
                    }
                    let wanted = F::Value::of(turn + 1);
                    assert_eq!(counts[1 - me].wait_until(|value| value == wanted), Ok(wanted));
                    if me == 1 {
                        mine.increment();
                    }
                }
                mine.release();
            });
        }
    });
    assert!(counts.iter().all(|count| count.value().get() == turns));
}

fn edges<F: SingleProducer + Sync + Send + 'static>()
where
    F::Value: Number,
{
    let count = Arc::new(EventCount::<F>::new());
    let mut producer = Producer::claim(Arc::clone(&count)).unwrap();
    assert_eq!(count.producer().unwrap_err(), ClaimError::Taken);
    // Zero does nothing.
    producer.add(F::Value::of(0));
    let soon = Deadline::after(Duration::from_millis(5));
    assert_eq!(count.wait_deadline(F::Value::of(0), soon), Err(WaitError::TimedOut));
    assert!(soon.has_passed(), "never early");
    // The next event clears the flag, if the wait set it before it timed out.
    let is_flagged = count.has_waiters();
    assert_eq!(count.wait_deadline(F::Value::of(7), Deadline::at_ns(1)).map(Number::get), Ok(0));
    // The last value before the count wraps, then beyond it.
    let last = (1 << F::Value::BITS) - 1;
    producer.add(F::Value::of(last));
    assert!(!count.has_waiters() && count.wakes() == u32::from(is_flagged));
    assert_eq!((count.value().get(), producer.value().get()), (last, last));
    let theirs = Arc::clone(&count);
    let waiter = std::thread::spawn(move || theirs.wait(F::Value::of(last)).unwrap().get());
    while !count.has_waiters() {
        std::thread::yield_now();
    }
    producer.add_and_wake_one(F::Value::of(3));
    assert_eq!((waiter.join().unwrap(), count.value().get()), (2, 2));
    // Handed over, then dropped by a panic while a thread sleeps.
    producer.release();
    let mut second = Producer::claim(Arc::clone(&count)).unwrap();
    assert_eq!(second.value().get(), 2);
    let theirs = Arc::clone(&count);
    let sleeper = std::thread::spawn(move || {
        let third = theirs.wait_until(|value| value.get() == 3).map(Number::get);
        (third, theirs.wait(F::Value::of(3)).map(Number::get))
    });
    let panics = std::thread::spawn(move || {
        second.increment();
        std::thread::sleep(Duration::from_millis(10));
        panic!("on purpose, with the producer in hand");
    });
    assert!(panics.join().is_err());
    assert_eq!(sleeper.join().unwrap(), (Ok(3), Err(Closed)));
    assert!(count.is_closed() && count.value().get() == 3);
    assert_eq!(count.wait_until(|value| value.get() == 3).map(Number::get), Ok(3));
    let far = Deadline::after(Duration::from_secs(3600));
    assert_eq!(count.wait_deadline(F::Value::of(3), far), Err(WaitError::Closed));
    assert!(format!("{count:?}").contains("is_closed: true"));
}

macro_rules! single_producer {
    ($($name:ident: $count:ty,)*) => { $(mod $name {
        use super::*;

        type Made = <$count as Same>::Form;

        #[test]
        fn waiters_of_every_kind_lose_nothing() {
            stream::<Made>();
        }

        #[test]
        fn each_event_waits_for_the_others() {
            ping_pong::<Made>();
        }

        #[test]
        fn wraparound_nothing_deadlines_hand_over_panic_and_close() {
            edges::<Made>();
        }
    })* };
}

trait Same {
    type Form: Form;
}

impl<F: Form> Same for EventCount<F> {
    type Form = F;
}

single_producer! {
    portable_32: single::portable::EventCount32,
    portable_64: single::portable::EventCount64,
    default_32: single::EventCount32,
    default_64: single::EventCount64,
}

#[cfg(target_arch = "x86_64")]
single_producer! {
    one_word_32: single::one_word::EventCount32,
    one_word_64: single::one_word::EventCount64,
}

fn many_producers<F>(count: &EventCount<F>, add: impl Fn(u64) + Sync, close: impl Fn())
where
    F: Form<Value: Number> + Sync,
{
    let sum = AtomicU64::new(0);
    std::thread::scope(|threads| {
        let waiter = threads.spawn(|| count.wait_until(|value| value.get() == 6 * SCALE));
        let never = threads.spawn(|| count.wait_until(|_| false));
        let producers = [1, 2, 3].map(|events| {
            let (add, sum) = (&add, &sum);
            threads.spawn(move || {
                for _ in 0..SCALE {
                    add(events);
                    sum.fetch_add(events, Relaxed);
                }
            })
        });
        for producer in producers {
            producer.join().unwrap();
        }
        assert_eq!(waiter.join().unwrap().map(Number::get), Ok(6 * SCALE));
        close();
        assert_eq!(never.join().unwrap(), Err(Closed));
    });
    assert_eq!((count.value().get(), sum.load(Relaxed)), (6 * SCALE, 6 * SCALE));
    let over = (1 << F::Value::BITS) - 6 * SCALE;
    add(over);
    assert_eq!(count.value().get(), 0, "wraps");
    add(0);
    assert_eq!(count.value().get(), 0);
}

#[test]
fn many_producers_lose_nothing() {
    let count = many::EventCount32::new();
    let add = |events| assert!(count.add(events as u32) <= u32::MAX >> 1);
    many_producers(&count, add, || count.close());
    let count = many::EventCount64::new();
    let add = |events| assert!(count.add(events) <= u64::MAX >> 1);
    many_producers(&count, add, || count.close());
}

#[test]
fn one_waiter_is_woken_for_each_job() {
    let (count, left) = (many::EventCount32::new(), AtomicU64::new(0));
    let take = || left.fetch_update(AcqRel, Relaxed, |left| left.checked_sub(1)).is_ok();
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                for _ in 0..SCALE {
                    count.wait_until(|_| take()).unwrap();
                }
            });
        }
        for _ in 0..3 * SCALE {
            left.fetch_add(1, Release);
            count.add_and_wake_one(1);
        }
    });
    assert_eq!((left.load(Relaxed), count.value()), (0, 3 * SCALE as u32));
}

#[test]
fn a_count_between_processes_serves_within_one_as_well() {
    let count = single::EventCount64::shared();
    if let Err(refused) = count.attach() {
        println!("sleeping for bounded times: {refused}");
    }
    let mut producer = count.producer().unwrap();
    std::thread::scope(|threads| {
        let waiter = threads.spawn(|| count.wait_until(|value| value == 500));
        (0..500).for_each(|_| producer.increment());
        assert_eq!(waiter.join().unwrap(), Ok(500));
    });
}
