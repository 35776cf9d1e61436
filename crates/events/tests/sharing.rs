//! Locks that processes share: one lock at one place, for threads of two images.

mod common;

use common::{At, ROOM, another, image, recorder};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::events::{self, Blocked};
use uncontended_events::generations::{self, created_shared, enter_shared};
use uncontended_events::sharing::{Location, Sharing, had, unseen};
use uncontended_events::site::Row;
use uncontended_events::waiters::{self, Side, Wait};
use uncontended_trace::layout::kind::{MUTEX, SEMAPHORE};
use uncontended_trace::layout::{ARRIVALS, Lock, Place, Thread, sharing};

const HERE: Location = Location { device: 1, inode: 7, offset: 640 };

fn enter(at: At, key: u64, location: Location) -> Row {
    enter_shared(at, key, MUTEX, || Sharing::At(location)).expect("room")
}

/// Two threads, of a process each.
fn two() -> [At; 2] {
    let image = image(2 * ROOM);
    [image, another(image)].map(|image| At::new(recorder(image), 1))
}

#[test]
fn one_place_is_one_lock_whatever_its_address() {
    let [first, second] = two();
    let (one, two) = (enter(first, 64, HERE), enter(second, 640, HERE));
    assert!(std::ptr::eq(one.lock, two.lock), "one lock");
    assert!(!std::ptr::eq(one.cell, two.cell), "a cell each");
    assert_eq!(one.lock.address.load(Relaxed), 64, "as the first process knows it");
    assert_eq!(one.lock.sharing.load(Relaxed), sharing::JOINED);
    let listed = |at: At| at.recorder.arena.list::<Lock>(&at.recorder.process.locks).count();
    assert_eq!((listed(first), listed(second)), (1, 0), "it is listed once");
    let known = generations::known(second.recorder, 640, MUTEX).unwrap();
    assert!(std::ptr::eq(known, one.lock));
    let again = enter_shared(second, 640, MUTEX, || panic!("it has been met")).unwrap();
    assert!(std::ptr::eq(again.lock, one.lock));
}

/// Another file is mapped where the lock was; it stays what it is for the other process, and at its other address.
#[test]
fn a_lock_that_is_mapped_elsewhere_is_the_same_one() {
    let [first, second] = two();
    let there = Location { inode: 8, ..HERE };
    let (one, other) = (enter(first, 64, HERE), enter(second, 64, HERE));
    let private = generations::enter(first, 128, MUTEX).unwrap();
    generations::moved(first.recorder, 128..4096);
    assert!(!generations::is_stale(one.lock), "elsewhere");
    generations::moved(first.recorder, 0..4096);
    assert!(generations::is_stale(one.lock) && !generations::is_stale(private.lock));
    assert!(!generations::is_dead(one.lock));
    assert!(!generations::is_still(first.recorder, 64, MUTEX, one));
    assert!(generations::is_still(second.recorder, 64, MUTEX, other));
    let next = enter(first, 64, there);
    assert!(!std::ptr::eq(next.lock, one.lock), "another file");
    assert!(std::ptr::eq(enter(first, 640, HERE).lock, one.lock), "mapped elsewhere");
    assert!(generations::is_still(first.recorder, 640, MUTEX, one));
    generations::moved(first.recorder, 0..128);
    assert!(std::ptr::eq(enter(first, 64, HERE).lock, one.lock), "mapped there again");
}

#[test]
fn places_that_differ_in_anything_have_locks_of_their_own() {
    let others = if cfg!(miri) { 8 } else { 2500 };
    let image = image(60 * others as u32 + 2 * ROOM);
    let [first, second] = [image, another(image)].map(|image| At::new(recorder(image), 1));
    let one = enter(first, 64, HERE);
    // More than there are lists.
    let mut locks: Vec<*const Lock> = vec![one.lock];
    for other in 2..2 + others {
        for (which, location) in [
            Location { device: other, ..HERE },
            Location { inode: 100 + other, ..HERE },
            Location { offset: 1000 + other, ..HERE },
        ]
        .into_iter()
        .enumerate()
        {
            locks.push(enter(second, 64 * (10 + 3 * other + which as u64), location).lock);
        }
    }
    let count = locks.len();
    locks.sort_unstable();
    locks.dedup();
    assert_eq!(locks.len(), count);
    let other = enter_shared(second, 64, SEMAPHORE, || Sharing::At(HERE)).unwrap();
    assert!(!std::ptr::eq(other.lock, one.lock) && !generations::is_dead(one.lock), "of two kinds");
}

#[test]
fn a_lock_whose_place_is_unknown_is_apart() {
    let [first, _] = two();
    let apart = enter_shared(first, 64, MUTEX, || Sharing::Apart).unwrap();
    let own = enter_shared(first, 128, MUTEX, || Sharing::Private).unwrap();
    assert_eq!(apart.lock.sharing.load(Relaxed), sharing::APART);
    assert_eq!(own.lock.sharing.load(Relaxed), sharing::PRIVATE);
    // A process that maps a part of the record cannot reach what others have in the rest.
    first.recorder.arena.header().capacity.store(u32::MAX, Relaxed);
    assert_eq!(enter(first, 192, HERE).lock.sharing.load(Relaxed), sharing::APART);
}

