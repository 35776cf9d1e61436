//! What a program does by itself, it does observed.

use super::observed;
use std::process::Command;
use uncontended_testkit::programs::Program;

/// The lines of a program's output that say what its calls returned.
fn results(said: &str) -> Vec<&str> {
    said.lines().filter(|line| line.starts_with("results ")).collect()
}

#[test]
fn robust_and_protected_mutexes_are_not_tried_first() {
    let program = Program::compile("not_tried", &[]);
    let bare = Command::new(program.path()).output().unwrap();
    assert_eq!(bare.status.code(), Some(0));
    let bare = String::from_utf8(bare.stdout).unwrap();
    let (report, said) = observed(&[], "not_tried", &[], 0);
    assert_eq!(super::unmet(&report, &said), Vec::<String>::new());
    assert_eq!(results(&said), results(&bare));
}
