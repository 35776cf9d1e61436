//! Every lock, explored: every execution that C11 and x86-TSO allow.

#![cfg(unc_model)]

use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{Arc, AtomicU32, UnsafeCell, spawn, spin_loop};
use uncontended_locks::*;
use uncontended_model::real::{Explorer, Memory, spawn_symmetric};
use uncontended_testkit::explored::{self, BOTH};

fn explorer(memory: Memory) -> Explorer {
    Explorer::new(memory).events(300)
}

/// A number that no two threads may reach at once: the checker reports a race otherwise.
struct Guarded<L> {
    lock: L,
    number: UnsafeCell<u32>,
}

// SAFETY: the lock guards the number. That it does is what is explored.
unsafe impl<L: Sync> Sync for Guarded<L> {}

impl<L: RawLock> Guarded<L> {
    fn new() -> Arc<Guarded<L>> {
        Arc::new(Guarded { lock: L::default(), number: UnsafeCell::new(0) })
    }

    fn add(&self) -> u32 {
        // SAFETY: the lock lets one thread in at a time: that it does is what is explored.
        self.number.with_mut(|number| unsafe {
            *number += 1;
            *number
        })
    }

    fn add_locked(&self) -> u32 {
        self.lock.lock();
        let number = self.add();
        // SAFETY: this thread took it above, and gives it back once.
        unsafe { self.lock.unlock() };
        number
    }
}

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

/// Two threads add one each, one after the other.
fn two_threads<L: RawLock + 'static>() {
    let guarded = Guarded::<L>::new();
    let theirs = Arc::clone(&guarded);
    let other = spawn(move || theirs.add_locked());
    guarded.add_locked();
    other.join().unwrap();
    assert_eq!(guarded.add_locked(), 3);
}

/// Two more threads come while one holds it: there is a queue, and its end leaves.
fn three_threads<L: RawLock + 'static>() {
    let guarded = Guarded::<L>::new();
    let others = spawn_symmetric(2, {
        let guarded = Arc::clone(&guarded);
        move || {
            guarded.add_locked();
        }
    });
    guarded.add_locked();
    others.join().unwrap();
    assert_eq!(guarded.add_locked(), 4);
}

/// A thread that tries takes it or not, and never waits.
fn a_try<L: RawLock + 'static>() {
    let guarded = Guarded::<L>::new();
    let theirs = Arc::clone(&guarded);
    let other = spawn(move || {
        let taken = theirs.lock.try_lock();
        if taken {
            theirs.add();
            // SAFETY: this thread took it above, and gives it back once.
            unsafe { theirs.lock.unlock() };
        }
        u32::from(taken)
    });
    guarded.add_locked();
    let tried = other.join().unwrap();
    assert_eq!(guarded.add_locked(), 2 + tried);
    assert!(!guarded.lock.is_locked());
}

fn holds(scenario: fn()) {
    explored::holds(&BOTH, explorer, || scenario);
}

fn begins(name: &str, scenario: fn()) {
    explored::begins(name, (10_000, None), &BOTH, explorer, || scenario);
}

/// Of scenarios that have more executions than can be explored.
fn begins_only(name: &str, scenario: fn()) {
    explored::begins(name, (10_000, Some(50_000)), &BOTH, explorer, || scenario);
}

#[test]
fn tas_excludes_one_of_two() {
    holds(two_threads::<Tas>);
}

#[test]
fn tas_excludes_two_of_three() {
    begins("three threads, tas", three_threads::<Tas>);
}

#[test]
fn tas_can_be_tried() {
    holds(a_try::<Tas>);
}

#[test]
fn ttas_excludes_one_of_two() {
    holds(two_threads::<Ttas<Hint>>);
}

#[test]
fn ttas_excludes_two_of_three() {
    begins("three threads, ttas", three_threads::<Ttas<Hint>>);
}

#[test]
fn ttas_can_be_tried() {
    holds(a_try::<Ttas<Hint>>);
}

#[test]
fn ttas_yield_excludes_one_of_two() {
    holds(two_threads::<Ttas<HintThenYield>>);
}

#[test]
fn ttas_yield_excludes_two_of_three() {
    begins("three threads, ttas_yield", three_threads::<Ttas<HintThenYield>>);
}

#[test]
fn ttas_yield_can_be_tried() {
    holds(a_try::<Ttas<HintThenYield>>);
}

#[test]
fn ticket_excludes_one_of_two() {
    holds(two_threads::<Ticket<Hint>>);
}

#[test]
fn ticket_excludes_two_of_three() {
    begins("three threads, ticket", three_threads::<Ticket<Hint>>);
}

#[test]
fn ticket_can_be_tried() {
    holds(a_try::<Ticket<Hint>>);
}

#[test]
fn futex_excludes_one_of_two() {
    holds(two_threads::<Futex>);
}

#[test]
fn futex_excludes_two_of_three() {
    begins("three threads, futex", three_threads::<Futex>);
}

#[test]
fn futex_can_be_tried() {
    holds(a_try::<Futex>);
}

#[test]
fn mcs_excludes_one_of_two() {
    holds(two_threads::<Mcs<Spin>>);
}

