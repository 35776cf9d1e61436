//! When reports so far are due.
//!
//! # Contract
//! One each time that an interval has passed. Those that were missed are left out. Making them takes at most one part
//! in [`SHARE`] of the time: one that took long puts off the next, for the program may need the CPU.

use std::time::{Duration, Instant};

/// See the contract.
const SHARE: u32 = 10;

/// When the next report so far is due, and the interval.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    next: Option<(Instant, Duration)>,
}

impl Reports {
    /// One each time that `every` has passed since `start`.
    pub(crate) fn new(every: Option<Duration>, start: Instant) -> Self {
        Reports { next: every.map(|every| (start + every, every)) }
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next.map(|(next, _)| next)
    }

    /// Whether one is due.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next().is_some_and(|next| now >= next)
    }

    /// The one that was due has been made between these times.
    pub(crate) fn made(&mut self, began: Instant, ended: Instant) {
        let Some((next, every)) = self.next else { return };
        let rest = ended.saturating_duration_since(began).saturating_mul(SHARE - 1);
        let earliest = ended + rest;
        let missed = earliest.saturating_duration_since(next).as_nanos() / every.as_nanos().max(1);
        let steps = u32::try_from(missed).unwrap_or(u32::MAX).saturating_add(1);
        self.next = Some((next + every.saturating_mul(steps), every));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn a_report_that_takes_long_puts_off_the_next() {
        let start = Instant::now();
        let mut reports = Reports::new(Some(10 * S), start);
        let at = |seconds: u32| start + seconds * S;
        assert!(!reports.is_due(at(9)) && reports.is_due(at(10)));
        reports.made(at(10), at(10));
        assert_eq!(reports.next(), Some(at(20)));
        // It took 5 s, so 45 s of rest follow.
        reports.made(at(20), at(25));
        assert_eq!(reports.next(), Some(at(80)), "not before 70");
        // One that came late keeps the pace.
        reports.made(at(93), at(93));
        assert_eq!(reports.next(), Some(at(100)));
    }

    #[test]
    fn without_an_interval_none_is_due() {
        let mut reports = Reports::new(None, Instant::now());
        reports.made(Instant::now(), Instant::now());
        assert!(reports.next().is_none() && !reports.is_due(Instant::now() + 9 * S));
    }
}
