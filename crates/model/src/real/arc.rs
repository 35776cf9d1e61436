//! A stand-in for `std::sync::Arc`: its counting is part of the execution.
//!
//! # Contract
//! The last one to be dropped drops the value, and knows of everything that was done through the others. With `std`'s own
//! `Arc` the checker does not see that edge, and takes the drop for a data race unless threads are joined before it.
//! Each clone and drop is an event, so use it where the drop matters.
//!
//! # Edges
//! last: every drop but the last -> the last. Carries all uses of the value.

use super::atomics::{AtomicUsize, Ordering, fence};
use std::fmt;
use std::ops::Deref;

/// Stands in for `std::sync::Arc`.
pub struct Arc<T: ?Sized>(std::sync::Arc<Counted<T>>);

struct Counted<T: ?Sized> {
    count: AtomicUsize,
    value: T,
}

impl<T> Arc<T> {
    /// Shares `value`.
    #[track_caller]
    pub fn new(value: T) -> Arc<T> {
        Arc(std::sync::Arc::new(Counted { count: AtomicUsize::new(1), value }))
    }
}

impl<T: ?Sized> Arc<T> {
    /// Whether both share the same value.
    pub fn ptr_eq(one: &Arc<T>, other: &Arc<T>) -> bool {
        std::sync::Arc::ptr_eq(&one.0, &other.0)
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Arc<T> {
        self.0.count.fetch_add(1, Ordering::Relaxed);
        Arc(std::sync::Arc::clone(&self.0))
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        // EDGE last (release): this one's uses.
        if self.0.count.fetch_sub(1, Ordering::Release) == 1 {
            // EDGE last (acquire): all others' uses, before the value goes.
            fence(Ordering::Acquire);
        }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.value.fmt(f)
    }
}
