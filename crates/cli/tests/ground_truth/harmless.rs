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

/// What threads use of the smallest stacks, and fibers of theirs, stays theirs.
#[test]
fn small_stacks_suffice() {
    super::check_with("tight_stack", &[], 0);
    super::check_with("tight_stack", &["fiber"], 0);
}

/// A library that the user preloads gets the calls that the program makes, and no others.
#[test]
fn a_preloaded_library_gets_the_programs_calls() {
    let program = Program::compile("interposed", &[]);
    for (flags, calls) in [(&[][..], "seen"), (&["-DOWN"][..], "own")] {
        let library = Program::compile("interposer", &[&["-shared", "-fPIC"], flags].concat());
        let json = program.folder().file("run.json");
        let output = Command::new(env!("CARGO_BIN_EXE_unc"))
            .args(["run", "--quiet", "--no-history", "--json"])
            .arg(&json)
            .arg("--")
            .arg(program.path())
            .arg(calls)
            .env("LD_PRELOAD", library.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(results(&said), ["results 1000 0 1000"], "{calls}");
        let report = std::fs::read_to_string(&json).unwrap();
        let unmet = super::unmet(&serde_json::from_str(&report).unwrap(), &said);
        assert_eq!(unmet, Vec::<String>::new());
    }
}
