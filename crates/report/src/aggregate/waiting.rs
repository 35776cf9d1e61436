//! How long threads waited for one lock within its holds, from the threads' logs.
//!
//! # Contract
//! Each instant of a wait belongs to the threads that had the lock then: in equal parts, if it has several permits. The
//! part of a permit whose holder is not known belongs to no thread.

use uncontended_trace::reader::LoggedRecord;

/// The waiting for one lock up to each time, as the part of one of its holders.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// At least this many threads have the lock while others wait.
    permits: u64,
    steps: Vec<Step>,
}

/// What is so from a time on.
#[derive(Debug, Clone, Copy)]
struct Step {
    at: u64,
    waiters: u64,
    holders: u64,
    /// The waiting before, summed.
    sum: u64,
}

impl Step {
    fn until(self, time: u64, permits: u64) -> u64 {
        let waiting = self.waiters.saturating_mul(time - self.at) / self.holders.max(permits);
        self.sum.saturating_add(waiting)
    }
}

impl Waiting {
    /// Of these waits and holds of one lock with at least this many permits, each from its beginning to its end.
    pub(super) fn new(waits: &[(u64, u64)], holds: &[(u64, u64)], permits: u64) -> Self {
        let ends = |of: &[(u64, u64)], waits: bool| -> Vec<(u64, bool, bool)> {
            let both = |&(began, ended): &(u64, u64)| [(began, true, waits), (ended, false, waits)];
            of.iter().flat_map(both).collect()
        };
        let mut ends = [ends(waits, true), ends(holds, false)].concat();
        // At one time, beginnings come first.
        ends.sort_unstable_by_key(|&(at, begins, _)| (at, !begins));
        let mut steps: Vec<Step> = Vec::with_capacity(ends.len());
        for (at, begins, waits) in ends {
            let first = Step { at, waiters: 0, holders: 0, sum: 0 };
            let last = steps.last().copied().unwrap_or(first);
            let mut step = Step { at, sum: last.until(at, permits), ..last };
            let number = if waits { &mut step.waiters } else { &mut step.holders };
            *number = if begins { *number + 1 } else { number.saturating_sub(1) };
            steps.push(step);
        }
        Waiting { permits, steps }
    }

    fn until(&self, time: u64) -> u64 {
        let before = self.steps.partition_point(|step| step.at <= time);
        before.checked_sub(1).map_or(0, |last| self.steps[last].until(time, self.permits))
    }

    /// A holder's part of the waiting from one time to another, at all of which it had the lock.
    pub(super) fn within(&self, from: u64, to: u64) -> u64 {
        self.until(to).saturating_sub(self.until(from))
    }
}

/// From the beginning to the end of a wait or hold.
pub(super) fn times(logged: &LoggedRecord) -> (u64, u64) {
    (logged.began, logged.ended.max(logged.began))
}

#[cfg(test)]
mod tests {
    use super::Waiting;

    #[test]
    fn an_instant_belongs_to_all_who_wait_and_in_equal_parts_to_the_holders() {
        let waiting = Waiting::new(&[(0, 100), (50, 100), (200, 300)], &[(0, 120)], 1);
        assert_eq!((waiting.within(0, 100), waiting.within(60, 250)), (150, 130));
        assert_eq!(waiting.within(100, 200), 0);
        // One has a permit from 0 to 90, others have the second one from 0 to 30 and from 30 to 60.
        let waiting = Waiting::new(&[(0, 90), (10, 30)], &[(0, 90), (0, 30), (30, 60)], 1);
        assert_eq!(waiting.within(0, 90), 15 + 10 + 15 + 30);
        assert_eq!((waiting.within(0, 30), waiting.within(30, 60)), (25, 15));
    }
}
