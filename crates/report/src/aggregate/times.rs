//! Times of one kind (waits, idle intervals or holds) of one lock, merged from its threads.

use super::distribution::{Bucket, distribution};
use crate::run::Distribution;
use std::collections::BTreeMap;

/// One of the longest times, with its note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Longest<N> {
    /// How long.
    pub(super) ns: u64,
    /// Its note.
    pub(super) note: N,
}

/// Times merged from several threads.
#[derive(Debug, Clone)]
pub(super) struct Times<N> {
    total_ns: u64,
    /// Counts by the bucket's low edge, with its high edge.
    buckets: BTreeMap<u64, (u64, u64)>,
    longest: Vec<Longest<N>>,
}

impl<N: Copy> Times<N> {
    pub(super) fn new() -> Self {
        Times { total_ns: 0, buckets: BTreeMap::new(), longest: Vec::new() }
    }

    /// Adds one thread's times.
    pub(super) fn add(
        &mut self,
        total_ns: u64,
        buckets: impl Iterator<Item = Bucket>,
        longest: impl Iterator<Item = Longest<N>>,
    ) {
        self.total_ns = self.total_ns.saturating_add(total_ns);
        for bucket in buckets.filter(|bucket| bucket.count > 0) {
            let entry = self.buckets.entry(bucket.low).or_insert((bucket.high, 0));
            entry.1 = entry.1.saturating_add(bucket.count);
        }
        self.longest.extend(longest.filter(|longest| longest.ns > 0));
        self.longest.sort_by_key(|longest| std::cmp::Reverse(longest.ns));
        self.longest.truncate(4);
    }

    /// The longest of all, longest first, at most four.
    pub(super) fn longest(&self) -> &[Longest<N>] {
        &self.longest
    }

    /// Their sum.
    pub(super) fn total_ns(&self) -> u64 {
        self.total_ns
    }

    /// The distribution, or nothing if there are no times.
    pub(super) fn distribution(&self) -> Option<Distribution> {
        let buckets: Vec<Bucket> =
            self.buckets.iter().map(|(&low, &(high, count))| Bucket { low, high, count }).collect();
        let worst: Vec<u64> = self.longest.iter().map(|longest| longest.ns).collect();
        distribution(&buckets, self.total_ns, &worst)
    }
}
