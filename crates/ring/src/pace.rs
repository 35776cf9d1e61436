//! How a consumer that is faster than its producer keeps out of the producer's way.
//!
//! # Contract
//! A consumer that looks at once again whenever it has popped all it saw takes the line of `tail`, and those of the
//! last values, away from the producer after every few values, and both wait for lines to come and go: such a stream
//! runs at a fraction of its speed. So in the middle of a stream, and only there, a look that finds little is followed
//! by a short pause and a second look. The pause is bounded, so `pop` stays wait-free; nothing is ever reported
//! otherwise than it is.
//!
//! In the middle of a stream means: the last few looks all found some values, more than one and fewer than a quarter of
//! the ring, and hardly any found none. Values that come one by one, and short bursts, are never kept waiting.

use uncontended_atomic::spin_for_ns;

/// So many looks in a row that find little are a stream.
const STREAM: u32 = 8;
/// So many looks in a row that find nothing are its end.
const END: u32 = 4;
/// The pause: in it a producer fills a few lines.
const PAUSE_NS: u32 = 200;

/// What a consumer's last looks found.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    found_little: u32,
    found_nothing: u32,
}

impl Pace {
    /// A look found nothing.
    #[inline]
    pub(crate) fn found_nothing(&mut self) {
        self.found_nothing += 1;
        if self.found_nothing >= END {
            *self = Pace::default();
        }
    }

    /// A look found `count` values: whether to linger before the next.
    #[inline]
    pub(crate) fn is_too_close(&mut self, count: u64, capacity: u64) -> bool {
        self.found_nothing = 0;
        let is_little = count > 1 && count < capacity / 4;
        self.found_little = if is_little { (self.found_little + 1).min(STREAM) } else { 0 };
        self.found_little == STREAM
    }

    /// Lets the producer get ahead.
    #[cold]
    pub(crate) fn linger(&self) {
        spin_for_ns(PAUSE_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `found` looks that found so many values each, after each other, say at last.
    fn after(pace: &mut Pace, found: &[u64]) -> bool {
        found.iter().fold(false, |_, &count| pace.is_too_close(count, 64))
    }

    #[test]
    fn a_stream_is_known_by_many_looks_that_find_little() {
        let mut pace = Pace::default();
        assert!(!after(&mut pace, &[5; STREAM as usize - 1]));
        pace.found_nothing();
        assert!(after(&mut pace, &[5]), "a look in vain now and then is part of it");
        pace.linger();
        assert!(after(&mut pace, &[15]) && !after(&mut pace, &[16]), "no need where there is much");
        assert!(!after(&mut pace, &[5]), "and it begins anew");
    }

    #[test]
    fn single_values_and_bursts_are_no_stream() {
        let mut pace = Pace::default();
        assert!(!after(&mut pace, &[1; 100]));
        for _ in 0..100 {
            assert!(!after(&mut pace, &[3, 4, 3]));
            (0..END).for_each(|_| pace.found_nothing());
        }
    }
}
