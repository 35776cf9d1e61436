//! The list of a lock's waiters, as others read it.
//!
//! # Contract
//! `waiters` states what the list holds; its writers are there.
//! # Evidence
//! `tests/places.rs`, `tests/model.rs`.

use crate::site::Recorder;
use uncontended_atomic::{AtomicU32, Ordering::*};
use uncontended_trace::layout::{Lock, Process, Thread, WaiterList, attention, sharing, units};

/// The content of a slot whose thread has yet to say on which side it waits.
pub(crate) const CLAIMED: u64 = 1;

/// The number of threads that wait for the lock.
#[inline(always)]
pub fn count(lock: &Lock) -> u32 {
    lock.attention.load(Relaxed) & attention::WAITERS
}

/// Whether threads of several processes may wait for the lock.
pub(crate) fn is_joined(lock: &Lock) -> bool {
    matches!(lock.sharing.load(Relaxed), sharing::JOINED | sharing::JOINED_IN_PART)
}

/// Whether a thread in the list of the lock wants to share it.
pub(crate) fn shared(recorder: &Recorder, lock: &Lock) -> bool {
    existing(recorder, lock).is_some_and(|list| list.shared.load(Relaxed) != 0)
}

/// The waiter list of a lock, if a thread has waited for it.
#[inline(always)]
pub(crate) fn existing(recorder: &Recorder, lock: &Lock) -> Option<&'static WaiterList> {
    let unit = lock.waiters.load(Relaxed);
    (unit != 0).then(|| recorder.arena.at(unit))
}

/// The waiter list of a lock, made when it is first needed; `None` if there is no room.
pub fn list_of(recorder: &Recorder, lock: &'static Lock) -> Option<&'static WaiterList> {
    let made = || recorder.arena.allocate(units(size_of::<WaiterList>()));
    let unit = published(&lock.waiters, made)?;
    Some(recorder.arena.at(unit))
}

/// The unit in `word`, made when it is first needed; none if there is no room. Fresh units are zero, as an empty list
/// is, so only the number has to be published.
pub(crate) fn published(word: &AtomicU32, made: impl Fn() -> Option<u32>) -> Option<u32> {
    let unit = word.load(Relaxed);
    if unit != 0 {
        return Some(unit);
    }
    let fresh = made()?;
    Some(word.compare_exchange(0, fresh, Relaxed, Relaxed).err().unwrap_or(fresh))
}

/// Since when the lock, released at `release` (0 if the release has no timestamp), has been free and wanted at `now`;
/// none if it had no waiter then.
pub fn opened(recorder: &Recorder, lock: &Lock, release: u64, now: u64) -> Option<u64> {
    let earliest = earliest(recorder, lock);
    let opened = earliest.filter(|&arrival| arrival <= now).map(|arrival| arrival.max(release));
    // Hardly ever set; a load does not take the lock's cache line from other CPUs.
    if lock.open_since.load(Relaxed) == 0 {
        return opened;
    }
    match lock.open_since.swap(0, Relaxed) {
        0 => opened,
        since => Some(opened.map_or(since, |opened| opened.min(since)).max(release)),
    }
}

/// The earliest arrival of a waiter.
pub(crate) fn earliest(recorder: &Recorder, lock: &Lock) -> Option<u64> {
    let list = existing(recorder, lock)?;
    let placed =
        list.arrivals.iter().map(|slot| slot.load(Relaxed)).filter(|&arrival| arrival > CLAIMED);
    let earliest = placed.min();
    // EDGE unplaced (acquire): of the threads counted, what they wait for, and of those that gave up, that they do not.
    if list.unplaced.load(Acquire) == 0 {
        return earliest;
    }
    earliest.into_iter().chain(unplaced(recorder, lock)).min()
}

/// The arrivals of the threads that wait for the lock without a slot. Looks at each thread of the process, or of all if
/// they share the lock.
pub(crate) fn unplaced<'r>(
    recorder: &'r Recorder,
    lock: &'r Lock,
) -> impl Iterator<Item = u64> + use<'r> {
    let arena = recorder.arena;
    let lock_unit = arena.unit_of(lock);
    let processes = arena.list::<Process>(&arena.header().processes).map(|(_, process)| process);
    let is_user = move |of: &&Process| is_joined(lock) || std::ptr::eq(*of, recorder.process);
    let threads = processes.filter(is_user).flat_map(move |of| arena.list::<Thread>(&of.threads));
    // EDGE since (acquire): the arrival of this wait. SeqCst: `blame` (its I2).
    let waiting = threads.filter(move |(_, thread)| thread.waits_for.load(SeqCst) == lock_unit);
    waiting.map(|(_, thread)| thread.waits_since.load(Relaxed))
}
