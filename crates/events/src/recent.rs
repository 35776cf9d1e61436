//! The last holds of a mutex that threads left for a condition variable: what their returns waited for.
//!
//! # Contract
//! A thread that waits for a condition is not in the waiter list of the mutex: it has not asked for it yet. So the
//! releases of a mutex with threads away are noted ([`note`]), and a thread that returns divides the time since its
//! signal among the holds noted since then ([`divide`]). Between two noted holds the mutex was free. A thread that runs
//! so late that [`RECENT`] holds came in between is said to wait for its signal until then ([`known_since`]).
//! # Invariants
//! I1: only the holder of the mutex writes or reads its list: a releaser before the unlock, a returner after the
//!     relock. The program's mutex orders them.
//! # Evidence
//! `tests/returns.rs`; `tests/programs/blame_signals.c`.

use crate::blame::Share;
use crate::chain::Part;
use crate::site::Recorder;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_trace::layout::{Lock, PastHold, RECENT, Recent, attention::AWAY, units};

/// The calling thread, which holds the mutex, will wait for a condition and return.
pub(crate) fn leave(recorder: &Recorder, mutex: &Lock) {
    let away = mutex.away.load(Relaxed);
    mutex.away.store(away + 1, Relaxed);
    if away == 0 {
        mutex.attention.fetch_or(AWAY, Relaxed);
    }
    if mutex.recent.load(Relaxed) == 0 {
        let unit = recorder.arena.allocate(units(size_of::<Recent>()));
        mutex.recent.store(unit.unwrap_or(0), Relaxed);
    }
}

/// The calling thread, which holds the mutex, has returned.
pub fn come_back(mutex: &Lock) {
    let away = mutex.away.load(Relaxed);
    mutex.away.store(away.saturating_sub(1), Relaxed);
    if away <= 1 {
        mutex.attention.fetch_and(!AWAY, Relaxed);
    }
}

fn list(recorder: &Recorder, mutex: &Lock) -> Option<&'static Recent> {
    let unit = mutex.recent.load(Relaxed);
    (unit != 0).then(|| recorder.arena.at(unit))
}

/// A hold that ends.
#[derive(Debug, Clone, Copy)]
pub struct Hold {
    /// When it began.
    pub began: u64,
    /// When it ends.
    pub ended: u64,
    /// Stack of its acquisition; 0 if unknown.
    pub site: u32,
    /// Stack of its release; 0 if unknown.
    pub release: u32,
    /// Whether it is counted already among the holds that a thread waited for.
    pub is_counted: bool,
}

/// Notes a hold that ends while threads are away. The calling thread still has the mutex (I1).
#[cold]
pub fn note(recorder: &Recorder, mutex: &Lock, hold: Hold) {
    let Some(list) = list(recorder, mutex) else { return };
    let noted = list.noted.load(Relaxed);
    let place = noted as usize % RECENT;
    let PastHold { began, ended, site, release } = &list.holds[place];
    began.store(hold.began, Relaxed);
    ended.store(hold.ended, Relaxed);
    site.store(hold.site, Relaxed);
    release.store(hold.release, Relaxed);
    let others = list.counted.load(Relaxed) & !(1 << place);
    list.counted.store(others | u64::from(hold.is_counted) << place, Relaxed);
    list.noted.store(noted + 1, Relaxed);
}

/// Since when, after `from`, all holds of a mutex are known that a thread has been away from. The calling thread has
/// the mutex (I1).
pub fn known_since(recorder: &Recorder, mutex: &Lock, from: u64) -> u64 {
    let full = list(recorder, mutex).filter(|list| list.noted.load(Relaxed) > RECENT as u64);
    let oldest = full.map_or(0, |list| {
        let next = list.noted.load(Relaxed) as usize % RECENT;
        list.holds[next].ended.load(Relaxed)
    });
    from.max(oldest)
}

/// The noted holds of which a part fell between these times, the oldest first. The calling thread has the mutex (I1).
pub(crate) fn held(
    recorder: &Recorder,
    mutex: &Lock,
    (from, now): (u64, u64),
) -> impl Iterator<Item = Part> {
    let noted = list(recorder, mutex).map_or(0, |list| list.noted.load(Relaxed));
    let numbers = noted.saturating_sub(RECENT as u64)..noted;
    let holds = list(recorder, mutex)
        .into_iter()
        .flat_map(move |list| numbers.clone().map(|number| &list.holds[number as usize % RECENT]));
    let parts = holds.map(move |hold| {
        let [began, ended] = [&hold.began, &hold.ended].map(|at| at.load(Relaxed));
        let from = if began > 1 { began.max(from) } else { ended };
        Part { from, to: ended.min(now), by: hold.site.load(Relaxed) }
    });
    parts.filter(|part| part.from < part.to)
}

/// Divides the time from `from` until `now`, when the calling thread has the mutex again (I1): `book` gets the share of
/// each hold. Returns how long the mutex was free.
pub fn divide(
    recorder: &Recorder,
    mutex: &Lock,
    (from, now): (u64, u64),
    mut book: impl FnMut(Share),
) -> u64 {
    let Some(list) = list(recorder, mutex) else { return 0 };
    let (mut free, mut until) = (0, now);
    let noted = list.noted.load(Relaxed);
    for number in (noted.saturating_sub(RECENT as u64)..noted).rev() {
        let place = number as usize % RECENT;
        let PastHold { began, ended, site, release } = &list.holds[place];
        let (began, ended) = (began.load(Relaxed), ended.load(Relaxed).min(until));
        free += until - ended.max(from);
        if ended <= from || began <= 1 {
            return free;
        }
        let counted = list.counted.load(Relaxed);
        list.counted.store(counted | 1 << place, Relaxed);
        book(Share {
            site: site.load(Relaxed),
            release: release.load(Relaxed),
            wait: ended.saturating_sub(began.max(from)),
            waits: 1,
            holds: u64::from(counted & 1 << place == 0),
            length: ended.saturating_sub(began),
            ..Share::default()
        });
        until = began.min(until);
        if until <= from {
            return free;
        }
    }
    free
}
