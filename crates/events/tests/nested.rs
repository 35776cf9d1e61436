//! The locks that a thread held when it took another.

mod common;

use std::cell::RefCell;
use std::collections::HashMap;

use common::{At, ROOM, image, recorder};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::events::{self, acquired, release};
use uncontended_events::generations;
use uncontended_events::nested::{HELD, Nest};
use uncontended_events::site::Row;
use uncontended_trace::layout::{NESTED, Nested};

/// A thread that takes and releases mutexes by number.
struct Taker {
    at: At,
    nest: Nest,
    rows: RefCell<HashMap<u64, Row>>,
}

impl Taker {
    fn new(room: u32) -> Taker {
        let at = At::new(recorder(image(room)), 1);
        Taker { at, nest: Nest::new(), rows: RefCell::default() }
    }

    fn row(&self, mutex: u64) -> Row {
        *self.rows.borrow_mut().entry(mutex).or_insert_with(|| self.at.row(64 * mutex))
    }

    /// Takes a mutex; `waits`: by a call that would wait without a limit.
    fn take(&self, mutex: u64, waits: bool) {
        let row = self.row(mutex);
        acquired(self.at, row);
        self.nest.took(self.at, row, waits, || false);
    }

    fn takes(&self, mutexes: &[u64]) {
        mutexes.iter().for_each(|&mutex| self.take(mutex, true));
    }

    fn drops(&self, mutexes: &[u64]) {
        for &mutex in mutexes {
            release(self.at, self.row(mutex), || false, || 0);
        }
    }

    /// What the record has, newest first: the mutex taken, and those held.
    fn sets(&self) -> Vec<(u64, Vec<u64>)> {
        let arena = self.at.recorder.arena;
        let number = |lock: u32| {
            let lock: &uncontended_trace::layout::Lock = arena.at(lock);
            lock.address.load(Relaxed) / 64
        };
        let set = |(_, entry): (u32, &Nested)| {
            let held = entry.held[..entry.count.load(Relaxed) as usize].iter();
            let held = held.map(|held| number(held.lock.load(Relaxed))).collect();
            (number(entry.lock.load(Relaxed)), held)
        };
        arena.list::<Nested>(&self.at.recorder.thread.nested).map(set).collect()
    }

    fn lost(&self) -> u64 {
        self.at.recorder.thread.nested_lost.load(Relaxed)
    }
}

#[test]
fn a_lock_taken_while_others_are_held_is_kept_once_with_these() {
    let thread = Taker::new(ROOM);
    for _ in 0..3 {
        thread.takes(&[1, 2, 3]);
        thread.drops(&[2, 3, 1]);
        thread.takes(&[4]);
        thread.drops(&[4]);
    }
    assert_eq!(thread.sets(), [(3, vec![1, 2]), (2, vec![1])]);
    thread.takes(&[2, 1]);
    assert_eq!(thread.sets()[0], (1, vec![2]), "another order is another set");
    let entry = thread.at.recorder.arena.list(&thread.at.recorder.thread.nested).next();
    let (_, entry): (u32, &Nested) = entry.unwrap();
    assert_eq!((entry.stack.load(Relaxed), entry.held[0].site.load(Relaxed)), (7, 7));
    assert_eq!(thread.lost(), 0);
}

#[test]
fn sets_of_different_sizes_are_different() {
    let (shifts, outers) = if cfg!(miri) { (1, 10) } else { (20, 150) };
    for shift in 0..shifts {
        let thread = Taker::new(ROOM);
        // Other units of the record, so other places.
        for other in 0..shift {
            thread.row(1_000 + other);
        }
        for outer in 1..=outers {
            thread.takes(&[outer, 501, 500]);
            thread.drops(&[500, 501]);
            thread.takes(&[500]);
            thread.drops(&[500, outer]);
        }
        assert_eq!((thread.sets().len() as u64, thread.lost()), (3 * outers, 0));
    }
}

#[test]
fn a_call_that_does_not_wait_without_a_limit_is_only_held() {
    let thread = Taker::new(ROOM);
    thread.takes(&[1]);
    thread.take(2, false);
    assert_eq!(thread.sets(), []);
    thread.takes(&[3]);
    assert_eq!(thread.sets(), [(3, vec![1, 2])]);
}

#[test]
fn a_lock_taken_again_is_not_waited_for() {
    let thread = Taker::new(ROOM);
    thread.takes(&[1, 2, 1]);
    assert_eq!(thread.sets(), [(2, vec![1])]);
    thread.drops(&[1]);
    thread.takes(&[3]);
    assert_eq!(thread.sets()[0], (3, vec![1, 2]), "once is left");
}

#[test]
fn locks_that_the_thread_no_longer_holds_are_not_in_the_set() {
    let thread = Taker::new(ROOM);
    thread.takes(&[1, 2, 3]);
    thread.drops(&[1]);
    generations::destroyed(thread.at.recorder, 64 * 2);
    let other = At::new(thread.at.recorder, 1);
    thread.row(3).lock.release.store(9, Relaxed); // Another thread released it.
    thread.takes(&[4]);
    assert_eq!(thread.sets().len(), 2, "{:?}", thread.sets());
    // Taken again after that, it is held last.
    events::take(other.recorder, thread.row(3), 7, 10);
    thread.nest.took(thread.at, thread.row(3), true, || false);
    assert_eq!(thread.sets()[0], (3, vec![4]));
}

#[test]
fn what_a_thread_does_alone_counts_for_nothing() {
    let thread = Taker::new(ROOM);
    let take = |mutex: u64, is_alone: &dyn Fn() -> bool| {
        acquired(thread.at, thread.row(mutex));
        thread.nest.took(thread.at, thread.row(mutex), true, is_alone);
    };
    take(1, &|| panic!("asked without need"));
    take(2, &|| true);
    assert_eq!((thread.sets(), thread.lost()), (vec![], 0));
    take(3, &|| false);
    take(4, &|| panic!("known"));
    assert_eq!(thread.sets(), [(4, vec![1, 2, 3]), (3, vec![1, 2])]);
}

#[test]
fn what_finds_no_room_is_counted() {
    let thread = Taker::new(4 * ROOM);
    let all: Vec<u64> = (1..=NESTED as u64 + 2).collect();
    thread.takes(&all);
    assert_eq!((thread.sets().len(), thread.lost()), (NESTED, 1), "no more than that are kept");
    thread.drops(&all);
    if cfg!(miri) {
        return; // The rest takes a minute there.
    }
    // A thread that held more than it can follow may hold one that is not in its sets.
    let many: Vec<u64> = (100..=100 + HELD as u64).collect();
    thread.takes(&many);
    thread.drops(&many);
    let (sets, lost) = (thread.sets().len(), thread.lost());
    thread.takes(&[90, 91]);
    assert_eq!((thread.sets().len(), thread.lost()), (sets, lost + 1));
}

#[test]
fn sets_beyond_the_room_for_them_are_counted() {
    let (room, pairs) = if cfg!(miri) { (ROOM, 10) } else { (64 * ROOM, 6_000) };
    let thread = Taker::new(room);
    for round in 1..=2 {
        for pair in 1..=pairs {
            let locks = [1 + pair % 100, 200 + pair / 100];
            thread.takes(&locks);
            thread.drops(&locks);
        }
        let kept = thread.sets().len() as u64;
        assert!((pairs / 2..=4_096).contains(&kept), "{kept}");
        assert_eq!(thread.lost(), round * (pairs - kept), "the same ones again");
    }
}
