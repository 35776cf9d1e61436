//! Async tasks that wait alongside threads: no wakeup is lost, whichever future is dropped, also where barriers are
//! refused.

#![cfg(not(unc_model))]
#![allow(clippy::disallowed_types)] // A user's own atomics.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use uncontended_wait::event_count::{EventCount, SingleProducer, TwoWords};
use uncontended_wait::{Closed, Parker, Sleepers, Ticket, Unparker, many};

const SCALE: u64 = if cfg!(miri) { 10 } else { 2_000 };

struct Unpark(Mutex<Unparker>, AtomicUsize);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Relaxed);
        self.0.lock().unwrap().unpark();
    }
}

/// Polls until the future is ready, and parks in between.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut parker = Parker::new();
    let unpark = Arc::new(Unpark(Mutex::new(parker.unparker()), AtomicUsize::new(0)));
    let waker = Waker::from(unpark);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => parker.park(),
        }
    }
}

fn take(tokens: &AtomicU64) -> Option<()> {
    tokens.fetch_update(AcqRel, Relaxed, |tokens| tokens.checked_sub(1)).ok().map(drop)
}

fn follow<F: SingleProducer<Value = u64> + Sync>() {
    let count = EventCount::<F>::new();
    let mut producer = count.producer().unwrap();
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                block_on(async {
                    for wanted in (1..=SCALE).step_by(7) {
                        assert!(count.until(|value| value >= wanted).await.unwrap() >= wanted);
                    }
                    assert_eq!(count.until(|_| false).await, Err(Closed));
                });
            });
        }
        threads.spawn(|| assert_eq!(count.wait_until(|value| value == SCALE), Ok(SCALE)));
        for event in 0..SCALE {
            producer.increment();
            if event % 16 == 0 {
                std::thread::yield_now();
            }
        }
        drop(producer);
    });
}

#[test]
fn tasks_follow_a_single_producer_beside_threads() {
    follow::<TwoWords<u64>>();
    #[cfg(target_arch = "x86_64")]
    follow::<uncontended_wait::event_count::OneWord<u64, uncontended_wait::event_count::Unlocked>>(
    );
}

#[test]
fn each_token_finds_a_thread_or_a_task() {
    let (sleepers, tokens, taken) = (Sleepers::new(), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|threads| {
        for is_task in [true, false, true, false] {
            let (sleepers, tokens, taken) = (&sleepers, &tokens, &taken);
            threads.spawn(move || {
                for _ in 0..SCALE / 4 {
                    match is_task {
                        true => block_on(sleepers.until(|| take(tokens))),
                        false => sleepers.sleep_until(|| take(tokens)),
                    }
                    taken.fetch_add(1, Relaxed);
                }
            });
        }
        for _ in 0..SCALE / 4 * 4 {
            tokens.fetch_add(1, Release);
            sleepers.wake_one();
        }
    });
    assert_eq!((tokens.load(Relaxed), taken.load(Relaxed)), (0, SCALE / 4 * 4));
}

fn waker() -> (Waker, Arc<Unpark>) {
    let unpark = Arc::new(Unpark(Mutex::new(Parker::new().unparker()), AtomicUsize::new(0)));
    (Waker::from(Arc::clone(&unpark)), unpark)
}

