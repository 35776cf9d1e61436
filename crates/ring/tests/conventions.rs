//! What every ring of values has, under one name.

#![cfg(not(unc_model))]

use std::time::{Duration, Instant};
use uncontended_ring::lanes::{self, group};
use uncontended_ring::notifier::Joint;
use uncontended_ring::{PopError, PushError, mpsc, spsc};
use uncontended_wait::Deadline;
use uncontended_wait::idle::Idle;

const SHORT: Duration = Duration::from_millis(2);

macro_rules! has_the_conventions {
    ($ring:expr) => {{
        let (mut producer, mut consumer) = $ring.unwrap();
        assert_eq!((producer.len(), consumer.len(), consumer.is_empty()), (0, 0, true));
        assert_eq!(consumer.pop_timeout(SHORT), Err(PopError::Empty));
        assert_eq!(producer.push_timeout(1, SHORT), Ok(()));
        producer.push(2).unwrap();
        assert_eq!((producer.len(), consumer.len(), producer.is_empty()), (2, 2, false));
        assert_eq!(producer.push_timeout(3, SHORT), Err(PushError::Full(3)));
        let late = Deadline::from(Instant::now() - SHORT);
        assert_eq!(producer.push_deadline(3, late), Err(PushError::Full(3)));
        assert_eq!((&mut consumer).into_iter().next(), Some(1));
        drop(producer);
        assert_eq!(consumer.into_iter().collect::<Vec<i32>>(), [2]);
    }};
}

#[test]
fn every_ring_has_them() {
    has_the_conventions!(spsc::blocking(2));
    has_the_conventions!(mpsc::blocking(2));
    has_the_conventions!(lanes::blocking(1, 2));
    has_the_conventions!(group::blocking(1, 2));
}

/// Counts how often a side had nothing to do since it last had.
#[derive(Default)]
struct Counting {
    now: u32,
    most: u32,
}

impl Idle for Counting {
    fn idle(&mut self) {
        self.now += 1;
        self.most = self.most.max(self.now);
        std::thread::yield_now();
    }

    fn reset(&mut self) {
        self.now = 0;
    }
}

macro_rules! polls {
    ($ring:expr) => {{
        let (mut producer, mut consumer) = $ring.unwrap();
        let mut idle = Counting::default();
        assert_eq!(producer.push_idling(0, &mut idle), Ok(()));
        assert_eq!((idle.now, idle.most), (0, 0));
        let other = std::thread::spawn(move || {
            let mut idle = Counting::default();
            (1..500).try_for_each(|value| producer.push_idling(value, &mut idle)).unwrap();
            idle
        });
        std::thread::sleep(SHORT);
        let popped: Vec<i32> = std::iter::from_fn(|| consumer.pop_idling(&mut idle)).collect();
        assert_eq!(popped, (0..500).collect::<Vec<_>>());
        let other = other.join().unwrap();
        assert!(other.now == 0 && other.most > 0, "it was full for a while");
        let (mut producer, consumer) = $ring.unwrap();
        drop(consumer);
        assert_eq!(producer.push_idling(7, &mut idle), Err(7));
    }};
}

#[test]
fn a_side_that_polls_idles_until_it_succeeds() {
    polls!(spsc::ring(2));
    polls!(mpsc::ring(2));
    polls!(lanes::ring(1, 2));
    polls!(group::ring(1, 2));
}

#[test]
fn one_thread_waits_for_rings_of_both_kinds() {
    let joint = Joint::new();
    let (mut one, mut quotes) = spsc::blocking_at(4, &joint).unwrap();
    let (many, mut orders) = mpsc::blocking_at(4, &joint).unwrap();
    let count = if cfg!(miri) { 20 } else { 5_000 };
    std::thread::scope(|threads| {
        threads.spawn(move || (0..count).try_for_each(|value| one.push_wait(value)));
        for _ in 0..2 {
            let mut many = many.clone();
            threads.spawn(move || (0..count).try_for_each(|value| many.push_wait(value)));
        }
        drop(many);
        let mut seen = [0; 2];
        loop {
            let next = joint.sleep_until(|| match (orders.pop(), quotes.pop()) {
                (Err(PopError::Closed), Err(PopError::Closed)) => Some([None; 2]),
                (Err(_), Err(_)) => None,
                (order, quote) => Some([order.ok(), quote.ok()]),
            });
            if next == [None; 2] {
                break;
            }
            next.iter().zip(&mut seen).for_each(|(next, seen)| *seen += next.iter().count());
        }
        assert_eq!(seen, [2 * count, count]);
    });
}
