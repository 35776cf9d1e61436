//! Random programs for the checker and the enumerator, and the code that runs them on explored threads.

#![allow(dead_code, reason = "some tests start threads in their own way")]

use super::candidates::{Instruction, Mode, Program};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use uncontended_model::random::Random;
use uncontended_model::real::{AtomicU32, fence, heavy_fence, light_fence, spawn};

pub(crate) const LOCATIONS: usize = 2;

pub(crate) fn mode(order: Ordering) -> Mode {
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

pub(crate) fn instruction(random: &mut Random, stored: &mut u32, with_heavy: bool) -> Instruction {
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

/// Runs one instruction and appends the values it reads to `reads`.
pub(crate) fn run(instruction: Instruction, words: &[AtomicU32], reads: &mut Vec<u32>) {
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

/// Two or three threads, few instructions each, without heavy fences: bounds on turns are about these.
pub(crate) fn program(random: &mut Random) -> Program {
    let threads = 2 + random.below(2) as usize;
    let mut stored = 0;
    let length = |random: &mut Random| 1 + random.below(if threads == 2 { 4 } else { 2 });
    (0..threads)
        .map(|_| (0..length(random)).map(|_| instruction(random, &mut stored, false)).collect())
        .collect()
}

/// Runs a program on explored threads, with `after` after each instruction: what the threads read, then the words.
pub(crate) fn outcome(program: &Program, after: impl Fn() + Copy + Send + 'static) -> Vec<u32> {
    let words: Arc<Vec<AtomicU32>> = Arc::new((0..LOCATIONS).map(|_| AtomicU32::new(0)).collect());
    let start = |instructions: &Vec<Instruction>| {
        let (instructions, words) = (instructions.clone(), Arc::clone(&words));
        spawn(move || {
            let mut reads = Vec::new();
            for instruction in instructions {
                run(instruction, &words, &mut reads);
                after();
            }
            reads
        })
    };
    let threads: Vec<_> = program.iter().map(start).collect();
    let mut all: Vec<u32> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    all.extend(words.iter().map(|word| word.load(Ordering::Relaxed)));
    all
}
