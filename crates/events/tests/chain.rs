//! What holds pass on, at times that the test sets.

mod common;

use common::At;
use common::party::{Party, parties};
use std::collections::BTreeMap;
use uncontended_events::events::Blocked;
use uncontended_testkit::Random;
use uncontended_trace::layout::CHAIN_PARTS;

/// The party at another lock.
fn at(party: Party, lock: u64) -> Party {
    Party { row: party.at.row(64 + 64 * lock), ..party }
}

/// Each of five threads holds a lock and waits for the next one's: the first one's waiter waited for each of them as
/// long as only it held things up.
#[test]
fn a_chain_is_followed_to_its_head() {
    let [head, third, second, first, waiter] = parties();
    let (at_second, at_third, at_head) = (at(second, 1), at(third, 2), at(head, 3));
    let (first_in, second_in, third_in) = (at(first, 1), at(second, 2), at(third, 3));
    first.takes(10);
    at_second.takes(11);
    at_third.takes(12);
    at_head.takes(13);
    let waits = waiter.waits(20);
    let for_second = first_in.waits(22);
    let for_third = second_in.waits(24);
    let for_head = third_in.waits(30);
    at_head.releases(50);
    third_in.gets(for_head, 51);
    at_third.releases(60);
    second_in.gets(for_third, 61);
    at_second.releases(75);
    first_in.gets(for_second, 76);
    first.releases(90);
    waiter.gets(waits, 91);
    // The head from 30 to 50; the third one from 24 to 30 and 50 to 60; the second from 22 to 24 and 60 to 75.
    assert_eq!(at_third.passed(), [(36, 20, 1)]);
    assert_eq!(at_second.passed(), [(20, 20, 1), (33, 16, 2)]);
    assert_eq!(first.passed(), [(16, 16, 2), (20, 20, 1), (34, 17, 3)]);
}

/// A holder waits for three others, one after another, while it holds: each gets its part.
#[test]
fn each_wait_of_a_hold_is_passed_on() {
    let [holder, waiter, one, two, three] = parties();
    holder.takes(10);
    let waits = waiter.waits(20);
    let locks = [(1, one), (2, two), (3, three)].map(|(n, other)| (at(holder, n), at(other, n)));
    let mut now = 30;
    for (holder, other) in [locks[0], locks[1], locks[2], locks[0]] {
        other.takes(now);
        let wait = holder.waits(now + 2);
        other.releases(now + 10);
        holder.gets(wait, now + 11);
        holder.releases(now + 12);
        now += 20;
    }
    holder.releases(120);
    waiter.gets(waits, 121);
    assert_eq!(holder.passed(), [(8, 8, 4), (8, 8, 5), (84, 16, 3)]);
}

/// Waits of an earlier hold, or of none, are not passed on; nor are more than a chain keeps, or by another thread.
#[test]
fn a_hold_passes_on_only_its_own_waits() {
    let [holder, waiter, other] = parties();
    let (of_other, of_holder) = (at(other, 1), at(holder, 1));
    let wait_for_other = |now: u64| {
        of_other.takes(now);
        let wait = of_holder.waits(now + 1);
        of_other.releases(now + 5);
        of_holder.gets(wait, now + 6);
        of_holder.releases(now + 7);
    };
    wait_for_other(10);
    holder.takes(20);
    let first = waiter.waits(21);
    wait_for_other(30);
    holder.releases(40);
    waiter.gets(first, 41);
    waiter.releases(42);
    assert_eq!(holder.passed(), [(19, 4, 3)]);
    holder.takes(50);
    let second = waiter.waits(51);
    holder.releases(60);
    waiter.gets(second, 61);
    waiter.releases(62);
    assert_eq!(holder.passed(), [(9, 0, 0), (19, 4, 3)]);
    // Of 25 waits, the last ones; 4 each.
    holder.takes(100);
    let third = waiter.waits(101);
    (0..25).for_each(|turn| wait_for_other(110 + 10 * turn));
    holder.releases(400);
    waiter.gets(third, 401);
    waiter.releases(402);
    let kept = 4 * CHAIN_PARTS as u64;
    assert_eq!(holder.passed(), [(9, 0, 0), (19 + 299, 4 + kept, 3)]);
    // Another thread releases it: the hold is its owner's, but what that one waited for is not known here.
    holder.takes(500);
    let fourth = waiter.waits(501);
    of_holder.takes(510);
    let wait = of_other.waits(511);
    of_holder.releases(520);
    of_other.gets(wait, 521);
    other.releases(550);
    waiter.gets(fourth, 551);
    assert_eq!(other.passed(), [(49, 0, 0)]);
}

/// In a queue, a thread waits for each of the holders before it, and passes all of that on.
#[test]
fn a_wait_behind_several_holders_is_passed_on_to_each() {
    let [first, second, middle, waiter] = parties();
    let [of_first, of_second, of_middle] = [first, second, middle].map(|party| at(party, 1));
    of_first.takes(10);
    middle.takes(11);
    let waits = waiter.waits(12);
    let one = of_second.waits(13);
    let two = of_middle.waits(14);
    of_first.releases(30);
    of_second.gets(one, 31);
    of_second.releases(50);
    of_middle.gets(two, 52);
    of_middle.releases(53);
    middle.releases(60);
    waiter.gets(waits, 61);
    // The first from 14 to 30, the second from 31 to 50; of 48 ticks from 12 on.
    assert_eq!(middle.passed(), [(19, 19, 2), (29, 16, 1)]);
}

