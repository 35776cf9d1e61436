//! The rivals' queues.

use crossbeam_channel as channel;
use crossbeam_queue::ArrayQueue;
use disruptor::{BusySpin, Polling, Producer as _, SingleConsumerBarrier};
use ringbuf::traits::{Consumer as _, Producer as _, Split as _};
use std::sync::{Arc, mpsc};

use super::payload::Payload;
use super::pipe::{Pipe, spin};

/// A pipe that is used item by item.
macro_rules! pipe {
    ($(#[$doc:meta])* $name:ident, $sender:ty, $receiver:ty, $new:expr, $send:expr, $receive:expr) => {
        $(#[$doc])*
        pub struct $name;

        impl<T: Payload> Pipe<T> for $name {
            type Sender = $sender;
            type Receiver = $receiver;

            fn new(capacity: usize) -> ($sender, $receiver) {
                $new(capacity)
            }

            #[inline(always)]
            fn send(sender: &mut $sender, from: u64, to: u64) {
                (from..to).for_each(|number| $send(sender, T::new(number)));
            }

            #[inline(always)]
            fn receive(receiver: &mut $receiver, count: u64) -> u64 {
                (0..count).fold(0, |sum, _| sum.wrapping_add(T::sum(&$receive(receiver))))
            }
        }
    };
}
pub(crate) use pipe;

/// Retries a push until there is room.
#[inline(always)]
pub fn insist<T>(value: T, mut push: impl FnMut(T) -> Result<(), T>) {
    let mut left = Some(value);
    spin(|| match push(left.take()?) {
        Ok(()) => Some(()),
        Err(value) => {
            left = Some(value);
            None
        }
    });
}

pipe!(
    /// rtrb, item by item.
    Rtrb,
    rtrb::Producer<T>,
    rtrb::Consumer<T>,
    rtrb::RingBuffer::new,
    |to: &mut rtrb::Producer<T>, item| insist(item, |item| to.push(item).map_err(|rtrb::PushError::Full(item)| item)),
    |from: &mut rtrb::Consumer<T>| spin(|| from.pop().ok())
);

pipe!(
    /// rtrb, item by item, polled without the processor's spin hint: faster here, at the expense of the CPU's other
    /// thread.
    RtrbUnhinted,
    rtrb::Producer<T>,
    rtrb::Consumer<T>,
    rtrb::RingBuffer::new,
    |to: &mut rtrb::Producer<T>, item| {
        while to.is_full() {}
        assert!(to.push(item).is_ok(), "there was room");
    },
    |from: &mut rtrb::Consumer<T>| loop {
        if let Ok(item) = from.pop() {
            break item;
        }
    }
);

pipe!(
    /// ringbuf's caching sides, item by item.
    Ringbuf,
    ringbuf::HeapProd<T>,
    ringbuf::HeapCons<T>,
    |capacity| ringbuf::HeapRb::new(capacity).split(),
    |to: &mut ringbuf::HeapProd<T>, item| insist(item, |item| to.try_push(item)),
    |from: &mut ringbuf::HeapCons<T>| spin(|| from.try_pop())
);

pipe!(
    /// crossbeam's array queue.
    CrossbeamQueue,
    Arc<ArrayQueue<T>>,
    Arc<ArrayQueue<T>>,
    |capacity| {
        let queue = Arc::new(ArrayQueue::new(capacity));
        (queue.clone(), queue)
    },
    |to: &mut Arc<ArrayQueue<T>>, item| insist(item, |item| to.push(item)),
    |from: &mut Arc<ArrayQueue<T>>| spin(|| from.pop())
);

pipe!(
    /// crossbeam's bounded channel; blocks.
    CrossbeamChannel,
    channel::Sender<T>,
    channel::Receiver<T>,
    channel::bounded,
    |to: &mut channel::Sender<T>, item| to.send(item).expect("the receiver lives"),
    |from: &mut channel::Receiver<T>| from.recv().expect("the sender lives")
);

pipe!(
    /// kanal's bounded channel; blocks.
    Kanal,
    kanal::Sender<T>,
    kanal::Receiver<T>,
    kanal::bounded,
    |to: &mut kanal::Sender<T>, item| to.send(item).expect("the receiver lives"),
    |from: &mut kanal::Receiver<T>| from.recv().expect("the sender lives")
);

pipe!(
    /// flume's bounded channel; blocks.
    Flume,
    flume::Sender<T>,
    flume::Receiver<T>,
    flume::bounded,
    |to: &mut flume::Sender<T>, item| assert!(to.send(item).is_ok(), "the receiver lives"),
    |from: &mut flume::Receiver<T>| from.recv().expect("the sender lives")
);

pipe!(
    /// crossfire's bounded channel for one producer and one consumer; blocks.
    Crossfire,
    crossfire::Tx<crossfire::spsc::Array<T>>,
    crossfire::Rx<crossfire::spsc::Array<T>>,
    |capacity| {
        // As its documentation advises, at the start of a program.
        crossfire::detect_backoff_cfg();
        crossfire::spsc::bounded_blocking(capacity)
    },
    |to: &mut crossfire::Tx<crossfire::spsc::Array<T>>, item| assert!(to.send(item).is_ok(), "the receiver lives"),
    |from: &mut crossfire::Rx<crossfire::spsc::Array<T>>| from.recv().expect("the sender lives")
);

pipe!(
    /// The standard library's bounded channel; blocks.
    Std,
    mpsc::SyncSender<T>,
    mpsc::Receiver<T>,
    mpsc::sync_channel,
    |to: &mut mpsc::SyncSender<T>, item| to.send(item).expect("the receiver lives"),
    |from: &mut mpsc::Receiver<T>| from.recv().expect("the sender lives")
);

/// The disruptor's poller, with batches as they come, as its documentation recommends for the caller's threads.
pub struct Disruptor;

impl<T: Payload> Pipe<T> for Disruptor {
    type Sender = disruptor::SingleProducer<T, SingleConsumerBarrier>;
    type Receiver = disruptor::EventPoller<T, disruptor::SingleProducerBarrier>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        let builder = disruptor::build_single_producer(capacity, T::default, BusySpin);
        let (poller, builder) = builder.new_event_poller();
        (builder.build(), poller)
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, from: u64, to: u64) {
        (from..to).for_each(|number| sender.publish(|slot| *slot = T::new(number)));
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver, count: u64) -> u64 {
        let (mut sum, mut left) = (0u64, count);
        while left > 0 {
            match receiver.take(left) {
                Ok(mut events) => {
                    left -= ExactSizeIterator::len(&&mut events) as u64;
                    sum = (&mut events).fold(sum, |sum, event| sum.wrapping_add(event.sum()));
                }
                Err(Polling::NoEvents) => std::hint::spin_loop(),
                Err(Polling::Shutdown) => panic!("the producer lives"),
            }
        }
        sum
    }
}

/// The disruptor's poller, fed by `batch_publish` of at most [`BATCH`] items.
pub struct DisruptorBatches;

impl<T: Payload> Pipe<T> for DisruptorBatches {
    type Sender = <Disruptor as Pipe<T>>::Sender;
    type Receiver = <Disruptor as Pipe<T>>::Receiver;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        <Disruptor as Pipe<T>>::new(capacity)
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, from: u64, to: u64) {
        let mut next = from;
        while next < to {
            let count = (to - next).min(BATCH);
            sender.batch_publish(count as usize, |slots| {
                slots.zip(next..).for_each(|(slot, number)| *slot = T::new(number));
            });
            next += count;
        }
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver, count: u64) -> u64 {
        <Disruptor as Pipe<T>>::receive(receiver, count)
    }
}

