//! Async tasks that wait: what the kernel's futex queue is to threads, for wakers.
//!
//! # Contract
//! [`until`] is a future that resolves once a condition returns a value. Publishers need not know whether threads or
//! tasks wait: the one that finds the flag wakes both. A future may be dropped at any time. It is polled again only
//! after a wakeup; or, where barriers are refused or publishers are in other processes, every few milliseconds by a
//! thread that lives as long as such a task waits.
//!
//! # Fairness
//! A wakeup for one of several waiters goes to a thread and to a task by turns while both wait, and among tasks to the
//! one that has waited longest. A task that comes again without having found anything keeps its place.
//!
//! # State
//! A fixed table of lists, each under its own lock. A word's first task gives it a number, whose remainder is its
//! list: the one of the address that the word had then. It keeps the number in its mode (I4), so it may be moved, and a
//! future that was leaked never belongs to another word. Under the checker each word has a list of its own, because a
//! static would outlive an execution.
//!
//! # Invariants
//! I1: a task is in the list before it sees the flag set, and checks its condition after its order (I3 of [`Flagged`]).
//!     A thread that clears that flag takes the task from the list afterwards; a task that registers only after that
//!     sees the clear, because both hold the list's lock. So a task that returned `Pending` is woken at the first
//!     clear, and never relies on a flag that was set again.
//! I2: a future that a `wake_one` chose passes the wakeup on when it leaves, with or without a value: it may have found
//!     that value before it was chosen, and the wakeup was for the next. A task with a [`Ticket`] is never chosen: it
//!     may live and yet not be polled, so it is woken as a bystander, in addition.
//! I3: a waker that panics costs no other task or thread its wakeup; the panic resumes in the thread that woke them.
//! I4: a word gets its number under the lock of the list of its address, and loses it when it is dropped. A thread that
//!     finds none takes that lock and looks again; both have the same address, because a word in use is not moved.
//! I5: a task on a word that several processes share is polled again soon and therefore always a bystander.
//!
//! # Evidence
//! tests/tasks.rs; tests/model_tasks.rs, each word with its own list. Mutants: tests/mutants/tasks.toml.

pub(crate) mod list;
#[cfg(not(unc_model))]
mod soon;

pub(crate) use self::list::{Key, List};
#[cfg(not(unc_model))]
use self::soon::poll_again_soon;
use crate::deadline::now_ns;
#[cfg(not(unc_model))]
use crate::flagged::MOST_IDS;
use crate::flagged::{FlagRepair, Flagged, Publishers};
use crate::width::Width;
use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};
use uncontended_atomic::{Mutex, MutexGuard, Scope};

#[cfg(not(unc_model))]
const LISTS: usize = 64;

#[cfg(not(unc_model))]
static TABLE: [Mutex<List>; LISTS] = [const { Mutex::new(List::new()) }; LISTS];

pub(crate) fn lock(list: &Mutex<List>) -> MutexGuard<'_, List> {
    // Wakers are woken and dropped outside the lock, so nothing panics inside.
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The list of an address: the upper bits of its product with 2^64 divided by the golden ratio, which spreads addresses
/// that differ by any power of two. Words on cache lines of their own share their low bits.
#[cfg(not(unc_model))]
fn index(address: usize) -> usize {
    let mixed = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - LISTS.ilog2())) as usize
}

#[cfg(not(unc_model))]
impl Key {
    /// The word's list, with others'.
    pub(crate) fn list(self) -> &'static Mutex<List> {
        match self {
            Key::Id(id) => &TABLE[id as usize % LISTS],
            Key::Address(address) => &TABLE[index(address)],
        }
    }

    /// The key of the word at `address` that has its first task, in the list that is locked (I4).
    pub(crate) fn first(list: &mut List, address: usize) -> u32 {
        let id = list.ids.take() as usize * LISTS + index(address);
        assert!(id <= MOST_IDS, "words with tasks outnumber what memory holds");
        id as u32
    }

    /// Removes all tasks of a word that is dropped, without waking them.
    pub(crate) fn forget(self) {
        let mut list = lock(self.list());
        let leaked = list.take_all(self);
        if let Key::Id(id) = self {
            list.ids.give_back(id / LISTS as u32);
        }
        drop(list);
        drop(leaked);
    }
}

