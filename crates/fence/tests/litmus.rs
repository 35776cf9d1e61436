//! Store buffering on this machine: never with a pair of fences, of each backend; and often without, so the test can
//! fail.

#![cfg(not(any(miri, unc_model)))]

use std::thread;
use std::time::{Duration, Instant};
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use uncontended_atomic::{AtomicU32, CachePadded, compiler_fence, spin_loop};
use uncontended_fence::{Choice, Fences, Member, Quiescent};
use uncontended_testkit::{Random, repetitions, skip};

/// Both sides' words. What a side writes is the round's number, so nothing has to be cleared.
#[derive(Default)]
struct Words {
    often_at: CachePadded<AtomicU32>,
    seldom_at: CachePadded<AtomicU32>,
    mine: CachePadded<AtomicU32>,
    theirs: CachePadded<AtomicU32>,
    /// The last round in which the frequent side saw the other.
    seen: CachePadded<AtomicU32>,
}

fn delay(random: &mut Random) {
    (0..random.below(64)).for_each(|_| spin_loop());
}

/// Waits for the other side, which may have to run on the same CPU.
fn await_other(word: &AtomicU32, at: u32, idle: impl Fn()) {
    let mut looks = 0_u32;
    while word.load(Acquire) < at {
        idle();
        looks += 1;
        if looks.is_multiple_of(10_000) { thread::yield_now() } else { spin_loop() }
    }
}

#[cfg(target_os = "linux")]
fn pin(place: usize) {
    let cpus = uncontended_sys::affinity::allowed().unwrap();
    let _ = uncontended_sys::affinity::pin(cpus[place % cpus.len()]);
}

#[cfg(not(target_os = "linux"))]
fn pin(_: usize) {}

/// The frequent side: `idle` runs while it waits for the other one.
fn often(words: &Words, rounds: u32, light: impl Fn(), idle: impl Fn()) {
    pin(1);
    let mut random = Random(1);
    for round in 1..=rounds {
        words.often_at.store(2 * round - 1, Release);
        await_other(&words.seldom_at, 2 * round - 1, &idle);
        delay(&mut random);
        words.mine.store(round, Relaxed);
        light();
        if words.theirs.load(Relaxed) == round {
            words.seen.store(round, Relaxed);
        }
        words.often_at.store(2 * round, Release);
        await_other(&words.seldom_at, 2 * round, &idle);
    }
}

/// The other side. Returns in how many rounds neither saw the other.
fn seldom(words: &Words, rounds: u32, heavy: impl Fn()) -> u32 {
    pin(0);
    let (mut random, mut missed) = (Random(2), 0);
    for round in 1..=rounds {
        words.seldom_at.store(2 * round - 1, Release);
        await_other(&words.often_at, 2 * round - 1, || {});
        delay(&mut random);
        words.theirs.store(round, Relaxed);
        heavy();
        let is_seen = words.mine.load(Relaxed) == round;
        await_other(&words.often_at, 2 * round, || {});
        missed += u32::from(!is_seen && words.seen.load(Relaxed) != round);
        words.seldom_at.store(2 * round, Release);
    }
    missed
}

fn missed(rounds: u32, light: impl Fn() + Sync, heavy: impl Fn() + Sync) -> u32 {
    let words = Words::default();
    thread::scope(|threads| {
        threads.spawn(|| often(&words, rounds, &light, || {}));
        threads.spawn(|| seldom(&words, rounds, &heavy)).join().unwrap()
    })
}

/// Whether two threads of this process can run at the same time, here and now.
fn has_two_cpus(test: &str) -> bool {
    let is_so = thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
    if !is_so {
        skip!(test, "with one CPU a store is never seen late");
    }
    is_so
}

fn rounds() -> u32 {
    repetitions("rounds of store buffering", 20_000, 10_000_000) as u32
}

fn never_missed(test: &str, choice: Choice) {
    if !has_two_cpus(test) {
        return;
    }
    match Fences::with(choice) {
        Ok(fences) => {
            let heavy = || fences.heavy().expect("it worked before");
            assert_eq!(missed(rounds(), || fences.light(), heavy), 0, "{}", fences.backend());
        }
        Err(refused) => skip!(test, "{choice:?}: {refused}"),
    }
}

#[test]
fn membarriers_never_miss() {
    never_missed("membarriers_never_miss", Choice::Expedited);
}

#[test]
fn full_fences_never_miss() {
    never_missed("full_fences_never_miss", Choice::FullFences);
}

#[test]
fn changes_of_protection_never_miss_where_they_are_accepted() {
    never_missed("changes_of_protection_never_miss_where_they_are_accepted", Choice::Mprotect);
}

#[test]
fn check_ins_never_miss() {
    static THREADS: Quiescent = Quiescent::new();
    if !has_two_cpus("check_ins_never_miss") {
        return;
    }
    // SAFETY: the only thread with light fences is registered.
    let fences = unsafe { Fences::by_check_in(&THREADS) };
    let (words, rounds) = (Words::default(), rounds());
    let heavy = || fences.heavy().expect("it is not refused");
    let missed = thread::scope(|threads| {
        threads.spawn(|| {
            let member: Member = THREADS.register();
            often(&words, rounds, || fences.light(), || member.check_in());
        });
        threads.spawn(|| seldom(&words, rounds, heavy)).join().unwrap()
    });
    assert_eq!(missed, 0);
}

/// What every test above would show if its pair did nothing.
#[test]
fn without_the_pair_stores_are_missed() {
    if !has_two_cpus("without_the_pair_stores_are_missed") {
        return;
    }
    // SeqCst: keeps the compiler from moving the store past the load, and the processor from nothing.
    let nothing = || compiler_fence(SeqCst);
    let light = || Fences::best().light();
    let start = Instant::now();
    let is_missed = |light: &(dyn Fn() + Sync), heavy: &(dyn Fn() + Sync)| {
        let mut found = false;
        while !found && start.elapsed() < Duration::from_secs(20) {
            found = missed(100_000, light, heavy) > 0;
        }
        found
    };
    if !is_missed(&nothing, &nothing) {
        return skip!("without_the_pair_stores_are_missed", "this machine shows no late store");
    }
    if Fences::with(Choice::Expedited).is_ok() {
        assert!(is_missed(&light, &nothing), "a light fence alone");
        assert!(is_missed(&light, &light), "two light ones");
    }
}
