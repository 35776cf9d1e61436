//! Random executions: bugs of known depth are found as often as the report states, and violations replay.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::time::Duration;
use uncontended_model::real::{
    AtomicBool, AtomicU32, Bound, Explorer, Failure, Memory, Mutex, Report, Verdict, choose, spawn,
    spin_loop, wait_until, yield_now,
};
use uncontended_testkit::one_line;

type Program = fn();

/// Four stores by another thread, unrelated to the bug.
fn idle(x: &Arc<AtomicU32>) {
    let x = Arc::clone(x);
    spawn(move || (0..4).for_each(|value| x.store(value, Relaxed)));
}

/// Depth 1: wrong if the reader comes first.
fn first_come() {
    let (x, other) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    idle(&other);
    let y = Arc::clone(&x);
    spawn(move || y.store(1, SeqCst));
    spawn(move || assert_eq!(x.load(SeqCst), 1));
}

/// Depth 2: wrong if another thread adds between a load and a store.
fn lost_update() {
    let (x, other) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    idle(&other);
    let add = |x: &Arc<AtomicU32>| {
        let x = Arc::clone(x);
        spawn(move || x.store(x.load(SeqCst) + 1, SeqCst))
    };
    let threads = [add(&x), add(&x)];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(x.load(SeqCst), 2);
}

/// Depth 3: wrong if each of two threads stops once inside the other's pair.
fn crossed_pairs() {
    let words: Arc<Vec<AtomicU32>> = Arc::new((0..4).map(|_| AtomicU32::new(0)).collect());
    let (a, b) = (Arc::clone(&words), Arc::clone(&words));
    let first = spawn(move || {
        a[0].store(1, SeqCst);
        let seen = a[1].load(SeqCst);
        a[2].store(1, SeqCst);
        (seen, a[3].load(SeqCst))
    });
    let second = spawn(move || {
        let saw = b[0].load(SeqCst);
        b[1].store(1, SeqCst);
        let last = b[2].load(SeqCst);
        b[3].store(1, SeqCst);
        (saw, last)
    });
    let (one, other) = (first.join().unwrap(), second.join().unwrap());
    // The first is in its pair when the second comes, and the second in its own when the first continues.
    assert!(!(one == (1, 0) && other == (1, 1)));
}

fn sampled(program: Program, memory: Memory, runs: u64, seed: u64, depth: u32) -> Report {
    Explorer::new(memory).sample(runs, seed).depth(depth).explore(program).unwrap()
}

/// The probability that at most `most` of `runs` succeed, each with probability `p`.
fn binomial_at_most(most: u64, runs: u64, p: f64) -> f64 {
    let mut term = (1.0 - p).powi(runs as i32);
    let mut sum = 0.0;
    for k in 0..=most {
        sum += term;
        term *= (runs - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
    }
    sum
}

#[test]
fn bugs_of_depth_one_to_three_are_found_as_often_as_is_stated() {
    let programs: [(Program, u32); 3] = [(first_come, 1), (lost_update, 2), (crossed_pairs, 3)];
    for (program, depth) in programs {
        for memory in [Memory::Sc, Memory::Tso, Memory::C11] {
            // The statement is about the executions that break no rule: those of a program without the bug.
            const CAMPAIGNS: u64 = 60;
            const RUNS: u64 = 12;
            let found = (0..CAMPAIGNS)
                .filter(|&seed| sampled(program, memory, RUNS, seed, depth).violation().is_some())
                .count() as u64;
            // Upper bounds on the threads and steps of these programs.
            let counted = if memory == Memory::Sc { 9.0 } else { 6.0 } - 1.0;
            let each = 1.0 / (4.0 * 24f64.powi(depth as i32 - 1));
            let stated = 1.0 - (1.0 - each).powf(counted);
            let chance = binomial_at_most(found, CAMPAIGNS, stated);
            assert!(
                chance > 0.001,
                "depth {depth}, {memory:?}: {found} of {CAMPAIGNS}, stated {stated}"
            );
            assert!(found > 0, "depth {depth}, {memory:?}: never found");
        }
    }
}

#[test]
fn the_stated_probability_is_that_of_threads_steps_and_runs() {
    let correct = || {
        let x = Arc::new(AtomicU32::new(0));
        let y = Arc::clone(&x);
        let adds = spawn(move || y.fetch_add(1, Relaxed));
        x.fetch_add(1, Relaxed);
        adds.join().unwrap();
        assert_eq!(x.load(Relaxed), 2);
    };
    let report = Explorer::new(Memory::C11).sample(400, 7).depth(2).explore(correct).unwrap();
    assert!(matches!(report.verdict, Verdict::Unknown(Bound::Sampled(400))), "{report}");
    assert!(!report.holds());
    let found = report.sampled.unwrap();
    assert_eq!((found.runs, found.seed, found.depth, found.threads), (400, 7, 2, 2));
    // Spawn, two additions, two ends, a join and a load.
    assert_eq!(found.steps, 7, "{report}");
    assert_eq!(
        found.counted, 199,
        "every second run, without the first, which showed how many steps there are"
    );
    let each: f64 = 1.0 / (2.0 * 7.0);
    assert!((found.probability - (1.0 - (1.0 - each).powi(199))).abs() < 1e-9);
    assert_eq!(report.executions, 400);
    let text = one_line(&report);
    assert!(text.contains("400 executions drawn at random") && text.contains("seed 7"), "{text}");
    assert!(text.contains("2 ordering constraints between steps suffice"), "{text}");
}

#[test]
fn the_same_seed_draws_the_same_and_what_is_found_replays() {
    let report = sampled(lost_update, Memory::C11, 200, 1, 2);
    let again = sampled(lost_update, Memory::C11, 200, 1, 2);
    let violation = report.violation().expect("found in 200 runs");
    assert_eq!(violation.schedule, again.violation().unwrap().schedule);
    let replayed = Explorer::new(Memory::C11).replay(&violation.schedule, lost_update).unwrap();
    assert!(matches!(replayed.violation().unwrap().failure, Failure::Panic { thread: 0, .. }));
}

#[test]
fn reads_and_places_that_only_weak_memory_allows_are_drawn() {
    fn message() {
        let (data, ready) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (d, r) = (Arc::clone(&data), Arc::clone(&ready));
        spawn(move || {
            d.store(1, Relaxed);
            r.store(1, Relaxed);
        });
        if ready.load(Acquire) == 1 {
            assert_eq!(data.load(Relaxed), 1);
        }
    }
    assert!(sampled(message, Memory::C11, 400, 3, 2).violation().is_some());
    assert!(sampled(message, Memory::Tso, 400, 3, 2).violation().is_none());
    fn crossed_writes() {
        let words = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&words);
        let thread = spawn(move || {
            other.0.store(1, Relaxed);
            other.1.store(2, Relaxed);
        });
        words.1.store(1, Relaxed);
        words.0.store(2, Relaxed);
        thread.join().unwrap();
        assert!((words.0.load(Relaxed), words.1.load(Relaxed)) != (1, 1));
    }
    assert!(sampled(crossed_writes, Memory::C11, 400, 3, 2).violation().is_some());
    assert!(sampled(crossed_writes, Memory::Sc, 400, 3, 2).violation().is_none());
}

