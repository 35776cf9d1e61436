//! Stand-ins for `std::sync::{Once, OnceLock, LazyLock}`, never poisoned: a thread that panics ends its execution.
//!
//! # Contract
//! Of the threads that call, one runs its closure; the others wait for it. What the closure did happens before every
//! return, and before every [`OnceLock::get`] and [`Once::is_completed`] that finds it done. A closure that calls the
//! same one again waits forever.
//!
//! The value itself is not reset between executions. One that outlives an execution, such as a static, is hidden state:
//! if a later execution initialises it again, that is the error [`Diverged`](super::Diverged).
//!
//! # Edges
//! done: the thread that ran the closure -> all who find it done. Carries what the closure did.

use super::atomics::Word;
use super::named::Named;
use super::op::{Op, Order};
use super::runtime;
use super::thread::wait_until;
use super::verdict::hidden;
use std::cell::Cell;
use std::fmt;
use std::ops::Deref;
use std::panic::Location as Site;
use std::sync::{Mutex, PoisonError};

const EMPTY: u64 = 0;
const RUNNING: u64 = 1;
const DONE: u64 = 2;

/// Stands in for `std::sync::Once`.
pub struct Once {
    state: Word,
}

/// Empties the state again if the closure panics.
struct Running<'a>(&'a Once);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.store(EMPTY, Order::RELAXED, Site::caller());
    }
}

impl Once {
    /// Nothing has run yet.
    #[track_caller]
    #[expect(clippy::new_without_default, reason = "as `std`'s")]
    pub fn new() -> Once {
        Once { state: Word::new(EMPTY) }
    }

    /// Runs `f` if nothing has run; otherwise waits until it has.
    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        let (site, found) = (Site::caller(), Cell::new(RUNNING));
        // EDGE done (acquire): what the closure of another thread did.
        let (success, failure) = (Order::RELAXED, Order::ACQUIRE);
        let enter = Op::Cas { expected: EMPTY, new: RUNNING, success, failure };
        wait_until(|| {
            found.set(self.state.perform(enter, false, site));
            found.get() != RUNNING
        });
        if found.get() == EMPTY {
            let running = Running(self);
            f();
            std::mem::forget(running);
            // EDGE done (release): what the closure did.
            self.store(DONE, Order::RELEASE, site);
        }
    }

    /// Whether a closure has run.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        // EDGE done (acquire): what the closure did.
        let op = Op::Load { order: Order::ACQUIRE };
        self.state.perform(op, false, Site::caller()) == DONE
    }

    fn store(&self, value: u64, order: Order, site: &'static Site<'static>) {
        self.state.perform(Op::Store { value, order }, false, site);
    }
}

impl Named for Once {
    fn named(mut self, name: &'static str) -> Once {
        self.state.name(name);
        self
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Once")
    }
}

/// Ends the run, because a value was made in an earlier one.
fn refuse(why: &str) {
    if let Some(run) = runtime::current() {
        run.refuse(hidden(why));
    }
}

/// Stands in for `std::sync::OnceLock`.
pub struct OnceLock<T> {
    once: Once,
    /// Set whenever `once` has run in this execution.
    value: std::sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    /// Empty.
    #[track_caller]
    pub fn new() -> OnceLock<T> {
        OnceLock { once: Once::new(), value: std::sync::OnceLock::new() }
    }

    /// The value, if there is one. Does not wait.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        if self.once.is_completed() { self.value.get() } else { None }
    }

    /// The value; `f` makes it if there is none.
    #[track_caller]
    pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        self.once.call_once(|| {
            if self.value.set(f()).is_err() {
                refuse("an earlier run has set a `OnceLock` that outlives it");
            }
        });
        self.value.get().expect("set before `once` has run")
    }

    /// Sets the value, or waits for the thread that does.
    ///
    /// # Errors
    /// `value` itself, if there is one already.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("called once"));
        value.map_or(Ok(()), Err)
    }

    /// See `std`: no other thread uses it.
    #[track_caller]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.once.state.own(Site::caller());
        self.value.get_mut()
    }

    /// See `std`: no other thread uses it.
    #[track_caller]
    pub fn into_inner(self) -> Option<T> {
        self.once.state.own(Site::caller());
        self.value.into_inner()
    }

    /// Takes the value out, and leaves it empty.
    #[track_caller]
    pub fn take(&mut self) -> Option<T> {
        self.once.state.own(Site::caller());
        self.once.store(EMPTY, Order::RELAXED, Site::caller());
        self.value.take()
    }
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    #[track_caller]
    fn from(value: T) -> OnceLock<T> {
        OnceLock { once: Once { state: Word::new(DONE) }, value: value.into() }
    }
}

impl<T> Named for OnceLock<T> {
    fn named(mut self, name: &'static str) -> OnceLock<T> {
        self.once.state.name(name);
        self
    }
}

impl<T> fmt::Debug for OnceLock<T> {
    /// Prints only the name of the type: reading the value would be an event.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnceLock")
    }
}

/// Stands in for `std::sync::LazyLock`.
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    make: Mutex<Option<F>>,
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// `make` makes the value when it is first used.
    #[track_caller]
    pub fn new(make: F) -> LazyLock<T, F> {
        LazyLock { value: OnceLock::new(), make: Mutex::new(Some(make)) }
    }

    /// The value.
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        this.value.get_or_init(|| {
            let make = this.make.lock().unwrap_or_else(PoisonError::into_inner).take();
            match make {
                Some(make) => make(),
                None => {
                    refuse("an earlier run has made a `LazyLock` that outlives it");
                    panic!("the closure of a `LazyLock` has panicked");
                }
            }
        })
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F> Named for LazyLock<T, F> {
    fn named(mut self, name: &'static str) -> LazyLock<T, F> {
        self.value = self.value.named(name);
        self
    }
}

impl<T, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LazyLock")
    }
}
