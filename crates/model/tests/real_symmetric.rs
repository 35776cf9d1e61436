//! Symmetric threads: the explored executions against the classes of all candidate executions, count by count; locks,
//! waits and memory; threads that are not symmetric are an error.
//!
//! `UNC_DEPTH=full` runs more programs.

mod candidates;
mod programs;

use candidates::classes::classes;
use candidates::{Instruction, Model, Program, executions};
use programs::{LOCATIONS, instruction, run};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_model::random::Random;
use uncontended_model::real::{
    AtomicU32, Condvar, Coverage, Explorer, Failure, Limit, Memory, Mutex, current, spawn,
    spawn_symmetric, spin_loop, wait_until,
};
use uncontended_testkit::repetitions;

const MODELS: [(Memory, Model); 3] =
    [(Memory::C11, Model::C11), (Memory::Tso, Model::Tso), (Memory::Sc, Model::Sc)];

/// Roles of threads, in the order in which they start: how many threads run the same instructions.
type Roles = Vec<(usize, Vec<Instruction>)>;

fn roles(random: &mut Random) -> Roles {
    let with_heavy = random.below(4) == 0;
    let mut stored = 0;
    let mut one = |random: &mut Random, count: usize, most: u64| {
        let length = 1 + random.below(most);
        let instructions: Vec<Instruction> =
            (0..length).map(|_| instruction(random, &mut stored, with_heavy)).collect();
        (count, instructions)
    };
    let mut roles = match random.below(8) {
        0..=2 => vec![one(random, 2, 3)],
        3..=5 => vec![one(random, 3, 2)],
        6 => vec![one(random, 4, 1)],
        _ => vec![one(random, 2, 1), one(random, 2, 1)],
    };
    for _ in 0..random.below(3) {
        let used: usize = roles.iter().map(|(count, role)| count * role.len()).sum();
        if used < 6 {
            let other = one(random, 1, (6 - used as u64).min(3));
            roles.insert(random.below(roles.len() as u64 + 1) as usize, other);
        }
    }
    roles
}

/// The outcomes of `roles` with the number of executions of each, and the total number of executions.
fn explored(roles: &Roles, explorer: &Explorer) -> (BTreeMap<Vec<u32>, u64>, u64) {
    let roles = roles.clone();
    let (found, report) = explorer
        .outcomes(move || {
            let words: Arc<Vec<AtomicU32>> =
                Arc::new((0..LOCATIONS).map(|_| AtomicU32::new(0)).collect());
            let start = |(count, instructions): &(usize, Vec<Instruction>)| {
                let (instructions, words) = (instructions.clone(), Arc::clone(&words));
                spawn_symmetric(*count, move || {
                    let mut reads = Vec::new();
                    instructions.into_iter().for_each(|it| run(it, &words, &mut reads));
                    reads
                })
            };
            let threads: Vec<_> = roles.iter().map(start).collect();
            let mut all: Vec<u32> =
                threads.into_iter().flat_map(|group| group.join().unwrap()).flatten().collect();
            all.extend(words.iter().map(|word| word.load(Relaxed)));
            all
        })
        .unwrap();
    assert!(report.holds(), "{report}");
    assert_eq!(report.blocked, 0);
    (found, report.executions)
}

/// How many more executions than classes were explored.
fn check(roles: &Roles, memory: Memory, model: Model) -> u64 {
    let (mut program, mut groups): (Program, Vec<Vec<usize>>) = Default::default();
    for (count, role) in roles {
        groups.push((program.len()..program.len() + count).collect());
        program.extend(vec![role.clone(); *count]);
    }
    let expected = classes(&program, LOCATIONS, model, &groups);
    let (found, count) = explored(roles, &Explorer::new(memory));
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>(),
        "{memory:?}: found, expected, for {roles:#?}"
    );
    if model != Model::C11 {
        assert_eq!(found, expected, "{memory:?}: found, expected, for {roles:#?}");
    }
    for (outcome, classes) in &expected {
        assert!(found[outcome] >= *classes, "{memory:?}: {outcome:?} of {roles:#?}");
    }
    count - expected.values().sum::<u64>()
}

#[test]
fn each_class_of_random_programs_is_explored_once() {
    let mut random = Random(0x7_1435);
    let (mut excess, mut programs) = ([0; 3], 0);
    for _ in 0..repetitions("symmetric programs", 60, 600) {
        let roles = roles(&mut random);
        for (at, (memory, model)) in MODELS.into_iter().enumerate() {
            let more = check(&roles, memory, model);
            if more > 0 {
                eprintln!("{memory:?}: {more} more for {roles:?}");
            }
            excess[at] += more;
        }
        programs += 1;
    }
    eprintln!("{programs} programs, executions beyond classes under C11, TSO, SC: {excess:?}");
    assert_eq!(excess[1..], [0, 0]);
}

