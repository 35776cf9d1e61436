//! Read-write locks: a row for the readers and a row for the writers ([`shared`]).
//!
//! # Evidence
//! `tests/programs`: `blame_rwlock.c`, `readers_starve_writer.c`, `same_results.c`.

use crate::caller::Caller;
use crate::deadline::{self, Limit};
use crate::here;
use crate::host::{self, Object};
use crate::local::Here;
use crate::sharing;
use libc::{CLOCK_REALTIME, EBUSY, EDEADLK, c_int, c_void, timespec};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::shared::{self, Rows};
use uncontended_events::sharing::{had, unseen};
use uncontended_events::site::{Row, Site};
use uncontended_events::summed::is_summed;
use uncontended_events::waiters::Side;
use uncontended_events::wants;
use uncontended_events::{events, generations};
use uncontended_trace::layout::{READERS, kind};

fn rows(lock: *mut Object, side: Side, caller: Caller) -> Option<(Here, Rows)> {
    let (at, state) = here::row(lock as u64, kind::RWLOCK_WRITE, caller)?;
    let mine = match side {
        Side::Shared => here::row(lock as u64 | READERS, kind::RWLOCK_READ, caller)?.1,
        Side::Exclusive => state,
    };
    if is_summed(mine.lock) {
        generations::in_part(state.lock);
    }
    Some((at, Rows { mine, state, side }))
}

/// The thread's row of the readers, if it has one.
fn readers(lock: *mut Object, caller: Caller) -> Option<Row> {
    here::find(lock as u64 | READERS, kind::RWLOCK_READ, caller).map(|(_, row)| row)
}

/// The same, made if a thread has taken that side.
fn readers_seen(at: Here, lock: *mut Object, caller: Caller) -> Option<Row> {
    let key = lock as u64 | READERS;
    generations::known(at.recorder(), key, kind::RWLOCK_READ)?;
    Some(here::row(key, kind::RWLOCK_READ, caller)?.1)
}

/// Takes the lock by `tried`, or else by `wait`.
#[inline(always)]
fn acquire(
    lock: *mut Object,
    side: Side,
    caller: Caller,
    tried: impl Fn() -> c_int,
    limit: Limit,
    wait: impl Fn() -> c_int,
) -> c_int {
    let Some((at, rows)) = rows(lock, side, caller) else { return wait() };
    if is_counted_alone(rows) {
        return acquire_summed(at, rows.mine, tried, limit, wait);
    }
    match tried() {
        0 => {
            shared::acquired(at, rows, None);
            at.took(rows.mine, limit == Limit::Never);
            return 0;
        }
        EBUSY => {}
        _ => return wait(),
    }
    let waiting = shared::wait(at, rows, at.ticks());
    if limit == Limit::Deadline {
        wants::has_deadline(at.recorder());
    }
    // SAFETY: the program waits for this lock, so it is one (P1).
    let holder = || unsafe { sharing::holder(lock, kind::RWLOCK_WRITE) };
    let unseen = unseen(at, rows.state.lock, holder);
    let result = wait();
    if !at.is_here() {
        return result;
    }
    had(at.recorder(), rows.state.lock, unseen);
    match result {
        0 => {
            shared::acquired(at, rows, Some(waiting));
            at.took(rows.mine, limit == Limit::Never);
        }
        EDEADLK => shared::refused(at, rows, waiting),
        _ => shared::gave_up(at, rows, waiting, readers_seen(at, lock, caller)),
    }
    result
}

/// Whether the thread cannot say what it does to the lock except in a sum.
#[inline(always)]
fn is_counted_alone(rows: Rows) -> bool {
    is_summed(rows.mine.lock) || is_summed(rows.state.lock)
}

/// The same where the thread's part is kept in a sum.
#[cold]
fn acquire_summed(
    at: Here,
    row: Row,
    tried: impl Fn() -> c_int,
    limit: Limit,
    wait: impl Fn() -> c_int,
) -> c_int {
    match tried() {
        0 => {
            events::bump(&row.cell.acquisitions);
            return 0;
        }
        EBUSY => {}
        _ => return wait(),
    }
    let blocked = deadline::blocked(at, row, limit);
    let result = wait();
    match result {
        0 => blocked.acquired(),
        EDEADLK => blocked.refused(),
        _ => blocked.gave_up(),
    }
    result
}

