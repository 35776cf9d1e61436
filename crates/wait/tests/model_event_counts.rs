//! Event counts, explored. V1 to V7, which the scenarios cite, are the invariants of the module `event_count`. To the
//! checker, a violated V2 is a deadlock.
//!
//! A mutant known from the literature, "the flag is cleared after the increment", breaks forms that keep the flag
//! outside the word that waiters sleep on. Here the flag is inside the word; the matching mutant clears it without
//! advancing the count.

#![cfg(unc_model)]

use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{Arc, AtomicU32, UnsafeCell, spawn};
use uncontended_model::real::{Explorer, Memory, spawn_symmetric};
use uncontended_testkit::explored::{self, BOTH};
use uncontended_wait::event_count::{EventCount, Form, SingleProducer, Valued};
use uncontended_wait::{Closed, Deadline, Producer, many, single};

/// Scenarios explored under TSO alone.
const TSO: [Memory; 1] = [Memory::Tso];

fn explorer(memory: Memory) -> Explorer {
    Explorer::new(memory).events(2_000)
}

fn holds(models: &[Memory], scenario: fn()) {
    explored::holds(models, explorer, || scenario);
}

/// For a scenario that is too large for a short test.
fn begins(name: &str, models: &[Memory], scenario: fn()) {
    begins_with(3_000, name, models, scenario);
}

/// The same, `short` executions in the short form.
fn begins_with(short: u64, name: &str, models: &[Memory], scenario: fn()) {
    explored::begins(name, (short, None), models, explorer, || scenario);
}

struct Log<F: Form> {
    count: EventCount<F>,
    entry: UnsafeCell<u32>,
}

// SAFETY: the entry is written before the second event and read after it (V6).
unsafe impl<F: Form + Sync> Sync for Log<F> {}
// SAFETY: an event count and a number may go to another thread.
unsafe impl<F: Form + Send> Send for Log<F> {}

fn log<F: Form>() -> Arc<Log<F>> {
    Arc::new(Log { count: EventCount::new(), entry: UnsafeCell::new(0) })
}

trait Small: Form + Send + Sync + Valued<Value = u32> + 'static {}
impl<F: Form + Send + Sync + Valued<Value = u32> + 'static> Small for F {}

/// Waits for one change after the other, then reads the entry (V4, V6).
fn follow<F: Small>(log: &Log<F>) {
    let first = log.count.wait(0).unwrap();
    assert_ne!(first, 0);
    if first == 1 {
        assert_eq!(log.count.wait(1), Ok(2));
    }
    // SAFETY: the second event was counted (V6).
    assert_eq!(log.entry.with(|entry| unsafe { *entry }), 7);
}

/// Two events, one waiter that follows (V1, V2, V4, V5, V6).
fn one_waiter<F: Small + SingleProducer>() {
    let mine = log::<F>();
    let mut producer = mine.count.producer().unwrap();
    let theirs = Arc::clone(&mine);
    let waiter = spawn(move || follow(&theirs));
    producer.increment();
    // SAFETY: the second event has not been counted yet (V6).
    mine.entry.with_mut(|entry| unsafe { *entry = 7 });
    producer.add(1);
    waiter.join().unwrap();
    assert_eq!(mine.count.value(), 2);
    producer.release();
}

/// One waiter follows two events. If a second waiter comes between them, it finds the flag of the first, and may rely
/// on a flag that the first sets again (V2).
fn two_waiters<F: Small + SingleProducer>() {
    let mine = log::<F>();
    let mut producer = mine.count.producer().unwrap();
    let theirs = Arc::clone(&mine);
    let first = spawn(move || {
        if theirs.count.wait(0) == Ok(1) {
            assert_eq!(theirs.count.wait(1), Ok(2));
        }
    });
    let theirs = Arc::clone(&mine);
    let second = spawn(move || {
        if theirs.count.value() == 1 && theirs.count.has_waiters() {
            assert_eq!(theirs.count.wait(1), Ok(2));
        }
    });
    producer.increment();
    producer.increment();
    first.join().unwrap();
    second.join().unwrap();
    producer.release();
}

/// Two waiters, the second for the second event alone (V2).
fn two_waiters_of_two_events<F: Small + SingleProducer>() {
    let mine = log::<F>();
    let mut producer = mine.count.producer().unwrap();
    let theirs = Arc::clone(&mine);
    let first = spawn(move || assert_ne!(theirs.count.wait(0), Ok(0)));
    let theirs = Arc::clone(&mine);
    let second = spawn(move || {
        if theirs.count.value() == 1 {
            assert_eq!(theirs.count.wait(1), Ok(2));
        }
    });
    producer.increment();
    producer.increment();
    first.join().unwrap();
    second.join().unwrap();
    producer.release();
}

