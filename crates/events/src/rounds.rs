//! Rounds of a barrier: whose arrival ended one.
//!
//! # Contract
//! Each arrival leaves its mark with the barrier (`events::ends`), and the last one of a round ends it. A thread that
//! returns late may find the mark of an arrival at the next round. So the first thread to return from a round keeps
//! whose arrival ended it ([`ended`]), and all that return later take that. Where more threads use a barrier than it is
//! for, one that waits for the next round may take the end of this one for its own.
//! # State
//! `Lock::recent`: of the hold at place 0, `ended` is when the last round ended that a thread has returned from,
//! `release` the thread that ended it, and `site` its stack.
//! # Invariants
//! I1: no thread arrives at the next round before it has returned from this one, and kept or found who ended it.
//! I2: a kept time during a thread's wait is that of its own round: the round before ended before it called, and the
//!     next one can't end without it. So all threads that keep a round's end at once write the same.
//! # Edges
//! arrived: [`arrives`] leaves its mark after what its thread kept -> [`ended`], which reads the mark, finds that kept.
//! kept: [`ended`] stores `PastHold::ended` -> [`ended`] of a later thread. Carries `site` and `release`.
//! # Evidence
//! `tests/model_rounds.rs`; `tests/programs/barrier_rounds.c`.

use crate::blame::{self, Share};
use crate::list;
use crate::log::By;
use crate::site::{Recorder, Row};
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::fence;
use uncontended_trace::layout::{Lock, PastHold, Recent, WAKE, units};

/// The calling thread is about to leave the mark of its arrival.
pub(crate) fn arrives() {
    // EDGE arrived (release): what this thread has kept (I1).
    fence(Release);
}

/// The arrival that ended the calling thread's wait from `call` to `now`. The thread must be marked as recording.
pub fn ended(recorder: &Recorder, lock: &'static Lock, (call, now): (u64, u64)) -> By {
    let mark = By::waker(lock, (call, now));
    let made = || recorder.arena.allocate(units(size_of::<Recent>()));
    let Some(unit) = list::published(&lock.recent, made) else { return mark };
    let PastHold { ended, site, release, .. } = &recorder.arena.at::<Recent>(unit).holds[0];
    // EDGE arrived (acquire): what the thread of the mark has kept.
    fence(Acquire);
    // EDGE kept (acquire): who it was.
    let kept = ended.load(Acquire);
    if (call..=now).contains(&kept) {
        return By { at: kept, unit: release.load(Relaxed), stack: site.load(Relaxed) };
    }
    if mark.at != 0 {
        site.store(mark.stack, Relaxed);
        release.store(mark.unit, Relaxed);
        // EDGE kept (release): who it was.
        ended.store(mark.at, Release);
    }
    mark
}

/// Books a wait of this length against the arrival with this stack. The thread must be marked as recording.
pub(crate) fn book(recorder: &Recorder, row: Row, stack: u32, wait: u64) {
    let share = Share {
        site: stack,
        wait,
        waits: 1,
        holds: 1,
        length: wait,
        passed_to: WAKE,
        ..Share::default()
    };
    blame::book(recorder, row.cell, share);
}
