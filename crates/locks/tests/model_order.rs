//! The order of waiters, and those that give up, explored: every execution that C11 and x86-TSO allow.

#![cfg(unc_model)]

mod common;

use common::{Guarded, begins, begins_only, explorer, holds};
use uncontended_atomic::{Arc, AtomicU32, Ordering::Relaxed, spawn, spin_loop};
use uncontended_locks::*;
use uncontended_testkit::explored::{self, BOTH};

impl<L: Timed> Guarded<L> {
    /// Adds one, and returns 1, unless the deadline passes.
    fn add_if_taken(&self, deadline: Deadline) -> u32 {
        let taken = self.lock.lock_deadline(deadline).is_ok();
        if taken {
            self.add();
            // SAFETY: this thread took it above, and gives it back once.
            unsafe { self.lock.unlock() };
        }
        u32::from(taken)
    }
}

/// Of scenarios whose bugs show late in an exploration: random runs.
fn is_sampled(name: &str, scenario: fn()) {
    let sampler = |memory| explorer(memory).sample(30_000, 1).depth(4);
    explored::begins(name, (30_000, Some(30_000)), &BOTH, sampler, || scenario);
}

/// Takes a lock that is free again and again, and adds one each time.
fn barges<const MOST: u32>(guarded: &Guarded<Bounded<MOST>>, times: u32) {
    for _ in 0..times {
        if guarded.lock.try_lock() {
            guarded.add();
            // SAFETY: this thread took it above, and gives it back once.
            unsafe { guarded.lock.unlock() };
        }
    }
}

/// The head of the queue waits while one thread takes the lock again and again: at most `MOST` times before it.
fn a_head_is_overtaken<const MOST: u32>() {
    let guarded = Guarded::<Bounded<MOST>>::new();
    guarded.lock.lock();
    let theirs = Arc::clone(&guarded);
    let waiter = spawn(move || theirs.add_locked());
    while guarded.lock.queued() == 0 {
        spin_loop();
    }
    // SAFETY: this thread took it above, and gives it back once.
    unsafe { guarded.lock.unlock() };
    barges(&guarded, MOST + 1);
    let number = waiter.join().unwrap();
    assert!(number <= MOST + 1, "{number}");
}

#[test]
fn a_head_is_overtaken_a_bounded_number_of_times() {
    holds(a_head_is_overtaken::<0>);
    holds(a_head_is_overtaken::<1>);
}

/// A thread gets a lock that is free, although one waits that it may overtake.
#[test]
fn a_head_is_overtaken_while_it_is_below_its_bound() {
    fn scenario() {
        let guarded = Guarded::<Bounded<1>>::new();
        guarded.lock.lock();
        let theirs = Arc::clone(&guarded);
        let waiter = spawn(move || theirs.add_locked());
        while guarded.lock.may_overtake() == 0 {
            spin_loop();
        }
        // SAFETY: this thread took it above, and gives it back once.
        unsafe { guarded.lock.unlock() };
        if guarded.lock.try_lock() {
            // SAFETY: this thread took it just now, and gives it back once.
            unsafe { guarded.lock.unlock() };
        } else {
            assert_eq!(guarded.lock.waiters(), 0, "refused, but the waiter does not have it");
        }
        waiter.join().unwrap();
    }
    holds(scenario);
}

#[test]
fn bounded_can_be_tried_when_all_waiters_have_gone() {
    fn scenario() {
        let guarded = Guarded::<Bounded<0>>::new();
        guarded.lock.lock();
        let theirs = Arc::clone(&guarded);
        let waiter = spawn(move || theirs.add_locked());
        // SAFETY: this thread took it above, and gives it back once.
        unsafe { guarded.lock.unlock() };
        waiter.join().unwrap();
        assert!(guarded.lock.waiters() == 0 && guarded.lock.try_lock());
    }
    holds(scenario);
}

