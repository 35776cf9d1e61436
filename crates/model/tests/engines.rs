//! The engines share a model but no method, so they must agree on random programs: search and enumeration reach the
//! same ends, and where the axioms apply, their counts agree as well.

mod common;

use common::{Kind, program};
use std::collections::BTreeSet;
use uncontended_model::axioms::{self, Axioms, Halves};
use uncontended_model::dpor::executions;
use uncontended_model::memory::{Model, Sc, Tso};
use uncontended_model::outcome::Limits;
use uncontended_model::program::Program;
use uncontended_model::search::{Verdict, find, outcomes};
use uncontended_testkit::{Random, repetitions};

fn programs(short: u64) -> u64 {
    repetitions("random programs", short, 200 * short)
}

fn agree<M: Model>(seed: u64, program: &Program, model: M) {
    let searched = outcomes(program, model.clone(), Limits::default());
    let counted = executions(program, model.clone(), Limits::default()).expect("few actors");
    assert_eq!(
        (searched.bound, counted.bound),
        (None, None),
        "{} of seed {seed}: {program:?}",
        model.name()
    );
    let ends: BTreeSet<_> = counted.outcomes.keys().cloned().collect();
    assert_eq!(searched.outcomes, ends, "{} of seed {seed}: {program:?}", model.name());
}

fn all(kind: Kind, from: u64, count: u64) {
    for seed in from..from + count {
        let program = program(&mut Random(seed), kind);
        program.check().expect("the generator makes sound programs");
        agree(seed, &program, Sc);
        agree(seed, &program, Tso::default());
    }
}

#[test]
fn search_and_enumeration_agree_with_branches() {
    all(Kind::Branching, 1, programs(600));
}

#[test]
fn search_and_enumeration_agree_with_locks_futexes_and_interrupts() {
    for seed in [1_005_398, 1_009_236, 1_038_529, 1_169_630] {
        all(Kind::Waiting, seed, 1); // Found wanting once.
    }
    all(Kind::Waiting, 1_000_000, programs(1_000));
}

#[test]
fn enumeration_and_axioms_agree_in_every_count() {
    for seed in 2_000_000..2_000_000 + programs(400) {
        let program = program(&mut Random(seed), Kind::Straight);
        let same = |counted: Result<uncontended_model::dpor::Executions, _>, axioms| {
            let declared = axioms::executions(&program, axioms, Halves::Ordered, Limits::default())
                .expect("straight-line");
            let counted =
                counted.unwrap_or_else(|unsupported: uncontended_model::dpor::Unsupported| {
                    panic!("{unsupported}")
                });
            assert_eq!(counted.outcomes, declared, "{axioms:?} of seed {seed}: {program:?}");
        };
        same(executions(&program, Sc, Limits::default()), Axioms::Sc);
        same(executions(&program, Tso::default(), Limits::default()), Axioms::Tso);
    }
}

#[test]
fn a_witness_is_found_exactly_for_the_ends_that_exist() {
    for seed in 3_000_000..3_000_000 + programs(60) {
        let program = program(&mut Random(seed), Kind::Waiting);
        let strong = outcomes(&program, Sc, Limits::default()).outcomes;
        for outcome in &outcomes(&program, Tso::default(), Limits::default()).outcomes {
            let reached = |verdict| matches!(verdict, Verdict::Allowed(_));
            assert!(
                reached(find(&program, Tso::default(), Limits::default(), |o| o == outcome)),
                "seed {seed}"
            );
            let under_sc = find(&program, Sc, Limits::default(), |o| o == outcome);
            assert_eq!(reached(under_sc), strong.contains(outcome), "seed {seed}");
        }
        let tso = outcomes(&program, Tso::default(), Limits::default()).outcomes;
        assert!(strong.is_subset(&tso), "TSO forbids nothing that SC allows: seed {seed}");
    }
}
