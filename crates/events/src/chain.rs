//! Chains: what the holder of a lock waited for itself, meanwhile.
//!
//! # Contract
//! At a release that threads wait for, a holder leaves with the lock when it held it and, for the parts in which it
//! waited for another lock, which code held that one ([`passed_on`], [`leave`]). The next thread to get the lock copies
//! what fell into its wait ([`was_blocked`]), and passes that on in turn: of a chain of any length, each thread is to
//! blame for what only it did. So it is with a read-write lock: of its readers, the last one to leave passes on what
//! it waited for. A thread that returns to a mutex from a condition, or whose time runs out, knows for which holds it
//! waited ([`waited_for`]); of those before a deadline, only the last one. Of a long wait, or a hold with many waits,
//! the newest [`CHAIN_PARTS`] parts are kept; the rest is the waiting thread's own.
//! # Invariants
//! I1: only its own thread uses a thread's chain. Only the holder uses that of a lock, before the unlock or after the
//!     lock. Readers may do so at once: then a part may be lost, or be mixed of two.
//! I2: the parts of a chain are in the order of time, and none overlaps another, as far as one thread writes them:
//!     [`push`] adds only what is later than the parts there. So a thread never passes on more than it waited.
//! # Evidence
//! `tests/chain.rs`, `tests/shared.rs`; `tests/programs`: `blame_convoy.c`.

use crate::list::{self, CLAIMED};
use crate::site::Recorder;
use uncontended_atomic::{AtomicU32, Ordering::Relaxed};
use uncontended_trace::layout::{self, CHAIN_PARTS, FURTHER, Lock, WaiterList, units};

/// A part of a hold, or of the time in which a thread waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Part {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Stack of the hold's acquisition.
    pub(crate) by: u32,
}

/// The chain in the unit of `word`, if it has one.
fn chain(recorder: &Recorder, word: &AtomicU32) -> Option<&'static layout::Chain> {
    let unit = word.load(Relaxed);
    (unit != 0).then(|| recorder.arena.at(unit))
}

/// The same, made when it is first needed; none if there is no room.
fn made(recorder: &Recorder, word: &AtomicU32) -> Option<&'static layout::Chain> {
    if word.load(Relaxed) == 0 {
        let unit = recorder.arena.allocate_if_room(units(size_of::<layout::Chain>()))?;
        word.store(unit, Relaxed);
    }
    chain(recorder, word)
}

/// Its parts that ended after `since`, the oldest first.
fn parts(chain: Option<&'static layout::Chain>, since: u64) -> impl Iterator<Item = Part> {
    let of = chain.into_iter().flat_map(|chain| {
        let noted = chain.noted.load(Relaxed);
        (noted.saturating_sub(CHAIN_PARTS as u64)..noted).map(|number| {
            let part = &chain.parts[number as usize % CHAIN_PARTS];
            let [from, to] = [&part.from, &part.to].map(|at| at.load(Relaxed));
            Part { from, to, by: part.by.load(Relaxed) }
        })
    });
    of.skip_while(move |part| part.to <= since)
}

/// When its newest part ended; 0 if it has none.
fn ended(chain: &layout::Chain) -> u64 {
    let newest = (chain.noted.load(Relaxed) as usize).wrapping_sub(1) % CHAIN_PARTS;
    chain.parts[newest].to.load(Relaxed)
}

/// Adds what of a part is later than the newest one, if there is any (I2).
fn push(chain: &layout::Chain, part: Part) {
    let part = Part { from: part.from.max(ended(chain)), ..part };
    if part.from >= part.to {
        return;
    }
    let noted = chain.noted.load(Relaxed);
    let place = &chain.parts[noted as usize % CHAIN_PARTS];
    place.from.store(part.from, Relaxed);
    place.to.store(part.to, Relaxed);
    place.by.store(part.by, Relaxed);
    chain.noted.store(noted + 1, Relaxed);
}

/// Keeps who held the lock that the calling thread has got during its wait since `arrival`.
pub(crate) fn was_blocked(recorder: &Recorder, lock: &Lock, arrival: u64) {
    let Some(list) = list::existing(recorder, lock) else { return };
    let left = chain(recorder, &list.chain);
    let mut held = parts(left, arrival).peekable();
    if held.peek().is_none() {
        return;
    }
    waited_for(recorder, held.map(|part| Part { from: part.from.max(arrival), ..part }));
}

