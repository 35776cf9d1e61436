//! A stand-in for `std::thread::scope`: threads that borrow from the one that starts them.
//!
//! # Contract
//! All threads of a scope have ended when [`scope`] returns or unwinds. Inside an exploration the end of the scope
//! joins those that were not joined, in the order of their numbers.
//!
//! # Invariants
//! O1: what a thread of a scope borrows outlives [`scope`], and no step of the thread is run after [`scope`] returns or
//!     unwinds. If it returns, it has joined the thread. If the execution ends before that, the runtime unwinds threads
//!     in descending order of their numbers, and a thread of a scope has a higher number than the one that opened the
//!     scope. If the scope's own closure panics, its unwinding stops in [`scope`] until the other threads are unwound.
//!     A thread that never ends is abandoned with its stack: nothing on it runs, and nothing on it is dropped.

#![allow(unsafe_code)]

use super::core::Stop;
use super::thread::{self, JoinHandle, Thread};
use super::verdict::Failure;
use super::{panics, runtime};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location as Site, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Stands in for `std::thread::Scope`.
pub struct Scope<'scope, 'env: 'scope> {
    /// Threads that are not joined yet, each with its number; outside explorations in the order of their starts.
    running: Mutex<Vec<(usize, JoinHandle<()>)>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Stands in for `std::thread::ScopedJoinHandle`.
pub struct ScopedJoinHandle<'scope, T> {
    scope: &'scope Mutex<Vec<(usize, JoinHandle<()>)>>,
    number: usize,
    thread: Thread,
    result: Arc<Mutex<Option<T>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts threads that borrow; all have ended when it returns.
///
/// ```
/// use std::sync::atomic::Ordering::Relaxed;
/// use uncontended_model::real::{AtomicU32, Explorer, Memory, scope};
///
/// let report = Explorer::new(Memory::C11).explore(|| {
///     let count = AtomicU32::new(0);
///     scope(|s| {
///         s.spawn(|| count.fetch_add(1, Relaxed));
///         s.spawn(|| count.fetch_add(1, Relaxed));
///     });
///     assert_eq!(count.load(Relaxed), 2);
/// });
/// assert!(report.unwrap().holds());
/// ```
///
/// # Panics
/// Outside an exploration, if a thread panicked that was not joined. An explored thread that panics ends its execution.
#[track_caller]
pub fn scope<'env, T>(f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
    let site = Site::caller();
    let scope = Scope { running: Mutex::default(), scope: PhantomData, env: PhantomData };
    let result = match catch_unwind(AssertUnwindSafe(|| f(&scope))) {
        Ok(result) => result,
        Err(payload) => {
            end_execution(&*payload);
            scope.join_all(site);
            resume_unwind(payload);
        }
    };
    assert!(scope.join_all(site), "a scoped thread panicked");
    result
}

fn is_over() -> bool {
    runtime::here().is_some_and(|run| run.over.get())
}

/// Inside an exploration, does not return before all other threads of the scope have ended (O1).
fn end_execution(payload: &(dyn Any + Send)) {
    let Some(run) = runtime::here().filter(|run| !run.over.get()) else { return };
    let (message, thread) = (panics::message(payload), run.running.get());
    let place = panics::noted().pop().and_then(|panic| panic.place);
    let failure = Failure::Panic { thread, place, message };
    run.core.borrow_mut().stop.get_or_insert(Stop::Failure(failure));
    run.until::<()>(|_| None);
}

impl<'scope> Scope<'scope, '_> {
    /// Joins the threads that are not joined; false if one of them panicked. In a run that is over, the runtime has
    /// ended its threads (O1).
    fn join_all(&self, site: &'static Site<'static>) -> bool {
        let mut all = true;
        loop {
            let mut running = locked(&self.running);
            let numbers = running.iter().enumerate().map(|(at, (number, _))| (*number, at));
            let Some((_, at)) = numbers.min() else { return all };
            let (_, handle) = running.swap_remove(at);
            drop(running);
            if handle.number().is_none() || !is_over() {
                all &= handle.join_at(site).is_ok();
            }
        }
    }

    /// Starts a thread.
    #[track_caller]
    pub fn spawn<T: Send + 'scope>(
        &'scope self,
        body: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        let result = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&result);
        let body: Box<dyn FnOnce() + Send + 'scope> = Box::new(move || {
            let value = body();
            *locked(&slot) = Some(value);
        });
        // SAFETY: the thread has ended before anything that it borrows does (O1).
        let body: Box<dyn FnOnce() + Send> = unsafe { std::mem::transmute(body) };
        let handle = thread::start(body, None, Site::caller());
        let mut running = locked(&self.running);
        let number = handle.number();
        let number = number.unwrap_or_else(|| running.iter().map(|it| it.0 + 1).max().unwrap_or(0));
        let thread = handle.thread().clone();
        running.push((number, handle));
        ScopedJoinHandle { scope: &self.running, number, thread, result }
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Joins the thread and returns its result.
    ///
    /// # Errors
    /// As in `std`; an explored thread that panics ends its execution instead.
    #[track_caller]
    pub fn join(self) -> Result<T, Box<dyn Any + Send>> {
        let handle = {
            let mut running = locked(self.scope);
            let at = running.iter().position(|it| it.0 == self.number);
            running.swap_remove(at.expect("joined once")).1
        };
        handle.join()?;
        Ok(locked(&self.result).take().expect("the thread has ended"))
    }

    /// The thread's handle, to unpark it.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scope")
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScopedJoinHandle")
    }
}
