//! The facade of Uncontended for programs.
//!
//! - [`ring`]: pass work from one thread to another: one producer and one consumer, many producers, or a broadcast.
//!   Both sides poll or sleep, and sleeping costs the other side a load and a branch.
//! - [`wait`]: the building blocks of sleeping: event counts, sleepers, deadlines.
//! - [`locks`]: locks, one file an algorithm, for where sharing has to stay.
//! - [`fence`]: asymmetric fences, free for the side that runs often.
//! - [`reclaim`]: hazard pointers and epochs: memory that threads read without locks, freed when no reader is left.
//! - [`percpu`]: counters, free lists and locks per CPU, by restartable sequences.
//! - `model`, with the feature of that name: the checker, for your own lock-free code.
//! - Annotations, which give a lock of your own (for example an inlined spinlock) a row in the report of `unc run`, and
//!   tell it which parts of your threads' work belong together ([`span!`]).
//!
//! For C and C++ there are the annotations in `include/uncontended.h`, which needs no library, and event counts,
//! rings, records, lanes and broadcasts in `include/uncontended_lib.h` and, for C++17, `include/uncontended.hpp`
//! (feature `c`).
//!
//! ```
//! let (mut producer, mut consumer) = uncontended::ring::spsc::blocking(64)?;
//! let worker = std::thread::spawn(move || {
//!     let mut sum = 0;
//!     while let Some(order) = consumer.pop_wait() {
//!         sum += order;
//!     }
//!     sum
//! });
//! (1..=1000).try_for_each(|order| producer.push_wait(order)).expect("the worker is alive");
//! drop(producer);
//! assert_eq!(worker.join().unwrap(), 500_500);
//! # Ok::<(), uncontended::ring::CapacityError>(())
//! ```
//!
//! An annotated lock:
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
//! Each annotation takes a reference to anything that stands for the lock; only its address matters. Without an
//! observer a macro costs a load, a comparison and a branch not taken, and links nothing but the C library.
#![deny(unsafe_code)]

#[cfg(feature = "c")]
#[allow(unsafe_code)]
pub mod c;

pub use uncontended_atomic::CachePadded;
pub use uncontended_fence as fence;
pub use uncontended_locks as locks;
#[cfg(feature = "model")]
pub use uncontended_model as model;
pub use uncontended_percpu as percpu;
pub use uncontended_reclaim as reclaim;
pub use uncontended_ring as ring;
#[doc(hidden)]
pub use uncontended_sys::annotate as __annotate;
pub use uncontended_wait as wait;

/// The calling thread begins to wait for the lock. Call it before the first moment of waiting.
#[macro_export]
macro_rules! wait_begin {
    ($lock:expr) => {
        $crate::__annotate::wait_begin(::core::ptr::from_ref($lock))
    };
}

/// The calling thread has acquired the lock, after a wait or not.
#[macro_export]
macro_rules! acquired {
    ($lock:expr) => {
        $crate::__annotate::acquired(::core::ptr::from_ref($lock))
    };
}

/// The calling thread is about to release the lock.
#[macro_export]
macro_rules! released {
    ($lock:expr) => {
        $crate::__annotate::released(::core::ptr::from_ref($lock))
    };
}

/// The calling thread stops waiting without the lock.
#[macro_export]
macro_rules! gave_up {
    ($lock:expr) => {
        $crate::__annotate::gave_up(::core::ptr::from_ref($lock))
    };
}

/// A part of the program's work, until the value is dropped: a request, say. `unc run` reports what the slowest spans
/// of a name waited for, next to the median ones.
///
/// The name is a literal without NUL; the report has its first 39 bytes. Spans may nest. If the work
/// continues in another thread, send it the value.
///
/// ```
/// fn handle(request: &str) -> usize {
///     let _span = uncontended::span!("request");
///     request.len()
/// }
/// assert_eq!(handle("GET /"), 5);
/// ```
#[macro_export]
macro_rules! span {
    ($name:literal) => {{
        const NAME: &::core::ffi::CStr =
            match ::core::ffi::CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a span's name has no NUL in it"),
            };
        $crate::__annotate::Span::begin(NAME)
    }};
}

/// Compiles and runs the examples of the book's pages.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../docs/choosing_a_primitive.md")]
    mod choosing {}
    #[doc = include_str!("../docs/coming_from_parking_lot.md")]
    mod coming {}
    #[doc = include_str!("../docs/replacing_crossbeam_channel.md")]
    mod replacing {}
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
