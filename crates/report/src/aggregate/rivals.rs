//! Locks that may take the place of one that sets the pace.
//!
//! # Contract
//! Threads that no longer wait at one lock may meet at another, at which they never met before, because the first one
//! let them through one by one. How long its holds were is then not in the record, unless it has all holds.
//! [`Rivals::of`] names the locks that may be such: those that most of the first one's threads took at least half as
//! often, while most of these holds are not known.
//! # Evidence
//! `tests/programs/two_stages.c`.

use super::locks::Rows;
use crate::run::{Kind, Lock};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use uncontended_trace::reader::{ProcessRecord, Record};
use uncontended_trace::setup::Holds;

/// At most this many are named.
const MOST: usize = 5;

/// How often each thread took which locks of a process.
#[derive(Debug, Default)]
pub(super) struct Rivals {
    /// By row and thread; empty if all holds are in the record.
    taken: HashMap<usize, HashMap<usize, u64>>,
}

impl Rivals {
    pub(super) fn new(record: &Record<'_>, image: &ProcessRecord, rows: &Rows) -> Rivals {
        let mut taken: HashMap<usize, HashMap<usize, u64>> = HashMap::new();
        if record.holds != Holds::Waited {
            return Rivals { taken };
        }
        let places: HashMap<u32, usize> = rows.units.iter().copied().zip(0..).collect();
        for (thread, of) in image.threads.iter().enumerate() {
            for &cell in &of.cells {
                let Some(&row) = places.get(&cell.lock) else { continue };
                let times = taken.entry(row).or_default().entry(thread).or_default();
                *times = times.saturating_add(record.cell(cell).acquisitions);
            }
        }
        Rivals { taken }
    }

    /// The rows of `locks`, which are those of the process, that may take the place of these, the most taken first.
    pub(super) fn of(&self, these: &HashSet<usize>, locks: &[Lock]) -> Vec<usize> {
        let mut threads: HashMap<usize, u64> = HashMap::new();
        for (&thread, &times) in these.iter().filter_map(|row| self.taken.get(row)).flatten() {
            let most = threads.entry(thread).or_default();
            *most = times.max(*most);
        }
        threads.retain(|_, times| *times > 0);
        let is_rival = |row: usize| {
            let Some(taken) = self.taken.get(&row) else { return false };
            let as_often = threads.iter().filter(|&(thread, times)| {
                taken.get(thread).is_some_and(|own| own.saturating_mul(2) >= *times)
            });
            let count = as_often.count();
            count >= 2 && 2 * count > threads.len()
        };
        let unknown = locks.iter().enumerate().filter(|(_, lock)| is_unknown(lock));
        let rows = unknown.map(|(row, _)| row).filter(|row| !these.contains(row));
        let mut rows: Vec<usize> = rows.filter(|&row| is_rival(row)).collect();
        rows.sort_by_key(|&row| (Reverse(locks[row].acquisitions), row));
        rows.truncate(MOST);
        rows
    }
}

/// Whether it is a lock that one thread has at a time, most of whose holds are not known.
fn is_unknown(lock: &Lock) -> bool {
    let is_one =
        matches!(lock.kind, Kind::Mutex | Kind::Spin | Kind::Annotated | Kind::RwlockWrite);
    let known = lock.hold_ns.as_ref().map_or(0, |hold| hold.count);
    is_one && known < lock.acquisitions / 2
}
