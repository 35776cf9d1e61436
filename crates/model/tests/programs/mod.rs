//! Random programs for the checker and the enumerator, and the code that runs them on explored threads.

use super::candidates::{Instruction, Mode};
use std::sync::atomic::Ordering;
use uncontended_model::random::Random;
use uncontended_model::real::{AtomicU32, fence, heavy_fence, light_fence};

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