#[test]
fn without_symmetry_all_are_explored() {
    let mut random = Random(0x7_1436);
    for _ in 0..repetitions("symmetric programs, unreduced", 10, 100) {
        let roles = roles(&mut random);
        let program: Program =
            roles.iter().flat_map(|(count, role)| vec![role.clone(); *count]).collect();
        for (memory, model) in MODELS {
            let all: u64 = executions(&program, LOCATIONS, model).values().sum();
            assert_eq!(explored(&roles, &Explorer::new(memory).symmetry(false)).1, all);
        }
    }
}

/// The number of executions with symmetry, and without, in each memory model.
fn counts(body: impl Fn() + Clone + 'static) -> [(u64, u64); 3] {
    MODELS.map(|(memory, _)| {
        let count = |reduces| {
            let explorer = Explorer::new(memory).symmetry(reduces);
            let report = explorer.explore(body.clone()).unwrap();
            assert!(report.holds(), "{report}");
            assert_eq!(report.symmetric.is_empty(), !reduces);
            report.executions
        };
        (count(true), count(false))
    })
}

#[test]
fn the_thread_that_comes_first_has_no_name() {
    for (threads, orders) in [(2, 2), (3, 6), (4, 24)] {
        let adds = move || {
            let x = Arc::new(AtomicU32::new(0));
            let group = spawn_symmetric(threads, move || x.fetch_add(1, Relaxed));
            let expected: Vec<u32> = (0..threads as u32).collect();
            assert_eq!(group.join().unwrap(), expected);
        };
        assert_eq!(counts(adds), [(1, orders); 3]);
        let locks = move || {
            let log = Arc::new(Mutex::new(0));
            let group = spawn_symmetric(threads, move || *log.lock().unwrap() += 1);
            group.join().unwrap();
        };
        assert_eq!(counts(locks), [(1, orders); 3]);
        // This many of the readers find the write.
        let reads = move || {
            let x = Arc::new(AtomicU32::new(0));
            let theirs = Arc::clone(&x);
            let group = spawn_symmetric(threads, move || theirs.load(Relaxed));
            x.store(1, Relaxed);
            group.join().unwrap();
        };
        assert_eq!(counts(reads), [(threads as u64 + 1, 1 << threads); 3]);
    }
}

#[test]
fn waits_are_sorted_too() {
    let conditions = || {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let theirs = Arc::clone(&pair);
        let group = spawn_symmetric(2, move || {
            let mut ready = theirs.0.lock().unwrap();
            while *ready == 0 {
                ready = theirs.1.wait(ready).unwrap();
            }
            *ready += 1;
        });
        *pair.0.lock().unwrap() = 1;
        pair.1.notify_all();
        group.join().unwrap();
    };
    let polls = || {
        let ready = Arc::new(AtomicU32::new(0));
        let theirs = Arc::clone(&ready);
        let group = spawn_symmetric(2, move || {
            while theirs.load(Acquire) == 0 {
                spin_loop();
            }
        });
        ready.store(1, Release);
        group.join().unwrap();
    };
    let until = || {
        let turn = Arc::new(AtomicU32::new(0));
        let theirs = Arc::clone(&turn);
        let group = spawn_symmetric(3, move || {
            wait_until(|| theirs.compare_exchange(1, 0, Acquire, Relaxed).is_ok());
            theirs.store(1, Release);
        });
        turn.store(1, Release);
        group.join().unwrap();
    };
    for (name, counts) in
        [("conditions", counts(conditions)), ("polls", counts(polls)), ("until", counts(until))]
    {
        for (sorted, all) in counts {
            assert!(sorted < all && sorted >= all.div_ceil(6), "{name}: {counts:?}");
        }
    }
}

#[test]
fn a_violation_is_found_and_its_schedule_runs_again() {
    // Two of three find the same.
    let body = || {
        let x = Arc::new(AtomicU32::new(0));
        let group = spawn_symmetric(3, move || {
            let found = x.load(Relaxed);
            x.store(found + 1, Relaxed);
            found
        });
        assert_ne!(group.join().unwrap(), [0, 1, 1]);
    };
    for (memory, _) in MODELS {
        for processes in [1, 2] {
            let explorer = Explorer::new(memory).jobs(processes);
            let report = explorer.explore(body).unwrap();
            let violation = report.violation().expect("some execution ends so");
            let again = explorer.replay(&violation.schedule, body).unwrap();
            assert!(again.violation().is_some(), "{again}");
        }
    }
}

#[test]
fn a_deadlock_of_some_is_found() {
    let body = || {
        let locks = Arc::new((Mutex::new(()), Mutex::new(()), AtomicU32::new(0)));
        let group = spawn_symmetric(2, move || {
            let is_first = locks.2.fetch_add(1, Relaxed) == 0;
            let (one, other) = if is_first { (&locks.0, &locks.1) } else { (&locks.1, &locks.0) };
            let _one = one.lock().unwrap();
            let _other = other.lock().unwrap();
        });
        group.join().unwrap();
    };
    for (memory, _) in MODELS {
        let report = Explorer::new(memory).explore(body).unwrap();
        let failure = report.violation().map(|violation| &violation.failure);
        assert!(matches!(failure, Some(Failure::Deadlock { .. })), "{report}");
    }
}

