//! The array of a ring: a power of two of slots, found by position without a branch.
//!
//! # Contract
//! `Slots<S>` is generic over what a slot is: [`Slot`] is memory for one value and nothing else; rings that keep a
//! sequence next to each value bring a struct of their own.
//!
//! # State
//! I1: the view has all slots, made by `new` and freed by `drop`.
//! I2: whoever reads or writes a slot's value has it from the ring's own rules; nothing here says whose it is.

use crate::CapacityError;
use crate::position::Position;
use crate::view::View;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use uncontended_atomic::{Named, UnsafeCell};

/// The largest capacity of any ring: 2^31.
pub const MAX_CAPACITY: usize = 1 << 31;

/// The number of slots for `capacity` values.
pub(crate) const fn slots_for(capacity: usize) -> Result<usize, CapacityError> {
    match capacity {
        0 => Err(CapacityError::Zero),
        1..=MAX_CAPACITY => Ok(capacity.next_power_of_two()),
        _ => Err(CapacityError::TooLarge),
    }
}

/// A power of two of slots, owned.
pub(crate) struct Slots<S> {
    view: View<S>,
    /// It drops slots.
    holds: PhantomData<S>,
}

// SAFETY: `Slots` is the array that `base` points to (I1) and no more; sharing it is sharing slots.
unsafe impl<S: Send> Send for Slots<S> {}
// SAFETY: as for `Send` (I1).
unsafe impl<S: Sync> Sync for Slots<S> {}

impl<S> Slots<S> {
    /// Slots for `capacity` values; `make` makes each, given its index.
    pub(crate) fn new(
        capacity: usize,
        make: impl FnMut(usize) -> S,
    ) -> Result<Slots<S>, CapacityError> {
        let count = slots_for(capacity)?;
        let mut slots = Vec::new();
        slots.try_reserve_exact(count).map_err(|_| CapacityError::TooLarge)?;
        slots.extend((0..count).map(make));
        let base = NonNull::from(Box::leak(slots.into_boxed_slice())).cast();
        // SAFETY: so many slots were leaked just now (I1).
        let view = unsafe { View::new(base, count) };
        Ok(Slots { view, holds: PhantomData })
    }

    /// How many slots there are.
    pub(crate) fn len(&self) -> usize {
        self.view.len()
    }

    /// Where they are.
    pub(crate) fn view(&self) -> View<S> {
        self.view
    }

    /// The slot at `position`.
    #[inline(always)]
    pub(crate) fn at(&self, position: Position) -> &S {
        // SAFETY: `self` lives (I1).
        unsafe { self.view.at(position) }
    }

    /// The `count` slots from `position` on: up to the end of the array, and the rest from its beginning.
    #[inline]
    #[cfg(not(unc_model))]
    pub(crate) fn run(&self, position: Position, count: usize) -> (&[S], &[S]) {
        // SAFETY: `self` lives (I1).
        unsafe { self.view.run(position, count) }
    }
}

impl<S> Drop for Slots<S> {
    fn drop(&mut self) {
        // SAFETY: `new` leaked a box of that many (I1).
        drop(unsafe { Box::from_raw(self.view.as_slice_ptr()) });
    }
}

impl<S> fmt::Debug for Slots<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Memory for one value, of which the ring knows whether it is there.
#[repr(transparent)]
pub(crate) struct Slot<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: a slot moves values between threads; which of them may touch it when, the ring's rules say (I2).
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T> Slot<T> {
    pub(crate) fn new() -> Slot<T> {
        Slot(UnsafeCell::new(MaybeUninit::uninit()).named("slot"))
    }

    /// Puts a value here.
    ///
    /// # Safety
    /// The slot is the caller's, and empty.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, value: T) {
        // SAFETY: the slot is the caller's (I2).
        self.0.with_mut(|slot| unsafe { slot.cast::<T>().write(value) });
    }

    /// Puts a value in the place of another, which is dropped.
    ///
    /// # Safety
    /// The slot is the caller's, and full.
    #[inline(always)]
    pub(crate) unsafe fn replace(&self, value: T) {
        // SAFETY: the slot is the caller's, and its value is there (I2).
        self.0.with_mut(|slot| unsafe { *slot.cast::<T>() = value });
    }

    /// Takes the value out.
    ///
    /// # Safety
    /// The slot is the caller's, and full; it is empty afterwards.
    #[inline(always)]
    pub(crate) unsafe fn read(&self) -> T {
        // SAFETY: the slot is the caller's, and its value is there (I2).
        self.0.with(|slot| unsafe { slot.cast::<T>().read() })
    }

    /// Where the value is.
    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *const T {
        self.0.with(|slot| slot.cast())
    }
}

/// The values in slots, as memory.
///
/// # Safety
/// All slots are full, and nobody writes them as long as the result lives.
#[cfg(not(unc_model))]
#[inline]
pub(crate) unsafe fn values<T>(slots: &[Slot<T>]) -> &[T] {
    // SAFETY: a slot is laid out as its value, which is there (I2).
    unsafe { std::slice::from_raw_parts(slots.as_ptr().cast(), slots.len()) }
}

/// The memory of slots.
#[cfg(not(unc_model))]
#[inline]
pub(crate) fn as_memory<T>(slots: &[Slot<T>]) -> *mut [MaybeUninit<T>] {
    // A slot is laid out as a cell of its memory.
    std::ptr::slice_from_raw_parts_mut(slots.as_ptr().cast_mut().cast(), slots.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_capacity_is_rounded_up_and_wrong_ones_are_told() {
        assert_eq!(slots_for(0), Err(CapacityError::Zero));
        assert_eq!((slots_for(1), slots_for(5)), (Ok(1), Ok(8)));
        assert_eq!(slots_for(MAX_CAPACITY), Ok(MAX_CAPACITY));
        assert_eq!(slots_for(MAX_CAPACITY + 1), Err(CapacityError::TooLarge));
        let huge = Slots::<[u64; 1 << 40]>::new(1 << 20, |_| unreachable!("no memory for it"));
        assert_eq!(huge.err(), Some(CapacityError::TooLarge));
    }

    #[test]
    fn positions_find_slots_round_and_round() {
        let slots = Slots::new(3, |index| index).unwrap();
        assert_eq!(slots.len(), 4);
        let start = Position::new((1 << 63) - 2);
        let seen: Vec<usize> = (0..5).map(|steps| *slots.at(start.plus(steps))).collect();
        assert_eq!(seen, [2, 3, 0, 1, 2]);
    }
}
