//! Flat combining: a value that threads change through closures, where one of them runs the closures of all.
//!
//! The value stays in the cache of the thread that runs them, and a waiter is handed a result instead of a lock. It
//! pays where many threads change a small value that a lock would move from CPU to CPU.
//!
//! # Weak spot
//! A closure runs on another thread, whose thread-local values it sees. A thread may run 64 closures of others before
//! it returns. A closure that uses the same value again waits for itself without end; a debug build panics instead.
//!
//! # State
//! `requests`: FREE; HELD, without requests; or the request that came last. A request is on its thread's stack, and
//! knows its neighbour: the one before it, and once the requests are taken and turned round, the one after it.
//!
//! # Invariants
//! I1: the thread that replaces FREE by HELD, or to which the requests that are left were handed over, is the one that
//!     runs closures, and alone reaches the value.
//! I2: a request is there until its turn is granted, once, by the thread that runs closures: it has run this one, or
//!     hands over those that are left, of which this is the first.
//! I3: until its turn is granted, a request's job belongs to the thread that runs closures.
//! I4: a request is the beginning of the job for which its function was made.
//!
//! # Edges
//! combining-free: `serve` stores FREE -> `begin` replaces it. What the closures did.
//! combining-request: `push` -> `serve` takes the requests. The job.
//! turn: see `turn`. The result; or what the closures did, where the rest is handed over.
//!
//! # Evidence
//! tests/model_combining.rs, tests/mutants/combining.toml.
//! # Sources
//! Hendler, Incze, Shavit and Tzafrir, "Flat combining and the synchronization-parallelism tradeoff", SPAA 2010.
//! Requests that are taken whole: Oyama, Taura and Yonezawa, "Executing parallel programs with synchronization
//! bottlenecks efficiently", 1999.

use crate::tail::{free, held};
use crate::{SpinThenPark, Turn};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicBool, AtomicPtr, Named, UnsafeCell};

/// Closures of others that a thread runs before it hands the rest over.
const MOST: u32 = if cfg!(unc_model) { 1 } else { 64 };

/// A value that is changed through closures, run by one of the threads that want it; the others wait by `W`.
///
/// ```
/// use uncontended_locks::Combining;
/// let total = Combining::new(0);
/// std::thread::scope(|threads| {
///     for _ in 0..4 {
///         threads.spawn(|| (0..100).for_each(|_| total.run(|total| *total += 1)));
///     }
/// });
/// assert_eq!(total.into_inner(), 400);
/// ```
pub struct Combining<T, W = SpinThenPark> {
    requests: AtomicPtr<Request<T, W>>,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time reaches the value (I1), which is sent from one to the next.
unsafe impl<T: Send, W: Sync> Sync for Combining<T, W> {}

struct Request<T, W> {
    neighbour: AtomicPtr<Request<T, W>>,
    /// Whether this thread is to run the closures from its own on.
    is_handed_over: AtomicBool,
    turn: W,
    run: unsafe fn(*mut Request<T, W>, &mut T),
}

/// A request, and what it is for.
#[repr(C)]
struct Job<T, W, F, R> {
    request: Request<T, W>,
    closure: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<Outcome<R>>>,
}

/// What a closure returned, or what it panicked with.
type Outcome<R> = Result<R, Box<dyn Any + Send>>;

/// Runs a closure. The checker ends executions by panics of its own, which are not caught.
fn outcome<T, R>(closure: impl FnOnce(&mut T) -> R, value: &mut T) -> Outcome<R> {
    if cfg!(unc_model) {
        return Ok(closure(value));
    }
    catch_unwind(AssertUnwindSafe(|| closure(value)))
}

impl<T, W: Turn, F: FnOnce(&mut T) -> R, R> Job<T, W, F, R> {
    fn new(closure: F) -> Job<T, W, F, R> {
        let request = Request {
            neighbour: AtomicPtr::new(ptr::null_mut()).named("neighbour"),
            is_handed_over: AtomicBool::new(false).named("handed over"),
            turn: W::default(),
            run: Self::run,
        };
        let closure = UnsafeCell::new(Some(closure));
        Job { request, closure, result: UnsafeCell::new(None) }
    }

    /// # Safety
    /// The request is the beginning of such a job, which belongs to this thread.
    unsafe fn run(request: *mut Request<T, W>, value: &mut T) {
        // SAFETY: the caller's: the job begins with its request (I4).
        let job = unsafe { &*request.cast::<Job<T, W, F, R>>() };
        // SAFETY: the job is this thread's (I3).
        let closure = job.closure.with_mut(|closure| unsafe { (*closure).take() });
        let result = closure.map(|closure| outcome(closure, value));
        // SAFETY: the job is this thread's (I3).
        job.result.with_mut(|place| unsafe { *place = result });
    }
}

impl<T> Combining<T> {
    /// A value that no thread uses, for which the others wait in the default way; `const`.
    #[cfg(not(unc_model))]
    pub const fn new(value: T) -> Combining<T> {
        Combining::waiting_by(value)
    }

    /// A value that no thread uses, for which the others wait in the default way.
    #[cfg(unc_model)]
    pub fn new(value: T) -> Combining<T> {
        Combining::waiting_by(value)
    }
}

impl<T, W> Combining<T, W> {
    /// A value that no thread uses, for which the others wait by `W`; `const`. `Combining::<_, Park>::waiting_by(0)`
    #[cfg(not(unc_model))]
    pub const fn waiting_by(value: T) -> Combining<T, W> {
        Combining { requests: AtomicPtr::new(free()), value: UnsafeCell::new(value) }
    }

