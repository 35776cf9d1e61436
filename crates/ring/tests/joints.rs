//! One thread waits for rings of all kinds: whatever ends a wait for one of them wakes their joint.

#![cfg(not(unc_model))]
#![allow(clippy::disallowed_types)] // A user's own atomics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use uncontended_ring::broadcast::Plan;
use uncontended_ring::lanes::{self, group};
use uncontended_ring::lossy::{self, ObserveError};
use uncontended_ring::notifier::Joint;
use uncontended_ring::records::{self, RecordError};
use uncontended_ring::{PopError, mpsc, spsc};
use uncontended_wait::{Deadline, Ticket, many, single};

#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Tasks that wait on a joint for what never comes, and so for any wakeup.
struct Waiting<'j> {
    joint: &'j Joint,
    tasks: [(Arc<Woken>, Ticket); 2],
}

impl Waiting<'_> {
    fn on(joint: &Joint) -> Waiting<'_> {
        let mut tasks = <[(Arc<Woken>, Ticket); 2]>::default();
        for (woken, ticket) in &mut tasks {
            let waker = Waker::from(Arc::clone(woken));
            assert!(
                joint.poll_until(ticket, &mut Context::from_waker(&waker), || false).is_pending()
            );
        }
        assert!(joint.has_waiters());
        Waiting { joint, tasks }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.tasks.iter_mut().for_each(|(_, ticket)| self.joint.give_up(ticket));
    }
}

/// Asserts that a change wakes all that wait on the joint.
#[track_caller]
fn wakes<R>(joint: &Joint, what: &str, change: impl FnOnce() -> R) -> R {
    let (waiting, before) = (Waiting::on(joint), joint.wakes());
    let result = change();
    assert_ne!(joint.wakes(), before, "{what}: no wakeup");
    let woken = waiting.tasks.each_ref().map(|(woken, _)| woken.0.load(Relaxed) > 0);
    assert_eq!(woken, [true; 2], "{what}");
    result
}

macro_rules! a_push_and_the_end_wake {
    ($joint:ident, $name:literal, $sides:expr, |$producer:ident| $push:expr) => {{
        let (mut $producer, _consumer) = $sides.unwrap();
        wakes(&$joint, concat!($name, ", a push"), || $push);
        wakes(&$joint, concat!($name, ", the end"), || drop($producer));
    }};
}

#[test]
#[allow(unused_mut, reason = "a producer of `mpsc` pushes by shared reference")]
fn a_push_into_any_ring_and_its_end_wake_the_joint() {
    let joint = Joint::new();
    a_push_and_the_end_wake!(joint, "spsc", spsc::blocking_at(2, &joint), |one| one
        .push(1)
        .unwrap());
    a_push_and_the_end_wake!(joint, "mpsc", mpsc::blocking_at(2, &joint), |one| one
        .push(1)
        .unwrap());
    a_push_and_the_end_wake!(joint, "lanes", lanes::blocking_at(2, 2, &joint), |one| one
        .push(1)
        .unwrap());
    a_push_and_the_end_wake!(joint, "group", group::blocking_at(2, 2, &joint), |one| one
        .push(1)
        .unwrap());
    let sides = || group::blocking_at(1, 2, &joint);
    a_push_and_the_end_wake!(joint, "group, several", sides(), |one| {
        assert_eq!(one.push_slice(&[1, 2]), 2);
    });
    a_push_and_the_end_wake!(joint, "lossy", lossy::blocking_at(2, &joint), |one| one.push(1_u64));
    let one = Plan::new(2).consumer("a", &[]);
    a_push_and_the_end_wake!(joint, "broadcast", one.blocking_at(&joint), |one| one
        .push(1)
        .unwrap());
    let shared = Plan::new(2).group("g", 3, &[]);
    a_push_and_the_end_wake!(joint, "members", shared.blocking_at(&joint), |one| one
        .push(1)
        .unwrap());
    let sides = || records::spsc::blocking_at(64, &joint);
    a_push_and_the_end_wake!(joint, "records of one", sides(), |one| one.push(b"a").unwrap());
    let sides = || records::mpsc::blocking_at(64, &joint);
    a_push_and_the_end_wake!(joint, "records of many", sides(), |one| one.push(b"a").unwrap());
    // The consumer skips an aborted record, and may wait for what comes after it.
    let (mut producer, _consumer) = sides().unwrap();
    wakes(&joint, "an abort", || drop(producer.claim(3).unwrap()));
}

