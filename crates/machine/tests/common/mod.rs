//! Shared by the tests: a run that reports a skip, and the outcomes that a model allows.

use std::collections::BTreeSet;
use uncontended_machine::{Histogram, Refusal, Setup, run};
use uncontended_model::memory::Tso;
use uncontended_model::outcome::{Limits, Outcome};
use uncontended_model::program::Program;
use uncontended_model::search;

/// The histogram; `None`, with a reported skip, if there is only one CPU, the architecture is another, or the program
/// cannot run on machines.
pub(crate) fn histogram(name: &str, program: &Program, runs: u64) -> Option<Histogram> {
    match run(program, &Setup { runs, seed: runs }) {
        Ok(histogram) => {
            assert_eq!(histogram.runs, runs, "{name}");
            assert_eq!(histogram.states.values().sum::<u64>(), runs, "{name}");
            Some(histogram)
        }
        Err(
            reason @ (Refusal::Processors(_) | Refusal::Architecture | Refusal::Operation { .. }),
        ) => {
            uncontended_testkit::skip!(name, "{reason}");
            None
        }
        Err(reason) => panic!("{name}: {reason}"),
    }
}

/// All outcomes under x86-TSO.
pub(crate) fn allowed(program: &Program) -> BTreeSet<Outcome> {
    let ends = search::outcomes(program, Tso { delta: None }, Limits::default());
    assert_eq!(ends.bound, None, "the model visits every state");
    ends.outcomes
}
