//! Many producers, each with a lane of its own; many consumers that share the values.
//!
//! # Contract
//! Each value goes to one consumer. A push needs no atomic read-modify-write and competes with no other producer, for
//! room either, as in [`lanes`](super). A consumer claims values of a lane by a compare-and-swap, then moves them out:
//! `push` is wait-free, `pop` lock-free. Consumers start at different lanes; each claims up to
//! [`QUANTUM`](super::QUANTUM) values of one lane, then continues with the next.
//!
//! The values of one producer are claimed in the order in which it pushed them; what two consumers claimed, they may
//! finish in any order. Between producers there is no order. A pop looks at one lane after another, so
//! [`PopError::Empty`](crate::PopError::Empty) says that each was empty at some moment of the call, not that all were
//! at one.
//!
//! Between claim and release a consumer only moves values and runs no user code, so it cannot panic there. One that is
//! preempted there holds up no other consumer: those pop what comes after. Only the producer of that lane waits for
//! the slot, once it has filled the others; until then the value that is being moved counts as one of the lane's.
//!
//! The number of lanes is fixed. [`Producer::try_clone`] hands out a free lane; a producer that is dropped gives its
//! lane back, with the values in it, to the next one. A [`Consumer`] can be cloned at any time.
//!
//! After the last producer is dropped, the consumers pop what is left, then get
//! [`PopError::Closed`](crate::PopError::Closed). After the last consumer is dropped, pushes fail with
//! [`PushError::Closed`](crate::PushError::Closed). Its drop drops the queued values; a value that was being pushed at
//! that moment is dropped with the last side.
//!
//! # State
//! Each lane: `head`, the next position to claim, and slots, each with a mark: the last position in it, and whether
//! that value has gone. `used`: how many lanes have ever had a producer. `consumers`: their number. `ended`: whether
//! all producers have gone.
//!
//! I1: a lane's entry is in the list of free lanes, or in one [`Producer`]; only it writes at its `tail`.
//! I2: a slot whose mark says that its value is there belongs to the consumer that moves `head` past it; one whose mark
//!     says that it has gone belongs to the entry. The initial marks: the value one lap earlier has gone.
//! I3: a position is claimed once: by a compare-and-swap of `head`, which never takes the same value twice.
//! I4: the value at `tail` is pushed after the one `capacity` positions earlier has gone. So `capacity` is exact, and
//!     the slot is free: its value went earlier, or is that one.
//! I5: the entries are dropped with the list of free lanes, which each producer keeps: after the last one.
//! I6: the group lives as long as a side.
//!
//! # Edges
//! group-publish: `Lane::put` stores a mark -> `Lane::find` loads it. Carries the value.
//! group-vacate: `Lane::take` stores a mark -> `Lane::has_room` loads it. Carries the end of the read; and to
//!     `Lane::find`, that `head` has moved past it.
//! group-end: the drop of an entry stores `ended` -> `Turn::search` loads it, before it looks at the lanes. Carries all
//!     pushes.
//!
//! `used`, `consumers` and `head` are relaxed. A consumer that sleeps reads `used` after the heavy fence, so it finds
//! the lane of a push that found no sleeper. A `head` that is read too early meets a mark that is not before it, and is
//! read again.
//!
//! # Evidence
//! Tests below; tests/model_group.rs; tests/faults.rs; tests/leaks.rs; compare/: `r9_many_to_many`.
//!
//! # Sources
//! Vyukov's bounded queue, 2010 (a sequence in each slot); here with one producer a lane and any capacity.

mod consumer;
mod lane;
mod producer;
#[cfg(all(test, not(unc_model)))]
mod tests;

pub use self::consumer::Consumer;
pub use self::producer::Producer;

use self::lane::Lane;
use self::producer::Entry;
use super::{Free, MAX_LANES};
use crate::CapacityError;
use crate::notifier::{Joint, Listeners, Notifier, Silent};
use crate::position::Position;
use uncontended_atomic::{Arc, AtomicU32, AtomicUsize, CachePadded, Mutex, Named};
use uncontended_wait::Sleepers;

/// The first producer and the first consumer, both to be cloned.
pub type Sides<T, N = Silent> = (Producer<T, N>, Consumer<T, N>);

