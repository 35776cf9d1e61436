//! `unc` built for a system without an observer; on Linux, with `RUSTFLAGS="--cfg unc_portable"`.
#![cfg(not(unc_full))]

mod common;
use common::{Folder, status, stderr, stdout, unc};

#[test]
fn verbs_that_watch_programs_say_what_they_need_and_start_nothing() {
    let folder = Folder::new();
    let made = folder.file("made");
    let run = ["run", "--json", "run.json", "--", "touch", &made];
    for words in [&run[..], &["run"], &["attach", "1"], &["attach", "--for", "1s", "-p", "1"]] {
        let output = unc().args(words).output().unwrap();
        let needed = format!("unc: `unc {}` needs Linux, on x86-64 or AArch64\n", words[0]);
        assert_eq!((status(&output), stdout(&output)), (125, String::new()), "{words:?}");
        assert!(stderr(&output).starts_with(&needed), "{}", stderr(&output));
        assert!(stderr(&output).contains("`unc report FILE`"), "{}", stderr(&output));
    }
    assert!(!std::path::Path::new(&made).exists());
}

#[test]
fn the_help_says_which_verbs_need_linux() {
    let help = stdout(&unc().arg("--help").output().unwrap());
    let words: Vec<&str> = help.split_whitespace().collect();
    assert_eq!(words.join(" ").matches("(needs Linux)").count(), 2, "{help}");
    for verb in ["run", "attach"] {
        let output = unc().args(["help", verb]).output().unwrap();
        assert!(stdout(&output).contains("cannot watch programs"), "{}", stdout(&output));
    }
}

#[test]
fn a_litmus_test_runs_under_models_and_not_on_the_machine() {
    let output = unc().args(["litmus", "--builtin", "SB", "--model", "tso"]).output().unwrap();
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let output = unc().args(["litmus", "--builtin", "SB", "--model", "machine"]).output().unwrap();
    assert_eq!(status(&output), 2, "{}", stdout(&output));
    assert!(stdout(&output).contains("runs on the machine need Linux"), "{}", stdout(&output));
}

#[test]
fn a_metric_of_observed_runs_is_refused() {
    let flags = ["slo", "--metric", "run:summary.wait_ns", "--at-most", "1s", "--rate", "60%"];
    let question = [&flags[..], &["--", "true"]].concat();
    let output = unc().args(question).output().unwrap();
    assert_eq!(status(&output), 2, "{}", stdout(&output));
    assert!(stderr(&output).contains("could not be observed"), "{}", stderr(&output));
}