/// Wakes up to `count` threads, by `threads`, and futures, by turns (see the header), with the bystanders that come
/// first; or all, if `count` is `u32::MAX`. Returns how many were woken; bystanders count only among all.
#[cfg_attr(unc_model, track_caller)]
pub(crate) fn wake<W: Width>(
    flagged: &Flagged<W>,
    count: u32,
    threads: impl Fn(u32) -> usize,
) -> usize {
    let mut woken = Vec::new();
    let number = if count == u32::MAX {
        let threads = threads(count);
        let (mut list, key) = flagged.tasks();
        // All of them are woken, so none has a wakeup to pass on.
        woken.extend(key.into_iter().flat_map(|key| list.take_all(key)));
        threads + woken.len()
    } else if flagged.is_tasks_turn() {
        let tasks = choose(flagged, count as usize, &mut woken);
        tasks + threads(count - tasks as u32)
    } else {
        let threads = threads(count);
        threads + choose(flagged, count as usize - threads, &mut woken)
    };
    if let Err(panic) = wake_each(woken) {
        match std::thread::panicking() {
            true => discard(panic),
            // A bug in the executor: it resumes in the waking thread once all the others are woken.
            false => resume_unwind(panic),
        }
    }
    number
}

/// Takes the wakers of the next tasks, and lets the others have the next turn. Returns the number of futures.
#[cfg_attr(unc_model, track_caller)]
fn choose<W: Width>(flagged: &Flagged<W>, count: usize, woken: &mut Vec<Waker>) -> usize {
    let (mut list, key) = flagged.tasks();
    let Some(key) = key.filter(|&key| list.has_waiting(key)) else { return 0 };
    flagged.take_turns();
    list.choose(key, count, woken)
}

/// Wakes all of them, even if a waker panics. Returns the first panic.
fn wake_each(tasks: Vec<Waker>) -> std::thread::Result<()> {
    let mut result = Ok(());
    for task in tasks {
        match catch_unwind(AssertUnwindSafe(|| task.wake())) {
            Err(panic) if result.is_err() => discard(panic),
            Err(panic) => result = Err(panic),
            Ok(()) => {}
        }
    }
    result
}

/// Drops what a waker panicked with. What panics when it is dropped is leaked.
fn discard(panic: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(another);
    }
}

#[cfg(unc_model)]
fn poll_again_soon(task: Waker) {
    task.wake();
}

/// The list of a task that is listed under `key`; mostly that of the word.
#[cfg(not(unc_model))]
fn list_of<W: Width>(_: &Flagged<W>, key: Key) -> MutexGuard<'static, List> {
    lock(key.list())
}

#[cfg(unc_model)]
#[track_caller]
fn list_of<W: Width>(flagged: &Flagged<W>, _: Key) -> MutexGuard<'_, List> {
    flagged.tasks().0
}

/// The place of a task among those that wait on one [`Sleepers`](crate::Sleepers), which it keeps from poll to poll.
///
/// A task with a ticket may live on without being polled. So it is woken as a bystander: in addition to a thread or a
/// future that is there for the same condition, never instead of one.
#[derive(Debug, Default)]
pub struct Ticket {
    at: Option<(Key, u64)>,
    since_ns: u64,
}

