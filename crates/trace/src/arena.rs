//! The writer's side of the record: memory that is allocated once and never freed.
//!
//! # Contract
//! [`Arena::allocate`] returns zeroed entries; without room it counts a dropped event and returns none. Nothing here
//! blocks. The program that needs memory adds it to the record itself, [`STEP`] units at a time: another process would
//! have to be notified, and a hundred threads that touch ten thousand locks each would outrun it.
//! # State
//! `Header::allocated` counts the units allocated, `Header::available` those with memory behind them.
//! `Header::capacity` bounds both. When the system refuses memory, it is lowered to what is available, and no thread
//! asks again.
//! # Edges
//! list: `Arena::push` -> `Arena::list`, `Arena::push_unless`. Carries the entry.
//! # Invariants
//! I1: the mapping is at least `mapped` units long, was zero when made, and lives until the process ends or executes;
//!     units beyond [`Arena::end_growth`], which no entry has, may end earlier.
//! I2: a unit is allocated at most once, so an entry is reached only through the number that its allocation returned.
//! I3: entries consist of atomic integers, so sharing them between threads and processes is not a data race.
//! I4: units below `available` have memory, so writing to them cannot fault.
//! # Evidence
//! The tests below; `crates/cli/tests/ground_truth.rs` through the observer.

use crate::layout::{self, Header, UNIT, Unit};
use std::ptr::NonNull;
use uncontended_atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Types of entries in the record.
///
/// # Safety
/// Every bit pattern is a value, and all fields are atomic.
pub unsafe trait Entry {
    /// The link to the next entry of its list: 0 until the entry is in one, and its own number at the end.
    fn next(&self) -> &AtomicU32;
}

macro_rules! entries {
    ($($name:ident)*) => { $(
        // SAFETY: `layout` declares it of atomic integers only (I3).
        unsafe impl Entry for layout::$name {
            fn next(&self) -> &AtomicU32 {
                &self.next
            }
        }
    )* };
}
entries! { Process Thread Lock Place Cell Caused Nested Stack Module SpanName }

/// Units added at a time: zeroing them takes no longer than the system call that adds them.
pub const STEP: u32 = (256 << 10) / UNIT as u32;

/// Adds memory to this many bytes of the mapping from an address on; false if there is none.
pub type Populate = fn(NonNull<u8>, usize) -> bool;

/// The mapped record.
#[derive(Debug, Clone, Copy)]
pub struct Arena {
    base: NonNull<u8>,
    mapped: u32,
    populate: Populate,
}

// SAFETY: all access goes through atomics (I3) in memory that lives as long as the process (I1).
unsafe impl Send for Arena {}
// SAFETY: as for Send (I1, I3).
unsafe impl Sync for Arena {}

impl Arena {
    /// The record mapped at `base`.
    ///
    /// # Safety
    /// `base` is page-aligned, and `mapped` units from it on are mapped, shared and writable until the process ends,
    /// or, beyond what [`Arena::end_growth`] returned, until then.
    /// After `populate` returns true, writes to the bytes it was called for cannot fault (I4).
    pub unsafe fn new(base: NonNull<u8>, mapped: u32, populate: Populate) -> Self {
        let arena = Arena { base, mapped, populate };
        debug_assert!(base.cast::<Header>().is_aligned(), "I1");
        debug_assert!(mapped >= layout::units(size_of::<Header>()), "I1: room for the header");
        arena
    }

