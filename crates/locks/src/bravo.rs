//! Readers that are biased: while no thread writes, a reader shows itself in a table and changes no word of the lock.
//!
//! # Contract
//! Of any lock for readers it makes one whose readers do not disturb each other. The first reader goes in by the inner
//! lock, and biases the lock. From then on a reader takes a place in a table that all locks share, unless it is taken.
//! A writer takes the inner lock, then takes the bias back, and waits for the readers in the table. For nine times as
//! long as that took, in nanoseconds, readers use the inner lock: writers lose at most a tenth of their time to it.
//!
//! # Weak spot
//! A writer that finds a bias reads the whole table, a thousand places, and waits for its readers, about a microsecond
//! without any; if it sleeps for one, a membarrier too. With more than one write in a few dozen microseconds readers
//! mostly use the inner lock, and read a clock once in 32 times: with one access in a hundred a write, one thread alone
//! takes 1.22 times as long as with std's `RwLock`, and eight 1.56 times; with one in ten, 1.33 and 3.5 times
//! (`l2_readers`, AMD EPYC, two CPUs). A guard that is leaked keeps its place in the table.
//! After 2^32 threads, or biased locks, those that are new go by the inner lock. A thread that reads twice at a time
//! waits for itself if a writer came between.
//!
//! # State
//! `number`: of this lock; 0 until it is biased for the first time. `bias`: the number while it is biased, or 0.
//! `inhibited_until_ns`: not biased before. `revoking`: where a writer sleeps that waits for a reader in the table.
//!
//! # Invariants
//! I1: the number never changes once it is not 0.
//! I2: the bias changes from 0 only while the inner lock is held, for reading or writing, and to 0 only while it is
//!     held for writing.
//! I3: a reader that finds the bias after it put its mark into its place is inside until it takes the mark out. The
//!     writer that takes the bias back finds the mark.
//! I4: a thread that reads n times has one mark or none, and the inner lock for the rest; so a thread that finds its
//!     mark takes it out, and one that does not gives the inner lock back.
//!
//! # Edges
//! bravo-bias: `bias`, `try_write` -> `show`. What the last writer did.
//! bravo-out: `hide` -> `revoke`, `try_write`, `show` (the next in that place). What the reader did.
//!
//! # Evidence
//! tests/model_readers.rs, tests/mutants/readers.toml; tests/stress_readers.rs.
//! # Sources
//! Dice and Kogan, "BRAVO: Biased Locking for Reader-Writer Locks", USENIX ATC 2019. Different from it: marks name the
//! lock by a number, since an address would outlive a lock whose guard was leaked, and the thread, so that no token is
//! passed from `read` to `unlock_read`; a thousand places instead of four; the clock is read less often.

use crate::visible::{FREE, draw_lock, is_of, mark, once_in, place, places};
use crate::{Deadline, PhaseFair, RawRwLock};
use std::time::Duration;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use uncontended_atomic::{AtomicU32, AtomicU64, Named, fence};
use uncontended_wait::Sleepers;

const UNBIASED: u32 = 0;
/// How often the time that it took to take the bias back passes before the next bias.
const INHIBITED_FOR: u64 = 9;
/// A thread looks at the clock once in that many reads by the inner lock.
const READS_PER_LOOK: u32 = 32;

/// Biased readers over a lock for readers. 32 bytes and the inner lock.
///
/// ```
/// use uncontended_locks::{Bravo, RwLock};
/// static LIMIT: RwLock<u32, Bravo> = RwLock::with(Bravo::new(), 5);
/// std::thread::scope(|threads| {
///     for _ in 0..4 {
///         threads.spawn(|| assert!((1..10_000).all(|_| *LIMIT.read() >= 5)));
///     }
///     *LIMIT.write() += 1;
/// });
/// ```
#[derive(Debug)]
pub struct Bravo<L = PhaseFair> {
    number: AtomicU32,
    bias: AtomicU32,
    inhibited_until_ns: AtomicU64,
    revoking: Sleepers,
    inner: L,
}

impl<L> Bravo<L> {
    /// A lock that is free, over one that is; `const`.
    #[cfg(not(unc_model))]
    pub const fn over(inner: L) -> Bravo<L> {
        Bravo {
            number: AtomicU32::new(0),
            bias: AtomicU32::new(UNBIASED),
            inhibited_until_ns: AtomicU64::new(0),
            revoking: Sleepers::new(),
            inner,
        }
    }
}

impl Bravo {
    /// A lock that is free, over the default one; `const`. Over another: `Bravo::over(PhaseFair::<Park>::new())`.
    #[cfg(not(unc_model))]
    pub const fn new() -> Bravo {
        Bravo::over(PhaseFair::new())
    }
}

impl<L: Default> Default for Bravo<L> {
    fn default() -> Bravo<L> {
        Bravo {
            number: AtomicU32::new(0).named("number"),
            bias: AtomicU32::new(UNBIASED).named("bias"),
            inhibited_until_ns: AtomicU64::new(0).named("inhibited until"),
            revoking: Sleepers::new(),
            inner: L::default(),
        }
    }
}

fn now_ns() -> u64 {
    Deadline::after(Duration::ZERO).as_ns()
}

impl<L: RawRwLock> Bravo<L> {
    /// Whether readers use the table; others may change that at once.
    pub fn is_biased(&self) -> bool {
        self.bias.load(Relaxed) != UNBIASED
    }