#[test]
fn waits_of_every_kind_go_on_when_they_can() {
    let waits = || {
        let flag = Arc::new(AtomicBool::new(false));
        let (polled, awaited) = (Arc::clone(&flag), Arc::clone(&flag));
        let locked = Arc::new(Mutex::new(0));
        let other = Arc::clone(&locked);
        let polls = spawn(move || {
            while !polled.load(Acquire) {
                spin_loop();
            }
            *other.lock().unwrap() += 1;
        });
        let awaits = spawn(move || wait_until(|| awaited.load(Acquire)));
        *locked.lock().unwrap() += 1;
        flag.store(true, Release);
        polls.join().unwrap();
        awaits.join().unwrap();
        assert_eq!(*locked.lock().unwrap(), 2);
    };
    for memory in [Memory::Sc, Memory::Tso, Memory::C11] {
        let report = Explorer::new(memory).sample(300, 5).explore(waits).unwrap();
        assert!(report.violation().is_none(), "{report}");
        assert_eq!((report.executions, report.blocked), (300, 0), "{report}");
    }
}

#[test]
fn a_deadlock_is_one_in_a_drawn_execution_too() {
    let report = Explorer::new(Memory::Sc)
        .sample(200, 11)
        .explore(|| {
            let locks = Arc::new((Mutex::new(()), Mutex::new(())));
            let other = Arc::clone(&locks);
            spawn(move || {
                let _first = other.1.lock().unwrap();
                let _second = other.0.lock().unwrap();
            });
            let _first = locks.0.lock().unwrap();
            let _second = locks.1.lock().unwrap();
        })
        .unwrap();
    let violation = report.violation().expect("found in 200 runs");
    assert!(matches!(violation.failure, Failure::Deadlock { .. }));
}

/// One thread writes, the given number read: 2^n executions, each an equally large part.
fn readers(n: usize) {
    let x = Arc::new(AtomicU32::new(0));
    for thread in 0..=n {
        let x = Arc::clone(&x);
        spawn(move || {
            if thread == 0 {
                x.store(1, Relaxed);
            } else {
                x.load(Relaxed);
            }
        });
    }
}

#[test]
fn time_ends_a_search_and_says_so() {
    let time = Duration::from_millis(20);
    let report = Explorer::new(Memory::C11).time(time).explore(|| readers(14)).unwrap();
    assert!(
        matches!(report.verdict, Verdict::Unknown(Bound::Time(limit)) if limit == time),
        "{report}"
    );
    let all = report.executions as f64 / report.done.unwrap();
    assert!((all - 16_384.0).abs() < 0.001, "{all}");
    assert!(report.to_string().contains("more executions than fit in 20ms"), "{report}");
}