/// A wait that timed out, and one for a mutex after a condition, are passed on like others.
#[test]
fn waits_until_a_deadline_and_returns_from_conditions_are_passed_on() {
    let [holder, waiter, other] = parties();
    let (of_other, of_holder) = (at(other, 1), at(holder, 1));
    holder.takes(10);
    let waits = waiter.waits(20);
    of_other.takes(25);
    let wait = of_holder.waits(30);
    of_holder.gives_up(wait, 45);
    holder.releases(60);
    waiter.gets(waits, 61);
    waiter.releases(62);
    assert_eq!(holder.passed(), [(40, 15, 3)]);
    of_other.releases(70);
    holder.takes(80);
    let waits = waiter.waits(90);
    of_holder.takes(91);
    of_holder.leaves(92);
    of_other.takes(95);
    of_other.releases(115); // Signalled at 100.
    of_other.takes(120);
    of_other.releases(130);
    of_holder.returns(100, 131);
    of_holder.releases(132);
    holder.releases(140);
    waiter.gets(waits, 141);
    assert_eq!(holder.passed(), [(90, 15 + 15 + 10, 3)]);
}

const LOCKS: usize = 3;

/// A thread of the random schedule.
#[derive(Default)]
struct Running {
    /// The locks that it holds, in the order in which it took them.
    holds: Vec<usize>,
    /// The lock that it waits for.
    wait: Option<(usize, Blocked<At>)>,
}

impl Running {
    /// What it takes next: a lock after those that it holds.
    fn next(&self, random: &mut Random) -> Option<usize> {
        let first = self.holds.last().map_or(0, |last| last + 1);
        (first < LOCKS).then(|| first + random.below((LOCKS - first) as u64) as usize)
    }
}

/// The thread to blame for the waiting of `waiter`: the last of the chain.
fn head(states: &[Running; 4], holders: &[Option<usize>; LOCKS], waiter: usize) -> Option<usize> {
    let (lock, _) = states[waiter].wait.as_ref()?;
    let holder = holders[*lock]?;
    Some(head(states, holders, holder).unwrap_or(holder))
}

/// Random schedules of threads that take locks in one order, some while they hold others: every tick of every wait is
/// the thread's at the end of its chain, as the schedule itself follows it.
#[test]
fn random_convoys_are_followed_exactly() {
    let rounds = if cfg!(miri) { 3 } else { 2_000 };
    let mut followed = 0;
    for seed in 0..rounds {
        let mut random = Random(seed);
        let threads: [Party; 4] = parties();
        let rows = threads.map(|party| [0, 1, 2].map(|lock| at(party, lock)));
        let mut states: [Running; 4] = Default::default();
        let mut holders = [None; LOCKS];
        let mut truth: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        let (mut now, mut steps) = (10, 0);
        let is_idle = |state: &Running| state.holds.is_empty() && state.wait.is_none();
        while steps < 40 || !states.iter().all(is_idle) {
            let elapsed = 1 + random.below(5);
            (now, steps) = (now + elapsed, steps + 1);
            for waiter in 0..4 {
                let Some(head) = head(&states, &holders, waiter) else { continue };
                let lock = states[waiter].wait.as_ref().expect("it waits").0;
                *truth.entry((lock, head)).or_default() += elapsed;
            }
            let nth = random.below(4) as usize;
            let state = &mut states[nth];
            if let Some((lock, wait)) = state.wait.take() {
                if holders[lock].is_some() {
                    state.wait = Some((lock, wait));
                    continue;
                }
                rows[nth][lock].gets(wait, now);
                holders[lock] = Some(nth);
                state.holds.push(lock);
            } else if steps < 40
                && random.below(3) > 0
                && let Some(lock) = state.next(&mut random)
            {
                if holders[lock].is_some() {
                    state.wait = Some((lock, rows[nth][lock].waits(now)));
                    continue;
                }
                rows[nth][lock].takes(now);
                holders[lock] = Some(nth);
                state.holds.push(lock);
            } else if let Some(lock) = state.holds.pop() {
                rows[nth][lock].releases(now);
                holders[lock] = None;
            }
        }
        let mut booked: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for (nth, row) in rows.iter().enumerate() {
            for (lock, &of) in row.iter().enumerate() {
                for (wait, passed_on, to) in of.passed() {
                    *booked.entry((lock, nth)).or_default() += wait - passed_on;
                    *booked.entry((lock, to.saturating_sub(1) as usize)).or_default() += passed_on;
                    followed += passed_on;
                }
            }
        }
        booked.retain(|_, wait| *wait > 0);
        assert_eq!(booked, truth, "seed {seed}");
    }
    assert!(followed > 5 * rounds, "{followed} ticks");
}
