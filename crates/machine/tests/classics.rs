//! The machine against x86-TSO on the classic tests: it shows nothing forbidden, and it shows store buffering.

mod common;

use common::{allowed, histogram};
use uncontended_machine::{Refusal, Setup, run};
use uncontended_model::classics::{CLASSICS, named};
use uncontended_model::litmus::{Test, parse};
use uncontended_model::program::{Location, Op, Operand, Place, Program, Reg, Thread};
use uncontended_testkit::repetitions;

fn classic(name: &str) -> Test {
    parse(named(name).expect("a classic").text).expect("a classic parses")
}

#[test]
fn no_classic_shows_what_tso_forbids() {
    let runs = repetitions("runs of each classic", 20_000, 100_000_000);
    let mut checked = 0;
    for entry in CLASSICS {
        let test = classic(entry.name);
        // A membarrier takes microseconds: runs of seconds would become hours.
        let slow = test.program.threads.iter().any(|thread| thread.code.contains(&Op::Membarrier));
        let runs = if slow { runs / 100 } else { runs };
        let Some(seen) = histogram(entry.name, &test.program, runs) else { continue };
        let allowed = allowed(&test.program);
        let mut unseen = allowed.len();
        for (outcome, count) in &seen.states {
            assert!(
                allowed.contains(outcome),
                "{}: forbidden, seen {count} times in {runs}: {}",
                entry.name,
                test.line(outcome)
            );
            unseen -= 1;
        }
        let met: u64 = seen.states.iter().filter(|(end, _)| test.holds(end)).map(|(_, n)| n).sum();
        println!(
            "{}: {runs} runs, {} states, {unseen} allowed but not seen; condition met {met} times",
            entry.name,
            seen.states.len()
        );
        checked += 1;
    }
    let possible = histogram("no_classic_shows_what_tso_forbids", &classic("SB").program, 1);
    assert!(checked >= 8 || possible.is_none(), "only {checked} classics ran");
}

#[test]
fn store_buffering_and_forwarding_are_seen() {
    for name in ["SB", "n6"] {
        let test = classic(name);
        let Some(seen) = histogram(name, &test.program, 1_000_000) else { return };
        let weak: u64 = seen.states.iter().filter(|(end, _)| test.holds(end)).map(|(_, n)| n).sum();
        assert!(weak > 0, "{name} never showed its weak outcome: {seen:?}");
    }
}

/// One thread with this code and two locations.
fn alone(code: Vec<Op>) -> Program {
    Program {
        locations: vec![Location::word("x", 0), Location::word("y", 0)],
        threads: vec![Thread { code, registers: vec![0] }],
    }
}

#[test]
fn what_may_never_end_and_what_no_instruction_does_is_refused_by_name() {
    let x = Place::at(0);
    let (one, zero) = (Operand::Imm(1), Operand::Imm(0));
    let refused = |code: Vec<Op>| match run(&alone(code), &Setup { runs: 1, seed: 0 }) {
        Err(refusal) => refusal.to_string(),
        Ok(seen) => panic!("ran: {seen:?}"),
    };
    use uncontended_model::program::{Alu, Test as Comparison};
    let wait = Op::FutexWait { at: x, expected: zero };
    assert!(refused(vec![Op::Fence, wait]).starts_with("operation 1 of thread 0: futex_wait"));
    assert!(refused(vec![Op::FutexWake { at: x, count: 1 }]).contains("futex_wake"));
    assert!(refused(vec![Op::Lock { at: x }]).contains("mutex_lock"));
    assert!(refused(vec![Op::Unlock { at: x }]).contains("mutex_unlock"));
    assert!(refused(vec![Op::Interrupt { thread: 0 }]).contains("interrupt"));
    assert!(refused(vec![Op::Delay { ticks: 1 }]).contains("ticks"));
    let back = Op::Branch { left: zero, test: Comparison::Eq, right: one, target: 0 };
    assert!(refused(vec![back]).contains("loop"));
    let rmw = |how, old, locked| Op::Rmw { at: x, how, by: one, old, locked };
    assert!(refused(vec![rmw(Alu::Mul, None, true)]).contains("product"));
    assert!(refused(vec![rmw(Alu::Right, None, false)]).contains("always LOCKed"));
    assert!(refused(vec![rmw(Alu::Or, Some(Reg(0)), false)]).contains("without LOCK"));
    let indexed = Place { base: 0, index: Some(Reg(0)) };
    assert!(refused(vec![Op::Load { to: Reg(0), from: indexed }]).contains("indexed"));
}

#[test]
fn programs_out_of_shape_are_refused_with_the_limit() {
    let setup = Setup { runs: 1, seed: 0 };
    let refused = |program: &Program| run(program, &setup).expect_err("out of shape").to_string();
    assert!(refused(&Program::default()).contains("no threads"));
    let mut many = alone(vec![]);
    many.threads[0].registers = vec![0; 9];
    assert!(refused(&many).contains("9 registers; at most 8"));
    many.threads[0].registers.clear();
    many.locations = vec![Location::word("x", 0); 65];
    assert!(refused(&many).contains("65 locations; at most 64"));
    let dangling = alone(vec![Op::Load { to: Reg(1), from: Place::at(0) }]);
    assert!(matches!(run(&dangling, &setup), Err(Refusal::Malformed(_))));
}

#[test]
fn more_threads_than_cpus_still_run() {
    let code = vec![Op::Store { to: Place::at(0), value: Operand::Imm(1) }];
    let thread = Thread { code, registers: vec![5] };
    let program = Program { locations: vec![Location::word("x", 0)], threads: vec![thread; 9] };
    let Some(seen) = histogram("more_threads_than_cpus_still_run", &program, 3_001) else { return };
    assert_eq!(
        seen.states.keys().collect::<Vec<_>>(),
        allowed(&program).iter().collect::<Vec<_>>()
    );
}
