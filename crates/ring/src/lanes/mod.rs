//! Many producers, each with a lane of its own; one consumer. ([`group`]: many that share the values.)
//!
//! # Contract
//! A lane is a ring of one producer ([`spsc`]), so a push needs no atomic read-modify-write and competes with no other
//! producer, for room either. The values of one producer come out in the order in which it pushed them; between
//! producers there is no order. The consumer takes up to [`QUANTUM`] values in a row from one lane, then continues with
//! the next, so a value waits for at most that many of each other lane. Where one order of all values matters, or room
//! that all producers share, use [`mpsc`](crate::mpsc).
//!
//! A push needs `&mut self`, where that of `mpsc` needs `&self`: a lane has one producer, and two threads that shared
//! it would need the read-modify-write that lanes save.
//!
//! Absent: a bitmap of the lanes that have values. A look that finds none, as before each sleep, looks at each lane
//! that has ever had a producer: 138 ns for 64 lanes and 2.45 µs for 1,024 on an AMD EPYC, where a pop from the only
//! lane takes 5 ns (`cargo bench -p uncontended-ring --bench what_do_many_lanes_cost`). In a stream, a lane's quantum
//! pays for the search. With a bitmap, each push would load a word that other producers write, and sometimes change it
//! by a read-modify-write. Make as many lanes as there are producers.
//!
//! The number of lanes is fixed, and with it the memory. [`Producer::try_clone`] hands out a free lane; a producer that
//! is dropped gives its lane back, with the values in it, to the next one.
//!
//! After the last producer is dropped, the consumer pops what is left, then gets
//! [`PopError::Closed`](crate::PopError::Closed). After the consumer is dropped, pushes fail with
//! [`PushError::Closed`](crate::PushError::Closed).
//!
//! # State
//! One [`spsc`] ring a lane, whose pushes notify one [`Joint`]. `free`: the lanes without a producer. `used`: how many
//! lanes have ever had one.
//!
//! I1: a lane's producer is in `free`, or in one [`Producer`].
//! I2: `used` only grows, under the lock of `free`; lanes from `used` on have never had a value.
//! I3: a lane is closed by the drop of `free`, after that of the last producer: one closed lane tells that all have
//!     gone.
//! I4: each side keeps its rings.
//!
//! # Edges
//! Those of [`spsc`], lane by lane. `used` is relaxed, since each lane carries its own values:
//! - A consumer that sleeps reads it after the heavy fence, so it finds the lane of a push that found no sleeper.
//! - One that found a lane closed reads it again: the close came after all stores to it.
//!
//! # Evidence
//! Tests below; tests/model_lanes.rs; tests/faults.rs; tests/leaks.rs; compare/: `r7_many_producers`.

mod consumer;
pub mod group;
mod producer;
#[cfg(all(test, not(unc_model)))]
mod tests;

pub use self::consumer::{Consumer, QUANTUM};
pub use self::producer::Producer;

use crate::notifier::{Joint, Notifier, Silent};
use crate::position::Position;
use crate::{CapacityError, spsc};
use std::sync::PoisonError;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{Arc, AtomicUsize, Mutex, Named};

/// The first producer, to be cloned, and the consumer.
pub type Sides<T, N = Silent> = (Producer<T, N>, Consumer<T, N>);

/// The most lanes: more than any program has threads, and few enough to be allocated.
pub const MAX_LANES: usize = 1 << 16;

/// Makes `lanes` lanes for at most `capacity` values each, whose sides poll.
///
/// ```
/// let (producer, mut consumer) = uncontended_ring::lanes::ring(3, 8)?;
/// let threads = [1, 2].map(|value| {
///     let mut producer = producer.try_clone().expect("a free lane");
///     std::thread::spawn(move || producer.push(value).unwrap())
/// });
/// threads.map(|thread| thread.join().unwrap());
/// assert_eq!(consumer.pop().unwrap() + consumer.pop().unwrap(), 3);
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
///
/// # Errors
/// The number of lanes or the capacity is zero, or there are more than [`MAX_LANES`]; or the capacity exceeds
/// [`MAX_CAPACITY`](crate::MAX_CAPACITY) or the available memory.
#[doc(alias("bounded", "channel"))]
pub fn ring<T>(lanes: usize, capacity: usize) -> Result<Sides<T>, CapacityError> {
    new(lanes, capacity, Silent)
}

/// Makes `lanes` lanes for at most `capacity` values each, whose sides may sleep.
///
/// ```
/// let (mut producer, mut consumer) = uncontended_ring::lanes::blocking(2, 4)?;
/// let mut other = producer.try_clone().expect("a free lane");
/// let one = std::thread::spawn(move || (1..=50).try_for_each(|value| producer.push_wait(value)));
/// let two = std::thread::spawn(move || (51..=100).try_for_each(|value| other.push_wait(value)));
/// let mut sum = 0;
/// while let Some(value) = consumer.pop_wait() {
///     sum += value;
/// }
/// assert_eq!(sum, 5050);
/// # one.join().unwrap().unwrap();
/// # two.join().unwrap().unwrap();
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
///
/// # Errors
/// As for [`ring`].
#[doc(alias("bounded", "channel", "sync_channel"))]
pub fn blocking<T>(lanes: usize, capacity: usize) -> Result<Sides<T, Joint>, CapacityError> {
    blocking_at(lanes, capacity, &Joint::new())
}

/// The same for a consumer that also waits for other rings: pushes, and the departure of the last producer, notify
/// `joint`.
///
/// # Errors
/// As for [`ring`].
pub fn blocking_at<T>(
    lanes: usize,
    capacity: usize,
    joint: &Joint,
) -> Result<Sides<T, Joint>, CapacityError> {
    new(lanes, capacity, joint.clone())
}

/// A producer that may sleep, of [`blocking`].
pub type BlockingProducer<T> = Producer<T, Joint>;

/// The consumer that may sleep, of [`blocking`].
pub type BlockingConsumer<T> = Consumer<T, Joint>;

fn new<T, N: Notifier + Clone>(
    lanes: usize,
    capacity: usize,
    values: N,
) -> Result<Sides<T, N>, CapacityError> {
    match lanes {
        0 => return Err(CapacityError::Zero),
        1..=MAX_LANES => {}
        _ => return Err(CapacityError::TooLarge),
    }
    let lane = |_| spsc::ring_at(capacity, Position::new(0), values.clone());
    let (mut producers, consumers): (Vec<_>, Vec<_>) =
        (0..lanes).map(lane).collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    producers.reverse();
    let used = Arc::new(AtomicUsize::new(0).named("used"));
    let of = lanes;
    let free = Free { of, producers: Mutex::new(producers), used: Arc::clone(&used) };
    let consumer = Consumer::new(consumers.into(), used, values);
    Ok((Producer::first(Arc::new(free)), consumer))
}

/// The lanes that have no producer, the last one first.
struct Free<P> {
    of: usize,
    producers: Mutex<Vec<P>>,
    used: Arc<AtomicUsize>,
}

impl<P> Free<P> {
    /// A lane, which has a producer now.
    fn lane(&self) -> Option<P> {
        let mut producers = self.producers.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = producers.pop()?;
        let used = self.of - producers.len();
        // Only threads that have the lock store it, so it grows (I2).
        if used > self.used.load(Relaxed) {
            self.used.store(used, Relaxed);
        }
        Some(lane)
    }

    fn give_back(&self, lane: P) {
        self.producers.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
    }
}
