//! Stand-ins for `std::sync::{Arc, Weak}`, whose reference counts are part of the execution.
//!
//! # Contract
//! The last handle to be dropped drops the value, and all uses through the other handles happen before that. The
//! checker does not see that edge with `std`'s own `Arc`, and reports the drop as a data race unless threads are joined
//! before it. Each clone and drop is an event, so use this type where the drop matters. An `Arc` or a `Weak` that is
//! never dropped is a leak: it keeps the memory.
//!
//! # State
//! A1: the thread that took `strong` to 0 drops or takes the value; if the execution ended before that, the value is
//!     dropped with the memory. `gone` is set once it was.
//! A2: `weak` counts the `Weak`s. One is counted before it exists and uncounted after its last upgrade.
//!
//! # Edges
//! last: every drop but the last -> the last. Carries all uses of the value.
//! upgraded: a dropped `Weak` -> `get_mut`. Carries the `Arc`s it was upgraded to.
//! unlocked: `get_mut` -> `downgrade`. Carries its read of `strong`: no `Weak` is created while it checks.

#![allow(unsafe_code)]

use super::atomics::{AtomicUsize, Ordering, fence};
use super::named::Named;
use super::{heap, runtime};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::panic::Location as Site;

/// `weak` while `get_mut` checks `strong`.
const LOCKED: usize = usize::MAX;

/// Stands in for `std::sync::Arc`.
pub struct Arc<T: ?Sized>(std::sync::Arc<Counted<T>>);

/// Stands in for `std::sync::Weak`.
pub struct Weak<T: ?Sized>(std::sync::Arc<Counted<T>>);

struct Counted<T: ?Sized> {
    strong: AtomicUsize,
    weak: AtomicUsize,
    gone: Cell<bool>,
    value: UnsafeCell<ManuallyDrop<T>>,
}

// SAFETY: as for `std`'s: shared by reference, and dropped by one thread (A1).
unsafe impl<T: ?Sized + Send + Sync> Send for Counted<T> {}
// SAFETY: shared by reference, and dropped by one thread (A1).
unsafe impl<T: ?Sized + Send + Sync> Sync for Counted<T> {}

impl<T: ?Sized> Counted<T> {
    fn end(&self) {
        if !self.gone.replace(true) {
            // SAFETY: no other handle refers to the value, and nothing has dropped it (A1).
            let value = unsafe { &mut *self.value.get() };
            // SAFETY: no other handle refers to the value, and `gone` is set once (A1).
            unsafe { ManuallyDrop::drop(value) };
        }
    }
}

impl<T: ?Sized> Drop for Counted<T> {
    fn drop(&mut self) {
        self.end();
        heap::unwatch((&raw const *self).cast::<()>() as usize);
    }
}

impl<T> Arc<T> {
    /// Shares `value`.
    #[track_caller]
    pub fn new(value: T) -> Arc<T> {
        let shared = std::sync::Arc::new(Counted {
            strong: AtomicUsize::new(1),
            weak: AtomicUsize::new(0),
            gone: Cell::new(false),
            value: UnsafeCell::new(ManuallyDrop::new(value)),
        });
        heap::watch(&raw const *shared as usize, Site::caller());
        Arc(shared)
    }

    /// Returns the value if this is the only handle.
    ///
    /// # Errors
    /// The `Arc` itself, if there are other handles.
    #[track_caller]
    pub fn try_unwrap(this: Arc<T>) -> Result<T, Arc<T>> {
        use Ordering::{Acquire, Relaxed};
        if this.0.strong.compare_exchange(1, 0, Relaxed, Relaxed).is_err() {
            return Err(this);
        }
        // EDGE last (acquire): all other handles' uses, before the value goes.
        fence(Acquire);
        let this = ManuallyDrop::new(this);
        this.0.gone.set(true);
        // SAFETY: `this` is never dropped, so its share of the memory is moved out (A1).
        let shared = unsafe { std::ptr::read(&this.0) };
        // SAFETY: no other handle refers to the value (A1).
        let value = unsafe { &mut *shared.value.get() };
        // SAFETY: `gone` keeps it from being dropped again (A1).
        Ok(unsafe { ManuallyDrop::take(value) })
    }
}

