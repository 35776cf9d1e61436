//! Sleepers and event counts in memory that two processes share: hand-offs between them, and a process whose light
//! fences no barrier reaches.

#![cfg(not(any(miri, unc_model)))]
#![allow(clippy::disallowed_types)] // A user's own atomics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use uncontended_sys::{filter, membarrier};
use uncontended_wait::role::Holder;
use uncontended_wait::{ClaimError, Deadline, EventCount, Scope, Sleepers, Ticket, single};

/// What both processes map.
struct Shared {
    sleepers: Sleepers,
    turn: AtomicU64,
    count: single::EventCount64,
    refused: AtomicU64,
}

fn share() -> &'static Shared {
    let (read_write, shared) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    let size = size_of::<Shared>();
    // SAFETY: a new mapping disturbs no other memory.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), size, read_write, shared, -1, 0) };
    assert_ne!(memory, libc::MAP_FAILED);
    let memory = memory.cast::<Shared>();
    let (turn, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let made = Shared { sleepers: Sleepers::shared(), turn, count: EventCount::shared(), refused };
    // SAFETY: the mapping is that large, aligned to a page, ours alone so far, and never unmapped.
    unsafe { memory.write(made) };
    // SAFETY: what was written just now, in a mapping that stays.
    unsafe { &*memory }
}

const TURNS: u64 = 4_000;

/// Takes every second turn, then counts 1,000 events for the other side.
fn child(shared: &Shared, is_forbidden: bool) -> bool {
    if is_forbidden && filter::forbid(membarrier::NUMBER.try_into().unwrap(), 1).is_err() {
        shared.refused.store(2, Release);
    }
    let attached = shared.sleepers.attach().is_ok() && shared.count.attach().is_ok();
    if !attached {
        shared.refused.store(1, Release);
        let _ = shared.count.attach();
    }
    for wanted in (1..TURNS).step_by(2) {
        shared.sleepers.sleep_until(|| shared.turn.load(Acquire) == wanted);
        shared.turn.store(wanted + 1, Release);
        shared.sleepers.wake();
    }
    let Ok(mut producer) = shared.count.producer() else { return false };
    for _ in 0..1_000 {
        producer.increment();
    }
    drop(producer);
    shared.count.is_closed()
}

fn hand_over(is_forbidden: bool) -> u64 {
    let shared = share();
    assert_eq!((shared.sleepers.scope(), shared.count.scope()), (Scope::Shared, Scope::Shared));
    let attached = (shared.sleepers.attach(), shared.count.attach());
    println!("this side: {attached:?}");
    // SAFETY: the child runs no more than system calls and atomics, neither of which needs the parent's other threads.
    let process = unsafe { libc::fork() };
    assert!(process >= 0);
    if process == 0 {
        let status = i32::from(!child(shared, is_forbidden));
        // SAFETY: ends the child at once, without what the parent has to do at its own end.
        unsafe { libc::_exit(status) };
    }
    for wanted in (0..TURNS).step_by(2) {
        shared.sleepers.sleep_until(|| shared.turn.load(Acquire) == wanted);
        shared.turn.store(wanted + 1, Release);
        shared.sleepers.wake();
    }
    assert_eq!(shared.count.wait_until(|events| events == 1_000), Ok(1_000));
    assert!(shared.count.wait(1_000).is_err(), "the child has dropped its producer");
    let mut status = 0;
    // SAFETY: `status` lives until the call returns.
    assert_eq!(unsafe { libc::waitpid(process, &raw mut status, 0) }, process);
    assert_eq!(status, 0);
    shared.refused.load(Acquire)
}

#[test]
fn hand_offs_between_two_processes() {
    println!("refused: {}", hand_over(false));
}

#[test]
fn hand_offs_with_a_process_that_no_barrier_reaches() {
    match hand_over(true) {
        2 => uncontended_testkit::skip!(
            "hand_offs_with_a_process_that_no_barrier_reaches",
            "no filters here"
        ),
        refused => assert_eq!(refused, 1, "reported as refused"),
    }
}

