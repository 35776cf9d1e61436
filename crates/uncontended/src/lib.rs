//! What programs use of Uncontended.
//!
//! Today: annotations, which make a lock of one's own (a spinlock that the compiler inlines, say) a row in the report of
//! `unc run`. C and C++ have the same in `include/uncontended.h`.
//!
//! ```
//! use std::sync::atomic::{AtomicBool, Ordering::{Acquire, Relaxed, Release}};
//!
//! struct Spin(AtomicBool);
//!
//! impl Spin {
//!     fn lock(&self) {
//!         if self.0.swap(true, Acquire) {
//!             uncontended::wait_begin!(self);
//!             while self.0.swap(true, Acquire) {
//!                 std::hint::spin_loop();
//!             }
//!         }
//!         uncontended::acquired!(self);
//!     }
//!
//!     fn unlock(&self) {
//!         uncontended::released!(self);
//!         self.0.store(false, Release);
//!     }
//! }
//!
//! let spin = Spin(AtomicBool::new(false));
//! spin.lock();
//! spin.unlock();
//! assert!(!spin.0.load(Relaxed));
//! ```
//!
//! # Contract
//! Each macro takes a reference to whatever stands for the lock; only its address counts. Without an observer a macro costs
//! a load, a comparison and a branch not taken; nothing is linked but the C library.
#![forbid(unsafe_code)]

#[doc(hidden)]
pub use uncontended_sys::annotate as __annotate;

/// The calling thread begins to wait for the lock; to be called before the first moment of waiting.
#[macro_export]
macro_rules! wait_begin {
    ($lock:expr) => {
        $crate::__annotate::wait_begin(::core::ptr::from_ref($lock))
    };
}

/// The calling thread has the lock, waited for or not.
#[macro_export]
macro_rules! acquired {
    ($lock:expr) => {
        $crate::__annotate::acquired(::core::ptr::from_ref($lock))
    };
}

/// The calling thread is about to give the lock back.
#[macro_export]
macro_rules! released {
    ($lock:expr) => {
        $crate::__annotate::released(::core::ptr::from_ref($lock))
    };
}

/// The calling thread stops waiting, without the lock.
#[macro_export]
macro_rules! gave_up {
    ($lock:expr) => {
        $crate::__annotate::gave_up(::core::ptr::from_ref($lock))
    };
}
