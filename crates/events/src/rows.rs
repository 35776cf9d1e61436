//! The rows of one thread, found by the address and kind of their locks.
//!
//! # Contract
//! [`Rows::find`] finds the row that [`Rows::remember`] kept; [`Rows::find_last`] finds it again at once, or that which
//! [`Rows::remember_last`] kept. Signal
//! handlers may interrupt each at any step. One that interrupts a lookup may do all of this; one that interrupts
//! `remember` must leave the rows alone, or never return to it. The owner gives the memory, a [`Table`] at a time, and
//! keeps it until the thread is done.
//! # State
//! `table`: open-addressed, from keys to rows, at most half full. `recent`: the slot found last, or `Table::last`.
//! # Edges
//! row: `set` stores a slot's key -> `row_of` loads it, in a signal handler or in the code that it interrupted. Carries
//! the row.
//! # Invariants
//! I1: a slot's row is set before its key, and stays in the record for good: a handler that runs between two steps, and
//!     may never return, leaves no key without a row. (A handler that jumps out while the row of a later generation of
//!     the lock is stored may leave a mixture of the two, both of them rows of this thread.)
//! I2: one word refers to a table, and no table moves or shrinks: whatever a handler does, a lookup that it interrupted
//!     ends in the table where it began. `recent` is one word for the same reason.
//! I3: a slot is counted before it gets its key, so at least half of a table's slots have none, and every lookup ends.
//! I4: a row is found last only since the last change of the table, or by a lookup that the change interrupted.
//! # Evidence
//! `tests/rows.rs`; `tests/interrupted.rs` (a handler between any two steps); `tests/programs`: `signal_many_locks.c`,
//! `stepped.c`.

use crate::site::Row;
use uncontended_atomic::{AtomicU64, Ordering::*, Own, compiler_fence};

/// The rows of one thread.
#[derive(Debug)]
pub struct Rows {
    table: Own<&'static Table>,
    recent: Own<Option<&'static Slot>>,
}

/// Memory for rows: as many as half its slots.
#[derive(Debug)]
pub struct Table {
    /// Their number is a power of two.
    slots: &'static [Slot],
    /// The number of slots with a key, or about to get one.
    used: Own<usize>,
    /// The row that was found last and is in no slot.
    last: Slot,
    /// The previous table: a signal handler may grow the table while its thread still searches that one.
    older: Option<&'static Table>,
}

/// A place for one row.
#[derive(Debug)]
#[repr(C)]
pub struct Slot {
    /// 0 if the slot is free.
    key: AtomicU64,
    row: Own<Option<Row>>,
}

/// One address may hold locks of several kinds in turn. A program's addresses do not use the highest byte.
#[inline(always)]
pub fn key(address: u64, kind: u8) -> u64 {
    address ^ u64::from(kind) << 56
}

