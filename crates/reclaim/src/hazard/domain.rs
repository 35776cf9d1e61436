//! Where retired objects wait until no hazard protects them.
//!
//! # Contract
//! `retire` is an uncontended exchange and a push. The thread whose object fills its shelf takes the shelf's objects,
//! pays for one heavy fence, looks at all hazards, frees what none protects, and puts the rest back. So a destructor
//! runs in any thread that retires. One that retires into its own domain does not reclaim there: a later retirement
//! does.
//!
//! # State
//! Shelves, each behind a latch; a thread uses the one of its number first, and another one while that is taken.
//! `retired`: what came since the last reclamation of that shelf. What was found to be protected does not count, so
//! that it does not start the next one.
//!
//! # Invariants
//! I1: an object is on one shelf, or in the hands of one reclaimer, or freed.
//! I2: a reclaimer's heavy fence comes after it took its objects, and so after their unlinking: `latch` brings the
//!     unlinking by another thread along.
//! I3: a destructor runs while its thread is in no latch. If it panics, the objects that were not freed are put back.
//!
//! # Evidence
//! tests/model_hazards.rs, tests/mutants/hazards.toml; tests/hazards.rs.

use super::places;
use crate::garbage::{Collected, Garbage, Limits};
use crate::latch::{Latch, Reopened, pause};
use crate::retired::Retired;
use crate::running;
use crate::thread::Reader;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;
use std::{fmt, mem, vec};
use uncontended_atomic::{Box, CachePadded};
use uncontended_fence::Refused;

/// One under the checker, so that its threads meet there.
const SHELVES: usize = if cfg!(unc_model) { 1 } else { 8 };

#[derive(Debug, Default)]
struct Shelf {
    items: Vec<Retired>,
    retired: Garbage,
}

impl Reopened for Shelf {}

impl Shelf {
    const EMPTY: Shelf = Shelf { items: Vec::new(), retired: Garbage { objects: 0, bytes: 0 } };

    fn weight(&self) -> Garbage {
        let mut weight = Garbage::default();
        self.items.iter().for_each(|item| weight.add(item.bytes()));
        weight
    }

    fn take(&mut self) -> Vec<Retired> {
        self.retired = Garbage::default();
        let room = Vec::with_capacity(self.items.len());
        mem::replace(&mut self.items, room)
    }
}

/// A domain of retired objects: they are freed by, and at the latest with, the domain that they were retired into.
///
/// Dropping it frees all of them, except those that a hazard still protects: those wait in the [global](Domain::global)
/// one.
#[derive(Debug)]
pub struct Domain {
    shelves: [CachePadded<Latch<Shelf>>; SHELVES],
    limits: Limits,
}

/// A hazard that keeps a retired object from being freed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The thread that made the hazard.
    pub by: Reader,
    /// The weight of the object.
    pub bytes: usize,
    /// How long ago a reclamation first found that it is protected; zero if none did yet.
    pub since: Duration,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.since.as_millis();
        write!(f, "{} has kept {} bytes for {ms} ms or more", self.by, self.bytes)
    }
}

impl Default for Domain {
    fn default() -> Domain {
        Domain::new()
    }
}

impl Domain {
    /// A domain with the usual limits; `const`.
    #[cfg(not(unc_model))]
    pub const fn new() -> Domain {
        Domain::with_limits(Limits::DEFAULT)
    }

    /// A domain that reclaims when a shelf has this much; `const`.
    #[cfg(not(unc_model))]
    pub const fn with_limits(limits: Limits) -> Domain {
        Domain { shelves: [const { CachePadded::new(Latch::new(Shelf::EMPTY)) }; SHELVES], limits }
    }

    /// A domain with the usual limits.
    #[cfg(unc_model)]
    pub fn new() -> Domain {
        Domain::with_limits(Limits::DEFAULT)
    }

    /// A domain that reclaims when a shelf has this much.
    #[cfg(unc_model)]
    pub fn with_limits(limits: Limits) -> Domain {
        Domain {
            shelves: std::array::from_fn(|_| CachePadded::new(Latch::new(Shelf::EMPTY))),
            limits,
        }
    }

