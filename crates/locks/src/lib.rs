//! Locks, one file an algorithm.
//!
//! # Contract
//! A [`Mutex<T, L>`](Mutex) gives one thread at a time access to a `T`; the lock `L` decides which is next, and how the
//! others wait. The types are the matrix of the two:
//!
//! | | the first to come takes it | overtaken a bounded number of times | in order of arrival |
//! |---|---|---|---|
//! | spins | [`Tas`], [`Ttas`], [`Ttas<Backoff>`](Backoff) | `Reciprocating<Spin>` | [`Ticket`], [`Clh`], `Mcs<Spin>` |
//! | yields | [`Ttas<HintThenYield>`](HintThenYield) | `Reciprocating<SpinThenYield>` | `Mcs<SpinThenYield>` |
//! | parks | [`WordQueue`] | `Reciprocating<Park>` | [`Mcs<Park>`](Park) |
//! | spins, then parks | [`Futex`] | [`Bounded`], `Reciprocating<SpinThenPark>` | [`Mcs<SpinThenPark>`](SpinThenPark) |
//!
//! [`Mcs`] and [`Reciprocating`] without a parameter spin. Rust looks at a default parameter in types alone, so a lock
//! that has one is made by `Mcs::<SpinThenPark>::new()`, or by `<Mcs>::new()` for the default; `Mcs::new()` is enough
//! where the type is written already, as in the example below.
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
//! # Many readers
//! A [`RwLock<T, L>`](RwLock) lets many threads read at once: by [`PhaseFair`], the default, in which readers and
//! writers take turns, or by [`Bravo`], whose readers change no word that others use while no thread writes. A
//! [`SeqLock<T>`](SeqLock) gives copies of a value of a few words, and its readers write nothing at all. [`RawRwLock`]
//! is what a lock for readers has to do; none of them has deadlines: a reader or writer that came is counted.
//! [`each_readers`] names all of them.
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
//! tests/model.rs, tests/model_order.rs, tests/model_readers.rs: every execution that C11 or x86-TSO allows;
//! tests/mutants: seeded bugs that they find; tests/stress.rs, tests/stress_readers.rs: holders that lose their CPU;
//! tests/api.rs, tests/abuse.rs: guards that are forgotten, panics, forks, signals.

mod bounded;
mod bravo;
mod clh;
mod combining;
mod condvar;
mod each;
mod each_readers;
mod futex;
#[cfg(all(feature = "lock_api", not(unc_model)))]
mod lock_api;
mod mapped;
mod mcs;
mod mutex;
#[cfg(all(debug_assertions, not(unc_model)))]
mod nested;
mod pause;
mod phase_fair;
mod preemption_aware;
mod published;
mod reciprocating;
mod rwlock;
mod seqlock;
mod tail;
mod tas;
mod ticket;
mod ttas;
mod turn;
mod visible;
mod word_queue;
mod words;

pub use bounded::Bounded;
pub use bravo::Bravo;
pub use clh::Clh;
pub use combining::Combining;
pub use condvar::{Condvar, WaitTimeoutResult};
pub use each::{Order, Visit, Waits, each};
pub use each_readers::{VisitReaders, each_readers};
pub use futex::Futex;
pub use mapped::{
    MappedGuard, MappedMutexGuard, MappedReadGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard,
    MappedWriteGuard,
};
pub use mcs::Mcs;
pub use mutex::{Guard, Mutex, MutexGuard};
pub use pause::{Backoff, Hint, HintThenYield, Pause, Yield};
pub use phase_fair::PhaseFair;
pub use preemption_aware::PreemptionAware;
pub use published::Published;
pub use reciprocating::Reciprocating;
pub use rwlock::{ReadGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, WriteGuard};
pub use seqlock::SeqLock;
pub use tas::Tas;
pub use ticket::Ticket;
pub use ttas::Ttas;
pub use turn::{Park, Spin, SpinThenPark, SpinThenYield, Turn};
pub use uncontended_wait::{Deadline, TimedOut};
pub use word_queue::WordQueue;
pub use words::{Words, are_whole};

/// A lock without data.
///
/// # Safety
/// From the return of `lock`, or of `true` from `try_lock`, until `unlock`, no other thread is let in. What a holder
/// did before `unlock` happens before what the next one does.
pub unsafe trait RawLock: Default + Send + Sync {
    /// Waits until the lock is free, and takes it.
    fn lock(&self);

    /// Takes the lock if it is free. ([`Bounded`] may refuse one that is reserved for its waiters.)
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
///
/// ```compile_fail,E0277
/// use uncontended_locks::{Mcs, Mutex, SpinThenPark};
/// let in_order = Mutex::with(Mcs::<SpinThenPark>::new(), 1);
/// let guard = in_order.try_lock_for(std::time::Duration::from_millis(1)); // no deadlines
/// ```
#[diagnostic::on_unimplemented(
    message = "the waiters of `{Self}` cannot give up: it has no deadlines",
    label = "this lock is not `Timed`",
    note = "`Futex`, `PreemptionAware`, `Published`, `Tas` and `Ttas` have deadlines: `Mutex::new(value)` takes the first"
)]
pub trait Timed: RawLock {
    /// Waits until the lock is free, and takes it, or gives up at `deadline`, never earlier. If the deadline has
    /// passed, it tries once.
    ///
    /// # Errors
    /// The deadline passed.
    fn lock_deadline(&self, deadline: Deadline) -> Result<(), TimedOut>;
}

/// A lock without data that many readers hold at once, or one writer.
///
/// # Safety
/// From the return of `write`, or of `true` from `try_write`, until `unlock_write`, no other thread is let in; from the
/// return of `read`, or of `true` from `try_read`, until `unlock_read`, none to write. What a holder did before it gave
/// the lock back happens before what a later one does, except that of two readers.
pub unsafe trait RawRwLock: Default + Send + Sync {
    /// Waits until no thread writes, and takes the lock for reading.
    fn read(&self);

    /// Takes the lock for reading if no thread writes, without waiting. It may fail if one only waits to write.
    fn try_read(&self) -> bool;

    /// Gives back what `read` or `try_read` took.
    ///
    /// # Safety
    /// This thread holds the lock for reading.
    unsafe fn unlock_read(&self);

    /// Waits until no thread reads or writes, and takes the lock for writing.
    fn write(&self);

    /// Takes the lock for writing if no thread reads or writes, without waiting.
    fn try_write(&self) -> bool;

    /// Gives back what `write` or `try_write` took. Any thread may do so for the one that took it.
    ///
    /// # Safety
    /// The lock is held for writing, and the caller acts for its holder.
    unsafe fn unlock_write(&self);

    /// Whether some thread reads or writes; others may change that at once.
    fn is_locked(&self) -> bool;
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