/// Two waiters for one event (V2).
fn two_waiters_for_one_event<F: Small + SingleProducer>() {
    let mine = log::<F>();
    let mut producer = mine.count.producer().unwrap();
    let theirs = Arc::clone(&mine);
    let waiters = spawn_symmetric(2, move || theirs.count.wait(0).unwrap());
    producer.increment();
    assert_eq!(waiters.join().unwrap(), [1, 1]);
    producer.release();
}

/// The producer ends without an event (V7): one waiter, or two.
fn closing<F: Small + SingleProducer, const WAITERS: usize>() {
    let mine = log::<F>();
    let producer = mine.count.producer().unwrap();
    let theirs = Arc::clone(&mine);
    let waiters = spawn_symmetric(WAITERS, move || theirs.count.wait(0) == Err(Closed));
    drop(producer);
    assert_eq!(waiters.join().unwrap(), [true; WAITERS]);
}

/// One event, then the producer ends: a waiter for the event sees it, however late it checks (V7).
fn an_event_and_the_end<F: Small + SingleProducer>() {
    let mine = log::<F>();
    let mut producer = mine.count.producer().unwrap();
    let theirs = Arc::clone(&mine);
    let waiter = spawn(move || theirs.count.wait(0));
    producer.increment();
    drop(producer);
    assert_eq!(waiter.join().unwrap(), Ok(1));
}

/// A wait that may end by its deadline at any moment; a change that it reports has happened (V4).
fn a_deadline<F: Small + SingleProducer>() {
    let mine = log::<F>();
    let mut producer = mine.count.producer().unwrap();
    let theirs = Arc::clone(&mine);
    let waiter = spawn(move || theirs.count.wait_deadline(0, Deadline::at_ns(2)));
    producer.add(3);
    assert_eq!(waiter.join().unwrap().unwrap_or(3), 3);
    producer.release();
}

/// Two producers, one waiter for both (V1, V2).
fn many_producers() {
    let count = Arc::new(many::EventCount32::new());
    let theirs = Arc::clone(&count);
    let waiter = spawn(move || theirs.wait_until(|value| value == 3).unwrap());
    let theirs = Arc::clone(&count);
    let other = spawn(move || theirs.add(2));
    count.increment();
    other.join().unwrap();
    assert_eq!((waiter.join().unwrap(), count.value()), (3, 3));
}

/// What happened before an event of one producer among many is seen after it (V6).
fn many_carry() {
    let mine =
        log::<uncontended_wait::event_count::OneWord<u32, uncontended_wait::event_count::Locked>>();
    let theirs = Arc::clone(&mine);
    let waiter = spawn(move || follow(&theirs));
    mine.count.increment();
    // SAFETY: the second event has not been counted yet (V6).
    mine.entry.with_mut(|entry| unsafe { *entry = 7 });
    mine.count.increment();
    waiter.join().unwrap();
}

/// The thread that counts last sees what the other did before it counted (V6).
fn the_last_of_two() {
    let mine =
        log::<uncontended_wait::event_count::OneWord<u32, uncontended_wait::event_count::Locked>>();
    let theirs = Arc::clone(&mine);
    let other = spawn(move || {
        // SAFETY: no thread reads before the first event is counted (V6).
        theirs.entry.with_mut(|entry| unsafe { *entry = 7 });
        theirs.count.increment();
    });
    if mine.count.increment() == 1 {
        // SAFETY: the other event was counted before this one (V6).
        assert_eq!(mine.entry.with(|entry| unsafe { *entry }), 7);
    }
    other.join().unwrap();
}

/// A close by any thread (V7).
fn many_closing() {
    let count = Arc::new(many::EventCount32::new());
    let theirs = Arc::clone(&count);
    let waiters = spawn_symmetric(2, move || theirs.wait(0) == Err(Closed));
    count.close();
    assert_eq!(waiters.join().unwrap(), [true; 2]);
}

/// A job for one of two waiters, and one wakeup; the close is for the other (V2, V7).
fn one_job() {
    let shared = Arc::new((many::EventCount32::new(), AtomicU32::new(0)));
    let theirs = Arc::clone(&shared);
    let waiters = spawn_symmetric(2, move || {
        let take = |_| theirs.1.compare_exchange(1, 0, Acquire, Relaxed).is_ok();
        theirs.0.wait_until(take).is_ok()
    });
    shared.1.store(1, Release);
    shared.0.add_and_wake_one(1);
    shared.0.close();
    assert_eq!(waiters.join().unwrap(), [false, true], "taken once");
}

/// An event that wakes all waiters, while another thread's wakes one of them (V2).
fn one_for_all_and_one_for_one() {
    let count = Arc::new(many::EventCount32::new());
    let theirs = Arc::clone(&count);
    let waiters = spawn_symmetric(2, move || theirs.wait(0).unwrap());
    let theirs = Arc::clone(&count);
    let other = spawn(move || theirs.add_and_wake_one(1));
    count.increment();
    other.join().unwrap();
    assert!(!waiters.join().unwrap().contains(&0));
}