#[test]
fn a_stage_that_follows_another_is_woken_by_its_release_and_its_end() {
    let joint = Joint::new();
    for (plan, what) in [
        (Plan::new(4).consumer("first", &[]).consumer("then", &["first"]), "a consumer"),
        (Plan::new(4).group("first", 1, &[]).group("then", 2, &["first"]), "a group"),
    ] {
        let (mut producer, mut consumers) = plan.blocking_at(&joint).unwrap();
        let (mut first, mut then) =
            (consumers.take("first").unwrap(), consumers.take("then").unwrap());
        producer.push(7).unwrap();
        wakes(&joint, what, || first.read(1).unwrap().release());
        joint.sleep_until(|| then.read(1).is_ok());
        wakes(&joint, what, || drop(first));
    }
}

/// Values that a thread has taken from each ring of a market, and what is left of it.
#[derive(Default)]
struct Seen {
    counts: [u64; 6],
    is_open: [bool; 6],
}

impl Seen {
    /// Notes what a look at ring number `at` found: how many values, or why none.
    fn note(&mut self, at: usize, found: Result<u64, bool>) -> bool {
        let count = found.unwrap_or(0);
        self.counts[at] += count;
        self.is_open[at] = found != Err(true);
        count > 0
    }
}

#[test]
fn one_thread_waits_for_rings_of_all_kinds() {
    let count: u64 = if cfg!(miri) { 12 } else { 3_000 };
    let joint = Joint::new();
    let (mut ticks, mut observer) = lossy::blocking_at(16, &joint).unwrap();
    let plan = Plan::new(8).consumer("book", &[]).group("workers", 1, &["book"]);
    let (mut quotes, mut consumers) = plan.blocking_at(&joint).unwrap();
    let (mut book, mut worker) =
        (consumers.take("book").unwrap(), consumers.take("workers").unwrap());
    let (mut texts, mut reader) = records::spsc::blocking_at(256, &joint).unwrap();
    let (mut orders, mut control) = spsc::blocking_at(2, &joint).unwrap();
    let (lane, mut lanes) = lanes::blocking_at(2, 2, &joint).unwrap();
    std::thread::scope(|threads| {
        threads.spawn(move || (0..count).for_each(|tick| ticks.push(tick)));
        threads.spawn(move || (0..count).try_for_each(|quote| quotes.push_wait(quote)));
        threads.spawn(move || (0..count).try_for_each(|_| texts.push_wait(b"a line")));
        threads.spawn(move || (0..count).try_for_each(|order| orders.push_wait(order)));
        for mut lane in [lane.try_clone().unwrap(), lane] {
            threads.spawn(move || (0..count).try_for_each(|value| lane.push_wait(value)));
        }
        let mut seen = Seen::default();
        loop {
            joint.sleep_until(|| {
                let ended = |error| error == PopError::Closed;
                let tick = match observer.read() {
                    Ok(_) => Ok(1),
                    Err(ObserveError::Lost(count)) => Ok(count),
                    Err(error) => Err(error == ObserveError::Closed),
                };
                let quote = book.read(1).map(|batch| batch.release()).map_err(ended);
                let shared = worker.read(1).map(|batch| batch.release()).map_err(ended);
                let text = reader.read().map(|text| text.release());
                let found = [
                    tick,
                    quote.map(|()| 1),
                    shared.map(|()| 1),
                    text.map(|()| 1).map_err(|error| error == RecordError::Closed),
                    control.pop().map(|_| 1).map_err(ended),
                    lanes.pop().map(|_| 1).map_err(ended),
                ];
                let some =
                    (0..).zip(found).fold(false, |some, (at, found)| some | seen.note(at, found));
                some || seen.is_open == [false; 6]
            });
            if seen.is_open == [false; 6] {
                break;
            }
        }
        assert_eq!(seen.counts, [count, count, count, count, count, 2 * count]);
    });
}

#[test]
fn one_thread_waits_for_a_ring_and_two_event_counts() {
    let count: u64 = if cfg!(miri) { 12 } else { 3_000 };
    let joint = Joint::new();
    let (mut orders, mut control) = spsc::blocking_at(2, &joint).unwrap();
    let (log, jobs) = (single::EventCount64::new(), many::EventCount64::new());
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut writer = log.producer().unwrap();
            (0..count).for_each(|_| {
                writer.increment();
                joint.wake();
            });
        });
        threads.spawn(|| {
            (0..count).for_each(|_| {
                jobs.increment();
                joint.wake();
            });
        });
        threads.spawn(move || (0..count).try_for_each(|order| orders.push_wait(order)));
        let mut seen = (0, 0, 0);
        while seen != (count, count, count) {
            let look = || {
                let now = (seen.0 + u64::from(control.pop().is_ok()), log.value(), jobs.value());
                (now != seen).then_some(now)
            };
            let soon = Deadline::after(Duration::from_secs(10));
            seen = joint.sleep_until_deadline(look, soon).expect("each event wakes the joint");
        }
    });
}
