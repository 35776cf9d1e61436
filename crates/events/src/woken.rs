//! The last wakeups of a condition, a semaphore or a futex, and which of them ended a wait.
//!
//! # Contract
//! A woken thread may run late, while others are woken, or none is: the last wakeup is not always the one that ended
//! its wait. Waiters are woken in the order in which they came ([`ended`]): one that had `ahead` waiters before it was
//! woken by the wakeup that was one more than these needed, or by one of all. Of a semaphore, a thread that takes a
//! token without a wait takes it from a waiter ([`taken`]), which sleeps again behind the others. If too few wakeups
//! are known (waiters before it gave up, or were woken already), or tokens were taken from waiters before it, the last
//! one ended the wait.
//! # State
//! `Lock::recent` has the last [`RECENT`] wakeups while threads waited: `noted` is their number. Of each,
//! `PastHold::began` is how many waiters it may end the wait of (none: a token that was taken), `release` its thread.
//! # Edges
//! wakeup: [`note`] stores `PastHold::ended` -> [`ended`], `passing::divide` load it. Carries the rest of the entry.
//! # Evidence
//! `tests/woken.rs`, `tests/model.rs`; `tests/programs/signals_in_a_row.c`.

use crate::list;
use crate::log::By;
use crate::site::Recorder;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_trace::layout::{Lock, PastHold, RECENT, Recent, units};

/// A wakeup of one waiter.
pub const ONE: u64 = 1;
/// A wakeup of all waiters.
pub const ALL: u64 = u64::MAX >> 1;
/// A token that was taken.
const TAKEN: u64 = 0;

/// Notes that the calling thread, with this stack, is about to end the waits of at most `waiters` threads at `now`.
pub(crate) fn note(
    recorder: &Recorder,
    lock: &'static Lock,
    stack: u32,
    (now, waiters): (u64, u64),
) {
    let made = || recorder.arena.allocate(units(size_of::<Recent>()));
    let Some(unit) = list::published(&lock.recent, made) else { return };
    let recent: &Recent = recorder.arena.at(unit);
    let place = recent.noted.fetch_add(1, Relaxed) as usize % RECENT;
    let PastHold { began, ended, site, release } = &recent.holds[place];
    began.store(waiters, Relaxed);
    site.store(stack, Relaxed);
    release.store(recorder.arena.unit_of(recorder.thread), Relaxed);
    // EDGE wakeup (release): the rest of the entry.
    ended.store(now, Release);
}

/// Notes that the calling thread has taken a token of a semaphore, at `now` and without a wait, while others waited.
#[cold]
pub(crate) fn taken(recorder: &Recorder, lock: &'static Lock, now: u64) {
    note(recorder, lock, 0, (now, TAKEN));
}

/// The wakeup that ended the calling thread's wait from `call` to `now`, when `ahead` threads waited already.
pub fn ended(recorder: &Recorder, lock: &Lock, (call, now): (u64, u64), ahead: u32) -> By {
    let last = By::waker(lock, (call, now));
    let unit = lock.recent.load(Relaxed);
    if last.at == 0 || unit == 0 {
        return last;
    }
    let recent: &Recent = recorder.arena.at(unit);
    let noted = recent.noted.load(Relaxed);
    let oldest = noted.saturating_sub(RECENT as u64);
    let entry = |number: u64| &recent.holds[number as usize % RECENT];
    // EDGE wakeup (acquire): the rest of the entry.
    let at = |number: u64| entry(number).ended.load(Acquire);
    let since = (oldest..noted).rev().take_while(|&number| at(number) > call).last();
    let first = match since {
        None => return last,
        Some(first) if first == oldest && oldest > 0 => return last, // There were more.
        Some(first) => first,
    };
    let ahead = u64::from(ahead);
    let (mut woken, mut by) = (0u64, None::<By>);
    for number in (first..noted).filter(|&number| at(number) <= now) {
        let PastHold { began, ended, site, release } = entry(number);
        woken = match began.load(Relaxed) {
            TAKEN if ahead > 0 => return last, // Their order is no longer that in which they came.
            TAKEN => woken.saturating_sub(1),
            waiters => waiters.saturating_add(woken),
        };
        by = by.filter(|_| woken > ahead).or_else(|| {
            let [unit, stack] = [release, site].map(|word| word.load(Relaxed));
            (woken > ahead).then(|| By { at: ended.load(Relaxed), unit, stack })
        });
    }
    by.unwrap_or(last)
}
