//! A collector: the epoch, the readers, and the garbage of one set of structures.
//!
//! # Contract
//! The thread whose retirement makes the fresh garbage reach the limits begins a round, unless another one has, and the
//! first to find its heavy fence complete ends it: mostly the same, at once. So a destructor runs in any thread that
//! retires or collects, or drops the collector. A retirement waits for no fence, and frees what one round found.
//!
//! # Invariants
//! I1: a destructor runs while its thread is in no latch. If it panics, those that did not run are put back.
//! I2: garbage is in one bag, or in the queue, or in the hands of one thread that borrows the collector and frees it.

#[cfg(not(unc_model))]
use super::Guard;
use super::Participant;
use super::queue::Queue;
use super::record::{Record, UNPINNED};
use super::stalled::Stalled;
use super::ticket::Ticket;
use crate::garbage::{Collected, Garbage, Limits};
use crate::latch::{Latch, Reopened};
use crate::registry::{Place, Registry};
use crate::retired::Retired;
use crate::running;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;
use std::vec;
use uncontended_atomic::Ordering::{Relaxed, Release};
use uncontended_atomic::{AtomicBool, AtomicU64, CachePadded};
use uncontended_fence::{Fences, Refused, Ticket as Fence};

/// What a collector and its readers share.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) epoch: CachePadded<AtomicU64>,
    pub(super) readers: Registry<Record>,
    pub(super) queue: Latch<Queue>,
    /// The heavy fence of the round that has begun. Its latch is taken for each step of a round (E1).
    round: Latch<Option<Fence>>,
    /// The batches below this number are free of readers.
    pub(super) over: AtomicU64,
    pub(super) is_closed: AtomicBool,
    limits: Limits,
    /// Both sides of this collector's fences.
    pub(super) fences: Fences,
}

/// Then the next step begins a round of its own, with the same batch.
impl Reopened for Option<Fence> {}

/// How far a round has come.
enum Step {
    /// Its heavy fence is not complete.
    Begun(Fence),
    /// To its end: whether the epoch is over, and what may be freed.
    Ended { is_over: bool, old: Vec<Retired> },
}

/// Frees what is retired into it when no thread that was pinned before is pinned still.
///
/// Dropping it frees everything. Structures that a reader reads together share one; a reader that stalls keeps the
/// garbage of its own collector alone.
#[derive(Debug)]
pub struct Collector {
    pub(super) inner: Arc<Inner>,
}

impl Default for Collector {
    fn default() -> Collector {
        Collector::new()
    }
}

impl Collector {
    /// A collector with the usual limits.
    pub fn new() -> Collector {
        Collector::with_limits(Limits::DEFAULT)
    }

    /// A collector that begins to reclaim when that much is fresh.
    pub fn with_limits(limits: Limits) -> Collector {
        Collector::with_fences(limits, Fences::best())
    }

    /// A collector whose readers run the light side of these fences, and whose collections run the heavy one. Where
    /// that takes longer than a call should, with stamps and check-ins, a retirement asks for it and continues, and a
    /// later one frees what is free by then. `collect` and `Ticket::wait_for` wait, and check in meanwhile. A thread
    /// that does not check in keeps all garbage; [`stalled`](Collector::stalled) does not name it.
    ///
    /// ```
    /// use uncontended_fence::{Choice, Fences};
    /// use uncontended_reclaim::{Limits, epoch::Collector};
    ///
    /// // No CPU is interrupted; a reader pays a full fence.
    /// let collector = Collector::with_fences(Limits::DEFAULT, Fences::with(Choice::FullFences)?);
    /// collector.pin().retire(Box::new(1));
    /// assert_eq!(collector.collect()?.freed.objects, 1);
    /// # Ok::<(), uncontended_fence::Refused>(())
    /// ```
    pub fn with_fences(limits: Limits, fences: Fences) -> Collector {
        // Decided before the first read: until then a light fence is a full one.
        fences.backend();
        let inner = Inner {
            epoch: CachePadded::new(AtomicU64::new(UNPINNED + 1)),
            readers: Registry::new(),
            queue: Latch::new(Queue::default()),
            round: Latch::new(None),
            over: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            limits,
            fences,
        };
        Collector { inner: Arc::new(inner) }
    }