impl<T> Arc<T> {
    /// Drops this handle and returns the value if it was the last one.
    #[track_caller]
    pub fn into_inner(this: Arc<T>) -> Option<T> {
        let this = ManuallyDrop::new(this);
        // SAFETY: `this` is never dropped, so its share of the memory is moved out (A1).
        let shared = unsafe { std::ptr::read(&this.0) };
        // EDGE last (release): this handle's uses.
        if shared.strong.fetch_sub(1, Ordering::Release) != 1 {
            return None;
        }
        // EDGE last (acquire): all other handles' uses, before the value goes.
        fence(Ordering::Acquire);
        shared.gone.set(true);
        // SAFETY: no other handle refers to the value (A1).
        let value = unsafe { &mut *shared.value.get() };
        // SAFETY: `gone` keeps it from being dropped again (A1).
        Some(unsafe { ManuallyDrop::take(value) })
    }
}

impl<T: ?Sized> Arc<T> {
    /// The address of the value.
    pub fn as_ptr(this: &Arc<T>) -> *const T {
        &raw const **this
    }

    /// Whether both share the same value.
    pub fn ptr_eq(one: &Arc<T>, other: &Arc<T>) -> bool {
        std::sync::Arc::ptr_eq(&one.0, &other.0)
    }

    /// The value, if there is no other `Arc` and no `Weak` that could be upgraded.
    #[track_caller]
    pub fn get_mut(this: &mut Arc<T>) -> Option<&mut T> {
        use Ordering::{Acquire, Relaxed, Release};
        // EDGE upgraded (acquire): a dropped `Weak` has left its upgrades in `strong`, which is read after it.
        this.0.weak.compare_exchange(0, LOCKED, Acquire, Relaxed).ok()?;
        // EDGE last (acquire): all other handles' uses.
        let is_only = this.0.strong.load(Acquire) == 1;
        // EDGE unlocked (release): a `Weak` created after this did not exist when `strong` was read.
        this.0.weak.store(0, Release);
        // SAFETY: the only `Arc`, borrowed mutably, and nothing to create another one from (A1, A2).
        is_only.then(|| unsafe { &mut **this.0.value.get() })
    }

    /// A handle that does not keep the value alive.
    #[track_caller]
    pub fn downgrade(this: &Arc<T>) -> Weak<T> {
        use Ordering::{Acquire, Relaxed};
        let mut count = this.0.weak.load(Relaxed);
        loop {
            if count == LOCKED {
                super::spin_loop();
                count = this.0.weak.load(Relaxed);
                continue;
            }
            // EDGE unlocked (acquire): `get_mut` has finished its check.
            match this.0.weak.compare_exchange(count, count + 1, Acquire, Relaxed) {
                Ok(_) => break,
                Err(now) => count = now,
            }
        }
        Weak(std::sync::Arc::clone(&this.0))
    }

    /// The number of `Arc`s at some moment.
    #[track_caller]
    pub fn strong_count(this: &Arc<T>) -> usize {
        this.0.strong.load(Ordering::Relaxed)
    }
}

impl<T> Named for Arc<T> {
    /// Names its reference count.
    fn named(mut self, name: &'static str) -> Arc<T> {
        if let Some(counted) = std::sync::Arc::get_mut(&mut self.0) {
            counted.strong.word_mut().name(name);
        }
        self
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Arc<T> {
        self.0.strong.fetch_add(1, Ordering::Relaxed);
        Arc(std::sync::Arc::clone(&self.0))
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[track_caller]
    fn drop(&mut self) {
        if runtime::is_ending() {
            return; // The counts may be ahead of this run (A1): the value goes with the memory.
        }
        // EDGE last (release): this handle's uses.
        if self.0.strong.fetch_sub(1, Ordering::Release) == 1 {
            // EDGE last (acquire): all other handles' uses, before the value goes.
            fence(Ordering::Acquire);
            self.0.end();
        }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: only shared references while an `Arc` exists (A1); `get_mut` borrows the only one.
        unsafe { &*self.0.value.get() }
    }
}

impl<T: ?Sized> Weak<T> {
    /// The value, if it still exists.
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        use Ordering::{Acquire, Relaxed};
        let mut count = self.0.strong.load(Relaxed);
        while count > 0 {
            match self.0.strong.compare_exchange(count, count + 1, Acquire, Relaxed) {
                Ok(_) => return Some(Arc(std::sync::Arc::clone(&self.0))),
                Err(now) => count = now,
            }
        }
        None
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Weak<T> {
        self.0.weak.fetch_add(1, Ordering::Relaxed);
        Weak(std::sync::Arc::clone(&self.0))
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    #[track_caller]
    fn drop(&mut self) {
        // EDGE upgraded (release): the `Arc` it was upgraded to is counted.
        self.0.weak.fetch_sub(1, Ordering::Release);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Weak")
    }
}