/// The same after another waiter came and went: what was left of its bound is not added.
fn a_later_head_is_overtaken<const MOST: u32>() {
    let guarded = Guarded::<Bounded<MOST>>::new();
    for _ in 0..2 {
        guarded.lock.lock();
        let theirs = Arc::clone(&guarded);
        let waiter = spawn(move || theirs.add_locked());
        while guarded.lock.queued() == 0 {
            spin_loop();
        }
        let before = guarded.add();
        // SAFETY: this thread took it above, and gives it back once.
        unsafe { guarded.lock.unlock() };
        barges(&guarded, MOST + 1);
        let number = waiter.join().unwrap();
        assert!(number - before <= MOST + 1, "{number} after {before}");
    }
}

#[test]
fn a_later_head_is_overtaken_a_bounded_number_of_times() {
    begins("a later head, bounded", a_later_head_is_overtaken::<1>);
}

/// Two wait, in a known order, while one thread takes the lock again and again: at most `MOST` times before the second,
/// which the first is before, too.
fn the_next_head_is_overtaken<const MOST: u32>() {
    let guarded = Guarded::<Bounded<MOST>>::new();
    guarded.lock.lock();
    let theirs = Arc::clone(&guarded);
    let first = spawn(move || theirs.add_locked());
    while guarded.lock.queued() == 0 {
        spin_loop();
    }
    let theirs = Arc::clone(&guarded);
    let second = spawn(move || theirs.add_locked());
    while guarded.lock.queued() < 2 {
        spin_loop();
    }
    // SAFETY: this thread took it above, and gives it back once.
    unsafe { guarded.lock.unlock() };
    barges(&guarded, 2 * MOST + 2);
    let (first, second) = (first.join().unwrap(), second.join().unwrap());
    assert!(first <= MOST + 1 && second <= MOST + 2, "{first}, {second}");
}

#[test]
fn the_next_head_is_overtaken_a_bounded_number_of_times() {
    begins("the next head, bounded, of none", the_next_head_is_overtaken::<0>);
    begins("the next head, bounded, of one", the_next_head_is_overtaken::<1>);
}

/// A thread that came while it was held gets it before one that comes later.
fn in_order<L: RawLock + 'static>(has_waiters: fn(&L) -> bool) {
    let guarded = Guarded::<L>::new();
    guarded.lock.lock();
    let theirs = Arc::clone(&guarded);
    let first = spawn(move || theirs.add_locked());
    while !has_waiters(&guarded.lock) {
        spin_loop();
    }
    let theirs = Arc::clone(&guarded);
    let second = spawn(move || theirs.add_locked());
    // SAFETY: this thread took it above, and gives it back once.
    unsafe { guarded.lock.unlock() };
    assert_eq!((first.join().unwrap(), second.join().unwrap()), (1, 2));
}

#[test]
fn queues_keep_the_order_of_arrival() {
    holds(|| in_order(Ticket::<Hint>::has_waiters));
    holds(|| in_order(Mcs::<Spin>::has_waiters));
    holds(|| in_order(Mcs::<Park>::has_waiters));
    holds(|| in_order(Clh::<Hint>::has_waiters));
}

/// One waits, and another one gives up at once: either may be passed over.
#[test]
fn published_passes_over_one_of_two() {
    fn scenario() {
        let guarded = Guarded::<Published>::new();
        guarded.lock.lock();
        let theirs = Arc::clone(&guarded);
        let waits = spawn(move || {
            theirs.add_locked();
        });
        let theirs = Arc::clone(&guarded);
        let gives_up = spawn(move || theirs.add_if_taken(Deadline::at_ns(0)));
        guarded.add();
        // SAFETY: this thread took it above, and gives it back once.
        unsafe { guarded.lock.unlock() };
        waits.join().unwrap();
        let taken = gives_up.join().unwrap();
        assert_eq!(guarded.add_locked(), 3 + taken);
    }
    begins_only("one waits and one gives up, published", scenario);
}

/// A thread that comes again and again while another waits is served once before it, at most.
#[test]
fn reciprocating_serves_no_thread_twice_before_another() {
    fn scenario() {
        let guarded = Guarded::<Reciprocating<Spin>>::new();
        guarded.lock.lock();
        let theirs = Arc::clone(&guarded);
        let first = spawn(move || theirs.add_locked());
        while !guarded.lock.has_arrivals() {
            spin_loop();
        }
        let theirs = Arc::clone(&guarded);
        let again = spawn(move || {
            theirs.add_locked();
            theirs.add_locked();
        });
        // SAFETY: this thread took it above, and gives it back once.
        unsafe { guarded.lock.unlock() };
        assert!(first.join().unwrap() <= 2);
        again.join().unwrap();
    }
    holds(scenario);
}

