//! Generations of locks: an address is a lock from its init, or its first use, to its destruction or the next init.
//!
//! # Contract
//! [`enter`] finds the current generation of an address, or begins one. [`created`] begins a new one, [`destroyed`]
//! ends it. Of a lock that processes share, a generation is the same for all of them ([`sharing`]). A record has
//! [`OWN_LOCKS`] locks, and an address [`OWN_LIVES`] of them; for the others there are sums ([`summed`]). One of these
//! that a thread waits for still gets a generation of its own, as far as there are [`WANTED_LOCKS`] ([`enter_wanted`]).
//! # State
//! The image's index: levels of slots with lock numbers, found by address. A slot may hold a dead lock, which the next
//! generation replaces. Above the number it has a tag, some bits of the address's hash, so that a search reads the
//! locks of other addresses in one of 2^32 slots only.
//! # Edges
//! slot: `install` stores a lock's number -> `search` and `at_place` load it. Carries the lock.
//! own: [`list`] counts a lock in `Header::own_locks` -> [`own_locks`]. Carries its slot.
//! # Invariants
//! I1: a slot once taken keeps its address: only a later generation of the same address replaces its lock, so a search
//!     may end at the first empty slot of a level.
//! I2: a lock of which some threads keep their part in sums says so (`sharing::PRIVATE_IN_PART`).
//! I3: a thread that finds no room for a lock has read the count of locks before it searched. So either it finds the
//!     entry that another thread makes, or that one's count is at the limit, and it says so (I2).
//! I4: a key is in the filter before its lock is in a slot. A thread that knows of the lock finds its bit, and a search
//!     without one costs a look at 8 KiB that are mostly in the cache.
//! # Evidence
//! `tests/places.rs`, `tests/summed.rs`, `tests/model.rs`; `tests/programs`: `address_reuse.c`, `many_lives.c`,
//! `many_live.c`.

use crate::rows::hash;
use crate::sharing::{self, Sharing, meant};
use crate::site::{Recorder, Row, Site};
use crate::summed;
use std::ops::Range;
use uncontended_atomic::{AtomicU32, AtomicU64, Ordering::*};
use uncontended_trace::layout::sharing::{
    ALIAS, APART, JOINED, JOINED_IN_PART, PRIVATE, PRIVATE_IN_PART,
};
use uncontended_trace::layout::{
    Cell, FILTER_WORDS, LEVELS, Lock, OWN_LIVES, OWN_LOCKS, Place, READERS, Unit,
    attention::{DEAD, MOVED},
    kind, level_slots, wide_units,
};

/// Slots of one level in which an address may be found.
const PROBES: usize = 16;
/// Most locks of a record that have entries of their own, with those that got them because a thread waited for them.
pub const WANTED_LOCKS: u32 = 2 * OWN_LOCKS;
/// Quarters of the record that locks and cells may take: the rest is for threads, sums and waits.
const QUARTERS: u32 = 3;

/// The calling thread's row for the current generation of `key`, or its sum over others where it calls; `None` if there
/// is no room, which is counted.
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
    let own = own_locks(recorder);
    let entry = search(recorder, key);
    let lock = match entry.filter(|entry| is_current(recorder, entry, kind)) {
        Some(entry) => Some(meant(recorder, entry)),
        None => {
            // The kernel would have to be asked about a spinlock each time.
            let is_asked = own < OWN_LOCKS || kind != kind::SPIN;
            let sharing = if is_asked { sharing() } else { Sharing::Private };
            match may_begin(own, entry, sharing) {
                true => begin(recorder, (key, kind), 0, sharing),
                false => {
                    note_sum(recorder, sharing, kind);
                    None
                }
            }
        }
    };
    let row = lock.and_then(|lock| own_row(at, lock));
    row.or_else(|| summed::enter(at, kind))
}

