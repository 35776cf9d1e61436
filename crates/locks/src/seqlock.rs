//! Readers that change nothing at all: they copy a small value, and again if a writer came between.
//!
//! # Contract
//! A [`SeqLock`] holds a value of a few plain words. A reader gets a copy of a value that some writer wrote as a whole,
//! no older than what happened before the read. Writers come one at a time, by a lock `L`, and never wait for readers.
//!
//! # Weak spot
//! Readers starve: under steady writes a copy that takes longer than the time between two writes never succeeds, so
//! [`SeqLock::read_within`] bounds how often it is tried. A writer that loses its CPU while it writes keeps all readers
//! waiting until it runs again. A copy costs a load a word, so that beyond a few cache lines a lock is cheaper. With
//! two threads and one access in ten a write, an access to 64 bytes takes 0.63 of what std's `RwLock` does, against
//! 0.07 with one in ten thousand (`l2_readers`, AMD EPYC, two CPUs).
//!
//! # State
//! `sequence`: twice the number of writes, and one more while one is under way. `cells`: the value.
//!
//! # Invariants
//! I1: only the holder of `writers` changes the sequence and the value.
//! I2: a copy is a value if the sequence was even before it, and the same after it. Had a word of it come from a later
//!     write, edge seq-odd would show the number of that write; edge seq-even rules out that one is older.
//!
//! # Edges
//! seq-even: `publish` -> `try_read`. The value.
//! seq-odd: `publish`, before the value -> `try_read`, after the copy. That the value is being replaced.
//!
//! # Evidence
//! tests/model_readers.rs, tests/mutants/readers.toml; tests/stress_readers.rs.
//! # Sources
//! Boehm, "Can seqlocks get along with programming language memory models?", MSPC 2012: the fences, and why the
//! value's words are atomics. Lameter, "Effective synchronization on Linux/NUMA systems", Gelato 2005.

use crate::words::{Cells, Words};
use crate::{Futex, HintThenYield, Mutex, Pause, RawLock};
use std::fmt;
#[cfg(unc_model)]
use uncontended_atomic::Named;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU64, fence};

/// A small value that readers copy without writing to memory; `L` lets one writer in at a time.
///
/// ```
/// use uncontended_locks::SeqLock;
/// static POSITION: SeqLock<[f64; 2]> = SeqLock::new([0.0, 0.0]);
/// std::thread::scope(|threads| {
///     threads.spawn(|| (1..=1000).for_each(|step| POSITION.write([f64::from(step); 2])));
///     let [x, y] = POSITION.read();
///     assert!(x == y, "never half of one position and half of another");
/// });
/// POSITION.update(|[x, _]| *x += 1.0);
/// assert_eq!(POSITION.try_read(), Some([1001.0, 1000.0]));
/// ```
pub struct SeqLock<T, L = Futex> {
    sequence: AtomicU64,
    writers: Mutex<(), L>,
    cells: Cells<T>,
}

impl<T: Words> SeqLock<T> {
    /// A value, with the default lock for its writers; `const`.
    #[cfg(not(unc_model))]
    pub const fn new(value: T) -> SeqLock<T> {
        SeqLock::with(Futex::new(), value)
    }

    /// A value, with the default lock for its writers.
    #[cfg(unc_model)]
    pub fn new(value: T) -> SeqLock<T> {
        SeqLock::with(Futex::default(), value)
    }
}

impl<T: Words, L> SeqLock<T, L> {
    /// A value, with a lock for its writers; `const`.
    #[cfg(not(unc_model))]
    pub const fn with(writers: L, value: T) -> SeqLock<T, L> {
        let cells = Cells::new(value);
        SeqLock { sequence: AtomicU64::new(0), writers: Mutex::with(writers, ()), cells }
    }

    /// A value, with a lock for its writers.
    #[cfg(unc_model)]
    pub fn with(writers: L, value: T) -> SeqLock<T, L> {
        let cells = Cells::new(value);
        let sequence = AtomicU64::new(0).named("sequence");
        SeqLock { sequence, writers: Mutex::with(writers, ()), cells }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.cells.into_inner()
    }
}

impl<T: Words, L: RawLock> SeqLock<T, L> {
    /// A copy of the value. If a writer comes between, it copies again; from the sixteenth time on it yields the CPU
    /// now and then. It may take forever if writers come too often: see [`read_within`](SeqLock::read_within).
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn read(&self) -> T {
        let mut pause = HintThenYield::default();
        loop {
            if let Some(value) = self.try_read() {
                return value;
            }
            pause.pause();
        }
    }

    /// A copy of the value; none if `tries` times a writer came between. The caller may then do without it, or exclude
    /// writers: [`update`](SeqLock::update) with a closure that changes nothing returns what it returns.
    ///
    /// The bound is a number of copies, and not a time: between two of them it waits as [`read`](SeqLock::read) does,
    /// and a writer that has lost its CPU uses them up. With 1 it is [`try_read`](SeqLock::try_read); with 0 it returns
    /// none at once.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn read_within(&self, tries: u32) -> Option<T> {
        let mut pause = HintThenYield::default();
        for tried in 0..tries {
            if tried > 0 {
                pause.pause();
            }
            if let Some(value) = self.try_read() {
                return Some(value);
            }
        }
        None
    }

    /// A copy of the value; none if a writer came between, or is there.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn try_read(&self) -> Option<T> {
        // EDGE seq-even (acquire): the value.
        let before = self.sequence.load(Acquire);
        if !before.is_multiple_of(2) {
            return None;
        }
        let copy = self.cells.load();
        // EDGE seq-odd (acquire): of each word of the copy, whether it was being replaced.
        fence(Acquire);
        // SAFETY: if the sequence is still the same, the copy is a value (I2).
        (self.sequence.load(Relaxed) == before).then(|| unsafe { copy.assume_init() })
    }

    /// Replaces the value.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn write(&self, value: T) {
        let _writer = self.writers.lock();
        self.publish(value);
    }

    /// Changes the value, alone among writers, and returns what the closure does. While the closure runs, readers have
    /// the old value; if it panics, that stays.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let _writer = self.writers.lock();
        // SAFETY: no other thread writes, so the copy is a value (I1).
        let mut value = unsafe { self.cells.load().assume_init() };
        let result = change(&mut value);
        self.publish(value);
        result
    }

    /// How often the value was replaced; others may change that at once.
    pub fn writes(&self) -> u64 {
        self.sequence.load(Relaxed) / 2
    }

    /// This thread holds the writers' lock (I1).
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn publish(&self, value: T) {
        let even = self.sequence.load(Relaxed);
        self.sequence.store(even + 1, Relaxed);
        // EDGE seq-odd (release): that the value is being replaced.
        fence(Release);
        self.cells.store(value);
        // EDGE seq-even (release): the value.
        self.sequence.store(even + 2, Release);
    }
}

impl<T: Words + Default, L: RawLock> Default for SeqLock<T, L> {
    fn default() -> SeqLock<T, L> {
        SeqLock::with(L::default(), T::default())
    }
}

impl<T: Words> From<T> for SeqLock<T> {
    fn from(value: T) -> SeqLock<T> {
        SeqLock::new(value)
    }
}

impl<T: Words + fmt::Debug, L: RawLock> fmt::Debug for SeqLock<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_read() {
            Some(value) => f.debug_tuple("SeqLock").field(&value).finish(),
            None => f.write_str("SeqLock(<being written>)"),
        }
    }
}