/// Keeps the holds that the calling thread has waited for, the oldest first.
pub(crate) fn waited_for(recorder: &Recorder, holds: impl IntoIterator<Item = Part>) {
    let Some(own) = made(recorder, &recorder.thread.chain) else { return };
    holds.into_iter().for_each(|part| push(own, part));
}

/// What one hold passes on of its waiters' time: to the first hold that it waited for itself, by the stack of its
/// acquisition, and whether to further ones ([`further`]); what is left is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PassedOn {
    pub(crate) to: u32,
    pub(crate) wait: u64,
    pub(crate) has_further: bool,
}

/// What the calling thread's hold that has just ended passes on to further holds than the first.
pub(crate) fn further(recorder: &Recorder) -> impl Iterator<Item = (u32, u64)> {
    let own = chain(recorder, &recorder.thread.chain).into_iter();
    let all = own.flat_map(|own| &own.further);
    all.map(|part| (part.to.load(Relaxed), part.wait.load(Relaxed))).filter(|&(_, wait)| wait > 0)
}

/// Leaves the calling thread's hold with the lock whose list this is (I1). Returns what it passes on. It began at
/// `began`, if that is known.
#[inline(always)]
pub(crate) fn passed_on(
    recorder: &Recorder,
    list: &WaiterList,
    began: u64,
    hold: Part,
) -> PassedOn {
    let Some(left) = made(recorder, &list.chain) else { return PassedOn::default() };
    match meanwhile(recorder, began) {
        Some(own) => {
            leave_divided(left, parts(Some(own), began), hold);
            divided(own, Part { from: began, ..hold }, |part| cost(list, part))
        }
        None => {
            push(left, hold);
            PassedOn::default()
        }
    }
}

/// Leaves holds with a read-write lock, the oldest first; the last one is the calling thread's, which began at `began`.
pub(crate) fn leave<'a>(
    recorder: &Recorder,
    lock: &Lock,
    earlier: impl Iterator<Item = &'a Part>,
    (began, own): (u64, Part),
) {
    let Some(list) = list::existing(recorder, lock) else { return };
    let Some(left) = made(recorder, &list.chain) else { return };
    earlier.for_each(|part| push(left, *part));
    leave_divided(left, parts(meanwhile(recorder, began), began), own);
}

/// The chain of the calling thread, if it waited for others since `began`.
#[inline(always)]
pub(crate) fn meanwhile(recorder: &Recorder, began: u64) -> Option<&'static layout::Chain> {
    chain(recorder, &recorder.thread.chain).filter(|own| ended(own) > began)
}

/// What the waiters of a list waited in a part of a hold.
fn cost(list: &WaiterList, part: Part) -> u64 {
    let arrivals = list.arrivals.iter().map(|slot| slot.load(Relaxed));
    let waits = arrivals.filter(|&arrival| arrival > CLAIMED);
    waits.fold(0, |sum: u64, arrival| {
        sum.wrapping_add(part.to.saturating_sub(arrival.max(part.from)))
    })
}

/// Adds a hold to a lock's chain, with the holds in its place for which its thread waited meanwhile.
#[cold]
fn leave_divided(left: &layout::Chain, meanwhile: impl Iterator<Item = Part>, hold: Part) {
    for part in meanwhile {
        push(left, Part { to: part.from, ..hold });
        push(left, Part { from: part.from.max(hold.from), ..part });
    }
    push(left, hold);
}

/// What a hold of the calling thread passes on, during which it waited for the holds of its own chain: `cost` is what
/// a part of it cost the waiters.
#[cold]
pub(crate) fn divided(
    own: &'static layout::Chain,
    hold: Part,
    cost: impl Fn(Part) -> u64,
) -> PassedOn {
    let mut sums = [(0u32, 0u64); 1 + FURTHER];
    for part in parts(Some(own), hold.from) {
        let wait = cost(Part { from: part.from.max(hold.from), ..part });
        let place = sums.iter_mut().find(|sum| sum.1 == 0 || sum.0 == part.by);
        if let Some(place) = place.filter(|_| wait > 0) {
            *place = (part.by, place.1.wrapping_add(wait));
        }
    }
    let [(to, wait), others @ ..] = sums;
    for (place, (to, wait)) in own.further.iter().zip(others) {
        place.to.store(to, Relaxed);
        place.wait.store(wait, Relaxed);
    }
    PassedOn { to, wait, has_further: others[0].1 > 0 }
}
