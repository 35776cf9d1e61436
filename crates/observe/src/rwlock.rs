//! Read-write locks: a row for the readers and a row for the writers; idle time is on the writers' row.
//!
//! # Contract
//! The lock is free when it has no holder, reader or writer. All waiters are in the waiter list of the writers' row,
//! and an idle interval that a reader ends is counted there too. A reader's hold is its own.
//! # State
//! `holders` of the writers' row counts the readers and writers that were seen taking the lock.
//! # Evidence
//! `tests/programs/readers_starve_writer.c`.

use crate::here::{self, Here};
use crate::host::{self, Object};
use crate::stack::Caller;
use libc::{EBUSY, c_int, c_void, timespec};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::events::{self, End, Waited};
use uncontended_events::site::{Row, Site};
use uncontended_events::waiters::{self, Wait};
use uncontended_trace::layout::{READERS, cause, kind};

/// Both rows of a lock, for one thread.
#[derive(Clone, Copy)]
struct Rows {
    at: Here,
    /// The row of the thread's side.
    mine: Row,
    /// The writers' row, which knows whether the lock is free.
    state: Row,
}

fn rows(lock: *mut Object, reads: bool, caller: Caller) -> Option<Rows> {
    let (at, state) = here::row(lock as u64, kind::RWLOCK_WRITE, caller)?;
    let mine = match reads {
        true => here::row(lock as u64 | READERS, kind::RWLOCK_READ, caller)?.1,
        false => state,
    };
    Some(Rows { at, mine, state })
}

impl Rows {
    /// The lock was taken. `wait` is the thread's wait for it, if there was one.
    fn acquired(self, wait: Option<Wait>) {
        let Rows { at, mine, state } = self;
        events::bump(&mine.cell.acquisitions);
        let wanted = waiters::count(state.lock) != 0;
        let first = state.lock.holders.fetch_add(1, Relaxed) == 0;
        let now = if at.recorder().holds || wanted { at.ticks() } else { 1 };
        if wanted {
            self.end_wait(wait, first, now);
        }
        state.lock.release.store(0, Relaxed);
        if mine.cell.depth.load(Relaxed) == 0 {
            events::own(at.recorder(), mine, at.site(), || now);
        } else {
            mine.cell.depth.store(mine.cell.depth.load(Relaxed) + 1, Relaxed);
        }
    }

    #[cold]
    fn end_wait(self, wait: Option<Wait>, was_free: bool, now: u64) {
        let Rows { at, mine, state } = self;
        let busy = at.begin();
        let release = state.lock.release.load(Relaxed);
        let opened = if was_free && release != 0 {
            waiters::opened(at.recorder(), state.lock, release, now)
        } else {
            None
        };
        let mut cause = cause::BARGED;
        if let Some(wait) = wait {
            let call = wait.call;
            wait.leave(at.recorder(), state.lock);
            let release = last_release(state);
            events::record_wait(at, mine, Waited { call, now, release, ended: End::Came });
            cause =
                events::cause_of(call, opened.unwrap_or(now), state.lock.woken.load(Relaxed), now);
        }
        if let Some(opened) = opened {
            events::close_idle(at, state, events::Idle { opened, now, release, cause });
        }
        drop(busy);
    }

    /// A wait ended without the lock.
    fn gave_up(self, wait: Wait) {
        let Rows { at, mine, state } = self;
        let busy = at.begin();
        let (call, now) = (wait.call, at.ticks());
        events::record_wait(at, mine, Waited { call, now, release: 0, ended: End::TimedOut });
        let release = state.lock.release.load(Relaxed);
        let opened = if release != 0 {
            waiters::opened(at.recorder(), state.lock, release, now)
        } else {
            None
        };
        if let (Some(opened), true) = (opened, wait.leave(at.recorder(), state.lock) != 0) {
            state.lock.open_since.store(opened, Relaxed);
        }
        drop(busy);
    }
}

/// The release whose stack the writers' row holds, if it holds one.
fn last_release(state: Row) -> u64 {
    state.lock.stack_at.load(Relaxed)
}

