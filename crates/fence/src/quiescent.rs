//! Threads that check in: each, from time to time, at a point where it is between two pairs of accesses.
//!
//! # Contract
//! For threads that have CPUs of their own, and must be interrupted by no membarrier. A registered thread calls
//! [`Member::check_in`], a load and a store, in its main loop. A ticket is complete when every registered thread has
//! checked in since it was made, or is offline. A light fence costs nothing then, and no fence of any kind interrupts.
//!
//! A check-in orders; it does not say that the thread holds no reference. A thread that polls a ticket checks in by
//! that, so threads that wait for each other's check-ins do not wait forever.
//!
//! # State
//! The number of the last request, and a list of records, each of a thread that is registered, or free. A record holds
//! the number of the last request that its thread has seen, or [`OFFLINE`].
//!
//! # Edges
//! asked: `request` -> `see`. What the requester did comes before what the thread does after its check-in. All writes
//!     but the first are read-modify-writes.
//! seen: `see`, `leave` -> `is_ripe`. What the thread did before its check-in comes before what follows the ticket.
//! record: `add` -> `records`. The record's contents.
//! owner: `release` -> `take`. The last owner's stores to a record come before the next one's.
//!
//! No edge orders a thread that comes online, but two SeqCst fences: if the one in `request` comes first, the thread
//! sees what the requester did; if the one in `come` comes first, `is_ripe` sees the thread's store before it.
//!
//! # Invariants
//! I1: a record in the list stays there, with its memory, as long as the `Quiescent`.
//! I2: of a record's owner, only the owner writes `seen`, except for `after_fork_in_child`.
//!
//! # Evidence
//! tests/model_quiescent.rs; tests/quiescent.rs: threads that end, forget or fork.
//! # Sources
//! M. Desnoyers et al., "User-level implementations of read-copy update", IEEE TPDS 2012, section 5.2 (QSBR).

mod here;

use here::this_thread;
use std::fmt;
use std::marker::PhantomData;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use uncontended_atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Box, CachePadded, fence};
use uncontended_sys::fork::generation;

/// In place of a number, and greater than all: the thread runs no light fence.
const OFFLINE: u64 = u64::MAX;
/// In place of an owner: none.
const FREE: usize = 0;

/// The threads of an algorithm that check in ([`Fences::by_check_in`](crate::Fences::by_check_in)).
///
/// ```
/// use uncontended_fence::{Fences, Quiescent};
///
/// static THREADS: Quiescent = Quiescent::new();
///
/// let mut member = THREADS.register();
/// // SAFETY: only this thread runs light fences, and it is registered.
/// let fences = unsafe { Fences::by_check_in(&THREADS) };
/// fences.light();
/// member.check_in();
/// member.offline(|| std::thread::yield_now());
/// fences.heavy()?;
/// # Ok::<(), uncontended_fence::Refused>(())
/// ```
pub struct Quiescent {
    asked: CachePadded<AtomicU64>,
    first: AtomicPtr<Record>,
}

struct Record {
    seen: CachePadded<AtomicU64>,
    owner: AtomicUsize,
    /// The owner's process, by its generation.
    process: AtomicU32,
    /// Never changes once the record is in the list.
    next: *mut Record,
}

/// A thread that has registered. It is online, except in [`offline`](Member::offline), until this is dropped or the
/// thread ends.
///
/// One that is forgotten (`mem::forget`) leaves the thread online until it ends: meanwhile no ticket is completed,
/// except those that the thread itself polls.
#[must_use = "the thread is registered as long as this lives"]
pub struct Member {
    threads: &'static Quiescent,
    record: &'static Record,
    /// It stays in its thread.
    here: PhantomData<*const ()>,
}

