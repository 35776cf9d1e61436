//! The wakeups of an image's futexes: what a thread waited for that was woken by one which had itself been asleep.
//!
//! # Contract
//! The locks of some libraries (parking_lot, say) let each waiter sleep on a word of its own. A release wakes one
//! waiter, whose release wakes the next: the last of three waited mostly for the thread that released the lock to the
//! first. So a wait is divided ([`divide`]) by a chain of wakeups: each is to blame for the time since its thread was
//! woken.
//! # State
//! `Process::wakes` has the last [`WAKES`] wakeups of futexes with waiters; `Thread::came_by` is the number of the one
//! that ended the thread's last wait, plus one.
//! # Edges
//! wake: [`note`] stores `Wake::at` -> [`divide`] loads it. Carries the rest of the entry.
//! # Evidence
//! `tests/wakes.rs`, `tests/model.rs`.

use crate::list;
use crate::site::Recorder;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_trace::layout::{Lock, WAKES, Wake, Wakes, units};

/// A wakeup, as it was read.
#[derive(Clone, Copy)]
struct Seen {
    number: u64,
    at: u64,
    site: u32,
    /// The number of the wakeup that ended its thread's last wait, plus one.
    before: u64,
}

/// Notes that the calling thread, with this stack, is about to wake threads at `now`.
pub(crate) fn note(recorder: &Recorder, lock: &Lock, stack: u32, now: u64) {
    let made = || recorder.arena.allocate(units(size_of::<Wakes>()));
    let Some(unit) = list::published(&recorder.process.wakes, made) else { return };
    let wakes: &Wakes = recorder.arena.at(unit);
    let Wake { at, before, lock: of, site } =
        &wakes.of[wakes.noted.fetch_add(1, Relaxed) as usize % WAKES];
    at.store(0, Relaxed);
    before.store(recorder.thread.came_by.load(Relaxed), Relaxed);
    of.store(recorder.arena.unit_of(lock), Relaxed);
    site.store(stack, Relaxed);
    // EDGE wake (release): the rest of the entry.
    at.store(now, Release);
}

/// Divides the time from `call` to `now`, when the wakeup at `ended` ended the calling thread's wait for `lock`: `book`
/// gets each wakeup's stack and time. What was before the oldest wakeup that is known stays unknown.
pub(crate) fn divide(
    recorder: &Recorder,
    lock: &Lock,
    (call, now): (u64, u64),
    ended: u64,
    mut book: impl FnMut(u32, u64),
) {
    let unit = recorder.process.wakes.load(Relaxed);
    if unit == 0 {
        return;
    }
    let wakes: &Wakes = recorder.arena.at(unit);
    let noted = wakes.noted.load(Relaxed);
    let numbers = noted.saturating_sub(WAKES as u64)..noted;
    let read = |number: u64| {
        let Wake { at, before, lock, site } = &wakes.of[number as usize % WAKES];
        // EDGE wake (acquire): the rest of the entry.
        let at = at.load(Acquire);
        let seen = Seen { number, at, site: site.load(Relaxed), before: before.load(Relaxed) };
        (seen, lock.load(Relaxed))
    };
    let own = recorder.arena.unit_of(lock);
    let ended_it = |&(seen, lock): &(Seen, u32)| lock == own && seen.at == ended;
    let Some((mut by, _)) = numbers.clone().rev().map(read).find(ended_it) else { return };
    recorder.thread.came_by.store(by.number + 1, Relaxed);
    let mut until = now;
    loop {
        let before = by.before.checked_sub(1).filter(|&number| number < by.number);
        let earlier = before.filter(|number| numbers.contains(number)).map(|number| read(number).0);
        match earlier {
            Some(earlier) if call < earlier.at && earlier.at <= until => {
                book(by.site, until - earlier.at);
                (by, until) = (earlier, earlier.at);
            }
            // Its thread was woken before the call, or never.
            _ if before.is_none() || earlier.is_some() || read(numbers.start).0.at <= call => {
                return book(by.site, until - call);
            }
            _ => return,
        }
    }
}
