//! Whose holds waits fell into, at times that the test sets.

mod common;

use common::At;
use common::party::{Party, parties, parties_of};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::blame::{self, Share};
use uncontended_events::events::{self, Blocked};
use uncontended_events::stacks;
use uncontended_testkit::Random;
use uncontended_trace::layout::{Caused, SITES, WAITED_SITES};
use uncontended_trace::setup::Holds;

#[test]
fn a_hold_costs_each_waiter_what_is_left_of_it() {
    let [holder, first, second] = parties();
    holder.takes(10);
    let (one, two) = (first.waits(20), second.waits(30));
    holder.releases(50);
    assert_eq!(holder.caused(), [(1, 30 + 20, 2, 1, 40)]);
    first.gets(one, 55);
    first.releases(65);
    assert_eq!(first.caused(), [(2, 10, 1, 1, 10)]);
    second.gets(two, 70);
    // 30 to 50 and 55 to 65 held, the rest free.
    assert_eq!((first.free(), second.free()), (5, 5 + 5));
    assert_eq!((first.waited(), second.waited()), (35, 40));
}

/// The list has 64 slots. A long hold looks for all arrivals; a short one takes the others to have waited all along.
#[test]
fn waiters_beyond_the_slots_are_counted() {
    for (end, beyond) in [(2_000_000, 2 * (2_000_000 - 100)), (1_000, 2 * (1_000 - 10))] {
        let [holder, waiters @ ..] = parties::<67>();
        holder.takes(10);
        let mut waits: Vec<_> = waiters.iter().map(|waiter| waiter.waits(100)).collect();
        holder.releases(end);
        assert_eq!(holder.caused(), [(1, 64 * (end - 100) + beyond, 66, 1, end - 10)]);
        waiters[65].gives_up(waits.pop().unwrap(), end + 5);
        waiters[64].gets(waits.pop().unwrap(), end + 10);
        waiters[64].releases(end + 20);
        assert_eq!(waiters[64].caused(), [(66, 64 * 10, 64, 1, 10)], "all have slots");
    }
}

#[test]
fn who_barges_is_to_blame_for_its_own_hold_alone() {
    let [holder, waiter] = parties();
    holder.takes(10);
    let wait = waiter.waits(20);
    holder.releases(30);
    holder.takes(40);
    holder.releases(60);
    waiter.gets(wait, 65);
    assert_eq!(holder.caused(), [(1, 10 + 20, 2, 2, 20)]);
    assert_eq!(waiter.free(), 10 + 5);
}

#[test]
fn who_arrives_while_the_lock_is_free_waits_for_the_rest_of_that() {
    let [holder, early, late] = parties();
    holder.takes(10);
    let one = early.waits(20);
    holder.releases(30);
    let two = late.waits(37);
    early.gets(one, 40);
    early.releases(50);
    late.gets(two, 52);
    assert_eq!((early.free(), late.free()), (10, 3 + 2));
    assert_eq!(early.caused(), [(2, 10, 1, 1, 10)]);
}

#[test]
fn a_release_that_saw_no_waiter_leaves_the_lock_free() {
    let [holder, waiter, other] = parties();
    holder.takes(10);
    // The release happens just before the waiter is seen.
    holder.releases(20);
    let wait = waiter.waits(21);
    let later = other.waits(26);
    waiter.gets(wait, 31);
    assert_eq!((waiter.waited(), waiter.free()), (10, 10));
    waiter.releases(41);
    other.gets(later, 43);
    assert_eq!(other.free(), 5 + 2, "since it came, and since the second release");
    assert_eq!((holder.caused(), waiter.caused()), (vec![], vec![(2, 10, 1, 1, 10)]));
}