/// A wait that may end by its deadline at any moment: a waiter that gives up has left nothing behind.
fn a_deadline<L: Timed + 'static>() {
    let guarded = Guarded::<L>::new();
    let theirs = Arc::clone(&guarded);
    let other = spawn(move || theirs.add_if_taken(Deadline::at_ns(2)));
    guarded.add_locked();
    let taken = other.join().unwrap();
    assert_eq!(guarded.add_locked(), 2 + taken);
    assert!(!guarded.lock.is_locked());
}

/// A deadline that has passed: the waiter leaves the queue while the holder gives the lock back.
fn a_passing<L: Timed + 'static>() {
    let guarded = Guarded::<L>::new();
    guarded.lock.lock();
    let theirs = Arc::clone(&guarded);
    let other = spawn(move || theirs.add_if_taken(Deadline::at_ns(0)));
    guarded.add();
    // SAFETY: this thread took it above, and gives it back once.
    unsafe { guarded.lock.unlock() };
    let taken = other.join().unwrap();
    assert_eq!(guarded.add_locked(), 2 + taken);
    assert!(!guarded.lock.is_locked());
}

/// One is about to sleep with a deadline, when another waits, and a third comes as the lock is given back: the first is
/// woken, and gives up.
fn a_deadline_and_a_waiter<L: Timed + 'static>(has_waiters: fn(&L) -> bool) {
    let guarded = Guarded::<L>::new();
    guarded.lock.lock();
    let (untimed, timed) = (Arc::clone(&guarded), Arc::clone(&guarded));
    let gave_up = Arc::new(AtomicU32::new(0));
    let says_so = Arc::clone(&gave_up);
    let timed = spawn(move || {
        let taken = timed.add_if_taken(Deadline::at_ns(2));
        says_so.store(1, Relaxed);
        taken
    });
    while !has_waiters(&guarded.lock) && gave_up.load(Relaxed) == 0 {
        spin_loop();
    }
    let untimed = spawn(move || untimed.add_locked());
    // SAFETY: this thread took it above, and gives it back once.
    unsafe { guarded.lock.unlock() };
    if guarded.lock.try_lock() {
        // SAFETY: this thread took it just now, and gives it back once.
        unsafe { guarded.lock.unlock() };
    }
    assert!(untimed.join().unwrap() <= 2 && timed.join().unwrap() <= 1);
}

#[test]
fn futex_wakes_another_when_a_woken_waiter_gives_up() {
    is_sampled("a deadline and a waiter, futex", || a_deadline_and_a_waiter(Futex::has_waiters));
}

#[test]
fn preemption_aware_wakes_another_when_a_woken_waiter_gives_up() {
    is_sampled("a deadline and a waiter, preemption_aware", || {
        a_deadline_and_a_waiter(PreemptionAware::has_waiters)
    });
}

#[test]
fn a_waiter_that_gives_up_takes_no_wakeup_from_others() {
    holds(a_deadline::<Futex>);
    holds(a_deadline::<PreemptionAware>);
}

#[test]
fn published_passes_over_a_waiter_that_gave_up() {
    holds(a_passing::<Published>);
}

/// One thread gives up twice: the second time it may find the node that it left, and leaves no other.
#[test]
fn published_keeps_few_nodes_of_waiters_that_gave_up() {
    fn scenario() {
        let guarded = Guarded::<Published>::new();
        guarded.lock.lock();
        let theirs = Arc::clone(&guarded);
        let twice = spawn(move || {
            let taken = [0; 2].map(|_| theirs.add_if_taken(Deadline::at_ns(0)));
            assert!(theirs.lock.left() <= 1);
            taken[0] + taken[1]
        });
        // SAFETY: this thread took it above, and gives it back once.
        unsafe { guarded.lock.unlock() };
        let taken = twice.join().unwrap();
        assert_eq!(guarded.add_locked(), 1 + taken);
        assert!(guarded.lock.left() == 0 && !guarded.lock.is_locked());
    }
    holds(scenario);
}
