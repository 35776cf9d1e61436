//! The figures of holds, in the cell of the thread that held the lock.
//!
//! # Evidence
//! `tests/events.rs`, `tests/blame.rs`.

use crate::counter;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_trace::histogram::COARSE;
use uncontended_trace::layout::Cell;

/// Adds the hold that ended at `now` to the figures of its cell, and returns its length, if it is known.
#[inline(always)]
pub(crate) fn add(cell: &Cell, now: u64) -> Option<u64> {
    let begun = cell.hold_start.load(Relaxed);
    if begun == 0 {
        return None; // A signal handler has taken and released the lock since, and recorded its own hold here.
    }
    cell.hold_start.store(0, Relaxed);
    let length = now.saturating_sub(begun);
    counter::add(&cell.hold_total, length);
    let bucket = COARSE.bucket(length);
    let count = cell.hold[bucket].load(Relaxed).wrapping_add(1);
    cell.hold[bucket].store(count, Relaxed);
    if count == 0 {
        let carry = &cell.hold_carry[bucket];
        carry.store(carry.load(Relaxed).wrapping_add(1), Relaxed);
    }
    if length > cell.hold_fourth.load(Relaxed) {
        note_long_hold(cell, length, begun);
    }
    Some(length)
}

#[cold]
fn note_long_hold(cell: &Cell, length: u64, begun: u64) {
    let [first, second, third] = &cell.hold_worst;
    let worst = [first, second, third, &cell.hold_fourth];
    let rank = worst.iter().position(|kept| length > kept.load(Relaxed)).unwrap_or(3);
    for place in (rank..3).rev() {
        worst[place + 1].store(worst[place].load(Relaxed), Relaxed);
    }
    worst[rank].store(length, Relaxed);
    if rank == 0 {
        cell.hold_worst_at.store(begun, Relaxed);
    }
}
