//! Cells: one for each CPU, and shards for threads that have none.
//!
//! # Contract
//! The cells are made at the first use, by `T::default`, so that [`Slots::new`] is `const`. Which ones there are is the
//! same for all structures of the process. A thread's CPU may change at any time: [`Slots::here`] only keeps threads
//! apart, most of the time.
//!
//! # State
//! The first cell, twice: for all, and for sections, which is null where there are none.
//! # Edges
//! made: make -> cells, own. Carries the cells, and what `section::decide` stored before.
//!
//! # Invariants
//! I1: a pointer that is not null is that of [`Shape::len`] cells, which stay until the structure is dropped.

use crate::section;
use crate::shape::Shape;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};
use std::slice;
use uncontended_atomic::Ordering::{AcqRel, Acquire, Release};
use uncontended_atomic::{AtomicPtr, CachePadded};

/// Cells for each CPU of the machine, and some more.
///
/// The thread that uses them first makes them all, and another may drop them, so cells that must not leave their thread
/// are not shared, even if they are `Sync`:
/// ```compile_fail,E0277
/// #[derive(Default)]
/// struct Stays(std::marker::PhantomData<std::sync::MutexGuard<'static, ()>>);
/// fn sync(_: &(impl Sync + ?Sized)) {}
/// sync(&Stays::default());
/// fn shared<T: Sync>() {}
/// shared::<uncontended_percpu::Slots<Stays>>();
/// ```
/// ```compile_fail
/// use uncontended_percpu::Slots;
/// fn shorter<'a>(slots: Slots<&'static u8>) -> Slots<&'a u8> { slots }
/// ```
pub struct Slots<T> {
    /// All cells.
    all: AtomicPtr<CachePadded<T>>,
    /// The same, where sections are used.
    own: AtomicPtr<CachePadded<T>>,
    owns: PhantomData<Box<[T]>>,
}

// SAFETY: a reference reaches references to the cells (I1); the thread that makes them, through one, need not be the
// one that drops them.
unsafe impl<T: Send + Sync> Sync for Slots<T> {}

impl<T> Slots<T> {
    /// No cells yet.
    #[cfg(not(unc_model))]
    pub const fn new() -> Slots<T> {
        let (all, own) = (AtomicPtr::new(null_mut()), AtomicPtr::new(null_mut()));
        Slots { all, own, owns: PhantomData }
    }

    /// No cells yet.
    #[cfg(unc_model)]
    pub fn new() -> Slots<T> {
        let (all, own) = (AtomicPtr::new(null_mut()), AtomicPtr::new(null_mut()));
        Slots { all, own, owns: PhantomData }
    }

    /// The cells that were made.
    pub(crate) fn made(&self) -> &[CachePadded<T>] {
        // EDGE made (acquire)
        match NonNull::new(self.all.load(Acquire)) {
            None => &[],
            // SAFETY: I1.
            Some(first) => unsafe { slice::from_raw_parts(first.as_ptr(), Shape::here().len()) },
        }
    }

    /// The cells that were made, to be changed.
    pub(crate) fn made_mut(&mut self) -> &mut [CachePadded<T>] {
        match NonNull::new(*self.all.get_mut()) {
            None => &mut [],
            // SAFETY: I1; no other thread has the structure.
            Some(first) => unsafe {
                slice::from_raw_parts_mut(first.as_ptr(), Shape::here().len())
            },
        }
    }
}

impl<T: Default> Slots<T> {
    /// The cells for sections: none where there are no sections.
    #[inline(always)]
    pub(crate) fn own(&self) -> Option<NonNull<CachePadded<T>>> {
        // EDGE made (acquire)
        NonNull::new(self.own.load(Acquire)).or_else(|| self.own_made())
    }

    #[cold]
    fn own_made(&self) -> Option<NonNull<CachePadded<T>>> {
        let first = NonNull::from(self.cells()).cast();
        (Shape::here().cpus > 0).then_some(first)
    }

    /// All cells.
    pub(crate) fn cells(&self) -> &[CachePadded<T>] {
        match self.made() {
            [] => self.make(),
            made => made,
        }
    }

    #[cold]
    fn make(&self) -> &[CachePadded<T>] {
        let shape = Shape::here();
        let cells: Box<[CachePadded<T>]> = (0..shape.len()).map(|_| T::default().into()).collect();
        let first = Box::into_raw(cells);
        // EDGE made (release)
        match self.all.compare_exchange(null_mut(), first.cast(), AcqRel, Acquire) {
            Ok(_) if shape.cpus > 0 => {
                // EDGE made (release)
                self.own.store(first.cast(), Release);
            }
            Ok(_) => {}
            // SAFETY: another thread made those of I1 first; no thread has seen these.
            Err(_) => drop(unsafe { Box::from_raw(first) }),
        }
        self.made()
    }

    /// How many cells there are, the same in all structures of the process.
    pub fn len(&self) -> usize {
        Shape::here().len()
    }

    /// Never: there is at least one.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The cell with this number.
    pub fn get(&self, cell: usize) -> Option<&T> {
        self.cells().get(cell).map(|cell| &**cell)
    }

    /// The cell of the CPU that the thread is on, or its shard. Others may use it at the same time.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    /// static SEEN: uncontended_percpu::Slots<AtomicU64> = uncontended_percpu::Slots::new();
    /// SEEN.here().fetch_max(7, Relaxed);
    /// assert_eq!(SEEN.iter().map(|seen| seen.load(Relaxed)).max(), Some(7));
    /// ```
    #[inline]
    pub fn here(&self) -> &T {
        let (cells, shape) = (self.cells(), Shape::here());
        match section::cpu() as usize {
            cpu if cpu < shape.cpus => &cells[cpu],
            _ => &cells[shape.shards().next().unwrap_or(0)],
        }
    }

    /// All cells, in order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.cells().iter().map(|cell| &**cell)
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots::new()
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        if let Some(first) = NonNull::new(*self.all.get_mut()) {
            let cells = std::ptr::slice_from_raw_parts_mut(first.as_ptr(), Shape::here().len());
            // SAFETY: made as a box of this many (I1), and no thread has the structure any more.
            drop(unsafe { Box::from_raw(cells) });
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Slots<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.made()).finish()
    }
}
