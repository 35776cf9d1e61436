//! Hazard pointers, explored: no object is freed while a hazard protects it, and all of them are freed at last. Store
//! buffers and membarriers are steps of their own.

#![cfg(unc_model)]

use std::ptr::null_mut;
use uncontended_atomic::Ordering::{AcqRel, Relaxed};
use uncontended_atomic::{Arc, AtomicPtr, AtomicU32, Box, spawn};
use uncontended_model::real::{Explorer, Memory};
use uncontended_reclaim::hazard::{Domain, Hazard, Shared, fresh};
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
    garbage: Domain,
}

impl World {
    fn new() -> Arc<World> {
        fresh();
        let word = AtomicPtr::new(Box::into_raw(Object::boxed(1)));
        Arc::new(World { word, garbage: Domain::new() })
    }

    /// Reads the object, if there is one.
    fn read(&self, hazard: &mut Hazard) -> u32 {
        let object = hazard.protect_raw(&self.word);
        // SAFETY: null, or protected; the checker reports a use after the free.
        unsafe { object.as_ref() }.map_or(0, |object| object.0.load(Relaxed))
    }

    fn unlink(&self) {
        let old = self.word.swap(null_mut(), AcqRel);
        // SAFETY: from a box, and unlinked here, so once.
        unsafe { self.garbage.retire_raw(old, 0) };
    }
}

fn holds(scenario: fn()) {
    let explorer = |memory: Memory| Explorer::new(memory).events(400);
    explored::holds(&BOTH, explorer, || scenario);
}

fn one_reader() {
    let world = World::new();
    let theirs = Arc::clone(&world);
    let reader = spawn(move || {
        let mut hazard = Hazard::new();
        assert!(theirs.read(&mut hazard) <= 1);
    });
    world.unlink();
    let collected = world.garbage.collect().unwrap();
    assert!(collected.waits.objects <= 1 && collected.freed.objects + collected.waits.objects == 1);
    reader.join().unwrap();
}

#[test]
fn an_object_is_not_freed_while_a_hazard_protects_it() {
    holds(one_reader);
}

#[test]
fn nor_where_barriers_are_refused() {
    uncontended_fence::refuse_barriers();
    holds(one_reader);
}

/// The second object may be read while the first waits, and the hazard has moved on.
#[test]
fn a_hazard_that_moves_on_lets_the_last_object_go() {
    fn scenario() {
        let world = World::new();
        let theirs = Arc::clone(&world);
        let reader = spawn(move || {
            let mut hazard = Hazard::new();
            let first = theirs.read(&mut hazard);
            assert!(theirs.read(&mut hazard) >= first);
        });
        let old = world.word.swap(Box::into_raw(Object::boxed(2)), AcqRel);
        // SAFETY: from a box, and unlinked above.
        unsafe { world.garbage.retire_raw(old, 0) };
        world.garbage.collect().unwrap();
        reader.join().unwrap();
        world.unlink();
    }
    holds(scenario);
}

/// One thread unlinks, and another one reclaims: the fence of the second has to cover what the first did.
#[test]
fn the_thread_that_reclaims_is_not_the_one_that_retired() {
    fn scenario() {
        let world = World::new();
        let [of_reader, of_retirer] = [Arc::clone(&world), Arc::clone(&world)];
        let reader = spawn(move || {
            of_reader.read(&mut Hazard::new());
        });
        let retirer = spawn(move || of_retirer.unlink());
        world.garbage.collect().unwrap();
        reader.join().unwrap();
        retirer.join().unwrap();
    }
    holds(scenario);
}

/// A place that one thread gives back is the next one's: the look at it still finds, or has seen, what the first did.
#[test]
fn a_place_passes_from_one_hazard_to_the_next() {
    fn scenario() {
        let world = World::new();
        let readers = [(); 2].map(|()| {
            let world = Arc::clone(&world);
            spawn(move || {
                world.read(&mut Hazard::new());
            })
        });
        world.unlink();
        world.garbage.collect().unwrap();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    }
    holds(scenario);
}

