//! Writes by several threads, explored: every execution that C11 or x86-TSO allows of a few events.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-events --test model --target-dir target/model
#![cfg(unc_model)]

mod common;

use common::{At, ROOM, add_filter, another, image, recorder};
use uncontended_atomic::{AtomicUsize, Ordering::Relaxed, UnsafeCell};
use uncontended_events::blame::{self, Share};
use uncontended_events::events::{self, Blocked};
use uncontended_events::log::By;
use uncontended_events::sharing::{Location, Sharing};
use uncontended_events::site::Row;
use uncontended_events::slots::{Slots, Stamp};
use uncontended_events::summed::is_summed;
use uncontended_events::waiters::{self, Side, Wait};
use uncontended_events::woken::ONE;
use uncontended_events::{generations, passing, stacks};
use uncontended_model::real::{Arc, AtomicU32, Explorer, Ordering, spawn};
use uncontended_testkit::explored::{self, BOTH};
use uncontended_trace::arena::Arena;
use uncontended_trace::layout::sharing::PRIVATE_IN_PART;
use uncontended_trace::layout::{
    CHAINED, Caused, Cold, Lock, OWN_LOCKS, Process, Stack, WAITED, attention, kind::FUTEX,
    kind::MUTEX,
};

/// Made before the exploration, so that every execution starts from the same state.
struct Scene {
    arena: Arena,
    process: &'static Process,
    threads: [At; 2],
}

impl Scene {
    fn new() -> Self {
        let (arena, process) = image(ROOM);
        let threads = [10, 20].map(|now| At::new(recorder((arena, process)), now));
        Scene { arena, process, threads }
    }

    fn locks(&self) -> Vec<&'static Lock> {
        self.arena.list::<Lock>(&self.process.locks).map(|(_, lock)| lock).collect()
    }
}

/// `scene` makes a new state and scenario for each memory model.
fn holds<B: Fn() + 'static>(scene: fn() -> B) {
    explored::holds(&BOTH, Explorer::new, scene);
}

/// Two threads meet a lock for the first time and agree on one.
fn first_meeting() -> impl Fn() + 'static {
    let scene = Scene::new();
    move || {
        let rows = scene.threads.map(|at| spawn(move || generations::enter(at, 64, MUTEX)));
        let rows = rows.map(|row| row.join().unwrap().unwrap());
        assert!(std::ptr::eq(rows[0].lock, rows[1].lock), "one lock");
        assert!(!std::ptr::eq(rows[0].cell, rows[1].cell), "a cell each");
        assert_eq!(scene.locks().len(), 1);
        assert_eq!(rows[0].lock.first_taken.load(Relaxed), 7);
    }
}

#[test]
fn two_threads_that_meet_a_lock_at_once_see_one_generation() {
    holds(first_meeting);
}

/// Two threads meet a lock for the first time when there is room for `left` more. The first or the second one also
/// counts another lock: after that meeting, or before.
fn last_meeting(left: u32, first_counts: bool) -> impl Fn() + 'static {
    let scene = Scene::new();
    let [one, two] = scene.threads;
    add_filter((scene.arena, scene.process));
    one.row(128); // The index is made.
    let own = &scene.arena.header().own_locks;
    own.store(OWN_LOCKS, Relaxed);
    two.row(192); // So is the sum.
    own.store(OWN_LOCKS - left, Relaxed);
    move || {
        // Relaxed: it carries nothing of its own.
        let count = move || scene.arena.header().own_locks.fetch_add(1, Relaxed);
        let met = spawn(move || {
            let row = generations::enter(one, 64, MUTEX).unwrap();
            first_counts.then(count);
            row
        });
        (!first_counts).then(count);
        let other = generations::enter(two, 64, MUTEX).unwrap();
        let rows = [met.join().unwrap(), other];
        let is_own = |row: &&Row| !is_summed(row.lock);
        if rows.iter().all(|row| is_own(&row)) {
            assert!(std::ptr::eq(rows[0].lock, rows[1].lock), "one lock");
        } else {
            for row in rows.iter().filter(is_own) {
                assert_eq!(row.lock.sharing.load(Relaxed), PRIVATE_IN_PART, "it says so");
            }
        }
    }
}

#[test]
fn a_lock_that_a_thread_found_no_room_for_is_not_taken_for_all_of_it() {
    holds(|| last_meeting(1, false));
}

