//! Epochs, explored: nothing is freed that a pinned reader may have found, a pinned reader is at most one epoch behind,
//! and all is freed at last. Store buffers and membarriers are steps of their own.

#![cfg(unc_model)]

use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use uncontended_atomic::Ordering::{AcqRel, Acquire, Relaxed};
use uncontended_atomic::{AtomicPtr, AtomicU32, Box};
use uncontended_model::real::{Explorer, Memory, scope};
use uncontended_reclaim::epoch::{Collector, Guard, Participant, Shared};
use uncontended_testkit::explored::{self, BOTH};

/// An object whose uses the checker sees.
struct Object(AtomicU32);

impl Object {
    fn boxed(value: u32) -> Box<Object> {
        Box::new(Object(AtomicU32::new(value)))
    }
}

struct World {
    word: AtomicPtr<Object>,
    collector: Collector,
}

impl World {
    fn new() -> World {
        World { word: AtomicPtr::new(Box::into_raw(Object::boxed(1))), collector: Collector::new() }
    }

    /// Reads the object, if there is one.
    fn read(&self, _pinned: &Guard<'_>) -> u32 {
        let object = self.word.load(Acquire);
        // SAFETY: null, or found while pinned; the checker reports a use after the free.
        unsafe { object.as_ref() }.map_or(0, |object| object.0.load(Relaxed))
    }

    fn unlink(&self, pinned: &Guard<'_>) {
        let old = self.word.swap(null_mut(), AcqRel);
        // SAFETY: from a box, and unlinked here, so once.
        unsafe { pinned.retire_raw(old, 0) };
    }

    /// A reader for another thread, made before it starts: how readers come and go has a test of its own.
    fn reader(&self) -> Sent<'_> {
        Sent(ManuallyDrop::new(self.collector.participant()))
    }
}

struct Sent<'c>(ManuallyDrop<Participant<'c>>);

// SAFETY: one thread uses it, after the thread that made it, and it never gives its place back.
unsafe impl Send for Sent<'_> {}

impl Sent<'_> {
    fn pin(&self) -> Guard<'_> {
        self.0.pin()
    }
}

fn holds(scenario: fn()) {
    let explorer = |memory: Memory| Explorer::new(memory).events(600);
    explored::holds(&BOTH, explorer, || scenario);
}

fn one_reader() {
    let world = World::new();
    let (reader, writer) = (world.reader(), world.reader());
    scope(|threads| {
        threads.spawn(|| assert!(world.read(&{ reader }.pin()) <= 1));
        world.unlink(&writer.pin());
        world.collector.collect().unwrap();
    });
    let collected = world.collector.collect().unwrap();
    assert_eq!(collected.waits.objects, 0, "no reader is left");
}

#[test]
fn nothing_is_freed_while_a_reader_is_pinned() {
    holds(one_reader);
}

#[test]
fn nor_where_barriers_are_refused() {
    uncontended_fence::refuse_barriers();
    holds(one_reader);
}

/// A thread that reads twice: the second pin is a new one.
#[test]
fn a_reader_that_pins_again_lets_the_last_epoch_go() {
    fn scenario() {
        let world = World::new();
        let (reader, writer) = (world.reader(), world.reader());
        scope(|threads| {
            threads.spawn(|| {
                let reader = { reader };
                let first = world.read(&reader.pin());
                assert!(world.read(&reader.pin()) <= first);
            });
            world.unlink(&writer.pin());
            world.collector.collect().unwrap();
        });
    }
    holds(scenario);
}

/// One thread unlinks, and another one collects: the fence of the second has to cover what the first did.
#[test]
fn the_thread_that_collects_is_not_the_one_that_retired() {
    fn scenario() {
        let world = World::new();
        let (reader, retirer) = (world.reader(), world.reader());
        scope(|threads| {
            threads.spawn(|| {
                let retirer = { retirer };
                let old = world.word.swap(null_mut(), AcqRel);
                // SAFETY: from a box, and unlinked here, so once.
                unsafe { retirer.0.retire_raw(old, 0) };
            });
            threads.spawn(|| world.collector.collect().map(|_| ()).unwrap());
            world.read(&reader.pin());
        });
    }
    holds(scenario);
}

/// A round whose heavy fence is not complete at once, since another thread runs a barrier.
#[test]
fn a_round_ends_when_its_fence_is_complete() {
    fn scenario() {
        let world = World::new();
        let (reader, writer) = (world.reader(), world.reader());
        scope(|threads| {
            threads.spawn(|| {
                let reader = { reader };
                let guard = reader.pin();
                let found = world.word.load(Acquire);
                uncontended_fence::heavy().unwrap();
                // SAFETY: null, or found while pinned; the checker reports a use after the free.
                assert!(unsafe { found.as_ref() }.is_none_or(|found| found.0.load(Relaxed) == 1));
                drop(guard);
            });
            world.unlink(&writer.pin());
            world.collector.collect().unwrap();
        });
    }
    holds(scenario);
}

