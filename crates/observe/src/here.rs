//! The calling thread and the place of the call: the [`Site`] of every event.
//!
//! # Contract
//! [`row`] finds or makes the calling thread's row of a lock; [`find`] only finds it. [`created`] and [`destroyed`]
//! begin and end generations of locks.

use crate::local::{self, Busy, Local, current};
use crate::stack::Caller;
use uncontended_events::generations;
use uncontended_events::site::{Recorder, Row, Site};
use uncontended_sys::clock;

/// A thread that may record now, and the place of the call.
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

    #[inline(always)]
    fn site(self) -> u32 {
        self.known_stack().unwrap_or_else(|| self.new_site())
    }

    fn stack(self) -> u32 {
        debug_assert!(self.local.is_busy(), "the cache of stacks changes");
        self.local.stacks.number(self.caller, &self.local.recorder)
    }
}

impl Here {
    #[cold]
    #[inline(never)]
    fn new_site(self) -> u32 {
        let busy = self.begin();
        let stack = if self.local.stacks.may_unwind() { self.stack() } else { 0 };
        drop(busy);
        stack
    }
}

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
        Some((local, row)) if !generations::is_dead(row.lock) => (local, row),
        _ => {
            let row = enter(key, kind, caller)?;
            (attached()?, row)
        }
    };
    Some((Here { local, caller }, row))
}

/// Makes the row. The result fits in two registers, so that the common path too keeps everything in registers.
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

/// The program created a lock of `kind` at `key`.
pub(crate) fn created(key: u64, kind: u8, caller: Caller) {
    if let Some(at) = here(caller) {
        let busy = at.begin();
        generations::created(at, key, kind);
        drop(busy);
    }
}

/// The program is about to destroy the lock at `key`.
pub(crate) fn destroyed(key: u64) {
    if let Some(local) = current() {
        generations::destroyed(&local.recorder, key);
    }
}