    /// The program's own, for what needs none of its own.
    #[cfg(not(unc_model))]
    pub fn global() -> &'static Collector {
        static GLOBAL: std::sync::LazyLock<Collector> = std::sync::LazyLock::new(Collector::new);
        &GLOBAL
    }

    /// Pins the calling thread: what it finds until the guard is dropped is not freed. Pins may nest; the outermost one
    /// counts.
    #[cfg(not(unc_model))]
    #[inline]
    pub fn pin(&self) -> Guard<'_> {
        super::local::pin(&self.inner)
    }

    /// A reader that is known by name: cheaper to pin than what the thread is found by.
    #[cfg_attr(unc_model, track_caller)]
    pub fn participant(&self) -> Participant<'_> {
        Participant::new(&self.inner)
    }

    /// Frees what is free of readers, in as many epochs as that takes. What the calling thread has retired is included,
    /// what lies in the bags of other threads is not: up to 64 objects of each.
    ///
    /// # Errors
    /// The heavy fence is refused: nothing is freed.
    #[cfg_attr(unc_model, track_caller)]
    pub fn collect(&self) -> Result<Collected, Refused> {
        #[cfg(not(unc_model))]
        if let Some(record) = super::local::registered(&self.inner) {
            self.inner.hand_over(|| record.take_bag());
        }
        self.inner.collect_all(wait)
    }

    /// Hands over what the calling thread has retired, so that any thread may collect it; collects if that reaches the
    /// limits.
    #[cfg(not(unc_model))]
    pub fn flush(&self) {
        if let Some(record) = super::local::registered(&self.inner) {
            self.inner.flush(record);
        }
    }

    /// A ticket for the grace period that begins now: when it is over, nothing that was unlinked before, by this thread
    /// or by one that told it, has a reader.
    #[cfg_attr(unc_model, track_caller)]
    pub fn ticket(&self) -> Ticket<'_> {
        Ticket::new(&self.inner)
    }

    /// The readers that keep garbage from being freed, as collections have found them.
    pub fn stalled(&self) -> Vec<Stalled> {
        self.inner.stalled()
    }

    /// What waits: in the queue, and in the bags of all readers.
    pub fn garbage(&self) -> Garbage {
        self.inner.waits()
    }

    /// The current epoch, from 1 on.
    pub fn epoch(&self) -> u64 {
        self.inner.epoch.load(Relaxed)
    }
}

impl Inner {
    /// Retires an object of the reader whose record that is, which may collect here and now.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn retire(&self, record: &Record, item: Retired) {
        if record.push(item) {
            self.look(self.hand_over(|| record.take_full_bag()));
        }
    }

    /// Takes a step if one is due; it never waits for a fence.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn look(&self, is_due: bool) {
        // A destructor that retires leaves it to the next that looks.
        if is_due && !running::is_under_way(self.address()) {
            // Where the fence is refused, it is tried again with the next bag.
            if let Some(Ok(Step::Ended { old, .. })) = self.round.try_with(|begun| self.step(begun))
            {
                self.free(old);
            }
        }
    }

    /// Hands over what is in a record's bag, and collects if that reaches the limits. For its owner.
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn flush(&self, record: &Record) {
        self.look(self.hand_over(|| record.take_bag()));
    }

    /// Hands over what is in a bag; whether a step is due. The bag is emptied in the latch, as the end of the collector
    /// empties it.
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn hand_over(&self, bag: impl FnOnce() -> Vec<Retired>) -> bool {
        self.queue.with(|queue| {
            queue.add(bag());
            queue.is_due(self.limits)
        })
    }

    fn address(&self) -> usize {
        (&raw const *self).addr()
    }

    /// A place among the readers for the calling thread.
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn register(&self) -> &Place<Record> {
        self.readers.take(Record::new)
    }

    /// Gives up a place, or leaves that to the last guard of it; if one was leaked, what it found must stay. Threads
    /// that end do this, so it runs no destructor: the next thread that begins a bag looks.
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn resign(&self, place: &Place<Record>) {
        self.hand_over(|| place.value.take_bag());
        let is_left = place.value.is_pinned();
        place.value.is_left.set(is_left);
        if !is_left {
            self.readers.give_back(place);
        }
    }

    /// Collects, in as many rounds as it takes; fewer if `wait` returns that a fence takes too long.
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn collect_all(
        &self,
        wait: impl Fn(&Fence) -> Result<bool, Refused>,
    ) -> Result<Collected, Refused> {
        let (mut collected, mut rounds) = (Collected::default(), 0);
        while rounds <= super::queue::AGE {
            match self.round.with(|begun| self.step(begun))? {
                // It checks in, outside the latch, so two threads that do this do not wait for each other.
                Step::Begun(fence) if wait(&fence)? => {}
                Step::Begun(_) => break,
                Step::Ended { is_over, old } => {
                    rounds += 1;
                    collected.freed += self.free(old);
                    if !is_over || self.queue.with(|queue| queue.is_empty()) {
                        break;
                    }
                }
            }
        }
        collected.waits = self.waits();
        Ok(collected)
    }

    /// Begins a round, unless one has begun, and ends it if its fence is complete. The caller is in the latch (E1).
    #[cfg_attr(unc_model, track_caller)]
    fn step(&self, begun: &mut Option<Fence>) -> Result<Step, Refused> {
        let fence = begun.get_or_insert_with(|| {
            self.queue.with(Queue::begin);
            self.fences.ticket()
        });
        let is_complete = fence.poll();
        if is_complete == Ok(false) {
            return Ok(Step::Begun(fence.clone()));
        }
        *begun = None;
        is_complete.map(|_| self.end())
    }

    /// The end of a round: an epoch.
    #[cfg_attr(unc_model, track_caller)]
    fn end(&self) -> Step {
        let epoch = self.epoch.load(Relaxed);
        let is_over = self.is_over(epoch);
        if is_over {
            self.epoch.store(epoch + 1, Relaxed);
        }
        let (old, over) = self.queue.with(|queue| {
            queue.age(epoch);
            queue.take_old(epoch + u64::from(is_over))
        });
        // After a fork an earlier number may be a batch's again.
        let over = over.max(self.over.load(Relaxed));
        // EDGE ticket (release): the last uses by all readers that were pinned when the ticket was made.
        self.over.store(over, Release);
        Step::Ended { is_over, old }
    }

    /// Whether no reader is pinned to an epoch before this one; notes those that are.
    #[cfg_attr(unc_model, track_caller)]
    fn is_over(&self, epoch: u64) -> bool {
        let mut is_over = true;
        for place in self.readers.iter() {
            let pinned = place.value.state();
            if pinned == epoch || self.bury(place) || pinned == UNPINNED {
                continue;
            }
            place.value.blocks(pinned, now_ns());
            is_over = false;
        }
        is_over
    }

    /// Ends the record of a thread that vanished when another one forked this process.
    fn bury(&self, place: &Place<Record>) -> bool {
        let has_vanished = place.has_vanished();
        if has_vanished {
            // SAFETY: its owner is not in this process, and one thread at a time ends a round (E1).
            unsafe { place.value.bury() };
            self.readers.give_back(place);
        }
        has_vanished
    }

    /// Runs the destructors of what has no reader any more.
    pub(super) fn free(&self, old: Vec<Retired>) -> Garbage {
        let mut rest = Rest { inner: self, items: old.into_iter() };
        let mut freed = Garbage::default();
        running::run(self.address(), || {
            for item in rest.items.by_ref() {
                freed.add(item.bytes());
                // SAFETY: its batch is two epochs old (E3).
                unsafe { item.free() };
            }
        });
        freed
    }

    pub(super) fn waits(&self) -> Garbage {
        let mut waits = self.queue.with(|queue| queue.waits());
        self.readers.iter().for_each(|place| waits += place.value.weight());
        waits
    }

    fn stalled(&self) -> Vec<Stalled> {
        let (now_ns, epoch, holds) = (now_ns(), self.epoch.load(Relaxed), self.waits());
        let blocking = self.readers.iter().filter_map(|place| {
            let pinned = place.value.state();
            let since_ns = place.value.blocked_since_ns(pinned).filter(|_| pinned != UNPINNED)?;
            let since = Duration::from_nanos(now_ns.saturating_sub(since_ns));
            Some(Stalled {
                reader: place.reader(),
                since,
                behind: epoch.saturating_sub(pinned),
                holds,
            })
        });
        blocking.collect()
    }
}

