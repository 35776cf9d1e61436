//! The holds of a semaphore of several permits that is made of futexes (C++20's), from its waits and what ended them.
//!
//! # Contract
//! Such a semaphore is taken and posted without a call unless threads wait. So a hold is known only if its thread
//! waited for it, and it lasts until the thread's next post that ended a wait. A thread that waits again before that
//! held nothing: another had taken the permit. The holders of permits that were taken without waiting are not known.
//! # Evidence
//! The tests below; `crates/cli/tests/semaphores.rs`.

use std::collections::{BTreeSet, HashMap};
use uncontended_trace::layout::logged;
use uncontended_trace::reader::{LoggedRecord, ThreadRecord};

/// It has several permits if threads had it at once for at least this share of the time that it was held.
const OFTEN: f64 = 0.1;

/// The known holds of a semaphore.
#[derive(Debug)]
pub(super) struct Taken {
    holds: Vec<LoggedRecord>,
    /// As many threads as had it at once.
    permits: u64,
}

impl Taken {
    /// Of the semaphore with this number; none if one thread has it at a time.
    pub(super) fn new<'t>(
        lock: u32,
        threads: impl Iterator<Item = &'t ThreadRecord> + Clone,
    ) -> Option<Taken> {
        let of = |wait: &&LoggedRecord| wait.lock == lock;
        let mut posts = HashMap::<u32, BTreeSet<u64>>::new();
        for wait in threads.clone().flat_map(|thread| thread.log.waits()).filter(of) {
            posts.entry(wait.by).or_default().insert(wait.by_at);
        }
        let mut holds = Vec::new();
        for thread in threads {
            let Some(posts) = posts.get(&thread.unit) else { continue };
            let waits: Vec<_> = thread.log.waits().filter(of).collect();
            holds.extend(own_holds(&waits, posts));
        }
        let (permits, at_once) = at_once(&holds);
        (at_once >= OFTEN).then_some(Taken { holds, permits })
    }

    /// The holds, in no order, and the number of permits as far as seen.
    pub(super) fn holds(&self) -> (&[LoggedRecord], u64) {
        (&self.holds, self.permits)
    }
}

/// The holds of a thread with these waits, in their order, and posts.
fn own_holds(waits: &[&LoggedRecord], posts: &BTreeSet<u64>) -> Vec<LoggedRecord> {
    let hold = |(nth, wait): (usize, &&LoggedRecord)| {
        let again = waits.get(nth + 1).map_or(u64::MAX, |next| next.began);
        let ended = *posts.range(wait.ended + 1..again.max(wait.ended + 1)).next()?;
        Some(LoggedRecord { what: logged::HOLD, began: wait.ended, ended, ..**wait })
    };
    waits.iter().enumerate().filter_map(hold).collect()
}

/// How many of the holds lasted at one time at most, and the share of the time held in which several did.
fn at_once(holds: &[LoggedRecord]) -> (u64, f64) {
    let ends = holds.iter().flat_map(|hold| [(hold.began, true), (hold.ended, false)]);
    let mut ends: Vec<(u64, bool)> = ends.collect();
    ends.sort_unstable();
    let (mut held, mut by_several) = (0u64, 0u64);
    let (mut holders, mut most, mut last) = (0u64, 0, 0);
    for (at, begins) in ends {
        held += if holders > 0 { at - last } else { 0 };
        by_several += if holders > 1 { at - last } else { 0 };
        holders = if begins { holders + 1 } else { holders - 1 };
        (most, last) = (most.max(holders), at);
    }
    (most, by_several as f64 / held.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(began: u64, ended: u64) -> LoggedRecord {
        LoggedRecord { began, ended, ..LoggedRecord::default() }
    }

    #[test]
    fn a_hold_lasts_from_a_wait_to_the_next_post_unless_the_thread_waits_again() {
        let waits = [entry(0, 10), entry(12, 20), entry(50, 60)];
        let posts = BTreeSet::from([35, 45]);
        let holds = own_holds(&waits.each_ref(), &posts);
        // It found none at 10, took a permit at 20, another without waiting, and has the last one still.
        assert_eq!(holds, [LoggedRecord { what: logged::HOLD, ..entry(20, 35) }]);
    }

    #[test]
    fn permits_are_those_held_at_once() {
        let holds = [entry(0, 10), entry(5, 20), entry(15, 30), entry(40, 50)];
        assert_eq!(at_once(&holds), (2, 0.25));
        assert_eq!(at_once(&[]), (0, 0.0));
    }
}