#[test]
fn its_end_and_its_next_beginning_are_for_all_processes() {
    let [first, second] = two();
    let before = enter(first, 64, HERE);
    enter(second, 640, HERE);
    generations::destroyed(second.recorder, 640);
    assert!(generations::is_dead(before.lock));
    assert!(generations::known(first.recorder, 64, MUTEX).is_none());
    let next = enter(first, 64, HERE);
    assert!(std::ptr::eq(enter(second, 640, HERE).lock, next.lock));
    assert_eq!(next.lock.generation.load(Relaxed), 1);
    created_shared(second, 640, MUTEX, Sharing::At(HERE));
    assert!(generations::is_dead(next.lock), "created again without an end");
    let last = enter(first, 64, HERE);
    assert_eq!((last.lock.generation.load(Relaxed), last.lock.created.load(Relaxed)), (2, 7));
    // Another file at the address of the first.
    let elsewhere = Location { inode: 8, ..HERE };
    created_shared(first, 64, MUTEX, Sharing::At(elsewhere));
    assert!(!generations::is_dead(last.lock), "the other process continues with it");
    assert!(!std::ptr::eq(enter(first, 64, elsewhere).lock, last.lock));
}

#[test]
fn a_holder_in_another_process_is_to_blame() {
    let [holder, waiter] = two();
    let (held, wanted) = (enter(holder, 64, HERE), enter(waiter, 640, HERE));
    holder.set(100);
    events::acquired(holder, held);
    waiter.set(200);
    let blocked = Blocked::begin(waiter, wanted);
    holder.set(500);
    assert_eq!(events::release(holder, held, || true, || 0), 0);
    waiter.set(620);
    blocked.acquired();
    let arena = holder.recorder.arena;
    let caused = arena.list::<uncontended_trace::layout::Caused>(&held.cell.caused);
    assert_eq!(caused.map(|(_, caused)| caused.wait.load(Relaxed)).collect::<Vec<_>>(), [300]);
    let cold = events::cold(waiter.recorder, wanted.cell).unwrap();
    assert_eq!(cold.wait_free.load(Relaxed), 120);
    assert_eq!(cold.idle_total.load(Relaxed), 120);
}

#[test]
fn a_holder_that_no_process_of_the_record_has_is_noted() {
    let [first, second] = two();
    let of_second = second.recorder.thread;
    of_second.number.store(20, Relaxed);
    let (own, other) = (enter(first, 64, HERE), enter(second, 640, HERE));
    let lock = own.lock;
    first.set(100);
    let sharing_after = |held_by: u32, then: &dyn Fn()| {
        let unseen = unseen(first, lock, || held_by);
        then();
        had(first.recorder, lock, unseen);
        lock.sharing.load(Relaxed)
    };
    assert_eq!(sharing_after(20, &|| {}), sharing::JOINED, "of the other process");
    assert_eq!(sharing_after(0, &|| {}), sharing::JOINED, "not known");
    events::acquired(second, other);
    assert_eq!(sharing_after(40, &|| {}), sharing::JOINED, "as the record says, it is held");
    assert_eq!(events::release(second, other, || true, || 0), 0);
    // A thread that has yet to record that it has the lock.
    let (_, late) = first.recorder.arena.make::<Thread>().unwrap();
    let comes_late = || {
        late.number.store(30, Relaxed);
        late.start_ticks.store(110, Relaxed);
        let unit = first.recorder.arena.unit_of(late);
        first.recorder.arena.push::<Thread>(&second.recorder.process.threads, unit);
    };
    assert_eq!(sharing_after(30, &comes_late), sharing::JOINED);
    // It was there before and has not used the lock: a program that it executed since.
    late.start_ticks.store(90, Relaxed);
    assert_eq!(sharing_after(30, &|| {}), sharing::JOINED_IN_PART);
    lock.sharing.store(sharing::JOINED, Relaxed);
    assert_eq!(sharing_after(40, &|| {}), sharing::JOINED_IN_PART);
    assert_eq!(sharing_after(20, &|| {}), sharing::JOINED_IN_PART, "for good");
    let private = enter_shared(first, 128, MUTEX, || Sharing::Private).unwrap().lock;
    assert!(unseen(first, private, || panic!("it is private")).is_none());
}

#[test]
fn waiters_without_a_slot_are_found_in_every_process() {
    let [first, second] = two();
    let (own, other) = (enter(first, 64, HERE), enter(second, 640, HERE));
    first.set(90);
    let waits = (0..ARRIVALS).map(|_| Wait::begin(first, own.lock, 90, Side::Exclusive));
    let waits: Vec<Wait> = waits.collect();
    second.set(50);
    let late = Wait::begin(second, other.lock, 50, Side::Exclusive);
    assert_eq!(waiters::opened(first.recorder, own.lock, 10, 100), Some(50));
    drop((waits, late));
}

#[test]
fn thousands_of_places_are_told_apart() {
    let locks = if cfg!(miri) { 20 } else { 3000 };
    let image = image(40 * locks as u32 + 2 * ROOM);
    let [first, second] = [image, another(image)].map(|image| At::new(recorder(image), 1));
    for number in 1..=locks {
        let location = Location { offset: number * 40, ..HERE };
        let one = enter(first, number * 40, location);
        assert!(std::ptr::eq(enter(second, number * 48, location).lock, one.lock), "{number}");
    }
    let places = first.recorder.arena.header().places.load(Relaxed);
    let lists = first.recorder.arena.words(places, 1024);
    let longest = lists.iter().map(|list| first.recorder.arena.list::<Place>(list).count()).max();
    assert!(longest.is_some_and(|longest| longest < 16), "{longest:?}");
}
