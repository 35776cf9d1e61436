//! Event counts for C: one 64-bit version, and the threads that sleep until it changes.
//!
//! # Contract
//! `unc_event_count` is memory of the caller's, initially zero. An increment is inlined C (`inline.h`): a release store
//! if one thread increments, an atomic addition if several do; then a compiler barrier, a load and a branch. The
//! functions here are the rare part: sleeping and waking.
//!
//! # State
//! I1: an `unc_event_count` has the layout of `Shared`, and its user accesses it only through these functions.
//!
//! # Edges
//! c-event: `unc_event_count_add`, in C, stores `version` -> `unc_event_count_wait` loads it. What happened before the
//! increment.
//!
//! # Evidence
//! tests/c_library.rs, from C and C++. The sleepers are those of the crate `wait`, which the checker explores.

use std::mem::offset_of;
use uncontended_atomic::AtomicU64;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_wait::{Deadline, Sleepers};

/// A count of events, for threads of one process. Zero-initialised memory is a valid count (UNC_EVENT_COUNT_INIT).
#[repr(C)]
#[derive(Debug)]
pub struct EventCount {
    /// The number of events, modulo 2^64. Only for the inlined functions.
    pub version: u64,
    /// Bit 0 of the first word says that a thread may sleep. Only for the inlined functions.
    pub sleepers: [u32; 4],
}

/// The same memory as Rust uses it.
#[repr(C)]
struct Shared {
    version: AtomicU64,
    sleepers: Sleepers,
    _spare: u32,
}

const _: () = {
    assert!(size_of::<EventCount>() == size_of::<Shared>());
    assert!(align_of::<EventCount>() == align_of::<Shared>());
    assert!(offset_of!(EventCount, sleepers) == offset_of!(Shared, sleepers));
};

/// # Safety
/// `count` points to an event count that outlives the reference.
unsafe fn shared<'a>(count: *const EventCount) -> &'a Shared {
    // SAFETY: by the contract; both have the same layout, and all zeroes is a valid value of both (I1).
    unsafe { &*count.cast::<Shared>() }
}

/// Waits until the count differs from `old`, and returns its new value.
///
/// # Safety
/// `count` points to an event count that outlives the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_event_count_wait(count: *const EventCount, old: u64) -> u64 {
    // SAFETY: by the contract (I1).
    let count = unsafe { shared(count) };
    count.sleepers.sleep_until(|| changed(count, old))
}

/// The same, but ends at `deadline_ns`. Returns true if the count differs from `old`, and false if the deadline has
/// passed and the count is still `old`. Stores the count in `*now`.
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
    // SAFETY: by the contract (I1).
    let count = unsafe { shared(count) };
    let deadline = Deadline::at_ns(deadline_ns);
    let changed = count.sleepers.sleep_until_deadline(|| changed(count, old), deadline);
    if !now.is_null() {
        // SAFETY: by the contract a number is there (C1).
        unsafe { now.write(changed.unwrap_or(old)) };
    }
    changed.is_ok()
}

/// Wakes all threads that sleep on the count. The inlined increments call it when a thread may sleep.
///
/// # Safety
/// `count` points to an event count that outlives the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_event_count_wake(count: *const EventCount) {
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
