//! The log of a trial reproduces its verdict bit for bit.

mod decide;

use decide::{Folder, unc, unc_reading};
use serde_json::Value;
use uncontended_stats::Rng;

/// The JSON of a trial and that of its log, without the two fields that say where the runs are.
fn both(log: &str, live: Value) -> (Value, Value) {
    let again = unc(&["verdict", log, "--quiet", "--json", "-"]);
    let strip = |mut json: Value| {
        let fields = json.as_object_mut().unwrap();
        fields.remove("log");
        fields.remove("runs");
        json
    };
    (strip(live), strip(again.json()))
}

#[test]
fn a_log_gives_the_same_verdict_again() {
    let folder = Folder::new();
    let log = folder.file("log");
    let mut rng = Rng::new(5);
    let noisy = |rng: &mut Rng| format!("{}\n", rng.unit() * 3.3e-7 + 1e-9);
    let pairs = |rng: &mut Rng| format!("{} {}\n", rng.unit() + 0.1, rng.unit() + 0.1);
    for _ in 0..10 {
        let values: String = (0..300).map(|_| noisy(&mut rng)).collect();
        let slo = [
            "slo",
            "--quiet",
            "--at-most",
            "3e-7",
            "--rate",
            ".9",
            "--from",
            "-",
            "--log",
            &log,
            "--json",
            "-",
        ];
        let (live, again) = both(&log, unc_reading(&slo, &values).json());
        assert_eq!(live, again);
        let values: String = (0..100).map(|_| pairs(&mut rng)).collect();
        let compare =
            ["compare", "--quiet", "--margin", "10%", "--from", "-", "--log", &log, "--json", "-"];
        let (live, again) = both(&log, unc_reading(&compare, &values).json());
        assert_eq!(live, again);
    }
    let commands = [
        "compare",
        "--quiet",
        "--max-runs",
        "20",
        "--ignore-failure",
        "--block",
        "1",
        "--log",
        &log,
        "--json",
        "-",
        "--",
        "true",
        "false",
        "exit 3",
    ];
    let (live, again) = both(&log, unc(&commands).json());
    assert_eq!(live, again);
    assert_eq!(live["comparisons"].as_array().unwrap().len(), 2);
}

#[test]
fn the_question_is_in_the_log_before_any_run() {
    let folder = Folder::new();
    let (log, copy) = (folder.file("log"), folder.file("copy"));
    let line = format!("cp {log} {copy}");
    let said = unc(&[
        "slo",
        "--at-most",
        "1h",
        "--rate",
        "60%",
        "--max-runs",
        "13",
        "--log",
        &log,
        "--warmup",
        "1",
        "--prepare",
        &line,
        "--",
        "true",
    ]);
    assert_ne!(said.status, 2, "{}", said.err);
    let text = std::fs::read_to_string(&log).unwrap();
    let head: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(head["head"]["schema"], "uncontended.verdict-log/1");
    assert_eq!(head["head"]["hypothesis"]["bound"]["threshold"], 3.6e12);
    let machine = &head["head"]["machine"];
    assert!(machine["kernel"].is_string() && machine["cpus"].as_u64() >= Some(1), "{machine}");
    // The copy made by the last preparation lacks the last run and the end.
    let cut = std::fs::read_to_string(&copy).unwrap();
    assert!(text.starts_with(&cut));
    assert_eq!(text.lines().count(), cut.lines().count() + 2);
}

/// A log with a verdict is replaced by a trial that runs, but not by one that cannot.
#[test]
fn an_earlier_log_stays_until_every_command_has_run() {
    let folder = Folder::new();
    let (log, link, copy) = (folder.file("log"), folder.file("link"), folder.file("copy"));
    let slo = ["slo", "--at-most", "1h", "--rate", "60%", "--bursts", "1"];
    let judge = |extra: &[&str]| unc(&[&slo[..], &["--quiet"], extra, &["--", "true"]].concat());
    judge(&["--log", &log]).assert_status(0);
    let earlier = std::fs::read_to_string(&log).unwrap();
    let is_kept = || std::fs::read_to_string(&log).unwrap() == earlier;
    let nope = folder.file("nope");
    for (line, cause) in [(&nope[..], "was not found"), ("exit 3", "failed with status 3")] {
        unc(&["compare", "--log", &log, "--", "true", line]).assert_refused(cause);
        assert!(is_kept(), "{line}");
    }
    judge(&["--log", &log, "--setup", "false"]).assert_status(2);
    assert!(is_kept(), "a setup that fails");
    // Until it replaces the earlier log, the new one is next to it, with the question before the first run.
    std::os::unix::fs::symlink(&log, &link).unwrap();
    let once = format!("test -e {copy} || cp {log}.*.new {copy}");
    let said = judge(&["--log", &link, "--prepare", &once, "--max-runs", "50"]);
    said.assert_status(0);
    let text = std::fs::read_to_string(&log).unwrap();
    let head = std::fs::read_to_string(&copy).unwrap();
    assert_eq!((head.lines().count(), text.starts_with(&head)), (1, true), "{head}");
    assert_eq!(unc(&["verdict", &link]).status, 0);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    let mut left: Vec<_> = std::fs::read_dir(std::path::Path::new(&log).parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["copy", "link", "log"]);
}

#[test]
fn a_log_that_breaks_off_still_counts() {
    let folder = Folder::new();
    let (log, cut) = (folder.file("log"), folder.file("cut"));
    unc_reading(
        &["slo", "--at-most", "2", "--rate", ".5", "--bursts", "1", "--from", "-", "--log", &log],
        &"1\n".repeat(100),
    );
    let text = std::fs::read_to_string(&log).unwrap();
    let runs = text.lines().count() - 2;
    let half: usize = text.lines().take(6).map(|line| line.len() + 1).sum();
    for (bytes, n) in [(half, 5), (half - 4, 4)] {
        std::fs::write(&cut, &text[..bytes]).unwrap();
        let said = unc(&["verdict", &cut, "--json", "-"]);
        assert_eq!((said.status, said.json()["n"].as_u64()), (3, Some(n)), "{}", said.err);
        assert_eq!(said.json()["stopped_by"], "log-cut");
    }
    assert!(runs > 5);
}

#[test]
fn a_log_that_was_changed_is_refused() {
    let folder = Folder::new();
    let log = folder.file("log");
    unc_reading(
        &["slo", "--at-most", "2", "--rate", ".5", "--bursts", "1", "--from", "-", "--log", &log],
        &"1\n".repeat(100),
    );
    let text = std::fs::read_to_string(&log).unwrap();
    let refused = |text: String, words: &str| {
        std::fs::write(&log, text).unwrap();
        unc(&["verdict", &log]).assert_refused(words);
    };
    refused(text.replace("\"value\":1.0", "\"value\":3.0"), "says 'yes', but its runs give 'no'");
    refused(text.replace("verdict-log/1", "verdict-log/9"), "its schema is");
    refused(
        text.replacen("\"rate\":0.5", "\"rate\":1.5", 1),
        "is not a rate: it must be above 0 and below 1",
    );
    refused(
        text.lines().skip(1).map(|line| format!("{line}\n")).collect(),
        "line 1: no head before it",
    );
    refused(text.clone() + &text, "line");
    refused(text.replacen("{\"run\"", "{\"walk\"", 1), "line 2");
    refused(String::new(), "there is nothing in it");
    unc(&["verdict", "/nonexistent"]).assert_refused("/nonexistent");
}
