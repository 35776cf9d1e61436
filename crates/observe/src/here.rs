//! The calling thread's rows, and the generations of locks.
//!
//! # Contract
//! [`row`] finds or makes the calling thread's row of a lock; [`find`] only finds it. [`created`] and [`destroyed`]
//! begin and end generations of locks.

use crate::caller::Caller;
use crate::local::{self, Here, Local, current};
use crate::sharing;
use std::ops::Range;
use uncontended_events::sharing::Sharing;
use uncontended_events::site::{Row, Site};
use uncontended_events::summed::is_summed;
use uncontended_events::{events, generations, passing, woken};

/// The calling thread, if it may record now.
#[inline(always)]
pub(crate) fn here(caller: Caller) -> Option<Here> {
    Some(Here { local: current()?, caller })
}

/// The calling thread's row of the lock of `kind` at `key`, if there is one and the thread may record now.
#[inline(always)]
pub(crate) fn find(key: u64, kind: u8, caller: Caller) -> Option<(Here, Row)> {
    let (local, row) = local::find(key, kind)?;
    Some((Here { local, caller }, row))
}

/// The calling thread's row for the current generation of the lock of `kind` at `key`; `None` if the thread may not
/// record now or there is no room.
#[inline(always)]
pub(crate) fn row(key: u64, kind: u8, caller: Caller) -> Option<(Here, Row)> {
    let (local, row) = match local::find(key, kind) {
        Some((local, row)) if !generations::is_stale(row.lock) => (local, row),
        stale => {
            let row = enter(key, kind, caller, stale.map(|(_, row)| row))?;
            (attached()?, row)
        }
    };
    Some((Here { local, caller }, row))
}

/// Makes the row. `stale`: that of an earlier lock at that address, or of one that was moved, and maybe not away from
/// there. The result fits in two registers, so that the common path too keeps everything in registers.
#[cold]
#[inline(never)]
fn enter(key: u64, kind: u8, caller: Caller, stale: Option<Row>) -> Option<Row> {
    let at = here(caller)?;
    if let Some(row) = stale
        && generations::is_still(at.recorder(), key, kind, row)
    {
        return Some(row);
    }
    let busy = at.begin();
    // SAFETY: an object of the program, in a call about it (P1, P2).
    let sharing = || unsafe { sharing::of(key, kind) };
    let row = generations::enter_shared(at, key, kind, sharing)?;
    at.local.remember(key, kind, row, stale.is_some());
    drop(busy);
    Some(row)
}

/// The calling thread's row of the lock alone, for which it is about to wait; the sum `row` if there can be none.
#[cold]
pub(crate) fn wanted(at: Here, row: Row, key: u64, kind: u8) -> Row {
    if !is_summed(row.lock) {
        return row;
    }
    let busy = at.begin();
    let own = generations::enter_wanted(at, key, kind);
    if let Some(own) = own {
        at.local.remember(key, kind, own, true);
    }
    drop(busy);
    own.unwrap_or(row)
}

#[cold]
#[inline(never)]
fn attached() -> Option<&'static Local> {
    current()
}

/// The calling thread is about to wake threads that wait for the object of `kind` at `key`, if any thread has waited
/// for it: at most this many of them.
pub(crate) fn wakes(key: u64, kind: u8, most: u64, caller: Caller) {
    let Some(at) = here(caller) else { return };
    if let Some(lock) = generations::known(at.recorder(), key, kind) {
        let cell = local::find(key, kind).map(|(_, row)| row.cell);
        passing::signals(at.recorder(), lock, cell, most == woken::ONE);
        events::ends(at, lock, most);
    }
}

/// The program created a lock of `kind` at `key`.
pub(crate) fn created(key: u64, kind: u8, caller: Caller) {
    // SAFETY: an object of the program, in a call about it (P1, P2).
    created_with(key, kind, || unsafe { sharing::of(key, kind) }, caller);
}

/// The same of one that only this process uses.
pub(crate) fn created_private(key: u64, kind: u8, caller: Caller) {
    created_with(key, kind, || Sharing::Private, caller);
}

fn created_with(key: u64, kind: u8, sharing: impl FnOnce() -> Sharing, caller: Caller) {
    if let Some(at) = here(caller) {
        let busy = at.begin();
        generations::created_shared(at, key, kind, sharing());
        drop(busy);
    }
}

/// Something else is about to be mapped at these addresses, or nothing.
#[cold]
pub(crate) fn moved(addresses: Range<usize>) {
    if let Some(local) = current() {
        generations::moved(&local.recorder, addresses.start as u64..addresses.end as u64);
    }
}

/// The program is about to destroy the lock at `key`.
pub(crate) fn destroyed(key: u64) {
    if let Some(local) = current() {
        generations::destroyed(&local.recorder, key);
    }
}
