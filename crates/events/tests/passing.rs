//! Objects that threads pass on by waking: whose the waiting was, at times that the test sets.

mod common;

use common::party::{Party, parties};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::events::{self, End, Waited};
use uncontended_events::log::By;
use uncontended_events::passing;
use uncontended_events::site::Site;
use uncontended_events::woken::{ALL, ONE};
use uncontended_testkit::Random;
use uncontended_trace::layout::{Caused, Cell, PASSED, RECENT, WAITED, WAKE, kind};

impl Party {
    /// Begins a wait for the condition, with its mutex held since `held_since`.
    fn sleeps(self, held_since: u64) {
        passing::begins(self.at.recorder, self.row, (held_since, held_since));
    }

    fn signals(self, now: u64) {
        self.at.set(now);
        passing::signals(self.at.recorder, self.row.lock, Some(self.row.cell), true);
        events::ends(self.at, self.row.lock, ONE);
    }

    fn broadcasts(self, now: u64) {
        self.at.set(now);
        passing::signals(self.at.recorder, self.row.lock, Some(self.row.cell), false);
        events::ends(self.at, self.row.lock, ALL);
    }

    /// The end of a wait since `call`.
    fn wakes(self, call: u64, now: u64) {
        passing::ended(self.row.lock);
        let waited =
            Waited { call, now, release: 0, ended: End::Came, stack: 9, ..Waited::default() };
        events::record_wait(self.at, self.row, waited);
        let by = By::waker(self.row.lock, (call, now));
        passing::came(self.at.recorder, self.row, (call, now), by);
    }

    /// The same by its deadline; the thread has the mutex since `now`.
    fn times_out(self, call: u64, now: u64) {
        passing::ended(self.row.lock);
        let waited =
            Waited { call, now, release: 0, ended: End::TimedOut, stack: 9, ..Waited::default() };
        events::record_wait(self.at, self.row, waited);
        passing::timed_out(self.at.recorder, self.row, (call, now), now);
        passing::came_back(self.at.recorder, self.row, now);
    }

    /// `(stack, whether it was a pass, wait)` of each entry, oldest first.
    fn ended_by(self) -> Vec<(u32, bool, u64)> {
        let list = self.at.recorder.arena.list::<Caused>(&self.row.cell.caused);
        let list = list.filter(|(_, entry)| entry.passed_to.load(Relaxed) != WAITED);
        let entry = |(_, entry): (u32, &'static Caused)| {
            let how = entry.passed_to.load(Relaxed);
            assert!([PASSED, WAKE].contains(&how));
            (entry.stack.load(Relaxed), how == PASSED, entry.wait.load(Relaxed))
        };
        let mut entries: Vec<_> = list.map(entry).collect();
        entries.reverse();
        entries
    }
}

#[test]
fn who_returned_last_and_wakes_the_next_passes_it_on() {
    let [first, second, third] = parties();
    first.sleeps(0);
    third.signals(10); // It has not returned from a wait.
    first.wakes(2, 11);
    assert_eq!(first.ended_by(), [(3, false, 9)]);
    second.sleeps(0);
    first.signals(30);
    second.wakes(15, 31);
    assert_eq!(second.ended_by(), [(1, true, 16)]);
    // The second passes it on; the third takes it without a wait, and passes it on in turn.
    second.signals(40);
    first.sleeps(0);
    third.signals(60);
    first.wakes(45, 61);
    assert_eq!(first.ended_by(), [(3, false, 9), (3, true, 16)]);
}

#[test]
fn two_that_return_by_one_wakeup_share_it() {
    let [first, second, third] = parties();
    third.sleeps(0);
    second.signals(1);
    third.wakes(0, 2);
    for party in [first, second] {
        party.sleeps(0);
    }
    third.signals(20);
    first.wakes(5, 21);
    second.wakes(5, 22);
    assert_eq!(first.ended_by(), [(3, true, 16)]);
    assert_eq!(second.ended_by(), [(3, false, 17)]);
}

#[test]
fn those_that_return_and_do_not_wake_form_a_queue() {
    let [producer, first, second] = parties();
    for round in 0..5 {
        for (consumer, now) in [(first, 100 * round), (second, 100 * round + 50)] {
            consumer.sleeps(0);
            producer.signals(now + 20);
            consumer.wakes(now, now + 25);
        }
    }
    assert_eq!(first.ended_by(), [(1, false, 125)]);
    assert_eq!(second.ended_by(), [(1, false, 125)]);
}

