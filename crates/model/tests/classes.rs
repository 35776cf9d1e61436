//! The engines count exactly as many complete executions as there are classes, on programs with a closed formula.

use std::time::Instant;
use uncontended_model::dpor::{Executions, executions};
use uncontended_model::families::{ainc, indexer, lastzero, readers, store_buffers};
use uncontended_model::litmus::{Memory, Observation, parse};
use uncontended_model::memory::{Model, Sc, Tso};
use uncontended_model::outcome::{Bound, Limits};
use uncontended_model::program::Program;

fn count<M: Model>(name: &str, program: &Program, model: M) -> Executions {
    let started = Instant::now();
    let limits = Limits { loops: 200, ..Limits::default() };
    let found = executions(program, model.clone(), limits).expect("few enough actors");
    assert_eq!(found.bound, None, "{name}");
    assert_eq!(found.complete, found.outcomes.values().sum::<u64>(), "{name}");
    println!(
        "{name} {}: {} complete, {} blocked, {} steps, {:?}",
        model.name(),
        found.complete,
        found.blocked,
        found.steps,
        started.elapsed()
    );
    found
}

fn both(name: &str, program: &Program, classes: u64) {
    assert_eq!(count(name, program, Sc).complete, classes, "{name} under SC");
    assert_eq!(count(name, program, Tso::default()).complete, classes, "{name} under TSO");
}

#[test]
fn readers_have_two_to_the_n_classes() {
    both("readers(13)", &readers(13), 8_192);
}

#[test]
fn lastzero_has_n_plus_3_times_two_to_the_n_minus_2() {
    for n in [2, 3, 5, 7, 10] {
        both(&format!("lastzero({n})"), &lastzero(n), (n as u64 + 3) << (n - 2));
    }
}

#[test]
fn indexer_has_eight_to_the_n_minus_11() {
    for n in [11, 12, 13, 15] {
        both(&format!("indexer({n})"), &indexer(n), 8u64.pow(n as u32 - 11));
    }
}

#[test]
fn increments_have_n_factorial_classes() {
    both("ainc(6)", &ainc(6), 720);
}

#[test]
fn store_buffering_has_one_class_more_under_tso() {
    for n in 2..=7 {
        let program = store_buffers(n);
        assert_eq!(count(&format!("SB({n})"), &program, Sc).complete, (1 << n) - 1);
        assert_eq!(count(&format!("SB({n})"), &program, Tso::default()).complete, 1 << n);
    }
}

#[test]
fn too_many_executions_end_in_a_stated_bound() {
    let increments = |threads: usize| {
        let names: Vec<_> = (0..threads).map(|thread| format!("P{thread}")).collect();
        let code = vec!["incq (x)"; threads].join(" | ");
        let text = format!("X86_64 INC\n{{}}\n {} ;\n {code} ;\nexists (x=1)\n", names.join(" | "));
        parse(&text).expect("a test")
    };
    let limits = Limits { executions: 1_000, ..Limits::default() };
    let answer = increments(6).answer(Memory::Tso, limits).expect("few actors");
    assert_eq!((answer.bound, answer.complete), (Some(Bound::Executions(1_000)), 1_000));
    assert_eq!(
        answer.observation(),
        Some(Observation::Sometimes),
        "found on the way, or by search"
    );
    let answer = increments(4).answer(Memory::Tso, limits).expect("few actors");
    assert!(answer.complete < 1_000, "{} classes", answer.complete);
    let bound = Some(Bound::Executions(1_000));
    assert_eq!(answer.bound, bound, "the other checker's count takes more choices than allowed");
}