/// Garbage whose destructors did not run yet, because one panicked: freed again with the next batch (I1).
struct Rest<'c> {
    inner: &'c Inner,
    items: vec::IntoIter<Retired>,
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        let items: Vec<Retired> = self.items.by_ref().collect();
        if !items.is_empty() {
            self.inner.queue.with(|queue| queue.add(items));
        }
    }
}

/// Waits until a fence is complete.
#[cfg_attr(unc_model, track_caller)]
pub(super) fn wait(fence: &Fence) -> Result<bool, Refused> {
    fence.wait().map(|()| true)
}

impl Drop for Collector {
    /// Frees everything. No guard is left, since each borrows the collector.
    fn drop(&mut self) {
        self.inner.is_closed.store(true, Relaxed);
        for place in self.inner.readers.iter() {
            self.inner.bury(place);
        }
        let mut panicked = None;
        loop {
            let items = self.inner.queue.with(|queue| {
                let bags = self.inner.readers.iter().flat_map(|place| place.value.take_bag());
                let bags: Vec<Retired> = bags.collect();
                queue.take_all().into_iter().chain(bags).collect::<Vec<_>>()
            });
            if items.is_empty() {
                break;
            }
            for item in items {
                // SAFETY: no guard exists, so no reader (I2).
                let freed = catch_unwind(AssertUnwindSafe(|| unsafe { item.free() }));
                panicked = panicked.or(freed.err());
            }
        }
        if let Some(panic) = panicked.filter(|_| !std::thread::panicking()) {
            resume_unwind(panic);
        }
    }
}

#[cfg(not(unc_model))]
pub(super) fn now_ns() -> u64 {
    uncontended_sys::clock::monotonic_ns()
}

/// The checker knows no time.
#[cfg(unc_model)]
pub(super) fn now_ns() -> u64 {
    0
}