/// The row for a generation of `key` of its own, which the calling thread waits for and has a sum for; `None` if there
/// are too many.
#[cold]
pub fn enter_wanted(at: impl Site, key: u64, kind: u8) -> Option<Row> {
    let recorder = at.recorder();
    let has_room = own_locks(recorder) < WANTED_LOCKS;
    let lock = match known(recorder, key, kind) {
        Some(lock) => lock,
        None if has_room => begin(recorder, (key, kind), 0, Sharing::Private)?,
        None => return None,
    };
    in_part(lock);
    own_row(at, lock)
}

/// How many locks have entries of their own; at least [`WANTED_LOCKS`] once there is no memory for more. Called before
/// the search for a lock that may have none (I3).
fn own_locks(recorder: &Recorder) -> u32 {
    let own = &recorder.arena.header().own_locks;
    // EDGE own (acquire): the locks that were counted are in the index.
    let count = own.load(Acquire);
    if count < WANTED_LOCKS && !recorder.arena.has_free(QUARTERS) {
        // EDGE own (acq-rel): the same.
        return own.fetch_max(WANTED_LOCKS, AcqRel).max(WANTED_LOCKS);
    }
    count
}

/// Most locks that there may be where one is shared like this: whether other processes use one is not known without it.
fn most(sharing: Sharing) -> u32 {
    match sharing {
        Sharing::At(_) => WANTED_LOCKS,
        Sharing::Private | Sharing::Apart => OWN_LOCKS,
    }
}

/// Whether there may be one more generation with `own` locks there, after `entry` at the same address.
fn may_begin(own: u32, entry: Option<&Lock>, sharing: Sharing) -> bool {
    own < most(sharing)
        && entry.is_none_or(|before| before.generation.load(Relaxed) + 1 < OWN_LIVES)
}

/// Notes that threads keep in sums what they do to the lock (I2).
#[cold]
pub fn in_part(lock: &Lock) {
    let (before, after) = match lock.sharing.load(Relaxed) {
        PRIVATE => (PRIVATE, PRIVATE_IN_PART),
        JOINED => (JOINED, JOINED_IN_PART),
        _ => return,
    };
    let _ = lock.sharing.compare_exchange(before, after, Relaxed, Relaxed);
}

/// Notes at the lock of other processes, if there is one, that this one's part of it is in sums (I2).
fn note_sum(recorder: &Recorder, sharing: Sharing, kind: u8) {
    let Sharing::At(location) = sharing else { return };
    let Some(place) = sharing::place(recorder, location, kind) else { return };
    // EDGE slot (acquire): the lock behind the number.
    let found = place.lock.load(Acquire);
    if found != 0 {
        in_part(lock_in(recorder, found));
    }
}

