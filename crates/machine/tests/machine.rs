//! The machine against x86-TSO: what is forbidden is never seen, and store buffering is.

use uncontended_machine::{Histogram, Refusal, Setup, run};
use uncontended_model::program::{Location, Op, Operand, Place, Program, Reg, Thread};

fn store(location: u16, value: u64) -> Op {
    Op::Store { to: Place::at(location), value: Operand::Imm(value) }
}

fn load(register: u8, location: u16) -> Op {
    Op::Load { to: Reg(register), from: Place::at(location) }
}

fn program(threads: [Vec<Op>; 2]) -> Program {
    let thread = |code| Thread { code, registers: vec![7] };
    Program {
        locations: vec![Location::word("x", 0), Location::word("y", 0)],
        threads: threads.into_iter().map(thread).collect(),
    }
}

/// The histogram, or `None` with a visible line where there is only one CPU or another architecture.
fn histogram(name: &str, program: &Program, runs: u64) -> Option<Histogram> {
    match run(program, &Setup { runs, seed: 1 }) {
        Ok(histogram) => {
            assert_eq!(histogram.runs, runs);
            assert_eq!(histogram.states.values().sum::<u64>(), runs);
            Some(histogram)
        }
        Err(reason @ (Refusal::Processors(_) | Refusal::Architecture)) => {
            println!("SKIPPED {name}: {reason}");
            None
        }
        Err(reason) => panic!("{name}: {reason}"),
    }
}

#[test]
fn store_buffering_is_seen_and_a_fence_ends_it() {
    let plain = program([vec![store(0, 1), load(0, 1)], vec![store(1, 1), load(0, 0)]]);
    let weak: Box<[u64]> = Box::from([1, 1, 0, 0]);
    let Some(seen) = histogram("store_buffering", &plain, 1_000_000) else { return };
    assert!(seen.states.contains_key(&weak), "{seen:?}");
    let fenced = program([
        vec![store(0, 1), Op::Fence, load(0, 1)],
        vec![store(1, 1), Op::Fence, load(0, 0)],
    ]);
    let seen = histogram("store_buffering", &fenced, 100_000).unwrap();
    assert!(!seen.states.contains_key(&weak), "{seen:?}");
}
