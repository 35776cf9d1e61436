//! Sums over locks without entries of their own: those of all threads joined.

use super::{CellRecord, Lists, LockRecord, ThreadRecord};
use crate::layout::{Lock, Thread, UNIT, Unit, WAITED, logged};
use std::collections::HashMap;
use std::mem::offset_of;

impl Lists<'_> {
    /// Adds the sums of `threads` to `locks`: one for each kind and place, whose number all threads' sums of it get.
    pub(super) fn join_sums(&self, threads: &mut [ThreadRecord], locks: &mut Vec<LockRecord>) {
        let (mut joined, mut sums) = (HashMap::new(), HashMap::new());
        for thread in &*threads {
            let head = thread.unit as usize * UNIT + offset_of!(Thread, summed);
            let of_thread = self.list(self.view.u32(head), offset_of!(Lock, next));
            let of_thread = of_thread.filter(|&at| self.view.is_summed((at / UNIT) as Unit));
            for lock in of_thread.map(|at| self.view.lock(at)) {
                let unit = lock.unit;
                let place = *sums.entry((lock.kind, lock.first_taken)).or_insert(locks.len());
                match locks.get_mut(place) {
                    Some(sum) => sum.waiting.extend(lock.waiting),
                    None => locks.push(LockRecord { owner: 0, ..lock }),
                }
                joined.insert(unit, locks[place].unit);
            }
        }
        let number = |unit: &mut Unit| *unit = joined.get(unit).copied().unwrap_or(*unit);
        for thread in threads.iter_mut().filter(|_| !joined.is_empty()) {
            thread.cells.iter_mut().for_each(|cell| number(&mut cell.lock));
            thread.wants.iter_mut().for_each(|wants| number(&mut wants.lock));
            let waits = thread.log.entries.iter_mut().filter(|entry| entry.what != logged::SPAN);
            waits.for_each(|entry| number(&mut entry.lock));
        }
    }
}

/// The part of a sum's cell that means something: nothing that concerns holders.
pub(super) fn known(cell: CellRecord) -> CellRecord {
    let CellRecord { acquisitions, blocked, timed_out, try_failed, inherited, .. } = cell;
    let CellRecord { slept_known, slept, wait, mut caused, .. } = cell;
    caused.retain(|entry| entry.passed_to == WAITED);
    CellRecord {
        acquisitions,
        blocked,
        timed_out,
        try_failed,
        inherited,
        slept_known,
        slept,
        wait,
        caused,
        ..CellRecord::default()
    }
}
