//! `unc history`, `unc completions` and `unc man`, as a user runs them.

mod common;

use common::*;
use std::process::{Command, Output};

fn unc_at(home: &Folder, arguments: &[&str]) -> Output {
    let mut command: Command = unc();
    command
        .args(arguments)
        .env("XDG_STATE_HOME", home.path())
        .env("XDG_CACHE_HOME", home.path())
        .output()
        .unwrap()
}

#[test]
fn runs_are_kept_listed_shown_and_compared() {
    let home = Folder::new();
    let none = unc_at(&home, &["history"]);
    assert!(status(&none) == 0 && stdout(&none).contains("No run is kept yet"));
    assert_eq!(status(&unc_at(&home, &["history", "show", "last"])), 2);

    assert_eq!(status(&unc_at(&home, &["run", "--quiet", "--", "sh", "-c", "exit 3"])), 3);
    assert_eq!(status(&unc_at(&home, &["run", "--quiet", "--no-history", "--", "true"])), 0);
    assert_eq!(status(&unc_at(&home, &["run", "--quiet", "--", "true"])), 0);

    let list = stdout(&unc_at(&home, &["history"]));
    assert!(
        list.contains("sh -c 'exit 3'") && list.contains("true") && list.lines().count() == 4,
        "{list}"
    );
    let data: serde_json::Value =
        serde_json::from_str(&stdout(&unc_at(&home, &["history", "--json", "-"]))).unwrap();
    assert_eq!((&data[0]["exit_status"], &data[1]["number"]), (&3.into(), &2.into()));
    assert!(stdout(&unc_at(&home, &["history", "show", "1"])).starts_with("sh -c 'exit 3'\n"));
    let shown: serde_json::Value =
        serde_json::from_str(&stdout(&unc_at(&home, &["history", "show", "last", "--json", "-"])))
            .unwrap();
    assert_eq!(shown["schema"], "uncontended.run/1");
    let page = stdout(&unc_at(&home, &["history", "show", "1", "--html", "-"]));
    assert!(page.starts_with("<!DOCTYPE html>"));
    let diff = stdout(&unc_at(&home, &["history", "diff", "1", "last"]));
    assert!(diff.contains("before  run 1:") && diff.contains("unc compare"), "{diff}");
    let missing = unc_at(&home, &["history", "diff", "1", "99"]);
    assert_eq!(status(&missing), 2);
    assert!(stderr(&missing).contains("there is no run 99"));
    assert_eq!(status(&unc_at(&home, &["history", "show", "first"])), 2);
}

#[test]
fn a_history_that_cannot_be_written_harms_no_run() {
    let home = Folder::new();
    std::fs::write(home.file("uncontended"), "a file where a folder should be").unwrap();
    let output = unc_at(&home, &["run", "--quiet", "--", "sh", "-c", "echo fine; exit 4"]);
    assert_eq!((status(&output), stdout(&output).as_str()), (4, "fine\n"));
    assert!(
        stderr(&output).contains("the run was not added to the history"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let text = stdout(&unc().args(["completions", shell]).output().unwrap());
        assert!(text.contains("history") && text.contains("no-hold"), "{shell}");
    }
    let (terms, help) = (["terms"], ["help", "terms"]);
    let [terms, help] =
        [&terms[..], &help].map(|words| stdout(&unc().args(words).output().unwrap()));
    assert!(terms.contains("  barged  ") && help.contains(&terms), "{help}");
    let folder = Folder::new();
    let pages = folder.file("man1");
    assert_eq!(status(&unc().args(["man", &pages]).output().unwrap()), 0);
    let run = std::fs::read_to_string(format!("{pages}/unc-run.1")).unwrap();
    assert!(run.contains(".TH") && run.contains("no\\-hold"), "{run}");
    assert!(std::path::Path::new(&format!("{pages}/unc-history-diff.1")).exists());
    let refused = unc().args(["man", "/proc/nowhere"]).output().unwrap();
    assert!(status(&refused) == 2 && stderr(&refused).contains("/proc/nowhere"));
}
