//! How long locks were free.
//!
//! # State
//! `Lock::free` sums the time during which the lock was free, and only grows.
//! # Edges
//! free: `events::take` stores 0 in `Lock::release` -> [`Free::at`] loads it. Carries `Lock::free`.
//! # Invariants
//! I1: an arrival that coincides with an acquisition may count one free interval wrongly; a wait's free time is bounded
//!     by the wait.
//! # Evidence
//! `tests/blame.rs`, `tests/model.rs`.

use crate::counter::add;
use crate::list;
use crate::site::Recorder;
use uncontended_atomic::Ordering::{Acquire, Relaxed};
use uncontended_trace::layout::{Cell, Lock};

/// How long a lock was free, up to a thread's arrival.
#[derive(Debug, Clone, Copy)]
pub struct Free {
    before: u64,
}

impl Free {
    /// At `arrival`, before the thread is in the list.
    pub fn at(recorder: &Recorder, lock: &Lock, arrival: u64) -> Self {
        // EDGE free (acquire): the time that was free before this release, or before the hold if there is none.
        let mut release = lock.release.load(Acquire);
        let mut free = lock.free.load(Acquire);
        for _ in 0..3 {
            // EDGE free (acquire): as above. A release that is the same as before is that of the sum.
            let again = lock.release.load(Acquire);
            if again == release {
                break;
            }
            release = again;
            free = lock.free.load(Acquire);
        }
        let since = match release {
            0 => unstamped(recorder, lock),
            release => Some(release),
        };
        let now = since.map_or(0, |since| arrival.saturating_sub(since));
        Free { before: free.wrapping_add(now) }
    }

    /// How long the lock has been free since then. The caller holds the lock, or adds `now`: how long it has been free
    /// since its last release.
    pub fn since(self, lock: &Lock, now: u64) -> u64 {
        let free = lock.free.load(Relaxed).wrapping_add(now).wrapping_sub(self.before);
        if free as i64 > 0 { free } else { 0 }
    }
}

/// Since when a lock that was released without a timestamp has been free and wanted: then its first waiter only just
/// missed the hold.
fn unstamped(recorder: &Recorder, lock: &Lock) -> Option<u64> {
    let owner = lock.owner.load(Relaxed);
    // Every release of a lock with holders that are counted has a timestamp.
    let is_shared = lock.holders.load(Relaxed) != 0;
    if list::count(lock) < 2 || owner == 0 || is_shared {
        return None;
    }
    let is_free = recorder.arena.at::<Cell>(owner).depth.load(Relaxed) == 0;
    is_free.then(|| list::earliest(recorder, lock)).flatten()
}

/// The lock, free since `since`, is taken at `now`.
pub fn close(lock: &Lock, since: u64, now: u64) {
    add(&lock.free, now.saturating_sub(since));
}
