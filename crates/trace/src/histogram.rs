//! Log-linear buckets for times in ticks, as few as a stated error allows.
//!
//! # Contract
//! [`FINE`] (waits, idles): four buckets an octave from 2^6 to 2^40 ticks, so a bucket's width is at most a quarter of
//! its lower edge. [`COARSE`] (holds): two an octave from 2^5 to 2^33 ticks, width at most half of the lower edge.
//! Times below the first octave share one bucket; times beyond the last edge fall into the last one. Totals and the
//! longest times are kept exactly next to the buckets, so neither is distorted.
//! # Evidence
//! The tests below compare [`Scale::bucket`] with [`Scale::low`] at every edge.

/// A way to divide times into buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// The power of two below which all times share bucket 0.
    first_octave: u32,
    /// Buckets per octave, as a power of two.
    parts: u32,
    /// The number of buckets.
    pub buckets: usize,
}

/// For waits and idle intervals.
pub const FINE: Scale = Scale { first_octave: 6, parts: 2, buckets: 1 + 4 * 34 };
/// For holds: every lock of every thread has such buckets.
pub const COARSE: Scale = Scale { first_octave: 5, parts: 1, buckets: 1 + 2 * 28 };

impl Scale {
    /// The bucket of a time.
    #[inline(always)]
    pub const fn bucket(self, ticks: u64) -> usize {
        if ticks >> self.first_octave == 0 {
            return 0;
        }
        let octave = 63 - ticks.leading_zeros();
        let part = (ticks >> (octave - self.parts)) & ((1 << self.parts) - 1);
        let bucket = 1 + (((octave - self.first_octave) as usize) << self.parts) + part as usize;
        if bucket < self.buckets { bucket } else { self.buckets - 1 }
    }

    /// The shortest time in a bucket; for `buckets`, the edge after the last.
    pub const fn low(self, bucket: usize) -> u64 {
        let Some(above) = bucket.checked_sub(1) else { return 0 };
        let octave = self.first_octave + (above >> self.parts) as u32;
        let part = (above & ((1 << self.parts) - 1)) as u64;
        (1 << octave) + (part << (octave - self.parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edge_begins_its_bucket() {
        for scale in [FINE, COARSE] {
            for bucket in 0..scale.buckets {
                assert_eq!(scale.bucket(scale.low(bucket)), bucket);
                assert!(scale.low(bucket) < scale.low(bucket + 1));
                assert_eq!(scale.bucket(scale.low(bucket + 1) - 1), bucket);
            }
            assert_eq!(scale.bucket(u64::MAX), scale.buckets - 1);
        }
    }

    #[test]
    fn buckets_are_as_narrow_as_stated() {
        for (scale, share) in [(FINE, 4), (COARSE, 2)] {
            for bucket in 1..scale.buckets {
                let (low, high) = (scale.low(bucket), scale.low(bucket + 1));
                assert!((high - low) * share <= low, "{bucket}");
            }
        }
        assert_eq!(FINE.low(FINE.buckets), 1 << 40);
        assert_eq!(COARSE.low(COARSE.buckets), 1 << 33);
    }
}
