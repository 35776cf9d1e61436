//! Random programs over one `RwLock`, tries included, against an enumeration of all interleavings that knows nothing of
//! the checker. Without tries the executions are counted too: every interleaving is one.
//!
//! `UNC_DEPTH=full` runs fifty times as many.

use std::collections::BTreeMap;
use std::sync::Arc;
use uncontended_model::real::{Explorer, Failure, Memory, RwLock, Verdict, spawn};
use uncontended_testkit::{Random, repetitions};

/// The lock held, or tried, with what is done inside. Every lock records the value; writers add 1.
#[derive(Clone, Debug)]
struct Section {
    writes: bool,
    tries: bool,
    inside: Vec<Section>,
}

fn sections(random: &mut Random, tries: bool, depth: u32, most: u64) -> Vec<Section> {
    let section = |random: &mut Random| Section {
        writes: random.below(3) == 0,
        tries: tries && random.below(2) == 0,
        inside: match random.below(4) {
            0 if depth < 1 => sections(random, tries, depth + 1, 1),
            _ => Vec::new(),
        },
    };
    (0..1 + random.below(most)).map(|_| section(random)).collect()
}

/// What a try records that fails.
const FAILED: u32 = u32::MAX;

fn run(lock: &RwLock<u32>, sections: &[Section], log: &mut Vec<u32>) {
    for Section { writes, tries, inside } in sections {
        if *writes {
            let held = if *tries { lock.try_write().ok() } else { lock.write().ok() };
            let Some(mut held) = held else {
                log.push(FAILED);
                continue;
            };
            log.push(*held);
            *held += 1;
            run(lock, inside, log);
        } else {
            let held = if *tries { lock.try_read().ok() } else { lock.read().ok() };
            let Some(held) = held else {
                log.push(FAILED);
                continue;
            };
            log.push(*held);
            run(lock, inside, log);
        }
    }
}

/// A thread's program as steps.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// If it is tried and fails, the step to go on with.
    Lock {
        writes: bool,
        else_at: Option<usize>,
    },
    Unlock,
}

fn steps(sections: &[Section], all: &mut Vec<Step>) {
    for Section { writes, tries, inside } in sections {
        let at = all.len();
        all.push(Step::Unlock);
        steps(inside, all);
        all.push(Step::Unlock);
        all[at] = Step::Lock { writes: *writes, else_at: tries.then_some(all.len()) };
    }
}

/// What the threads have recorded.
type Logs = Vec<Vec<u32>>;

#[derive(Clone, Default)]
struct State {
    at: Vec<usize>,
    logs: Logs,
    readers: usize,
    writer: Option<usize>,
    /// A writer has found readers inside.
    waits: bool,
    value: u32,
}

#[derive(Default)]
struct Found {
    /// How many interleavings record this.
    ends: BTreeMap<Logs, u64>,
    deadlocks: u64,
    steps: u64,
}

/// The most steps of an enumeration.
const MOST_STEPS: u64 = 100_000;

fn enumerate(threads: &[Vec<Step>], state: &State, found: &mut Found) {
    found.steps += 1;
    if found.steps > MOST_STEPS {
        return;
    }
    let (mut is_over, mut moved) = (true, false);
    for thread in 0..threads.len() {
        let Some(step) = threads[thread].get(state.at[thread]) else { continue };
        is_over = false;
        let mut next = state.clone();
        next.at[thread] += 1;
        match *step {
            Step::Unlock if state.writer == Some(thread) => next.writer = None,
            Step::Unlock => {
                next.readers -= 1;
                next.waits &= next.readers > 0;
            }
            Step::Lock { writes, else_at } => {
                let is_free = state.writer.is_none()
                    && if writes { state.readers == 0 } else { !state.waits };
                match (is_free, else_at) {
                    (true, _) if writes => {
                        (next.writer, next.value) = (Some(thread), state.value + 1);
                        next.logs[thread].push(state.value);
                    }
                    (true, _) => {
                        next.readers += 1;
                        next.logs[thread].push(state.value);
                    }
                    (false, Some(at)) => {
                        next.at[thread] = at;
                        next.logs[thread].push(FAILED);
                    }
                    (false, None) if writes && state.writer.is_none() && !state.waits => {
                        (next.at[thread], next.waits) = (state.at[thread], true);
                    }
                    (false, None) => continue,
                }
            }
        }
        moved = true;
        enumerate(threads, &next, found);
    }
    if is_over {
        *found.ends.entry(state.logs.clone()).or_default() += 1;
    } else if !moved {
        found.deadlocks += 1;
    }
}

