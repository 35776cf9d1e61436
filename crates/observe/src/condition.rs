//! Condition variables: the wait itself, and the return to the mutex.
//!
//! # Contract
//! A wait ends the mutex's hold. It lasts from the call to the signal that ended it (`woken`). Without a signal (a
//! spurious wakeup) the wait lasts to the return, after a timeout to the deadline. The return is a new acquisition of
//! the mutex that begins there; it was blocked if another thread released the mutex later. A cancelled wait lasts until
//! its thread was cancelled, and is recorded where that gives the mutex back, or ends with it (`cancelled`).
//! # Invariants
//! I1: nothing here remains to be done when a cancelled thread unwinds: the C library has relocked the mutex, and the
//!     wait is stored with its thread.
//! I2: only the holder of the mutex calls `leaving` and `come_back`. A thread that a signal handler took out of a wait
//!     stays counted as away: releases of the mutex keep taking timestamps, which costs time but not accuracy.
//! # Evidence
//! `tests/programs`: `conditions.c`, `cancelled_mid_wait.c`.

use crate::caller::Caller;
use crate::cancelled::{self, Away, Wait};
use crate::here;
use crate::host::{self, Object};
use crate::local::Here;
use crate::mutex;
use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, ETIMEDOUT, c_int, c_void, timespec};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::deadline::{self, Time};
use uncontended_events::events::{self, Back, End, Waited};
use uncontended_events::log::By;
use uncontended_events::site::Site;
use uncontended_events::slept::Before;
use uncontended_events::{passing, recent, wants, woken};
use uncontended_sys::clock::{self, Moment, ticks};
use uncontended_trace::layout::kind::CONDITION;

/// The start of a wait.
struct Begun {
    at: Here,
    call: Moment,
    away: Away,
}

/// Ends the mutex's hold. Returns `None` if the wait is not recorded.
fn begin(condition: *mut Object, mutex: *mut Object, caller: Caller) -> Option<Begun> {
    let (at, mutex) = mutex::row(mutex, caller)?;
    let (_, condition) = here::row(condition as u64, CONDITION, caller)?;
    at.recorder().thread.waits_for.store(0, Relaxed);
    cancelled::before_wait(at);
    at.releases_unseen(mutex); // A handler of a cancelled wait for another condition has the mutex.
    let busy = at.begin();
    let sleeps = Before::now(at);
    drop(busy);
    let stack = at.site();
    let held_since = mutex.cell.hold_start.load(Relaxed);
    let release = events::leaving(at, mutex)?; // I2: it still holds the mutex.
    let call = Moment { ticks: ticks(), ns: clock::monotonic_ns() };
    at.recorder().thread.asleep_since.store(call.ticks, Relaxed);
    wants::begin(at.recorder(), condition.lock, call.ticks, false);
    wants::called_in(at.recorder(), stack);
    let begun = passing::begins(at.recorder(), condition, (held_since, call.ticks));
    release.done(at, mutex, mutex.lock, false);
    let away = Away { condition, mutex, call: call.ticks, stack, sleeps, begun };
    Some(Begun { at, call, away })
}

impl Begun {
    /// Records the wait and the return. `late_ns`: how long ago the deadline was, after a timeout.
    fn end(self, late_ns: Option<u64>) {
        let Begun { at, call, away } = self;
        let Away { condition, mutex, stack, sleeps, begun, .. } = away;
        if !at.is_here() {
            return;
        }
        let now = ticks();
        let busy = at.begin();
        away.is_over(at);
        let end = if late_ns.is_some() { End::TimedOut } else { End::Came };
        let (ended, by) = match late_ns {
            Some(late) => {
                let ended = now.saturating_sub(ticks_of(late, call, now)).max(call.ticks);
                (ended, passing::found_free(condition.lock, (call.ticks, ended), now))
            }
            None => {
                let during = (call.ticks, now);
                let by = woken::ended(at.recorder(), condition.lock, during, begun.ahead);
                let known = recent::known_since(at.recorder(), mutex.lock, by.at);
                (if by.at == 0 { now } else { known.min(now) }, by)
            }
        };
        let call = call.ticks;
        let is_signalled = late_ns.is_none() && by.at != 0;
        let release = mutex.lock.release.load(Relaxed);
        // A thread that slept and found the mutex taken slept for the one or the other, or for both.
        let slept = sleeps.slept(at).filter(|&slept| !slept || release <= ended);
        let waited = Waited {
            call,
            now: ended,
            ended: end,
            stack,
            by,
            continues_after: begun.continues_after,
            slept,
            ..Waited::default()
        };
        events::record_wait(at, condition, waited);
        if late_ns.is_some() {
            passing::timed_out(at.recorder(), condition, (call, ended), now);
        } else if is_signalled {
            passing::came(at.recorder(), condition, (call, ended), by);
        }
        passing::came_back(at.recorder(), condition, now);
        recent::come_back(mutex.lock);
        events::bump(&mutex.cell.acquisitions);
        if release > ended {
            let by = By::owner(at.recorder(), mutex.lock, release);
            let back = Back { ended, is_signalled, release, now };
            let free = events::came_back(at, mutex, back);
            let call = ended;
            let waited = Waited { call, now, release, stack, by, free, slept, ..Waited::default() };
            events::record_wait(at, mutex, waited);
        }
        events::take(at.recorder(), mutex, stack, now);
        drop(busy);
        at.took(mutex, true);
    }
}

