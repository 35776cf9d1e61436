//! A violation is shown as an execution with few switches between threads. src/real/shrink/tests.rs: the minimum,
//! against all executions of random programs. tests/real_code.rs: every mutant.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_model::real::{
    AtomicU32, Explorer, Failure, Memory, Mutex, UnsafeCell, Violation, park, spawn, spin_loop,
};

fn violation(explorer: &Explorer, body: impl Fn() + 'static) -> Box<Violation> {
    let report = explorer.explore(body).unwrap();
    match report.verdict {
        uncontended_model::real::Verdict::Violated(violation) => violation,
        _ => panic!("{report}"),
    }
}

/// Many rounds of unrelated work by other threads.
fn noise_around_a_lost_update() {
    let (x, noise) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let workers = [0, 1].map(|_| {
        let noise = Arc::clone(&noise);
        spawn(move || (0..3).for_each(|_| noise.store(1, Relaxed)))
    });
    let adders = [0, 1].map(|_| {
        let x = Arc::clone(&x);
        spawn(move || x.store(x.load(Relaxed) + 1, Relaxed))
    });
    adders.into_iter().for_each(|adder| adder.join().unwrap());
    assert_eq!(x.load(Relaxed), 2);
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}

#[test]
fn what_the_violation_does_not_need_is_left_out() {
    let small = violation(&Explorer::new(Memory::C11), noise_around_a_lost_update);
    let shrunk = small.shrunk.unwrap();
    // Started by thread 0, preempted by the other, and back: nothing is left of the workers.
    assert_eq!((shrunk.to.switches, shrunk.to.old), (4, 0), "{shrunk}\n{small}");
    assert!(!small.schedule.contains(" 1") && !small.schedule.contains(" 2"), "{}", small.schedule);
    assert!(shrunk.to.steps < shrunk.from.steps, "{shrunk}");
}

#[test]
fn every_kind_of_violation_shrinks_and_stays_what_it_is() {
    let race = violation(&Explorer::new(Memory::C11), || {
        struct Shared(UnsafeCell<u32>);
        // SAFETY: sharing this is unsound; the test is that the checker reports it.
        unsafe impl Sync for Shared {}
        let cell = Arc::new(Shared(UnsafeCell::new(0)));
        let other = Arc::clone(&cell);
        let writer = spawn(move || other.0.with_mut(|_| ()));
        cell.0.with(|_| ());
        writer.join().unwrap();
    });
    assert!(matches!(race.failure, Failure::Race { .. }), "{race}");
    let deadlock = violation(&Explorer::new(Memory::C11), || {
        let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
        let other = Arc::clone(&locks);
        let thread = spawn(move || {
            let _held = (other[1].lock(), other[0].lock());
        });
        let held = (locks[0].lock(), locks[1].lock());
        drop(held);
        thread.join().unwrap();
    });
    assert!(matches!(deadlock.failure, Failure::Deadlock { .. }), "{deadlock}");
    assert_eq!(deadlock.shrunk.unwrap().to.counted(), 1, "{deadlock}");
    let lost = violation(&Explorer::new(Memory::C11), || {
        spawn(park);
        let ready = AtomicU32::new(0);
        while ready.load(Acquire) == 0 {
            spin_loop();
        }
    });
    assert!(matches!(lost.failure, Failure::Livelock { .. }), "{lost}");
    let leak = violation(&Explorer::new(Memory::C11), || {
        let shared = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&shared);
        let thread = spawn(move || other.store(1, Release));
        if shared.load(Acquire) == 1 {
            uncontended_model::real::Box::into_raw(uncontended_model::real::Box::new(1));
        }
        thread.join().unwrap();
    });
    assert!(matches!(leak.failure, Failure::Leak { .. }), "{leak}");
    assert!(leak.to_string().contains("shrunk from "), "{leak}");
}
