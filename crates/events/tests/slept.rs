//! In how many waits threads slept, with sleeps that the test sets.
#![allow(clippy::disallowed_types)] // The count of sleeps, which the checker does not explore.

mod common;

use common::party::parties;
use common::{At, image, recorder};
use std::sync::atomic::AtomicU64;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::events::{self, Blocked, End};
use uncontended_events::generations;
use uncontended_events::shared::{self, Rows};
use uncontended_events::site::Row;
use uncontended_events::waiters::Side;
use uncontended_trace::layout::{Cold, kind};

/// `(slept, known)` of a thread's waits at a row.
fn slept(at: At, row: Row) -> (u64, u64) {
    let cold: &Cold = at.recorder.arena.at(row.cell.cold.load(Relaxed));
    (cold.slept.load(Relaxed), cold.slept_known.load(Relaxed))
}

/// A thread whose sleeps are counted.
fn counted(at: At) -> At {
    At { sleeps: Some(Box::leak(Box::new(AtomicU64::new(5)))), ..at }
}

fn sleep(at: At) {
    at.sleeps.expect("a thread whose sleeps are counted").fetch_add(1, Relaxed);
}

#[test]
fn a_wait_slept_if_its_thread_did_meanwhile() {
    let [holder, waiter] = parties();
    let at = counted(waiter.at);
    for sleeps in [1, 0, 3] {
        holder.takes(10);
        sleep(at); // Before the wait: not in it.
        let wait = Blocked::begin(at, waiter.row);
        (0..sleeps).for_each(|_| sleep(at));
        holder.releases(50);
        at.set(60);
        wait.acquired();
        events::release(at, waiter.row, || false, || 0);
    }
    assert_eq!(slept(at, waiter.row), (2, 3));
    holder.takes(100);
    let wait = Blocked::begin(at, waiter.row);
    sleep(at);
    wait.gave_up();
    assert_eq!(slept(at, waiter.row), (3, 4), "a wait that ends without the lock counts too");
}

#[test]
fn of_a_thread_whose_sleeps_are_unknown_nothing_is_known() {
    let [holder, waiter] = parties();
    holder.takes(10);
    let wait = waiter.waits(20);
    holder.releases(50);
    waiter.gets(wait, 60);
    assert_eq!(slept(waiter.at, waiter.row), (0, 0));
}

#[test]
fn a_reader_and_a_thread_without_a_holder_to_wait_for_sleep_too() {
    let image = image(common::ROOM);
    let at = counted(At::new(recorder(image), 10));
    let row = |kind| generations::enter(at, 64, kind).expect("room for a lock");
    let (mine, state) = (row(kind::RWLOCK_READ), row(kind::RWLOCK_WRITE));
    let rows = Rows { mine, state, side: Side::Shared };
    for sleeps in [0, 1] {
        let wait = shared::wait(at, rows, 10);
        (0..sleeps).for_each(|_| sleep(at));
        shared::acquired(at, rows, Some(wait));
    }
    shared::gave_up(at, rows, shared::wait(at, rows, 20), None);
    assert_eq!(slept(at, mine), (1, 3));
    let barrier = row(kind::BARRIER);
    for sleeps in [1, 0] {
        let wait = || (0..sleeps).for_each(|_| sleep(at));
        events::sleep(Some((at, barrier)), |_, _| 10, wait, |()| Some(End::Came));
    }
    assert_eq!(slept(at, barrier), (1, 2));
}
