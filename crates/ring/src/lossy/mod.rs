//! One producer that never waits, and observers that learn how many values they lost.
//!
//! # Contract
//! [`Producer::push`] is wait-free: it overwrites the oldest value, read or not. Any number of observers read, each at
//! its own pace. An observer loses nothing while it is less than the capacity behind. An observer that was lapped gets
//! [`ObserveError::Lost`] with the number of values that it missed, and continues in the middle of the stored values,
//! so that it is not lapped again at once. Loss is normal here. A value is never torn: it is read as it was pushed, or
//! lost.
//!
//! Values are [`Plain`]: an observer may copy words while they are overwritten. It then discards the copy.
//!
//! # State
//! Each slot is `sequence`, then the words of a value; all are atomics, so there is no data race. `published`: the
//! number of values pushed, and whether the producer has gone.
//!
//! I1: `sequence` is `2 p + 1` while value p is written, and `2 p + 2` while the slot holds it. It only grows.
//! I2: only the producer stores, and there is one.
//! I3: words loaded between two loads of the same even `sequence` all belong to that value.
//! I4: a side keeps its ring until it is dropped.
//!
//! # Edges
//! lossy-publish: `push` stores the even `sequence` -> an observer's first load of it. Carries the words.
//! lossy-overwrite: `push` fences after the odd `sequence` -> an observer fences after it loaded the words. Carries the
//!     odd `sequence`: an observer that read a word of the next value sees that its write has begun. This is I3.
//! None for `published`: it is a count, and carries nothing.
//!
//! # Evidence
//! Tests below; tests/model_lossy.rs. tests/mutants/lossy.toml: each omitted step and each weakened ordering is caught.
//!
//! # Sources
//! Boehm, Can seqlocks get along with programming language memory models?, MSPC 2012. Lapping receivers: Agrona.

#[cfg(feature = "std")]
mod blocking;
mod observer;
mod producer;
#[cfg(all(test, not(unc_model)))]
mod tests;

#[cfg(feature = "std")]
pub use self::blocking::{blocking, blocking_at};
pub use self::observer::{ObserveError, Observer};
pub use self::producer::Producer;

use crate::CapacityError;
use crate::notifier::{Notifier, Silent};
use crate::plain::{Plain, words};
use crate::position::{Cursor, Position};
use crate::slots::slots_for;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;
use uncontended_atomic::CachePadded;
use uncontended_atomic::{Arc, AtomicU64, Named};

/// Both sides of a lossy ring.
pub type Sides<T, N = Silent> = (Producer<T, N>, Observer<T, N>);

/// Makes a lossy ring whose observers poll and may be `capacity` values behind. Clone the observer for more.
///
/// ```
/// use uncontended_ring::lossy::{self, ObserveError};
///
/// let (mut producer, mut observer) = lossy::ring(4)?;
/// (0..10).for_each(|value: u64| producer.push(value));
/// assert_eq!(observer.read(), Err(ObserveError::Lost(8)));
/// assert_eq!((observer.read(), observer.read()), (Ok(8), Ok(9)));
/// assert_eq!(observer.read(), Err(ObserveError::Empty));
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
///
/// # Errors
/// The capacity is zero, or exceeds [`MAX_CAPACITY`](crate::MAX_CAPACITY) or the available memory.
#[doc(alias = "channel")]
pub fn ring<T: Plain>(capacity: usize) -> Result<Sides<T>, CapacityError> {
    build(capacity, Silent)
}

/// Makes a ring whose pushes notify `values`.
fn build<T: Plain, N: Notifier>(capacity: usize, values: N) -> Result<Sides<T, N>, CapacityError> {
    let slots = slots_for(capacity)?;
    let mut memory = Vec::new();
    let count = slots.checked_mul(1 + words::<T>()).ok_or(CapacityError::TooLarge)?;
    memory.try_reserve_exact(count).map_err(|_| CapacityError::TooLarge)?;
    memory.extend((0..count).map(|_| AtomicU64::new(0).named("words")));
    let ring = Arc::new(Ring {
        published: CachePadded::new(Cursor::new("published", Position::new(0))),
        values: CachePadded::new(values),
        memory: memory.into_boxed_slice(),
        mask: slots as u64 - 1,
        capacity: capacity as u64,
        holds: PhantomData,
    });
    Ok((Producer::new(Arc::clone(&ring)), Observer::new(ring, Position::new(0))))
}

/// The state that all sides share.
struct Ring<T, N> {
    published: CachePadded<Cursor>,
    /// Notifier of the observers.
    values: CachePadded<N>,
    /// The slots, one after the other.
    memory: Box<[AtomicU64]>,
    mask: u64,
    capacity: u64,
    holds: PhantomData<T>,
}

impl<T: Plain, N> Ring<T, N> {
    /// The slot at `position`: its sequence and its words.
    #[inline(always)]
    fn at(&self, position: Position) -> (&AtomicU64, &[AtomicU64]) {
        let length = 1 + words::<T>();
        let from = (position.steps() & self.mask) as usize * length;
        let slot = &self.memory[from..from + length];
        (&slot[0], &slot[1..])
    }
}

/// The sequences of a slot while the value at `position` is being written, and while the slot holds it.
#[inline(always)]
const fn sequences(position: Position) -> (u64, u64) {
    let begun = position.steps() * 2 + 1;
    (begun, begun + 1)
}