    /// The program's own, for what needs none of its own.
    #[cfg(not(unc_model))]
    pub fn global() -> &'static Domain {
        static GLOBAL: Domain = Domain::new();
        &GLOBAL
    }

    /// Retires an object that other threads may still read through what it was unlinked from.
    pub fn retire<T: Send + 'static>(&self, object: Box<T>) {
        self.retire_weighing(object, 0);
    }

    /// The same, for an object that holds `more` bytes besides its own size: buffers, files, handles. Heavy garbage is
    /// reclaimed sooner.
    pub fn retire_weighing<T: Send + 'static>(&self, object: Box<T>, more: usize) {
        super::has_address::<T>();
        self.shelve(Retired::new(object, more));
    }

    /// Retires the object at `object`, which weighs its own size and `more` bytes.
    ///
    /// # Safety
    /// It comes from [`Box::into_raw`], is retired once, and no word leads to it any more from which a hazard may still
    /// begin to protect it. In debug builds a second retirement panics.
    #[cfg_attr(unc_model, track_caller)]
    pub unsafe fn retire_raw<T: Send + 'static>(&self, object: *mut T, more: usize) {
        super::has_address::<T>();
        // SAFETY: from now on it is this domain's, as the caller says (I1).
        self.shelve(unsafe { Retired::raw(object, more) });
    }

    /// Frees what no hazard protects, whatever the limits, and what its destructors retire into this domain. Waits
    /// while other threads push, but not for readers.
    ///
    /// # Errors
    /// The heavy fence is refused: nothing is freed.
    #[cfg_attr(unc_model, track_caller)]
    pub fn collect(&self) -> Result<Collected, Refused> {
        let mut collected = Collected::default();
        let mut has_more = true;
        while mem::take(&mut has_more) {
            for shelf in &self.shelves {
                let items = shelf.with(Shelf::take);
                if !items.is_empty() {
                    let (freed, more) = self.reclaim(items)?;
                    collected.freed += freed;
                    has_more |= more;
                }
            }
        }
        collected.waits = self.garbage();
        Ok(collected)
    }

    /// What waits, without what other threads free just now.
    pub fn garbage(&self) -> Garbage {
        let mut garbage = Garbage::default();
        self.shelves.iter().for_each(|shelf| garbage += shelf.with(|shelf| shelf.weight()));
        garbage
    }

    /// How many objects wait at most while up to `threads` threads retire at a time, whatever the readers do: all
    /// shelves, one in the hands of each thread, and one object for each hazard. What destructors retire comes on top,
    /// and what was retired while the heavy fence was refused.
    pub fn bound(&self, threads: usize) -> usize {
        let (places, batch) = (places::count(), self.batch().objects);
        (SHELVES + threads) * batch + places
    }

    /// The hazards that keep objects of this domain from being freed.
    pub fn held(&self) -> Vec<Held> {
        let now_ns = now_ns();
        let facts = |item: &Retired| (item.address(), item.bytes(), item.held_since_ns());
        let listed = |shelf: &mut Shelf| shelf.items.iter().map(facts).collect::<Vec<_>>();
        let waiting: Vec<_> = self.shelves.iter().flat_map(|shelf| shelf.with(listed)).collect();
        let held = places::protected().filter_map(|(place, address)| {
            let (_, bytes, since_ns) = waiting.iter().find(|item| item.0 == address)?;
            let since_ns = if *since_ns == 0 { now_ns } else { *since_ns };
            let since = Duration::from_nanos(now_ns.saturating_sub(since_ns));
            Some(Held { by: place.reader(), bytes: *bytes, since })
        });
        held.collect()
    }

    /// Limits of a shelf: at least as many objects as there are hazards, so that a reclamation frees some.
    fn batch(&self) -> Limits {
        Limits { objects: self.limits.objects.max(places::count()).max(1), ..self.limits }
    }

    #[cfg_attr(unc_model, track_caller)]
    fn shelve(&self, item: Retired) {
        if let Some(items) = self.push(item, !running::is_under_way(self.address())) {
            // Where the fence is refused, all was put back, for the next batch.
            let _ = self.reclaim(items);
        }
    }

    fn address(&self) -> usize {
        (&raw const *self).addr()
    }

    /// The shelf that this thread uses first.
    fn own(&self) -> &Latch<Shelf> {
        &self.shelves[number() % SHELVES]
    }

    /// Puts an object on a shelf, and takes all that is there if it is due.
    #[cfg_attr(unc_model, track_caller)]
    fn push(&self, item: Retired, may_take: bool) -> Option<Vec<Retired>> {
        let mut item = Some(item);
        for shelf in self.shelves.iter().cycle().skip(number() % SHELVES).enumerate() {
            let (at, latch) = shelf;
            let pushed = latch.try_with(|shelf| {
                let item = item.take().expect("it is pushed once");
                shelf.retired.add(item.bytes());
                shelf.items.push(item);
                if may_take { self.take_due(shelf) } else { None }
            });
            match pushed {
                Some(due) => return due,
                None if at % SHELVES == SHELVES - 1 => pause(at / SHELVES),
                None => {}
            }
        }
        unreachable!("a cycle has no end")
    }

    fn take_due(&self, shelf: &mut Shelf) -> Option<Vec<Retired>> {
        self.batch().are_reached(shelf.retired).then(|| shelf.take())
    }

    /// Frees what no hazard protects, and puts the rest back. Returns what was freed, and whether that retired more.
    #[cfg_attr(unc_model, track_caller)]
    fn reclaim(&self, items: Vec<Retired>) -> Result<(Garbage, bool), Refused> {
        let mut rest = Rest { domain: self, items: items.into_iter() };
        uncontended_fence::heavy()?;
        let now_ns = now_ns();
        let mut protected: Vec<usize> = places::protected().map(|(_, address)| address).collect();
        protected.sort_unstable();
        let is_held = |item: &mut Retired| protected.binary_search(&item.address()).is_ok();
        let mut items: Vec<Retired> = rest.items.by_ref().collect();
        let mut held: Vec<Retired> = items.extract_if(.., is_held).collect();
        held.iter_mut().for_each(|item| item.is_held(now_ns));
        self.put_back(held);
        rest.items = items.into_iter();
        let mut freed = Garbage::default();
        let ((), has_more) = running::run(self.address(), || {
            for item in rest.items.by_ref() {
                freed.add(item.bytes());
                // SAFETY: the look at all hazards came after a heavy fence, which came after it was unlinked (I2), and
                // did not find it.
                unsafe { item.free() };
            }
        });
        Ok((freed, has_more))
    }

    fn put_back(&self, items: Vec<Retired>) {
        if !items.is_empty() {
            self.own().with(|shelf| shelf.items.extend(items));
        }
    }
}

