//! Stand-in for the futex calls: wait while a word holds a value, and wake its waiters.
//!
//! # Contract
//! A word's waiters form a queue, changed by read-modify-writes that acquire and release, like the kernel's lock of a
//! hash bucket. A waiter enqueues itself, checks the word, and either dequeues itself or waits to be woken. In the
//! kernel no thread is woken between the first two steps. So a path on which a thread was woken there and then finds
//! the word changed is cut off (`runtime::impossible`): that wakeup came before or after, in another execution. Threads
//! are woken in FIFO order, as the kernel wakes threads of one priority. Spurious wakeups are explored if
//! [`Explorer::spurious`](super::Explorer::spurious) requests them.
//!
//! # Sources
//! futex(2); Linux `kernel/futex/core.c`, the comment on ordering at its top.

use super::atomics::{AtomicU32, AtomicU64};
use super::core::Request;
use super::op::{Function, Op, Order, queued};
use super::{runtime, waiting};
use std::panic::Location as Site;

/// Why a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Another thread woke it.
    Woken,
    /// The word did not hold the value.
    Changed,
    /// The time-out expired: one of the two ways in which every wait with a timeout can end.
    TimedOut,
}

/// A word to wait on: 32 bits, or the low half of 64.
pub trait FutexWord: sealed::Located {}

impl FutexWord for AtomicU32 {}
impl FutexWord for AtomicU64 {}

#[expect(unnameable_types, reason = "sealed")]
mod sealed {
    pub trait Located {
        #[track_caller]
        fn location(&self) -> Option<u32>;
    }
}

impl sealed::Located for AtomicU32 {
    #[track_caller]
    fn location(&self) -> Option<u32> {
        self.word().location()
    }
}

impl sealed::Located for AtomicU64 {
    #[track_caller]
    fn location(&self) -> Option<u32> {
        self.word().location()
    }
}

/// Waits while `word` holds `expected`, until it is woken.
#[track_caller]
pub fn futex_wait(word: &impl FutexWord, expected: u32) -> Wait {
    wait(word, expected, false, Site::caller())
}

/// Like [`futex_wait`], but the wait may also time out at any moment.
#[track_caller]
pub fn futex_wait_timeout(word: &impl FutexWord, expected: u32) -> Wait {
    wait(word, expected, true, Site::caller())
}

/// Wakes the `count` oldest waiters and returns how many were woken.
#[track_caller]
pub fn futex_wake(word: &impl FutexWord, count: u32) -> usize {
    let site = Site::caller();
    let Some(location) = word.location() else { return 0 };
    let queue = queue_of(location);
    wake(queue, u64::from(count), site)
}

fn wait(
    word: &impl FutexWord,
    expected: u32,
    may_time_out: bool,
    site: &'static Site<'static>,
) -> Wait {
    let Some(location) = word.location() else {
        std::thread::yield_now();
        return Wait::Changed;
    };
    let queue = queue_of(location);
    enqueue(queue, site);
    let load = Op::Load { order: Order::RELAXED };
    if ask(load, location, site) as u32 != expected {
        if !leave(queue, site) {
            runtime::impossible();
        }
        return Wait::Changed;
    }
    sleep_in(queue, may_time_out, site)
}

/// Sleeps in `queue`, which this thread has entered, until it is woken or, if `timed`, times out.
pub(crate) fn sleep_in(queue: u32, timed: bool, site: &'static Site<'static>) -> Wait {
    if timed && waiting::times_out(site) && leave(queue, site) {
        return Wait::TimedOut;
    }
    if !wakes_by_itself(queue, site) {
        sleep(timed, site);
    }
    Wait::Woken
}

/// Whether the thread wakes spuriously, and then leaves `queue`.
fn wakes_by_itself(queue: u32, site: &'static Site<'static>) -> bool {
    let does = waiting::is_spurious(site);
    if does && !leave(queue, site) {
        // The thread was woken: that is another execution.
        runtime::impossible();
    }
    does
}

pub(crate) fn queue_of(location: u32) -> u32 {
    runtime::with_core(|core, _| core.queue_of(location)).expect("inside an exploration")
}

/// Enters `queue` at its end.
pub(crate) fn enqueue(queue: u32, site: &'static Site<'static>) {
    let me = runtime::with_core(|_, thread| thread as u64).expect("inside an exploration");
    ask(on_queue(Function::Enqueue, me), queue, site);
}

/// Waits for the wakeup by the thread that took this one from its queue.
fn sleep(timed: bool, site: &'static Site<'static>) {
    let token =
        runtime::with_core(|core, thread| core.token_of(thread)).expect("inside an exploration");
    ask(Op::AwaitCas { expected: 1, new: 0, order: Order::ACQUIRE, timed }, token, site);
}

/// Wakes one thread of `queue`, any of them.
pub(crate) fn wake_any(queue: u32, site: &'static Site<'static>) {
    let found = ask(Op::Load { order: Order::RELAXED }, queue, site);
    let waiting = queued(found);
    if waiting.len() < 2 {
        wake(queue, 1, site);
        return;
    }
    let chosen = ask(Op::Choice { options: waiting.len() as u64 }, super::graph::NOWHERE, site);
    let thread = waiting[chosen as usize];
    if ask(on_queue(Function::Dequeue, thread), queue, site) != found {
        // The choice was made from another queue: that is another execution.
        runtime::impossible();
    }
    hand_token(thread, site);
}

fn hand_token(thread: u64, site: &'static Site<'static>) {
    let token = runtime::with_core(|core, _| core.token_of(thread as usize))
        .expect("inside an exploration");
    ask(Op::Store { value: 1, order: Order::RELEASE }, token, site);
}

/// Wakes the `count` oldest threads of `queue`.
pub(crate) fn wake(queue: u32, count: u64, site: &'static Site<'static>) -> usize {
    let waiting = queued(ask(on_queue(Function::Wake, count), queue, site));
    let woken = waiting.len().min(count as usize);
    waiting[..woken].iter().for_each(|&thread| hand_token(thread, site));
    woken
}

/// Leaves `queue`. False: another thread has already removed this one.
fn leave(queue: u32, site: &'static Site<'static>) -> bool {
    let me = runtime::with_core(|_, thread| thread as u64).expect("inside an exploration");
    queued(ask(on_queue(Function::Dequeue, me), queue, site)).contains(&me)
}

fn on_queue(function: Function, operand: u64) -> Op {
    Op::Rmw { function, operand, bits: 64, order: Order::ACQ_REL }
}

fn ask(op: Op, location: u32, site: &'static Site<'static>) -> u64 {
    runtime::request(Request { op, location, address: false, site }).expect("inside an exploration")
}
