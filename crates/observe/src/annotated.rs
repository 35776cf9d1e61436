//! Locks of the program's own, reported by annotations (`include/uncontended.h`, and `uncontended_sys::annotate` for
//! Rust).
//!
//! # Contract
//! The four hooks record what the program reports about its lock. A wait that [`wait_begin`] announced ends with
//! [`acquired`] or [`gave_up`] for the same lock. A thread waits for one annotated lock at a time: announcing another
//! wait gives up the first.
//! # Evidence
//! `tests/programs`: `annotated.c`, `wait_moves.c`.

use crate::caller::Caller;
use crate::here;
use crate::host::Object;
use crate::local::Here;
use uncontended_events::events::{self, Blocked};
use uncontended_events::site::Row;
use uncontended_trace::layout::kind::ANNOTATED;

fn row(lock: *mut Object, caller: Caller) -> Option<(Here, Row)> {
    here::row(lock as u64, ANNOTATED, caller)
}

pub(crate) extern "C" fn wait_begin(lock: *mut Object, caller: Caller) {
    let Some((at, row)) = row(lock, caller) else { return };
    let before = at.local.announced.replace(Some(Blocked::begin(at, row)));
    if let Some(before) = before {
        before.moved_to(at).gave_up();
    }
}

pub(crate) extern "C" fn acquired(lock: *mut Object, caller: Caller) {
    let Some((at, row)) = row(lock, caller) else { return };
    match at.local.announced.take() {
        Some(blocked) if blocked.is_for(row) => blocked.moved_to(at).acquired(),
        other => {
            at.local.announced.set(other);
            events::acquired(at, row);
        }
    }
    at.took(row, true);
}

/// The program releases the lock only after this, so recording here still lengthens the hold.
pub(crate) extern "C" fn released(lock: *mut Object, caller: Caller) {
    let Some((at, row)) = here::find(lock as u64, ANNOTATED, caller) else { return };
    events::release(at, row, || true, || 0);
}

pub(crate) extern "C" fn gave_up(lock: *mut Object, caller: Caller) {
    let Some((at, row)) = row(lock, caller) else { return };
    match at.local.announced.take() {
        Some(blocked) if blocked.is_for(row) => blocked.moved_to(at).gave_up(),
        other => at.local.announced.set(other),
    }
}