/// A fresh row of the calling thread for `lock`; `None` if there is no room, so that others may have to do without it
/// too.
fn own_row(at: impl Site, lock: &'static Lock) -> Option<Row> {
    let recorder = at.recorder();
    let room = recorder.arena.has_free(QUARTERS).then(|| recorder.arena.make_if_room::<Cell>());
    let Some((unit, cell)) = room.flatten() else {
        in_part(lock);
        return None;
    };
    if lock.first_taken.load(Relaxed) == 0 {
        lock.first_taken.store(at.stack(), Relaxed);
    }
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
pub fn is_dead(lock: &Lock) -> bool {
    lock.attention.load(Relaxed) & DEAD != 0
}

/// The program creates a lock at `key`. The thread must be marked as recording.
pub fn created(at: impl Site, key: u64, kind: u8) {
    created_shared(at, key, kind, Sharing::Private);
}

/// The same of a lock that processes may share.
pub fn created_shared(at: impl Site, key: u64, kind: u8, sharing: Sharing) {
    let recorder = at.recorder();
    let own = own_locks(recorder);
    let before = search(recorder, key);
    if may_begin(own, before, sharing) {
        begin(recorder, (key, kind), at.stack(), sharing);
    } else if let Some(before) = before {
        end(recorder, before);
    }
}

/// The program destroys the lock at `key`.
pub fn destroyed(recorder: &Recorder, key: u64) {
    if let Some(entry) = search(recorder, key) {
        end(recorder, entry);
    }
}

/// Ends the generation of an entry of the index.
fn end(recorder: &Recorder, entry: &'static Lock) {
    for lock in [entry, meant(recorder, entry)] {
        if !is_dead(lock) {
            lock.attention.fetch_or(DEAD, Relaxed);
        }
    }
}

/// The process is about to have something else at these addresses, or nothing: what it shares with others, and has
/// there now, ends there, and not for others. Threads look again for what they know of such locks ([`is_stale`]).
#[cold]
pub fn moved(recorder: &Recorder, addresses: Range<u64>) {
    for (level, table) in recorder.process.index.iter().enumerate() {
        let table = table.load(Relaxed);
        let slots = (table != 0).then(|| recorder.arena.wide_words(table, level_slots(level)));
        // EDGE slot (acquire): the lock behind the number.
        let entries = slots.into_iter().flatten().map(|slot| slot.load(Acquire));
        for entry in entries.filter(|&there| there != 0).map(|there| lock_in(recorder, there)) {
            let is_alias = entry.sharing.load(Relaxed) == ALIAS;
            if is_alias && addresses.contains(&(entry.address.load(Relaxed) & !READERS)) {
                entry.attention.fetch_or(DEAD, Relaxed);
                meant(recorder, entry).attention.fetch_or(MOVED, Relaxed);
            }
        }
    }
}

/// Whether what a thread knows of the lock at an address may be of another one by now.
#[inline(always)]
pub fn is_stale(lock: &Lock) -> bool {
    lock.attention.load(Relaxed) & (DEAD | MOVED) != 0
}

/// Whether the generation of `row`, which is stale, is still that of `key`.
pub fn is_still(recorder: &Recorder, key: u64, kind: u8, row: Row) -> bool {
    known(recorder, key, kind).is_some_and(|lock| std::ptr::eq(lock, row.lock))
}

/// What the index holds for `key`: a lock, or an alias of one.
fn search(recorder: &Recorder, key: u64) -> Option<&'static Lock> {
    let is_absent = |(word, bit): (&AtomicU32, u32)| word.load(Relaxed) & bit == 0;
    if filter(recorder, key).is_some_and(is_absent) {
        return None; // I4
    }
    for level in 0..LEVELS {
        let table = recorder.process.index[level].load(Relaxed);
        if table == 0 {
            return None;
        }
        for slot in probes(recorder, table, level, key) {
            // EDGE slot (acquire): the lock behind the number.
            let there = slot.load(Acquire);
            if there == 0 {
                return None; // I1
            }
            if !has_tag(there, key) {
                continue;
            }
            let lock = lock_in(recorder, there);
            if lock.address.load(Relaxed) == key {
                return Some(lock);
            }
        }
    }
    None
}

/// The word and the bit of the filter that say whether `key` may be in the index; none if there was no memory for it.
#[inline(always)]
fn filter(recorder: &Recorder, key: u64) -> Option<(&'static AtomicU32, u32)> {
    let table = recorder.process.filter.load(Relaxed);
    let place = hash(key) as usize >> (u64::BITS - (32 * FILTER_WORDS).ilog2());
    let words = (table != 0).then(|| recorder.arena.words(table, FILTER_WORDS))?;
    Some((words.get(place / 32)?, 1 << (place % 32)))
}

/// Bits of the hash that do not choose the slot.
fn tag(key: u64) -> u64 {
    hash(key) << 24 & !u64::from(Unit::MAX)
}

/// Whether a slot may be that of `key`.
fn has_tag(there: u64, key: u64) -> bool {
    there & !u64::from(Unit::MAX) == tag(key)
}

/// The lock that a slot names.
fn lock_in(recorder: &Recorder, there: u64) -> &'static Lock {
    recorder.arena.at(there as Unit)
}

fn probes(
    recorder: &Recorder,
    table: u32,
    level: usize,
    key: u64,
) -> impl Iterator<Item = &'static AtomicU64> {
    let slots = recorder.arena.wide_words(table, level_slots(level));
    let (first, last) = ((hash(key) >> 40) as usize, level_slots(level) - 1);
    const { assert!(level_slots(0).is_power_of_two()) };
    (0..PROBES).filter_map(move |probe| slots.get((first + probe) & last))
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
            list(recorder, unit, most(sharing));
        }
        return Some(meant(recorder, recorder.arena.at(placed)));
    };
    let lock = at_place(recorder, (key, kind), created, place)?;
    let (unit, alias) = made(recorder, (key, kind), created, ALIAS)?;
    alias.owner.store(lock, Relaxed);
    let placed = claim(recorder, (key, kind), created, unit)?;
    Some(meant(recorder, recorder.arena.at(placed)))
}

