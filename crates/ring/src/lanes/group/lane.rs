//! One lane. The header of [`group`](super) has the invariants and the edges.

use crate::CapacityError;
use crate::notifier::Notifier;
use crate::position::{Cursor, Position};
use crate::slots::{Slot, Slots};
use uncontended_atomic::CachePadded;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};

/// A lane: one entry puts values in, all consumers take them out.
pub(super) struct Lane<T, N> {
    /// The next position to claim.
    head: CachePadded<Cursor>,
    /// Notifies the producer, which waits for room.
    pub(super) room: CachePadded<N>,
    slots: Slots<Marked<T>>,
    pub(super) capacity: u64,
}

/// A slot and its mark: the last position in it, and whether that value has gone.
struct Marked<T> {
    mark: Cursor,
    slot: Slot<T>,
}

/// Why a consumer took no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Miss {
    /// There was none.
    Empty,
    /// Another consumer was faster.
    Lost,
}

impl<T, N: Notifier> Lane<T, N> {
    pub(super) fn new(capacity: usize, start: Position) -> Result<Lane<T, N>, CapacityError> {
        let laps = crate::slots::slots_for(capacity)? as u64;
        let last = start.minus(1);
        let empty = |index| {
            let before = last.minus(last.steps().wrapping_sub(index as u64) & (laps - 1));
            let mark = Cursor::new("mark", before);
            // The value one lap earlier has gone (I2).
            mark.store_gone(before, Relaxed);
            Marked { mark, slot: Slot::new() }
        };
        Ok(Lane {
            head: CachePadded::new(Cursor::new("head", start)),
            room: CachePadded::default(),
            slots: Slots::new(capacity, empty)?,
            capacity: capacity as u64,
        })
    }

    /// Whether there is room for the value at `tail`, if there is for those before it.
    #[inline(always)]
    pub(super) fn has_room(&self, tail: Position) -> bool {
        let before = tail.minus(self.capacity);
        // EDGE group-vacate (acquire): the consumer that took the value has read it.
        let mark = self.slots.at(before).mark.load(Acquire);
        mark.is_gone() && mark.position() == before
    }

    /// Puts `value` in at `tail`, or gives it back if the lane is full.
    ///
    /// # Safety
    /// The caller has the lane's entry, `tail` is its position (I1), and its next put is at the next one.
    #[inline(always)]
    pub(super) unsafe fn put(&self, tail: Position, value: T) -> Result<(), T> {
        if !self.has_room(tail) {
            return Err(value);
        }
        let Marked { mark, slot } = self.slots.at(tail);
        // SAFETY: there is room, so the slot is empty and belongs to the entry (I2, I4), which the caller has (I1).
        unsafe { slot.write(value) };
        // EDGE group-publish (release): a consumer that sees this mark sees the value.
        mark.store(tail, Release);
        Ok(())
    }

    /// Where the oldest values are, and how many, up to `most`.
    #[inline(always)]
    fn find(&self, most: u64) -> Result<(Position, u64), Miss> {
        let head = self.head.load(Relaxed).position();
        for count in 0..most {
            let at = head.plus(count);
            // EDGE group-publish (acquire): the value has been written.
            // EDGE group-vacate (acquire): or `head` has moved past it, and the next load sees that.
            let mark = self.slots.at(at).mark.load(Acquire);
            if mark.position() == at && !mark.is_gone() {
                continue;
            }
            return match count {
                0 if at.is_after(mark.position()) => Err(Miss::Empty),
                0 => Err(Miss::Lost),
                _ => Ok((head, count)),
            };
        }
        Ok((head, most))
    }

    /// Takes the oldest value.
    #[inline(always)]
    pub(super) fn take(&self) -> Result<T, Miss> {
        let (head, _) = self.find(1)?;
        if !self.head.advance(head, head.plus(1), Relaxed) {
            return Err(Miss::Lost);
        }
        // SAFETY: the value was there, and the exchange claimed it (I2, I3).
        let value = unsafe { self.read(head) };
        self.room.notify();
        Ok(value)
    }

    /// Takes the oldest values, up to `most` (at least 1), appends them to `into`, and returns their number.
    pub(super) fn take_into(&self, into: &mut Vec<T>, most: u64) -> Result<u64, Miss> {
        let (head, count) = self.find(most)?;
        // Growing may panic, and the values must then stay in the lane.
        into.reserve(count as usize);
        if !self.head.advance(head, head.plus(count), Relaxed) {
            return Err(Miss::Lost);
        }
        // SAFETY: the values were there, and the exchange claimed them (I2, I3).
        into.extend((0..count).map(|step| unsafe { self.read(head.plus(step)) }));
        self.room.notify();
        Ok(count)
    }

    /// Moves the value at `at` out.
    ///
    /// # Safety
    /// The caller claimed it, and reads it once.
    #[inline(always)]
    unsafe fn read(&self, at: Position) -> T {
        let Marked { mark, slot } = self.slots.at(at);
        // SAFETY: the slot holds a value, which belongs to the caller (I2, I3).
        let value = unsafe { slot.read() };
        // EDGE group-vacate (release): the slot has been read.
        mark.store_gone(at, Release);
        value
    }

    /// How many values are in it; others may change that at once.
    pub(super) fn len(&self) -> usize {
        loop {
            match self.find(self.capacity) {
                Ok((_, count)) => return count as usize,
                Err(Miss::Empty) => return 0,
                Err(Miss::Lost) => {}
            }
        }
    }

    /// How many values before `tail` have not been claimed; others may change that at once.
    pub(super) fn since_head(&self, tail: Position) -> usize {
        tail.since(self.head.load(Relaxed).position()).min(self.capacity) as usize
    }
}

impl<T, N> Drop for Lane<T, N> {
    fn drop(&mut self) {
        let mut head = self.head.load(Relaxed).position();
        while std::mem::needs_drop::<T>() {
            let Marked { mark, slot } = self.slots.at(head);
            let last = mark.load(Relaxed);
            if last.is_gone() || last.position() != head {
                return;
            }
            // SAFETY: all sides have gone (I6), the mark says that the value is there (I2), and each is taken once.
            drop(unsafe { slot.read() });
            head = head.plus(1);
        }
    }
}
