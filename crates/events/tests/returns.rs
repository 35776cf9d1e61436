//! What returns from a condition variable to its mutex waited for, at times that the test sets.

mod common;

use common::party::{Party, parties};
use uncontended_events::events::{self, End};
use uncontended_events::site::Site;
use uncontended_events::woken::{ALL, ONE};
use uncontended_testkit::Random;
use uncontended_trace::layout::RECENT;

#[test]
fn a_return_waits_for_every_hold_since_its_signal() {
    let [signaller, other, waiter] = parties();
    waiter.takes(5);
    waiter.leaves(8);
    signaller.takes(10);
    // Signalled at 20.
    signaller.releases(50);
    other.takes(55);
    other.releases(65);
    waiter.returns(20, 72);
    assert_eq!(waiter.caused(), [(2, 10, 1, 1, 10), (1, 30, 1, 1, 40)]);
    assert_eq!(waiter.waited(), 52);
    assert_eq!(waiter.free(), 5 + 7);
}

#[test]
fn a_hold_that_began_before_the_signal_is_one_that_the_thread_was_woken_into() {
    let [signaller, other, waiter] = parties();
    waiter.takes(5);
    waiter.leaves(8);
    signaller.takes(10);
    signaller.releases(50);
    other.takes(55);
    other.releases(65);
    waiter.returns(20, 72);
    assert_eq!(waiter.woken_into(), [(1, 30, 1, 40)]);
    // It held after the signal, from outside the mutex.
    waiter.leaves(80);
    other.takes(95);
    other.releases(105);
    waiter.returns(90, 110);
    assert_eq!(waiter.woken_into(), [(1, 30, 1, 40)]);
}

#[test]
fn a_hold_that_two_returns_wait_for_is_one_hold() {
    let [signaller, first, second] = parties();
    first.takes(1);
    first.leaves(2);
    second.takes(3);
    second.leaves(4);
    signaller.takes(10);
    signaller.releases(30);
    first.returns(20, 31);
    first.releases(40);
    second.returns(20, 42);
    assert_eq!(first.caused(), [(1, 10, 1, 1, 20)]);
    assert_eq!(second.caused(), [(2, 9, 1, 1, 9), (1, 10, 1, 0, 20)]);
    assert_eq!((first.free(), second.free()), (1, 1 + 2));
}

#[test]
fn a_hold_that_a_waiter_counted_is_not_counted_again() {
    let [signaller, waiter, other] = parties();
    waiter.takes(1);
    waiter.leaves(2);
    signaller.takes(10);
    let wait = other.waits(15);
    signaller.releases(30);
    waiter.returns(20, 33);
    assert_eq!(signaller.caused(), [(1, 15, 1, 1, 20)]);
    assert_eq!(waiter.caused(), [(1, 10, 1, 0, 20)]);
    waiter.releases(40);
    other.gets(wait, 41);
}

#[test]
fn a_hold_in_the_place_of_a_counted_one_is_counted() {
    let [signaller, waiter, other] = parties();
    waiter.takes(1);
    waiter.leaves(2);
    signaller.takes(10);
    let wait = other.waits(15);
    signaller.releases(30);
    other.gets(wait, 31);
    other.releases(32);
    let begins = (100..).step_by(20).take(RECENT - 1);
    let last = begins.clone().last().unwrap();
    for begin in begins {
        other.takes(begin);
        other.releases(begin + 10);
    }
    waiter.returns(last + 5, last + 12);
    assert_eq!(waiter.caused(), [(3, 5, 1, 1, 10)]);
}

#[test]
fn a_mutex_that_was_free_at_the_signal_was_free_until_it_was_taken() {
    let [waiter, other] = parties();
    waiter.takes(1);
    waiter.leaves(5);
    other.takes(30);
    other.releases(40);
    waiter.returns(20, 45);
    assert_eq!(waiter.caused(), [(2, 10, 1, 1, 10)]);
    assert_eq!((waiter.waited(), waiter.free()), (25, 10 + 5));
}

#[test]
fn what_was_before_the_oldest_hold_stays_unknown() {
    let [waiter, other] = parties();
    waiter.takes(1);
    waiter.leaves(5);
    let holds = RECENT as u64 + 10;
    for number in 0..holds {
        other.takes(100 + 10 * number);
        other.releases(100 + 10 * number + 4);
    }
    waiter.returns(50, 100 + 10 * holds);
    let known = RECENT as u64;
    assert_eq!(waiter.caused(), [(2, 4 * known, known, known, 4)]);
    assert_eq!((waiter.free(), waiter.waited()), (6 * known, 50 + 10 * holds));
}

/// Where a thread of a random schedule is.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Outside,
    Away,
    /// Signalled then; whether the mutex was released since.
    Signalled(u64, bool),
}