#[test]
fn a_change_that_is_announced_to_all_is_not_passed_on() {
    let [producer, first, second] = parties();
    for round in 0..5 {
        for (consumer, now) in [(first, 100 * round), (second, 100 * round + 50)] {
            consumer.sleeps(0);
            producer.broadcasts(now + 20);
            consumer.wakes(now, now + 25);
            consumer.broadcasts(now + 30);
        }
    }
    assert_eq!(first.ended_by(), [(1, false, 125)]);
    assert_eq!(second.ended_by(), [(1, false, 125)]);
}

#[test]
fn a_wait_that_times_out_and_goes_on_is_one_wait() {
    let [keeper, waiter, _] = parties();
    keeper.sleeps(0);
    waiter.signals(5);
    keeper.wakes(0, 6);
    waiter.sleeps(0);
    waiter.times_out(10, 20);
    waiter.sleeps(20);
    waiter.times_out(20, 30);
    waiter.sleeps(30);
    keeper.signals(38);
    waiter.wakes(30, 40);
    assert_eq!(waiter.ended_by(), [(1, true, 30)]);
    let served = waiter.cold().unwrap().served.load(Relaxed);
    assert_eq!((waiter.waited(), served), (30, 20));
    // It lost the mutex in between: it did other things.
    waiter.signals(45);
    keeper.sleeps(0);
    keeper.times_out(50, 60);
    keeper.sleeps(65);
    waiter.signals(75);
    keeper.wakes(70, 76);
    assert_eq!(keeper.ended_by(), [(2, false, 6), (2, true, 6)]);
    // It found it free after its time had run out, and used it.
    keeper.signals(80);
    waiter.sleeps(0);
    waiter.times_out(85, 90);
    waiter.signals(92);
    waiter.sleeps(90);
    keeper.signals(99);
    waiter.wakes(95, 100);
    assert_eq!(waiter.ended_by(), [(1, true, 30 + 5)]);
}

#[test]
fn a_wait_that_times_out_after_a_pass_waited_for_those_before_it() {
    let [keeper, waiter, other] = parties();
    keeper.sleeps(0);
    other.signals(5);
    keeper.wakes(0, 6);
    waiter.sleeps(0);
    keeper.signals(18);
    waiter.times_out(10, 20);
    assert_eq!(waiter.ended_by(), [(1, true, 8)]);
    // It waits again at once, or else it found it free.
    waiter.sleeps(20);
    keeper.signals(25);
    waiter.wakes(20, 26);
    assert_eq!(waiter.ended_by(), [(1, true, 8 + 2 + 6)]);
    // The pass came after the deadline, and before the thread ran.
    waiter.signals(30);
    keeper.sleeps(0);
    passing::ended(keeper.row.lock);
    passing::begins(other.at.recorder, other.row, (0, 0));
    waiter.signals(48);
    passing::timed_out(keeper.at.recorder, keeper.row, (35, 45), 50);
    assert_eq!(keeper.ended_by(), [(3, false, 6), (2, true, 10)]);
}

/// One that returns for nothing waits again without giving up the mutex.
#[test]
fn a_wait_continues_while_its_thread_keeps_the_mutex() {
    let [waiter, other, ..] = parties::<3>();
    let begins = |held_since, call| {
        let begun = passing::begins(waiter.at.recorder, waiter.row, (held_since, call));
        begun.continues_after
    };
    assert_eq!(begins(10, 12), None);
    other.broadcasts(20);
    waiter.wakes(12, 25);
    passing::came_back(waiter.at.recorder, waiter.row, 26);
    assert_eq!(begins(26, 27), Some(1), "it has had the mutex since then");
    other.broadcasts(30);
    waiter.wakes(27, 35);
    passing::came_back(waiter.at.recorder, waiter.row, 36);
    assert_eq!(begins(40, 41), None, "it has taken the mutex again");
}

#[test]
fn what_was_before_the_oldest_wakeup_stays_unknown() {
    let [keeper, waiter, other] = parties();
    keeper.sleeps(0);
    other.signals(1);
    keeper.wakes(0, 2);
    waiter.sleeps(0);
    let wakeups = RECENT as u64 + 10;
    for number in 1..=wakeups {
        keeper.signals(100 * number);
    }
    waiter.wakes(50, 100 * wakeups + 7);
    // The oldest that is known says where the next one's time begins.
    assert_eq!(waiter.ended_by(), [(1, true, 100 * (RECENT as u64 - 1) + 7)]);
}

