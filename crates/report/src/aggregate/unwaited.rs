//! Holds that began with a wait, and for which no thread waited then: the last ones of queues.
//!
//! # Contract
//! The record has only their beginnings. Without them a replay, in which threads may come in another turn, lets two
//! threads have a lock at once, and is too short. [`unwaited`] takes each to be as long as the median of the holds of
//! its code at its lock, but no longer than until the lock is seen to be taken again, or the thread to do something
//! else.
//! # Evidence
//! The tests below; `tests/programs/phases.c`, mode `queue`.

use crate::path::{Held, SAME_NS};
use std::collections::{BTreeMap, BTreeSet};

/// A wait after which a thread had a lock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Had {
    pub(super) lock: usize,
    pub(super) thread: usize,
    pub(super) code: usize,
    pub(super) at: u64,
    /// When its next wait began; `u64::MAX` if there was none.
    pub(super) next: u64,
}

/// The holds after the waits `had` that are not in `held`.
pub(super) fn unwaited(had: &[Had], held: &[Held]) -> Vec<Held> {
    let mut taken: BTreeSet<(usize, u64)> = BTreeSet::new();
    let mut known: BTreeSet<(usize, usize, u64)> = BTreeSet::new();
    let mut begun: BTreeSet<(usize, u64)> = BTreeSet::new();
    let mut lengths: BTreeMap<(usize, usize), Vec<u64>> = BTreeMap::new();
    for hold in held {
        taken.insert((hold.lock, hold.began));
        begun.insert((hold.thread, hold.began));
        known.insert((hold.lock, hold.thread, hold.began));
        let of = lengths.entry((hold.lock, hold.code)).or_default();
        of.push(hold.ended.saturating_sub(hold.began));
    }
    let is_held = |&Had { lock, thread, at, .. }: &Had| {
        let [from, to] = [at.saturating_sub(SAME_NS), at.saturating_add(SAME_NS)];
        known.range((lock, thread, from)..=(lock, thread, to)).next().is_some()
    };
    taken.extend(had.iter().map(|had| (had.lock, had.at)));
    lengths.values_mut().for_each(|of| of.sort_unstable());
    let after = |of: &BTreeSet<(usize, u64)>, number: usize, at: u64| {
        of.range((number, at + 1)..=(number, u64::MAX)).next().map_or(u64::MAX, |&(_, at)| at)
    };
    let of = |&Had { lock, thread, code, at: began, next }: &Had| {
        let lengths = lengths.get(&(lock, code))?;
        let ended = (began + lengths[lengths.len() / 2]).min(next);
        let ended = ended.min(after(&taken, lock, began)).min(after(&begun, thread, began));
        (began < ended).then_some(Held { lock, thread, code, began, ended })
    };
    had.iter().filter(|had| !is_held(had)).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::{Had, unwaited};
    use crate::path::Held;

    fn held(thread: usize, began: u64, ended: u64) -> Held {
        Held { lock: 0, thread, code: 7, began, ended }
    }

    fn had(thread: usize, at: u64) -> Had {
        Had { lock: 0, thread, code: 7, at, next: u64::MAX }
    }

    /// The holds after these waits that are not among holds of 10, 20 and 90 µs.
    fn after(had: &[Had]) -> Vec<(usize, u64, u64)> {
        let held = [held(1, 0, 20_000), held(2, 100_000, 110_000), held(1, 300_000, 390_000)];
        unwaited(had, &held).iter().map(|hold| (hold.thread, hold.began, hold.ended)).collect()
    }

    #[test]
    fn the_last_of_a_queue_holds_as_long_as_others_do() {
        assert_eq!(after(&[had(2, 110_500)]), [(2, 110_500, 130_500)]);
        let other = Had { code: 8, ..had(2, 110_500) };
        assert_eq!(after(&[other]), [], "of other code, nothing is known");
    }

    #[test]
    fn it_ends_before_the_lock_is_taken_again() {
        assert_eq!(after(&[had(2, 290_000)]), [(2, 290_000, 300_000)]);
        assert_eq!(
            after(&[had(2, 200_000), had(3, 205_000)]),
            [(2, 200_000, 205_000), (3, 205_000, 225_000)]
        );
        let next = Had { next: 203_000, ..had(2, 200_000) };
        assert_eq!(after(&[next]), [(2, 200_000, 203_000)]);
    }

    #[test]
    fn a_hold_that_is_known_is_none_of_them() {
        assert_eq!(after(&[had(1, 300_400)]), []);
    }
}
