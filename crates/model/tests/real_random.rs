//! Random programs: the checker's executions of real code against every candidate execution, outcome by outcome and
//! count by count. Equal counts mean that no execution is missed and none is explored twice.
//!
//! `UNC_DEPTH=full` runs fifty times as many.

mod candidates;
mod programs;

use candidates::{Model, Program, executions};
use programs::{LOCATIONS, instruction, outcome};
use uncontended_model::real::{Explorer, Memory, yield_now};
use uncontended_testkit::{Random, repetitions};

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

/// With a hint after every instruction, or none: hints must change nothing.
fn check(program: Program, memory: Memory, model: Model, with_hints: bool) {
    let expected = executions(&program, LOCATIONS, model);
    let explored = program.clone();
    let (found, report) = Explorer::new(memory)
        .outcomes(move || {
            outcome(&explored, move || {
                if with_hints {
                    yield_now();
                }
            })
        })
        .unwrap();
    assert!(report.holds() && report.rounds.is_none(), "{report}");
    assert_eq!(report.blocked, 0);
    assert_eq!(
        found, expected,
        "{memory:?}: (outcome: executions) found, expected, for {program:#?}"
    );
}

fn many(seed: u64, memory: Memory, model: Model) {
    let count = repetitions("random programs", 60, 3_000);
    let mut random = Random(seed);
    for _ in 0..count {
        let with_hints = random.below(2) == 0;
        check(program(&mut random), memory, model, with_hints);
    }
}

#[test]
fn c11_agrees_with_all_candidates() {
    many(1, Memory::C11, Model::C11);
}

#[test]
fn tso_agrees_with_all_candidates() {
    many(2, Memory::Tso, Model::Tso);
}

#[test]
fn sc_agrees_with_all_candidates() {
    many(3, Memory::Sc, Model::Sc);
}
