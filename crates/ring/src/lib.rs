//! Rings: bounded queues over a fixed array, without locks.
//!
//! # Contract
//! - [`spsc`]: one producer, one consumer. Wait-free, without an atomic read-modify-write.
//! - [`mpsc`]: many producers, one consumer. A push claims its slot by a compare-and-swap; a producer that is stopped
//!   in between holds up what was pushed after it.
//! - [`lanes`]: many producers, each with a ring of its own; one consumer, which takes from all in turn.
//! - [`lanes::group`]: the same for many consumers that share the values.
//! - [`broadcast`]: one producer; consumers that each see every value or share them, some after others.
//! - [`lossy`]: one producer that never waits; observers that learn how many values they lost.
//! - [`delegate`]: one thread owns a value, and others send it closures.
//! - [`records`]: byte records of any length, written and read in place, from one producer or many to one consumer.
//!
//! ```
//! let (mut producer, mut consumer) = uncontended_ring::spsc::blocking(64)?;
//! let worker = std::thread::spawn(move || (&mut consumer).into_iter().sum::<u64>());
//! for value in 1..=100 {
//!     producer.push_wait(value).expect("the consumer is there");
//! }
//! drop(producer);
//! assert_eq!(worker.join().unwrap(), 5050);
//! # Ok::<(), uncontended_ring::CapacityError>(())
//! ```
//!
//! A ring of capacity n holds n values, for any n; the number of slots is rounded up to a power of two. A push that
//! fails hands the value back. A side is a handle; it can be cloned only where the ring allows many of its kind. When a
//! side is dropped (by a panic, too), the others learn of it: values already pushed can still be popped, then comes
//! `Closed`.
//!
//! Calls have one convention over all rings. `push`, `pop`, `read` and `claim` try once, and say why they failed. With
//! `_wait`, they sleep until they succeed; if they never can, `pop` returns `None`, and `push` gives the value back, in
//! [`Closed`]. With `_deadline` and `_timeout`, they give up, and say why. With `_async` (a feature), they are for
//! tasks. Calls that can fail in several ways, as those of `records` and `lossy`, have errors that say which. An error
//! that contains a value is an [`Error`](core::error::Error) whatever the value is: `?` and `expect` take it.
//!
//! Without the feature `std`, on targets with `alloc` alone, there are the sides that poll, of all rings but `lanes`.
//!
//! Rings never sleep. After each change that a side may wait for, they call a [`notifier`]: [`Silent`] for sides that
//! poll, [`Sleepers`] for sides that sleep, [`Joint`] for one that waits for several rings.
//!
//! # State
//! Shared by all rings: `position` (a place in the stream, and whether its writer has gone), `slots` (the array),
//! `view` (how a side indexes and prefetches slots), `pace` (how a consumer backs off), [`notifier`], `given` (memory
//! that several processes share), `error`.
//!
//! # Evidence
//! Unit tests, also under Miri and on AArch64. tests/model.rs and others: every execution of this code that C11 or
//! x86-TSO allows; tests/mutants: seeded bugs that they find.

#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(not(feature = "std"), allow(dead_code, reason = "sides that sleep use it"))]

extern crate alloc;

pub mod broadcast;
#[cfg(feature = "std")]
pub mod delegate;
mod error;
#[cfg(all(feature = "std", not(unc_model)))]
#[allow(unreachable_pub, reason = "the checker's tests reach it")]
mod given;
#[cfg(all(feature = "std", unc_model))]
pub mod given;
#[cfg(feature = "std")]
mod idling;
#[cfg(feature = "std")]
pub mod iter;
#[cfg(feature = "std")]
pub mod lanes;
pub mod lossy;
pub mod mpsc;
pub mod notifier;
mod pace;
mod plain;
mod position;
pub mod records;
#[cfg(feature = "std")]
mod several;
mod slots;
pub mod spsc;
#[cfg(feature = "async")]
#[cfg_attr(feature = "futures", expect(unnameable_types, reason = "sealed"))]
#[cfg_attr(not(feature = "futures"), expect(unreachable_pub, reason = "streams and sinks name it"))]
mod tasks;
mod unwind;
mod view;

pub use error::{CapacityError, ClaimError, Closed, PopError, PushError};
#[cfg(feature = "std")]
pub use notifier::Joint;
pub use notifier::Silent;
pub use plain::Plain;
pub use slots::MAX_CAPACITY;
#[cfg(feature = "futures")]
pub use tasks::futures;
/// What the calls that wait take and give, from `uncontended-wait`.
#[cfg(feature = "std")]
pub use uncontended_wait::{
    Deadline, Sleepers, TimedOut,
    idle::{self, Idle},
};

/// The former name of [`notifier`].
///
/// ```
/// # #![allow(deprecated)]
/// use uncontended_ring::{PushError, bell::Bell, spsc};
///
/// fn push_one<B: Bell>(producer: &mut spsc::Producer<u32, B>) -> Result<(), PushError<u32>> {
///     producer.push(1)
/// }
///
/// let (mut producer, mut consumer) = spsc::ring(1)?;
/// assert_eq!((push_one(&mut producer), consumer.pop()), (Ok(()), Ok(1)));
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
#[deprecated(note = "use `notifier`")]
pub mod bell {
    use crate::notifier::Notifier;
    pub use crate::notifier::Silent;

    /// The former name of [`Notifier`].
    #[deprecated(note = "use `notifier::Notifier`")]
    pub trait Bell: Notifier {
        /// The former name of [`Notifier::notify`].
        fn ring(&self) {
            self.notify();
        }

        /// The former name of [`Notifier::notify_for`].
        fn ring_for(&self, count: usize) {
            self.notify_for(count);
        }
    }

    #[allow(deprecated, reason = "the alias itself")]
    impl<N: Notifier> Bell for N {}
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
