//! Broadcasts: one producer, whose items every consumer sees.

use disruptor::wait_strategies::WaitStrategy;
use disruptor::{
    BusySpin, BusySpinWithSpinLoopHint, MultiConsumerBarrier, Polling, Producer as _, Sequence,
    Sleep,
};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;
use uncontended_bench::Pinning;

use super::payload::Payload;

/// How a disruptor's consumer waits.
#[derive(Clone, Copy)]
pub enum Strategy {
    Spin,
    SpinWithHint,
    Sleep(Duration),
}

impl Strategy {
    pub const ALL: [Strategy; 4] = [
        Strategy::Spin,
        Strategy::SpinWithHint,
        Strategy::Sleep(Duration::from_micros(10)),
        Strategy::Sleep(Duration::from_millis(1)),
    ];

    pub fn name(self) -> &'static str {
        match self {
            Strategy::Spin => "disruptor, BusySpin",
            Strategy::SpinWithHint => "disruptor, spin hint",
            Strategy::Sleep(time) if time.as_millis() == 0 => "disruptor, Sleep 10 µs",
            Strategy::Sleep(_) => "disruptor, Sleep 1 ms",
        }
    }
}

/// What a consumer has seen, alone on its cache lines.
#[derive(Default)]
#[repr(align(128))]
pub struct Seen {
    pub count: AtomicU64,
    pub sum: AtomicU64,
}

/// Publishes the items of a range.
type Publish = Box<dyn FnMut(u64, u64) + Send>;

/// A disruptor with consumers in threads that it manages, the intended use.
pub struct Managed {
    publish: Publish,
    pub seen: Arc<Vec<Seen>>,
}

impl Managed {
    /// A disruptor with `consumers` (1 or 2), on the CPUs after the producer's.
    pub fn new<T: Payload>(
        capacity: usize,
        strategy: Strategy,
        consumers: usize,
        pinning: &Pinning,
    ) -> Managed {
        let seen: Arc<Vec<Seen>> = Arc::new((0..consumers).map(|_| Seen::default()).collect());
        let publish = match strategy {
            Strategy::Spin => start::<T, _>(capacity, BusySpin, &seen, pinning),
            Strategy::SpinWithHint => {
                start::<T, _>(capacity, BusySpinWithSpinLoopHint, &seen, pinning)
            }
            Strategy::Sleep(time) => start::<T, _>(capacity, Sleep::new(time), &seen, pinning),
        };
        let mut disruptor = Managed { publish, seen };
        // A first item, of checksum 0, for which every consumer moves to its CPU.
        disruptor.publish(0, 1);
        while disruptor.slowest() < 1 {
            std::thread::yield_now();
        }
        disruptor
    }

    pub fn publish(&mut self, from: u64, to: u64) {
        (self.publish)(from, to);
    }

    /// How many items the slowest consumer has seen, the first one included that [`Managed::new`] publishes.
    pub fn slowest(&self) -> u64 {
        slowest(&self.seen)
    }
}

/// How many items the slowest consumer has seen.
pub fn slowest(seen: &[Seen]) -> u64 {
    seen.iter().map(|seen| seen.count.load(Acquire)).min().unwrap_or(0)
}

fn start<T: Payload, W: WaitStrategy + 'static>(
    capacity: usize,
    strategy: W,
    seen: &Arc<Vec<Seen>>,
    pinning: &Pinning,
) -> Publish {
    let handler = |consumer: usize| {
        let (seen, pinning, mut sum, mut count) = (seen.clone(), pinning.clone(), 0u64, 0u64);
        move |item: &T, _: Sequence, end_of_batch: bool| {
            if count == 0 {
                // Its own pinning checks the CPUs that the building thread may use, which is one.
                pinning.pin(consumer + 1);
            }
            sum = sum.wrapping_add(item.sum());
            count += 1;
            if end_of_batch {
                seen[consumer].sum.store(sum, Release);
                seen[consumer].count.store(count, Release);
            }
        }
    };
    macro_rules! publisher {
        ($producer:expr) => {{
            let mut producer = $producer;
            Box::new(move |from, to| {
                (from..to).for_each(|number| producer.publish(|slot| *slot = T::new(number)))
            })
        }};
    }
    let one = disruptor::build_single_producer(capacity, T::default, strategy)
        .handle_events_with(handler(0));
    if seen.len() == 1 {
        publisher!(one.build())
    } else {
        publisher!(one.handle_events_with(handler(1)).build())
    }
}

/// A broadcast whose consumers run in the caller's threads.
pub trait Broadcast<T: Payload>: 'static {
    /// The producer's side.
    type Sender: Send;
    /// A consumer's side.
    type Receiver: Send;

    /// A ring with two consumers that each see every item.
    fn new(capacity: usize) -> (Self::Sender, [Self::Receiver; 2]);

    /// Publishes the items numbered `from..to`, waiting for room in the rival's own way.
    fn send(sender: &mut Self::Sender, from: u64, to: u64);

    /// Reads `count` items in batches as they come, and returns their checksum. Reports their number to `seen` after
    /// each batch.
    fn receive(receiver: &mut Self::Receiver, count: u64, seen: &AtomicU64) -> u64;
}

/// The disruptor with pollers.
pub struct Pollers;

impl<T: Payload> Broadcast<T> for Pollers {
    type Sender = disruptor::SingleProducer<T, MultiConsumerBarrier>;
    type Receiver = disruptor::EventPoller<T, disruptor::SingleProducerBarrier>;

    fn new(capacity: usize) -> (Self::Sender, [Self::Receiver; 2]) {
        let builder = disruptor::build_single_producer(capacity, T::default, BusySpin);
        let (first, builder) = builder.new_event_poller();
        let (second, builder) = builder.new_event_poller();
        (builder.build(), [first, second])
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, from: u64, to: u64) {
        (from..to).for_each(|number| sender.publish(|slot| *slot = T::new(number)));
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver, count: u64, seen: &AtomicU64) -> u64 {
        let (mut sum, mut done) = (0u64, 0);
        while done < count {
            match receiver.take(count - done) {
                Ok(mut events) => {
                    done += ExactSizeIterator::len(&&mut events) as u64;
                    sum = (&mut events).fold(sum, |sum, event| sum.wrapping_add(event.sum()));
                    seen.store(done, Release);
                }
                Err(Polling::NoEvents) => std::hint::spin_loop(),
                Err(Polling::Shutdown) => panic!("the producer lives"),
            }
        }
        sum
    }
}