/// A reader that registers while another thread collects.
#[test]
fn a_reader_comes_and_goes() {
    fn scenario() {
        let world = World::new();
        let writer = world.reader();
        scope(|threads| {
            threads.spawn(|| {
                // Its end, which takes a latch, has no part in this.
                let reader = world.reader();
                world.read(&reader.pin());
            });
            world.unlink(&writer.pin());
            world.collector.collect().unwrap();
        });
    }
    holds(scenario);
}

/// While a thread is pinned, the epoch is its own or the next one.
#[test]
fn a_pinned_reader_is_at_most_one_epoch_behind() {
    fn scenario() {
        let world = World::new();
        let reader = world.reader();
        scope(|threads| {
            threads.spawn(|| {
                let reader = { reader };
                let guard = reader.pin();
                let behind = world.collector.epoch() - guard.epoch();
                assert!(behind <= 1, "{behind} epochs behind");
            });
            // Tickets, so that there is something to collect: up to three epochs.
            world.collector.ticket();
            world.collector.collect().unwrap();
        });
        free(world.word.swap(null_mut(), AcqRel));
    }
    holds(scenario);
}

/// When a ticket is over, the object that was unlinked before has no reader: it is freed here, by hand.
#[test]
fn a_ticket_is_over_when_no_reader_is_left() {
    fn scenario() {
        let world = World::new();
        let reader = world.reader();
        let freed = scope(|threads| {
            threads.spawn(|| {
                world.read(&{ reader }.pin());
            });
            let old = world.word.swap(null_mut(), AcqRel);
            let ticket = world.collector.ticket();
            threads.spawn(|| world.collector.collect().map(|_| ()).unwrap());
            let is_over = ticket.is_over();
            if is_over {
                free(old);
            }
            (!is_over).then_some(old)
        });
        freed.into_iter().for_each(free);
    }
    holds(scenario);
}

fn free(object: *mut Object) {
    // SAFETY: from a box, unlinked, and free of readers: what the test is about.
    drop(unsafe { Box::from_raw(object) });
}

/// The cell that owns its object: what a writer puts in is seen whole.
#[test]
fn what_is_in_an_object_is_seen_by_a_reader() {
    fn scenario() {
        let collector = Collector::new();
        let cell = Shared::new(Object::boxed(1), &collector);
        let of = |collector| Sent(ManuallyDrop::new(Collector::participant(collector)));
        let (reader, writer) = (of(&collector), of(&collector));
        scope(|threads| {
            threads.spawn(|| {
                let reader = { reader };
                let guard = reader.pin();
                let object = cell.load(&guard).expect("it is never empty");
                assert_ne!(object.0.load(Relaxed), 0);
            });
            let next = Object::boxed(0);
            next.0.store(2, Relaxed);
            cell.replace(Some(next), &writer.pin());
        });
    }
    holds(scenario);
}

/// Two threads exchange the object that they have read: one at a time succeeds, and its object is seen whole.
#[test]
fn what_is_in_an_object_is_seen_after_an_exchange() {
    fn exchange(cell: &Shared<Object>, guard: &Guard<'_>, value: u32) {
        let current = cell.load(guard).expect("it is never empty");
        assert_ne!(current.0.load(Relaxed), 0);
        let next = Object::boxed(0);
        next.0.store(value, Relaxed);
        if let Err(own) = cell.compare_exchange(Some(current), Some(next), guard) {
            assert_eq!(own.map(|own| own.0.load(Relaxed)), Some(value));
        }
    }
    fn scenario() {
        let collector = Collector::new();
        let cell = Shared::new(Object::boxed(1), &collector);
        let of = |collector| Sent(ManuallyDrop::new(Collector::participant(collector)));
        let (one, other) = (of(&collector), of(&collector));
        scope(|threads| {
            threads.spawn(|| exchange(&cell, &{ one }.pin(), 2));
            exchange(&cell, &other.pin(), 3);
        });
        assert!((1..=2).contains(&collector.garbage().objects), "{}", collector.garbage());
    }
    holds(scenario);
}

/// An object whose destructor looks at what is in it.
struct Looks(Box<Object>);

impl Drop for Looks {
    fn drop(&mut self) {
        assert_eq!(self.0.0.load(Relaxed), 2);
    }
}

/// One thread publishes it, another one unlinks it, and a third frees it.
#[test]
fn a_destructor_sees_what_is_in_its_object() {
    fn scenario() {
        let collector = Collector::new();
        let cell = Shared::empty(&collector);
        let of = |collector| Sent(ManuallyDrop::new(Collector::participant(collector)));
        let (one, other) = (of(&collector), of(&collector));
        scope(|threads| {
            threads.spawn(|| {
                let object = Looks(Object::boxed(0));
                object.0.0.store(2, Relaxed);
                cell.replace(Some(Box::new(object)), &{ one }.pin());
            });
            threads.spawn(|| cell.replace(None, &{ other }.pin()));
            collector.collect().unwrap();
        });
    }
    holds(scenario);
}