#[test]
fn who_gives_up_blames_the_hold_that_goes_on() {
    let [holder, waiter, other] = parties();
    holder.takes(10);
    let wait = waiter.waits(20);
    waiter.gives_up(wait, 50);
    assert_eq!(waiter.caused(), [(1, 30, 1, 0, 40)], "the hold is not over");
    let (wait, again) = (waiter.waits(51), other.waits(52));
    waiter.gives_up(wait, 55);
    other.gives_up(again, 55);
    assert_eq!(waiter.caused(), [(1, 34, 2, 0, 45)]);
    assert_eq!(other.caused(), [(1, 3, 1, 0, 45)]);
    holder.releases(60);
    assert_eq!(holder.caused(), [(1, 0, 0, 1, 50)], "one hold, in full, though no thread waits");
    holder.takes(61);
    holder.releases(62);
    assert_eq!(holder.caused(), [(1, 0, 0, 1, 50)], "in another hold");
    // A wait through one hold and a part of the next: each piece once.
    holder.takes(70);
    let wait = waiter.waits(80);
    holder.releases(90);
    other.takes(100);
    waiter.gives_up(wait, 120);
    assert_eq!(holder.caused(), [(1, 10, 1, 2, 50)]);
    assert_eq!(waiter.caused(), [(1, 34, 2, 0, 45), (3, 20, 1, 0, 20)]);
    assert_eq!((waiter.waited(), waiter.free()), (30 + 4 + 40, 10));
    let wait = waiter.waits(125);
    other.releases(130);
    assert_eq!(
        other.caused(),
        [(1, 3, 1, 0, 45), (3, 5, 1, 1, 30)],
        "one, that others wait for too"
    );
    waiter.gets(wait, 135);
    waiter.releases(136);
    // While the lock is free.
    holder.takes(140);
    let wait = waiter.waits(150);
    holder.releases(160);
    waiter.gives_up(wait, 175);
    assert_eq!((waiter.free(), waiter.caused().len()), (10 + 5 + 15, 2));
}

#[test]
fn a_recursive_hold_is_that_of_the_outermost_site() {
    let [holder, waiter] = parties();
    holder.takes(10);
    let inner = Party { at: At { stack: 9, ..holder.at }, ..holder };
    inner.takes(12);
    let wait = waiter.waits(20);
    inner.releases(30);
    assert_eq!(holder.caused(), []);
    holder.releases(40);
    waiter.gets(wait, 41);
    assert_eq!(holder.caused(), [(1, 20, 1, 1, 30)]);
}

#[test]
fn a_release_that_is_refused_costs_nothing() {
    let [holder, waiter] = parties();
    holder.takes(10);
    let wait = waiter.waits(20);
    holder.at.set(30);
    assert_eq!(events::release(holder.at, holder.row, || true, || 1), 1);
    assert_eq!(holder.caused(), []);
    holder.releases(40);
    waiter.gets(wait, 41);
    assert_eq!(holder.caused(), [(1, 20, 1, 1, 30)]);
}

#[test]
fn a_hold_that_another_thread_ends_is_its_owners() {
    let [holder, waiter, other] = parties();
    holder.takes(10);
    let wait = waiter.waits(20);
    other.releases(40);
    other.releases(40); // Of a lock that is free.
    waiter.gets(wait, 41);
    assert_eq!((holder.caused(), other.caused()), (vec![], vec![(1, 20, 1, 1, 30)]));
    assert_eq!(waiter.free(), 1);
    // A second release of that hold ends nothing.
    other.releases(45);
    assert_eq!(other.caused(), [(1, 20, 1, 1, 30)]);
}

#[test]
fn a_holder_that_dies_is_blamed_for_nothing() {
    let [holder, waiter] = parties();
    holder.takes(10);
    let wait = waiter.waits(20);
    waiter.gets(wait, 50);
    assert_eq!((waiter.waited(), waiter.free()), (30, 0));
    assert_eq!((holder.caused(), waiter.caused()), (vec![], vec![]));
}

/// Where only holds are recorded that a thread waited for, these are recorded in full.
#[test]
fn a_hold_that_nobody_waits_for_is_not_timed_by_default() {
    for (holds, expected) in [(Holds::None, 0), (Holds::Waited, 30), (Holds::All, 30 + 5 + 7)] {
        let [holder, waiter] = parties_of(holds);
        holder.takes(10);
        holder.releases(15);
        holder.takes(20);
        let wait = waiter.waits(40);
        holder.releases(50);
        waiter.gets(wait, 51);
        waiter.releases(58);
        let total = |party: Party| party.row.cell.hold_total.load(Relaxed);
        assert_eq!(total(holder) + total(waiter), expected, "{holds:?}");
        let longest = if holds == Holds::None { 10 } else { 30 };
        assert_eq!(holder.caused(), [(1, 10, 1, 1, longest)], "{holds:?}");
    }
}

#[test]
fn a_hold_that_ends_with_its_thread_is_the_dead_ones() {
    let [holder, heir, other] = parties();
    holder.takes(10);
    let (first, second) = (heir.waits(20), other.waits(25));
    heir.at.set(50);
    first.inherited();
    assert_eq!(heir.row.cell.inherited.load(Relaxed), 1);
    assert_eq!(heir.caused(), [(1, 55, 2, 1, 40)], "of both, until it was taken");
    let hold = |party: Party| party.row.cell.hold_total.load(Relaxed);
    assert_eq!((hold(holder), hold(heir)), (40, 0), "the dead one's hold is in its own cell");
    heir.releases(60);
    other.gets(second, 61);
    assert_eq!(heir.caused(), [(1, 55, 2, 1, 40), (2, 10, 1, 1, 10)]);
    assert_eq!((heir.waited(), other.waited(), other.free()), (30, 36, 1));
}

