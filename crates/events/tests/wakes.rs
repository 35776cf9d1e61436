//! Futexes of which each waiter has its own: whose the waiting was, at times that the test sets.

mod common;

use common::{At, ROOM, image, recorder};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::events::{self, End};
use uncontended_events::site::{Row, Site};
use uncontended_events::woken::ONE;
use uncontended_events::{generations, passing};
use uncontended_testkit::Random;
use uncontended_trace::layout::{CHAIN, CHAINED, Caused, WAKE, WAKES, kind::FUTEX};

/// A thread with a futex of its own.
#[derive(Clone, Copy)]
struct Party {
    at: At,
    own: Row,
}

fn parties<const N: usize>() -> [Party; N] {
    let image = image(ROOM);
    std::array::from_fn(|number| {
        let at = At { stack: number as u32 + 1, ..At::new(recorder(image), 1) };
        let own = generations::enter(at, 64 * (number as u64 + 1), FUTEX).expect("room");
        Party { at, own }
    })
}

impl Party {
    /// Wakes the other at `now`.
    fn wakes(self, other: Party, now: u64) {
        self.at.set(now);
        passing::signals(self.at.recorder, other.own.lock, None, true);
        events::ends(self.at, other.own.lock, ONE);
    }

    /// Sleeps until the others have done something.
    fn sleeps(self, from: u64, until: u64, others: &dyn Fn()) {
        self.at.set(from);
        let wait = || {
            others();
            self.at.set(until);
        };
        events::sleep(Some((self.at, self.own)), |at, _| at.ticks(), wait, |()| Some(End::Came));
    }

    /// `(stack, wait)` of each entry of this kind, oldest first.
    fn booked(self, how: u32) -> Vec<(u32, u64)> {
        let list = self.at.recorder.arena.list::<Caused>(&self.own.cell.caused);
        let of = list.filter(|(_, entry)| entry.passed_to.load(Relaxed) == how);
        let mut all: Vec<_> =
            of.map(|(_, entry)| (entry.stack.load(Relaxed), entry.wait.load(Relaxed))).collect();
        all.reverse();
        all
    }
}

#[test]
fn a_wakeup_by_a_thread_that_was_awake_all_the_time_is_to_blame_for_the_whole_wait() {
    let [holder, waiter] = parties();
    waiter.sleeps(10, 100, &|| holder.wakes(waiter, 95));
    assert_eq!(waiter.booked(WAKE), [(1, 90)]);
    // The holder woke the waiter; that was before its next wait.
    holder.sleeps(200, 300, &|| waiter.wakes(holder, 290));
    assert_eq!(holder.booked(WAKE), [(2, 100)]);
}

#[test]
fn the_last_of_three_waited_for_the_thread_that_held_the_lock_when_all_came() {
    let [holder, first, second, third] = parties();
    third.sleeps(30, 120, &|| {
        second.sleeps(20, 110, &|| {
            first.sleeps(10, 100, &|| holder.wakes(first, 95));
            first.wakes(second, 105);
        });
        second.wakes(third, 115);
    });
    assert_eq!(first.booked(WAKE), [(1, 90)]);
    assert_eq!(second.booked(CHAIN), [(2, 90)]);
    assert_eq!(second.booked(CHAINED), [(2, 110 - 95), (1, 95 - 20)]);
    assert_eq!(third.booked(CHAIN), [(3, 90)]);
    assert_eq!(third.booked(CHAINED), [(3, 120 - 105), (2, 105 - 95), (1, 95 - 30)]);
}

#[test]
fn a_chain_that_is_no_longer_known_ends_in_the_unknown() {
    if cfg!(miri) {
        return; // Hundreds of wakeups take half a minute there.
    }
    let [holder, first, second, other, another] = parties();
    second.sleeps(20, 5_000, &|| {
        first.sleeps(10, 100, &|| holder.wakes(first, 95));
        for round in 0..WAKES as u64 {
            let now = 200 + 10 * round;
            other.sleeps(now, now + 8, &|| another.wakes(other, now + 5));
        }
        first.wakes(second, 4_990);
    });
    assert_eq!((second.booked(CHAIN), second.booked(CHAINED)), (vec![], vec![]));
    assert_eq!(second.booked(WAKE), [(2, 4_980)]);
}

/// Random first-come locks of parked threads: a wait is divided among the holds that it fell into.
#[test]
fn random_queues_are_divided_exactly() {
    for seed in 0..if cfg!(miri) { 2 } else { 300 } {
        let mut random = Random(seed);
        let all: [Party; 5] = parties();
        let (mut now, mut expected) = (10, vec![[0; 5]; 5]);
        for _ in 0..if cfg!(miri) { 2 } else { 20 } {
            // One holds the lock without a wait; the others come one after the other, and get it in that order.
            let mut order: Vec<usize> = (0..5).collect();
            (1..5).rev().for_each(|at| order.swap(at, random.below(at as u64 + 1) as usize));
            order.truncate(2 + random.below(4) as usize);
            let arrivals: Vec<u64> = order[1..]
                .iter()
                .map(|_| {
                    now += 1 + random.below(9);
                    now
                })
                .collect();
            let mut releases: Vec<u64> = order
                .iter()
                .map(|_| {
                    now += 1 + random.below(50);
                    now
                })
                .collect();
            releases.pop();
            now += 20;
            queue(&all, &order, &arrivals, &releases);
            for (nth, &arrival) in arrivals.iter().enumerate() {
                let mut from = arrival;
                for holder in 0..=nth {
                    // It returns a tick after its wakeup.
                    let until = releases[holder] + u64::from(holder == nth);
                    expected[order[nth + 1]][order[holder]] += until - from;
                    from = until;
                }
            }
        }
        for (party, expected) in all.iter().zip(&expected) {
            let mut booked = [0; 5];
            let parts = [WAKE, CHAINED].into_iter().flat_map(|how| party.booked(how));
            parts.for_each(|(stack, wait)| booked[stack as usize - 1] += wait);
            assert_eq!(&booked, expected, "seed {seed}");
        }
    }
}

/// The last one in `order` sleeps around all that happens to those before it.
fn queue(all: &[Party; 5], order: &[usize], arrivals: &[u64], releases: &[u64]) {
    let [.., before, last] = order else { return };
    let (arrival, release) = (arrivals[arrivals.len() - 1], releases[releases.len() - 1]);
    all[*last].sleeps(arrival, release + 1, &|| {
        let shorter = (order.len() - 1, arrivals.len() - 1, releases.len() - 1);
        queue(all, &order[..shorter.0], &arrivals[..shorter.1], &releases[..shorter.2]);
        all[*before].wakes(all[*last], release);
    });
}