#[test]
fn the_producer_of_a_count_that_was_killed_is_found_out_and_followed() {
    let shared = share();
    let _ = shared.count.attach();
    assert_eq!(shared.count.holder(), Holder::Nobody);
    // SAFETY: the child runs no more than system calls and atomics, and reads files, none of which needs the parent's
    // other threads.
    let process = unsafe { libc::fork() };
    assert!(process >= 0);
    if process == 0 {
        let _ = shared.count.attach();
        let mut producer = shared.count.producer();
        let _ = producer.as_mut().map(|producer| producer.add(3));
        // SAFETY: the signal goes to this process alone.
        unsafe { libc::raise(libc::SIGKILL) };
    }
    let pid = process.unsigned_abs();
    assert_eq!(shared.count.wait_until(|events| events == 3), Ok(3));
    let mut status = 0;
    // SAFETY: `status` lives until the call returns.
    assert_eq!(unsafe { libc::waitpid(process, &raw mut status, 0) }, process);
    assert!(libc::WIFSIGNALED(status));
    assert_eq!(shared.count.producer().err(), Some(ClaimError::Died { pid }));
    assert_eq!(shared.count.holder(), Holder::Died { pid });
    let mut successor = shared.count.take_over().unwrap();
    let me = Holder::Lives { pid: std::process::id() };
    assert_eq!(
        (shared.count.holder(), shared.count.take_over().err()),
        (me, Some(ClaimError::Taken))
    );
    successor.increment();
    assert_eq!(shared.count.value(), 4);
    successor.release();
    let successor = shared.count.producer().unwrap();
    drop(successor);
    assert_eq!(shared.count.take_over().err(), Some(ClaimError::Closed));
    assert!(shared.count.is_closed());
}

#[test]
fn a_child_that_was_forked_drops_its_copy_of_the_producer_and_the_count_stays_open() {
    let shared = share();
    let mut producer = shared.count.producer().unwrap();
    // SAFETY: the child makes system calls and accesses atomics, and needs none of the parent's other threads.
    let process = unsafe { libc::fork() };
    assert!(process >= 0);
    if process == 0 {
        drop(producer);
        // SAFETY: ends the child at once, without what the parent has to do at its own end.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: `status` lives until the call returns.
    assert_eq!(unsafe { libc::waitpid(process, &raw mut status, 0) }, process);
    assert_eq!(status, 0);
    let me = Holder::Lives { pid: std::process::id() };
    assert_eq!((shared.count.holder(), shared.count.is_closed()), (me, false));
    producer.increment();
    assert_eq!(shared.count.value(), 1);
    drop(producer);
    assert!(shared.count.is_closed());
}

/// Counts its wakeups.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Whether a task at a shared place is polled again within ten seconds.
fn is_polled_again(shared: &Shared) -> bool {
    let woken = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&woken));
    let (mut ticket, until) = (Ticket::default(), Deadline::after(Duration::from_secs(10)));
    let context = &mut Context::from_waker(&waker);
    let is_pending = shared.sleepers.poll_until(&mut ticket, context, || None::<()>).is_pending();
    while woken.0.load(Relaxed) == 0 && !until.has_passed() {
        std::thread::yield_now();
    }
    is_pending && woken.0.load(Relaxed) > 0
}

/// A child that was forked has no thread that polls tasks again, though its parent had one.
#[test]
fn a_task_in_a_forked_child_is_polled_again() {
    if std::env::var_os("UNC_EMULATED").is_some() {
        uncontended_testkit::skip!(
            "a task in a forked child is polled again",
            "qemu aborts a child that was forked by a thread and starts one itself"
        );
        return;
    }
    let shared = share();
    assert!(is_polled_again(shared));
    // The thread lives.
    let context = &mut Context::from_waker(Waker::noop());
    let mut ticket = Ticket::default();
    assert!(shared.sleepers.poll_until(&mut ticket, context, || None::<()>).is_pending());
    // SAFETY: the child needs none of the parent's other threads, nor a lock that one of them may hold: what it
    // allocates is the C library's, which is usable in children.
    let process = unsafe { libc::fork() };
    assert!(process >= 0);
    if process == 0 {
        let status = i32::from(!is_polled_again(shared));
        // SAFETY: ends the child at once, without what the parent has to do at its own end.
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    // SAFETY: `status` lives until the call returns.
    assert_eq!(unsafe { libc::waitpid(process, &raw mut status, 0) }, process);
    assert_eq!(status, 0);
}
