//! Sums over locks without entries of their own: what a thread did to all those that it took in one place.
//!
//! # Contract
//! [`enter`] finds or makes the calling thread's row for the place of its call. Such a row counts acquisitions, failed
//! tries and waits, as that of any lock. Its lock belongs to the thread alone: no other one reads or writes it, so a
//! thread never waits for another one's sum, and what concerns holders (holds, idle time, blame) is not known.
//! # State
//! `Thread::summed` lists the thread's sums, at most [`SUMS`] by place and one for each kind by no place. A sum's
//! `owner` is its cell.
//! # Invariants
//! I1: only its own thread reaches a thread's list, while it is marked as recording.
//! # Evidence
//! `tests/summed.rs`, `tests/model.rs`; `tests/programs`: `many_lives.c`, `many_live.c`, `full_record.c`.

use crate::site::{Recorder, Row, Site};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_trace::layout::attention::SUMMED;
use uncontended_trace::layout::{Cell, Lock, SUMS, sharing};

/// Whether a row is a sum.
#[inline(always)]
pub fn is_summed(lock: &Lock) -> bool {
    lock.attention.load(Relaxed) & SUMMED != 0
}

/// The calling thread's sum over locks of `kind` that are taken where it is now; `None` if there is no room, which is
/// counted.
pub(crate) fn enter(at: impl Site, kind: u8) -> Option<Row> {
    let recorder = at.recorder();
    let place = at.site();
    if let Some(row) = find(recorder, kind, place) {
        return Some(row);
    }
    let is_full = recorder.thread.sums.load(Relaxed) as usize >= SUMS;
    match is_full.then(|| find(recorder, kind, 0)).flatten() {
        None => make(at, kind, if is_full { 0 } else { place }),
        found => found,
    }
}

fn find(recorder: &Recorder, kind: u8, place: u32) -> Option<Row> {
    let mut sums = recorder.arena.list::<Lock>(&recorder.thread.summed);
    let is_it =
        |lock: &Lock| lock.first_taken.load(Relaxed) == place && lock.kind.load(Relaxed) == kind;
    let (_, lock) = sums.find(|(_, lock)| is_it(lock))?;
    Some(Row { cell: recorder.arena.at(lock.owner.load(Relaxed)), lock })
}

#[cold]
fn make(at: impl Site, kind: u8, place: u32) -> Option<Row> {
    let Recorder { arena, thread, .. } = at.recorder();
    let (unit, lock) = arena.make::<Lock>()?;
    let (number, cell) = arena.make::<Cell>()?;
    cell.lock.store(unit, Relaxed);
    lock.kind.store(kind, Relaxed);
    lock.first_taken.store(place, Relaxed);
    lock.sharing.store(sharing::SUMMED, Relaxed);
    lock.attention.store(SUMMED, Relaxed);
    lock.owner.store(number, Relaxed);
    arena.push::<Cell>(&thread.cells, number);
    arena.push::<Lock>(&thread.summed, unit);
    thread.sums.store(thread.sums.load(Relaxed) + 1, Relaxed);
    let since = &arena.header().summed_since;
    if since.load(Relaxed) == 0 {
        let _ = since.compare_exchange(0, at.ticks(), Relaxed, Relaxed);
    }
    Some(Row { cell, lock })
}