#[test]
fn a_lock_that_was_counted_is_found_where_there_is_no_room() {
    holds(|| last_meeting(2, true));
    holds(|| last_meeting(2, false));
}

/// One thread creates a new lock while the other takes the old one.
fn created_again() -> impl Fn() + 'static {
    let scene = Scene::new();
    let [maker, user] = scene.threads;
    move || {
        let made = spawn(move || generations::created(maker, 64, MUTEX));
        let used = generations::enter(user, 64, MUTEX).unwrap();
        made.join().unwrap();
        let alive: Vec<_> =
            scene.locks().into_iter().filter(|lock| !generations::is_dead(lock)).collect();
        let [lock] = alive[..] else { panic!("{} generations at once", alive.len()) };
        assert_eq!(lock.created.load(Relaxed), 7, "the one that was made");
        assert!(std::ptr::eq(generations::known(user.recorder, 64, MUTEX).unwrap(), lock));
        let before = !std::ptr::eq(used.lock, lock);
        assert_eq!(lock.generation.load(Relaxed), u32::from(before), "generations are counted");
    }
}

#[test]
fn a_lock_that_is_created_again_is_the_only_one_alive() {
    holds(created_again);
}

/// A thread of each of two processes meets the second lock at a place where they share one.
fn first_meeting_of_processes() -> impl Fn() + 'static {
    let image = image(ROOM);
    let images = [image, another(image)];
    let threads = images.map(|image| At::new(recorder(image), 10));
    let enter = |(at, key)| {
        let location = Location { device: 1, inode: 2, offset: 3 };
        generations::enter_shared(at, key, MUTEX, || Sharing::At(location)).unwrap()
    };
    let met = [(threads[0], 64), (threads[1], 128)];
    met.map(enter);
    generations::destroyed(threads[0].recorder, 64);
    move || {
        let rows = met.map(|met| spawn(move || enter(met)));
        let rows = rows.map(|row| row.join().unwrap());
        assert!(std::ptr::eq(rows[0].lock, rows[1].lock), "one lock");
        assert_eq!(rows[0].lock.kind.load(Relaxed), MUTEX);
        let listed = images.map(|(arena, image)| arena.list::<Lock>(&image.locks).count());
        assert_eq!(listed.iter().sum::<usize>(), 2, "the old one and it, each in one list");
        assert_eq!(rows[0].lock.generation.load(Relaxed), 1);
    }
}

#[test]
fn two_processes_that_meet_a_lock_at_once_see_one() {
    holds(first_meeting_of_processes);
}

/// Two threads with equal stacks; one of them also has another.
fn same_stack() -> impl Fn() + 'static {
    let scene = Scene::new();
    let [one, two] = scene.threads;
    move || {
        let first = spawn(move || stacks::enter(one.recorder, &[1, 2]));
        let other = stacks::enter(two.recorder, &[3]);
        let second = stacks::enter(two.recorder, &[1, 2]);
        let first = first.join().unwrap();
        assert_eq!(first, second, "equal stacks, one number");
        assert_ne!(first, other);
        for (number, frames) in [(first, 2), (other, 1)] {
            assert_eq!(scene.arena.at::<Stack>(number).count.load(Relaxed), frames);
        }
        assert_eq!(scene.arena.list::<Stack>(&scene.process.stacks).count(), 2);
    }
}

#[test]
fn equal_stacks_of_two_threads_have_one_number() {
    holds(same_stack);
}

/// Two threads wait for the same lock, and leave.
fn two_wait() -> impl Fn() + 'static {
    let scene = Scene::new();
    let lock = scene.threads[0].row(64).lock;
    move || {
        let left = scene.threads.map(|at| {
            spawn(move || {
                let wait = Wait::begin(
                    at,
                    lock,
                    at.recorder.thread.tid.load(Relaxed).into(),
                    Side::Exclusive,
                );
                // This thread waits, so the lock is wanted, since 10 or 20.
                let since = waiters::opened(at.recorder, lock, 0, 100);
                assert!(matches!(since, Some(10 | 20)), "{since:?}");
                wait.leave(at.recorder, lock)
            })
        });
        let left = left.map(|left| left.join().unwrap());
        assert!(left.contains(&0), "the last to leave knows it: {left:?}");
        assert_eq!(lock.attention.load(Relaxed), 0);
        assert_eq!(waiters::opened(scene.threads[0].recorder, lock, 0, 100), None, "no waiter");
    }
}

