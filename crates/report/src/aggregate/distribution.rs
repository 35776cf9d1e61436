//! Percentiles from a histogram whose longest times are known exactly.
//!
//! # Invariants
//! I1: percentiles are in order, and none exceeds the longest time, whatever the record. All times but the longest are
//! at most the shortest of these, which bounds what is interpolated.

use super::sum;
use crate::run::Distribution;

/// One bucket of a histogram: times from `low` up to but not including `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The shortest time in the bucket.
    pub low: u64,
    /// The shortest time above the bucket.
    pub high: u64,
    /// The number of times in it.
    pub count: u64,
}

/// The distribution of the times in `buckets` (ascending) with sum `total` and exact longest times `worst`
/// (descending). Nothing if there are no times.
pub fn distribution(buckets: &[Bucket], total: u64, worst: &[u64]) -> Option<Distribution> {
    let count = sum(buckets.iter().map(|bucket| bucket.count));
    if count == 0 {
        return None;
    }
    let max = worst
        .first()
        .copied()
        .unwrap_or_else(|| last_used(buckets).map_or(0, |bucket| bucket.high.saturating_sub(1)));
    let [p50, p90, p99, p999] =
        [0.5, 0.9, 0.99, 0.999].map(|share| percentile(buckets, count, worst, share).min(max));
    debug_assert!([p50, p90, p99, p999, max].is_sorted(), "I1: {buckets:?} {worst:?}");
    Some(Distribution {
        count,
        total,
        p50,
        p90,
        p99,
        p999,
        max,
        worst: worst.iter().copied().filter(|&time| time > 0).take(4).collect(),
        buckets: buckets
            .iter()
            .filter(|bucket| bucket.count > 0)
            .map(|bucket| (bucket.low, bucket.high, bucket.count))
            .collect(),
    })
}

fn last_used(buckets: &[Bucket]) -> Option<&Bucket> {
    buckets.iter().rev().find(|bucket| bucket.count > 0)
}

/// The time that `share` of all times do not exceed: exact if it is one of the longest; otherwise interpolated evenly
/// within its bucket, but no longer than the shortest of the longest.
fn percentile(buckets: &[Bucket], count: u64, worst: &[u64], share: f64) -> u64 {
    let rank = ((count as f64 * share).ceil() as u64).clamp(1, count);
    if let Some(&exact) =
        usize::try_from(count - rank).ok().and_then(|from_top| worst.get(from_top))
    {
        return exact;
    }
    let shorter = worst.last().copied().unwrap_or(u64::MAX);
    let mut below = 0;
    for bucket in buckets {
        let above = bucket.count.saturating_add(below);
        if bucket.count > 0 && above >= rank {
            let part = ((rank - below) as f64 - 0.5) / bucket.count as f64;
            let width = bucket.high.saturating_sub(bucket.low) as f64;
            return bucket.low.saturating_add((width * part) as u64).min(shorter);
        }
        below = above;
    }
    last_used(buckets).map_or(0, |bucket| bucket.high).min(shorter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octave_quarters() -> Vec<Bucket> {
        let edges: Vec<u64> =
            (0..120).map(|step| (2f64.powf(f64::from(step) / 4.0)) as u64).collect();
        edges
            .windows(2)
            .filter(|edge| edge[0] < edge[1])
            .map(|edge| Bucket { low: edge[0], high: edge[1], count: 0 })
            .collect()
    }

    #[test]
    fn percentiles_are_within_a_bucket_of_the_truth() {
        let mut buckets = octave_quarters();
        let times: Vec<u64> = (1..=100_000).map(|i| i * 37).collect();
        for &time in &times {
            buckets
                .iter_mut()
                .find(|bucket| (bucket.low..bucket.high).contains(&time))
                .unwrap()
                .count += 1;
        }
        let worst: Vec<u64> = times.iter().rev().take(4).copied().collect();
        let found = distribution(&buckets, times.iter().sum(), &worst).unwrap();
        for (found, truth) in
            [(found.p50, 50_000 * 37), (found.p90, 90_000 * 37), (found.p99, 99_000 * 37)]
        {
            let ratio = found as f64 / truth as f64;
            assert!((0.8..1.25).contains(&ratio), "{found} for {truth}");
        }
        assert_eq!((found.count, found.max), (100_000, 3_700_000));
    }

    /// All but the longest are at most the fourth longest, so no percentile below it may exceed it.
    #[test]
    fn percentiles_within_one_bucket_are_in_order() {
        let buckets = [Bucket { low: 64, high: 128, count: 1000 }];
        let found = distribution(&buckets, 70_050, &[120, 70, 70, 70]).unwrap();
        let all = [found.p50, found.p90, found.p99, found.p999, found.max];
        assert_eq!(all, [70, 70, 70, 70, 120]);
    }

    #[test]
    fn one_time_is_all_percentiles_and_none_is_nothing() {
        let buckets = [Bucket { low: 1024, high: 1280, count: 1 }];
        let found = distribution(&buckets, 1030, &[1030]).unwrap();
        assert_eq!((found.p50, found.p999, found.max), (1030, 1030, 1030));
        assert_eq!(distribution(&[], 0, &[]), None);
    }
}
