//! Numbers values from 0, in the order in which they first appear.

use super::super::mix::Mix;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasherDefault;

/// Values and their numbers.
#[derive(Debug, Default)]
pub(super) struct Values(HashMap<i64, u32, BuildHasherDefault<Mix>>);

impl Values {
    /// With room for this many values.
    pub(super) fn with_capacity(count: usize) -> Self {
        Values(HashMap::with_capacity_and_hasher(count, BuildHasherDefault::default()))
    }

    /// The number of `value`, or `next` if it is new.
    pub(super) fn number(&mut self, value: i64, next: usize) -> (u32, bool) {
        match self.0.entry(value) {
            Entry::Occupied(entry) => (*entry.get(), false),
            Entry::Vacant(entry) => (*entry.insert(next as u32), true),
        }
    }
}