#[test]
fn who_has_waited_for_a_futex_and_wakes_one_passes_it_on() {
    let [first, second, third] = parties();
    first.row.lock.kind.store(kind::FUTEX, Relaxed);
    let wakes = |party: Party, cell: Option<&Cell>, is_lone: bool, now: u64| {
        party.at.set(now);
        passing::signals(party.at.recorder, party.row.lock, cell, is_lone);
        events::ends(party.at, party.row.lock, if is_lone { ONE } else { ALL });
    };
    let sleeps = |party: Party, from: u64, until: u64, others: &dyn Fn()| {
        party.at.set(from);
        let wait = || {
            others();
            party.at.set(until);
        };
        let found = Some((party.at, party.row));
        events::sleep(found, |at, _| at.ticks(), wait, |()| Some(End::Came));
    };
    sleeps(first, 10, 30, &|| wakes(third, None, true, 25));
    assert_eq!(first.ended_by(), [(3, false, 20)]);
    // The second woke for nothing, and sleeps again; the first has waited here before.
    sleeps(second, 40, 50, &|| wakes(third, None, true, 45));
    sleeps(second, 51, 70, &|| wakes(first, Some(first.row.cell), true, 65));
    assert_eq!(second.ended_by(), [(3, false, 10), (1, true, 19)]);
    // A thread that wakes all of them announces something.
    sleeps(second, 80, 90, &|| wakes(first, Some(first.row.cell), false, 85));
    assert_eq!(second.ended_by(), [(3, false, 10), (1, true, 19), (1, false, 10)]);
}

/// What the oracle knows of a wait.
#[derive(Clone, Copy)]
struct Sleep {
    /// When it began, with the waits that timed out before it.
    from: u64,
    call: u64,
}

/// The time and the thread of each signal, in order.
type Signals = [(u64, usize)];

fn last_since(signals: &Signals, call: u64) -> Option<(u64, usize)> {
    signals.last().copied().filter(|&(at, _)| at > call)
}

/// Whether the thread that returned last has signalled since.
fn is_pass(signals: &Signals, returned: Option<(u64, usize)>) -> bool {
    returned
        .is_some_and(|(since, thread)| signals.iter().any(|&(at, by)| at > since && by == thread))
}

/// Each thread's part of the time from `from` to `now`: from the signal before its own.
fn divide(signals: &Signals, (from, now): (u64, u64), parts: &mut [u64; 4]) {
    let mut until = now;
    for &(at, by) in
        signals.iter().rev().skip_while(|&&(at, _)| at > now).take_while(|&&(at, _)| at > from)
    {
        let before = signals.iter().rfind(|&&(other, _)| other < at);
        let begun = before.map_or(from, |&(other, _)| other.max(from));
        parts[by] += until - begun;
        until = begun;
    }
}

/// Random schedules of four threads that wait, signal, time out and return: what is booked is what the schedule did,
/// computed from its whole log.
#[test]
fn random_wakeups_are_divided_exactly() {
    for seed in 0..if cfg!(miri) { 3 } else { 1_000 } {
        let mut random = Random(seed);
        let all: [Party; 4] = parties();
        let mut asleep: [Option<Sleep>; 4] = [None; 4];
        let mut signals: Vec<(u64, usize)> = Vec::new();
        let mut returned: Option<(u64, usize)> = None;
        let mut expected = [[[0; 4]; 2]; 4];
        let mut now = 10;
        for _ in 0..if cfg!(miri) { 30 } else { 150 } {
            now += 1 + random.below(20);
            let number = random.below(4) as usize;
            let party = all[number];
            match (asleep[number], random.below(4)) {
                (None, 0) => {
                    party.sleeps(now);
                    asleep[number] = Some(Sleep { from: now, call: now });
                }
                (None, _) => {
                    party.signals(now);
                    signals.push((now, number));
                }
                (Some(Sleep { from, call }), 0) => {
                    party.times_out(call, now);
                    let mut from = from;
                    if let Some((last, _)) =
                        last_since(&signals, call).filter(|_| is_pass(&signals, returned))
                    {
                        divide(&signals, (from, last), &mut expected[number][1]);
                        from = last;
                    }
                    let goes_on = random.below(2) == 0;
                    asleep[number] = goes_on.then_some(Sleep { from, call: now });
                    if goes_on {
                        party.sleeps(now);
                    }
                }
                (Some(Sleep { from, call }), _) => {
                    let Some((_, last)) = last_since(&signals, call) else { continue };
                    if is_pass(&signals, returned) {
                        divide(&signals, (from, now), &mut expected[number][1]);
                    } else {
                        expected[number][0][last] += now - from;
                    }
                    party.wakes(call, now);
                    (asleep[number], returned) = (None, Some((now, number)));
                }
            }
        }
        for (party, expected) in all.iter().zip(expected) {
            let mut booked = [[0; 4]; 2];
            for (stack, is_pass, wait) in party.ended_by() {
                booked[usize::from(is_pass)][stack as usize - 1] += wait;
            }
            assert_eq!(booked, expected, "seed {seed}");
        }
    }
}
