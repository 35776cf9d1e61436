//! Our rings, behind the same interfaces.

use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Release;
use uncontended_ring::{PushError, broadcast, spsc};
use uncontended_wait::Sleepers;
use uncontended_wait::idle::Idle;

use super::broadcasts::Broadcast;
use super::payload::Payload;
use super::pipe::{Pipe, spin};
use super::pipes::{BATCH, insist, pipe, slices};

pipe!(
    /// The polled ring, item by item.
    Polled,
    spsc::Producer<T>,
    spsc::Consumer<T>,
    |capacity| spsc::ring(capacity).expect("a small capacity"),
    |to: &mut spsc::Producer<T>, item| insist(item, |item| to
        .push(item)
        .map_err(PushError::into_inner)),
    |from: &mut spsc::Consumer<T>| spin(|| from.pop().ok())
);

/// The polled ring, item by item, with the idle strategy `I` between two polls.
pub struct Idling<I>(PhantomData<I>);

impl<T: Payload, I: Idle + Default + Send + 'static> Pipe<T> for Idling<I> {
    type Sender = spsc::Producer<T>;
    type Receiver = spsc::Consumer<T>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        spsc::ring(capacity).expect("a small capacity")
    }

    fn send(sender: &mut Self::Sender, from: u64, to: u64) {
        for number in from..to {
            insist(T::new(number), |item| sender.push(item).map_err(PushError::into_inner));
        }
    }

    fn receive(receiver: &mut Self::Receiver, count: u64) -> u64 {
        let (mut idle, mut sum, mut left) = (I::default(), 0u64, count);
        while left > 0 {
            match receiver.pop() {
                Ok(item) => {
                    sum = sum.wrapping_add(item.sum());
                    left -= 1;
                    idle.reset();
                }
                Err(_) => idle.idle(),
            }
        }
        sum
    }
}

/// The polled ring, in batches of the available items, at most as large as the rivals' chunks.
pub struct PolledBatches;

impl<T: Payload> Pipe<T> for PolledBatches {
    type Sender = spsc::Producer<T>;
    type Receiver = spsc::Consumer<T>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        spsc::ring(capacity).expect("a small capacity")
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, from: u64, to: u64) {
        let mut next = from;
        while next < to {
            let Ok(mut claim) = sender.claim_up_to((to - next).min(BATCH) as usize) else {
                std::hint::spin_loop();
                continue;
            };
            claim.fill((next..to).map(T::new));
            next += claim.publish() as u64;
        }
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver, count: u64) -> u64 {
        let (mut sum, mut left) = (0u64, count);
        while left > 0 {
            let Ok(batch) = receiver.read(left.min(BATCH) as usize) else {
                std::hint::spin_loop();
                continue;
            };
            sum = batch.iter().fold(sum, |sum, item| sum.wrapping_add(item.sum()));
            left -= batch.len() as u64;
            batch.release();
        }
        sum
    }
}

slices!(
    /// The polled ring, by slices that are copied.
    PolledSlices,
    spsc::Producer<T>,
    spsc::Consumer<T>,
    |capacity| spsc::ring(capacity).expect("a small capacity"),
    |to: &mut spsc::Producer<T>, items| to.push_slice(items),
    |from: &mut spsc::Consumer<T>, items| from.pop_slice(items)
);

/// The blocking ring, in batches.
pub struct BlockingBatches;

impl<T: Payload> Pipe<T> for BlockingBatches {
    type Sender = spsc::Producer<T, Sleepers>;
    type Receiver = spsc::Consumer<T, Sleepers>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        spsc::blocking(capacity).expect("a small capacity")
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, from: u64, to: u64) {
        let mut next = from;
        while next < to {
            let most = (to - next).min(BATCH) as usize;
            let mut claim = sender.claim_up_to_wait(most).expect("the consumer lives");
            claim.fill((next..to).map(T::new));
            next += claim.publish() as u64;
        }
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver, count: u64) -> u64 {
        let (mut sum, mut left) = (0u64, count);
        while left > 0 {
            let batch = receiver.read_wait(left.min(BATCH) as usize).expect("the producer lives");
            sum = batch.iter().fold(sum, |sum, item| sum.wrapping_add(item.sum()));
            left -= batch.len() as u64;
            batch.release();
        }
        sum
    }
}

/// The polled broadcast.
pub struct PolledBroadcast;

impl<T: Payload> Broadcast<T> for PolledBroadcast {
    type Sender = broadcast::Producer<T>;
    type Receiver = broadcast::Consumer<T>;

    fn new(capacity: usize) -> (Self::Sender, [Self::Receiver; 2]) {
        let plan = broadcast::Plan::new(capacity).consumer("one", &[]).consumer("two", &[]);
        let (producer, mut consumers) = plan.polling().expect("a small capacity");
        let mut take = |name| consumers.take(name).expect("it is in the plan");
        (producer, [take("one"), take("two")])
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, from: u64, to: u64) {
        for number in from..to {
            insist(T::new(number), |item| sender.push(item).map_err(PushError::into_inner));
        }
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver, count: u64, seen: &AtomicU64) -> u64 {
        let (mut sum, mut done) = (0u64, 0);
        while done < count {
            let Ok(batch) = receiver.read((count - done) as usize) else {
                std::hint::spin_loop();
                continue;
            };
            sum = batch.iter().fold(sum, |sum, item| sum.wrapping_add(item.sum()));
            done += batch.len() as u64;
            batch.release();
            seen.store(done, Release);
        }
        sum
    }
}

pipe!(
    /// The blocking ring, item by item.
    Blocking,
    spsc::Producer<T, Sleepers>,
    spsc::Consumer<T, Sleepers>,
    |capacity| spsc::blocking(capacity).expect("a small capacity"),
    |to: &mut spsc::Producer<T, Sleepers>, item| assert!(to.push_wait(item).is_ok(), "the consumer lives"),
    |from: &mut spsc::Consumer<T, Sleepers>| from.pop_wait().expect("the producer lives")
);

/// The blocking broadcast.
pub struct BlockingBroadcast;

impl<T: Payload> Broadcast<T> for BlockingBroadcast {
    type Sender = broadcast::Producer<T, Sleepers>;
    type Receiver = broadcast::Consumer<T, Sleepers>;

    fn new(capacity: usize) -> (Self::Sender, [Self::Receiver; 2]) {
        let plan = broadcast::Plan::new(capacity).consumer("one", &[]).consumer("two", &[]);
        let (producer, mut consumers) = plan.blocking().expect("a small capacity");
        let mut take = |name| consumers.take(name).expect("it is in the plan");
        (producer, [take("one"), take("two")])
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, from: u64, to: u64) {
        for number in from..to {
            assert!(sender.push_wait(T::new(number)).is_ok(), "the consumers live");
        }
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver, count: u64, seen: &AtomicU64) -> u64 {
        let (mut sum, mut done) = (0u64, 0);
        while done < count {
            let batch = receiver.read_wait((count - done) as usize).expect("the producer lives");
            sum = batch.iter().fold(sum, |sum, item| sum.wrapping_add(item.sum()));
            done += batch.len() as u64;
            batch.release();
            seen.store(done, Release);
        }
        sum
    }
}
