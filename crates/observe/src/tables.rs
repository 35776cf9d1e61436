//! The memory of a thread's rows.
//!
//! # Contract
//! [`first`] and [`fresh`] make a table, [`free`] ends it and those before it. Where the kernel may not be asked, there
//! are tables of one size for some threads, and no larger ones.
//! # Invariants
//! I1: a table is followed by its slots in one mapping of [`table_bytes`], which stays until it is freed. Zeroed memory
//!     is free slots.
//! # Evidence
//! `tests/programs`: `many_keys.c`, `sandbox_kills.c`.

use crate::kernel;
use crate::pieces::Pieces;
use crate::sandbox;
use std::ptr::NonNull;
use uncontended_events::rows::{Slot, Table};

/// Slots of a thread's first table.
const FIRST_SLOTS: usize = 256;
/// As many as a thread makes that keeps all rows that it may.
const SPARE_SLOTS: usize = 4096;

static FIRST: Pieces = Pieces::of(table_bytes(FIRST_SLOTS));
static SPARE: Pieces = Pieces::of(table_bytes(SPARE_SLOTS));

/// Gets memory for when the kernel may not be asked for any.
pub(crate) fn provide() {
    SPARE.provide(|_| ());
}

// SAFETY: the compiler checks the value: with a key of 0, a slot is free (I1).
const _: Slot = unsafe { std::mem::zeroed() };

const fn table_bytes(slots: usize) -> usize {
    size_of::<Table>() + slots * size_of::<Slot>()
}

/// A thread's first table.
pub(crate) fn first() -> Option<&'static Table> {
    match sandbox::is_filtered() {
        false => Some(table(FIRST.get(|_| ())?, FIRST_SLOTS, None)),
        true => fresh(FIRST_SLOTS, None),
    }
}

/// A table of at least that many slots.
pub(crate) fn fresh(slots: usize, older: Option<&'static Table>) -> Option<&'static Table> {
    let (memory, slots) = match sandbox::is_filtered() {
        false => (kernel::private_memory(table_bytes(slots)), slots),
        true if slots > SPARE_SLOTS => return None,
        true => (SPARE.get(|_| ()), SPARE_SLOTS),
    };
    Some(table(memory?, slots, older))
}

/// A table in fresh memory for that many slots.
fn table(memory: NonNull<u8>, slots: usize, older: Option<&'static Table>) -> &'static Table {
    let memory = memory.cast::<Table>();
    // SAFETY: within the mapping (I1).
    let first = unsafe { memory.add(1) }.cast::<Slot>();
    // SAFETY: zeroed memory of that size (M1), which is free slots and stays (I1).
    let slots = unsafe { std::slice::from_raw_parts(first.as_ptr(), slots) };
    // SAFETY: fresh memory before the slots (M1, I1).
    unsafe { memory.write(Table::new(slots, older)) };
    // SAFETY: just written, and it stays (I1).
    unsafe { memory.as_ref() }
}

/// Frees a table and all its predecessors.
///
/// # Safety
/// No lookup uses any of them.
pub(crate) unsafe fn free(newest: &'static Table) {
    let mut next = Some(newest);
    while let Some(table) = next {
        next = table.older();
        let (slots, memory) = (table.slots().len(), NonNull::from(table).cast());
        match (slots, sandbox::is_filtered()) {
            // SAFETY: a piece of that size (I1), unused by the contract.
            (FIRST_SLOTS, _) => unsafe { FIRST.give(memory) },
            // SAFETY: a mapping of ours (M1) of that size (I1), unused by the contract.
            (_, false) => unsafe { kernel::unmap(memory, table_bytes(slots)) },
            // SAFETY: a piece of that size (I1), unused by the contract.
            (SPARE_SLOTS, true) => unsafe { SPARE.give(memory) },
            _ => {} // The kernel may not be asked.
        }
    }
}
