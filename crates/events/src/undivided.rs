//! Waits for a read-write lock that ended while others held it: kept until the last of these leaves.
//!
//! # Contract
//! A writer that gives up among readers, or a reader that is let in among others because another waiter gave up, is in
//! no list when the holds that it waited for end. So it leaves its wait here ([`keep`]) for the thread that divides
//! the time ([`take`]). There is room for `layout::UNDIVIDED` such waits at a time.
//! # Invariants
//! I1: a thread that changes the arrival of an entry from 0, or from a time, to [`CLAIMED`] has the entry for itself.
//! I2: no piece of a wait is booked twice. A waiter leaves the list before it keeps its wait; a thread that divides
//!     looks here before it reads the list.
//! # Edges
//! kept: [`keep`] stores the arrival -> [`take`] claims it. Carries the entry, and that the waiter has left the list.
//! told: [`keep`] sets `attention::UNDIVIDED` -> [`take`] takes it back. Carries that there is an entry.
//! given: [`take`] stores 0 -> [`keep`] claims the entry. Carries that it was read.
//! # Evidence
//! `tests/shared.rs`, `tests/model_shared.rs`; `tests/programs/blame_rwlock_timed.c`.

use crate::list::CLAIMED;
use crate::waiters::Side;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_trace::layout::{Lock, Recent, attention};

/// A wait, from `arrival` to `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Undivided {
    pub(crate) side: Side,
    pub(crate) arrival: u64,
    pub(crate) until: u64,
}

/// Keeps a wait of the calling thread, which has left the list. Returns whether there was room.
#[cold]
pub(crate) fn keep(lock: &Lock, list: &Recent, wait: Undivided) -> bool {
    // EDGE given (acquire): it was read. (I1)
    let claimed = list.undivided.iter().find(|entry| {
        let arrival = &entry.arrival;
        arrival.load(Relaxed) == 0 && arrival.compare_exchange(0, CLAIMED, Acquire, Relaxed).is_ok()
    });
    let Some(entry) = claimed else { return false };
    entry.until.store(wait.until, Relaxed);
    entry.shared.store(u64::from(wait.side == Side::Shared), Relaxed);
    // EDGE kept (release): the entry, and that the thread has left the list (I2).
    entry.arrival.store(wait.arrival, Release);
    // EDGE told (release): that there is an entry.
    lock.attention.fetch_or(attention::UNDIVIDED, Release);
    true
}

/// The waits that are to be divided until `now`. Those that went on longer stay for the next division.
pub(crate) fn take(lock: &Lock, list: &Recent, now: u64, mut of: impl FnMut(Undivided)) {
    if lock.attention.load(Relaxed) & attention::UNDIVIDED == 0 {
        return;
    }
    // EDGE told (acquire): the entries that were told of.
    lock.attention.fetch_and(!attention::UNDIVIDED, Acquire);
    for entry in &list.undivided {
        let arrival = entry.arrival.load(Relaxed);
        // EDGE kept (acquire): the entry. (I1)
        let claimed = arrival > CLAIMED
            && entry.arrival.compare_exchange(arrival, CLAIMED, Acquire, Relaxed).is_ok();
        if !claimed {
            continue;
        }
        let until = entry.until.load(Relaxed);
        let side = if entry.shared.load(Relaxed) != 0 { Side::Shared } else { Side::Exclusive };
        of(Undivided { side, arrival, until });
        if until > now {
            // EDGE kept (release), EDGE told (release): the same entry again.
            entry.arrival.store(arrival, Release);
            lock.attention.fetch_or(attention::UNDIVIDED, Release);
        } else {
            // EDGE given (release): it was read.
            entry.arrival.store(0, Release);
        }
    }
}

/// Whether a thread that wanted to share the lock has left its wait here.
pub(crate) fn is_shared(lock: &Lock, list: &Recent) -> bool {
    lock.attention.load(Relaxed) & attention::UNDIVIDED != 0
        && list
            .undivided
            .iter()
            .any(|entry| entry.arrival.load(Relaxed) > CLAIMED && entry.shared.load(Relaxed) != 0)
}
