//! Stand-ins for `std::thread`: spawn, join, park, yield.
//!
//! # Contract
//! Inside an exploration a thread is one of its coroutines; outside, `std`'s own. `yield_now`, `sleep` and
//! [`spin_loop`] all mean the same: a round of a waiting loop is over (`rounds`). They do not change what can be read,
//! up to the bound on rounds ([`Explorer::rounds`](super::Explorer::rounds)). [`wait_until`] needs no bound.

use super::core::Request;
use super::evaluation;
use super::graph::NOWHERE;
use super::op::{Function, Op, Order};
use super::runtime::{self, Token};
use super::waiting;
use std::fmt;
use std::panic::Location as Site;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A handle that can unpark a thread.
#[derive(Clone)]
pub struct Thread(Handle);

#[derive(Clone)]
enum Handle {
    Explored(Token),
    Std(std::thread::Thread),
}

impl Thread {
    /// Makes the thread's current or next `park` return.
    #[track_caller]
    pub fn unpark(&self) {
        match &self.0 {
            Handle::Std(thread) => thread.unpark(),
            Handle::Explored(token) => {
                let op = Op::Rmw {
                    function: Function::Swap,
                    operand: 1,
                    bits: 1,
                    order: Order::RELEASE,
                };
                token.perform(op, Site::caller());
            }
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Thread")
    }
}

/// A handle to a spawned thread.
pub struct JoinHandle<T>(Joined<T>);

enum Joined<T> {
    Explored { child: usize, result: Arc<Mutex<Option<T>>>, thread: Thread },
    Std { handle: std::thread::JoinHandle<T>, thread: Thread },
}

impl<T> JoinHandle<T> {
    /// Joins the thread and returns its result.
    ///
    /// # Errors
    /// As in `std`; an explored thread that panics ends its execution instead.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        self.join_at(Site::caller())
    }

    pub(crate) fn join_at(self, site: &'static Site<'static>) -> std::thread::Result<T> {
        match self.0 {
            Joined::Std { handle, .. } => handle.join(),
            Joined::Explored { child, result, .. } => {
                let op = Op::Join { child: child as u8 };
                runtime::request(Request { op, location: NOWHERE, address: false, site });
                let result = result.lock().expect("one OS thread").take();
                result.ok_or_else(|| {
                    Box::new("the thread has no result: its execution was ended") as _
                })
            }
        }
    }

    /// The number of an explored thread.
    pub(crate) fn number(&self) -> Option<usize> {
        match self.0 {
            Joined::Explored { child, .. } => Some(child),
            Joined::Std { .. } => None,
        }
    }

    /// The thread's handle, to unpark it.
    pub fn thread(&self) -> &Thread {
        let (Joined::Explored { thread, .. } | Joined::Std { thread, .. }) = &self.0;
        thread
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinHandle")
    }
}

/// Starts a thread.
#[track_caller]
pub fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    start(body, None, Site::caller())
}

/// Starts a thread, as the right neighbour of `left` if that is given (see `symmetry`).
pub(crate) fn start<T: Send + 'static>(
    body: impl FnOnce() -> T + Send + 'static,
    left: Option<usize>,
    site: &'static Site<'static>,
) -> JoinHandle<T> {
    start_boxed(Box::new(body), left, site)
}

/// The same, compiled for each type of result and not for each body.
fn start_boxed<T: Send + 'static>(
    body: Box<dyn FnOnce() -> T + Send>,
    left: Option<usize>,
    site: &'static Site<'static>,
) -> JoinHandle<T> {
    let Some(run) = runtime::current() else {
        let handle = std::thread::spawn(body);
        let thread = Thread(Handle::Std(handle.thread().clone()));
        return JoinHandle(Joined::Std { handle, thread });
    };
    let result = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&result);
    let body = move || {
        let value = body();
        *slot.lock().expect("one OS thread") = Some(value);
    };
    let (child, token) = run.spawn(Box::new(body), left, site);
    JoinHandle(Joined::Explored { child, result, thread: Thread(Handle::Explored(token)) })
}

/// The calling thread.
#[track_caller]
pub fn current() -> Thread {
    runtime::refuse_in_symmetric("asks which thread it is", Site::caller());
    match runtime::token(Site::caller()) {
        Some(token) => Thread(Handle::Explored(token)),
        None => Thread(Handle::Std(std::thread::current())),
    }
}

