//! Random programs: one thread alone ends as the model says; two threads end in a way that TSO allows.

mod common;

use common::{allowed, histogram};
use uncontended_model::program::{
    Alu, Location, Op, Operand, Place, Program, Reg, Test, Thread, Value,
};
use uncontended_testkit::{Random, repetitions};

/// Random programs for a machine: every operation, width and edge value that it can run.
struct Dice(Random);

impl Dice {
    /// Small, large, and at the edges of widths.
    fn value(&mut self) -> Value {
        self.0.choose(&[
            0,
            1,
            2,
            127,
            128,
            255,
            0xffff,
            1 << 31,
            u64::from(u32::MAX),
            1 << 40,
            u64::MAX,
        ])
    }

    fn reg(&mut self) -> Reg {
        Reg(self.0.below(3) as u8)
    }

    fn operand(&mut self) -> Operand {
        if self.0.below(2) == 0 { Operand::Imm(self.value()) } else { Operand::Reg(self.reg()) }
    }

    fn op(&mut self, at: usize, length: usize) -> Op {
        let place = Place::at(self.0.below(2) as u16);
        let bitwise = [Alu::And, Alu::Or, Alu::Xor];
        match self.0.below(12) {
            0 | 1 => Op::Load { to: self.reg(), from: place },
            2 | 3 => Op::Store { to: place, value: self.operand() },
            4 => Op::Rmw {
                at: place,
                how: Alu::Right,
                by: self.operand(),
                old: Some(self.reg()),
                locked: true,
            },
            5 | 6 => {
                let how = self.0.choose(&[Alu::Add, Alu::Sub]);
                let old = if self.0.below(2) == 0 { Some(self.reg()) } else { None };
                Op::Rmw { at: place, how, by: self.operand(), old, locked: self.0.below(2) == 0 }
            }
            7 => Op::Rmw {
                at: place,
                how: self.0.choose(&bitwise),
                by: self.operand(),
                old: None,
                locked: self.0.below(2) == 0,
            },
            8 => Op::Rmw {
                at: place,
                how: self.0.choose(&bitwise),
                by: self.operand(),
                old: Some(self.reg()),
                locked: true,
            },
            9 => Op::CompareExchange {
                at: place,
                expected: self.operand(),
                new: self.operand(),
                old: self.reg(),
                locked: self.0.below(2) == 0,
            },
            10 => Op::Compute {
                to: self.reg(),
                left: self.operand(),
                how: self.0.choose(&[
                    Alu::Right,
                    Alu::Add,
                    Alu::Sub,
                    Alu::And,
                    Alu::Or,
                    Alu::Xor,
                    Alu::Mul,
                ]),
                right: self.operand(),
            },
            _ if at.is_multiple_of(2) => Op::Fence,
            _ => Op::Branch {
                left: self.operand(),
                test: self.0.choose(&[
                    Test::Eq,
                    Test::Ne,
                    Test::Lt,
                    Test::Le,
                    Test::Below,
                    Test::BelowEq,
                ]),
                right: self.operand(),
                target: (at as u64 + 1 + self.0.below((length - at) as u64)) as u16,
            },
        }
    }

    fn program(&mut self, threads: usize, length: usize) -> Program {
        let location = |dice: &mut Dice, name: &str| {
            let bits = dice.0.choose(&[8, 16, 32, 64, 64]);
            let mut location = Location { name: name.into(), init: 0, bits };
            location.init = location.cut(dice.value());
            location
        };
        let locations = vec![location(self, "x"), location(self, "y")];
        let threads = (0..threads).map(|_| Thread {
            registers: (0..3).map(|_| self.value()).collect(),
            code: (0..length).map(|at| self.op(at, length)).collect(),
        });
        Program { threads: threads.collect(), locations }
    }
}

#[test]
fn a_thread_alone_ends_as_the_model_says() {
    let mut dice = Dice(Random(1));
    for number in 0..300 {
        let program = dice.program(1, 12);
        let Some(seen) = histogram("a_thread_alone_ends_as_the_model_says", &program, 3) else {
            return;
        };
        let expected = allowed(&program);
        assert_eq!(expected.len(), 1);
        let seen: Vec<_> = seen.states.keys().collect();
        assert_eq!(seen, expected.iter().collect::<Vec<_>>(), "program {number}: {program:#?}");
    }
}

#[test]
fn two_threads_end_in_a_way_that_tso_allows() {
    let programs = repetitions("random programs", 60, 2_000) as usize;
    let runs = repetitions("runs of each random program", 4_000, 100_000);
    let mut dice = Dice(Random(2));
    let (mut possible, mut seen_of_them) = (0, 0);
    for number in 0..programs {
        let program = dice.program(2, 4);
        let Some(seen) = histogram("two_threads_end_in_a_way_that_tso_allows", &program, runs)
        else {
            return;
        };
        let allowed = allowed(&program);
        for (outcome, count) in &seen.states {
            assert!(
                allowed.contains(outcome),
                "program {number}: forbidden, seen {count} times: {outcome:?}\n{program:#?}"
            );
        }
        possible += allowed.len();
        seen_of_them += seen.states.len();
    }
    println!("{seen_of_them} of {possible} allowed states seen in {programs} programs");
    assert!(seen_of_them > programs, "the threads hardly ever race: {seen_of_them} states");
}