/// Lists a lock that has an entry of its own from now on, and counts it. If it is the last of `most`, or later, a
/// thread may have met it meanwhile that found no room for it (I3).
fn list(recorder: &Recorder, unit: Unit, most: u32) {
    // EDGE own (acq-rel): it is in the index.
    if recorder.arena.header().own_locks.fetch_add(1, AcqRel) + 1 >= most {
        in_part(recorder.arena.at(unit));
    }
    recorder.arena.push::<Lock>(&recorder.process.locks, unit);
}

/// The number of the lock at a place, for all processes.
fn at_place(
    recorder: &Recorder,
    (key, kind): (u64, u8),
    created: u32,
    place: &'static Place,
) -> Option<u32> {
    let there = place.lock.load(Acquire); // EDGE slot (acquire): the lock behind the number.
    if there != 0 && created == 0 && is_current(recorder, lock_in(recorder, there), kind) {
        return Some(there as Unit);
    }
    let (unit, _) = made(recorder, (key, kind), created, JOINED)?;
    let placed = install(recorder, &place.lock, (kind, created), unit.into(), |_| true)?;
    if placed == unit {
        list(recorder, unit, WANTED_LOCKS);
    }
    Some(placed)
}

fn made(
    recorder: &Recorder,
    (key, kind): (u64, u8),
    created: u32,
    sharing: u8,
) -> Option<(u32, &'static Lock)> {
    if !recorder.arena.has_free(QUARTERS) {
        return None;
    }
    let (unit, lock) = recorder.arena.make_if_room::<Lock>()?;
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
    let is_ours =
        |there| has_tag(there, key) && lock_in(recorder, there).address.load(Relaxed) == key;
    let fresh = tag(key) | u64::from(fresh);
    if let Some((word, bit)) = filter(recorder, key) {
        word.fetch_or(bit, Relaxed); // I4: `install` releases it with the lock.
    }
    for level in 0..LEVELS {
        let table = level_table(recorder, level)?;
        for slot in probes(recorder, table, level, key) {
            if let Some(placed) = install(recorder, slot, (kind, created), fresh, is_ours) {
                return Some(placed);
            }
        }
    }
    None
}

/// Puts the lock of `fresh` into a slot if that is free, or has a generation that ends now. Returns the number in the
/// slot afterwards; none if the slot `is_ours` not.
fn install(
    recorder: &Recorder,
    slot: &AtomicU64,
    (kind, created): (u8, u32),
    fresh: u64,
    is_ours: impl Fn(u64) -> bool,
) -> Option<Unit> {
    let lock = lock_in(recorder, fresh);
    // EDGE slot (acquire): the lock behind the number.
    let mut there = slot.load(Acquire);
    loop {
        if there != 0 {
            if !is_ours(there) {
                return None;
            }
            let before = lock_in(recorder, there);
            if created == 0 && is_current(recorder, before, kind) {
                return Some(there as Unit);
            }
            before.attention.fetch_or(DEAD, Relaxed);
            lock.generation.store(before.generation.load(Relaxed) + 1, Relaxed);
        }
        // EDGE slot (acq-rel): the fresh lock, or the one that another thread put there.
        match slot.compare_exchange(there, fresh, AcqRel, Acquire) {
            Ok(_) => return Some(fresh as Unit),
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
    let fresh = recorder.arena.allocate_if_room(wide_units(level_slots(level)))?;
    // A fresh table is zero, as every unit is before its first use, so only its number has to be published.
    match place.compare_exchange(0, fresh, Relaxed, Relaxed) {
        Ok(_) => Some(fresh),
        Err(other) => Some(other),
    }
}