/// Random schedules of four threads that take, leave and return: what is booked is what the schedule did, to the tick.
#[test]
fn random_returns_are_divided_exactly() {
    for seed in 0..if cfg!(miri) { 3 } else { 300 } {
        let mut random = Random(seed);
        let all: [Party; 4] = parties();
        let mut stages = [Stage::Outside; 4];
        let (mut owner, mut now) = (None::<usize>, 10);
        let (mut held, mut free) = ([0; 4], 0);
        // What each thread's return has waited for so far.
        let mut pieces = [([0; 4], 0); 4];
        all[0].takes(5);
        all[0].releases(6);
        for _ in 0..if cfg!(miri) { 30 } else { 200 } {
            let ticks = 1 + random.below(20);
            now += ticks;
            for (stage, (held, free)) in stages.iter().zip(&mut pieces) {
                match (stage, owner) {
                    (Stage::Signalled(..), Some(owner)) => held[owner] += ticks,
                    (Stage::Signalled(..), None) => *free += ticks,
                    _ => {}
                }
            }
            let released = |stages: &mut [Stage; 4]| {
                for stage in stages.iter_mut() {
                    if let Stage::Signalled(_, is_blocked) = stage {
                        *is_blocked = true;
                    }
                }
            };
            let number = random.below(4) as usize;
            let party = all[number];
            match (stages[number], owner) {
                (Stage::Outside, Some(holder)) if holder == number && random.below(2) == 0 => {
                    party.releases(now);
                    (owner, _) = (None, released(&mut stages));
                }
                (Stage::Outside, Some(holder)) if holder == number => {
                    party.leaves(now);
                    (owner, _) = (None, released(&mut stages));
                    stages[number] = Stage::Away;
                }
                (Stage::Outside, None) => {
                    party.takes(now);
                    owner = Some(number);
                }
                (Stage::Away, _) => {
                    stages[number] = Stage::Signalled(now, false);
                    pieces[number] = ([0; 4], 0);
                }
                (Stage::Signalled(ended, is_blocked), None) => {
                    party.returns(ended, now);
                    (stages[number], owner) = (Stage::Outside, Some(number));
                    // A thread that finds the mutex free has not waited for it.
                    if is_blocked {
                        (0..4).for_each(|holder| held[holder] += pieces[number].0[holder]);
                        free += pieces[number].1;
                    }
                }
                _ => {}
            }
        }
        let mut booked = [0; 4];
        for entry in all.iter().flat_map(|party| party.caused()) {
            booked[entry.0 as usize - 1] += entry.1;
        }
        let total = |figure: fn(Party) -> u64| all.iter().map(|&party| figure(party)).sum::<u64>();
        assert_eq!((booked, total(Party::free)), (held, free), "seed {seed}");
        assert_eq!(total(Party::waited), held.iter().sum::<u64>() + free, "seed {seed}");
    }
}

/// Waits at an object without a holder, until the others have done something.
fn sleeps(party: Party, from: u64, until: u64, end: End, others: impl FnOnce()) {
    party.at.set(from);
    let wait = || {
        others();
        party.at.set(until);
    };
    events::sleep(Some((party.at, party.row)), |at, _| at.ticks(), wait, |()| Some(end));
}

#[test]
fn a_wait_is_ended_by_the_first_code_that_ended_waits_since_its_call() {
    let [waiter, signaller, other] = parties();
    let ends = |party: Party, now| {
        party.at.set(now);
        events::ends(party.at, party.row.lock, ONE);
    };
    ends(other, 5);
    sleeps(waiter, 10, 50, End::Came, || {
        ends(other, 20);
        ends(signaller, 30);
    });
    assert_eq!(waiter.caused(), [(3, 40, 1, 1, 40)]);
    // Nothing ended these: a spurious wakeup, a deadline.
    sleeps(waiter, 60, 70, End::Came, || {});
    sleeps(waiter, 80, 90, End::TimedOut, || ends(signaller, 85));
    assert_eq!(waiter.caused(), [(3, 40, 1, 1, 40)]);
    assert_eq!(waiter.waited(), 40 + 10 + 10);
}

#[test]
fn an_arrival_that_ends_the_waits_ends_its_own() {
    let [first, second, _] = parties();
    let arrives = |party: Party, from, until, others: &dyn Fn()| {
        party.at.set(from);
        let wait = || {
            others();
            party.at.set(until);
        };
        events::sleep(
            Some((party.at, party.row)),
            |at, row| events::ends(at, row.lock, ALL),
            wait,
            |()| Some(End::Came),
        );
    };
    // The second arrives last, and takes 5 to wake the first, which returns at 40.
    arrives(first, 10, 40, &|| arrives(second, 30, 35, &|| {}));
    assert_eq!(first.caused(), [(2, 30, 1, 1, 30)]);
    assert_eq!(second.caused(), [(2, 5, 1, 1, 5)]);
}

/// A thread that runs late may find more holds than are kept: what it waits for the mutex begins with those it knows.
#[test]
fn more_holds_than_are_kept_are_known_since_the_oldest_one() {
    let [waiter, other, _] = parties();
    waiter.takes(1);
    waiter.leaves(10);
    let known =
        |from| uncontended_events::recent::known_since(waiter.at.recorder, waiter.row.lock, from);
    for number in 1..RECENT as u64 {
        other.takes(100 * number);
        other.releases(100 * number + 10);
    }
    assert_eq!((known(20), known(150)), (20, 150), "all are kept, with its own");
    for number in 1..=5 {
        other.takes(100_000 * number);
        other.releases(100_000 * number + 10);
    }
    // Its own and four others are forgotten.
    assert_eq!((known(20), known(700)), (510, 700));
}
