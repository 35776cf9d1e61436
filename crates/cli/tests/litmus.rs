//! `unc litmus` end to end: what it prints, its JSON, its exit statuses, and what it says of bad input.

mod common;

use common::{text, unc_reads};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Output;

const SB: &str = "X86_64 SB\n{ uint64_t x; uint64_t y; }\n P0 | P1 ;\n movq $1,(x) | movq $1,(y) ;\n \
                  movq (y),%rax | movq (x),%rax ;\nexists (0:rax=0 /\\ 1:rax=0)\n";

fn unc(arguments: &[&str], input: &str) -> Output {
    unc_reads(&[&["litmus"][..], arguments].concat(), input)
}

fn scratch(name: &str) -> PathBuf {
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("litmus-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder.join(name)
}

#[test]
fn states_and_observation_are_printed_as_herd_does() {
    let output = unc(&["-", "--model", "tso"], SB);
    assert_eq!(output.status.code(), Some(0));
    let expected = "SB: allowed under tso (0:rax=0 /\\ 1:rax=0)\nTest SB Allowed (tso)\nStates 4\n       1 *>0:rax=0; 1:rax=0;\n       1 :>0:rax=0; 1:rax=1;\n       \
                    1 :>0:rax=1; 1:rax=0;\n       1 :>0:rax=1; 1:rax=1;\nWitnesses\nPositive: 1 Negative: 3\n\
                    Condition exists (0:rax=0 /\\ 1:rax=0)\nObservation SB Sometimes 1 3\n\n";
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn the_document_keeps_its_contract() {
    let output = unc(&["-", "/no/such/file", "--json", "-"], SB);
    assert_eq!(output.status.code(), Some(2));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["schema"], "uncontended.litmus/1");
    let test = &document["tests"][0];
    assert_eq!((&test["name"], &test["path"]), (&"SB".into(), &"-".into()));
    assert_eq!(test["cond"], "exists (0:rax=0 /\\ 1:rax=0)");
    let states =
        ["0:rax=0; 1:rax=0;", "0:rax=0; 1:rax=1;", "0:rax=1; 1:rax=0;", "0:rax=1; 1:rax=1;"];
    let answer = |states: &[&str], obs: &str, pos: u64, neg: u64| {
        serde_json::json!({
            "states": states, "obs": obs, "pos": pos, "neg": neg, "bound": null, "blocked": 0
        })
    };
    assert_eq!(test["sc"], answer(&states[1..], "Never", 0, 3));
    assert_eq!(test["tso"], answer(&states, "Sometimes", 1, 3));
    assert_eq!(document["refused"][0]["path"], "/no/such/file");
    assert!(
        document["refused"][0]["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("No such file"))
    );
    assert!(text(&output.stderr).contains("Observation SB Sometimes 1 3"), "text goes to stderr");
}

#[test]
fn expectations_decide_the_exit_status() {
    let status = |arguments: &[&str], input: &str| unc(arguments, input).status.code();
    assert_eq!(
        status(&["-", "--expect", "sometimes"], SB),
        Some(0),
        "without --model, TSO is meant"
    );
    assert_eq!(status(&["-", "--expect", "never"], SB), Some(1));
    assert_eq!(status(&["-", "--expect", "never", "--model", "sc"], SB), Some(0));
    assert_eq!(status(&["-", "--expect", "sometimes", "--model", "sc,tso"], SB), Some(1));
    assert_eq!(
        status(&["-", "--expect", "always"], &SB.replace("(0:rax=0 /\\ 1:rax=0)", "(true)")),
        Some(0)
    );
    let grows = "X86_64 grows\n{}\n P0 | P1 ;\n L: incq (x) | movq (x),%rax ;\n jmp L | ;\nexists (1:rax=99)\n";
    let output = unc(&["-", "--loops", "2", "--model", "sc"], grows);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text(&output.stdout).contains("Unknown: loops were followed for 2 rounds"),
        "{}",
        text(&output.stdout)
    );
    let bounded = unc(&["-", "--loops", "2", "--model", "sc", "--expect", "never"], grows);
    assert_eq!(bounded.status.code(), Some(3));
    let first = "undecided: sc was not explored far enough: loops were followed for 2 rounds";
    assert!(text(&bounded.stdout).starts_with(first), "{}", text(&bounded.stdout));
}

/// The lines before herd's.
fn said(arguments: &[&str], input: &str) -> String {
    let output = text(&unc(arguments, input).stdout);
    output.lines().take_while(|line| !line.starts_with("Test ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_verdict_comes_first_in_plain_words() {
    assert_eq!(said(&["-"], SB), "SB: forbidden under sc, allowed under tso (0:rax=0 /\\ 1:rax=0)");
    let checked = |expect| said(&["-", "--model", "sc,tso", "--expect", expect], SB);
    assert_eq!(
        checked("never"),
        "yes: sc forbids it, as expected\nno: tso allows what was expected never to happen"
    );
    assert_eq!(
        checked("sometimes"),
        "no: sc forbids what was expected to happen sometimes\nyes: tso allows it, as expected"
    );
    assert_eq!(
        checked("always"),
        "no: sc forbids what was expected always to happen\n\
         no: tso also allows executions without what was expected always"
    );
    assert_eq!(
        said(&["-", "--expect", "never"], SB),
        "for information: forbidden under sc\nno: tso allows what was expected never to happen"
    );
    let always = SB.replace("(0:rax=0 /\\ 1:rax=0)", "(true)");
    let checked = |expect| said(&["-", "--model", "tso", "--expect", expect], &always);
    assert_eq!(checked("always"), "yes: every execution under tso shows it, as expected");
    let never = "no: every execution under tso shows what was expected never to happen";
    assert_eq!(checked("never"), never);
    let both = said(&["-", "-", "--model", "tso", "--expect", "never"], &always);
    assert_eq!(both, never, "the second file is empty");
}

#[test]
fn bad_input_is_refused_with_line_and_column() {
    for (from, to, expected) in [
        ("movq $1,(y)", "vmovq $1,(y)", "unc: -:4:16: unknown instruction `vmovq`"),
        ("exists (0:rax=0", "exists (0:rax", "unc: -:6:15: expected a number, found `/`"),
        ("P0 | P1", "P1 | P0", "unc: -:3:2: expected `P0`, found `P1`"),
        ("X86_64", "PPC", "unc: -:1:1: architecture `PPC` (POWER) is not supported, only X86_64"),
    ] {
        let output = unc(&["-"], &SB.replacen(from, to, 1));
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).starts_with(expected), "{}", text(&output.stderr));
        assert!(output.stdout.is_empty());
    }
    for arguments in
        [&[][..], &["--builtin", "nothing"], &["-", "--model", "arm"], &["-", "--expect", "maybe"]]
    {
        assert_eq!(unc(arguments, SB).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_trace_is_printed_and_drawn() {
    let svg = scratch("fssf.svg");
    let path = svg.to_str().expect("UTF-8");
    let output = unc(&["--builtin", "FSSF", "--model", "tso", "--trace", "--svg", path], "");
    assert_eq!(output.status.code(), Some(0));
    let shown = text(&output.stdout);
    assert!(
        shown.contains("Reached with 0 preemptions") && shown.contains("x=1 to memory"),
        "{shown}"
    );
    let drawn = std::fs::read_to_string(&svg).expect("the picture");
    assert!(
        drawn.starts_with("<svg ")
            && drawn.ends_with("</svg>\n")
            && drawn.contains("x=1 to memory")
    );
    let output = unc(&["--builtin", "FSSF+heavy", "--model", "tso", "--trace"], "");
    assert!(
        text(&output.stdout).contains("No execution shows it: all "),
        "{}",
        text(&output.stdout)
    );
    let none = scratch("none.svg");
    let path = none.to_str().expect("UTF-8");
    let output = unc(&["--builtin", "FSSF+heavy", "--expect", "never", "--svg", path], "");
    assert_eq!(output.status.code(), Some(0), "no counterexample is what was hoped for");
    assert!(text(&output.stderr).contains("no execution to draw"), "{}", text(&output.stderr));
    assert!(!none.exists());
}

#[test]
fn a_time_bound_is_stated_and_delays_count_on_it() {
    let delayed = SB.replace(" movq (y),%rax |", " mfence | ;\n delay $3 | ;\n movq (y),%rax |");
    let forbidden = unc(&["-", "--delta", "2", "--expect", "never", "--json", "-"], &delayed);
    assert_eq!(forbidden.status.code(), Some(0), "{}", text(&forbidden.stderr));
    let shown = text(&forbidden.stderr);
    assert!(shown.contains("assuming that no store waits for more than 2 ticks"), "{shown}");
    let document: Value = serde_json::from_slice(&forbidden.stdout).expect("JSON");
    let answer = &document["tests"][0]["tso"];
    assert_eq!((&answer["delta"], &answer["obs"]), (&2.into(), &"Never".into()));
    assert_eq!(answer["bound"], "executions are not counted where time is bounded");
    let status = |arguments: &[&str]| unc(arguments, &delayed).status.code();
    assert_eq!(status(&["-", "--delta", "3", "--expect", "never"]), Some(1), "too short a delay");
    assert_eq!(status(&["-", "--expect", "never"]), Some(1), "plain TSO knows no time");
    assert_eq!(status(&["-", "--delta", "2"]), Some(0), "counts are not asked for");
    assert_eq!(status(&["-", "--delta", "2", "--model", "sc"]), Some(2));
    assert_eq!(status(&["-", "--delta", "-1"]), Some(2));
}

#[test]
fn the_classics_are_listed_and_every_one_runs() {
    let listed = text(&unc(&["--list"], "").stdout);
    let mut lines = listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(lines.next().expect("a head")[..2], ["sc", "tso"]);
    let names: Vec<_> = lines.map_while(|words| words.first().copied()).collect();
    assert!(names.len() >= 15, "{listed}");
    let arguments: Vec<_> =
        names.iter().flat_map(|name| ["--builtin", name]).chain(["-j", "2"]).collect();
    let output = unc(&arguments, "");
    assert_eq!(output.status.code(), Some(0));
    let text = text(&output.stdout);
    let positions: Vec<_> = names
        .iter()
        .map(|name| text.find(&format!("Test {name} ")).expect("in the output"))
        .collect();
    assert!(positions.is_sorted(), "answers come in the order of the command line");
}
