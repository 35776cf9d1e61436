//! Positions: one word that holds how far a side has come and whether it has gone.
//!
//! # Contract
//! Positions count up and are not reduced to the array: slot = position modulo the number of slots, distance = the
//! difference. Bit 0 of the word is set once the side that writes it has gone. One load returns that bit together with
//! the last position, so there is no window between the last push and the close.
//!
//! # State
//! I1: a [`Position`] is even; one step is 2. It wraps around after 2^63 steps, and distances stay right across that.
//! I2: each [`Cursor`] is written by one side only, so moving it is a store, not a read-modify-write.

use uncontended_atomic::{AtomicU64, Named, Ordering};

const GONE: u64 = 1;
const STEP: u64 = 2;

/// A place in the stream of values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Position(u64);

impl Position {
    /// The position `steps` steps after the beginning.
    pub(crate) const fn new(steps: u64) -> Position {
        Position(steps.wrapping_mul(STEP))
    }

    /// The position `steps` steps later.
    #[inline(always)]
    pub(crate) const fn plus(self, steps: u64) -> Position {
        Position(self.0.wrapping_add(steps * STEP))
    }

    /// Later than every other position: a side here holds up no other.
    pub(crate) const END: Position = Position(u64::MAX ^ GONE);

    /// The position `steps` steps earlier.
    #[inline(always)]
    pub(crate) const fn minus(self, steps: u64) -> Position {
        Position(self.0.wrapping_sub(steps * STEP))
    }

    /// The latest position up to here whose steps are a multiple of `unit`, a power of two.
    pub(crate) const fn aligned_down(self, unit: u64) -> Position {
        Position(self.0 & !(unit * STEP - 1))
    }

    /// The earlier of this and `bound`, which are at most 2^62 steps apart. It is branchless, so the bound holds under
    /// speculative execution too.
    #[inline(always)]
    pub(crate) fn at_most(self, bound: Position) -> Position {
        Position(core::hint::select_unpredictable(self.is_after(bound), bound.0, self.0))
    }

    /// Whether this is later than `bound`; the two are at most 2^62 steps apart.
    #[inline(always)]
    pub(crate) const fn is_after(self, bound: Position) -> bool {
        (bound.0.wrapping_sub(self.0) as i64) < 0
    }

    /// The steps from `earlier` to here.
    #[inline(always)]
    pub(crate) const fn since(self, earlier: Position) -> u64 {
        self.0.wrapping_sub(earlier.0) / STEP
    }

    /// The steps since the beginning, modulo 2^63.
    #[inline(always)]
    pub(crate) const fn steps(self) -> u64 {
        self.0 / STEP
    }
}

/// The loaded value of a cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mark(u64);

impl Mark {
    /// The mark of a side that has not moved.
    pub(crate) const START: Mark = Mark(0);

    /// The mark of a side that holds up no other.
    pub(crate) const END: Mark = Mark(Position::END.0);

    /// The position of the side.
    #[inline(always)]
    pub(crate) const fn position(self) -> Position {
        Position(self.0 & !GONE)
    }

    /// Whether the side has gone; it does not come back.
    #[inline(always)]
    pub(crate) const fn is_gone(self) -> bool {
        self.0 & GONE != 0
    }

    /// The mark that holds up more: the earlier one, and at equal positions the one that has gone.
    #[inline(always)]
    pub(crate) fn least(self, other: Mark) -> Mark {
        Mark((self.0 ^ GONE).min(other.0 ^ GONE) ^ GONE)
    }
}

/// The position of a side, shared with the other sides.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Cursor(AtomicU64);

impl Cursor {
    /// One at `position`, called `name` in the checker's traces.
    pub(crate) fn new(name: &'static str, position: Position) -> Cursor {
        Cursor(AtomicU64::new(position.0).named(name))
    }

    #[inline(always)]
    pub(crate) fn load(&self, order: Ordering) -> Mark {
        Mark(self.0.load(order))
    }

    /// Moves from `from` to `to`, for a cursor that several threads move; false: another one was faster.
    #[inline(always)]
    pub(crate) fn advance(&self, from: Position, to: Position, order: Ordering) -> bool {
        self.0.compare_exchange(from.0, to.0, order, Ordering::Relaxed).is_ok()
    }

    /// Moves to `position`. Only the side that owns the cursor may call this (I2).
    #[inline(always)]
    pub(crate) fn store(&self, position: Position, order: Ordering) {
        debug_assert_eq!(position.0 & GONE, 0, "I1");
        self.0.store(position.0, order);
    }

    /// The last store of the owning side: its position, and that it has gone.
    pub(crate) fn store_gone(&self, position: Position, order: Ordering) {
        self.0.store(position.0 | GONE, order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_atomic::Ordering::Relaxed;

    #[test]
    fn distances_are_right_across_the_wrap() {
        let before = Position::new((1 << 63) - 1);
        assert_eq!(before.steps(), (1 << 63) - 1);
        let after = before.plus(3);
        assert_eq!((after.steps(), after.since(before)), (2, 3));
        assert_eq!(after.minus(3), before);
        assert_eq!(after.aligned_down(2), after);
        assert_eq!(before.aligned_down(8).steps(), (1 << 63) - 8);
        assert_eq!((after.at_most(before), before.at_most(after)), (before, before));
        assert_eq!(after.at_most(after), after);
        assert!(after.is_after(before) && !before.is_after(after) && !after.is_after(after));
    }

    #[test]
    fn a_side_that_has_gone_leaves_its_position() {
        let cursor = Cursor::new("cursor", Position::new(7));
        assert!(!cursor.load(Relaxed).is_gone());
        cursor.store_gone(Position::new(8), Relaxed);
        let mark = cursor.load(Relaxed);
        assert!(mark.is_gone());
        assert_eq!(mark.position(), Position::new(8));
    }
}