impl Quiescent {
    /// No thread is registered.
    #[cfg(not(unc_model))]
    pub const fn new() -> Quiescent {
        Quiescent {
            asked: CachePadded::new(AtomicU64::new(0)),
            first: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// No thread is registered.
    #[cfg(unc_model)]
    pub fn new() -> Quiescent {
        Quiescent {
            asked: CachePadded::new(AtomicU64::new(0)),
            first: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Registers the calling thread, which is online from now on.
    ///
    /// Memory for as many threads as were ever registered at the same time is kept.
    pub fn register(&'static self) -> Member {
        let record = self.records().find(|record| record.take()).unwrap_or_else(|| self.add());
        record.come(self);
        here::note(record);
        Member { threads: self, record, here: PhantomData }
    }

    /// Removes what a child of `fork` has of its parent's other threads, which do not exist in it and would never check
    /// in. The calling thread stays registered, if it was. In any other process this does nothing.
    pub fn after_fork_in_child(&self) {
        let process = generation();
        for record in self.records().filter(|record| record.process.load(Relaxed) != process) {
            if record.owner.load(Relaxed) == this_thread() {
                record.process.store(process, Relaxed);
            } else {
                record.leave();
                record.release();
            }
        }
    }

    /// How many threads are registered.
    pub fn members(&self) -> usize {
        self.records().filter(|record| record.owner.load(Relaxed) != FREE).count()
    }

    /// Asks all threads to check in, and returns the request's number.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn request(&self) -> u64 {
        // EDGE asked (release)
        let number = self.asked.fetch_add(1, Release) + 1;
        // SeqCst: orders the requester's stores before the loads by which `is_ripe` finds a thread offline or missing.
        fence(SeqCst);
        number
    }

    /// Whether every thread has checked in since that request.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn is_ripe(&self, number: u64) -> bool {
        // EDGE seen (acquire)
        self.records().all(|record| record.seen.load(Acquire) >= number)
    }

    /// Checks in for the calling thread, where it is registered, online, and has not since that request.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn check_in_here(&self, number: u64) {
        let here = this_thread();
        for record in self.records().filter(|record| record.owner.load(Relaxed) == here) {
            if record.seen.load(Relaxed) < number {
                record.see(self);
            }
        }
    }

    #[cfg_attr(unc_model, track_caller)]
    fn records(&self) -> impl Iterator<Item = &'static Record> {
        // EDGE record (acquire)
        let mut next = self.first.load(Acquire);
        std::iter::from_fn(move || {
            // SAFETY: null, or a record of the list, which lives as long as its members: all have `&'static self` (I1).
            let record = unsafe { next.as_ref() }?;
            next = record.next;
            Some(record)
        })
    }

    /// Adds a record that this thread owns.
    #[cfg_attr(unc_model, track_caller)]
    fn add(&'static self) -> &'static Record {
        let mut next = self.first.load(Relaxed);
        let added = Box::into_raw(Box::new(Record {
            seen: CachePadded::new(AtomicU64::new(OFFLINE)),
            owner: AtomicUsize::new(this_thread()),
            process: AtomicU32::new(generation()),
            next,
        }));
        // EDGE record (release)
        while let Err(now) = self.first.compare_exchange(next, added, Release, Relaxed) {
            next = now;
            // SAFETY: no other thread has it: it is not in the list yet (I1).
            unsafe { (*added).next = next };
        }
        // SAFETY: in the list, for as long as it lives (I1).
        unsafe { &*added }
    }
}

impl Record {
    /// Takes a free record for the calling thread.
    #[cfg_attr(unc_model, track_caller)]
    fn take(&self) -> bool {
        // EDGE owner (acquire)
        let is_taken = self.owner.compare_exchange(FREE, this_thread(), Acquire, Relaxed).is_ok();
        if is_taken {
            self.process.store(generation(), Relaxed);
        }
        is_taken
    }

    /// A check-in.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn see(&self, threads: &Quiescent) {
        // EDGE asked (acquire)
        let asked = threads.asked.load(Acquire);
        // EDGE seen (release)
        self.seen.store(asked, Release);
    }

    #[cfg_attr(unc_model, track_caller)]
    fn come(&self, threads: &Quiescent) {
        self.see(threads);
        // SeqCst: orders that this thread is online, and its record in the list, before its loads after light fences.
        fence(SeqCst);
    }

    #[cfg_attr(unc_model, track_caller)]
    fn leave(&self) {
        // EDGE seen (release)
        self.seen.store(OFFLINE, Release);
    }

    #[cfg_attr(unc_model, track_caller)]
    fn release(&self) {
        // EDGE owner (release)
        self.owner.store(FREE, Release);
    }
}

impl Member {
    /// Checks in: what this thread did is ordered before what follows the tickets made so far, and what their makers
    /// did before what this thread does now.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn check_in(&self) {
        self.record.see(self.threads);
    }

    /// Runs `body`, which may block: no ticket waits for this thread meanwhile. It must not run light fences.
    #[cfg_attr(unc_model, track_caller)]
    pub fn offline<R>(&mut self, body: impl FnOnce() -> R) -> R {
        /// Comes back even if `body` panics.
        struct Back<'a>(&'a Member);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                self.0.record.come(self.0.threads);
            }
        }
        self.record.leave();
        let _back = Back(self);
        body()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        here::forget(self.record);
        self.record.leave();
        self.record.release();
    }
}

impl Drop for Quiescent {
    fn drop(&mut self) {
        let mut next = self.first.load(Relaxed);
        while !next.is_null() {
            // SAFETY: made by `add`; a `Quiescent` that is dropped has no members, and no other thread has it (I1).
            let record = unsafe { Box::from_raw(next) };
            next = record.next;
        }
    }
}

// SAFETY: records are shared by atomics, and `next` does not change (I1).
unsafe impl Sync for Record {}
// SAFETY: likewise; the list belongs to the `Quiescent` (I1).
unsafe impl Send for Quiescent {}

impl Default for Quiescent {
    fn default() -> Quiescent {
        Quiescent::new()
    }
}

impl fmt::Debug for Quiescent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quiescent").field("members", &self.members()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").finish_non_exhaustive()
    }
}
