//! Rows of one thread, and memory for their tables.

use super::{ROOM, image};
use std::collections::BTreeMap;
use uncontended_events::rows::{self, Rows, Slot, Table};
use uncontended_events::site::Row;
use uncontended_trace::arena::Arena;
use uncontended_trace::layout::kind::MUTEX;

/// Slots of a first table: four rows fit.
pub(crate) const SLOTS: usize = 8;

pub(crate) fn table(slots: usize, older: Option<&'static Table>) -> Option<&'static Table> {
    let slots: Vec<Slot> = std::iter::repeat_with(Slot::default).take(slots).collect();
    Some(Box::leak(Box::new(Table::new(Box::leak(slots.into_boxed_slice()), older))))
}

pub(crate) fn rows() -> &'static Rows {
    Box::leak(Box::new(Rows::new(table(SLOTS, None).unwrap())))
}

/// A record that rows lie in.
#[derive(Clone, Copy)]
pub(crate) struct Record(Arena);

impl Record {
    pub(crate) fn new() -> Self {
        Record(image(ROOM).0)
    }

    /// A row like no other.
    pub(crate) fn row(self) -> Row {
        Row { cell: self.0.make().unwrap().1, lock: self.0.make().unwrap().1 }
    }
}

pub(crate) fn is_same(one: Row, other: Row) -> bool {
    std::ptr::eq(one.cell, other.cell) && std::ptr::eq(one.lock, other.lock)
}

/// The slot in which a table of [`SLOTS`] keeps `key` while it is alone there.
fn first_slot(row: Row, key: u64) -> usize {
    let rows = rows();
    rows.remember(key, row, table);
    rows.table().slots().iter().position(|slot| !slot.is_free()).expect("a row was kept")
}

/// The first `N` keys whose search begins at the last slot of [`SLOTS`], so that it continues at the first.
pub(crate) fn colliding<const N: usize>(record: Record) -> [u64; N] {
    let row = record.row();
    let mut keys = (1..).map(|n| rows::key(40 * n, MUTEX));
    std::array::from_fn(|_| keys.find(|&key| first_slot(row, key) == SLOTS - 1).unwrap())
}

/// Slots with a key.
pub(crate) fn taken(table: &Table) -> usize {
    table.slots().iter().filter(|slot| !slot.is_free()).count()
}

/// Each of these keys has its row and no other.
pub(crate) fn holds(rows: &Rows, kept: &BTreeMap<u64, Row>) {
    for (&key, &row) in kept {
        assert!(rows.find(key).is_some_and(|found| is_same(found, row)), "the row of {key:#x}");
        assert!(rows.find_last(key).is_some_and(|found| is_same(found, row)), "found last");
    }
    assert!(2 * taken(rows.table()) <= rows.table().slots().len(), "at most half full");
}