/// The calling thread's number: 0 of the one that an exploration begins in, then in the order in which they were
/// started; also 0 outside explorations. For code that gives each thread a place of its own by a thread-local, which
/// explored threads share.
#[track_caller]
pub fn thread_number() -> u32 {
    runtime::refuse_in_symmetric("asks for its number", Site::caller());
    runtime::running()
}

/// Waits until this thread is unparked, or returns at once if it was since its last `park`. Returns spuriously only if
/// [`Explorer::spurious`](super::Explorer::spurious) requests it.
#[track_caller]
pub fn park() {
    if runtime::current().is_none() || !waiting::is_spurious(Site::caller()) {
        park_or_end(false, Site::caller());
    }
}

fn park_or_end(timed: bool, site: &'static Site<'static>) {
    match runtime::token(site) {
        None => std::thread::park(),
        Some(token) => {
            let op = Op::AwaitCas { expected: 1, new: 0, order: Order::ACQUIRE, timed };
            token.perform(op, site);
        }
    }
}

/// Like [`park`], but may also time out at any moment.
#[track_caller]
pub fn park_timeout(limit: Duration) {
    match runtime::token(Site::caller()) {
        None => std::thread::park_timeout(limit),
        Some(token) if waiting::times_out(Site::caller()) => {
            let op =
                Op::Rmw { function: Function::Swap, operand: 0, bits: 1, order: Order::ACQUIRE };
            token.perform(op, Site::caller());
        }
        Some(_) => park_or_end(true, Site::caller()),
    }
}

/// Waits until `condition` holds. However many rounds it takes, only the round in which it holds is explored. Threads
/// that wait forever are a deadlock, also if `condition` reads nothing that can change. Outside an exploration it
/// yields between rounds.
///
/// `condition` must have no effect while it does not hold: it may read, and try exchanges that fail. A write in such a
/// round, to an atomic or to an [`UnsafeCell`](super::UnsafeCell), is a failure
/// ([`Failure::Condition`](super::Failure)). So is a condition that makes other requests, or fewer, or holds, when it
/// is evaluated again (twice) with the same answers. The checker does not see effects on anything else, such as a
/// `Cell` that counts to three. Choosing, sleeping, or waiting for another condition inside it is a failure too;
/// nothing in it fails spuriously.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::Ordering::{Acquire, Release};
/// use uncontended_model::real::{AtomicBool, Explorer, Memory, spawn, wait_until};
///
/// let report = Explorer::new(Memory::C11).explore(|| {
///     let ready = Arc::new(AtomicBool::new(false));
///     let other = Arc::clone(&ready);
///     spawn(move || other.store(true, Release));
///     wait_until(|| ready.load(Acquire));
/// });
/// assert_eq!(report.unwrap().executions, 1);
/// ```
#[track_caller]
pub fn wait_until(condition: impl Fn() -> bool) {
    let site = Site::caller();
    while evaluation::begin(site).is_some() {
        if condition() {
            evaluation::end();
            return;
        }
        for _ in 0..2 {
            evaluation::rehearse(site);
            if condition() {
                let why = "holds when it is evaluated again with the same answers";
                evaluation::fail(why, site);
            }
            evaluation::end_rehearsal(site);
        }
        evaluation::await_news(site);
    }
    while !condition() {
        std::thread::yield_now();
    }
}

/// Leaves out every execution in which `condition` does not hold here: its thread stops. Outside an exploration it does
/// nothing.
#[track_caller]
pub fn assume(condition: bool) {
    if !condition && runtime::current().is_some() {
        runtime::impossible();
    }
}

/// Ends a round of a waiting loop.
#[track_caller]
pub fn yield_now() {
    if !runtime::hint(Site::caller()) {
        std::thread::yield_now();
    }
}

/// Stands in for `std::hint::spin_loop`: the same as [`yield_now`].
#[track_caller]
pub fn spin_loop() {
    if !runtime::hint(Site::caller()) {
        std::hint::spin_loop();
    }
}

/// Inside an exploration the same as [`yield_now`]: time does not pass there.
#[track_caller]
pub fn sleep(time: Duration) {
    if !runtime::hint(Site::caller()) {
        std::thread::sleep(time);
    }
}