/// Compares the two. False: the program is too large.
fn check(program: &[Vec<Section>], tries: bool, memory: Memory) -> bool {
    let threads: Vec<Vec<Step>> = program
        .iter()
        .map(|sections| {
            let mut all = Vec::new();
            steps(sections, &mut all);
            all
        })
        .collect();
    let count = threads.len();
    let first = State { at: vec![0; count], logs: vec![Vec::new(); count], ..State::default() };
    let mut found = Found::default();
    enumerate(&threads, &first, &mut found);
    if found.steps > MOST_STEPS {
        return false;
    }
    let explored = program.to_vec();
    let explorer = Explorer::new(memory).shrink(0);
    let (outcomes, report) = explorer
        .outcomes(move || {
            let lock = Arc::new(RwLock::new(0));
            let threads: Vec<_> = explored
                .iter()
                .cloned()
                .map(|sections| {
                    let lock = Arc::clone(&lock);
                    spawn(move || {
                        let mut log = Vec::new();
                        run(&lock, &sections, &mut log);
                        log
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Logs>()
        })
        .unwrap();
    match &report.verdict {
        Verdict::Violated(violation) => {
            let is_deadlock = matches!(violation.failure, Failure::Deadlock { .. });
            assert!(is_deadlock && found.deadlocks > 0, "{memory:?} {program:#?}: {report}");
        }
        Verdict::Holds if tries => {
            assert_eq!(found.deadlocks, 0, "{memory:?} {program:#?}");
            let keys = |of: &BTreeMap<Logs, u64>| of.keys().cloned().collect::<Vec<_>>();
            if memory == Memory::C11 {
                // What is tried and fails may have found an old value.
                let missing: Vec<_> =
                    found.ends.keys().filter(|end| !outcomes.contains_key(*end)).collect();
                assert!(missing.is_empty(), "{program:#?}: {missing:?}");
            } else {
                assert_eq!(keys(&outcomes), keys(&found.ends), "{memory:?} {program:#?}");
            }
        }
        Verdict::Holds => {
            assert_eq!(found.deadlocks, 0, "{memory:?} {program:#?}");
            assert_eq!(outcomes, found.ends, "{memory:?} {program:#?}");
        }
        Verdict::Unknown(_) => panic!("{report}"),
    }
    true
}

fn many(seed: u64, memory: Memory) {
    let count = repetitions("random programs over a lock", 60, 3_000);
    let (mut random, mut checked) = (Random(seed), 0);
    for number in 0..count {
        let tries = number % 3 > 0;
        let threads = 2 + random.below(2);
        let most = if threads == 2 { 3 } else { 2 };
        let program: Vec<_> = (0..threads).map(|_| sections(&mut random, tries, 0, most)).collect();
        checked += u64::from(check(&program, tries, memory));
    }
    assert!(checked > count / 2, "{checked} of {count} programs were small enough");
}

#[test]
fn c11_agrees_with_all_interleavings() {
    many(1, Memory::C11);
}

#[test]
fn tso_agrees_with_all_interleavings() {
    many(2, Memory::Tso);
}

#[test]
fn sc_agrees_with_all_interleavings() {
    many(3, Memory::Sc);
}
