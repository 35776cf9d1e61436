//! The table of readers that are inside a lock without having changed it: one table for all locks of the program.
//!
//! # State
//! Places, each free or with the mark of a reader: the number of its lock, and that of its thread. Many marks share a
//! place.
//!
//! # Invariants
//! I1: no two threads have one number, nor two locks; when 2^32 - 1 of either were drawn, the next gets none.
//! I2: so a place has the mark of one thread, which alone takes it out again.

#[cfg(not(unc_model))]
use std::cell::Cell;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{AtomicU32, AtomicU64};

/// A thousand places, eight kilobytes: a writer that takes a bias back reads them all. Two under the checker, so that
/// some threads share one.
const BITS: u32 = if cfg!(unc_model) { 1 } else { 10 };

#[cfg(not(unc_model))]
static PLACES: [AtomicU64; 1 << BITS] = [const { AtomicU64::new(FREE) }; 1 << BITS];
#[cfg(not(unc_model))]
static LOCKS: AtomicU32 = AtomicU32::new(0);
#[cfg(unc_model)]
static PLACES: [AtomicU64; 1 << BITS] = [const { AtomicU64::new_static(FREE) }; 1 << BITS];
#[cfg(unc_model)]
static LOCKS: AtomicU32 = AtomicU32::new_static(0);

pub(crate) const FREE: u64 = 0;

/// The mark of the calling thread in lock `lock`; none if the thread has no number.
#[inline]
pub(crate) fn mark(lock: u32) -> Option<u64> {
    let thread = thread();
    (thread != 0).then_some(u64::from(lock) << 32 | u64::from(thread))
}

/// Whether a place that holds `found` has the mark of a reader in `lock`.
#[inline]
pub(crate) fn is_of(found: u64, lock: u32) -> bool {
    found >> 32 == u64::from(lock)
}

/// The place of a mark: the upper bits of a product spread neighbours over the table (Knuth 6.4).
#[inline]
pub(crate) fn place(mark: u64) -> &'static AtomicU64 {
    let spread =
        if cfg!(unc_model) { mark << 63 } else { mark.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
    &PLACES[(spread >> (64 - BITS)) as usize]
}

/// All places.
pub(crate) fn places() -> &'static [AtomicU64] {
    &PLACES
}

/// A number for a lock; none if all are taken.
#[cold]
pub(crate) fn draw_lock() -> Option<u32> {
    draw(&LOCKS)
}

/// Relaxed: numbers are equal to nothing but themselves.
fn draw(drawn: &AtomicU32) -> Option<u32> {
    let next = |last: u32| last.checked_add(1);
    drawn.fetch_update(Relaxed, Relaxed, next).ok().and_then(next)
}

#[cfg(not(unc_model))]
thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(0) };
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// True once in `calls` calls of this thread, for what is too dear to do each time. Each time under the checker.
#[inline]
pub(crate) fn once_in(calls: u32) -> bool {
    #[cfg(not(unc_model))]
    return CALLS.with(|called| {
        called.set(called.get().wrapping_add(1));
        called.get().is_multiple_of(calls)
    });
    #[cfg(unc_model)]
    return calls > 0;
}

/// The calling thread's number; 0 if there was none left.
#[cfg(not(unc_model))]
#[inline]
fn thread() -> u32 {
    static THREADS: AtomicU32 = AtomicU32::new(0);
    #[cold]
    fn drawn(number: &Cell<u32>) -> u32 {
        number.set(draw(&THREADS).unwrap_or(0));
        number.get()
    }
    NUMBER.with(|number| if number.get() == 0 { drawn(number) } else { number.get() })
}

/// The checker's threads share their thread-locals.
#[cfg(unc_model)]
fn thread() -> u32 {
    uncontended_atomic::thread_number() + 1
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_drawn_once_and_then_there_are_none() {
        let drawn = AtomicU32::new(u32::MAX - 2);
        let numbers = [draw(&drawn), draw(&drawn), draw(&drawn), draw(&drawn)];
        assert_eq!(numbers, [Some(u32::MAX - 1), Some(u32::MAX), None, None]);
    }

    #[test]
    fn threads_have_marks_of_their_own_that_stay_the_same() {
        let own = mark(3).unwrap();
        let theirs = std::thread::spawn(|| mark(3).unwrap()).join().unwrap();
        assert_eq!((mark(3), own >> 32, theirs >> 32), (Some(own), 3, 3));
        assert_ne!(own, theirs);
        assert!(is_of(own, 3) && !is_of(own, 4) && !is_of(FREE, 3));
    }

    #[test]
    fn one_call_in_so_many_is_true() {
        assert_eq!((0..320).filter(|_| once_in(32)).count(), 10);
    }

    /// As many threads as half the places: few share one.
    #[test]
    fn marks_spread_over_the_table() {
        let lock = 7 << 32;
        let places: std::collections::BTreeSet<_> =
            (1..=512).map(|thread| (&raw const *place(lock | thread)).addr()).collect();
        assert!(places.len() > 400, "{}", places.len());
    }
}