#[test]
fn a_waiter_is_in_the_list_until_it_leaves() {
    holds(two_wait);
}

/// Tries a lock of the program's own, then retries it once as a wait.
fn take_and_give_back(at: At, row: Row, word: &AtomicU32) -> bool {
    let try_lock = || word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
    if try_lock() {
        events::acquired(at, row);
    } else {
        let blocked = Blocked::begin(at, row);
        if !try_lock() {
            blocked.gave_up();
            return false;
        }
        blocked.acquired();
    }
    let unlock = || {
        word.store(0, Ordering::Release);
        0
    };
    assert_eq!(events::release(at, row, || true, unlock), 0);
    true
}

/// Makes the entries that both threads would allocate at once, so that each has its place in all executions.
fn make_room(at: At, row: Row) {
    events::cold(at.recorder, row.cell).expect("room");
    for passed_to in [0, WAITED] {
        blame::book(at.recorder, row.cell, Share { site: 7, passed_to, ..Share::default() });
    }
}

/// Two threads at one lock: every acquisition, wait and give-up is counted, and nothing is left over.
fn contended() -> impl Fn() + 'static {
    let scene = Scene::new();
    let rows = scene.threads.map(|at| at.row(64));
    scene.threads.iter().zip(rows).for_each(|(&at, row)| make_room(at, row));
    move || {
        let word = std::sync::Arc::new(AtomicU32::new(0));
        let pairs = [(scene.threads[0], rows[0]), (scene.threads[1], rows[1])];
        let took = pairs.map(|(at, row)| {
            let word = word.clone();
            spawn(move || take_and_give_back(at, row, &word))
        });
        let took = took.map(|took| took.join().unwrap());
        assert!(took.contains(&true));
        for (row, took) in rows.iter().zip(took) {
            assert_eq!(row.cell.acquisitions.load(Relaxed), u64::from(took));
            let cold: &Cold = scene.arena.at(row.cell.cold.load(Relaxed));
            let timed_out = cold.timed_out.load(Relaxed);
            assert_eq!(timed_out, u64::from(!took), "a wait without the lock is counted as one");
            assert_eq!(row.cell.depth.load(Relaxed), 0, "not held");
        }
        let changes = rows.map(|row| row.cell.owner_changes.load(Relaxed)).iter().sum::<u64>();
        assert_eq!(changes, u64::from(took == [true, true]));
        assert_eq!(rows[0].lock.attention.load(Relaxed) & attention::WAITERS, 0, "no waiter");
    }
}

#[test]
fn counts_are_exact_however_two_threads_contend() {
    holds(contended);
}

/// A waiter gives up at 60, while the hold that it waited for since 20 ends at 50.
fn gives_up_at_a_release() -> impl Fn() + 'static {
    let scene = Scene::new();
    let [holder, waiter] = scene.threads;
    let (held, wanted) = (holder.row(64), waiter.row(64));
    [(holder, held), (waiter, wanted)].into_iter().for_each(|(at, row)| make_room(at, row));
    move || {
        holder.set(10);
        events::acquired(holder, held);
        waiter.set(20);
        let wait = Blocked::begin(waiter, wanted);
        holder.set(50);
        waiter.set(60);
        let released = spawn(move || events::release(holder, held, || true, || 0));
        wait.gave_up();
        assert_eq!(released.join().unwrap(), 0);
        let sum = |row: Row, figure: fn(&Caused) -> u64| -> u64 {
            let list = scene.arena.list::<Caused>(&row.cell.caused);
            let of_holds = list.filter(|(_, entry)| entry.passed_to.load(Relaxed) != WAITED);
            of_holds.map(|(_, entry)| figure(entry)).sum()
        };
        let booked = |row| sum(row, |entry| entry.wait.load(Relaxed));
        let holds = |row| sum(row, |entry| entry.holds.load(Relaxed));
        assert!(holds(held) <= 1 && holds(wanted) == 0, "the holder counts its hold once");
        let cold: &Cold = scene.arena.at(wanted.cell.cold.load(Relaxed));
        let known = booked(held) + booked(wanted) + cold.wait_free.load(Relaxed);
        assert!(known <= 40, "a piece is booked twice: {known} of 40");
    }
}

#[test]
fn a_piece_of_a_wait_is_booked_once_at_most() {
    holds(gives_up_at_a_release);
}

