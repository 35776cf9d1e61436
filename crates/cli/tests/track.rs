//! `unc track`, as a user runs it: from logs to series, statuses and forms; bad input.

mod decide;

use decide::{Folder, Said, command, said};
use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The log of a verdict about these values, in milliseconds.
fn log(folder: &Folder, name: &str, values: &[f64]) -> String {
    let text = values.iter().fold(String::new(), |mut text, value| {
        let _ = writeln!(text, "{value} ms");
        text
    });
    let (values, log) = (folder.file("values"), folder.file(name));
    std::fs::write(&values, text).unwrap();
    let words = ["slo", "--at-most", "1s", "--rate", "90%", "--quiet"];
    let asked = at(folder, &[&words[..], &["--from", &values, "--log", &log]].concat());
    asked.assert_status(0);
    log
}

/// `unc` with what it keeps in the folder, and the folder as the current one.
fn at(folder: &Folder, words: &[&str]) -> Said {
    let mut command = command(words);
    command.env("XDG_STATE_HOME", folder.path()).env("COLUMNS", "100");
    said(command.current_dir(folder.path()).output().unwrap())
}

/// The log of the nth verdict: medians about 5 ms, then 6 ms.
fn nth(folder: &Folder, nth: u32) -> String {
    let median = f64::from(nth * 7 % 20) / 100.0 + if nth < 20 { 5.0 } else { 6.0 };
    let values: Vec<f64> = (0..101).map(|at| median + f64::from(at - 50) / 1000.0).collect();
    log(folder, &format!("{nth}.log"), &values)
}

#[test]
fn a_change_fails_the_verdict_that_shows_it() {
    let folder = Folder::new();
    let mut statuses = Vec::new();
    for verdict in 0..26 {
        let log = nth(&folder, verdict);
        let revision = format!("r{verdict}");
        let said = at(&folder, &["track", &log, "--name", "request", "--revision", &revision]);
        statuses.push(said.status);
        if said.status == 1 {
            assert!(said.out.starts_with("worse: request: median of the value\n"), "{}", said.out);
            assert!(said.out.contains("since verdict 21 (revision r20)"), "{}", said.out);
        }
    }
    let expected = [vec![3; 12], vec![0; 11], vec![1], vec![3; 2]].concat();
    assert_eq!(statuses, expected, "too little, no change, the change, and too little again");
    let again = at(&folder, &["track", "25.log", "--name", "request", "--revision", "r25"]);
    again.assert_status(3);
    assert!(again.err.contains("kept already"), "{}", again.err);
    let list = at(&folder, &["track"]);
    list.assert_status(0);
    assert!(list.out.contains("request: median of the value") && list.out.contains("at r20"));
    let json = at(&folder, &["track", "--show", "1", "--json", "-"]);
    json.assert_status(3);
    let series = &json.json()["series"][0];
    assert_eq!(
        (&series["changes"][0]["since"], &series["changes"][0]["turn"]),
        (&21.into(), &"worse".into())
    );
    assert_eq!((&json.json()["newest"], &series["compared"]), (&"too-little".into(), &2.into()));
    assert!(json.err.starts_with("too little history: request"), "people read standard error then");
    let page = at(&folder, &["track", "--html", "-"]);
    assert!(page.out.starts_with("<!DOCTYPE html>") && page.out.contains("worse"));
}

#[test]
fn a_comparison_gives_its_ratio_or_its_own_value() {
    let folder = Folder::new();
    let pairs: String = (0..40).map(|at| format!("{} {}\n", 10 + at % 3, 12 + at % 3)).collect();
    std::fs::write(folder.file("pairs"), pairs).unwrap();
    let words = ["compare", "--from", "pairs", "--no-tail-guard", "--log", "c.log", "--quiet"];
    at(&folder, &words).assert_status(1);
    let file = ["--file", "kept.jsonl", "--json", "-"];
    let ratio = at(&folder, &[&["track", "c.log"][..], &file].concat()).json();
    let median =
        at(&folder, &[&["track", "c.log", "--follow", "median"][..], &file].concat()).json();
    let [ratio, median] = [&ratio["series"][0], &median["series"][0]];
    assert_eq!(
        (&ratio["of"]["figure"], &ratio["of"]["unit"]),
        (&"median ratio".into(), &"".into())
    );
    assert!((ratio["level"].as_f64().unwrap() - 14.0 / 12.0).abs() < 0.05, "{ratio}");
    assert_eq!((&median["of"]["figure"], &median["level"]), (&"median".into(), &13.0.into()));
    assert_eq!(median["number"], 2);
}