#[test]
fn a_holder_that_waits_passes_that_part_on() {
    let [head, middle, last, holder] = parties();
    let other = |party: Party| Party { row: party.at.row(128), ..party };
    let (head, between) = (other(head), other(middle));
    head.takes(10);
    middle.takes(12);
    let first = last.waits(15);
    let second = between.waits(20);
    head.releases(50);
    between.gets(second, 53);
    between.releases(55);
    middle.releases(60);
    last.gets(first, 61);
    let list = middle.at.recorder.arena.list::<Caused>(&middle.row.cell.caused);
    let passed = list.map(|(_, entry)| {
        (entry.wait.load(Relaxed), entry.passed_on.load(Relaxed), entry.passed_to.load(Relaxed))
    });
    // From 20 to 50 of 15 to 60.
    assert_eq!(passed.collect::<Vec<_>>(), [(45, 30, 1)]);
    // A wait from before the hold is not passed on by it.
    last.releases(62);
    holder.takes(70);
    head.takes(71);
    let first = last.waits(72);
    let second = between.waits(73);
    head.releases(75);
    between.gets(second, 76);
    between.releases(77);
    holder.releases(78);
    middle.takes(80);
    middle.releases(90);
    last.gets(first, 91);
    assert_eq!(middle.caused(), [(2, 45, 1, 1, 48), (2, 10, 1, 1, 10)]);
}

#[test]
#[cfg_attr(miri, ignore = "it searches 97 entries 1,000 times, which takes Miri minutes")]
fn more_sites_than_are_told_apart_share_entries() {
    let [party] = parties();
    let recorder = party.at.recorder;
    // Two functions each take the lock in one place; each is called by the same others from two places.
    let taken_in = |function: u64| 1000 + function.div_ceil(2);
    let stack = |function: u64, place: u64| {
        stacks::enter(recorder, &[taken_in(function), function, 2, 3, 4, 5, place, 6])
    };
    let book = |(function, place): (u64, u64)| {
        let length = 10 * function + place;
        let site = stack(function, place);
        let share = Share { site, wait: 1, waits: 1, holds: 1, length, ..Share::default() };
        blame::book(recorder, party.row.cell, share);
    };
    let most = SITES as u64;
    let (by_stack, by_two) = (most / 2, most / 2 + most);
    let by_one = by_two + 2 * most;
    let functions = by_one + 4;
    let calls = || (1..=functions).flat_map(|function| [(function, 7), (function, 8)]);
    calls().for_each(book);
    calls().for_each(book);
    let caused = party.caused();
    assert_eq!(caused.len(), 3 * SITES + 1);
    for ((function, place), &entry) in calls().zip(&caused[..SITES]) {
        assert_eq!(entry, (stack(function, place), 2, 2, 2, 10 * function + place));
    }
    for (function, &entry) in (by_stack + 1..).zip(&caused[SITES..2 * SITES]) {
        let inner = stacks::enter(recorder, &[taken_in(function), function]);
        assert_eq!(entry, (inner, 4, 4, 4, 10 * function + 8));
    }
    for (function, &entry) in (by_two + 2..).step_by(2).zip(&caused[2 * SITES..3 * SITES]) {
        let innermost = stacks::enter(recorder, &[taken_in(function)]);
        assert_eq!(entry, (innermost, 8, 8, 8, 10 * function + 8));
    }
    assert_eq!(caused[3 * SITES], (0, 16, 16, 16, 10 * functions + 8));
    // One that costs more than another takes its place.
    let late = stack(9999, 7);
    let wait = Share { site: late, wait: 100, waits: 1, holds: 1, length: 100, ..Share::default() };
    blame::book(recorder, party.row.cell, wait);
    let caused = party.caused();
    let innermost = stacks::enter(recorder, &[taken_in(9999)]);
    assert!(caused.contains(&(innermost, 100, 1, 1, 100)));
    assert_eq!(caused.len(), 3 * SITES + 1);
    let sum =
        |figure: fn(&(u32, u64, u64, u64, u64)) -> u64| caused.iter().map(figure).sum::<u64>();
    assert_eq!(sum(|entry| entry.1), 4 * functions + 100);
    assert_eq!(sum(|entry| entry.2), 4 * functions + 1);
    assert_eq!(sum(|entry| entry.3), 4 * functions + 1);
}