/// Why the threads of `body` are not symmetric, as the error states it.
fn refused(body: impl Fn() + 'static) -> String {
    Explorer::new(Memory::C11).explore(body).unwrap_err().to_string()
}

/// Its clone differs from the original.
struct Numbered(u32);

impl Clone for Numbered {
    fn clone(&self) -> Numbered {
        Numbered(self.0 + 1)
    }
}

#[test]
fn threads_that_differ_are_an_error() {
    let named = refused(|| {
        spawn_symmetric(2, || drop(current())).join().unwrap();
    });
    assert!(named.contains("asks which thread it is at"), "{named}");
    let starts = refused(|| {
        spawn_symmetric(2, || drop(spawn(|| ()))).join().unwrap();
    });
    assert!(starts.contains("starts a thread at"), "{starts}");
    let at_once = refused(|| {
        let (x, number) = (Arc::new(AtomicU32::new(0)), Numbered(0));
        let group = spawn_symmetric(2, move || {
            let number = &number;
            x.store(number.0, Relaxed);
        });
        group.join().unwrap();
    });
    assert!(at_once.starts_with("symmetric threads must do the same"), "{at_once}");
    // Once they have found different things they may act differently.
    let later = refused(|| {
        let (x, number) = (Arc::new(AtomicU32::new(0)), Numbered(0));
        let group = spawn_symmetric(2, move || {
            let number = &number;
            x.fetch_add(1, Relaxed);
            x.fetch_add(number.0, Relaxed);
        });
        group.join().unwrap();
    });
    assert!(later.contains("if they are exchanged"), "{later}");
}

#[test]
fn bounds_and_samples_are_of_all_executions() {
    let body = || {
        let x = Arc::new(AtomicU32::new(0));
        let group = spawn_symmetric(3, move || x.fetch_add(1, Relaxed));
        group.join().unwrap();
    };
    let explorer = Explorer::new(Memory::C11);
    let bounded = explorer.clone().preemptions(9).explore(body).unwrap();
    assert_eq!((bounded.executions, bounded.symmetric.len()), (6, 0));
    let sampled = explorer.clone().sample(20, 1).explore(body).unwrap();
    assert!(!sampled.to_string().contains("symmetric"), "{sampled}");
    let guess = explorer.estimate(50, 1, body).unwrap().unwrap();
    assert!(guess.executions > 4.0, "{guess}");
}

#[test]
fn the_report_says_what_was_left_out() {
    let body = || {
        let x = Arc::new(AtomicU32::new(0));
        let theirs = Arc::clone(&x);
        let adders = spawn_symmetric(3, move || x.fetch_add(1, Relaxed));
        let readers = spawn_symmetric(2, move || theirs.load(Relaxed));
        adders.join().unwrap();
        readers.join().unwrap();
    };
    for processes in [1, 2] {
        let report = Explorer::new(Memory::C11).jobs(processes).explore(body).unwrap();
        // Two readers, each of four values, in no order.
        let said = "holds in all 10 executions, up to the order of 3 and of 2 symmetric threads";
        assert!(report.to_string().starts_with(said), "{report}");
        assert_eq!(report.coverage(), Coverage::Within(vec![Limit::Symmetric]));
    }
    let all = Explorer::new(Memory::C11).symmetry(false).explore(body).unwrap();
    assert_eq!(all.coverage(), Coverage::Complete, "{all}");
}

#[test]
fn outside_an_exploration_they_are_threads() {
    let x = Arc::new(std::sync::Mutex::new(0));
    let group = spawn_symmetric(4, move || {
        let mut x = x.lock().unwrap();
        *x += 1;
        *x
    });
    assert_eq!(group.join().unwrap(), [1, 2, 3, 4]);
}

/// Of several clones the second one made differs.
struct Odd {
    is_odd: bool,
    made: Arc<std::sync::Mutex<u32>>,
}

impl Clone for Odd {
    fn clone(&self) -> Odd {
        let mut made = self.made.lock().unwrap();
        *made += 1;
        Odd { is_odd: *made == 2, made: Arc::clone(&self.made) }
    }
}

#[test]
fn one_that_differs_is_an_error_wherever_it_stands() {
    for threads in [3, 4] {
        let body = move || {
            let x = Arc::new(AtomicU32::new(0));
            let odd = Odd { is_odd: false, made: Arc::new(std::sync::Mutex::new(0)) };
            let group = spawn_symmetric(threads, move || {
                let odd = &odd;
                let found = x.fetch_add(1, Relaxed);
                assert!(!odd.is_odd || found as usize != threads - 1);
            });
            group.join().unwrap();
        };
        let report = Explorer::new(Memory::C11).symmetry(false).explore(body).unwrap();
        assert!(report.violation().is_some(), "{report}");
        let why = refused(body);
        assert!(why.contains("are not symmetric"), "{threads}: {why}");
    }
}