#[test]
fn a_task_that_was_chosen_and_dropped_hands_it_on() {
    let (sleepers, tokens) = (Sleepers::new(), AtomicU64::new(0));
    let (first_waker, first_woken) = waker();
    let (second_waker, second_woken) = waker();
    let mut first = Box::pin(sleepers.until(|| take(&tokens)));
    let mut second = Box::pin(sleepers.until(|| take(&tokens)));
    fn poll<T>(future: &mut Pin<Box<impl Future<Output = T>>>, waker: &Waker) -> Poll<T> {
        future.as_mut().poll(&mut Context::from_waker(waker))
    }
    assert!(poll(&mut first, &first_waker).is_pending());
    assert!(poll(&mut first, &first_waker).is_pending(), "a spurious poll");
    assert!(poll(&mut second, &second_waker).is_pending());
    tokens.store(1, Release);
    let (before, others) = (first_woken.1.load(Relaxed), second_woken.1.load(Relaxed));
    sleepers.wake_one();
    assert!(first_woken.1.load(Relaxed) > before, "the oldest task");
    if others == 0 && second_woken.1.load(Relaxed) == 0 {
        drop(first);
        assert_eq!(second_woken.1.load(Relaxed), 1, "passed on");
    }
    assert!(poll(&mut second, &second_waker).is_ready());
    // A future that never waited leaves nothing behind, and one that waits can be dropped.
    drop(sleepers.until(|| None::<()>));
    let mut third = Box::pin(sleepers.until(|| None::<()>));
    assert!(poll(&mut third, &second_waker).is_pending());
    drop(third);
    sleepers.wake();
}

#[test]
fn many_producers_and_a_close_wake_tasks() {
    let count = many::EventCount32::new();
    std::thread::scope(|threads| {
        threads.spawn(|| assert_eq!(block_on(count.until(|value| value == 3)), Ok(3)));
        threads.spawn(|| assert_eq!(block_on(count.until(|_| false)), Err(Closed)));
        for _ in 0..3 {
            count.increment();
        }
        while count.value() < 3 {}
        block_on(count.until(|value| value == 3)).unwrap();
        count.close();
    });
}

#[test]
fn tasks_of_this_process_wait_at_a_shared_place_too() {
    let (sleepers, ready) = (Sleepers::shared(), AtomicU64::new(0));
    std::thread::scope(|threads| {
        let task =
            threads.spawn(|| block_on(sleepers.until(|| (ready.load(Acquire) == 1).then_some(7))));
        std::thread::sleep(std::time::Duration::from_millis(10));
        // Another process would wake no task here: the task checks by itself.
        ready.store(1, Release);
        assert_eq!(task.join().unwrap(), 7);
    });
}

/// Counts its wakeups, and panics if told to.
struct Fragile(bool, AtomicUsize);

impl Wake for Fragile {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Relaxed);
        assert!(!self.0, "a waker that panics");
    }
}

#[test]
fn a_waker_that_panics_costs_no_other_task_its_wake_up() {
    let sleepers = Sleepers::new();
    let wakers = [true, false, true, false].map(|fails| Arc::new(Fragile(fails, 0.into())));
    let mut waiting: Vec<_> = wakers.iter().map(|_| sleepers.until(|| None::<()>)).collect();
    for (future, waker) in waiting.iter_mut().zip(&wakers) {
        let waker = Waker::from(Arc::clone(waker));
        assert!(Pin::new(future).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    let wake = std::panic::AssertUnwindSafe(|| sleepers.wake());
    assert!(std::panic::catch_unwind(wake).is_err(), "the panic resumes in the waking thread");
    assert_eq!(wakers.map(|waker| waker.1.load(Relaxed)), [1; 4]);
    assert!(!sleepers.has_waiters());
}

#[test]
fn a_task_waits_for_a_bool_as_a_thread_does() {
    let (sleepers, is_set) = (Sleepers::new(), AtomicU64::new(0));
    let mut ticket = uncontended_wait::Ticket::default();
    let mut context = Context::from_waker(Waker::noop());
    let mut poll = || sleepers.poll_until(&mut ticket, &mut context, || is_set.load(Acquire) == 1);
    assert_eq!(poll(), Poll::Pending);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            block_on(sleepers.until(|| is_set.load(Acquire) == 1));
            assert_eq!(is_set.load(Relaxed), 1, "it waited");
        });
        is_set.store(1, Release);
        sleepers.wake();
    });
    assert_eq!(poll(), Poll::Ready(()));
    assert!(!block_on(sleepers.until(|| Some(false))), "`Some` ends a wait, whatever is in it");
}

/// Counts its wakeups.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

