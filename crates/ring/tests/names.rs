//! A program that depends on this crate alone can name what it keeps and what it calls with. No other crate of ours is
//! used here.

#![cfg(not(unc_model))]

use std::time::Duration;
use uncontended_ring::idle::Backoff;
use uncontended_ring::lanes::{self, group};
use uncontended_ring::notifier::Joint;
use uncontended_ring::{Deadline, Idle, Sleepers, TimedOut, broadcast, mpsc, spsc};

/// A pool that keeps sides of every ring.
struct Pool {
    one: (spsc::BlockingProducer<u32>, spsc::BlockingConsumer<u32>),
    many: (mpsc::BlockingProducer<u32>, mpsc::BlockingConsumer<u32>),
    lanes: (lanes::BlockingProducer<u32>, lanes::BlockingConsumer<u32>),
    shared: (group::BlockingProducer<u32>, group::BlockingConsumer<u32>),
    all: (broadcast::BlockingProducer<u32>, broadcast::BlockingConsumer<u32>),
    joined: spsc::Sides<u32, Joint>,
}

fn first<I: Idle>(consumer: &mut spsc::Consumer<u32, Sleepers>, idle: &mut I) -> Option<u32> {
    consumer.pop_idling(idle)
}

#[test]
fn the_names_of_every_side_are_here() {
    let joint = Joint::new();
    let plan = broadcast::Plan::new(1).consumer("a", &[]);
    let (producer, mut consumers) = plan.blocking().unwrap();
    let mut pool = Pool {
        one: spsc::blocking(1).unwrap(),
        many: mpsc::blocking(1).unwrap(),
        lanes: lanes::blocking(1, 1).unwrap(),
        shared: group::blocking(1, 1).unwrap(),
        all: (producer, consumers.take("a").unwrap()),
        joined: spsc::blocking_at(1, &joint).unwrap(),
    };
    let soon = Deadline::after(Duration::from_millis(1));
    let joined = &mut pool.joined;
    let late: Result<u32, TimedOut> = joint.sleep_until_deadline(|| joined.1.pop().ok(), soon);
    assert_eq!(late, Err(TimedOut));
    pool.one.0.push_wait(1).unwrap();
    pool.many.0.push_wait(2).unwrap();
    pool.lanes.0.push_wait(3).unwrap();
    pool.shared.0.push_wait(4).unwrap();
    pool.all.0.push_wait(5).unwrap();
    joined.0.push_wait(6).unwrap();
    assert_eq!(first(&mut pool.one.1, &mut Backoff::default()), Some(1));
    assert_eq!((pool.many.1.pop_wait(), pool.lanes.1.pop_wait()), (Some(2), Some(3)));
    assert_eq!((pool.shared.1.pop_wait(), pool.all.1.pop_wait()), (Some(4), Some(5)));
    assert_eq!(joint.sleep_until_deadline(|| joined.1.pop().ok(), Deadline::NEVER), Ok(6));
}
