//! Stand-in for the futex calls: wait while a word holds a value, wake its waiters.
//!
//! # Contract
//! A word's waiting threads are a queue, changed by read-modify-writes that acquire and release, as the kernel's lock
//! of a bucket does. To wait is: go last in the queue, look at the word, and either leave the queue again or wait to be
//! woken. In the kernel nobody is woken between the first two, so the path on which that happened to a thread that then
//! finds the word changed is cut off (`runtime::impossible`): the wake-up came before or after instead, another
//! execution. Threads are woken oldest first, as the kernel does among threads of one priority. Spurious wake-ups are
//! explored where [`Explorer::spurious`](super::Explorer::spurious) asks for them.
//!
//! # Sources
//! futex(2); Linux `kernel/futex/core.c`, the comment on ordering at its top.

use super::atomics::{AtomicU32, AtomicU64};
use super::core::Request;
use super::op::{Function, Op, Order, queued};
use super::runtime;
use std::panic::Location as Site;

/// Why a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Somebody woke the thread.
    Woken,
    /// The word did not hold the value.
    Changed,
    /// The time was over: one of the two ways that every wait with a timeout can end.
    TimedOut,
}

/// A word to wait on: 32 bits, or the low half of 64.
pub trait FutexWord: sealed::Located {}

impl FutexWord for AtomicU32 {}
impl FutexWord for AtomicU64 {}

mod sealed {
    pub trait Located {
        fn location(&self) -> Option<u32>;
    }
}

impl sealed::Located for AtomicU32 {
    fn location(&self) -> Option<u32> {
        self.word().location()
    }
}

impl sealed::Located for AtomicU64 {
    fn location(&self) -> Option<u32> {
        self.word().location()
    }
}

/// Waits while `word` holds `expected`, until a wake.
#[track_caller]
pub fn futex_wait(word: &impl FutexWord, expected: u32) -> Wait {
    wait(word, expected, false, Site::caller())
}

/// The same, but the wait may also end by itself at any time.
#[track_caller]
pub fn futex_wait_timeout(word: &impl FutexWord, expected: u32) -> Wait {
    wait(word, expected, true, Site::caller())
}

/// Wakes the `count` oldest waiting threads and returns how many that were.
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
    if may_time_out && runtime::times_out(site) && leave(queue, site) {
        return Wait::TimedOut;
    }
    if !wakes_by_itself(queue, site) {
        sleep(may_time_out, site);
    }
    Wait::Woken
}

/// Whether the thread wakes without a cause, and then out of `queue`.
pub(crate) fn wakes_by_itself(queue: u32, site: &'static Site<'static>) -> bool {
    let does = runtime::is_spurious(site);
    if does && !leave(queue, site) {
        // It was woken: that is another execution.
        runtime::impossible();
    }
    does
}

pub(crate) fn queue_of(location: u32) -> u32 {
    runtime::with_core(|core, _| core.queue_of(location)).expect("inside an exploration")
}

/// Goes last in `queue`.
pub(crate) fn enqueue(queue: u32, site: &'static Site<'static>) {
    let me = runtime::with_core(|_, thread| thread as u64).expect("inside an exploration");
    ask(on_queue(Function::Enqueue, me), queue, site);
}

/// Waits for the wake-up of somebody who took this thread from its queue.
pub(crate) fn sleep(timed: bool, site: &'static Site<'static>) {
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

/// Leaves `queue`. False: somebody has taken this thread from it.
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
