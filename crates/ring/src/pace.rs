//! Pacing: a consumer that catches up with its producer backs off briefly.
//!
//! # Contract
//! A consumer that polls again as soon as it has popped what it saw takes the cache lines of `tail` and of the newest
//! values from the producer after every few values. Both sides then wait for lines to move back and forth, and the
//! stream runs at a fraction of its speed. So in the middle of a stream, and only there, a check that finds little is
//! followed by a short pause and a second check. The pause is bounded, so `pop` stays wait-free, and it never changes
//! what is reported.
//!
//! A stream is recognised by its last few checks: each found more than one value and fewer than a quarter of the ring,
//! and hardly any found none. Single values and short bursts are never delayed.

use uncontended_atomic::spin_for_ns;

/// This many checks in a row that find little make a stream.
const STREAM: u32 = 8;
/// This many checks in a row that find nothing end it.
const END: u32 = 4;
/// The pause: long enough for a producer to fill a few cache lines.
const PAUSE_NS: u32 = 200;

/// What a consumer's last checks found.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    found_little: u32,
    found_nothing: u32,
}

impl Pace {
    /// Records a check that found nothing.
    #[inline]
    pub(crate) fn found_nothing(&mut self) {
        self.found_nothing += 1;
        if self.found_nothing >= END {
            *self = Pace::default();
        }
    }

    /// Records a check that found `count` values. Returns whether to pause before the next one.
    #[inline]
    pub(crate) fn is_too_close(&mut self, count: u64, capacity: u64) -> bool {
        self.found_nothing = 0;
        let is_little = count > 1 && count < capacity / 4;
        self.found_little = if is_little { (self.found_little + 1).min(STREAM) } else { 0 };
        self.found_little == STREAM
    }

    /// Pauses, so that the producer gets ahead.
    #[cold]
    pub(crate) fn pause(&self) {
        spin_for_ns(PAUSE_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last result after checks that found the given numbers of values.
    fn after(pace: &mut Pace, found: &[u64]) -> bool {
        found.iter().fold(false, |_, &count| pace.is_too_close(count, 64))
    }

    #[test]
    fn many_checks_that_find_little_make_a_stream() {
        let mut pace = Pace::default();
        assert!(!after(&mut pace, &[5; STREAM as usize - 1]));
        pace.found_nothing();
        assert!(after(&mut pace, &[5]), "an occasional empty check is part of a stream");
        pace.pause();
        assert!(
            after(&mut pace, &[15]) && !after(&mut pace, &[16]),
            "no pause where there is much"
        );
        assert!(!after(&mut pace, &[5]), "the count starts over");
    }

    #[test]
    fn single_values_and_bursts_are_not_a_stream() {
        let mut pace = Pace::default();
        assert!(!after(&mut pace, &[1; 100]));
        for _ in 0..100 {
            assert!(!after(&mut pace, &[3, 4, 3]));
            (0..END).for_each(|_| pace.found_nothing());
        }
    }
}