impl Count {
    fn get(&self) -> usize {
        self.0.load(Relaxed)
    }
}

fn counting() -> (Waker, Arc<Count>) {
    let count = Arc::new(Count::default());
    (Waker::from(Arc::clone(&count)), count)
}

/// Polls a task that will never be ready.
fn register(sleepers: &Sleepers, ticket: &mut Ticket, waker: &Waker) {
    let context = &mut Context::from_waker(waker);
    assert!(sleepers.poll_until(ticket, context, || None::<()>).is_pending());
}

#[test]
fn a_task_with_a_ticket_that_is_not_polled_holds_no_wakeup_back() {
    let (sleepers, mut idle) = (Sleepers::new(), Ticket::default());
    let ((idle_waker, idle_woken), (waker, woken)) = (counting(), counting());
    register(&sleepers, &mut idle, &idle_waker);
    let mut future = Box::pin(sleepers.until(|| None::<()>));
    assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    sleepers.wake_one();
    assert_eq!((idle_woken.get(), woken.get()), (1, 1), "next to a future");
    drop(future);
    let mut other = Ticket::default();
    register(&sleepers, &mut idle, &idle_waker);
    register(&sleepers, &mut other, &waker);
    sleepers.wake_one();
    assert_eq!((idle_woken.get(), woken.get()), (2, 2), "next to another ticket");
    sleepers.wake();
    assert_eq!((idle_woken.get(), woken.get()), (2, 2), "none is woken twice");
    let tokens = AtomicU64::new(0);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            let sleeper = threads.spawn(|| sleepers.sleep_until(|| take(&tokens)));
            register(&sleepers, &mut idle, &idle_waker);
            std::thread::sleep(std::time::Duration::from_millis(5));
            tokens.store(1, Release);
            sleepers.wake_one();
            sleeper.join().unwrap();
        }
    });
    sleepers.give_up(&mut idle);
    drop(idle_waker);
    assert_eq!(Arc::strong_count(&idle_woken), 1, "its waker is dropped");
}

#[test]
fn tasks_and_threads_take_turns() {
    let (sleepers, is_over, looks) = (Sleepers::new(), AtomicU64::new(0), AtomicUsize::new(0));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            sleepers.sleep_until(|| {
                looks.fetch_add(1, Relaxed);
                (is_over.load(Acquire) == 1).then_some(())
            })
        });
        let (waker, woken) = counting();
        let mut future = Box::pin(sleepers.until(|| None::<()>));
        let mut wake_one = || {
            assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            std::thread::sleep(std::time::Duration::from_millis(2));
            sleepers.wake_one();
        };
        let is_task_served = (0..20).all(|_| {
            let before = woken.get();
            (0..2).for_each(|_| wake_one());
            woken.get() > before
        });
        let before = looks.load(Relaxed);
        let is_thread_served = (0..1_000).any(|_| {
            wake_one();
            looks.load(Relaxed) >= before + 3
        });
        is_over.store(1, Release);
        sleepers.wake();
        assert!(is_task_served, "by one of any two in a row");
        assert!(is_thread_served);
    });
}

/// A future that was leaked stays listed, but neither where its sleepers move to nor where they were does it take a
/// wakeup from others.
#[test]
#[cfg_attr(miri, ignore = "it leaks on purpose")]
fn a_leaked_future_of_sleepers_that_moved_takes_no_wakeup() {
    let ((old_waker, old), (waker, woken)) = (counting(), counting());
    let mut place = Some(Sleepers::new());
    let mut leaked = Box::pin(place.as_ref().unwrap().until(|| None::<()>));
    assert!(leaked.as_mut().poll(&mut Context::from_waker(&old_waker)).is_pending());
    std::mem::forget(leaked);
    let moved = Box::new(place.take().unwrap());
    place = Some(Sleepers::new());
    let here = place.as_ref().unwrap();
    let mut future = Box::pin(here.until(|| None::<()>));
    assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    here.wake_one();
    assert_eq!((old.get(), woken.get()), (0, 1));
    drop((moved, old_waker));
    assert_eq!(Arc::strong_count(&old), 1, "its waker goes with its sleepers");
}