/// The cell that owns its object: what a writer puts in is seen whole.
#[test]
fn what_is_in_an_object_is_seen_by_who_protects_it() {
    fn scenario() {
        fresh();
        let world = Arc::new((Shared::new(Object::boxed(1)), Domain::new()));
        let theirs = Arc::clone(&world);
        let reader = spawn(move || {
            let mut hazard = Hazard::new();
            let object = hazard.protect(&theirs.0).expect("it is never empty");
            assert_ne!(object.0.load(Relaxed), 0);
        });
        let next = Object::boxed(0);
        next.0.store(2, Relaxed);
        world.0.replace(Some(next), &world.1);
        world.1.collect().unwrap();
        reader.join().unwrap();
    }
    holds(scenario);
}

/// Two threads exchange the object that they have read: one at a time succeeds, and its object is seen whole.
#[test]
fn what_is_in_an_object_is_seen_after_an_exchange() {
    fn exchange(world: &(Shared<Object>, Domain), value: u32) -> bool {
        let mut hazard = Hazard::new();
        let current = hazard.protect(&world.0).expect("it is never empty");
        assert_ne!(current.0.load(Relaxed), 0);
        let next = Object::boxed(0);
        next.0.store(value, Relaxed);
        match world.0.compare_exchange(Some(current), Some(next), &world.1) {
            Ok(()) => true,
            Err(own) => own.is_none_or(|own| own.0.load(Relaxed) != value),
        }
    }
    fn scenario() {
        fresh();
        let world = Arc::new((Shared::new(Object::boxed(1)), Domain::new()));
        let theirs = Arc::clone(&world);
        let other = spawn(move || exchange(&theirs, 2));
        let mine = exchange(&world, 3);
        let exchanged = usize::from(other.join().unwrap()) + usize::from(mine);
        assert!(exchanged >= 1 && world.1.garbage().objects == exchanged);
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
        fresh();
        let world = Arc::new((Shared::empty(), Domain::new()));
        let theirs = Arc::clone(&world);
        let other = spawn(move || {
            let object = Looks(Object::boxed(0));
            object.0.0.store(2, Relaxed);
            theirs.0.replace(Some(Box::new(object)), &theirs.1);
        });
        let theirs = Arc::clone(&world);
        let unlinks = spawn(move || theirs.0.replace(None, &theirs.1));
        world.1.collect().unwrap();
        other.join().unwrap();
        unlinks.join().unwrap();
    }
    holds(scenario);
}

#[test]
fn an_object_is_not_freed_while_a_tagged_pointer_protects_it() {
    fn scenario() {
        let world = World::new();
        let object = world.word.load(Relaxed);
        world.word.store(object.map_addr(|object| object | 1), Relaxed);
        let address = |tagged: *mut Object| tagged.map_addr(|tagged| tagged & !1);
        let theirs = Arc::clone(&world);
        let reader = spawn(move || {
            let mut hazard = Hazard::new();
            let found = address(hazard.protect_tagged(&theirs.word, address));
            // SAFETY: null, or protected; the checker reports a use after the free.
            assert!(unsafe { found.as_ref() }.is_none_or(|found| found.0.load(Relaxed) == 1));
        });
        world.word.swap(null_mut(), AcqRel);
        // SAFETY: from a box, and unlinked above.
        unsafe { world.garbage.retire_raw(object, 0) };
        world.garbage.collect().unwrap();
        reader.join().unwrap();
    }
    holds(scenario);
}

/// Two threads retire at once; a shelf has one of them at a time, and nothing is lost.
#[test]
fn two_threads_retire_at_once() {
    fn scenario() {
        fresh();
        let world = Arc::new((Shared::new(Object::boxed(1)), Domain::new()));
        let theirs = Arc::clone(&world);
        let other = spawn(move || theirs.0.replace(Some(Object::boxed(2)), &theirs.1));
        world.0.replace(None, &world.1);
        other.join().unwrap();
        assert_eq!(world.1.garbage().objects + usize::from(world.0.guard().is_some()), 2);
    }
    holds(scenario);
}