fn try_by(lock: *mut Object, side: Side, caller: Caller, result: c_int) -> c_int {
    if let Some((at, rows)) = rows(lock, side, caller) {
        match result {
            0 if is_counted_alone(rows) => events::bump(&rows.mine.cell.acquisitions),
            0 => {
                shared::acquired(at, rows, None);
                at.took(rows.mine, false);
            }
            EBUSY => events::try_failed(at, rows.mine.cell),
            _ => {}
        }
    }
    result
}

macro_rules! sides {
    ($(
        $name:ident ($($argument:ident: $type:ty),*) $side:ident $try:ident $wait:ident
            $(at $clock:ident $until:ident)?;
    )*) => {
        $(
            pub(crate) unsafe extern "C-unwind" fn $name(lock: *mut Object, $($argument: $type,)* caller: Caller) -> c_int {
                // SAFETY: the program's own call (P1).
                let wait = || unsafe { host::$wait(lock, $($argument),*) };
                const LIMIT: Limit = Limit::of(&[$(stringify!($until))?]);
                $(
                    // SAFETY: a deadline of the program's (P1).
                    if !unsafe { deadline::is_valid($clock, $until) } {
                        return wait();
                    }
                )?
                // SAFETY: the program takes this lock, so it may be tried (P1, P3).
                acquire(lock, Side::$side, caller, || unsafe { host::$try(lock) }, LIMIT, wait)
            }
        )*
    };
}

sides! {
    rdlock () Shared pthread_rwlock_tryrdlock pthread_rwlock_rdlock;
    timedrdlock (until: *const timespec) Shared pthread_rwlock_tryrdlock pthread_rwlock_timedrdlock
        at CLOCK_REALTIME until;
    clockrdlock (clock: c_int, until: *const timespec) Shared pthread_rwlock_tryrdlock pthread_rwlock_clockrdlock
        at clock until;
    wrlock () Exclusive pthread_rwlock_trywrlock pthread_rwlock_wrlock;
    timedwrlock (until: *const timespec) Exclusive pthread_rwlock_trywrlock pthread_rwlock_timedwrlock
        at CLOCK_REALTIME until;
    clockwrlock (clock: c_int, until: *const timespec) Exclusive pthread_rwlock_trywrlock pthread_rwlock_clockwrlock
        at clock until;
}

pub(crate) unsafe extern "C-unwind" fn tryrdlock(lock: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::pthread_rwlock_tryrdlock(lock) };
    try_by(lock, Side::Shared, caller, result)
}

pub(crate) unsafe extern "C-unwind" fn trywrlock(lock: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::pthread_rwlock_trywrlock(lock) };
    try_by(lock, Side::Exclusive, caller, result)
}

pub(crate) unsafe extern "C-unwind" fn unlock(lock: *mut Object, caller: Caller) -> c_int {
    let found = here::find(lock as u64, kind::RWLOCK_WRITE, caller).map(|(at, state)| {
        let held = |row: &Row| row.cell.depth.load(Relaxed) != 0;
        match readers(lock, caller).filter(held) {
            Some(mine) => (at, Rows { mine, state, side: Side::Shared }),
            None => (at, Rows { mine: state, state, side: Side::Exclusive }),
        }
    });
    let own = found.filter(|(_, rows)| !is_counted_alone(*rows));
    let Some((at, rows)) = own else {
        // SAFETY: the program's own call (P1).
        return unsafe { host::pthread_rwlock_unlock(lock) };
    };
    let readers = || Some(here::row(lock as u64 | READERS, kind::RWLOCK_READ, caller)?.1);
    let left = shared::leave(at, rows, readers);
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::pthread_rwlock_unlock(lock) };
    left.done(at, rows);
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
