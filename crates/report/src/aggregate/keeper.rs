//! The thread whose holds cause the waiting for a gate.

use super::locks::{Cells, held};
use crate::run::{Keeper, Lock};
use uncontended_trace::layout::kind;
use uncontended_trace::reader::{CellRecord, LockRecord, ProcessRecord, Record};
use uncontended_trace::setup::Holds;

/// The keeper of the row with these cells. Its holds may be of the other side of a read-write lock, which has `other`.
pub(super) fn keeper(
    lock: &Lock,
    cells: &Cells<'_>,
    other: &Cells<'_>,
    record: &Record<'_>,
) -> Option<Keeper> {
    let caused = |cell: &CellRecord| super::sum(held(cell).map(|caused| caused.wait));
    let (thread, cell) = cells.iter().max_by_key(|(_, cell)| caused(cell))?;
    let wait_ns = record.ns(caused(cell));
    let total_ns = lock.wait_ns.as_ref().map_or(0, |wait| wait.total);
    let own = other.iter().filter(|(of, _)| of.unit == thread.unit).map(|(_, cell)| cell);
    let holds = || own.clone().chain([cell]).map(|cell| &cell.hold);
    let longest = holds().flat_map(|hold| &hold.worst).map(|hold| record.ns(hold.ticks)).max();
    let is_known = record.holds != Holds::None;
    Some(Keeper {
        tid: thread.tid,
        wait_ns,
        share: wait_ns as f64 / total_ns.max(wait_ns).max(1) as f64,
        holds: super::sum(held(cell).map(|caused| caused.holds)),
        hold_ns: is_known.then(|| super::sum(holds().map(|hold| record.ns(hold.total)))),
        longest_ns: longest.filter(|_| is_known),
    })
}

/// The row of the other side of a read-write lock.
pub(super) fn other_side(image: &ProcessRecord, side: &LockRecord) -> Option<u32> {
    let other = match side.kind {
        kind::RWLOCK_READ => kind::RWLOCK_WRITE,
        kind::RWLOCK_WRITE => kind::RWLOCK_READ,
        _ => return None,
    };
    let key = |lock: &LockRecord| (lock.kind, lock.address, lock.generation);
    let wanted = (other, side.address, side.generation);
    image.locks.iter().find(|lock| key(lock) == wanted).map(|lock| lock.unit)
}
