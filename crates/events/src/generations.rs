//! Generations of locks: an address is a lock from its init, or its first use, to its destruction or the next init.
//!
//! # Contract
//! [`enter`] finds the current generation of an address, or begins one. [`created`] begins a new one, [`destroyed`]
//! ends it. Of a lock that processes share, a generation is the same for all of them ([`sharing`]).
//! # State
//! The image's index: levels of slots with lock numbers, found by address. A slot may hold a dead lock, which the next
//! generation replaces.
//! # Edges
//! slot: `install` stores a lock's number -> `search` and `at_place` load it. Carries the lock.
//! # Invariants
//! I1: a slot once taken keeps its address: only a later generation of the same address replaces its lock, so a search
//!     may end at the first empty slot of a level.
//! # Evidence
//! `tests/places.rs`, `tests/model.rs`; `tests/programs/address_reuse.c`.

use crate::sharing::{self, Sharing, meant};
use crate::site::{Recorder, Row, Site};
use uncontended_atomic::{AtomicU32, Ordering::*};
use uncontended_trace::layout::sharing::{ALIAS, APART, JOINED, PRIVATE};
use uncontended_trace::layout::{
    Cell, LEVELS, Lock, Place, attention::DEAD, level_slots, word_units,
};

/// Slots of one level in which an address may be found.
const PROBES: usize = 16;

/// The calling thread's row for the current generation of `key`; `None` if there is no room.
pub fn enter(at: impl Site, key: u64, kind: u8) -> Option<Row> {
    enter_shared(at, key, kind, || Sharing::Private)
}

/// The same of a lock that processes may share: `sharing` finds out if this one has not met it yet.
pub fn enter_shared(
    at: impl Site,
    key: u64,
    kind: u8,
    sharing: impl FnOnce() -> Sharing,
) -> Option<Row> {
    let recorder = at.recorder();
    let lock = match known(recorder, key, kind) {
        Some(lock) => lock,
        None => begin(recorder, (key, kind), 0, sharing())?,
    };
    if lock.first_taken.load(Relaxed) == 0 {
        lock.first_taken.store(at.stack(), Relaxed);
    }
    debug_assert_eq!(lock.kind.load(Relaxed), kind);
    let (unit, cell) = recorder.arena.make::<Cell>()?;
    cell.lock.store(recorder.arena.unit_of(lock), Relaxed);
    recorder.arena.push::<Cell>(&recorder.thread.cells, unit);
    Some(Row { cell, lock })
}

/// The current generation of `key`, if there is one.
pub fn known(recorder: &Recorder, key: u64, kind: u8) -> Option<&'static Lock> {
    let entry = search(recorder, key)?;
    is_current(recorder, entry, kind).then(|| meant(recorder, entry))
}

/// Whether an entry of the index is that of a lock of `kind` which has not ended.
fn is_current(recorder: &Recorder, entry: &'static Lock, kind: u8) -> bool {
    entry.kind.load(Relaxed) == kind && !is_dead(entry) && !is_dead(meant(recorder, entry))
}

/// Whether this generation has ended.
#[inline(always)]
pub fn is_dead(lock: &Lock) -> bool {
    lock.attention.load(Relaxed) & DEAD != 0
}

/// The program creates a lock at `key`. The thread must be marked as recording.
pub fn created(at: impl Site, key: u64, kind: u8) {
    created_shared(at, key, kind, Sharing::Private);
}

/// The same of a lock that processes may share.
pub fn created_shared(at: impl Site, key: u64, kind: u8, sharing: Sharing) {
    begin(at.recorder(), (key, kind), at.stack(), sharing);
}

/// The program destroys the lock at `key`.
pub fn destroyed(recorder: &Recorder, key: u64) {
    if let Some(entry) = search(recorder, key) {
        entry.attention.fetch_or(DEAD, Relaxed);
        meant(recorder, entry).attention.fetch_or(DEAD, Relaxed);
    }
}

/// What the index holds for `key`: a lock, or an alias of one.
fn search(recorder: &Recorder, key: u64) -> Option<&'static Lock> {
    for level in 0..LEVELS {
        let table = recorder.process.index[level].load(Relaxed);
        if table == 0 {
            return None;
        }
        for slot in probes(recorder, table, level, key) {
            // EDGE slot (acquire): the lock behind the number.
            let unit = slot.load(Acquire);
            if unit == 0 {
                return None; // I1
            }
            let lock: &Lock = recorder.arena.at(unit);
            if lock.address.load(Relaxed) == key {
                return Some(lock);
            }
        }
    }
    None
}

fn probes(
    recorder: &Recorder,
    table: u32,
    level: usize,
    key: u64,
) -> impl Iterator<Item = &'static AtomicU32> {
    let slots = recorder.arena.words(table, level_slots(level));
    let first = ((key >> 2).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize;
    (0..PROBES).filter_map(move |probe| slots.get((first + probe) % slots.len().max(1)))
}