    /// Goes in by the table, or not at all.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn show(&self) -> bool {
        let lock = self.bias.load(Relaxed);
        if lock == UNBIASED {
            return false;
        }
        let Some(mark) = mark(lock) else { return false };
        let place = place(mark);
        // SeqCst: keeps the mark before the load of the bias below, as the fence in `take_back` does the other way
        // round (I3). A prepaid barrier would save nothing: the place may be wanted by others, so that it takes an
        // exchange, which is a full fence on x86.
        // EDGE bravo-out (acquire): what the last reader in this place did, for the writer that finds it free.
        if place.compare_exchange(FREE, mark, SeqCst, Relaxed).is_err() {
            return false;
        }
        // SeqCst: after the mark, as said above.
        // EDGE bravo-bias (acquire): what the last writer did.
        if self.bias.load(SeqCst) == lock {
            return true;
        }
        self.hide(place);
        false
    }

    /// Takes this thread's mark out of its place.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn hide(&self, place: &AtomicU64) {
        // EDGE bravo-out (release): what this reader did.
        place.store(FREE, Release);
        self.revoking.wake();
    }

    /// Biases the lock, if it is time. This thread holds the inner lock for reading (I2).
    #[cfg_attr(unc_model, track_caller)]
    fn bias(&self) {
        if self.is_biased() {
            return;
        }
        let until = self.inhibited_until_ns.load(Relaxed);
        // A lock that was never written is biased at once; of the others the clock is dearer than what is guarded.
        if until != 0 && !(once_in(READS_PER_LOOK) && Deadline::at_ns(until).has_passed()) {
            return;
        }
        let mut number = self.number.load(Relaxed);
        if number == 0 {
            let Some(drawn) = draw_lock() else { return };
            // I1
            number = match self.number.compare_exchange(0, drawn, Relaxed, Relaxed) {
                Ok(_) => drawn,
                Err(found) => found,
            };
        }
        // EDGE bravo-bias (release): what the last writer did, which this thread has by the inner lock.
        self.bias.store(number, Release);
    }

    /// Takes the bias back, if there is one; returns the number of the lock then. This thread holds the inner lock for
    /// writing (I2). Readers that find the bias from before are in the table (I3).
    #[cfg_attr(unc_model, track_caller)]
    fn take_back(&self) -> Option<u32> {
        let lock = self.bias.load(Relaxed);
        if lock == UNBIASED {
            return None;
        }
        self.bias.store(UNBIASED, Relaxed);
        // SeqCst: keeps this store before the loads of the places, as the exchange in `show` does the other way round.
        fence(SeqCst);
        Some(lock)
    }

    /// Takes the bias back, and waits for the readers in the table.
    #[cfg_attr(unc_model, track_caller)]
    fn revoke(&self) {
        let Some(lock) = self.take_back() else { return };
        let begun = now_ns();
        for place in places() {
            // EDGE bravo-out (acquire): what the reader did.
            if is_of(place.load(Acquire), lock) {
                // EDGE bravo-out (acquire): what the reader did.
                self.revoking.sleep_until(|| !is_of(place.load(Acquire), lock));
            }
        }
        let ended = now_ns();
        self.inhibited_until_ns.store(ended + INHIBITED_FOR * (ended - begun), Relaxed);
    }
}

// SAFETY: a writer has the inner lock, and has waited for the readers in the table (bravo-out), which are all that
// the inner lock does not know of (I3); a reader in the table has found the bias that a holder of the inner lock set
// after the last writer (bravo-bias).
unsafe impl<L: RawRwLock> RawRwLock for Bravo<L> {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn read(&self) {
        if !self.show() {
            self.inner.read();
            self.bias();
        }
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn try_read(&self) -> bool {
        if self.show() {
            return true;
        }
        let taken = self.inner.try_read();
        if taken {
            self.bias();
        }
        taken
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    unsafe fn unlock_read(&self) {
        // Of a thread with a mark in the table it is the number that the mark has (I1).
        let mark = mark(self.number.load(Relaxed));
        let own = mark.map(|mark| (mark, place(mark)));
        match own.filter(|(mark, place)| place.load(Relaxed) == *mark) {
            Some((_, place)) => self.hide(place),
            // SAFETY: the caller reads, and has no mark, so it has the inner lock (I4).
            None => unsafe { self.inner.unlock_read() },
        }
    }

    #[cfg_attr(unc_model, track_caller)]
    fn write(&self) {
        self.inner.write();
        self.revoke();
    }

    #[cfg_attr(unc_model, track_caller)]
    fn try_write(&self) -> bool {
        if !self.inner.try_write() {
            return false;
        }
        let Some(lock) = self.take_back() else { return true };
        // EDGE bravo-out (acquire): what the readers did.
        if !places().iter().any(|place| is_of(place.load(Acquire), lock)) {
            return true;
        }
        // Its readers are still in the table, so a writer has to look there (I3).
        // EDGE bravo-bias (release): what the last writer did.
        self.bias.store(lock, Release);
        // SAFETY: this thread took it above, and leaves the readers in the table to the next writer (I3).
        unsafe { self.inner.unlock_write() };
        false
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    unsafe fn unlock_write(&self) {
        // SAFETY: the caller acts for the holder, which has the inner lock, and there is no bias (I2).
        unsafe { self.inner.unlock_write() };
    }

    fn is_locked(&self) -> bool {
        let lock = self.number.load(Relaxed);
        let shows = || places().iter().any(|place| is_of(place.load(Relaxed), lock));
        self.inner.is_locked() || (lock != 0 && shows())
    }
}
