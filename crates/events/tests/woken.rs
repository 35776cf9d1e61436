//! Which wakeup ended a wait, at times that the test sets.

mod common;

use common::party::{Party, parties};
use uncontended_events::events;
use uncontended_events::log::By;
use uncontended_events::passing;
use uncontended_events::woken::{self, ALL, ONE};
use uncontended_testkit::Random;
use uncontended_trace::layout::RECENT;

impl Party {
    /// Begins a wait for the condition; the result is how many waited already.
    fn sleeps(self) -> u32 {
        passing::begins(self.at.recorder, self.row, (0, 0)).ahead
    }

    fn wakes(self, waiters: u64, now: u64) {
        self.at.set(now);
        events::ends(self.at, self.row.lock, waiters);
    }

    /// When its wait since `call` was ended, and by which of the parties; it returns at `now`.
    fn woken_by(self, (call, now): (u64, u64), ahead: u32) -> (u64, u32) {
        let By { at, unit, stack } =
            woken::ended(self.at.recorder, self.row.lock, (call, now), ahead);
        assert_eq!(stack == 0, unit == 0);
        passing::ended(self.row.lock);
        (at, stack)
    }
}

#[test]
fn the_first_wakeup_ends_the_wait_of_a_thread_that_runs_late() {
    let [first, second, waiter] = parties();
    let ahead = waiter.sleeps();
    assert_eq!(ahead, 0);
    first.wakes(ONE, 20);
    second.wakes(ONE, 30);
    assert_eq!(waiter.woken_by((10, 40), ahead), (20, 1));
    // No wakeup came in between: unknown.
    let ahead = waiter.sleeps();
    assert_eq!(waiter.woken_by((50, 60), ahead), (0, 0));
}

#[test]
fn waiters_are_woken_in_the_order_in_which_they_came() {
    let [one, two, waker] = parties();
    let ahead = [one, two].map(Party::sleeps);
    assert_eq!(ahead, [0, 1]);
    waker.wakes(ONE, 20);
    one.wakes(ONE, 30);
    waker.wakes(ONE, 40);
    assert_eq!(two.woken_by((12, 50), ahead[1]), (30, 1));
    assert_eq!(one.woken_by((10, 50), ahead[0]), (20, 3));
    // All at once.
    let ahead = [one, two].map(Party::sleeps);
    waker.wakes(ALL, 70);
    waker.wakes(ONE, 75);
    for (party, ahead) in [one, two].into_iter().zip(ahead) {
        assert_eq!(party.woken_by((60, 80), ahead), (70, 3));
    }
}

#[test]
fn a_wakeup_of_several_ends_the_waits_of_the_first_ones() {
    let [one, two, three, waker] = parties();
    let ahead = [one, two, three].map(Party::sleeps);
    waker.wakes(2, 20);
    one.wakes(ONE, 30);
    let found = [one, two, three].into_iter().zip(ahead);
    let found = found.map(|(party, ahead)| party.woken_by((10, 40), ahead));
    assert_eq!(found.collect::<Vec<_>>(), [(20, 4), (20, 4), (30, 1)]);
}

/// A waiter before it gave up, or was woken already: the last wakeup has to do.
#[test]
fn where_too_few_are_known_the_last_one_ended_the_wait() {
    let [gone, waiter, waker] = parties();
    gone.sleeps();
    let ahead = waiter.sleeps();
    passing::ended(gone.row.lock);
    waker.wakes(ONE, 20);
    assert_eq!(waiter.woken_by((10, 30), ahead), (20, 3));
    let ahead = waiter.sleeps();
    for number in 1..=RECENT as u64 + 5 {
        waker.wakes(ONE, 100 * number);
    }
    gone.wakes(ONE, 100 * RECENT as u64 + 600);
    assert_eq!(waiter.woken_by((50, 10_000), ahead), (100 * RECENT as u64 + 600, 1));
}

/// A thread that need not wait takes the token from the waiter: the next one is its.
#[test]
fn a_token_that_was_taken_ends_no_wait() {
    let [thief, waiter, poster] = parties();
    waiter.row.lock.crossed.store(1, uncontended_atomic::Ordering::Relaxed);
    let wait = waiter.waits(10);
    poster.at.set(20);
    events::ends(poster.at, poster.row.lock, ONE);
    thief.takes(22);
    thief.wakes(ONE, 40);
    poster.wakes(ONE, 45);
    let by = woken::ended(waiter.at.recorder, waiter.row.lock, (10, 50), 0);
    assert_eq!((by.at, by.stack), (40, 1));
    waiter.gets(wait, 50);
    // The wait is booked against that code.
    let booked = waiter.caused();
    assert_eq!(booked, [(1, 40, 1, 1, 40)]);
}

/// The waiter from which a thread takes the token sleeps again, behind the others: the last wakeup was for one of them.
#[test]
fn after_a_token_was_taken_the_last_wakeup_ended_a_wait() {
    let [thief, one, two] = parties();
    one.row.lock.crossed.store(1, uncontended_atomic::Ordering::Relaxed);
    let [first, _] = [(one, 10), (two, 12)].map(|(waiter, call)| waiter.waits(call));
    thief.at.set(20);
    events::ends(thief.at, thief.row.lock, ONE);
    thief.takes(22);
    for now in [40, 60, 80] {
        thief.wakes(ONE, now);
    }
    let by = woken::ended(two.at.recorder, two.row.lock, (12, 90), 1);
    assert_eq!((by.at, by.stack), (80, 1));
    one.gets(first, 95);
}

/// A wait of the random schedule.
#[derive(Clone, Copy)]
struct Wait {
    call: u64,
    ahead: u32,
    /// Whether all waiters before it were in the queue.
    is_known: bool,
    by: Option<(u64, u32)>,
}

/// Random schedules: waiters in a queue, wakeups of one and of all, threads that run late. Each finds the wakeup that
/// took it off the queue, as far as it had only waiters before it that were not woken yet.
#[test]
fn random_wakeups_find_their_waiters() {
    let mut found = 0;
    for seed in 0..if cfg!(miri) { 3 } else { 1_000 } {
        let mut random = Random(seed);
        let all: [Party; 4] = parties();
        let mut queue: Vec<usize> = Vec::new();
        let mut waits: [Option<Wait>; 4] = [None; 4];
        let mut now = 10;
        for _ in 0..if cfg!(miri) { 30 } else { 100 } {
            now += 1 + random.below(20);
            let number = random.below(4) as usize;
            match waits[number] {
                None if random.below(2) == 0 => {
                    let is_known = queue.len() == waits.iter().flatten().count();
                    let ahead = all[number].sleeps();
                    waits[number] = Some(Wait { call: now, ahead, is_known, by: None });
                    queue.push(number);
                }
                None => {
                    let is_all = random.below(4) == 0;
                    all[number].wakes(if is_all { ALL } else { ONE }, now);
                    let most = if is_all { queue.len() } else { queue.len().min(1) };
                    for woken in queue.drain(..most) {
                        let wait = waits[woken].as_mut().expect("it waits");
                        wait.by = Some((now, number as u32 + 1));
                    }
                }
                Some(Wait { call, ahead, is_known, by: Some(by) }) => {
                    let found_by = all[number].woken_by((call, now), ahead);
                    if is_known {
                        assert_eq!(found_by, by, "seed {seed}");
                        found += 1;
                    }
                    waits[number] = None;
                }
                Some(_) => {}
            }
        }
    }
    assert!(found > 10, "{found}");
}