/// Begins a generation at `key` and ends the one before.
fn begin(
    recorder: &Recorder,
    (key, kind): (u64, u8),
    created: u32,
    sharing: Sharing,
) -> Option<&'static Lock> {
    let place = match sharing {
        Sharing::At(location) => sharing::place(recorder, location, kind),
        _ => None,
    };
    let Some(place) = place else {
        let state = if sharing == Sharing::Private { PRIVATE } else { APART };
        let (unit, _) = made(recorder, (key, kind), created, state)?;
        let placed = claim(recorder, (key, kind), created, unit)?;
        if placed == unit {
            recorder.arena.push::<Lock>(&recorder.process.locks, unit);
        }
        return Some(meant(recorder, recorder.arena.at(placed)));
    };
    let lock = at_place(recorder, (key, kind), created, place)?;
    let (unit, alias) = made(recorder, (key, kind), created, ALIAS)?;
    alias.owner.store(lock, Relaxed);
    let placed = claim(recorder, (key, kind), created, unit)?;
    Some(meant(recorder, recorder.arena.at(placed)))
}

/// The number of the lock at a place, for all processes.
fn at_place(
    recorder: &Recorder,
    (key, kind): (u64, u8),
    created: u32,
    place: &'static Place,
) -> Option<u32> {
    // EDGE slot (acquire): the lock behind the number.
    let there = place.lock.load(Acquire);
    if there != 0 && created == 0 && is_current(recorder, recorder.arena.at(there), kind) {
        return Some(there);
    }
    let (unit, _) = made(recorder, (key, kind), created, JOINED)?;
    let placed = install(recorder, &place.lock, (kind, created), unit, |_| true)?;
    if placed == unit {
        recorder.arena.push::<Lock>(&recorder.process.locks, unit);
    }
    Some(placed)
}

fn made(
    recorder: &Recorder,
    (key, kind): (u64, u8),
    created: u32,
    sharing: u8,
) -> Option<(u32, &'static Lock)> {
    let (unit, lock) = recorder.arena.make::<Lock>()?;
    lock.address.store(key, Relaxed);
    lock.kind.store(kind, Relaxed);
    lock.created.store(created, Relaxed);
    lock.sharing.store(sharing, Relaxed);
    Some((unit, lock))
}

/// Puts the lock `fresh` into the index. Returns the number in its slot afterwards: another thread's, if both began the
/// same generation; `None` if the index is full.
fn claim(recorder: &Recorder, (key, kind): (u64, u8), created: u32, fresh: u32) -> Option<u32> {
    let lock: &Lock = recorder.arena.at(fresh);
    debug_assert_eq!(lock.address.load(Relaxed), key, "I1");
    let is_ours = |before: &Lock| before.address.load(Relaxed) == key;
    for level in 0..LEVELS {
        let table = level_table(recorder, level)?;
        for slot in probes(recorder, table, level, key) {
            if let Some(placed) = install(recorder, slot, (kind, created), fresh, is_ours) {
                return Some(placed);
            }
        }
    }
    recorder.arena.header().dropped_room.fetch_add(1, Relaxed);
    None
}

/// Puts the lock `fresh` into a slot if that is free, or has a generation that ends now. Returns the number in the slot
/// afterwards; none if the slot `is_ours` not.
fn install(
    recorder: &Recorder,
    slot: &AtomicU32,
    (kind, created): (u8, u32),
    fresh: u32,
    is_ours: impl Fn(&Lock) -> bool,
) -> Option<u32> {
    let lock: &Lock = recorder.arena.at(fresh);
    // EDGE slot (acquire): the lock behind the number.
    let mut there = slot.load(Acquire);
    loop {
        if there != 0 {
            let before: &'static Lock = recorder.arena.at(there);
            if !is_ours(before) {
                return None;
            }
            if created == 0 && is_current(recorder, before, kind) {
                return Some(there);
            }
            before.attention.fetch_or(DEAD, Relaxed);
            lock.generation.store(before.generation.load(Relaxed) + 1, Relaxed);
        }
        // EDGE slot (acq-rel): the fresh lock, or the one that another thread put there.
        match slot.compare_exchange(there, fresh, AcqRel, Acquire) {
            Ok(_) => return Some(fresh),
            Err(other) => there = other,
        }
    }
}

/// The table of a level, made when it is first needed; `None` if there is no room.
fn level_table(recorder: &Recorder, level: usize) -> Option<u32> {
    let place = &recorder.process.index[level];
    let table = place.load(Relaxed);
    if table != 0 {
        return Some(table);
    }
    let fresh = recorder.arena.allocate(word_units(level_slots(level)))?;
    // A fresh table is zero, as every unit is before its first use, so only its number has to be published.
    match place.compare_exchange(0, fresh, Relaxed, Relaxed) {
        Ok(_) => Some(fresh),
        Err(other) => Some(other),
    }
}
