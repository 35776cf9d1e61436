//! A map that is read often and written seldom: readers look up in a snapshot that a writer replaces as a whole.
//!
//! Readers are pinned for one look-up, whatever it touches. Writers take a lock among themselves, copy the map, change
//! the copy, and retire the old one with what it weighs. The program prints which readers keep garbage back.

use std::collections::BTreeMap;
use std::sync::Mutex;
use uncontended_reclaim::Limits;
use uncontended_reclaim::epoch::{Collector, Shared};

/// Names and numbers.
pub(crate) struct Directory {
    pub(crate) entries: Shared<BTreeMap<String, u64>>,
    pub(crate) collector: Collector,
    writing: Mutex<()>,
}

impl Directory {
    pub(crate) fn new(limits: Limits) -> Directory {
        let collector = Collector::with_limits(limits);
        let entries = Shared::new(Box::new(BTreeMap::new()), &collector);
        Directory { entries, collector, writing: Mutex::new(()) }
    }

    pub(crate) fn find(&self, name: &str) -> Option<u64> {
        let guard = self.collector.pin();
        self.entries.load(&guard)?.get(name).copied()
    }

    pub(crate) fn insert(&self, name: &str, number: u64) {
        let _alone = self.writing.lock().expect("no writer panics");
        let guard = self.collector.pin();
        let mut entries = self.entries.load(&guard).cloned().unwrap_or_default();
        let weight = entries.keys().map(|name| name.capacity() + size_of::<(String, u64)>()).sum();
        entries.insert(name.to_owned(), number);
        self.entries.replace_weighing(Some(Box::new(entries)), weight, &guard);
    }
}

fn main() {
    let directory = Directory::new(Limits::DEFAULT);
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let mut last = 0;
                while last < 1_000 {
                    let found = directory.find("count").unwrap_or(0);
                    assert!(found >= last, "a reader never goes back");
                    last = found;
                }
            });
        }
        (1..=1_000).for_each(|number| directory.insert("count", number));
        // A reader that forgets to unpin keeps what is retired from then on.
        let guard = directory.collector.pin();
        directory.insert("count", 1_001);
        directory.collector.collect().expect("membarrier is not refused");
        let stalled = directory.collector.stalled();
        stalled.iter().for_each(|stalled| println!("{stalled}"));
        assert_eq!(stalled.len(), 1);
        drop(guard);
    });
    let collected = directory.collector.collect().expect("membarrier is not refused");
    println!("then all of it is freed; {} wait", collected.waits);
    assert_eq!(collected.waits.objects, 0);
}
