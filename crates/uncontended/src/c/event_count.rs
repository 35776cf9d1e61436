//! Event counts for C: one 64-bit version, and the threads that sleep until it changes.
//!
//! # Contract
//! `unc_event_count` is memory of the caller's, initially zero. An increment is inlined C (`inline.h`): a release store
//! if one thread increments, an atomic addition if several do; then a compiler barrier, a load and a branch. The
//! functions here are the rare part: sleeping and waking. Once the count is closed, all waits end. Later events are
//! counted all the same.
//!
//! # State
//! I1: an `unc_event_count` has the layout of `Shared`, and its user accesses it only through these functions.
//!
//! # Edges
//! c-event: `unc_event_count_add`, in C, stores `version` -> `unc_event_count_wait` loads it. What happened before the
//! increment.
//! c-closed: `unc_event_count_close` stores `closed` -> a waiter loads it. What happened before, all events among it.
//!
//! # Evidence
//! tests/c_library.rs, from C and C++. The sleepers are those of the crate `wait`, which the checker explores.

use super::status::Status;
use std::ffi::c_void;
use std::mem::offset_of;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU32, AtomicU64};
use uncontended_wait::{Deadline, Sleepers};

/// A count of events, for threads of one process. Zero-initialised memory is a valid count (UNC_EVENT_COUNT_INIT).
#[repr(C)]
#[derive(Debug)]
pub struct EventCount {
    /// The number of events, modulo 2^64. Only for the inlined functions.
    pub version: u64,
    /// Bit 0 of the first word says that a thread may sleep, the last word that the count is closed. Only for the
    /// inlined functions.
    pub sleepers: [u32; 4],
}

/// The same memory as Rust uses it.
#[repr(C)]
struct Shared {
    version: AtomicU64,
    sleepers: Sleepers,
    closed: AtomicU32,
}

const _: () = {
    assert!(size_of::<EventCount>() == size_of::<Shared>());
    assert!(align_of::<EventCount>() == align_of::<Shared>());
    assert!(offset_of!(EventCount, sleepers) == offset_of!(Shared, sleepers));
    assert!(offset_of!(EventCount, sleepers) + 3 * size_of::<u32>() == offset_of!(Shared, closed));
};

/// # Safety
/// `count` points to an event count that outlives the reference.
unsafe fn shared<'a>(count: *const EventCount) -> &'a Shared {
    // SAFETY: by the contract; both have the same layout, and all zeroes is a valid value of both (I1).
    unsafe { &*count.cast::<Shared>() }
}

/// Waits until the count differs from `old`, and returns its new value; `old` if it is closed instead.
///
/// # Safety
/// `count` points to an event count that outlives the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_event_count_wait(count: *const EventCount, old: u64) -> u64 {
    // SAFETY: by the contract (I1).
    let count = unsafe { shared(count) };
    wait(count, || changed(count, old), u64::MAX).unwrap_or(old)
}

/// The same, but ends at `deadline_ns`. Returns true if the count differs from `old`, and false if the deadline has
/// passed or the count is closed, and it is still `old`. Stores the count in `*now`.
///
/// # Safety
/// `count` points to an event count that outlives the call; `now` points to a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_event_count_wait_until(
    count: *const EventCount,
    old: u64,
    deadline_ns: u64,
    now: *mut u64,
) -> bool {
    // SAFETY: the same contract (I1, C1).
    unsafe { unc_event_count_wait_change(count, old, deadline_ns, now) == Status::Ok }
}

/// The same, but returns why the wait ended. UNC_STATUS_TIMED_OUT: the deadline has passed and the count is still
/// `old`. UNC_STATUS_CLOSED: it is closed and still `old`.
///
/// # Safety
/// `count` points to an event count that outlives the call; `now` points to a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_event_count_wait_change(
    count: *const EventCount,
    old: u64,
    deadline_ns: u64,
    now: *mut u64,
) -> Status {
    // SAFETY: by the contract (I1).
    let count = unsafe { shared(count) };
    let changed = wait(count, || changed(count, old), deadline_ns);
    if !now.is_null() {
        // SAFETY: by the contract a number is there (C1).
        unsafe { now.write(changed.unwrap_or(old)) };
    }
    changed.map_or_else(|status| status, |_| Status::Ok)
}

