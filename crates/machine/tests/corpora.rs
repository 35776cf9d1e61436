//! Litmus files next to the repository, if there are any: the machine shows nothing that TSO forbids.

mod common;

use common::{allowed, histogram};
use std::path::PathBuf;
use uncontended_model::litmus::parse;
use uncontended_testkit::{is_full, repetitions, skip};

#[test]
fn generated_tests_show_nothing_that_tso_forbids() {
    let name = "generated_tests_show_nothing_that_tso_forbids";
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpora/litmus-gen/tests");
    let Ok(entries) = std::fs::read_dir(folder) else {
        return skip!(name, "no {folder}");
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let runs = repetitions("runs of each generated test", 5_000, 500_000);
    let every = if is_full() { 1 } else { 10 };
    let mut checked = 0;
    for path in paths.iter().step_by(every) {
        let text = std::fs::read_to_string(path).expect("a test file is readable");
        let test = parse(&text).expect("a test of the corpus parses");
        let Some(seen) = histogram(&test.name, &test.program, runs) else { return };
        let allowed = allowed(&test.program);
        for (outcome, count) in &seen.states {
            let line = test.line(outcome);
            assert!(allowed.contains(outcome), "{}: forbidden, {count} times: {line}", test.name);
        }
        checked += 1;
    }
    assert!(checked > 0, "the folder {folder} holds no tests");
}