#[test]
fn mcs_excludes_two_of_three() {
    begins("three threads, mcs", three_threads::<Mcs<Spin>>);
}

#[test]
fn mcs_can_be_tried() {
    holds(a_try::<Mcs<Spin>>);
}

#[test]
fn mcs_yield_excludes_one_of_two() {
    holds(two_threads::<Mcs<SpinThenYield>>);
}

#[test]
fn mcs_yield_excludes_two_of_three() {
    begins("three threads, mcs_yield", three_threads::<Mcs<SpinThenYield>>);
}

#[test]
fn mcs_yield_can_be_tried() {
    holds(a_try::<Mcs<SpinThenYield>>);
}

#[test]
fn mcs_park_excludes_one_of_two() {
    holds(two_threads::<Mcs<Park>>);
}

#[test]
fn mcs_park_excludes_two_of_three() {
    begins("three threads, mcs_park", three_threads::<Mcs<Park>>);
}

#[test]
fn mcs_park_can_be_tried() {
    holds(a_try::<Mcs<Park>>);
}

#[test]
fn bounded_excludes_one_of_two() {
    holds(two_threads::<Bounded<0>>);
    holds(two_threads::<Bounded<1>>);
}

#[test]
fn bounded_excludes_two_of_three() {
    begins("three threads, bounded", three_threads::<Bounded<1>>);
}

#[test]
fn bounded_can_be_tried() {
    holds(a_try::<Bounded<1>>);
}

#[test]
fn clh_excludes_one_of_two() {
    holds(two_threads::<Clh<Hint>>);
}

#[test]
fn clh_excludes_two_of_three() {
    begins("three threads, clh", three_threads::<Clh<Hint>>);
}

#[test]
fn clh_can_be_tried() {
    holds(a_try::<Clh<Hint>>);
}

#[test]
fn published_excludes_one_of_two() {
    holds(two_threads::<Published>);
}

#[test]
fn published_excludes_two_of_three() {
    begins_only("three threads, published", three_threads::<Published>);
}

#[test]
fn published_can_be_tried() {
    holds(a_try::<Published>);
}

#[test]
fn reciprocating_excludes_one_of_two() {
    holds(two_threads::<Reciprocating<Spin>>);
}

#[test]
fn reciprocating_excludes_two_of_three() {
    begins("three threads, reciprocating", three_threads::<Reciprocating<Spin>>);
}

#[test]
fn reciprocating_can_be_tried() {
    holds(a_try::<Reciprocating<Spin>>);
}

#[test]
fn reciprocating_park_excludes_one_of_two() {
    holds(two_threads::<Reciprocating<Park>>);
}

#[test]
fn reciprocating_park_excludes_two_of_three() {
    begins("three threads, reciprocating_park", three_threads::<Reciprocating<Park>>);
}

#[test]
fn reciprocating_park_can_be_tried() {
    holds(a_try::<Reciprocating<Park>>);
}

#[test]
fn word_queue_excludes_one_of_two() {
    holds(two_threads::<WordQueue<Park>>);
}

#[test]
fn word_queue_excludes_two_of_three() {
    begins("three threads, word_queue", three_threads::<WordQueue<Park>>);
}

#[test]
fn word_queue_can_be_tried() {
    holds(a_try::<WordQueue<Park>>);
}

#[test]
fn preemption_aware_excludes_one_of_two() {
    holds(two_threads::<PreemptionAware>);
}

#[test]
fn preemption_aware_excludes_two_of_three() {
    begins_only("three threads, preemption_aware", three_threads::<PreemptionAware>);
}

#[test]
fn preemption_aware_can_be_tried() {
    holds(a_try::<PreemptionAware>);
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

/// One waits until the other has changed what the lock guards.
fn a_condition<L: RawLock + 'static>() {
    let shared = Arc::new((Mutex::with(L::default(), 0), Condvar::new()));
    let theirs = Arc::clone(&shared);
    let waiter = spawn(move || {
        let (number, changed) = &*theirs;
        let mut number = number.lock();
        changed.wait_while(&mut number, |number| *number == 0);
        *number
    });
    *shared.0.lock() = 7;
    shared.1.notify_one();
    assert_eq!(waiter.join().unwrap(), 7);
}

#[test]
fn a_change_wakes_the_thread_that_waits_for_it() {
    holds(a_condition::<Ttas>);
    holds(a_condition::<Futex>);
}

/// What is read outside the lock is ordered by the lock alone.
#[test]
fn a_holder_sees_what_the_last_one_did_elsewhere() {
    fn scenario() {
        let shared = Arc::new((Mutex::with(Ticket::<Hint>::default(), ()), AtomicU32::new(0)));
        let theirs = Arc::clone(&shared);
        let other = spawn(move || {
            let _guard = theirs.0.lock();
            theirs.1.store(theirs.1.load(Relaxed) + 1, Relaxed);
        });
        {
            let _guard = shared.0.lock();
            shared.1.store(shared.1.load(Relaxed) + 1, Relaxed);
        }
        other.join().unwrap();
        assert_eq!(shared.1.load(Acquire), 2);
        shared.1.store(0, Release);
    }
    holds(scenario);
}