/// What a reclaimer has not decided yet: put back if the fence is refused, or a destructor panics (I3).
struct Rest<'d> {
    domain: &'d Domain,
    items: vec::IntoIter<Retired>,
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        self.domain.put_back(self.items.by_ref().collect());
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        // What an execution of the checker leaves behind that was cut is not a step of it.
        if cfg!(unc_model) {
            if !std::thread::panicking() {
                let _ = self.collect();
            }
            return;
        }
        let mut panicked = None;
        // A destructor that panics is gone, and the rest was put back (I3): this ends.
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.collect())) {
            panicked = panicked.or(Some(panic));
        }
        #[cfg(not(unc_model))]
        for item in self.shelves.iter().flat_map(|shelf| shelf.with(Shelf::take)) {
            let shelved = catch_unwind(AssertUnwindSafe(|| Domain::global().shelve(item)));
            panicked = panicked.or(shelved.err());
        }
        if let Some(panic) = panicked.filter(|_| !std::thread::panicking()) {
            resume_unwind(panic);
        }
    }
}

#[cfg(not(unc_model))]
fn now_ns() -> u64 {
    uncontended_sys::clock::monotonic_ns()
}

/// The checker knows no time.
#[cfg(unc_model)]
fn now_ns() -> u64 {
    0
}

#[cfg(not(unc_model))]
use numbered::number;

/// Numbers of threads, in the order of their first retirement.
#[cfg(not(unc_model))]
mod numbered {
    use std::cell::Cell;
    use uncontended_atomic::{AtomicUsize, Ordering::Relaxed};

    static NEXT: AtomicUsize = AtomicUsize::new(0);

    thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    #[inline]
    pub(super) fn number() -> usize {
        match NUMBER.get() {
            usize::MAX => drawn(),
            number => number,
        }
    }

    #[cold]
    fn drawn() -> usize {
        let number = NEXT.fetch_add(1, Relaxed) % (usize::MAX / 2);
        NUMBER.set(number);
        number
    }
}

/// There is one shelf.
#[cfg(unc_model)]
fn number() -> usize {
    0
}