#[test]
fn runs_without_a_question_have_a_median() {
    let folder = Folder::new();
    let record =
        ["record", "--runs", "5", "-o", "r.log", "--metric", "regex:(.*)", "--", "echo", "7"];
    at(&folder, &record).assert_status(0);
    let kept = at(&folder, &["track", "r.log", "--file", "kept.jsonl", "--json", "-"]);
    kept.assert_status(3);
    let series = &kept.json()["series"][0];
    assert_eq!((&series["of"]["name"], &series["level"]), (&"echo 7".into(), &7.0.into()));
    assert_eq!(series["values"][0]["runs"], 5);
    assert!(kept.err.lines().any(|line| line.ends_with(" recorded")), "{}", kept.err);
}

#[test]
fn the_revision_is_the_one_that_was_measured() {
    if Command::new("git").arg("--version").output().is_err() {
        return uncontended_testkit::skip!("the_revision_is_the_one_that_was_measured", "no git");
    }
    let folder = Folder::new();
    let log = nth(&folder, 0);
    let revision = |log: &str| {
        let said = at(&folder, &["track", log, "--file", "kept.jsonl", "--json", "-"]).json();
        let values = said["series"][0]["values"].as_array().unwrap().clone();
        values.last().unwrap()["revision"].clone()
    };
    let outside = revision(&log);
    assert!(outside.is_null(), "no repository has no revision: {outside}");
    let git = |words: &[&str]| {
        let identity = ["-c", "user.name=A", "-c", "user.email=a@b.example"];
        let mut command = Command::new("git");
        let done = command.current_dir(folder.path()).args(identity).args(words).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet"]);
    let commit = |text: &str| {
        std::fs::write(folder.file("source"), text).unwrap();
        git(&["add", "source"]);
        git(&["commit", "--quiet", "-m", text]);
        git(&["rev-parse", "HEAD"])
    };
    let measured = commit("first");
    let log = nth(&folder, 1);
    let now = commit("second");
    assert_eq!(revision(&log), measured[..12], "not what is checked out now");
    std::fs::write(folder.file("source"), "changed").unwrap();
    assert_eq!(revision(&nth(&folder, 2)), format!("{}-dirty", &now[..12]));
    // An older log does not say.
    let older = folder.file("older.log");
    let text = std::fs::read_to_string(nth(&folder, 3)).unwrap();
    let origin = text.find(",\"origin\":").unwrap();
    let end = origin + text[origin..].find('}').unwrap() + 1;
    std::fs::write(&older, format!("{}{}", &text[..origin], &text[end..])).unwrap();
    assert_eq!(revision(&older), format!("{}-dirty", &now[..12]));
}

/// Eight at once, each with a verdict of its own and one that all have: nine verdicts are kept, each once.
#[test]
fn verdicts_that_are_added_at_once_are_all_kept_and_none_twice() {
    let folder = Folder::new();
    let logs: Vec<String> = (0..9).map(|verdict| nth(&folder, verdict)).collect();
    for round in 0..5 {
        let file = format!("kept{round}.jsonl");
        let adds = logs[1..].iter().map(|log| {
            let mut add = command(&["track", log, &logs[0], "--file", &file]);
            add.current_dir(folder.path()).stdout(Stdio::null()).spawn().unwrap()
        });
        for add in adds.collect::<Vec<_>>() {
            assert_eq!(add.wait_with_output().unwrap().status.code(), Some(3));
        }
        let kept = std::fs::read_to_string(folder.file(&file)).unwrap();
        assert_eq!(kept.lines().count(), 9, "{kept}");
        let shown = at(&folder, &["track", "--show", "1", "--file", &file, "--json", "-"]).json();
        assert_eq!(shown["series"][0]["values"].as_array().unwrap().len(), 9);
    }
}

/// A process that keeps the lock does not hold the others up without end.
#[test]
fn a_file_that_stays_locked_is_said() {
    let folder = Folder::new();
    let log = nth(&folder, 0);
    std::fs::write(folder.file("kept.jsonl"), "").unwrap();
    let held = std::fs::File::open(folder.file("kept.jsonl")).unwrap();
    let lock = uncontended_sys::filelock::exclusive(&held, Duration::ZERO).unwrap();
    assert!(lock, "no other process has it");
    let said = at(&folder, &["track", &log, "--file", "kept.jsonl"]);
    said.assert_refused("kept.jsonl is being written by another process");
    drop(held);
    at(&folder, &["track", &log, "--file", "kept.jsonl"]).assert_status(3);
}

/// A name with a mistake in it starts no history in silence.
#[test]
fn a_new_history_is_said_and_a_missing_folder_refused() {
    let folder = Folder::new();
    let log = nth(&folder, 0);
    at(&folder, &["track", &log, "--file", "hsitory/kept.jsonl"])
        .assert_refused("hsitory/kept.jsonl: there is no folder hsitory");
    assert!(!std::path::Path::new(&folder.file("hsitory")).exists());
    let file = ["--file", "kept.jsonl"];
    let first = at(&folder, &[&["track", &log], &file[..]].concat());
    assert!(first.err.contains("kept.jsonl is new: its history begins here"), "{}", first.err);
    let second = at(&folder, &[&["track", &nth(&folder, 1)], &file[..]].concat());
    assert_eq!(second.err, "");
    // The folder of what is kept by default is made, once.
    let kept = at(&folder, &["track", &log]);
    kept.assert_status(3);
    assert_eq!(kept.err, "");
}

/// A step of GitHub Actions learns of the newest verdicts.
#[test]
fn a_step_of_github_actions_learns_of_a_change() {
    let folder = Folder::new();
    let logs: Vec<String> = (0..24).map(|verdict| nth(&folder, verdict)).collect();
    let logs: Vec<&str> = logs.iter().map(String::as_str).collect();
    let track = |logs: &[&str]| {
        let words =
            [&["track", "--github", "--file", "kept.jsonl", "--name", "a|b"], logs].concat();
        let mut command = command(&words);
        command.env("GITHUB_STEP_SUMMARY", folder.file("summary"));
        said(command.current_dir(folder.path()).output().unwrap())
    };
    let early = track(&logs[..1]);
    early.assert_status(3);
    assert!(
        early.out.contains("\n::notice title=unc::too little history: a|b: median"),
        "{}",
        early.out
    );
    let change = track(&logs);
    change.assert_status(1);
    assert!(
        change.out.contains("\n::error title=unc::worse: a|b: median of the value"),
        "{}",
        change.out
    );
    let summary = std::fs::read_to_string(folder.file("summary")).unwrap();
    let rows: Vec<&str> = summary.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(rows.len(), 2 * 2, "{summary}");
    assert!(
        rows[3].contains(r"a\|b: median of the value") && rows[3].ends_with("| worse |"),
        "{summary}"
    );
    let outside = at(&folder, &["track", "--github", "--file", "kept.jsonl"]);
    outside.assert_refused("--github: GITHUB_STEP_SUMMARY is not set");
}

#[test]
fn bad_input_is_refused_and_nothing_is_lost() {
    let folder = Folder::new();
    let log = nth(&folder, 0);
    at(&folder, &["track", &log, "--file", "kept.jsonl"]).assert_status(3);
    let kept = || std::fs::read_to_string(folder.file("kept.jsonl")).unwrap();
    let before = kept();
    std::fs::write(folder.file("foreign"), "some text\n").unwrap();
    std::fs::write(folder.file("values"), "1\n2\n3\n").unwrap();
    at(&folder, &["permute", "values", "values", "--log", "p.log"]).assert_status(1);
    let cases: [(&[&str], &str); 10] = [
        (&["track", "missing.log"], "missing.log"),
        (&["track", "p.log"], "no figure to follow"),
        (&["track", "foreign"], "line 1"),
        (&["track", &log, "foreign"], "foreign"),
        (&["track", &log, "--file", "foreign"], "no verdict that `unc track` kept"),
        (&["track", &log, "--json", &log], "both name"),
        (&["track", "--html", "kept.jsonl", "--file", "kept.jsonl"], "both name"),
        (&["track", "--show", "2", "--file", "kept.jsonl"], "there is no series 2"),
        (&["track", &log, "--follow", "median"], "only a comparison"),
        (&["track", "--max-error", "0", "--file", "kept.jsonl"], "--max-error"),
    ];
    for (words, cause) in cases {
        at(&folder, words).assert_refused(cause);
    }
    assert_eq!(kept(), before);
    assert_eq!(std::fs::read_to_string(folder.file("foreign")).unwrap(), "some text\n");
    let failed = at(&folder, &["track", "missing.log", "--json", "-"]);
    let json: serde_json::Value = serde_json::from_str(&failed.out).unwrap();
    assert_eq!(
        (&json["schema"], &json["verdict"]),
        (&"uncontended.track/1".into(), &"error".into())
    );
}