/// rtrb, in chunks of the available items, at most 64: its interface for many items.
pub struct RtrbChunks;

/// The maximum number of items in a chunk or batch.
pub const BATCH: u64 = 64;

impl<T: Payload> Pipe<T> for RtrbChunks {
    type Sender = rtrb::Producer<T>;
    type Receiver = rtrb::Consumer<T>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        rtrb::RingBuffer::new(capacity)
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, from: u64, to: u64) {
        let mut next = from;
        while next < to {
            let count = spin(|| Some(sender.slots()).filter(|&slots| slots > 0));
            let count = (count as u64).min(BATCH).min(to - next);
            let chunk = sender.write_chunk_uninit(count as usize).expect("the slots are available");
            chunk.fill_from_iter((next..next + count).map(T::new));
            next += count;
        }
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver, count: u64) -> u64 {
        let (mut sum, mut left) = (0u64, count);
        while left > 0 {
            let count = spin(|| Some(receiver.slots()).filter(|&slots| slots > 0));
            let count = (count as u64).min(BATCH).min(left);
            let chunk = receiver.read_chunk(count as usize).expect("the items are available");
            sum = chunk.into_iter().fold(sum, |sum, item| sum.wrapping_add(item.sum()));
            left -= count;
        }
        sum
    }
}

/// A pipe that copies slices of at most [`BATCH`] items: what its calls pushed, and popped, of a slice.
macro_rules! slices {
    ($(#[$doc:meta])* $name:ident, $sender:ty, $receiver:ty, $new:expr, $push:expr, $pop:expr) => {
        $(#[$doc])*
        pub struct $name;

        impl<T: Payload> Pipe<T> for $name {
            type Sender = $sender;
            type Receiver = $receiver;

            fn new(capacity: usize) -> ($sender, $receiver) {
                $new(capacity)
            }

            #[inline(always)]
            fn send(sender: &mut $sender, from: u64, to: u64) {
                let mut items = [T::default(); BATCH as usize];
                let mut next = from;
                while next < to {
                    let most = (to - next).min(BATCH) as usize;
                    items[..most].iter_mut().zip(next..).for_each(|(item, number)| *item = T::new(number));
                    let mut left = &items[..most];
                    while !left.is_empty() {
                        match $push(sender, left) {
                            0 => std::hint::spin_loop(),
                            pushed => left = &left[pushed..],
                        }
                    }
                    next += most as u64;
                }
            }

            #[inline(always)]
            fn receive(receiver: &mut $receiver, count: u64) -> u64 {
                let mut items = [T::default(); BATCH as usize];
                let (mut sum, mut left) = (0u64, count);
                while left > 0 {
                    let most = left.min(BATCH) as usize;
                    let popped: usize = $pop(receiver, &mut items[..most]);
                    if popped == 0 {
                        std::hint::spin_loop();
                    }
                    sum = items[..popped].iter().fold(sum, |sum, item| sum.wrapping_add(item.sum()));
                    left -= popped as u64;
                }
                sum
            }
        }
    };
}
pub(crate) use slices;

slices!(
    /// rtrb, by slices that are copied.
    RtrbSlices,
    rtrb::Producer<T>,
    rtrb::Consumer<T>,
    rtrb::RingBuffer::new,
    |to: &mut rtrb::Producer<T>, items| to.push_partial_slice(items).0.len(),
    |from: &mut rtrb::Consumer<T>, items| from.pop_partial_slice(items).0.len()
);
