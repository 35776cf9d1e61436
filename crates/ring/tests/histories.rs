//! Rings are linearizable: recorded histories of polling and blocking rings are checked against the specification of a
//! queue.
#![cfg(not(unc_model))]
#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // A broken queue needs its own atomics.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use uncontended_model::history::specs::{Put, Queue, Took};
use uncontended_model::history::{Client, Limits, Operation, Recorder, Verdict, check, shrink};
use uncontended_ring::lanes::group;
use uncontended_ring::{PopError, PushError, mpsc, spsc};
use uncontended_testkit::repetitions;

type Recorded = Client<Put, Took>;

/// Retries a push until there is room. A push that finds none changes nothing, so it is not recorded.
fn push(
    client: &mut Recorded,
    value: i64,
    mut push: impl FnMut(i64) -> Result<(), PushError<i64>>,
) {
    let done = |pushed: &Result<(), PushError<i64>>| match pushed {
        Ok(()) => Some(Took::Done),
        Err(PushError::Full(_)) => None,
        Err(PushError::Closed(_)) => panic!("the consumer is gone"),
    };
    while client.record_some(Put::In(value), || push(value), done).is_err() {
        std::hint::spin_loop();
    }
}

/// Pops until the producers have gone. A pop that finds nothing is recorded as `empty`, unless many before it found
/// nothing: while the producers are off their CPUs, they would fill the memory.
fn drain(
    client: &mut Recorded,
    empty: Option<Took>,
    mut pop: impl FnMut() -> Result<i64, PopError>,
) -> u64 {
    const RECORDED: u64 = 64;
    let (mut taken, mut empty_in_a_row) = (0, 0);
    loop {
        let empty = empty.filter(|_| empty_in_a_row < RECORDED);
        let seen = |popped: &Result<i64, PopError>| match popped {
            Ok(value) => Some(Took::Value(*value)),
            Err(PopError::Empty) => empty,
            Err(PopError::Closed) => None,
        };
        match client.record_some(Put::Out, &mut pop, seen) {
            Ok(_) => (taken, empty_in_a_row) = (taken + 1, 0),
            Err(PopError::Empty) => {
                empty_in_a_row += 1;
                std::hint::spin_loop();
            }
            Err(PopError::Closed) => return taken,
        }
    }
}

/// The same with blocking pops; `Closed` is the end.
fn drain_waiting(client: &mut Recorded, mut pop: impl FnMut() -> Option<i64>) -> u64 {
    let mut taken = 0;
    while client.record_some(Put::Out, &mut pop, |value| value.map(Took::Value)).is_some() {
        taken += 1;
    }
    taken
}

/// Asserts that the history is linearizable, and that no search was needed.
#[track_caller]
fn is_queue(history: &[Operation<Put, Took>], pushed: u64) {
    let is_push = |operation: &&Operation<Put, Took>| matches!(operation.call(), Put::In(_));
    assert_eq!(history.iter().filter(is_push).count() as u64, pushed);
    let report = check(&Queue::default(), history, &mut Limits::default());
    if let Verdict::Refuted(refutation) = &report.verdict {
        let core = shrink(&Queue::default(), history, refutation, &mut Limits::default());
        panic!("not a queue: {:#?}", core.rest);
    }
    assert_eq!((report.verdict, report.keys_by_search), (Verdict::Linearizable, 0));
}

#[test]
fn spsc_polled_is_a_queue() {
    let values = repetitions("spsc_polled_is_a_queue", 20_000, 2_000_000);
    for capacity in [1, 3, 64] {
        let (mut producer, mut consumer) = spsc::ring(capacity).unwrap();
        let recorder = Recorder::default();
        let (mut pushing, mut popping) = (recorder.client(), recorder.client());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                (0..values as i64).for_each(|v| push(&mut pushing, v, |v| producer.push(v)));
            });
            scope.spawn(move || {
                assert_eq!(drain(&mut popping, Some(Took::Empty), || consumer.pop()), values)
            });
        });
        is_queue(&recorder.history(), values);
    }
}

#[test]
fn spsc_blocking_is_a_queue() {
    let values = repetitions("spsc_blocking_is_a_queue", 20_000, 2_000_000);
    for capacity in [1, 64] {
        let (mut producer, mut consumer) = spsc::blocking(capacity).unwrap();
        let recorder = Recorder::default();
        let (mut pushing, mut popping) = (recorder.client(), recorder.client());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for value in 0..values as i64 {
                    let push = || producer.push_wait(value).expect("the consumer stays");
                    pushing.record(Put::In(value), push, |()| Took::Done);
                }
            });
            let mut pop = move || drain_waiting(&mut popping, || consumer.pop_wait());
            scope.spawn(move || assert_eq!(pop(), values));
        });
        is_queue(&recorder.history(), values);
    }
}