/// Takes the lock by `tried`, or else by `wait`.
#[inline(always)]
fn acquire(
    lock: *mut Object,
    reads: bool,
    caller: Caller,
    tried: impl Fn() -> c_int,
    wait: impl Fn() -> c_int,
) -> c_int {
    let Some(rows) = rows(lock, reads, caller) else { return wait() };
    match tried() {
        0 => {
            rows.acquired(None);
            return 0;
        }
        EBUSY => {}
        _ => return wait(),
    }
    let call = rows.at.ticks();
    let busy = rows.at.begin();
    let waiting = Wait::begin(rows.at, rows.state.lock, call);
    rows.at.stack();
    drop(busy);
    let result = wait();
    if result == 0 {
        rows.acquired(Some(waiting))
    } else {
        rows.gave_up(waiting)
    }
    result
}

fn try_by(lock: *mut Object, reads: bool, caller: Caller, result: c_int) -> c_int {
    if let Some(rows) = rows(lock, reads, caller) {
        match result {
            0 => rows.acquired(None),
            EBUSY => events::try_failed(rows.at, rows.mine.cell),
            _ => {}
        }
    }
    result
}

macro_rules! sides {
    ($($name:ident ($($argument:ident: $type:ty),*) $reads:literal $try:ident $wait:ident;)*) => {
        $(
            pub(crate) unsafe extern "C-unwind" fn $name(lock: *mut Object, $($argument: $type,)* caller: Caller) -> c_int {
                acquire(
                    lock,
                    $reads,
                    caller,
                    // SAFETY: the program takes this lock, so it may be tried (P1, P3).
                    || unsafe { host::$try(lock) },
                    // SAFETY: the program's own call (P1).
                    || unsafe { host::$wait(lock, $($argument),*) },
                )
            }
        )*
    };
}

sides! {
    rdlock () true pthread_rwlock_tryrdlock pthread_rwlock_rdlock;
    timedrdlock (until: *const timespec) true pthread_rwlock_tryrdlock pthread_rwlock_timedrdlock;
    clockrdlock (clock: c_int, until: *const timespec) true pthread_rwlock_tryrdlock pthread_rwlock_clockrdlock;
    wrlock () false pthread_rwlock_trywrlock pthread_rwlock_wrlock;
    timedwrlock (until: *const timespec) false pthread_rwlock_trywrlock pthread_rwlock_timedwrlock;
    clockwrlock (clock: c_int, until: *const timespec) false pthread_rwlock_trywrlock pthread_rwlock_clockwrlock;
}

pub(crate) unsafe extern "C-unwind" fn tryrdlock(lock: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::pthread_rwlock_tryrdlock(lock) };
    try_by(lock, true, caller, result)
}

pub(crate) unsafe extern "C-unwind" fn trywrlock(lock: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::pthread_rwlock_trywrlock(lock) };
    try_by(lock, false, caller, result)
}

pub(crate) unsafe extern "C-unwind" fn unlock(lock: *mut Object, caller: Caller) -> c_int {
    let found = here::find(lock as u64, kind::RWLOCK_WRITE, caller).map(|(at, state)| {
        let reads =
            here::find(lock as u64 | READERS, kind::RWLOCK_READ, caller).map(|(_, row)| row);
        let held = |row: &Row| row.cell.depth.load(Relaxed) != 0;
        Rows { at, mine: reads.filter(held).unwrap_or(state), state }
    });
    let Some(rows) = found else {
        // SAFETY: the program's own call (P1).
        return unsafe { host::pthread_rwlock_unlock(lock) };
    };
    let release = events::releasing_shared(rows.at, rows.mine, rows.state.lock);
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::pthread_rwlock_unlock(lock) };
    release.done(rows.at, rows.mine, rows.state.lock);
    result
}

pub(crate) unsafe extern "C-unwind" fn init(
    lock: *mut Object,
    attributes: *const c_void,
    caller: Caller,
) -> c_int {
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::pthread_rwlock_init(lock, attributes) };
    if result == 0 {
        here::created(lock as u64, kind::RWLOCK_WRITE, caller);
        here::created(lock as u64 | READERS, kind::RWLOCK_READ, caller);
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn destroy(lock: *mut Object, _: Caller) -> c_int {
    here::destroyed(lock as u64);
    here::destroyed(lock as u64 | READERS);
    // SAFETY: the program's own call (P1).
    unsafe { host::pthread_rwlock_destroy(lock) }
}
