//! The C library's mutex around a value, to be measured next to others.
//!
//! # Invariants
//! I1: the mutex is in a box, so it stays where it was made; it is destroyed with its owner, when no thread has it.
//! I2: the value is reached by the thread that has the mutex, until it gives it back.
//! # Sources
//! pthread_mutex_lock(3p).

use std::cell::UnsafeCell;
use std::fmt;

/// A value behind a `pthread_mutex_t` of the default type.
///
/// ```
/// let total = uncontended_sys::c_mutex::CMutex::new(1);
/// assert_eq!(total.with(|total| { *total += 1; *total }), 2);
/// ```
pub struct CMutex<T> {
    raw: Box<UnsafeCell<libc::pthread_mutex_t>>,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time reaches the value (I2), which is sent from one to the next.
unsafe impl<T: Send> Sync for CMutex<T> {}
// SAFETY: no thread has the mutex while it is sent, and it stays in its box (I1).
unsafe impl<T: Send> Send for CMutex<T> {}

impl<T> CMutex<T> {
    /// A value that no thread has.
    pub fn new(value: T) -> CMutex<T> {
        let raw = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        CMutex { raw, value: UnsafeCell::new(value) }
    }

    /// Waits for the mutex, runs `f` on the value, and gives the mutex back, also if `f` panics.
    ///
    /// # Panics
    /// If `f` does, or uses the same value and the C library notices.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        struct Held<'m>(&'m UnsafeCell<libc::pthread_mutex_t>);
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                // SAFETY: this thread has it (I2), and it is there (I1).
                unsafe { libc::pthread_mutex_unlock(self.0.get()) };
            }
        }
        // SAFETY: it is initialised, and stays in its box (I1).
        let failed = unsafe { libc::pthread_mutex_lock(self.raw.get()) };
        assert_eq!(failed, 0, "the C library locks a mutex of the default type");
        let _held = Held(&self.raw);
        // SAFETY: this thread has the mutex (I2).
        f(unsafe { &mut *self.value.get() })
    }
}

impl<T> Drop for CMutex<T> {
    fn drop(&mut self) {
        // SAFETY: no thread has it, since none can reach it (I1).
        unsafe { libc::pthread_mutex_destroy(self.raw.get()) };
    }
}

impl<T> fmt::Debug for CMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CMutex")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_change_is_lost_and_a_panic_gives_it_back() {
        let total = CMutex::new(0);
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| (0..1000).for_each(|_| total.with(|total| *total += 1)));
            }
        });
        let panics = std::panic::AssertUnwindSafe(|| total.with(|_| panic!("with the mutex")));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!(total.with(|total| *total), 4000);
    }
}