/// Empty is not recorded: it also means that the oldest value is not published yet, while a newer one may be. That is
/// weaker than a queue, and documented.
#[test]
fn mpsc_polled_is_a_queue() {
    let each = repetitions("mpsc_polled_is_a_queue", 8_000, 500_000);
    for capacity in [1, 4, 64] {
        let (producer, mut consumer) = mpsc::ring(capacity).unwrap();
        let recorder = Recorder::default();
        std::thread::scope(|scope| {
            for number in 0..3 {
                let (producer, mut client) = (producer.clone(), recorder.client());
                let values = number * each as i64..(number + 1) * each as i64;
                scope.spawn(move || {
                    values.for_each(|value| push(&mut client, value, |v| producer.push(v)));
                });
            }
            drop(producer);
            let mut client = recorder.client();
            scope.spawn(move || assert_eq!(drain(&mut client, None, || consumer.pop()), 3 * each));
        });
        is_queue(&recorder.history(), 3 * each);
    }
}

#[test]
fn mpsc_blocking_is_a_queue() {
    let each = repetitions("mpsc_blocking_is_a_queue", 8_000, 500_000);
    for capacity in [1, 64] {
        let (producer, mut consumer) = mpsc::blocking(capacity).unwrap();
        let recorder = Recorder::default();
        std::thread::scope(|scope| {
            for number in 0..3 {
                let (producer, mut client) = (producer.clone(), recorder.client());
                let values = number * each as i64..(number + 1) * each as i64;
                scope.spawn(move || {
                    for value in values {
                        let push = || producer.push_wait(value).expect("the consumer stays");
                        client.record(Put::In(value), push, |()| Took::Done);
                    }
                });
            }
            drop(producer);
            let mut client = recorder.client();
            let mut pop = move || drain_waiting(&mut client, || consumer.pop_wait());
            scope.spawn(move || assert_eq!(pop(), 3 * each));
        });
        is_queue(&recorder.history(), 3 * each);
    }
}

/// One lane of a group. Between lanes there is no order, and a look at several finds each empty at a moment of its own.
#[test]
fn a_lane_that_two_consumers_share_is_a_queue() {
    let values = repetitions("a_lane_that_two_consumers_share_is_a_queue", 8_000, 500_000);
    for capacity in [1, 3, 64] {
        let (mut producer, consumer) = group::ring(1, capacity).unwrap();
        let recorder = Recorder::default();
        let taken = std::thread::scope(|scope| {
            let mut client = recorder.client();
            scope.spawn(move || {
                (0..values as i64).for_each(|v| push(&mut client, v, |v| producer.push(v)));
            });
            let consumers = [consumer.clone(), consumer].map(|mut consumer| {
                let mut client = recorder.client();
                scope.spawn(move || drain(&mut client, Some(Took::Empty), || consumer.pop()))
            });
            consumers.map(|consumer| consumer.join().unwrap())
        });
        assert_eq!(taken.iter().sum::<u64>(), values);
        is_queue(&recorder.history(), values);
    }
}

/// A queue with a place for every value. A push takes the next place, yields so that others interleave, and fills it.
struct Tickets {
    next: AtomicU64,
    places: Vec<Mutex<Option<i64>>>,
}

impl Tickets {
    fn new(places: usize) -> Self {
        Tickets { next: AtomicU64::new(0), places: (0..places).map(|_| Mutex::new(None)).collect() }
    }

    fn push(&self, value: i64) {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        std::thread::yield_now();
        *self.places[place as usize].lock().unwrap() = Some(value);
    }

    /// Broken: skips places that are not filled yet, and returns to them later.
    fn pop(&self) -> Option<i64> {
        self.places.iter().find_map(|place| place.lock().unwrap().take())
    }
}

#[test]
fn a_queue_that_passes_unfilled_places_is_caught() {
    for _ in 0..200 {
        let (queue, recorder) = (Tickets::new(60), Recorder::default());
        std::thread::scope(|scope| {
            for number in 0..3 {
                let (queue, mut client) = (&queue, recorder.client());
                scope.spawn(move || {
                    for value in number * 20..(number + 1) * 20 {
                        client.record(Put::In(value), || queue.push(value), |()| Took::Done);
                    }
                });
            }
            let (queue, mut client) = (&queue, recorder.client());
            scope.spawn(move || {
                let mut taken = 0;
                while taken < 60 {
                    let seen = |value: &Option<i64>| value.map_or(Took::Empty, Took::Value);
                    let value = client.record(Put::Out, || queue.pop(), seen);
                    taken += u32::from(value.is_some());
                }
            });
        });
        let history = recorder.history();
        let mut limits = Limits::default();
        let report = check(&Queue::default(), &history, &mut limits);
        if let Verdict::Refuted(refutation) = report.verdict {
            let core = shrink(&Queue::default(), &history, &refutation, &mut limits);
            assert!(core.minimal);
            assert!((2..=8).contains(&core.operations.len()), "{core:#?}");
            return;
        }
    }
    panic!("three producers that yield never interleaved");
}