/// A count of 64 bits, of which the kernel compares the low half.
fn wide() {
    let count = Arc::new(many::EventCount64::new());
    let theirs = Arc::clone(&count);
    let waiter = spawn(move || theirs.wait(1 << 40).unwrap());
    count.add(1 << 40);
    count.increment();
    assert!([0, (1 << 40) + 1].contains(&waiter.join().unwrap()));
}

/// A producer that reaches its count through an `Arc`, moved from one thread to another (V1).
fn handed_over() {
    let count = Arc::new(single::portable::EventCount32::new());
    let theirs = Arc::clone(&count);
    let waiter = spawn(move || theirs.wait_until(|value| value == 2).unwrap());
    count.producer().unwrap().increment_and_release();
    let theirs = Arc::clone(&count);
    let second = spawn(move || theirs.producer().unwrap().increment_and_release());
    second.join().unwrap();
    assert_eq!(waiter.join().unwrap(), 2);
}

trait IncrementAndRelease {
    fn increment_and_release(self);
}

impl<F: Small + SingleProducer> IncrementAndRelease for Producer<F, &EventCount<F>> {
    fn increment_and_release(mut self) {
        self.increment();
        self.release();
    }
}

type TwoWords = uncontended_wait::event_count::TwoWords<u32>;

#[test]
fn portable_form_wakes_one_waiter() {
    holds(&BOTH, one_waiter::<TwoWords>);
}

#[test]
fn portable_form_wakes_two_waiters() {
    holds(&BOTH, two_waiters_for_one_event::<TwoWords>);
}

#[test]
fn portable_form_wakes_two_waiters_of_different_events() {
    let name = "portable form, two waiters of different events";
    begins(name, &BOTH, two_waiters::<TwoWords>);
}

#[test]
fn portable_form_closes() {
    holds(&BOTH, closing::<TwoWords, 1>);
    holds(&BOTH, closing::<TwoWords, 2>);
}

#[test]
fn portable_form_counts_what_comes_before_its_end() {
    holds(&BOTH, an_event_and_the_end::<TwoWords>);
}

#[test]
fn portable_form_ends_by_a_deadline() {
    holds(&BOTH, a_deadline::<TwoWords>);
}

#[test]
fn portable_form_is_handed_over() {
    holds(&BOTH, handed_over);
}

#[test]
fn portable_form_holds_where_barriers_are_refused() {
    uncontended_fence::refuse_barriers();
    holds(&BOTH, one_waiter::<TwoWords>);
}

#[test]
fn many_producers_wake_one_waiter() {
    holds(&BOTH, many_producers);
}

#[test]
fn many_producers_carry_what_happened() {
    holds(&BOTH, many_carry);
}

#[test]
fn the_last_of_many_producers_sees_what_the_others_did() {
    holds(&BOTH, the_last_of_two);
}

#[test]
fn many_producers_close() {
    holds(&BOTH, many_closing);
}

#[test]
fn many_producers_count_in_64_bits() {
    holds(&BOTH, wide);
}

#[test]
fn many_producers_wake_all_while_another_wakes_one() {
    let name = "many producers, an event for all and one for one";
    begins_with(60_000, name, &[Memory::Sc], one_for_all_and_one_for_one);
}

#[test]
fn many_producers_wake_one_at_a_time() {
    begins("many producers, one job for two waiters", &TSO, one_job);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! Under TSO alone: C11 has no such instruction, so a C11 pass would check different code.

    use super::*;
    use uncontended_wait::event_count::{OneWord, Unlocked};

    type One = OneWord<u32, Unlocked>;

    #[test]
    fn one_word_form_wakes_one_waiter() {
        holds(&TSO, one_waiter::<One>);
    }

    #[test]
    fn one_word_form_closes() {
        holds(&TSO, closing::<One, 1>);
    }

    #[test]
    fn one_word_form_closes_for_two_waiters() {
        holds(&TSO, closing::<One, 2>);
    }

    #[test]
    fn one_word_form_counts_what_comes_before_its_end() {
        holds(&TSO, an_event_and_the_end::<One>);
    }

    #[test]
    fn one_word_form_ends_by_a_deadline() {
        holds(&TSO, a_deadline::<One>);
    }

    #[test]
    fn one_word_form_wakes_two_waiters() {
        holds(&TSO, two_waiters_for_one_event::<One>);
    }

    #[test]
    fn one_word_form_wakes_a_waiter_of_each_event() {
        let name = "one-word form, a waiter of each event";
        begins(name, &TSO, two_waiters_of_two_events::<One>);
    }

    #[test]
    fn one_word_form_wakes_two_waiters_of_different_events() {
        // More executions than can be explored; those with a waiter of each event are explored to their end.
        let name = "one-word form, two waiters of different events";
        explored::begins(name, (48_000, Some(1_000_000)), &TSO, explorer, || two_waiters::<One>);
    }

    #[test]
    fn one_word_form_holds_where_barriers_are_refused() {
        uncontended_fence::refuse_barriers();
        holds(&TSO, one_waiter::<One>);
    }
}
