//! Random programs: the checker's executions of real code against every candidate execution, outcome by outcome and count
//! by count. Equal counts say that no execution is lost and none is explored twice.
//!
//! `UNC_DEPTH=full` runs fifty times as many.

mod candidates;

use candidates::{Instruction, Mode, Model, Program, executions};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use uncontended_model::random::Random;
use uncontended_model::real::{
    AtomicU32, Explorer, Memory, fence, heavy_fence, light_fence, spawn,
};

const LOCATIONS: usize = 2;

fn mode(order: Ordering) -> Mode {
    let (acquire, release) = match order {
        Ordering::Relaxed => (false, false),
        Ordering::Acquire => (true, false),
        Ordering::Release => (false, true),
        _ => (true, true),
    };
    Mode { acquire, release, sc: order == Ordering::SeqCst }
}

fn order(mode: Mode) -> Ordering {
    match (mode.sc, mode.acquire, mode.release) {
        (true, ..) => Ordering::SeqCst,
        (_, true, true) => Ordering::AcqRel,
        (_, true, false) => Ordering::Acquire,
        (_, false, true) => Ordering::Release,
        (_, false, false) => Ordering::Relaxed,
    }
}

fn instruction(random: &mut Random, stored: &mut u32, with_heavy: bool) -> Instruction {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    let location = random.below(LOCATIONS as u64) as usize;
    *stored += 1;
    match random.below(if with_heavy { 20 } else { 15 }) {
        0..=4 => Instruction::Load(location, mode(random.choose(&[Relaxed, Acquire, SeqCst]))),
        5..=9 => {
            Instruction::Store(location, *stored, mode(random.choose(&[Relaxed, Release, SeqCst])))
        }
        10 => Instruction::Add(location, mode(random.choose(&[Relaxed, AcqRel, SeqCst, Acquire]))),
        11 => {
            Instruction::Swap(location, *stored, mode(random.choose(&[Relaxed, Release, SeqCst])))
        }
        12 => {
            let expected = random.below(3) as u32;
            Instruction::Cas(
                location,
                expected,
                *stored,
                mode(random.choose(&[Relaxed, Acquire, SeqCst])),
            )
        }
        13 => Instruction::Unlocked(location, mode(random.choose(&[Relaxed, Release]))),
        14 => Instruction::Fence(mode(
            random.choose(&[Acquire, Release, AcqRel, SeqCst, SeqCst, SeqCst]),
        )),
        15..=17 => Instruction::Light,
        _ => Instruction::Heavy,
    }
}

fn program(random: &mut Random) -> Program {
    let threads = 2 + random.below(2) as usize;
    let with_heavy = random.below(2) == 0;
    let mut stored = 0;
    let length = |random: &mut Random| 1 + random.below(if threads == 2 { 3 } else { 2 });
    (0..threads)
        .map(|_| {
            (0..length(random)).map(|_| instruction(random, &mut stored, with_heavy)).collect()
        })
        .collect()
}

fn run(instructions: &[Instruction], words: &[AtomicU32]) -> Vec<u32> {
    let mut reads = Vec::new();
    for &instruction in instructions {
        match instruction {
            Instruction::Load(x, m) => reads.push(words[x].load(order(m))),
            Instruction::Store(x, value, m) => words[x].store(value, order(m)),
            Instruction::Add(x, m) => reads.push(words[x].fetch_add(1, order(m))),
            Instruction::Swap(x, value, m) => reads.push(words[x].swap(value, order(m))),
            Instruction::Cas(x, expected, new, m) => {
                let found = words[x].compare_exchange(expected, new, order(m), order(m));
                reads.push(found.unwrap_or_else(|found| found));
            }
            Instruction::Unlocked(x, m) => reads.push(words[x].fetch_add_unlocked(1, order(m))),
            Instruction::Fence(m) => fence(order(m)),
            Instruction::Light => light_fence(),
            Instruction::Heavy => heavy_fence(),
        }
    }
    reads
}

fn check(program: Program, memory: Memory, model: Model) {
    let expected = executions(&program, LOCATIONS, model);
    let explored = program.clone();
    let (found, report) = Explorer::new(memory)
        .outcomes(move || {
            let words: Arc<Vec<AtomicU32>> =
                Arc::new((0..LOCATIONS).map(|_| AtomicU32::new(0)).collect());
            let start = |instructions: &Vec<Instruction>| {
                let (instructions, words) = (instructions.clone(), Arc::clone(&words));
                spawn(move || run(&instructions, &words))
            };
            let threads: Vec<_> = explored.iter().map(start).collect();
            let mut all: Vec<u32> =
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
            all.extend(words.iter().map(|word| word.load(Ordering::Relaxed)));
            all
        })
        .unwrap();
    assert!(report.holds(), "{report}");
    assert_eq!(report.blocked, 0);
    assert_eq!(
        found, expected,
        "{memory:?}: (outcome: executions) found, expected, for {program:#?}"
    );
}

fn programs(seed: u64, memory: Memory, model: Model) {
    let full = std::env::var("UNC_DEPTH").is_ok_and(|depth| depth == "full");
    let count = if full { 3_000 } else { 60 };
    if !full {
        println!("SHORT real_random: {count} programs; UNC_DEPTH=full runs 3000");
    }
    let mut random = Random(seed);
    for _ in 0..count {
        check(program(&mut random), memory, model);
    }
}

#[test]
fn c11_agrees_with_all_candidates() {
    programs(1, Memory::C11, Model::C11);
}

#[test]
fn tso_agrees_with_all_candidates() {
    programs(2, Memory::Tso, Model::Tso);
}

#[test]
fn sc_agrees_with_all_candidates() {
    programs(3, Memory::Sc, Model::Sc);
}
