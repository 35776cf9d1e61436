//! Holds during which a wait ended without the lock.
//!
//! # Contract
//! A waiter whose time runs out books the piece that it waited for, but no hold: other waits may fall into the same
//! one, and how long that takes is not known before its release. So it leaves the beginning of the hold with the lock
//! ([`leave`]), and sets `attention::UNDIVIDED`. The release is then noted, and counts the hold if no thread waits
//! either ([`is_in`]).
//! # Evidence
//! `tests/blame.rs`, `tests/shared.rs`; `tests/programs/blame_gives_up.c`.

use crate::list;
use crate::site::Recorder;
use crate::waiters::Side;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_trace::layout::{Lock, attention, crossed};

/// The low bits of a beginning say which sides gave up during the hold.
const SIDES: u64 = 3;

fn bit(side: Side) -> u64 {
    1 << side as u64
}

/// A wait of `side` has ended during the hold of `lock` that began at `began`.
#[cold]
pub(crate) fn leave(recorder: &Recorder, lock: &Lock, began: u64, side: Side) {
    let Some(list) = list::existing(recorder, lock) else { return };
    // Neither the releases of such a semaphore nor holds that are not timed are noted.
    if began <= 1 || lock.crossed.load(Relaxed) >= crossed::SEVERAL {
        return;
    }
    let hold = began & !SIDES;
    let with_side = |word: u64| if word & !SIDES == hold { word } else { hold } | bit(side);
    let _ = list.given_up_in.fetch_update(Relaxed, Relaxed, |word| Some(with_side(word)));
    lock.attention.fetch_or(attention::UNDIVIDED, Relaxed);
}

/// Whether a wait of `side` has ended so during the hold that began at `began`.
pub(crate) fn is_in(recorder: &Recorder, lock: &Lock, began: u64, side: Side) -> bool {
    let word = list::existing(recorder, lock).map_or(0, |list| list.given_up_in.load(Relaxed));
    began > 1 && word & !SIDES == began & !SIDES && word & bit(side) != 0
}

/// The hold of a lock that one thread has at a time ends: its release is noted.
#[inline(always)]
pub(crate) fn take(lock: &Lock) {
    if lock.attention.load(Relaxed) & attention::UNDIVIDED != 0 {
        lock.attention.fetch_and(!attention::UNDIVIDED, Relaxed);
    }
}
