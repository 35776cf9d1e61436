//! The calling thread at the place where it called: what the core asks of us at every event.
//!
//! # Contract
//! [`row`] finds or makes what this thread has on a lock; [`find`] finds it only. [`created`] and [`destroyed`] tell of
//! the lives of locks.

use crate::local::{self, Busy, Local, current};
use crate::stack::Caller;
use uncontended_events::generations;
use uncontended_events::site::{Recorder, Row, Site};
use uncontended_sys::clock;

/// A thread that may record now, and where it is.
#[derive(Clone, Copy)]
pub(crate) struct Here {
    pub(crate) local: &'static Local,
    pub(crate) caller: Caller,
}

impl Site for Here {
    type Thread = &'static Local;
    type Place = Caller;
    type Busy = Busy;

    #[inline(always)]
    fn split(self) -> (&'static Local, Caller) {
        (self.local, self.caller)
    }

    #[inline(always)]
    fn join(local: &'static Local, caller: Caller) -> Self {
        Here { local, caller }
    }

    #[inline(always)]
    fn recorder(self) -> &'static Recorder {
        &self.local.recorder
    }

    #[inline(always)]
    fn ticks(self) -> u64 {
        clock::ticks()
    }

    #[inline(always)]
    fn begin(self) -> Busy {
        self.local.begin()
    }

    #[inline(always)]
    fn known_stack(self) -> Option<u32> {
        self.local.stacks.known(self.caller)
    }

    fn stack(self) -> u32 {
        debug_assert!(self.local.is_busy(), "the cache of stacks changes");
        self.local.stacks.number(self.caller, &self.local.recorder)
    }
}

/// The calling thread, if it may record now.
#[inline(always)]
pub(crate) fn here(caller: Caller) -> Option<Here> {
    Some(Here { local: current()?, caller })
}

/// What the calling thread has on the lock of `kind` at `key`, if anything and if it may record now.
#[inline(always)]
pub(crate) fn find(key: u64, kind: u8, caller: Caller) -> Option<(Here, Row)> {
    let (local, row) = local::find(key, kind)?;
    Some((Here { local, caller }, row))
}

/// What the calling thread has on the present life of the lock of `kind` at `key`; none if it may not record now, or
/// there is no room.
#[inline(always)]
pub(crate) fn row(key: u64, kind: u8, caller: Caller) -> Option<(Here, Row)> {
    let (local, row) = match local::find(key, kind) {
        Some((local, row)) if !generations::is_dead(row.lock) => (local, row),
        _ => {
            let row = enter(key, kind, caller)?;
            (attached()?, row)
        }
    };
    Some((Here { local, caller }, row))
}

/// What this thread has on a lock from now on. No larger than two registers, so that the usual way keeps all it has in
/// registers too.
#[cold]
#[inline(never)]
fn enter(key: u64, kind: u8, caller: Caller) -> Option<Row> {
    let at = here(caller)?;
    let busy = at.begin();
    let row = generations::enter(at, key, kind)?;
    at.local.remember(key, kind, row);
    drop(busy);
    Some(row)
}

#[cold]
#[inline(never)]
fn attached() -> Option<&'static Local> {
    current()
}

/// The program made a lock of `kind` at `key`.
pub(crate) fn created(key: u64, kind: u8, caller: Caller) {
    if let Some(at) = here(caller) {
        let busy = at.begin();
        generations::created(at, key, kind);
        drop(busy);
    }
}

/// The lock at `key` is about to be no more.
pub(crate) fn destroyed(key: u64) {
    if let Some(local) = current() {
        generations::destroyed(&local.recorder, key);
    }
}