#[test]
fn a_ticket_follows_sleepers_that_move() {
    let (sleepers, mut ticket, (waker, woken)) = (Sleepers::new(), Ticket::default(), counting());
    register(&sleepers, &mut ticket, &waker);
    let sleepers = Box::new(sleepers);
    sleepers.wake();
    assert_eq!(woken.get(), 1);
    register(&sleepers, &mut ticket, &waker);
    let sleepers = *sleepers;
    sleepers.give_up(&mut ticket);
    sleepers.wake();
    assert_eq!((woken.get(), Arc::strong_count(&woken)), (1, 2));
}

#[test]
fn a_ticket_that_is_used_elsewhere_replaces_no_stranger() {
    let ((mine_waker, mine_woken), (waker, woken)) = (counting(), counting());
    let places: Vec<Sleepers> = (0..200).map(|_| Sleepers::new()).collect();
    let mut mine = Ticket::default();
    register(&places[0], &mut mine, &mine_waker);
    for (at, place) in places.iter().enumerate().skip(1) {
        let mut theirs = Ticket::default();
        register(place, &mut theirs, &waker);
        register(place, &mut mine, &mine_waker);
        place.wake();
        assert_eq!(woken.get(), at);
        register(&places[0], &mut mine, &mine_waker);
        places[0].give_up(&mut theirs);
    }
    assert_eq!(mine_woken.get(), places.len() - 1);
    places[1].give_up(&mut mine);
    drop((mine_waker, waker));
    assert_eq!(Arc::strong_count(&mine_woken) + Arc::strong_count(&woken), 2, "none is listed");
}

/// Panics when it is dropped, and so does a waker that panics with it.
struct Grenade;

impl Drop for Grenade {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "a payload that panics");
    }
}

struct Throws;

impl Wake for Throws {
    fn wake(self: Arc<Self>) {
        std::panic::panic_any(Grenade);
    }
}

#[test]
#[cfg_attr(miri, ignore = "it leaks on purpose")]
fn what_wakers_panic_with_may_panic_too() {
    let (sleepers, (waker, woken)) = (Sleepers::new(), counting());
    let throws = Waker::from(Arc::new(Throws));
    let mut tickets = [(); 3].map(|()| Ticket::default());
    for (ticket, waker) in tickets.iter_mut().zip([&throws, &throws, &waker]) {
        register(&sleepers, ticket, waker);
    }
    let wake = std::panic::AssertUnwindSafe(|| sleepers.wake());
    let panic = std::panic::catch_unwind(wake).unwrap_err();
    assert!(panic.is::<Grenade>(), "the first panic");
    std::mem::forget(panic);
    assert_eq!(woken.get(), 1);
    // The thread that polls tasks again survives it.
    let sleepers = Sleepers::shared();
    for waker in [throws, waker] {
        register(&sleepers, &mut Ticket::default(), &waker);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    while woken.get() == 1 {
        std::thread::yield_now();
    }
}

#[test]
fn a_waker_that_panics_costs_no_thread_its_wakeup() {
    let (sleepers, tokens) = (Sleepers::new(), AtomicU64::new(0));
    for _ in 0..4 {
        let fails = Waker::from(Arc::new(Fragile(true, 0.into())));
        let mut future = Box::pin(sleepers.until(|| None::<()>));
        std::thread::scope(|threads| {
            let sleeper = threads.spawn(|| sleepers.sleep_until(|| take(&tokens)));
            std::thread::sleep(std::time::Duration::from_millis(5));
            assert!(future.as_mut().poll(&mut Context::from_waker(&fails)).is_pending());
            tokens.store(1, Release);
            let wake = std::panic::AssertUnwindSafe(|| sleepers.wake_for(2));
            assert!(std::panic::catch_unwind(wake).is_err());
            sleeper.join().unwrap();
        });
    }
}
