//! A bound on how long a store may wait, with its assumption: a thread that lets more time pass than the bound knows that
//! every store made before has reached memory.

use uncontended_model::litmus::parse;
use uncontended_model::memory::Tso;
use uncontended_model::outcome::{Limits, describe};
use uncontended_model::search::{Verdict, find, outcomes};

/// Store buffering with a delay on the slow side and nothing on the fast one.
fn reached(ticks: u8, delta: Option<u8>) -> bool {
    let text = format!(
        "X86_64 TBTSO\n{{}}\n P0 | P1 ;\n movq $1,(x) | movq $1,(y) ;\n mfence | movq (x),%rax ;\n delay ${ticks} | ;\n \
         movq (y),%rax | ;\nexists (0:rax=0 /\\ 1:rax=0)\n"
    );
    let test = parse(&text).unwrap();
    match find(&test.program, Tso { delta }, Limits::default(), |outcome| test.holds(outcome)) {
        Verdict::Allowed(_) => true,
        Verdict::Forbidden { .. } => false,
        Verdict::Unknown(bound) => panic!("{bound}"),
    }
}

#[test]
fn waiting_longer_than_the_bound_is_a_fence_for_everybody_else() {
    for delta in 1..=3 {
        assert!(reached(delta, Some(delta)), "a delay of {delta} ticks proves nothing");
        assert!(!reached(delta + 1, Some(delta)), "a delay of {} ticks proves it", delta + 1);
    }
    assert!(reached(5, None), "without a bound a delay proves nothing");
    assert_eq!(
        describe(&Tso { delta: Some(3) }),
        "tso (assuming that no store waits for more than 3 ticks)"
    );
}

#[test]
fn a_bound_that_nobody_waits_on_changes_nothing() {
    let text = "X86_64 SB\n{}\n P0 | P1 ;\n movq $1,(x) | movq $1,(y) ;\n incq (z) | incq (z) ;\n \
                movq (y),%rax | movq (x),%rax ;\nexists (true)\n";
    let program = parse(text).unwrap().program;
    let bounded = outcomes(&program, Tso { delta: Some(2) }, Limits::default());
    assert_eq!(bounded.outcomes, outcomes(&program, Tso::default(), Limits::default()).outcomes);
}