impl Ticket {
    /// Lists the task, or replaces its waker. It leaves the list of another word, where a ticket does not belong.
    fn register<W: Width>(&mut self, flagged: &Flagged<W>, waker: &Waker, is_bystander: bool) {
        let waker = waker.clone();
        let is_bystander = is_bystander || flagged.scope() == Scope::Shared;
        let (mut list, key) = flagged.tasks_for_one_more();
        let known = self.at.filter(|known| known.0 == key);
        if known.is_none() {
            self.since_ns = now_ns();
        }
        let at = known.unwrap_or_else(|| (key, list.take_ticket()));
        let replaced = list.register(at, waker, is_bystander);
        drop(list);
        let elsewhere = self.at.replace(at).filter(|old| old.0 != key);
        let left = elsewhere.map(|old| list_of(flagged, old.0).leave(old));
        drop((replaced, left));
    }
}

/// Returns what `ready` returns, or registers the task for the next wakeup.
pub(crate) fn poll<W: Width, R>(
    flagged: &Flagged<W>,
    publishers: Publishers,
    ticket: &mut Ticket,
    context: &mut Context<'_>,
    mut ready: impl FnMut() -> Option<R>,
    is_bystander: bool,
) -> Poll<R> {
    if let Some(value) = ready() {
        if ticket.at.is_some() {
            flagged.spin.waited_since(ticket.since_ns);
            give_up(flagged, ticket);
        }
        return Poll::Ready(value);
    }
    if ticket.at.is_none()
        && let Some(value) = flagged.spin.yield_once(&mut ready)
    {
        return Poll::Ready(value);
    }
    // I1: first the list, then flag, order, check.
    ticket.register(flagged, context.waker(), is_bystander);
    let mut repair = FlagRepair::new(flagged);
    loop {
        let word = flagged.flag(&mut repair);
        let is_ordered = word.is_some_and(|word| flagged.order_for_task(publishers, word));
        repair.check(publishers, is_ordered);
        if let Some(value) = ready() {
            give_up(flagged, ticket);
            return Poll::Ready(value);
        }
        if word.is_some() {
            if !is_ordered {
                poll_again_soon(context.waker().clone());
            }
            return Poll::Pending;
        }
    }
}

/// Ends the task's wait, and passes a wakeup on that was for it (I2).
pub(crate) fn give_up<W: Width>(flagged: &Flagged<W>, ticket: &mut Ticket) {
    let Some(at) = ticket.at.take() else { return };
    let (waker, was_chosen) = list_of(flagged, at.0).leave(at);
    if was_chosen {
        flagged.wake_waiters(1);
    }
    drop(waker);
}

/// A future that resolves once `ready` returns a value.
pub(crate) fn until<'f, W: Width, R, F: FnMut() -> Option<R>>(
    flagged: &'f Flagged<W>,
    publishers: Publishers,
    ready: F,
) -> Until<'f, W, F> {
    Until { flagged, publishers, ready, ticket: Ticket::default() }
}

pub(crate) struct Until<'f, W: Width, F> {
    flagged: &'f Flagged<W>,
    publishers: Publishers,
    ready: F,
    ticket: Ticket,
}

// `ready` is called by reference and never pinned.
impl<W: Width, F> Unpin for Until<'_, W, F> {}

impl<W: Width, R, F: FnMut() -> Option<R>> Future for Until<'_, W, F> {
    type Output = R;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        let Until { flagged, publishers, ready, ticket } = self.get_mut();
        poll(*flagged, *publishers, ticket, context, ready, false)
    }
}

impl<W: Width, F> Drop for Until<'_, W, F> {
    fn drop(&mut self) {
        give_up(self.flagged, &mut self.ticket);
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;

    #[test]
    fn words_on_lines_of_their_own_use_all_lists() {
        let base = 0x7f12_3456_7000_u64 as usize;
        for apart in [8, 64, 128, 4096, 1 << 16, 1 << 21] {
            let mut tasks = [0; LISTS];
            (0..16 * LISTS).for_each(|word| tasks[index(base + word * apart)] += 1);
            let used = tasks.iter().filter(|&&tasks| tasks > 0).count();
            let most = tasks.iter().max().unwrap();
            assert!(
                used > LISTS * 3 / 4 && *most <= 64,
                "{apart} apart: {used} lists, {most} in one"
            );
        }
    }
}