/// Makes `lanes` lanes for at most `capacity` values each, whose sides poll.
///
/// ```
/// let (mut producer, mut consumer) = uncontended_ring::lanes::group::ring(2, 8)?;
/// let mut another = consumer.clone();
/// producer.push("one").unwrap();
/// producer.push("two").unwrap();
/// assert_eq!((consumer.pop(), another.pop()), (Ok("one"), Ok("two")));
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
///
/// # Errors
/// As for [`lanes::ring`](super::ring).
#[doc(alias("bounded", "channel"))]
pub fn ring<T>(lanes: usize, capacity: usize) -> Result<Sides<T>, CapacityError> {
    ring_at(lanes, capacity, Position::new(0), Silent)
}

/// Makes `lanes` lanes for at most `capacity` values each, whose sides may sleep. A push wakes one consumer, if any
/// sleeps.
///
/// ```
/// let (mut producer, consumer) = uncontended_ring::lanes::group::blocking(2, 4)?;
/// let workers = [consumer.clone(), consumer].map(|consumer| {
///     std::thread::spawn(move || consumer.into_iter().sum::<i32>())
/// });
/// let mut other = producer.try_clone().expect("a free lane");
/// let one = std::thread::spawn(move || (1..=50).try_for_each(|value| producer.push_wait(value)));
/// let two = std::thread::spawn(move || (51..=100).try_for_each(|value| other.push_wait(value)));
/// let sums = workers.map(|worker| worker.join().unwrap());
/// assert_eq!(sums[0] + sums[1], 5050);
/// # one.join().unwrap().unwrap();
/// # two.join().unwrap().unwrap();
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
///
/// # Errors
/// As for [`ring`].
#[doc(alias("bounded", "channel", "sync_channel"))]
pub fn blocking<T>(lanes: usize, capacity: usize) -> Result<Sides<T, Sleepers>, CapacityError> {
    ring_at(lanes, capacity, Position::new(0), Sleepers::new())
}

/// The same for consumers that also wait for other rings: pushes, and the departure of the last producer, notify
/// `joint`. A push wakes all threads that sleep on it, since some of them may wait for something else.
///
/// # Errors
/// As for [`ring`].
pub fn blocking_at<T>(
    lanes: usize,
    capacity: usize,
    joint: &Joint,
) -> Result<Sides<T, Joint>, CapacityError> {
    ring_at(lanes, capacity, Position::new(0), joint.clone())
}

/// A producer that may sleep, of [`blocking`].
pub type BlockingProducer<T> = Producer<T, Sleepers>;

/// A consumer that may sleep, of [`blocking`].
pub type BlockingConsumer<T> = Consumer<T, Sleepers>;

/// What all sides share.
struct Group<T, N> {
    lanes: Box<[Lane<T, N>]>,
    used: Arc<AtomicUsize>,
    consumers: AtomicUsize,
    ended: AtomicU32,
    /// Notifies consumers, which wait for values.
    values: CachePadded<Listeners<N>>,
}

/// Makes lanes whose first value is at `start`, and whose pushes notify `values`.
fn ring_at<T, N: Notifier>(
    lanes: usize,
    capacity: usize,
    start: Position,
    values: N,
) -> Result<Sides<T, N>, CapacityError> {
    match lanes {
        0 => return Err(CapacityError::Zero),
        1..=MAX_LANES => {}
        _ => return Err(CapacityError::TooLarge),
    }
    let used = Arc::new(AtomicUsize::new(0).named("used"));
    let group = Arc::new(Group {
        lanes: (0..lanes).map(|_| Lane::new(capacity, start)).collect::<Result<_, _>>()?,
        used: Arc::clone(&used),
        consumers: AtomicUsize::new(1).named("consumers"),
        ended: AtomicU32::new(0).named("ended"),
        values: CachePadded::new(Listeners::at(values)),
    });
    // SAFETY: each of the new lanes starts at `start` and gets one entry (I1).
    let entry = |lane| unsafe { Entry::new(Arc::clone(&group), lane, start) };
    let entries = (0..lanes).rev().map(entry);
    let free = Free { of: lanes, producers: Mutex::new(entries.collect()), used };
    Ok((Producer::first(Arc::new(free)), Consumer::first(group)))
}
