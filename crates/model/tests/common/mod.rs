//! Random small programs, from a seed.
#![allow(dead_code, reason = "each test file uses what it needs")]

use uncontended_model::program::{Alu, Location, Op, Operand, Place, Program, Reg, Test, Thread};
use uncontended_model::random::Random;

/// What a random program may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Loads, stores, read-modify-writes, fences.
    Straight,
    /// Also compare-and-swap and forward branches.
    Branching,
    /// Also locks, futexes, membarriers and interrupts.
    Waiting,
}

const LOCATIONS: u64 = 3;
const REGISTERS: u64 = 3;

/// A random program of 2 or 3 threads.
pub(crate) fn program(random: &mut Random, kind: Kind) -> Program {
    let threads = 2 + random.below(2);
    let locations =
        (0..LOCATIONS).map(|i| Location::word(["x", "y", "z"][i as usize], 0)).collect();
    let threads = (0..threads).map(|me| {
        let length = 1 + random.below(if threads == 2 { 5 } else { 3 });
        let code = (0..length).map(|at| op(random, kind, me, threads, at, length)).collect();
        Thread { code, registers: vec![0; REGISTERS as usize] }
    });
    let threads = threads.collect();
    Program { locations, threads }
}

fn op(random: &mut Random, kind: Kind, me: u64, threads: u64, at: u64, length: u64) -> Op {
    let place = Place::at(random.below(LOCATIONS) as u16);
    let reg = Reg(random.below(REGISTERS) as u8);
    let other = Reg(random.below(REGISTERS) as u8);
    let value =
        if random.below(4) == 0 { Operand::Reg(other) } else { Operand::Imm(1 + random.below(2)) };
    let how = [Alu::Right, Alu::Add, Alu::Or][random.below(3) as usize];
    let kinds = match kind {
        Kind::Straight => 11,
        Kind::Branching => 15,
        Kind::Waiting => 21,
    };
    match random.below(kinds) {
        0..=3 => Op::Load { to: reg, from: place },
        4..=6 => Op::Store { to: place, value },
        7 => Op::Rmw { at: place, how, by: value, old: Some(reg), locked: true },
        8 => Op::Rmw { at: place, how, by: value, old: Some(reg), locked: false },
        9 => Op::Fence,
        10 => Op::Compute { to: reg, left: value, how: Alu::Add, right: Operand::Reg(other) },
        11 => Op::CompareExchange {
            at: place,
            expected: Operand::Imm(0),
            new: value,
            old: reg,
            locked: true,
        },
        12 => Op::CompareExchange {
            at: place,
            expected: Operand::Imm(0),
            new: value,
            old: reg,
            locked: false,
        },
        13 | 14 => {
            let target = (at + 1 + random.below(length - at)) as u16;
            Op::Branch { left: Operand::Reg(reg), test: Test::Eq, right: value, target }
        }
        15 => Op::Lock { at: place },
        16 => Op::Unlock { at: place },
        17 => Op::FutexWait { at: place, expected: Operand::Imm(random.below(2)) },
        18 => Op::FutexWake { at: place, count: 1 + random.below(2) as u32 },
        19 => Op::Membarrier,
        _ => Op::Interrupt { thread: ((me + 1 + random.below(threads - 1)) % threads) as u8 },
    }
}