    /// The first page.
    #[inline(always)]
    pub fn header(&self) -> &'static Header {
        // SAFETY: the mapping begins with the header and outlives the process's use of it (I1, I3).
        unsafe { self.base.cast().as_ref() }
    }

    /// Whether this is a record with our layout.
    pub fn is_ours(&self) -> bool {
        let header = self.header();
        header.magic.load(Relaxed) == layout::MAGIC
            && header.version.load(Relaxed) == layout::VERSION
    }

    /// Whether less than `quarters` of the record's memory are allocated: what can be left out leaves the rest to what
    /// cannot.
    pub fn has_free(&self, quarters: u32) -> bool {
        let header = self.header();
        let most = header.capacity.load(Relaxed).min(self.mapped);
        header.allocated.load(Relaxed) < most / 4 * quarters
    }

    /// Allocates consecutive units, zeroed; `None` if there is no room, which is counted.
    pub fn allocate(&self, units: u32) -> Option<Unit> {
        let unit = self.allocate_if_room(units);
        if unit.is_none() {
            self.header().dropped_room.fetch_add(1, Relaxed);
        }
        unit
    }

    /// The same for what may be left out: without room, nothing is counted.
    pub fn allocate_if_room(&self, units: u32) -> Option<Unit> {
        let header = self.header();
        let mut first = header.allocated.load(Relaxed);
        loop {
            let next = first.checked_add(units).filter(|&next| self.has_room_to(next))?;
            match header.allocated.compare_exchange_weak(first, next, Relaxed, Relaxed) {
                Ok(_) => {
                    debug_assert!(
                        first >= layout::HEADER_UNITS,
                        "I2: the header is never allocated"
                    );
                    return Some(first);
                }
                Err(seen) => first = seen,
            }
        }
    }

    /// Whether there is memory up to the unit `end`.
    #[inline(always)]
    fn has_room_to(&self, end: u32) -> bool {
        // Relaxed: it is raised after the system call that gave the file its memory, and all of that memory is zero.
        end <= self.header().available.load(Relaxed).min(self.mapped) || self.grow(end)
    }

    /// Adds memory to the record up to the unit `end` at least; false if there is none. Threads that call this
    /// concurrently do the same work, which is harmless.
    #[cold]
    pub fn grow(&self, end: u32) -> bool {
        let header = self.header();
        loop {
            let available = header.available.load(Relaxed);
            let most = header.capacity.load(Relaxed).min(self.mapped);
            if end <= available.min(most) {
                return true;
            }
            let next = available.saturating_add(STEP).min(most);
            if end > most || next <= available {
                return false;
            }
            let place = NonNull::new(self.pointer(available)).unwrap_or(self.base);
            if !(self.populate)(place, (next - available) as usize * UNIT) {
                header.capacity.fetch_min(available, Relaxed);
                return false;
            }
            header.available.fetch_max(next, Relaxed);
        }
    }

    /// Ends the growth of the record: it gets at most `more` units. Returns the end of the units that may get memory,
    /// now or by a thread that is adding some at this moment; none at the end of all numbers.
    pub fn end_growth(&self, more: u32) -> Option<Unit> {
        let header = self.header();
        let most = header.available.load(Relaxed).checked_add(more)?;
        // SeqCst: keeps the store of the capacity before the load of what is available.
        header.capacity.fetch_min(most, SeqCst);
        // SeqCst: the same.
        most.max(header.available.load(SeqCst)).checked_add(STEP)
    }

    /// A fresh entry of type `T`.
    pub fn make<T: Entry + 'static>(&self) -> Option<(Unit, &'static T)> {
        let unit = self.allocate(layout::units(size_of::<T>()))?;
        Some((unit, self.at(unit)))
    }

    /// The same without counting what finds no room.
    pub fn make_if_room<T: Entry + 'static>(&self) -> Option<(Unit, &'static T)> {
        let unit = self.allocate_if_room(layout::units(size_of::<T>()))?;
        Some((unit, self.at(unit)))
    }

    /// The entry at a unit that [`Arena::allocate`] returned for a `T`.
    ///
    /// # Panics
    /// Never. A unit outside the mapping is replaced by the first one after the header.
    #[inline(always)]
    pub fn at<T: 'static>(&self, unit: Unit) -> &'static T {
        let last = self.mapped - layout::units(size_of::<T>());
        let unit = if unit > last { layout::HEADER_UNITS } else { unit };
        // SAFETY: the whole entry lies inside the mapping (I1), in memory made of atomics (I3).
        unsafe { &*self.pointer(unit).cast() }
    }

    #[inline(always)]
    fn pointer(&self, unit: Unit) -> *mut u8 {
        self.base.as_ptr().wrapping_add(unit as usize * UNIT)
    }

    /// The number of an entry that [`Arena::at`] returned.
    pub fn unit_of<T>(&self, entry: &T) -> Unit {
        let bytes = std::ptr::from_ref(entry) as usize - self.base.as_ptr() as usize;
        debug_assert!(bytes.is_multiple_of(UNIT) && bytes / UNIT < self.mapped as usize, "I1");
        (bytes / UNIT) as Unit
    }

    /// The bytes of `units` units from `unit` on, for their allocator to fill.
    ///
    /// # Safety
    /// The caller allocated the units for bytes, and no other thread can reach them yet (I2).
    pub unsafe fn bytes(&self, unit: Unit, units: u32) -> &'static mut [u8] {
        // SAFETY: by the contract there is no other reference to these units (I2), which are mapped (I1).
        unsafe { std::slice::from_raw_parts_mut(self.pointer(unit), units as usize * UNIT) }
    }

    /// The same of 64-bit words.
    pub fn wide_words(&self, unit: Unit, count: usize) -> &'static [AtomicU64] {
        let room = (self.mapped.saturating_sub(unit)) as usize * UNIT / size_of::<AtomicU64>();
        let (unit, count) = if room == 0 { (0, 0) } else { (unit, count.min(room)) };
        // SAFETY: the words lie inside the mapping (I1) and are atomic (I3); a unit is aligned for them.
        unsafe { std::slice::from_raw_parts(self.pointer(unit).cast(), count) }
    }

    /// The `count` words from a unit that [`Arena::allocate`] returned for them; fewer at the end of the mapping.
    pub fn words(&self, unit: Unit, count: usize) -> &'static [AtomicU32] {
        let room = (self.mapped.saturating_sub(unit)) as usize * UNIT / size_of::<AtomicU32>();
        let (unit, count) = if room == 0 { (0, 0) } else { (unit, count.min(room)) };
        // SAFETY: the words lie inside the mapping (I1) and are atomic (I3).
        unsafe { std::slice::from_raw_parts(self.pointer(unit).cast(), count) }
    }

    /// Puts a finished entry at the head of a list, once: a signal handler may fork in the middle of this, and both
    /// processes return into it.
    pub fn push<T: Entry + 'static>(&self, head: &AtomicU32, unit: Unit) {
        let first = head.load(Relaxed);
        self.push_before(head, first, unit, |_: &T| false);
    }

    /// The same unless the list has an entry that `is_it`. Returns the one that the list has then.
    pub fn push_unless<T: Entry + 'static>(
        &self,
        head: &AtomicU32,
        unit: Unit,
        is_it: impl Fn(&T) -> bool,
    ) -> Unit {
        // EDGE list (acquire): the entries in the list are complete.
        let first = head.load(Acquire);
        let there = self.from::<T>(first).find(|(_, entry)| is_it(entry));
        there.map_or_else(|| self.push_before(head, first, unit, is_it), |(there, _)| there)
    }

    /// The same where no entry from `first` on is it.
    fn push_before<T: Entry + 'static>(
        &self,
        head: &AtomicU32,
        mut first: Unit,
        unit: Unit,
        is_it: impl Fn(&T) -> bool,
    ) -> Unit {
        let link = self.at::<T>(unit).next();
        // One process gets further; both, if the fork comes later.
        if link.compare_exchange(0, link_to(first, unit), Relaxed, Relaxed).is_err() {
            return self.list::<T>(head).find(|(_, entry)| is_it(entry)).map_or(unit, |(at, _)| at);
        }
        loop {
            // EDGE list (release): the entry is complete, and its link set.
            match head.compare_exchange_weak(first, unit, Release, Acquire) {
                Ok(_) => return unit,
                // EDGE list (acquire): the entries that came since.
                Err(seen) => {
                    let mut newer = self.from::<T>(seen).take_while(|&(at, _)| at != first);
                    // By the other process, or another entry.
                    if let Some((there, _)) = newer.find(|&(at, entry)| at == unit || is_it(entry))
                    {
                        return there;
                    }
                    first = seen;
                    link.store(link_to(first, unit), Relaxed);
                }
            }
        }
    }

    /// Whether all of the record is mapped here: then every unit of another process is.
    pub fn is_whole(&self) -> bool {
        self.header().capacity.load(Relaxed) <= self.mapped
    }

    /// The entries of a list with their units, newest first.
    pub fn list<T: Entry + 'static>(
        &self,
        head: &AtomicU32,
    ) -> impl Iterator<Item = (Unit, &'static T)> + use<T> {
        // EDGE list (acquire): the entries in the list are complete.
        self.from(head.load(Acquire))
    }

    /// The entries of a list from one of them on.
    fn from<T: Entry + 'static>(
        &self,
        first: Unit,
    ) -> impl Iterator<Item = (Unit, &'static T)> + use<T> {
        let arena = *self;
        let mut unit = first;
        std::iter::from_fn(move || {
            let entry: &'static T = (unit != 0).then(|| arena.at(unit))?;
            let found = unit;
            // The links of entries in a list never change.
            let next = entry.next().load(Relaxed);
            unit = if next == found { 0 } else { next };
            Some((found, entry))
        })
    }
}