#[test]
fn an_estimate_is_within_its_error() {
    let guess = |body: fn()| Explorer::new(Memory::C11).estimate(400, 1, body).unwrap().unwrap();
    let even = guess(|| readers(10));
    assert!((even.executions - 1024.0).abs() < 0.001 && even.error < 0.001, "{even}");
    // 36 executions, in a tree whose branches are not equally large.
    let uneven = guess(|| {
        let x = Arc::new(AtomicU32::new(0));
        for value in 0..3 {
            let x = Arc::clone(&x);
            spawn(move || {
                x.store(value, Relaxed);
                x.load(Relaxed);
            });
        }
    });
    assert!(uneven.error > 0.5 && uneven.error < 5.0, "{uneven}");
    assert!((uneven.executions - 36.0).abs() < 4.0 * uneven.error, "{uneven}");
}

/// Two threads; wrong if one of them stores between two given steps of the other: depth 2, and hardly more likely than
/// PCT guarantees.
fn late_store() {
    let x = Arc::new(AtomicU32::new(0));
    let (stores, other) = (Arc::clone(&x), Arc::clone(&x));
    let threads = [
        spawn(move || {
            for step in 1..16 {
                if step == 15 {
                    assert_ne!(stores.load(Relaxed), 99);
                }
                stores.store(step, Relaxed);
            }
        }),
        spawn(move || other.store(99, Relaxed)),
    ];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn each_run_that_counts_finds_a_bug_as_often_as_is_stated() {
    const SEEDS: u64 = 1_500;
    for memory in [Memory::Sc, Memory::Tso, Memory::C11] {
        let runs = 6;
        let (mut found, mut stated) = (vec![0; runs as usize], None);
        for seed in 0..SEEDS {
            let explorer = Explorer::new(memory).shrink(0).sample(runs, seed);
            let report = explorer.explore(late_store).unwrap();
            match report.violation() {
                Some(violation) => found[violation.after as usize] += 1,
                None => stated = report.sampled,
            }
        }
        let stated = stated.expect("most seeds find nothing");
        let each = 1.0 / (stated.threads as f64 * stated.steps as f64);
        let counted: Vec<usize> = if memory == Memory::Sc { vec![1, 2, 4, 5] } else { vec![2, 4] };
        assert_eq!(stated.counted, counted.len() as u64, "{memory:?}");
        for run in counted {
            let left = SEEDS - found[..run].iter().sum::<u64>();
            let chance = binomial_at_most(found[run], left, each);
            assert!(chance > 0.001, "{memory:?}, run {run}: {found:?}, each {each}");
        }
    }
}

#[test]
fn no_probability_is_stated_for_hints_and_choices() {
    let pauses = |hints: bool, chooses: bool| {
        let x = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&x);
        let stores = spawn(move || {
            for step in 0..5 {
                other.store(step, Relaxed);
                if hints {
                    yield_now();
                }
            }
        });
        x.load(Relaxed);
        if chooses {
            choose(2);
        }
        stores.join().unwrap();
    };
    for memory in [Memory::Sc, Memory::Tso, Memory::C11] {
        let said = |hints, chooses| {
            let explorer = Explorer::new(memory).sample(50, 1);
            let report = explorer.explore(move || pauses(hints, chooses)).unwrap();
            let sampled = report.sampled.unwrap();
            assert_eq!(sampled.probability == 0.0, sampled.unstated.is_some(), "{report}");
            one_line(&report)
        };
        let none = "no probability of finding a bug is stated, because";
        assert!(said(true, false).contains(&format!("{none} threads give hints")));
        assert!(said(false, true).contains(&format!("{none} the code makes choices")));
        assert!(said(false, false).contains("with probability at least 0."));
    }
}

#[test]
fn nothing_drawn_is_no_number_that_is_none() {
    let report = sampled(|| readers(2), Memory::C11, 0, 1, 2);
    assert_eq!(report.sampled.unwrap().probability, 0.0);
    assert!(one_line(&report).contains("probability at least 0.000"), "{report}");
    let none = Explorer::new(Memory::C11).estimate(0, 1, || readers(2)).unwrap().unwrap();
    assert_eq!((none.executions, none.error), (4.0, f64::INFINITY));
    assert!(none.to_string().starts_with("at least about 4.000e0 executions"), "{none}");
}

#[test]
fn an_estimate_is_of_all_executions_whatever_bound_is_set() {
    let locks = || {
        let held = Arc::new(Mutex::new(()));
        let threads = [(); 3].map(|()| {
            let held = Arc::clone(&held);
            spawn(move || drop(held.lock().unwrap()))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    };
    let guess = |explorer: Explorer| explorer.estimate(500, 1, locks).unwrap().unwrap();
    let (all, bounded) =
        (guess(Explorer::new(Memory::C11)), guess(Explorer::new(Memory::C11).preemptions(0)));
    assert_eq!(all, bounded);
    assert!((all.executions - 6.0).abs() <= 4.0 * all.error, "{all}");
}
