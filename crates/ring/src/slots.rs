//! The array of a ring: a power of two of slots, indexed by position without a branch.
//!
//! # Contract
//! `Slots<S>` is generic over the slot type. [`Slot`] is memory for one value and nothing else; a ring that keeps a
//! sequence next to each value defines a struct of its own.
//!
//! # State
//! I1: the view covers all slots; `new` allocates them and `drop` frees them.
//! I2: the ring's own rules decide which side may read or write a slot's value; this module does not track it.

use crate::CapacityError;
use crate::position::Position;
use crate::view::View;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
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

/// An owned array of slots; their number is a power of two.
pub(crate) struct Slots<S> {
    view: View<S>,
    /// `drop` drops slots.
    holds: PhantomData<S>,
}

// SAFETY: `Slots` owns the array of the view (I1) and nothing else, so sending it sends slots.
unsafe impl<S: Send> Send for Slots<S> {}
// SAFETY: as for `Send` (I1).
unsafe impl<S: Sync> Sync for Slots<S> {}

impl<S> Slots<S> {
    /// Allocates slots for `capacity` values. `make` builds each one from its index.
    pub(crate) fn new(
        capacity: usize,
        make: impl FnMut(usize) -> S,
    ) -> Result<Slots<S>, CapacityError> {
        let count = slots_for(capacity)?;
        let mut slots = Vec::new();
        slots.try_reserve_exact(count).map_err(|_| CapacityError::TooLarge)?;
        slots.extend((0..count).map(make));
        let base = NonNull::from(Box::leak(slots.into_boxed_slice())).cast();
        // SAFETY: `count` slots were leaked just now (I1).
        let view = unsafe { View::new(base, count) };
        Ok(Slots { view, holds: PhantomData })
    }

    /// The number of slots.
    pub(crate) fn len(&self) -> usize {
        self.view.len()
    }

    /// A pointer to the slots, with their number.
    pub(crate) fn view(&self) -> View<S> {
        self.view
    }

    /// The slot at `position`.
    #[inline(always)]
    pub(crate) fn at(&self, position: Position) -> &S {
        // SAFETY: `self` lives (I1).
        unsafe { self.view.at(position) }
    }

    /// The `count` slots from `position` on.
    #[cfg(not(unc_model))]
    #[inline]
    pub(crate) fn run(&self, position: Position, count: usize) -> Run<'_, S> {
        // SAFETY: `self` lives (I1).
        unsafe { self.view.run(position, count) }
    }
}

impl<S> Drop for Slots<S> {
    fn drop(&mut self) {
        // SAFETY: `new` leaked a box of this length (I1).
        drop(unsafe { Box::from_raw(self.view.as_slice_ptr()) });
    }
}

impl<S> fmt::Debug for Slots<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Slots that follow each other: those up to the end of the array, then the rest from its start.
pub(crate) struct Run<'s, S> {
    now: core::slice::Iter<'s, S>,
    then: core::slice::Iter<'s, S>,
}

impl<'s, S> Run<'s, S> {
    #[inline(always)]
    pub(crate) fn new(now: &'s [S], then: &'s [S]) -> Run<'s, S> {
        Run { now: now.iter(), then: then.iter() }
    }

    /// Calls `each` with a slot and a value until the slots or the values run out. No value is taken without a slot.
    #[inline(always)]
    pub(crate) fn zip_with<V>(
        &mut self,
        mut values: impl Iterator<Item = V>,
        mut each: impl FnMut(&'s S, V),
    ) {
        while self.len() > 0 {
            while self.now.len() > 0 {
                let Some(value) = values.next() else { return };
                let Some(slot) = self.now.next() else { return };
                each(slot, value);
            }
            core::mem::swap(&mut self.now, &mut self.then);
        }
    }

    /// Passes over the next `count` slots, or all if there are fewer.
    #[cfg(not(unc_model))]
    #[inline]
    pub(crate) fn pass(&mut self, count: usize) {
        let (now, then) = self.as_slices();
        let first = count.min(now.len());
        let second = (count - first).min(then.len());
        *self = Run::new(&now[first..], &then[second..]);
    }

    /// The slots that are left, as slices.
    #[cfg(not(unc_model))]
    pub(crate) fn as_slices(&self) -> (&'s [S], &'s [S]) {
        (self.now.as_slice(), self.then.as_slice())
    }
}