/// A thread takes a lock at 40 that was free since 30, while another arrives at 41. It is free again from 50 to
/// 55.
fn arrives_at_an_acquisition() -> impl Fn() + 'static {
    let scene = Scene::new();
    let [taker, waiter] = scene.threads;
    let (taken, wanted) = (taker.row(64), waiter.row(64));
    move || {
        taken.lock.attention.fetch_or(attention::AWAY, Relaxed);
        taker.set(10);
        events::acquired(taker, taken);
        taker.set(30);
        assert_eq!(events::release(taker, taken, || true, || 0), 0);
        taker.set(40);
        waiter.set(41);
        let took = spawn(move || events::acquired(taker, taken));
        let wait = Blocked::begin(waiter, wanted);
        took.join().unwrap();
        taker.set(50);
        assert_eq!(events::release(taker, taken, || true, || 0), 0);
        waiter.set(55);
        wait.acquired();
        let cold: &Cold = scene.arena.at(wanted.cell.cold.load(Relaxed));
        let free = cold.wait_free.load(Relaxed);
        assert!(free <= 5, "time from before the wait: {free}");
    }
}

#[test]
fn free_time_from_before_a_wait_is_not_in_it() {
    holds(arrives_at_an_acquisition);
}

/// The reader looks while a thread books shares of three sites.
fn booked_while_read() -> impl Fn() + 'static {
    let scene = Scene::new();
    let [booker, _] = scene.threads;
    let row = booker.row(64);
    move || {
        let share = |site| Share { site, wait: 5, waits: 1, length: 9, ..Share::default() };
        let booked = spawn(move || {
            [1, 2, 1].iter().for_each(|&site| blame::book(booker.recorder, row.cell, share(site)));
        });
        let sites = || {
            let list = scene.arena.list::<Caused>(&row.cell.caused);
            list.map(|(_, entry)| entry.stack.load(Relaxed)).collect::<Vec<_>>()
        };
        let early = sites();
        assert!([&[][..], &[1], &[2, 1]].contains(&&early[..]), "{early:?}");
        booked.join().unwrap();
        assert_eq!(sites(), [2, 1]);
        let waits = scene.arena.list::<Caused>(&row.cell.caused);
        assert_eq!(waits.map(|(_, entry)| entry.wait.load(Relaxed)).sum::<u64>(), 15);
    }
}

#[test]
fn a_site_is_complete_when_it_is_seen() {
    holds(booked_while_read);
}

/// A waiter divides its wait while a thread notes another wakeup.
fn divided_while_noted() -> impl Fn() + 'static {
    let scene = Scene::new();
    let [waker, waiter] = scene.threads;
    let (by, row) = (waker.row(64), waiter.row(64));
    passing::begins(waiter.recorder, row, (0, 0));
    passing::begins(waker.recorder, by, (0, 0));
    passing::came(waker.recorder, by, (0, 1), By::default());
    move || {
        let wakes = move |now| {
            waker.set(now);
            passing::signals(waker.recorder, row.lock, None, true);
            events::ends(waker, row.lock, ONE);
        };
        wakes(20);
        let again = spawn(move || wakes(40));
        passing::came(waiter.recorder, row, (10, 100), By::waker(row.lock, (10, 100)));
        again.join().unwrap();
        let list = scene.arena.list::<Caused>(&row.cell.caused);
        let booked = list.map(|(_, entry)| (entry.stack.load(Relaxed), entry.wait.load(Relaxed)));
        let booked: Vec<_> = booked.collect();
        assert_eq!(booked, [(7, 90)], "all of it is the waker's");
    }
}

#[test]
fn a_wakeup_is_complete_when_it_is_seen() {
    holds(divided_while_noted);
}

