//! A bound on how long a store may wait: under that assumption, a thread that waits for longer than the bound knows
//! that every store made before has reached memory.

mod common;

use common::{Kind, program};
use uncontended_model::litmus::{Memory, Observation, parse};
use uncontended_model::memory::Tso;
use uncontended_model::outcome::{Bound, Limits};
use uncontended_model::random::Random;
use uncontended_model::search::{Verdict, outcomes};

/// Store buffering with a delay on the slow side and none on the fast one.
fn reached(ticks: u8, memory: Memory) -> bool {
    let text = format!(
        "X86_64 TBTSO\n{{}}\n P0 | P1 ;\n movq $1,(x) | movq $1,(y) ;\n mfence | movq (x),%rax ;\n delay ${ticks} | ;\n \
         movq (y),%rax | ;\nexists (0:rax=0 /\\ 1:rax=0)\n"
    );
    let test = parse(&text).unwrap();
    let searched = match test.witness(memory, Limits::default()) {
        Verdict::Allowed(_) => true,
        Verdict::Forbidden { .. } => false,
        Verdict::Unknown(bound) => panic!("{bound}"),
    };
    let answer = test.answer(memory, Limits::default()).unwrap();
    assert_eq!(answer.bound, memory.delta().map(|_| Bound::Uncounted), "every state is visited");
    assert_eq!(answer.observation() == Some(Observation::Sometimes), searched);
    searched
}

#[test]
fn waiting_longer_than_the_bound_is_a_fence_for_everybody_else() {
    for delta in 1..=3 {
        let memory = Memory::TsoWithin(delta);
        assert!(reached(delta, memory), "a delay of {delta} ticks proves nothing");
        assert!(!reached(delta + 1, memory), "a delay of {} ticks proves it", delta + 1);
    }
    assert!(reached(5, Memory::Tso), "without a bound a delay proves nothing");
    assert_eq!(
        Memory::TsoWithin(3).to_string(),
        "tso, assuming that no store waits for more than 3 ticks"
    );
}

#[test]
fn an_event_count_may_wait_instead_of_interrupting() {
    let lost = |ticks: u8| {
        let text = format!(
            "X86_64 COUNT\n{{ 0:rax=2; }}\n P0 | P1 ;\n xaddq %rax,(x) | lock orq $1,(x) ;\n | delay ${ticks} ;\n \
             | movq (x),%rbx ;\nexists (0:rax=0 /\\ 1:rbx=1 /\\ x=2)\n"
        );
        let test = parse(&text).unwrap();
        let searched = test.witness(Memory::TsoWithin(2), Limits::default());
        matches!(searched, Verdict::Allowed(_))
    };
    assert!(lost(2), "an increment under way may still take the flag away");
    assert!(
        !lost(3),
        "one that had read the word before the flag was set is over, its store included"
    );
}

#[test]
fn a_bound_that_nobody_waits_on_changes_nothing() {
    for kind in [Kind::Straight, Kind::Branching, Kind::Waiting] {
        for seed in 0..40 {
            let program = program(&mut Random(seed), kind);
            let ends = |delta| outcomes(&program, Tso { delta }, Limits::default()).outcomes;
            assert_eq!(ends(Some(2)), ends(None), "{kind:?}, seed {seed}: {program:?}");
        }
    }
}