    /// A value that no thread uses, for which the others wait by `W`.
    #[cfg(unc_model)]
    pub fn waiting_by(value: T) -> Combining<T, W> {
        let requests = AtomicPtr::new(free()).named("requests");
        Combining { requests, value: UnsafeCell::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// The value, which no other thread can reach.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Send, W: Turn> Combining<T, W> {
    /// Runs `closure` on the value, on this thread or another, and returns its result. It waits for closures of others.
    ///
    /// A closure must not run another one on the same value: that waits for itself without end, as does a closure that
    /// waits for one on another value which runs one on this.
    ///
    /// # Panics
    /// If the closure does. The value is left as that left it, and the closures of others run. With debug assertions,
    /// if it is called by a closure that this thread runs on the same value.
    #[cfg_attr(unc_model, track_caller)]
    pub fn run<R: Send>(&self, closure: impl FnOnce(&mut T) -> R + Send) -> R {
        #[cfg(all(debug_assertions, not(unc_model)))]
        crate::nested::refuse(&self.requests);
        if self.begin() {
            #[cfg(all(debug_assertions, not(unc_model)))]
            let _running = crate::nested::Running::on(&self.requests);
            // SAFETY: this thread runs closures (I1).
            let result = self.value.with_mut(|value| outcome(closure, unsafe { &mut *value }));
            self.serve(ptr::null_mut());
            return result.unwrap_or_else(|panic| resume_unwind(panic));
        }
        let job: Job<T, W, _, R> = Job::new(closure);
        self.wait((&raw const job).cast_mut().cast());
        // SAFETY: the turn was granted, or this thread ran the closure: the job is this thread's again (I3).
        let result = job.result.with_mut(|result| unsafe { (*result).take() });
        match result.expect("a request is run before its turn is granted") {
            Ok(result) => result,
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Whether this thread is the one that runs closures now.
    #[cfg_attr(unc_model, track_caller)]
    fn begin(&self) -> bool {
        // EDGE combining-free (acquire): what the closures did.
        self.requests.compare_exchange(free(), held(), Acquire, Relaxed).is_ok()
    }

    /// Waits until a request was run; runs it, if no other thread does.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait(&self, own: *mut Request<T, W>) {
        // SAFETY: it is on this thread's stack, and there until its turn is granted (I2).
        let Request { neighbour, is_handed_over, turn, .. } = unsafe { &*own };
        if !self.push(own, neighbour) {
            neighbour.store(ptr::null_mut(), Relaxed);
            return self.serve(own);
        }
        turn.wait();
        if is_handed_over.load(Relaxed) {
            self.serve(own);
        }
    }

    /// Pushes a request; false if no thread runs closures, and this one does now.
    #[cfg_attr(unc_model, track_caller)]
    fn push(&self, own: *mut Request<T, W>, before: &AtomicPtr<Request<T, W>>) -> bool {
        let mut found = self.requests.load(Relaxed);
        loop {
            if found == free() {
                if self.begin() {
                    return false;
                }
                found = self.requests.load(Relaxed);
                continue;
            }
            before.store(found, Relaxed);
            // EDGE combining-request (release): the job.
            match self.requests.compare_exchange(found, own, Release, Relaxed) {
                Ok(_) => return true,
                Err(now) => found = now,
            }
        }
    }

    /// Runs requests in order of arrival: of these, the first is this thread's own, if there are any.
    #[cfg_attr(unc_model, track_caller)]
    fn serve(&self, own: *mut Request<T, W>) {
        #[cfg(all(debug_assertions, not(unc_model)))]
        let _running = crate::nested::Running::on(&self.requests);
        let (mut next, mut run) = (own, 0);
        loop {
            if next.is_null() {
                // EDGE combining-free (release): what the closures did.
                if self.requests.compare_exchange(held(), free(), Release, Relaxed).is_ok() {
                    return;
                }
                // EDGE combining-request (acquire): the jobs.
                next = turned_round(self.requests.swap(held(), Acquire));
            }
            // SAFETY: it waits, and is there until its turn is granted (I2).
            let Request { neighbour, is_handed_over, turn, run: run_job } = unsafe { &*next };
            let turn = &raw const *turn;
            if run == MOST && next != own {
                is_handed_over.store(true, Relaxed);
                // SAFETY: it waits, and this is its only grant (I2).
                return unsafe { W::grant(turn) };
            }
            self.value.with_mut(|value| {
                // SAFETY: this thread runs closures (I1).
                let value = unsafe { &mut *value };
                // SAFETY: the function is the request's own (I4), whose job is this thread's (I3).
                unsafe { run_job(next, value) };
            });
            let behind = neighbour.load(Relaxed);
            if next != own {
                run += 1;
                // SAFETY: it waits, and this is its only grant (I2).
                unsafe { W::grant(turn) };
            }
            next = behind;
        }
    }
}

/// Requests in order of arrival, of which the last to come is given: its neighbour is the one before it.
#[cfg_attr(unc_model, track_caller)]
fn turned_round<T, W>(last: *mut Request<T, W>) -> *mut Request<T, W> {
    let (mut request, mut after) = (last, ptr::null_mut());
    while request != held() {
        // SAFETY: it waits, and is there until its turn is granted (I2).
        let neighbour = unsafe { &(*request).neighbour };
        let before = neighbour.load(Relaxed);
        neighbour.store(after, Relaxed);
        (request, after) = (before, request);
    }
    after
}

impl<T: Default, W> Default for Combining<T, W> {
    fn default() -> Combining<T, W> {
        Combining::waiting_by(T::default())
    }
}

impl<T, W> fmt::Debug for Combining<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Combining")
    }
}