/// Waits until `ready(context)` returns true: it is called at least once, then after events, but not after each.
/// UNC_STATUS_TIMED_OUT: `deadline_ns` has passed and it still returns false. UNC_STATUS_CLOSED: the count is closed
/// and it still returns false. UNC_STATUS_INVALID: `ready` is null.
///
/// Make the condition hold by an atomic store with release, or under a lock that `ready` takes, and then count an
/// event. `ready` must not wait on this count, and must not throw.
///
/// # Safety
/// `count` points to an event count that outlives the call; `ready` may be called with `context` on this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_event_count_wait_for(
    count: *const EventCount,
    ready: Option<unsafe extern "C" fn(context: *mut c_void) -> bool>,
    context: *mut c_void,
    deadline_ns: u64,
) -> Status {
    let Some(ready) = ready else { return Status::Invalid };
    // SAFETY: by the contract (I1).
    let count = unsafe { shared(count) };
    let look = || {
        // EDGE c-event (acquire): `ready` sees what happened before the events.
        count.version.load(Acquire);
        // SAFETY: by the contract it may be called (C1).
        unsafe { ready(context) }.then_some(())
    };
    wait(count, look, deadline_ns).map_or_else(|status| status, |()| Status::Ok)
}

/// Closes the count: no more events are expected, and all waits end, those to come too. It cannot be opened again,
/// except as new memory.
///
/// # Safety
/// `count` points to an event count that outlives the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_event_count_close(count: *const EventCount) {
    // SAFETY: by the contract (I1).
    let count = unsafe { shared(count) };
    // EDGE c-closed (release): what happened before, all events among it.
    count.closed.store(1, Release);
    count.sleepers.wake();
}

/// Waits until `look` finds something, the deadline passes, or the count is closed and `look` still finds nothing.
fn wait<R>(
    count: &Shared,
    mut look: impl FnMut() -> Option<R>,
    deadline_ns: u64,
) -> Result<R, Status> {
    let ready = || match look() {
        // EDGE c-closed (acquire): the second look sees all events.
        None if count.closed.load(Acquire) != 0 => Some(look().ok_or(Status::Closed)),
        found => found.map(Ok),
    };
    let ended = match deadline_ns {
        u64::MAX => Ok(count.sleepers.sleep_until(ready)),
        at => count.sleepers.sleep_until_deadline(ready, Deadline::at_ns(at)),
    };
    ended.unwrap_or(Err(Status::TimedOut))
}

/// Wakes all threads that sleep on the count. The inlined increments call it when a thread may sleep.
///
/// # Safety
/// `count` points to an event count that outlives the call.
#[cfg(not(any(unc_portable, not(target_os = "linux"))))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_event_count_wake(count: *const EventCount) {
    // SAFETY: by the contract (I1).
    unsafe { shared(count) }.sleepers.wake();
}

/// What `unc_event_count_wake` is in a portable library, so that no program is linked with it whose increments lack the
/// fence that it needs: see `UNC_PORTABLE`.
///
/// # Safety
/// `count` points to an event count that outlives the call.
#[cfg(any(unc_portable, not(target_os = "linux")))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_event_count_wake_portable(count: *const EventCount) {
    // SAFETY: by the contract (I1).
    unsafe { shared(count) }.sleepers.wake();
}

/// The count, if it is not `old`.
fn changed(count: &Shared, old: u64) -> Option<u64> {
    // EDGE c-event (acquire): what happened before the increment.
    Some(count.version.load(Acquire)).filter(|&version| version != old)
}

/// Counts `events` events, from the only thread that counts. Equal to the inlined function, for callers other than C.
///
/// # Safety
/// `count` points to an event count that outlives the call, and no other thread counts events there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_event_count_add_call(count: *const EventCount, events: u64) {
    if events == 0 {
        return;
    }
    // SAFETY: by the contract (I1).
    let count = unsafe { shared(count) };
    let version = count.version.load(Relaxed);
    // EDGE c-event (release): what happened before the increment.
    count.version.store(version.wrapping_add(events), Release);
    count.sleepers.wake();
}
