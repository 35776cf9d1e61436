//! A value that one thread at a time changes, for a few instructions. A thread that finds it taken looks elsewhere, or
//! yields, and soon sleeps: under real-time scheduling it may be the one that keeps the holder from its CPU.
//!
//! # Contract
//! No code of a user runs inside. After a fork the child's latches work: one that a vanished thread was in is opened,
//! and what was inside leaks, since it may be half changed; its type says what takes its place ([`Reopened`]).
//!
//! # State
//! `held`: 0, or the number of the process whose thread is inside.
//!
//! # Invariants
//! I1: the thread that changed `held` from 0, or from what a vanished thread left, is alone inside until it stores 0.
//!
//! # Edges
//! latch: `leave` -> `enter`. What the last thread did inside, and before: unlinked objects among it.
//!
//! # Evidence
//! tests/model_hazards.rs, tests/mutants/hazards.toml; tests/fork.rs.

use crate::thread::forks;
use std::mem;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU32, UnsafeCell};

const FREE: u32 = 0;

/// Lets other threads run: after a number of tries, those of a lower priority too.
pub(crate) fn pause(tries: usize) {
    #[cfg(not(unc_model))]
    if tries >= 32 {
        return std::thread::sleep(std::time::Duration::from_micros(50));
    }
    let _ = tries;
    uncontended_atomic::yield_now();
}

/// What can be in a latch.
pub(crate) trait Reopened: Default {
    /// What takes the place of a value that a vanished thread was changing. Numbers in it can be read; its objects may
    /// be in any state.
    fn reopened(_half_changed: &Self) -> Self {
        Self::default()
    }
}

impl Reopened for () {}

#[derive(Debug)]
pub(crate) struct Latch<T> {
    held: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time is inside (I1).
unsafe impl<T: Send> Sync for Latch<T> {}

impl<T> Latch<T> {
    #[cfg(not(unc_model))]
    pub(crate) const fn new(value: T) -> Latch<T> {
        Latch { held: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    #[cfg(unc_model)]
    pub(crate) fn new(value: T) -> Latch<T> {
        Latch { held: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }
}

impl<T: Reopened> Latch<T> {
    /// Changes the value, unless another thread is inside. `change` does not panic.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn try_with<R>(&self, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.enter().then(|| {
            // SAFETY: this thread is alone inside (I1).
            let result = self.value.with_mut(|value| change(unsafe { &mut *value }));
            self.leave();
            result
        })
    }

    /// Changes the value, when no other thread is inside.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let mut change = Some(change);
        let mut tries = 0;
        loop {
            let result = self.try_with(|value| change.take().map(|change| change(value)));
            if let Some(result) = result.flatten() {
                return result;
            }
            pause(tries);
            tries += 1;
        }
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn enter(&self) -> bool {
        let own = forks();
        // EDGE latch (acquire): what the last thread inside did.
        match self.held.compare_exchange(FREE, own, Acquire, Relaxed) {
            Ok(_) => true,
            Err(holder) if holder == own => false,
            Err(vanished) => self.open(vanished, own),
        }
    }

    /// Enters what a thread was in when another one forked this process.
    #[cold]
    fn open(&self, vanished: u32, own: u32) -> bool {
        // Relaxed: the fork ordered all that this process has from its parent.
        let is_open = self.held.compare_exchange(vanished, own, Relaxed, Relaxed).is_ok();
        if is_open {
            let half_changed = self.value.with_mut(|value| {
                // SAFETY: this thread is alone inside (I1).
                let value = unsafe { &mut *value };
                let instead = T::reopened(value);
                mem::replace(value, instead)
            });
            mem::forget(half_changed);
        }
        is_open
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn leave(&self) {
        // EDGE latch (release): what this thread did.
        self.held.store(FREE, Release);
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;

    impl Reopened for Vec<i32> {}

    #[test]
    fn what_a_vanished_thread_was_in_is_opened_without_what_was_inside() {
        let latch = Latch::new(vec![1]);
        assert_eq!(latch.try_with(|inside| inside.push(2)), Some(()));
        latch.held.store(forks(), Relaxed);
        assert_eq!(latch.try_with(|inside| inside.len()), None);
        latch.held.store(forks() + 7, Relaxed);
        assert_eq!(latch.with(|inside| inside.len()), 0);
        assert_eq!(latch.with(|inside| mem::replace(inside, vec![3])), []);
        assert_eq!(latch.with(mem::take), [3]);
    }
}
