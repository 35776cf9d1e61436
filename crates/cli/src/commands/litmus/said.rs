//! The verdict on a test in plain sentences: what each model says of its proposition, or whether an expectation holds.

use super::{Expect, Litmus, Model, Ran, Shown, machine::Seen};
use std::fmt::Write as _;
use uncontended_figures::whole;
use uncontended_model::litmus::{Answer, Observation};

/// The lines that begin a test's output.
pub(super) fn verdict(text: &mut String, litmus: &Litmus, named_models: bool, ran: &Ran) {
    let seen = ran.machine.as_ref().and_then(|machine| machine.as_ref().ok());
    let Some(expect) = litmus.expect else {
        let answers = ran.models.iter().filter_map(|shown| Some(plain(shown, answer(shown)?)));
        let said: Vec<_> = answers.chain(seen.map(plain_of_machine)).collect();
        if !said.is_empty() {
            let (test, said) = (&ran.test, said.join(", "));
            let _ = writeln!(text, "{}: {said} ({})", test.name, test.condition.prop);
        }
        return impossible(text, seen);
    };
    for shown in &ran.models {
        let Some(answer) = answer(shown) else { continue };
        let said = match litmus.checks(named_models, shown.memory) {
            true => expected(shown, answer, expect),
            false => format!("for information: {}", plain(shown, answer)),
        };
        let _ = writeln!(text, "{said}");
    }
    if let Some(seen) = seen {
        let alone = litmus.model == [Model::Machine];
        let _ = writeln!(text, "{}", expected_of_machine(seen, expect, alone));
    }
    impossible(text, seen);
}

fn answer(shown: &Shown) -> Option<&Answer> {
    shown.answer.as_ref().ok()
}

/// What the machine showed although tso forbids it.
fn impossible(text: &mut String, seen: Option<&Seen>) {
    if seen.is_some_and(|seen| !seen.forbidden.is_empty()) {
        text.push_str("no: this machine shows a state that tso forbids\n");
    }
}

/// `allowed under tso`.
fn plain(shown: &Shown, answer: &Answer) -> String {
    let word = match answer.observation() {
        Some(Observation::Sometimes) => "allowed",
        Some(Observation::Never) => "forbidden",
        Some(Observation::Always) => "true of every execution",
        None => "not settled within the bounds",
    };
    format!("{word} under {}", shown.memory)
}

/// `not seen in 1000 runs here`.
fn plain_of_machine(seen: &Seen) -> String {
    let runs = whole(seen.runs);
    match seen.states.observation() {
        Observation::Sometimes => {
            format!("seen in {} of {runs} runs here", whole(seen.states.positive))
        }
        Observation::Never => format!("not seen in {runs} runs here"),
        Observation::Always => format!("seen in each of {runs} runs here"),
    }
}

/// Whether a model meets the expectation.
fn expected(shown: &Shown, answer: &Answer, expect: Expect) -> String {
    let memory = shown.memory;
    let Some(observation) = answer.observation() else {
        let bound = answer.bound.map_or_else(String::new, |bound| format!(": {bound}"));
        return format!("undecided: {memory} was not explored far enough{bound}");
    };
    match (expect, observation) {
        (Expect::Never, Observation::Never) => format!("yes: {memory} forbids it, as expected"),
        (Expect::Sometimes, Observation::Sometimes) => {
            format!("yes: {memory} allows it, as expected")
        }
        (Expect::Always, Observation::Always) => {
            format!("yes: every execution under {memory} shows it, as expected")
        }
        (Expect::Never, Observation::Sometimes) => {
            format!("no: {memory} allows what was expected never to happen")
        }
        (Expect::Never, Observation::Always) => {
            format!("no: every execution under {memory} shows what was expected never to happen")
        }
        (Expect::Sometimes, Observation::Never) => {
            format!("no: {memory} forbids what was expected to happen sometimes")
        }
        (Expect::Sometimes, Observation::Always) => {
            format!("no: every execution under {memory} shows what was expected only sometimes")
        }
        (Expect::Always, Observation::Sometimes) => {
            format!("no: {memory} also allows executions without what was expected always")
        }
        (Expect::Always, Observation::Never) => {
            format!("no: {memory} forbids what was expected always to happen")
        }
    }
}

/// Whether the machine meets the expectation. If it does not settle that and a model does, that is not a verdict.
fn expected_of_machine(seen: &Seen, expect: Expect, alone: bool) -> String {
    let plain = plain_of_machine(seen);
    match seen.meets(expect) {
        Some(true) => format!("yes: {plain}, as expected"),
        Some(false) => {
            let expected = match expect {
                Expect::Never => "never",
                Expect::Sometimes => "only sometimes",
                Expect::Always => "always",
            };
            format!("no: {plain}, but expected {expected}")
        }
        None if alone => format!("undecided: {plain}, which settles nothing"),
        None => format!("not settled by the machine: {plain}"),
    }
}
