//! What every ring of values has, under one name.

#![cfg(not(unc_model))]

use std::time::{Duration, Instant};
use uncontended_ring::broadcast::Plan;
use uncontended_ring::lanes::{self, group};
use uncontended_ring::lossy::{self, ObserveError};
use uncontended_ring::notifier::Joint;
use uncontended_ring::records::{self, RecordError};
use uncontended_ring::{ClaimError, Closed, PopError, PushError, mpsc, spsc};
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
        assert_eq!(producer.push_deadline(3, Instant::now() + SHORT), Err(PushError::Full(3)));
        assert_eq!(consumer.iter().next(), Some(1));
        producer.push(3).unwrap();
        let mut values = Vec::new();
        assert_eq!(consumer.pop_into(&mut values, 0), Ok(0));
        assert_eq!((consumer.pop_into(&mut values, 1), &*values), (Ok(1), &[2][..]));
        producer.push(4).unwrap();
        assert_eq!((consumer.pop_into(&mut values, 9), &*values), (Ok(2), &[2, 3, 4][..]));
        assert_eq!(consumer.pop_into(&mut values, 9), Err(PopError::Empty));
        assert_eq!(consumer.pop_into_timeout(&mut values, 9, SHORT), Err(PopError::Empty));
        assert_eq!(consumer.pop_into_wait(&mut values, 0), Some(0));
        producer.push(5).unwrap();
        producer.push(6).unwrap();
        assert_eq!(consumer.pop_into_wait(&mut values, 1), Some(1));
        assert_eq!(consumer.pop_into_deadline(&mut values, 9, late), Ok(1));
        assert_eq!(values, [2, 3, 4, 5, 6]);
        assert_eq!(consumer.pop_deadline(Instant::now() + SHORT), Err(PopError::Empty));
        producer.push(5).unwrap();
        drop(producer);
        assert_eq!((&mut consumer).into_iter().collect::<Vec<i32>>(), [5]);
        assert_eq!(consumer.pop_into(&mut values, 9), Err(PopError::Closed));
        assert_eq!(consumer.pop_into_wait(&mut values, 9), None);
        assert_eq!(consumer.into_iter().next(), None);
    }};
}

#[test]
#[allow(unused_mut, reason = "a producer of `mpsc` pushes by shared reference")]
fn every_ring_has_them() {
    has_the_conventions!(spsc::blocking(2));
    has_the_conventions!(mpsc::blocking(2));
    has_the_conventions!(lanes::blocking(1, 2));
    has_the_conventions!(group::blocking(1, 2));
}

#[test]
fn batches_records_and_lossy_rings_wait_as_long_as_they_are_told() {
    let later = || Instant::now() + SHORT;
    let (mut producer, mut consumer) = spsc::blocking(2).unwrap();
    assert_eq!(consumer.read_timeout(1, SHORT).err(), Some(PopError::Empty));
    assert_eq!(consumer.pop_slice_timeout(&mut [0], SHORT), 0);
    assert_eq!(producer.push_slice_timeout(&[1, 2, 3], SHORT), 2);
    assert_eq!(producer.claim_timeout(1, SHORT).err(), Some(ClaimError::Full));
    assert_eq!(producer.claim_up_to_timeout(9, SHORT).err(), Some(ClaimError::Full));
    assert_eq!(consumer.read_deadline(9, later()).unwrap().len(), 2);

    let (producer, mut consumer) = mpsc::blocking(2).unwrap();
    let mut values = vec![1, 2];
    assert_eq!(producer.push_all_wait(&mut values), Ok(()));
    values = vec![3];
    assert_eq!(producer.push_all_timeout(&mut values, SHORT), Err(ClaimError::Full));
    assert_eq!(producer.push_all_deadline(&mut values, later()), Err(ClaimError::Full));
    assert_eq!((consumer.pop_into(&mut values, 9), &*values), (Ok(2), &[3, 1, 2][..]));
    values = vec![0; 3];
    assert_eq!(producer.push_all_wait(&mut values), Err(ClaimError::TooLong { most: 2 }));
    drop(consumer);
    assert_eq!(producer.push_all_wait(&mut values), Err(ClaimError::TooLong { most: 2 }));
    values.pop();
    assert_eq!(producer.push_all_wait(&mut values), Err(ClaimError::Closed));

    let (mut producer, mut consumers) = Plan::new(1).consumer("a", &[]).blocking().unwrap();
    let mut a = consumers.take("a").unwrap();
    assert_eq!(a.read_timeout(1, SHORT).err(), Some(PopError::Empty));
    assert_eq!(producer.push_timeout(1, SHORT), Ok(()));
    assert_eq!(producer.push_timeout(2, SHORT), Err(PushError::Full(2)));
    assert_eq!(producer.push_deadline(2, later()), Err(PushError::Full(2)));
    assert_eq!(producer.claim_timeout(1, SHORT).err(), Some(ClaimError::Full));
    assert_eq!(a.read_timeout(1, SHORT).unwrap().len(), 1);

    let (mut producer, mut observer) = lossy::blocking(2).unwrap();
    assert_eq!(observer.read_timeout(SHORT), Err(ObserveError::Empty));
    assert_eq!(observer.read_deadline(later()), Err(ObserveError::Empty));
    producer.push(1_u32);
    assert_eq!(observer.read_timeout(SHORT), Ok(1));
}