/// A thread that was itself woken wakes a waiter, which divides its wait meanwhile.
fn chained_while_noted() -> impl Fn() + 'static {
    let scene = Scene::new();
    let [waker, waiter] = scene.threads;
    let first = At { stack: 3, ..At::new(recorder((scene.arena, scene.process)), 15) };
    let [its, row] = [(waker, 64), (waiter, 128)].map(|(at, key)| {
        let row = generations::enter(at, key, FUTEX).expect("room");
        passing::begins(at.recorder, row, (0, 0));
        row
    });
    events::ends(first, its.lock, ONE);
    passing::came(waker.recorder, its, (12, 18), By::waker(its.lock, (12, 18)));
    waker.set(40);
    move || {
        let wakes = spawn(move || events::ends(waker, row.lock, ONE));
        passing::came(waiter.recorder, row, (10, 100), By { at: 40, ..By::default() });
        wakes.join().unwrap();
        let list = scene.arena.list::<Caused>(&row.cell.caused);
        let pieces = list.filter(|(_, entry)| entry.passed_to.load(Relaxed) == CHAINED);
        let pieces = pieces.map(|(_, entry)| (entry.stack.load(Relaxed), entry.wait.load(Relaxed)));
        let pieces: Vec<_> = pieces.collect();
        assert!([&[][..], &[(3, 5), (7, 85)]].contains(&&pieces[..]), "{pieces:?}");
    }
}

#[test]
fn a_wakeup_in_a_chain_is_complete_when_it_is_seen() {
    holds(chained_while_noted);
}

/// All places are taken since 900. A thread whose last wait was since 10 waits since 500, without a place as `others`.
fn one_too_many(others: u32) -> impl Fn() + 'static {
    let scene = Scene::new();
    let [releaser, waiter] = scene.threads;
    move || {
        let row = generations::enter(releaser, 64, MUTEX).unwrap();
        let list = waiters::list_of(releaser.recorder, row.lock).expect("room");
        list.arrivals.iter().for_each(|slot| slot.store(900, Relaxed));
        list.unplaced.store(others, Relaxed);
        waiter.recorder.thread.waits_since.store(10, Relaxed);
        waiter.set(500);
        let begun = spawn(move || Wait::begin(waiter, row.lock, 500, Side::Exclusive));
        let is_counted = list.unplaced.load(Relaxed) > others;
        let opened = waiters::opened(releaser.recorder, row.lock, 0, 1000);
        assert!(opened == Some(500) || !is_counted && opened == Some(900), "{opened:?}");
        begun.join().unwrap().give_up(waiter.recorder, row.lock);
        let opened = waiters::opened(releaser.recorder, row.lock, 0, 1000);
        assert_eq!(opened, Some(900), "it waits no longer");
    }
}

#[test]
fn a_waiter_without_a_place_is_known_by_its_own_arrival() {
    holds(|| one_too_many(0));
}

#[test]
fn a_waiter_that_is_not_counted_yet_is_known_by_its_own_arrival() {
    holds(|| one_too_many(1));
}

/// Two threads each keep a fact in a table with room for one, and look for it; a third outdates the table.
fn kept_at_once() -> impl Fn() + 'static {
    || {
        let table = Arc::new(Kept {
            slots: Slots { taken: AtomicUsize::new(0), generation: AtomicU32::new(1) },
            stamp: Stamp(AtomicU32::new(0)),
            fact: UnsafeCell::new(0),
        });
        let keepers = [7, 9].map(|fact| {
            let table = table.clone();
            spawn(move || table.keep(fact))
        });
        table.slots.outdate();
        let seen = table.valid();
        assert!([None, Some(7), Some(9)].contains(&seen), "half a fact: {seen:?}");
        let kept = keepers.map(|keeper| keeper.join().unwrap());
        assert_eq!(kept.iter().filter(|&&kept| kept).count(), 1, "one slot, one keeper");
        assert_eq!(table.slots.used(1), 1);
    }
}

struct Kept {
    slots: Slots,
    stamp: Stamp,
    fact: UnsafeCell<u64>,
}

// SAFETY: the fact is written before the slot is complete, and only read after that, as `slots` promises; if it does
// not hold, the checker reports the race.
unsafe impl Sync for Kept {}

impl Kept {
    fn keep(&self, fact: u64) -> bool {
        let generation = self.slots.generation();
        let taken = self.slots.take(1).is_some();
        if taken {
            // SAFETY: the slot is ours alone.
            self.fact.with_mut(|kept| unsafe { *kept = fact });
            self.stamp.confirm(generation);
        }
        taken
    }

    /// The fact, if it is known in the present generation.
    fn valid(&self) -> Option<u64> {
        let generation = self.slots.generation();
        let is_valid = self.stamp.read() == Some(generation);
        // SAFETY: complete, so it changes no more.
        is_valid.then(|| self.fact.with(|kept| unsafe { *kept }))
    }
}

#[test]
fn a_fact_is_complete_when_its_slot_is_valid() {
    holds(kept_at_once);
}
