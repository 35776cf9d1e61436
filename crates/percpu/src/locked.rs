//! A value per CPU, each behind a lock that its own CPU takes without a locked instruction.
//!
//! # Contract
//! [`PerCpu::here`] takes the lock of the thread's CPU by a section and gives it back by a store. If another thread has
//! it, which was preempted or has moved to another CPU, it takes a shard's by an atomic exchange. Any thread may
//! [`take`](PerCpu::take) any value: that revokes the CPU's right to its own lock, with an interrupt on that CPU, until
//! the guard is dropped. No thread waits. A guard that is never dropped keeps one value; a child of a fork finds those
//! taken that other threads had.
//!
//! # State
//! Each cell has a word: free, held, or taken away from the CPU.
//! # Edges
//! give_back: the guard's drop -> here, shard, take. Carries the value.
//!
//! # Invariants
//! I1: a cell's value is reached by the thread that changed its word from free: a section of its CPU, or the thread
//!     that locked these out (`away.rs`), or for a shard, an atomic exchange.
//! # Evidence
//! tests/model.rs: sections and a taker; tests/faults.rs.
//! # Sources
//! The document on restartable sequences from which this crate comes calls such a lock revocable; D. Dice, M. Moir and
//! W. Scherer, Quickly Reacquirable Locks, 2003.

use crate::away::{NotTaken, Trying};
use crate::section::{self, End};
use crate::shape::Shape;
use crate::slots::Slots;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU64, UnsafeCell, fence};

const FREE: u64 = 0;
const HELD: u64 = 1;
const AWAY: u64 = 2;

#[derive(Debug, Default)]
struct Locked<T> {
    word: AtomicU64,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time reaches the value (I1), which is sent from one to the next.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    /// Changes the word from free to `state`, unless it is not free.
    fn try_change(&self, state: u64) -> bool {
        // EDGE give_back (acquire)
        self.word.compare_exchange(FREE, state, Acquire, Relaxed).is_ok()
    }
}

/// Values, made by `T::default` at the first use.
///
/// ```
/// static SEEN: uncontended_percpu::PerCpu<Vec<u32>> = uncontended_percpu::PerCpu::new();
/// if let Some(mut seen) = SEEN.here() {
///     seen.push(7);
/// }
/// let all = (0..SEEN.len()).filter_map(|cell| SEEN.take(cell).ok());
/// assert_eq!(all.map(|seen| seen.len()).sum::<usize>(), 1);
/// ```
///
/// What must not leave its thread is not shared, and a guard is no more than a `&mut T`:
/// ```compile_fail,E0277
/// fn shared(_: &(impl Sync + ?Sized)) {}
/// shared(&uncontended_percpu::PerCpu::<std::rc::Rc<u8>>::new());
/// ```
/// ```compile_fail,E0277
/// fn shared(_: &(impl Sync + ?Sized)) {}
/// let values = uncontended_percpu::PerCpu::<std::cell::Cell<u8>>::new();
/// shared(&values.here());
/// ```
/// Values of what lives long are none of what lives shorter, which could be stored then:
/// ```compile_fail
/// use uncontended_percpu::PerCpu;
/// fn shorter<'a>(values: PerCpu<&'static str>) -> PerCpu<&'a str> { values }
/// ```
/// ```compile_fail
/// use uncontended_percpu::Guard;
/// fn shorter<'g, 'a>(value: Guard<'g, &'static str>) -> Guard<'g, &'a str> { value }
/// ```
#[derive(Debug)]
pub struct PerCpu<T> {
    cells: Slots<Locked<T>>,
    trying: Trying,
}

impl<T> PerCpu<T> {
    /// No values yet.
    #[cfg(not(unc_model))]
    pub const fn new() -> PerCpu<T> {
        PerCpu { cells: Slots::new(), trying: Trying::new() }
    }

    /// No values yet.
    #[cfg(unc_model)]
    pub fn new() -> PerCpu<T> {
        PerCpu { cells: Slots::new(), trying: Trying::new() }
    }
}

impl<T> Default for PerCpu<T> {
    fn default() -> PerCpu<T> {
        PerCpu::new()
    }
}

impl<T: Default> PerCpu<T> {
    /// The value of this CPU, or a shard's; none if these are all in use.
    #[inline]
    pub fn here(&self) -> Option<Guard<'_, T>> {
        let (cells, cpus) = (self.cells.cells(), Shape::here().cpus);
        loop {
            let cpu = section::cpu();
            if cpu as usize >= cpus {
                return self.shard();
            }
            let cell = &cells[cpu as usize];
            // SAFETY: the word lives, and I1 says what changes it from free.
            match unsafe { section::compare_and_store(&cell.word, cpu, FREE, HELD) } {
                End::Committed => {
                    // EDGE give_back (acquire)
                    fence(Acquire);
                    return Some(Guard::of(cell));
                }
                End::Elsewhere => {}
                End::Differs | End::Full => return self.shard(),
            }
        }
    }

    #[cold]
    fn shard(&self) -> Option<Guard<'_, T>> {
        let cells = self.cells.cells();
        let mut shards = Shape::here().shards().map(|shard| &*cells[shard]);
        shards.find(|cell| cell.try_change(HELD)).map(Guard::of)
    }

    /// How many values there are: of CPUs, and shards.
    pub fn len(&self) -> usize {
        Shape::here().len()
    }

    /// Never: there is at least one.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The value with this number, below [`len`](PerCpu::len), from any CPU. A CPU is interrupted for it if it runs a
    /// thread of this process.
    ///
    /// # Errors
    /// It was not taken.
    pub fn take(&self, cell: usize) -> Result<Guard<'_, T>, NotTaken> {
        let number = cell;
        let cell = &**self.cells.cells().get(number).ok_or(NotTaken::NoSuchCell)?;
        if number >= Shape::here().cpus {
            return cell.try_change(HELD).then(|| Guard::of(cell)).ok_or(NotTaken::InUse);
        }
        self.trying.lock_out(
            number as u32,
            || cell.try_change(AWAY).then_some(()),
            || cell.word.load(Relaxed) == AWAY,
            |()| _ = cell.word.compare_exchange(AWAY, FREE, Relaxed, Relaxed),
        )?;
        Ok(Guard::of(cell))
    }

    /// All values that were made, those of leaked guards included: no other thread has the structure.
    ///
    /// ```
    /// let mut seen = uncontended_percpu::PerCpu::<Vec<u32>>::new();
    /// std::mem::forget(seen.here().map(|mut seen| seen.push(7)));
    /// assert_eq!(seen.values_mut().map(|seen| seen.len()).sum::<usize>(), 1);
    /// ```
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.cells.made_mut().iter_mut().map(|cell| cell.value.get_mut())
    }
}

/// A value that this thread has, until it is dropped.
pub struct Guard<'g, T> {
    cell: &'g Locked<T>,
    like: PhantomData<&'g mut T>,
}

impl<'g, T> Guard<'g, T> {
    fn of(cell: &'g Locked<T>) -> Guard<'g, T> {
        Guard { cell, like: PhantomData }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this thread has the value (I1), for as long as the guard is borrowed.
        self.cell.value.with(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has the value (I1), for as long as the guard is borrowed.
        self.cell.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // EDGE give_back (release): sections leave at the word until now, so no other thread changes it.
        self.cell.word.store(FREE, Release);
    }
}

impl<T: fmt::Debug> fmt::Debug for Guard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
