//! Public and generated litmus tests compared with the results of an independent checker, test by test: condition,
//! final states, observation, and the numbers of executions that do and do not satisfy the condition.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use uncontended_model::axioms::{Axioms, Halves, executions as declared};
use uncontended_model::dpor::executions;
use uncontended_model::litmus::{Test, parse};
use uncontended_model::memory::{Model, Sc, Tso};
use uncontended_model::outcome::Limits;
use uncontended_model::program::Op;
use uncontended_model::search::outcomes;
use uncontended_testkit::{repetitions, skip};

fn corpus(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora").join(name);
    if path.join("expected.json").exists() {
        return Some(path);
    }
    skip!(format!("corpus {name}"), "it is not next to the checkout");
    None
}

/// The differences from the expected result of one model, as text.
///
/// If a program has read-modify-writes, the checker also counts executions in which one of them reads a write that its
/// own write precedes ([`Halves::Unordered`]). Those counts are compared with the declarative engine, and that engine
/// without them must agree with ours.
fn differences<M: Model>(test: &Test, model: M, axioms: Axioms, expected: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |what: &str, ours: String, theirs: String| {
        if ours != theirs {
            wrong.push(format!("{} {what}: ours {ours}, expected {theirs}", model.name()));
        }
    };
    let limits = Limits::default();
    let found = executions(&test.program, model.clone(), limits).expect("few actors");
    let ends: BTreeSet<_> = found.outcomes.keys().cloned().collect();
    let searched = outcomes(&test.program, model.clone(), limits).outcomes;
    check("search", format!("{searched:?}"), format!("{ends:?}"));
    let ordered = declared(&test.program, axioms, Halves::Ordered, limits).expect("straight-line");
    check("axioms", format!("{ordered:?}"), format!("{:?}", found.outcomes));
    let unordered =
        declared(&test.program, axioms, Halves::Unordered, limits).expect("straight-line");
    let split =
        test.program.threads.iter().flat_map(|t| &t.code).any(|op| matches!(op, Op::Rmw { .. }));
    let counted = if split { &unordered } else { &found.outcomes };
    let states = test.states(counted.iter().map(|(outcome, count)| (outcome, *count)));
    let lines: Vec<&str> = states.by_line.keys().map(String::as_str).collect();
    let expected_lines: Vec<&str> =
        expected["states"].as_array().unwrap().iter().flat_map(Value::as_str).collect();
    check("states", format!("{lines:?}"), format!("{expected_lines:?}"));
    check(
        "observation",
        states.observation().to_string(),
        expected["obs"].as_str().unwrap().to_owned(),
    );
    check("pos", states.positive.to_string(), expected["pos"].to_string());
    check("neg", states.negative.to_string(), expected["neg"].to_string());
    wrong
}

/// Checks every `stride`-th test of a corpus; returns how many were checked.
fn check(name: &str, stride: usize) {
    let Some(path) = corpus(name) else { return };
    let expected: Value =
        serde_json::from_str(&std::fs::read_to_string(path.join("expected.json")).unwrap())
            .unwrap();
    let tests = expected["tests"].as_array().unwrap();
    let mut wrong = Vec::new();
    for answer in tests.iter().step_by(stride) {
        let file = answer["path"].as_str().unwrap();
        let text = std::fs::read_to_string(path.join(file)).unwrap();
        let test = parse(&text).unwrap_or_else(|refusal| panic!("{file}:{refusal}"));
        let mut differ = differences(&test, Sc, Axioms::Sc, &answer["sc"]);
        differ.extend(differences(&test, Tso::default(), Axioms::Tso, &answer["tso"]));
        if test.condition.to_string() != answer["cond"].as_str().unwrap() {
            differ.push(format!("condition: ours {}, expected {}", test.condition, answer["cond"]));
        }
        wrong.extend(differ.into_iter().map(|what| format!("{file}: {what}")));
    }
    assert!(!tests.is_empty());
    let few: Vec<_> = wrong.iter().take(12).collect();
    assert!(
        wrong.is_empty(),
        "{} differences in {} tests of {name}, among them {few:#?}",
        wrong.len(),
        tests.len()
    );
}

/// The stride: 1 checks everything, and a larger one is for the short form.
fn stride(short: usize) -> usize {
    repetitions("one in this many tests of the corpus", short as u64, 1) as usize
}

#[test]
fn loads_stores_and_fences_of_the_public_suite() {
    check("litmus-x86", stride(5));
}

#[test]
fn read_modify_writes_of_the_generated_suite() {
    check("litmus-gen", stride(3));
}

#[test]
fn store_buffering_of_the_generated_suite() {
    check("litmus-gen-sb", stride(2));
}