/// What a wait of the random schedule was spent on, by the schedule itself.
#[derive(Default)]
struct Truth {
    held: [u64; 4],
    free: u64,
}

/// Random schedules of four threads at one lock: what is booked is what the schedule did, to the tick.
#[test]
fn random_schedules_are_divided_exactly() {
    for seed in 0..if cfg!(miri) { 3 } else { 300 } {
        let mut random = Random(seed);
        let all: [Party; 4] = parties();
        let mut truth = Truth::default();
        let mut waiting: [Option<Blocked<At>>; 4] = [const { None }; 4];
        // Before its first acquisition, nothing is known of a lock.
        all[0].takes(5);
        let (mut owner, mut now) = (Some(0), 10);
        let pass = |ticks, owner: Option<usize>, waiters: u64, truth: &mut Truth| match owner {
            Some(owner) => truth.held[owner] += ticks * waiters,
            None => truth.free += ticks * waiters,
        };
        for _ in 0..if cfg!(miri) { 30 } else { 200 } {
            let ticks = 1 + random.below(20);
            now += ticks;
            pass(ticks, owner, waiting.iter().flatten().count() as u64, &mut truth);
            let number = random.below(4) as usize;
            let party = all[number];
            match (owner, waiting[number].take()) {
                (Some(holder), wait) if holder == number => {
                    assert!(wait.is_none());
                    party.releases(now);
                    owner = None;
                }
                (Some(_), Some(wait)) if random.below(3) == 0 => party.gives_up(wait, now),
                (Some(_), Some(wait)) => waiting[number] = Some(wait),
                (Some(_), None) => waiting[number] = Some(party.waits(now)),
                (None, Some(wait)) => {
                    party.gets(wait, now);
                    owner = Some(number);
                }
                // It failed to take the lock just before the release.
                (None, None) if random.below(4) == 0 => waiting[number] = Some(party.waits(now)),
                (None, None) => {
                    party.takes(now);
                    owner = Some(number);
                }
            }
        }
        // The rest of them are served in turn.
        for number in 0..4 {
            if let Some(holder) = owner.take() {
                now += 7;
                pass(7, Some(holder), waiting.iter().flatten().count() as u64, &mut truth);
                all[holder].releases(now);
            }
            if let Some(wait) = waiting[number].take() {
                all[number].gets(wait, now);
                owner = Some(number);
            }
        }
        let mut held = [0; 4];
        for entry in all.iter().flat_map(|party| party.caused()) {
            held[entry.0 as usize - 1] += entry.1;
        }
        let total = |figure: fn(Party) -> u64| all.iter().map(|&party| figure(party)).sum::<u64>();
        assert_eq!(held, truth.held, "seed {seed}");
        assert_eq!(total(Party::free), truth.free, "seed {seed}");
        assert_eq!(total(Party::waited), held.iter().sum::<u64>() + truth.free, "seed {seed}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "it searches 33 entries at each wait, which takes Miri a minute")]
fn each_place_where_a_thread_waits_has_its_own_sum() {
    let [holder, waiter, other] = parties();
    let waits_in = |stack: u32, from: u64, until: u64| {
        holder.takes(from - 2);
        let party = Party { at: At { stack, ..waiter.at }, ..waiter };
        let wait = party.waits(from);
        holder.releases(until - 1);
        party.gets(wait, until);
        party.releases(until + 1);
    };
    waits_in(5, 10, 20);
    waits_in(6, 30, 33);
    waits_in(5, 40, 45);
    assert_eq!(waiter.waited_in(), [(5, 15, 2, 10), (6, 3, 1, 3)]);
    let most = 3 * WAITED_SITES;
    for place in 0..most as u64 {
        waits_in(100 + place as u32, 100 + 10 * place, 102 + 10 * place);
    }
    let waited = waiter.waited_in();
    assert_eq!(waited.len(), most + 1);
    assert_eq!(waited.last(), Some(&(0, 4, 2, 2)), "two places share an entry");
    assert_eq!(waited.iter().map(|&(_, wait, ..)| wait).sum::<u64>(), waiter.waited());
    assert_eq!(
        holder.caused(),
        [(1, 9 + 2 + 4 + most as u64, 3 + most as u64, 3 + most as u64, 11)]
    );
    // Its holds have room of their own.
    waiter.takes(1_000);
    let wait = other.waits(1_010);
    waiter.releases(1_030);
    other.gets(wait, 1_031);
    assert_eq!(waiter.caused(), [(2, 20, 1, 1, 30)]);
}