#[test]
fn a_consumer_of_a_broadcast_pops_clones() {
    let (mut producer, mut consumers) =
        Plan::new(2).consumer("a", &[]).group("g", 2, &[]).blocking().unwrap();
    let [mut a, mut one, mut two] = ["a", "g", "g"].map(|name| consumers.take(name).unwrap());
    assert_eq!(a.pop_timeout(SHORT), Err(PopError::Empty));
    assert_eq!(a.pop_deadline(Instant::now() + SHORT), Err(PopError::Empty));
    let text = |value: i32| value.to_string();
    producer.push_wait(text(1)).unwrap();
    producer.push_wait(text(2)).unwrap();
    assert_eq!((one.pop(), two.pop(), two.pop()), (Ok(text(1)), Ok(text(2)), Err(PopError::Empty)));
    assert_eq!(producer.push(text(3)), Err(PushError::Full(text(3))), "a has popped none");
    assert_eq!((a.pop_wait(), a.pop_timeout(SHORT)), (Some(text(1)), Ok(text(2))));
    drop((one, two));
    let sender = std::thread::spawn(move || {
        (3..500).try_for_each(|value| producer.push_wait(text(value))).unwrap();
    });
    assert_eq!(a.iter().next(), Some(text(3)));
    assert_eq!((&mut a).into_iter().next(), Some(text(4)));
    assert_eq!(a.pop_idling(&mut Counting::default()), Some(text(5)));
    assert!(a.iter().eq((6..500).map(text)));
    sender.join().unwrap();
    assert_eq!((a.pop_wait(), a.pop()), (None, Err(PopError::Closed)));
    assert_eq!(a.into_iter().next(), None);
}

macro_rules! hands_over_several {
    ($ring:expr) => {{
        let (mut producer, mut consumer) = $ring.unwrap();
        let count = if cfg!(miri) { 20 } else { 5_000 };
        let sender = std::thread::spawn(move || {
            (0..count).try_for_each(|value| {
                if value % 50 == 0 {
                    std::thread::sleep(SHORT / 20); // so that the consumer sleeps
                }
                producer.push_wait(value)
            })
        });
        let mut values = Vec::new();
        while let Some(popped) = consumer.pop_into_wait(&mut values, 3) {
            assert!((1..=3).contains(&popped));
        }
        assert!(values.into_iter().eq(0..count));
        sender.join().unwrap().unwrap();
    }};
}

#[test]
#[allow(unused_mut, reason = "a producer of `mpsc` pushes by shared reference")]
fn a_consumer_sleeps_for_the_first_of_several() {
    hands_over_several!(spsc::blocking(4));
    hands_over_several!(mpsc::blocking(4));
    hands_over_several!(lanes::blocking(1, 4));
    hands_over_several!(group::blocking(1, 4));
}

macro_rules! records_wait {
    ($($kind:ident)*) => { $({
        let (mut producer, mut consumer) = records::$kind::blocking(64).unwrap();
        assert_eq!(consumer.read_timeout(SHORT).err(), Some(RecordError::Empty));
        assert_eq!(producer.push_timeout(&[1; 20], SHORT), Ok(()));
        assert_eq!(producer.push_timeout(&[2; 20], SHORT), Ok(()));
        assert_eq!(producer.push_timeout(&[3; 20], SHORT), Err(ClaimError::Full));
        assert_eq!(producer.claim_timeout(20, SHORT).err(), Some(ClaimError::Full));
        let later = Instant::now() + SHORT;
        assert_eq!(producer.push_deadline(&[3; 20], later), Err(ClaimError::Full));
        assert_eq!(*consumer.read_timeout(SHORT).unwrap(), [1; 20]);
        drop(producer);
        consumer.read_deadline(later).unwrap().release();
        consumer.read_wait().unwrap().release();
        assert_eq!(consumer.read_timeout(SHORT).err(), Some(RecordError::Closed));
    })* };
}

#[test]
fn records_wait_as_long_as_they_are_told() {
    records_wait!(spsc mpsc);
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
        assert_eq!(producer.push_idling(7, &mut idle), Err(Closed(7)));
    }};
}

#[test]
#[allow(unused_mut, reason = "a producer of `mpsc` pushes by shared reference")]
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
            let many = many.clone();
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
