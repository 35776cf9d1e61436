//! Locks that processes share: one lock of the record for all of them, whatever its address in each.
//!
//! # Contract
//! `place` finds the place of a lock by its [`Location`], the same in every process, or makes it; `generations` has its
//! lock. Blame and idle time of a shared lock then follow from its words as those of any lock do: cells, waiter lists
//! and stacks are numbers that mean the same in every process. A lock whose location is unknown, or whose record is not
//! mapped as a whole in this process (`Arena::is_whole`), stays apart. That a thread of a process which is not observed
//! has held a lock is noted ([`had`]).
//! # State
//! `Header::places` has lists of places, by a hash. `Place::lock` is the current generation, as a slot of an image's
//! index is. There, each address of the lock is an alias (`sharing::ALIAS`), whose `owner` names the lock.
//! # Invariants
//! I1: a location and kind have one [`Place`] (`Arena::push_unless`), and it stays.
//! # Evidence
//! `tests/sharing.rs`, `tests/model.rs`; `tests/programs/shared_locks.c`.

use crate::list;
use crate::site::{Recorder, Site};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_trace::layout::{
    Cell, Lock, PLACE_LISTS, Place, Process, Thread, sharing, word_units,
};

/// Where a lock is, for every process that shares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// The device of the file that is mapped.
    pub device: u64,
    /// The file's number on it.
    pub inode: u64,
    /// The offset in the file.
    pub offset: u64,
}

/// Whether processes share a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Only the threads of its process use it.
    Private,
    /// Others may use it, and where it is for them is unknown.
    Apart,
    /// They may use it at this location.
    At(Location),
}

impl Location {
    /// Whether this is its place for locks of `kind`.
    fn is_at(self, place: &Place, kind: u8) -> bool {
        place.inode.load(Relaxed) == self.inode
            && place.offset.load(Relaxed) == self.offset
            && place.device.load(Relaxed) == self.device
            && place.kind.load(Relaxed) == kind
    }

    fn list(self) -> usize {
        let mixed = (self.inode ^ self.device.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ self.offset >> 2).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize
            % PLACE_LISTS
    }
}

/// The place of locks of `kind` at `location`; none if there is no room, or if this process cannot reach all of the
/// record.
pub(crate) fn place(recorder: &Recorder, location: Location, kind: u8) -> Option<&'static Place> {
    let arena = recorder.arena;
    if !arena.is_whole() {
        return None;
    }
    let made = || arena.allocate(word_units(PLACE_LISTS));
    let table = list::published(&arena.header().places, made)?;
    let head = arena.words(table, PLACE_LISTS).get(location.list())?;
    let is_it = |place: &Place| location.is_at(place, kind);
    if let Some((_, place)) = arena.list::<Place>(head).find(|(_, place)| is_it(place)) {
        return Some(place);
    }
    let (unit, fresh) = arena.make::<Place>()?;
    fresh.device.store(location.device, Relaxed);
    fresh.inode.store(location.inode, Relaxed);
    fresh.offset.store(location.offset, Relaxed);
    fresh.kind.store(kind, Relaxed);
    Some(arena.at(arena.push_unless(head, unit, is_it))) // I1
}

/// The lock that an entry of an image's index stands for.
#[inline]
pub(crate) fn meant(recorder: &Recorder, entry: &'static Lock) -> &'static Lock {
    match entry.sharing.load(Relaxed) {
        sharing::ALIAS => recorder.arena.at(entry.owner.load(Relaxed)),
        _ => entry,
    }
}

/// A thread that holds a lock which processes share, as the lock itself says, and not as the record does (yet).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unseen {
    /// Its number in its PID namespace.
    number: u32,
    /// When it was met.
    since: u64,
}

/// The holder of a lock that processes share, for which the calling thread waits from now on, if it is not known to
/// have used the lock. `number` asks the lock for its holder's number in the kernel; 0 is none.
pub fn unseen(at: impl Site, lock: &Lock, number: impl FnOnce() -> u32) -> Option<Unseen> {
    let recorder = at.recorder();
    let owner = lock.owner.load(Relaxed);
    let is_held = || owner != 0 && recorder.arena.at::<Cell>(owner).depth.load(Relaxed) != 0;
    if !list::is_joined(lock) || lock.holders.load(Relaxed) != 0 || is_held() {
        return None;
    }
    let unseen = Unseen { number: number(), since: at.ticks() };
    (unseen.number != 0 && !is_known(recorder, lock, unseen)).then_some(unseen)
}

/// The calling thread has the lock after an `unseen` holder, or has given up. An observed thread that held it has
/// recorded something by now: at the latest, its release. Another one's process is not observed, so when the lock was
/// free is not known.
pub fn had(recorder: &Recorder, lock: &Lock, unseen: Option<Unseen>) {
    if unseen.is_some_and(|unseen| !is_known(recorder, lock, unseen)) {
        lock.sharing.store(sharing::JOINED_IN_PART, Relaxed);
    }
}

/// Whether a thread of this number has used the lock, or was first seen meanwhile. (A process that executes a program
/// which is not observed keeps its number, and what it did before stays in the record.)
fn is_known(recorder: &Recorder, lock: &Lock, unseen: Unseen) -> bool {
    let (arena, own) = (recorder.arena, recorder.arena.unit_of(lock));
    let processes = arena.list::<Process>(&arena.header().processes);
    let threads = processes.flat_map(|(_, process)| arena.list::<Thread>(&process.threads));
    let mut named = threads.filter(|(_, thread)| thread.number.load(Relaxed) == unseen.number);
    named.any(|(_, thread)| {
        let mut cells = arena.list::<Cell>(&thread.cells);
        thread.start_ticks.load(Relaxed) >= unseen.since
            || cells.any(|(_, cell)| cell.lock.load(Relaxed) == own)
    })
}