/// The link of `unit` before the entry `first`: to itself if there is none, since a link of 0 is not set yet.
fn link_to(first: Unit, unit: Unit) -> Unit {
    if first == 0 { unit } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Lock, Process};

    fn arena(units: u32) -> Arena {
        // Leaked, so that it lives as long as the test (I1), and page-aligned.
        #[derive(Clone, Copy)]
        #[repr(align(4096))]
        struct Page {
            _bytes: [u8; 4096],
        }
        let pages = Box::leak(
            vec![Page { _bytes: [0; 4096] }; units as usize * UNIT / 4096 + 1].into_boxed_slice(),
        );
        let base = NonNull::from(pages).cast();
        // SAFETY: that many units were leaked just now.
        let arena = unsafe { Arena::new(base, units, |_, _| false) };
        arena.header().allocated.store(layout::HEADER_UNITS, Relaxed);
        arena.header().available.store(units, Relaxed);
        arena
    }

    #[test]
    fn memory_is_added_in_steps_up_to_the_capacity_and_refused_once() {
        static ASKED: AtomicU32 = AtomicU32::new(0);
        fn third_is_refused(_: NonNull<u8>, _: usize) -> bool {
            ASKED.fetch_add(1, Relaxed) < 2
        }
        let arena = Arena { populate: third_is_refused, ..arena(layout::HEADER_UNITS + 4 * STEP) };
        let header = arena.header();
        header.available.store(layout::HEADER_UNITS, Relaxed);
        header.capacity.store(u32::MAX, Relaxed);
        assert_eq!(arena.allocate(1), Some(layout::HEADER_UNITS));
        assert_eq!(header.available.load(Relaxed), layout::HEADER_UNITS + STEP);
        assert_eq!(arena.allocate(STEP), Some(layout::HEADER_UNITS + 1));
        assert_eq!(header.available.load(Relaxed), layout::HEADER_UNITS + 2 * STEP);
        for _ in 0..3 {
            assert_eq!(arena.allocate(STEP), None);
        }
        assert_eq!(ASKED.load(Relaxed), 3, "the system is not asked again");
        assert_eq!(header.dropped_room.load(Relaxed), 3);
        assert_eq!(header.capacity.load(Relaxed), layout::HEADER_UNITS + 2 * STEP);
        assert_eq!(arena.allocate(1), Some(layout::HEADER_UNITS + 1 + STEP));
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let arena = arena(layout::HEADER_UNITS + 3);
        assert_eq!(arena.allocate(2), Some(layout::HEADER_UNITS));
        assert_eq!(arena.allocate(2), None);
        assert_eq!(arena.allocate(u32::MAX), None);
        assert_eq!(arena.allocate(1), Some(layout::HEADER_UNITS + 2));
        assert_eq!(arena.header().dropped_room.load(Relaxed), 2);
    }

    #[test]
    fn lists_from_many_threads_lose_nothing() {
        let arena = arena(40_000);
        let (_, process) = arena.make::<Process>().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                scope.spawn(move || {
                    for number in 0..1000 {
                        let (unit, lock) = arena.make::<Lock>().unwrap();
                        lock.address.store(thread * 1000 + number, Relaxed);
                        arena.push::<Lock>(&process.locks, unit);
                    }
                });
            }
        });
        let mut seen: Vec<u64> = arena
            .list::<Lock>(&process.locks)
            .map(|(_, lock)| lock.address.load(Relaxed))
            .collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..4000).collect::<Vec<_>>());
    }
}
