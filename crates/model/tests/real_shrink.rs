//! A violation is shown as an execution with few switches between threads. src/real/shrink/tests.rs: the minimum,
//! against all executions of random programs. tests/real_code.rs: every mutant.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use uncontended_model::real::{
    AtomicU32, Explorer, Failure, Memory, Mutex, UnsafeCell, Violation, park, spawn, spin_loop,
};
use uncontended_testkit::{Random, repetitions};

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

/// Thread 2 has seen what thread 1 set after it had seen what thread 0 set first, but not what thread 0 sets last. The
/// steps between, of these and of a fourth thread, are as many as `noise` draws.
fn a_chain_in_noise(noise: &[Vec<(u64, usize)>]) {
    let words = Arc::new([0; 6].map(AtomicU32::new));
    let threads: Vec<_> = noise
        .iter()
        .cloned()
        .enumerate()
        .map(|(thread, noise)| {
            let words = Arc::clone(&words);
            spawn(move || {
                let (mut seen, middle) = (0, noise.len() / 2);
                for (at, (kind, word)) in noise.into_iter().enumerate() {
                    match kind {
                        0 => words[word].store(at as u32, Relaxed),
                        1 => drop(words[word].fetch_add(1, SeqCst)),
                        _ => drop(words[word].load(Relaxed)),
                    }
                    match thread {
                        0 if at == 1 => words[3].store(1, SeqCst),
                        0 if at == middle => words[4].store(1, SeqCst),
                        1 if at == middle && words[3].load(SeqCst) == 1 => {
                            words[5].store(1, SeqCst)
                        }
                        2 if at == 1 => seen = words[5].load(SeqCst),
                        2 if at == middle && seen == 1 => assert_eq!(words[4].load(SeqCst), 1),
                        _ => {}
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn few_switches_are_found_in_much_noise() {
    let (mut found, mut from) = (0, 0);
    for seed in 0..repetitions("noisy programs shrunk", 4, 100) {
        let random = &mut Random(seed);
        let steps = |random: &mut Random| 6 + random.below(8);
        let draw = |random: &mut Random| (random.below(4), random.below(3) as usize);
        let noise: Vec<Vec<_>> =
            (0..4).map(|_| (0..steps(random)).map(|_| draw(random)).collect()).collect();
        for memory in [Memory::C11, Memory::Sc] {
            let noise = noise.clone();
            let explorer = Explorer::new(memory).sample(1_000, seed).depth(3);
            let report = explorer.explore(move || a_chain_in_noise(&noise)).unwrap();
            let Some(violation) = report.violation() else { continue };
            let shrunk = violation.shrunk.unwrap();
            // Thread 0 starts them all; then each of three makes its steps at once.
            assert_eq!(shrunk.to.counted(), 3, "{memory:?} {seed}: {violation}");
            found += 1;
            from += shrunk.from.counted();
        }
    }
    println!("{found} violations of {from} switches");
    assert!(found > 5 && from > 5 * found, "{found} violations of {from} switches");
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
