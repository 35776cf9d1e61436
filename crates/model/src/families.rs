//! Program families that grow with a parameter: the benchmarks that compare partial-order reductions.
//!
//! # Contract
//! Each function returns a program whose number of classes has a closed form; tests/classes.rs checks the engines
//! against it, and benches/traces.rs measures their speed.
//! # Sources
//! Flanagan and Godefroid 2005 (indexer), Abdulla et al. 2014 (readers, lastzero), Abdulla et al. 2015 (SB, ainc).

use crate::program::{Alu, Loc, Location, Op, Operand, Place, Program, Reg, Test, Thread};

const ZERO: Operand = Operand::Imm(0);

fn words(name: &str, count: usize) -> Vec<Location> {
    (0..count).map(|i| Location::word(format!("{name}{i}"), 0)).collect()
}

fn thread(code: Vec<Op>, registers: usize) -> Thread {
    Thread { code, registers: vec![0; registers] }
}

/// One thread writes x, `n` threads read it: 2^n classes.
pub fn readers(n: usize) -> Program {
    let mut threads = vec![thread(vec![Op::Store { to: Place::at(0), value: Operand::Imm(1) }], 0)];
    threads.extend((0..n).map(|_| thread(vec![Op::Load { to: Reg(0), from: Place::at(0) }], 1)));
    Program { locations: words("x", 1), threads }
}

/// Thread 0 looks from the top for the highest index whose element is zero; thread j stores a\[j-1\]+1 to a\[j\]:
/// (n+3)·2^(n-2) classes.
pub fn lastzero(n: usize) -> Program {
    let (index, seen) = (Reg(0), Reg(1));
    let look = Place { base: 0, index: Some(index) };
    let finder = vec![
        Op::Compute { to: index, left: ZERO, how: Alu::Right, right: Operand::Imm(n as u64) },
        Op::Load { to: seen, from: look },
        Op::Branch { left: Operand::Reg(seen), test: Test::Eq, right: ZERO, target: 5 },
        Op::Compute { to: index, left: Operand::Reg(index), how: Alu::Sub, right: Operand::Imm(1) },
        Op::Branch { left: ZERO, test: Test::Eq, right: ZERO, target: 1 },
    ];
    let mut threads = vec![thread(finder, 2)];
    threads.extend((1..=n).map(|j| {
        let sum = Op::Compute {
            to: Reg(0),
            left: Operand::Reg(Reg(0)),
            how: Alu::Add,
            right: Operand::Imm(1),
        };
        let load = Op::Load { to: Reg(0), from: Place::at(j as Loc - 1) };
        thread(
            vec![load, sum, Op::Store { to: Place::at(j as Loc), value: Operand::Reg(Reg(0)) }],
            1,
        )
    }));
    Program { locations: words("a", n + 1), threads }
}

/// Thread t inserts w = 11·m + t, m = 1…4, at (7·w) mod 128 of a shared table by compare-and-swap with linear probing:
/// 8^(n-11) classes for 11 threads and more.
pub fn indexer(n: usize) -> Program {
    let (m, w, h, old) = (Reg(0), Reg(1), Reg(2), Reg(3));
    let compute =
        |to, left: Reg, how, right| Op::Compute { to, left: Operand::Reg(left), how, right };
    let threads = (0..n as u64).map(|t| {
        let code = vec![
            compute(m, m, Alu::Add, Operand::Imm(1)),
            compute(w, m, Alu::Mul, Operand::Imm(11)),
            compute(w, w, Alu::Add, Operand::Imm(t)),
            compute(h, w, Alu::Mul, Operand::Imm(7)),
            compute(h, h, Alu::And, Operand::Imm(127)),
            Op::CompareExchange {
                at: Place { base: 0, index: Some(h) },
                expected: ZERO,
                new: Operand::Reg(w),
                old,
                locked: true,
            },
            Op::Branch { left: Operand::Reg(old), test: Test::Eq, right: ZERO, target: 9 },
            compute(h, h, Alu::Add, Operand::Imm(1)),
            Op::Branch { left: ZERO, test: Test::Eq, right: ZERO, target: 4 },
            Op::Branch { left: Operand::Reg(m), test: Test::Ne, right: Operand::Imm(4), target: 0 },
        ];
        thread(code, 4)
    });
    Program { threads: threads.collect(), locations: words("t", 128) }
}

/// `n` threads each fetch-and-add one variable: n! classes.
pub fn ainc(n: usize) -> Program {
    let add = Op::Rmw {
        at: Place::at(0),
        how: Alu::Add,
        by: Operand::Imm(1),
        old: Some(Reg(0)),
        locked: true,
    };
    Program { locations: words("x", 1), threads: (0..n).map(|_| thread(vec![add], 1)).collect() }
}

/// Thread i stores x_i and loads x_(i+1 mod n): 2^n-1 classes under SC, 2^n under TSO.
pub fn store_buffers(n: usize) -> Program {
    let threads = (0..n).map(|i| {
        let store = Op::Store { to: Place::at(i as Loc), value: Operand::Imm(1) };
        thread(vec![store, Op::Load { to: Reg(0), from: Place::at(((i + 1) % n) as Loc) }], 1)
    });
    Program { threads: threads.collect(), locations: words("x", n) }
}