impl<'s, S> Iterator for Run<'s, S> {
    type Item = &'s S;

    #[inline(always)]
    fn next(&mut self) -> Option<&'s S> {
        self.now.next().or_else(|| {
            core::mem::swap(&mut self.now, &mut self.then);
            self.now.next()
        })
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.now.len() + self.then.len();
        (left, Some(left))
    }

    /// A loop for each slice, without a look at the other for each slot.
    #[inline(always)]
    fn fold<B, F: FnMut(B, &'s S) -> B>(self, start: B, mut step: F) -> B {
        let folded = self.now.fold(start, &mut step);
        self.then.fold(folded, step)
    }
}

impl<S> ExactSizeIterator for Run<'_, S> {}

/// Memory for one value. The ring knows whether it holds one.
#[repr(transparent)]
pub(crate) struct Slot<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: a slot moves values between threads; the ring's rules give each access to one side at a time (I2).
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T> Slot<T> {
    pub(crate) fn new() -> Slot<T> {
        Slot(UnsafeCell::new(MaybeUninit::uninit()).named("slot"))
    }

    /// Writes a value into an empty slot.
    ///
    /// # Safety
    /// The slot belongs to the caller and is empty.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, value: T) {
        // SAFETY: the slot belongs to the caller (I2).
        self.0.with_mut(|slot| unsafe { slot.cast::<T>().write(value) });
    }

    /// Replaces the value, and drops the old one.
    ///
    /// # Safety
    /// The slot belongs to the caller and is full.
    #[inline(always)]
    pub(crate) unsafe fn replace(&self, value: T) {
        // SAFETY: the slot belongs to the caller and holds a value (I2).
        self.0.with_mut(|slot| unsafe { *slot.cast::<T>() = value });
    }

    /// Moves the value out.
    ///
    /// # Safety
    /// The slot belongs to the caller and is full; it is empty afterwards.
    #[inline(always)]
    pub(crate) unsafe fn read(&self) -> T {
        // SAFETY: the slot belongs to the caller and holds a value (I2).
        self.0.with(|slot| unsafe { slot.cast::<T>().read() })
    }

    /// A pointer to the value.
    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *const T {
        self.0.with(|slot| slot.cast())
    }
}

/// The values in the slots, as a slice.
///
/// # Safety
/// All slots are full, and none is written while the result lives.
#[cfg(not(unc_model))]
#[inline]
pub(crate) unsafe fn values<T>(slots: &[Slot<T>]) -> &[T] {
    // SAFETY: a slot has the layout of its value, and holds one (I2).
    unsafe { core::slice::from_raw_parts(slots.as_ptr().cast(), slots.len()) }
}

/// The memory of the slots.
#[cfg(not(unc_model))]
#[inline]
pub(crate) fn as_memory<T>(slots: &[Slot<T>]) -> *mut [MaybeUninit<T>] {
    // A slot has the layout of its memory.
    core::ptr::slice_from_raw_parts_mut(slots.as_ptr().cast_mut().cast(), slots.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_are_rounded_up_and_impossible_ones_refused() {
        assert_eq!(slots_for(0), Err(CapacityError::Zero));
        assert_eq!((slots_for(1), slots_for(5)), (Ok(1), Ok(8)));
        assert_eq!(slots_for(MAX_CAPACITY), Ok(MAX_CAPACITY));
        assert_eq!(slots_for(MAX_CAPACITY + 1), Err(CapacityError::TooLarge));
        let huge = Slots::<[u64; 1 << (usize::BITS - 24)]>::new(1 << 20, |_| {
            unreachable!("allocation fails first")
        });
        assert_eq!(huge.err(), Some(CapacityError::TooLarge));
    }

    #[test]
    fn positions_wrap_around_the_slots() {
        let slots = Slots::new(3, |index| index).unwrap();
        assert_eq!(slots.len(), 4);
        let start = Position::new((1 << 63) - 2);
        let seen: Vec<usize> = (0..5).map(|steps| *slots.at(start.plus(steps))).collect();
        assert_eq!(seen, [2, 3, 0, 1, 2]);
    }
}
