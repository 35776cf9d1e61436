//! Locks, one file an algorithm.
//!
//! # Contract
//! A [`Mutex<T, L>`](Mutex) gives one thread at a time access to a `T`; the lock `L` decides which is next, and how the
//! others wait. The types are the matrix of the two:
//!
//! | | the first to come takes it | overtaken a bounded number of times | in order of arrival |
//! |---|---|---|---|
//! | spins | [`Tas`], [`Ttas`], [`Ttas<Backoff>`](Backoff) | [`Reciprocating`] | [`Ticket`], [`Clh`], [`Mcs`] |
//! | yields | [`Ttas<HintThenYield>`](HintThenYield) | `Reciprocating<SpinThenYield>` | `Mcs<SpinThenYield>` |
//! | parks | [`WordQueue`] | `Reciprocating<Park>` | [`Mcs<Park>`](Park) |
//! | spins, then parks | [`Futex`] | [`Bounded`], `Reciprocating<SpinThenPark>` | [`Mcs<SpinThenPark>`](SpinThenPark) |
//!
//! Two look at what the scheduler does: [`PreemptionAware`] sleeps once its holder was seen to have lost its CPU, and
//! [`Published`] passes over waiters that have lost theirs.
//!
//! If in doubt, take [`Futex`], the default. A lock in order of arrival waits for a thread that is next and has lost
//! its CPU; a lock that spins takes the CPU from the thread that holds it. With more threads than CPUs only those that
//! park are sane. `unc survey locks` measures all of them on your machine.
//!
//! [`Combining`] takes the place of a lock: threads hand their closures to the one that has the value.
//!
//! [`RawLock`] is what a lock has to do; [`Timed`] are those that can give up. [`Condvar`] works with each of them.
//! With the feature `lock_api` each is a raw mutex of that crate. [`each`] names all of them.
//!
//! ```
//! use uncontended_locks::{Mcs, Mutex, SpinThenPark};
//!
//! static TOTAL: Mutex<u64, Mcs<SpinThenPark>> = Mutex::with(Mcs::new(), 0);
//! std::thread::scope(|threads| {
//!     for _ in 0..4 {
//!         threads.spawn(|| (0..100).for_each(|_| *TOTAL.lock() += 1));
//!     }
//! });
//! assert_eq!(*TOTAL.lock(), 400);
//! ```
//!
//! Locks are not poisoned: a panic releases the lock, and the next holder finds what the panic left.
//!
//! # Evidence
//! tests/model.rs: every execution that C11 or x86-TSO allows; tests/mutants: seeded bugs that they find;
//! tests/stress.rs: holders that lose their CPU.

mod bounded;
mod clh;
mod combining;
mod condvar;
mod each;
mod futex;
#[cfg(all(feature = "lock_api", not(unc_model)))]
mod lock_api;
mod mcs;
mod mutex;
mod pause;
mod preemption_aware;
mod published;
mod reciprocating;
mod tas;
mod ticket;
mod ttas;
mod turn;
mod word_queue;

pub use bounded::Bounded;
pub use clh::Clh;
pub use combining::Combining;
pub use condvar::Condvar;
pub use each::{Order, Visit, Waits, each};
pub use futex::Futex;
pub use mcs::Mcs;
pub use mutex::{Guard, Mutex};
pub use pause::{Backoff, Hint, HintThenYield, Pause, Yield};
pub use preemption_aware::PreemptionAware;
pub use published::Published;
pub use reciprocating::Reciprocating;
pub use tas::Tas;
pub use ticket::Ticket;
pub use ttas::Ttas;
pub use turn::{Park, Spin, SpinThenPark, SpinThenYield, Turn};
pub use uncontended_wait::{Deadline, TimedOut};
pub use word_queue::WordQueue;

/// A lock without data.
///
/// # Safety
/// From the return of `lock`, or of `true` from `try_lock`, until `unlock`, no other thread is let in. What a holder
/// did before `unlock` happens before what the next one does.
pub unsafe trait RawLock: Default + Send + Sync {
    /// Waits until the lock is free, and takes it.
    fn lock(&self);

    /// Takes the lock if it is free.
    fn try_lock(&self) -> bool;

    /// Gives the lock back. Any thread may do so for the one that took it.
    ///
    /// # Safety
    /// The lock is held, and the caller acts for its holder.
    unsafe fn unlock(&self);

    /// Whether some thread holds it; others may change that at once.
    fn is_locked(&self) -> bool;
}

/// A lock whose waiters can give up. Most in order of arrival cannot: their place in the queue would have to be taken
/// out of it. [`Published`] passes over the places of those that left.
pub trait Timed: RawLock {
    /// Waits until the lock is free, and takes it, or gives up at `deadline`, never earlier. If the deadline has
    /// passed, it tries once.
    ///
    /// # Errors
    /// The deadline passed.
    fn lock_deadline(&self, deadline: Deadline) -> Result<(), TimedOut>;
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