/// Nanoseconds in ticks, by the time that passed on both clocks since `call`.
fn ticks_of(ns: u64, call: Moment, now: u64) -> u64 {
    let tick_ns = call.tick_ns(Moment { ticks: now, ns: clock::monotonic_ns() });
    if tick_ns > 0.0 { (ns as f64 / tick_ns) as u64 } else { 0 }
}

/// When a wait times out, and the clocks that the time may refer to.
type Deadline = (&'static [c_int], *const timespec);

/// The clock of a condition variable is not known here. After a timeout it is the one on which the deadline has just
/// passed: the two are decades apart.
const EITHER: &[c_int] = &[CLOCK_REALTIME, CLOCK_MONOTONIC];

/// How long ago the deadline was, in nanoseconds.
///
/// # Safety
/// The program passed it to a wait, which has read it.
unsafe fn late_ns((clocks, until): Deadline) -> u64 {
    // SAFETY: by the contract; it stays until the interposed function returns (P2).
    let until = unsafe { *until };
    let now = clocks.iter().map(|&clock| {
        let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: room for the answer (L2).
        unsafe { libc::clock_gettime(clock, &mut now) };
        now
    });
    let time = |time: timespec| Time { seconds: time.tv_sec, ns: time.tv_nsec };
    deadline::late_ns(time(until), now.map(time))
}

/// Waits with `wait`, until `deadline` if there is one.
#[inline(always)]
fn wait_by(
    condition: *mut Object,
    mutex: *mut Object,
    deadline: Option<Deadline>,
    caller: Caller,
    wait: impl Fn() -> c_int,
) -> c_int {
    let begun = begin(condition, mutex, caller);
    if let (Some(begun), Some(_)) = (&begun, deadline) {
        wants::has_deadline(begun.at.recorder());
    }
    let Some(begun) = begun else { return wait() };
    let (result, waited) = cancelled::during(begun.at, Wait::Condition(begun.away), wait);
    if waited.is_some() {
        let late = deadline.filter(|_| result == ETIMEDOUT);
        // SAFETY: the wait has read it, since it timed out (P2).
        let late = late.map(|deadline| unsafe { late_ns(deadline) });
        begun.end(late);
    }
    result
}

/// Records a signal, for one waiter or for all, before it is sent.
fn stamp(condition: *mut Object, is_lone: bool, caller: Caller) {
    if let Some((at, row)) = here::row(condition as u64, CONDITION, caller) {
        passing::signals(at.recorder(), row.lock, Some(row.cell), is_lone);
        events::ends(at, row.lock, if is_lone { woken::ONE } else { woken::ALL });
    }
}

pub(crate) unsafe extern "C-unwind" fn clockwait(
    condition: *mut Object,
    mutex: *mut Object,
    clock: c_int,
    until: *const timespec,
    caller: Caller,
) -> c_int {
    let clocks = if clock == CLOCK_REALTIME { &EITHER[..1] } else { &EITHER[1..] };
    let deadline = Some((clocks, until));
    // SAFETY: the program's own call (P1).
    let wait = || unsafe { host::pthread_cond_clockwait(condition, mutex, clock, until) };
    wait_by(condition, mutex, deadline, caller, wait)
}

/// The functions that exist in two versions, each with its own objects: `host` is the one in scope of the macro.
macro_rules! versioned_functions {
    () => {
        pub(crate) unsafe extern "C-unwind" fn wait(
            condition: *mut Object,
            mutex: *mut Object,
            caller: Caller,
        ) -> c_int {
            // SAFETY: the program's own call (P1).
            let wait = || unsafe { host::pthread_cond_wait(condition, mutex) };
            wait_by(condition, mutex, None, caller, wait)
        }

        pub(crate) unsafe extern "C-unwind" fn timedwait(
            condition: *mut Object,
            mutex: *mut Object,
            until: *const timespec,
            caller: Caller,
        ) -> c_int {
            let deadline = Some((EITHER, until));
            // SAFETY: the program's own call (P1).
            let wait = || unsafe { host::pthread_cond_timedwait(condition, mutex, until) };
            wait_by(condition, mutex, deadline, caller, wait)
        }

        pub(crate) unsafe extern "C-unwind" fn signal(
            condition: *mut Object,
            caller: Caller,
        ) -> c_int {
            stamp(condition, true, caller);
            // SAFETY: the program's own call (P1).
            unsafe { host::pthread_cond_signal(condition) }
        }

        pub(crate) unsafe extern "C-unwind" fn broadcast(
            condition: *mut Object,
            caller: Caller,
        ) -> c_int {
            stamp(condition, false, caller);
            // SAFETY: the program's own call (P1).
            unsafe { host::pthread_cond_broadcast(condition) }
        }

        pub(crate) unsafe extern "C-unwind" fn init(
            condition: *mut Object,
            attributes: *const c_void,
            caller: Caller,
        ) -> c_int {
            // SAFETY: the program's own call (P1).
            let result = unsafe { host::pthread_cond_init(condition, attributes) };
            if result == 0 {
                here::created(condition as u64, CONDITION, caller);
            }
            result
        }

        pub(crate) unsafe extern "C-unwind" fn destroy(condition: *mut Object, _: Caller) -> c_int {
            here::destroyed(condition as u64);
            // SAFETY: the program's own call (P1).
            unsafe { host::pthread_cond_destroy(condition) }
        }
    };
}

versioned_functions!();

/// For programs linked against the older version, whose objects need its functions.
#[cfg(target_arch = "x86_64")]
pub(crate) mod old {
    use super::*;
    use crate::host::old as host;

    versioned_functions!();
}
