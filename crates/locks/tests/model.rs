//! Every lock, explored: every execution that C11 and x86-TSO allow.

#![cfg(unc_model)]

mod common;

use common::{Guarded, begins, begins_only, holds};
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{Arc, AtomicU32, spawn};
use uncontended_locks::*;
use uncontended_model::real::spawn_symmetric;

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