/// The bits of a key mixed, the upper ones the best. Locks lie at multiples of four.
#[inline(always)]
pub(crate) fn hash(key: u64) -> u64 {
    (key >> 2).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Rows {
    /// No rows, with room for those of `table`.
    pub fn new(table: &'static Table) -> Self {
        Rows { table: Own::new(table), recent: Own::new(None) }
    }

    /// The row of `key` if it is the one found last: an unlock mostly follows the lock of the same mutex.
    #[inline(always)]
    pub fn find_last(&self, key: u64) -> Option<Row> {
        self.recent.get()?.row_of(key)
    }

    /// The row of `key`, if there is one.
    #[inline(never)]
    pub fn find(&self, key: u64) -> Option<Row> {
        for slot in self.table.get().probes(key) {
            if let Some(row) = slot.row_of(key) {
                self.recent.set(Some(slot));
                return Some(row);
            }
            if slot.is_free() {
                break;
            }
        }
        None
    }

    /// Keeps the row of `key`, replacing an earlier one. A table that is half full is replaced by one that `make`
    /// makes: empty, of this many slots, after this older one. Without one, the row is not kept; nor is that of key 0,
    /// which no address of a program has.
    pub fn remember(
        &self,
        key: u64,
        row: Row,
        make: impl FnOnce(usize, Option<&'static Table>) -> Option<&'static Table>,
    ) {
        if key == 0 {
            return;
        }
        self.recent.set(None);
        let mut table = self.table.get();
        if !table.has_room() {
            let Some(larger) = make(2 * table.slots.len(), Some(table)) else { return };
            table.copy_to(larger);
            self.table.set(larger);
            table = larger;
        }
        table.put(key, row);
    }

    /// Keeps the row of `key` for [`Rows::find_last`] alone, until another one is found.
    pub fn remember_last(&self, key: u64, row: Row) {
        debug_assert_ne!(key, 0, "no address of a program");
        let last = &self.table.get().last;
        last.key.store(0, Relaxed);
        compiler_fence(SeqCst); // Keeps the store of no key before that of the row, as a handler sees them (I1).
        last.set(key, row);
        self.recent.set(Some(last));
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.table.get().used.get()
    }

    /// The newest table.
    pub fn table(&self) -> &'static Table {
        self.table.get()
    }
}

impl Table {
    /// An empty table, whose slots are free and whose number is a power of two.
    pub fn new(slots: &'static [Slot], older: Option<&'static Table>) -> Self {
        debug_assert!(slots.len().is_power_of_two());
        Table { slots, used: Own::new(0), last: Slot::default(), older }
    }

    /// The slots.
    pub fn slots(&self) -> &'static [Slot] {
        self.slots
    }

    /// The table before it.
    pub fn older(&self) -> Option<&'static Table> {
        self.older
    }

    fn has_room(&self) -> bool {
        (self.used.get() + 1) * 2 <= self.slots.len()
    }

    /// The slots in which a key is looked for, up to a free one (I3).
    #[inline(always)]
    fn probes(&self, key: u64) -> impl Iterator<Item = &'static Slot> {
        let (slots, last) = (self.slots, self.slots.len().wrapping_sub(1));
        let first = (hash(key) >> 32) as usize;
        (first..).map_while(move |at| slots.get(at & last))
    }

    fn copy_to(&self, larger: &Table) {
        for slot in self.slots.iter().filter(|slot| !slot.is_free()) {
            let key = slot.key.load(Relaxed);
            if let Some(row) = slot.row_of(key) {
                larger.put(key, row);
            }
        }
    }

    /// Puts `row` into a table that has room.
    fn put(&self, key: u64, row: Row) {
        debug_assert!(key != 0 && self.has_room(), "I3");
        for slot in self.probes(key) {
            let there = slot.key.load(Relaxed);
            if there == 0 || there == key {
                if there == 0 {
                    self.used.set(self.used.get() + 1); // I3
                }
                slot.set(key, row);
                return;
            }
        }
    }
}

impl Default for Slot {
    /// A free slot.
    fn default() -> Self {
        Slot { key: AtomicU64::new(0), row: Own::new(None) }
    }
}

impl Slot {
    /// Whether it has no key.
    pub fn is_free(&self) -> bool {
        self.key.load(Relaxed) == 0
    }

    /// Keeps a row, in a slot that has no key, or this one.
    fn set(&self, key: u64, row: Row) {
        self.row.set(Some(row));
        // EDGE row (release): the row, for handlers (I1).
        compiler_fence(Release);
        self.key.store(key, Relaxed);
    }

    /// The row, if the slot holds `key`.
    #[inline(always)]
    fn row_of(&self, key: u64) -> Option<Row> {
        if self.key.load(Relaxed) != key {
            return None;
        }
        // EDGE row (acquire): the row.
        compiler_fence(Acquire);
        debug_assert!(key == 0 || self.row.get().is_some(), "I1");
        self.row.get()
    }
}
