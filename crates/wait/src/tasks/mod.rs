//! Async tasks that wait: what the kernel's futex queue is to threads, for wakers.
//!
//! # Contract
//! [`until`] is a future that resolves once a condition returns a value. Publishers need not know whether threads or
//! tasks wait: the one that finds the flag wakes both. A future may be dropped at any time. It is polled again only
//! after a wakeup; or, where barriers are refused or publishers are in other processes, every few milliseconds by a
//! thread that lives as long as such a task waits.
//!
//! # State
//! A fixed table of lists, hashed by the address of the flagged word; each list under its own lock. Under the checker
//! each word has a list of its own, because a static would outlive an execution.
//!
//! # Invariants
//! I1: a task is in the list before it sees the flag set, and checks its condition after its order (I3 of [`Flagged`]).
//!     A thread that clears that flag takes the task from the list afterwards; a task that registers only after that
//!     sees the clear, because both hold the list's lock. So a task that returned `Pending` is woken at the first
//!     clear, and never relies on a flag that was set again.
//! I2: a task that a `wake_one` chose passes the wakeup on when it leaves, with or without a value: it may have found
//!     that value before it was chosen, and the wakeup was for the next.
//! I3: a waker that panics costs no other task its wakeup; the panic resumes in the thread that woke them.
//!
//! # Evidence
//! tests/tasks.rs; tests/model_tasks.rs, each word with its own list. Mutants: tests/mutants/tasks.toml.

mod soon;

use self::soon::poll_again_soon;
use crate::flagged::{FlagRepair, Flagged, Publishers};
use crate::width::Width;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};
use uncontended_atomic::{Mutex, MutexGuard};

struct Waiting {
    address: usize,
    ticket: u64,
    /// `None` once the task has been chosen.
    waker: Option<Waker>,
}

/// Tasks in the order in which they came.
#[derive(Default)]
pub(crate) struct List {
    waiting: Vec<Waiting>,
    next_ticket: u64,
}

#[cfg(not(unc_model))]
const LISTS: usize = 64;

#[cfg(not(unc_model))]
static TABLE: [Mutex<List>; LISTS] =
    [const { Mutex::new(List { waiting: Vec::new(), next_ticket: 0 }) }; LISTS];

/// Where the tasks that wait on one word are listed.
#[derive(Clone, Copy)]
pub(crate) struct Place<'f> {
    pub(crate) address: usize,
    pub(crate) list: &'f Mutex<List>,
}

impl<'f> Place<'f> {
    fn lock(self) -> MutexGuard<'f, List> {
        // Wakers are woken and dropped outside the lock, so nothing panics inside.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The list of an address: the upper bits of its product with 2^64 divided by the golden ratio, which spreads addresses
/// that differ by any power of two. Words on cache lines of their own share their low bits.
#[cfg(not(unc_model))]
fn index(address: usize) -> usize {
    let mixed = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - LISTS.ilog2())) as usize
}

/// The list of an address, with others'.
#[cfg(not(unc_model))]
pub(crate) fn list_of(address: usize) -> &'static Mutex<List> {
    &TABLE[index(address)]
}

/// Wakes up to `count` tasks that wait at `place`, oldest first, and returns how many it woke.
#[cfg_attr(unc_model, track_caller)]
pub(crate) fn wake(place: Place<'_>, count: usize) -> usize {
    let mut woken = Vec::new();
    {
        let (mut list, address) = (place.lock(), place.address);
        let here = list.waiting.iter_mut().filter(|waiting| waiting.address == address);
        woken.extend(here.filter_map(|waiting| waiting.waker.take()).take(count));
        if count == usize::MAX {
            // All of them are woken, so none has a wakeup to pass on.
            list.waiting.retain(|waiting| waiting.address != address);
        }
    }
    let number = woken.len();
    if let Err(panic) = wake_each(woken)
        && !std::thread::panicking()
    {
        // A bug in the executor: it resumes in the waking thread once all the others are woken.
        resume_unwind(panic);
    }
    number
}

/// Wakes all of them, even if a waker panics. Returns the first panic.
fn wake_each(tasks: Vec<Waker>) -> std::thread::Result<()> {
    let wake = |task: Waker| catch_unwind(AssertUnwindSafe(|| task.wake()));
    tasks.into_iter().map(wake).fold(Ok(()), std::thread::Result::and)
}

/// Removes all tasks that wait at `place` without waking them.
#[cfg(not(unc_model))]
pub(crate) fn forget(place: Place<'_>) {
    let mut leaked = Vec::new();
    let here = |waiting: &mut Waiting| waiting.address == place.address;
    leaked.extend(place.lock().waiting.extract_if(.., here));
    drop(leaked);
}

/// Appends a task to its list, or updates its waker in place.
fn register(place: Place<'_>, ticket: Option<u64>, waker: &Waker) -> u64 {
    let waker = waker.clone();
    let (replaced, ticket) = {
        let (mut list, address) = (place.lock(), place.address);
        let known = |waiting: &&mut Waiting| Some(waiting.ticket) == ticket;
        if let Some(mine) = list.waiting.iter_mut().find(known) {
            (mine.waker.replace(waker), mine.ticket)
        } else {
            let ticket = list.next_ticket;
            list.next_ticket += 1;
            list.waiting.push(Waiting { address, ticket, waker: Some(waker) });
            (None, ticket)
        }
    };
    drop(replaced);
    ticket
}

/// Removes a task. True: it had been chosen.
fn leave(place: Place<'_>, ticket: u64) -> bool {
    let mine = {
        let mut list = place.lock();
        let at = list.waiting.iter().position(|waiting| waiting.ticket == ticket);
        at.map(|at| list.waiting.remove(at))
    };
    mine.is_some_and(|mine| mine.waker.is_none())
}

/// The place of a task among those that wait on one [`Sleepers`](crate::Sleepers), which it keeps from poll to poll.
#[derive(Debug, Default)]
pub struct Ticket(Option<u64>);

/// Returns what `ready` returns, or registers the task for the next wakeup.
pub(crate) fn poll<W: Width, R>(
    flagged: &Flagged<W>,
    publishers: Publishers,
    ticket: &mut Ticket,
    context: &mut Context<'_>,
    mut ready: impl FnMut() -> Option<R>,
) -> Poll<R> {
    if let Some(value) = ready() {
        give_up(flagged, ticket);
        return Poll::Ready(value);
    }
    // I1: first the list, then flag, order, check.
    ticket.0 = Some(register(flagged.place(), ticket.0, context.waker()));
    let mut repair = FlagRepair::new(flagged);
    loop {
        let is_flagged = flagged.flag(&mut repair).is_some();
        let is_ordered = is_flagged && flagged.order_for_task(publishers);
        repair.check(publishers, is_ordered);
        if let Some(value) = ready() {
            give_up(flagged, ticket);
            return Poll::Ready(value);
        }
        if is_flagged {
            if !is_ordered {
                poll_again_soon(context.waker().clone());
            }
            return Poll::Pending;
        }
    }
}

/// Ends the task's wait, and passes a wakeup on that was for it (I2).
pub(crate) fn give_up<W: Width>(flagged: &Flagged<W>, ticket: &mut Ticket) {
    if let Some(ticket) = ticket.0.take()
        && leave(flagged.place(), ticket)
    {
        flagged.wake_waiters(1);
    }
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
        poll(*flagged, *publishers, ticket, context, ready)
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
