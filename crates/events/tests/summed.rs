//! Locks without entries of their own: whose sums count what, and that nothing is lost.

mod common;

use common::{At, ROOM, image, recorder};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::events::{self, Blocked};
use uncontended_events::generations::{self, WANTED_LOCKS};
use uncontended_events::nested::Nest;
use uncontended_events::site::Row;
use uncontended_events::summed::is_summed;
use uncontended_trace::arena::Arena;
use uncontended_trace::layout::kind::{MUTEX, SPIN};
use uncontended_trace::layout::sharing::{PRIVATE, PRIVATE_IN_PART, SUMMED};
use uncontended_trace::layout::{Cell, Cold, Lock, OWN_LIVES, OWN_LOCKS, Process, SUMS};

/// A thread of a record in which all locks with entries of their own are taken.
fn full() -> ((Arena, &'static Process), At) {
    let image = image(ROOM);
    image.0.header().own_locks.store(OWN_LOCKS, Relaxed);
    (image, At::new(recorder(image), 5))
}

fn take(at: At, key: u64) -> Row {
    let row = at.row(key);
    events::acquired(at, row);
    assert_eq!(events::release(at, row, || true, || 0), 0);
    row
}

fn is_same(one: Row, other: Row) -> bool {
    std::ptr::eq(one.cell, other.cell) && std::ptr::eq(one.lock, other.lock)
}

#[test]
fn locks_beyond_the_limit_are_summed_by_thread_kind_and_place() {
    let (image, at) = full();
    let rows: Vec<Row> = (1..=10).map(|number| take(at, 64 * number)).collect();
    assert!(rows.iter().all(|&row| is_same(row, rows[0]) && is_summed(row.lock)));
    assert_eq!(rows[0].cell.acquisitions.load(Relaxed), 10);
    let lock = rows[0].lock;
    assert_eq!((lock.first_taken.load(Relaxed), lock.sharing.load(Relaxed)), (7, SUMMED));
    let others = [
        At { stack: 8, ..at }.row(64),
        generations::enter(at, 64, SPIN).unwrap(),
        At::new(recorder(image), 5).row(64),
    ];
    assert!(others.iter().all(|&row| is_summed(row.lock) && !is_same(row, rows[0])));
    assert!(generations::known(at.recorder, 64, MUTEX).is_none(), "no entry was made");
    assert_eq!(image.0.list::<Lock>(&image.1.locks).count(), 0);
    let header = image.0.header();
    assert_eq!((header.dropped_room.load(Relaxed), header.summed_since.load(Relaxed)), (0, 5));
    assert_eq!(rows[0].cell.depth.load(Relaxed), 0, "who holds which of them is not known");
}

#[test]
fn an_address_with_many_lives_is_summed_from_then_on() {
    let image = image(32 * ROOM);
    let at = At::new(recorder(image), 5);
    for life in 0..2 * u64::from(OWN_LIVES) {
        generations::created(at, 64, MUTEX);
        let row = take(at, 64);
        assert_eq!(is_summed(row.lock), life >= OWN_LIVES.into(), "life {life}");
        generations::destroyed(at.recorder, 64);
    }
    let cells = image.0.list::<Cell>(&at.recorder.thread.cells);
    assert_eq!(cells.map(|(_, cell)| cell.acquisitions.load(Relaxed)).sum::<u64>(), 128);
    assert!(!is_summed(take(at, 128).lock), "another address");
    let listed = image.0.list::<Lock>(&image.1.locks).count();
    assert_eq!(listed as u32, image.0.header().own_locks.load(Relaxed));
}

#[test]
fn a_creation_that_has_no_entry_ends_the_lock_before() {
    let image = image(ROOM);
    let at = At::new(recorder(image), 5);
    let before = take(at, 64);
    image.0.header().own_locks.store(OWN_LOCKS, Relaxed);
    generations::created(at, 64, MUTEX);
    assert!(generations::is_dead(before.lock));
    assert!(is_summed(take(at, 64).lock));
    assert_eq!(before.cell.acquisitions.load(Relaxed), 1);
}

#[test]
fn a_lock_that_is_waited_for_gets_an_entry_and_says_that_it_is_not_all() {
    let (image, at) = full();
    take(at, 64);
    let own = generations::enter_wanted(at, 64, MUTEX).unwrap();
    assert!(!is_summed(own.lock));
    assert_eq!(own.lock.sharing.load(Relaxed), PRIVATE_IN_PART);
    let again = generations::enter_wanted(At::new(recorder(image), 5), 64, MUTEX).unwrap();
    assert!(std::ptr::eq(again.lock, own.lock));
    image.0.header().own_locks.store(WANTED_LOCKS, Relaxed);
    assert!(generations::enter_wanted(at, 128, MUTEX).is_none());
}

#[test]
fn a_thread_without_a_part_of_its_own_in_a_lock_says_so_there() {
    let image = image(ROOM);
    let [one, two] = [5, 5].map(|now| At::new(recorder(image), now));
    let own = take(one, 64);
    assert_eq!(own.lock.sharing.load(Relaxed), PRIVATE);
    while image.0.has_free(3) {
        image.0.allocate(8).unwrap();
    }
    assert!(is_summed(take(two, 64).lock));
    assert_eq!(own.lock.sharing.load(Relaxed), PRIVATE_IN_PART);
}

#[test]
fn a_wait_in_a_sum_is_counted_and_blamed_on_nobody() {
    let (image, at) = full();
    let row = take(at, 64);
    let wait = Blocked::begin(at, at.row(128));
    at.set(105);
    wait.acquired();
    assert_eq!(events::release(at, row, || true, || 0), 0);
    let wait = Blocked::begin(at, at.row(192));
    at.set(135);
    wait.gave_up();
    let cold: &Cold = image.0.at(row.cell.cold.load(Relaxed));
    let waits =
        [&cold.blocked, &cold.wait_total, &cold.timed_out, &cold.idle_total, &cold.wait_free];
    assert_eq!(waits.map(|figure| figure.load(Relaxed)), [2, 130, 1, 0, 0]);
    assert_eq!((row.cell.acquisitions.load(Relaxed), row.cell.depth.load(Relaxed)), (2, 0));
}

#[test]
fn a_thread_has_few_sums_and_one_for_all_other_places() {
    let image = image(4 * ROOM);
    image.0.header().own_locks.store(OWN_LOCKS, Relaxed);
    let at = At::new(recorder(image), 5);
    for place in 1..=200 {
        take(At { stack: place, ..at }, u64::from(place) * 64);
    }
    let cells: Vec<u64> = image
        .0
        .list::<Cell>(&at.recorder.thread.cells)
        .map(|(_, cell)| cell.acquisitions.load(Relaxed))
        .collect();
    assert_eq!((cells.len(), cells.iter().sum::<u64>()), (SUMS + 1, 200));
    assert_eq!(cells[0], 200 - SUMS as u64, "the rest");
}

#[test]
fn what_finds_no_room_at_all_is_counted_once() {
    let (arena, process) = image(280);
    let at = At::new(recorder((arena, process)), 5);
    while arena.allocate_if_room(1).is_some() {}
    for number in 1..=10 {
        assert!(generations::enter(at, 64 * number, MUTEX).is_none());
        assert_eq!(arena.header().dropped_room.load(Relaxed), number);
    }
    generations::created(at, 64, MUTEX);
    assert_eq!(arena.header().dropped_room.load(Relaxed), 10, "creations do not count");
}

#[test]
fn a_sum_is_in_no_lock_order_and_that_is_counted() {
    let image = image(ROOM);
    let at = At::new(recorder(image), 5);
    let outer = at.row(64);
    let nest = Nest::new();
    events::acquired(at, outer);
    nest.took(at, outer, true, || false);
    image.0.header().own_locks.store(OWN_LOCKS, Relaxed);
    let inner = at.row(128);
    events::acquired(at, inner);
    nest.took(at, inner, true, || false);
    let thread = at.recorder.thread;
    assert_eq!((thread.nested.load(Relaxed), thread.nested_lost.load(Relaxed)), (0, 1));
}
