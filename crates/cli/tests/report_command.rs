//! `unc report` reads what `unc run --trace` kept, and refuses anything else with one clear line and status 2.

mod common;
use common::{Folder, status, stderr, stdout, unc, unc_run};

/// A trace of a small run and the JSON of the same run.
fn kept(folder: &Folder) -> (String, String) {
    let (trace, json) = (folder.file("run.unc"), folder.file("run.json"));
    let output = unc_run(&["--quiet", "--trace", &trace, "--json", &json])
        .args(["sh", "-c", "exit 3"])
        .output()
        .unwrap();
    assert_eq!(status(&output), 3, "{}", stderr(&output));
    (trace, json)
}

#[test]
fn a_kept_trace_gives_the_same_report_as_the_run() {
    let folder = Folder::new();
    let (trace, json) = kept(&folder);
    let output = unc().args(["report", &trace, "--json", "-"]).output().unwrap();
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output), std::fs::read_to_string(json).unwrap());
}

#[test]
fn every_form_can_be_made_of_a_kept_trace() {
    let folder = Folder::new();
    let (trace, _) = kept(&folder);
    for flag in ["--report", "--json", "--html", "--folded", "--perfetto"] {
        let file = folder.file("form");
        let output = unc().args(["report", &trace, flag, &file]).output().unwrap();
        assert_eq!(status(&output), 0, "{flag}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{flag}");
        let written = std::fs::read_to_string(&file).unwrap();
        let output = unc().args(["report", &trace, flag, "-"]).output().unwrap();
        assert_eq!((status(&output), stdout(&output)), (0, written), "{flag}");
        let run = folder.file("run-form");
        let output = unc_run(&["--quiet", flag, &run]).arg("true").output().unwrap();
        assert!(status(&output) == 0 && std::fs::metadata(&run).is_ok(), "{flag}");
    }
    assert!(!std::path::Path::new("-").exists());
    let output = unc().args(["report", &trace]).output().unwrap();
    assert_eq!(status(&output), 0);
    assert!(!stdout(&output).is_empty());
    let output = unc().args(["report", "--quiet", &trace]).output().unwrap();
    assert_eq!((status(&output), stdout(&output)), (0, String::new()), "it is a trace");
}

/// Other tools name their output so.
#[test]
fn flags_of_other_tools_are_answered_with_those_that_are_meant() {
    for words in [["report", "--output=x", "run.unc"], ["report", "-o", "x"], ["attach", "-o", "1"]]
    {
        let output = unc().args(words).output().unwrap();
        let error = stderr(&output);
        assert!(error.contains("did you mean --report FILE (text), --json FILE"), "{error}");
        assert_ne!(status(&output), 0, "{words:?}");
    }
}

#[test]
fn a_report_in_a_file_is_as_wide_as_columns_says() {
    let folder = Folder::new();
    let (trace, _) = kept(&folder);
    let widest = |columns: Option<&str>| {
        let mut command = unc();
        command.args(["report", &trace]).env_remove("COLUMNS");
        command.envs(columns.map(|columns| ("COLUMNS", columns)));
        let output = command.output().unwrap();
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        let file = folder.file("text");
        command.args(["--report", &file]).output().unwrap();
        assert_eq!(stdout(&output), std::fs::read_to_string(&file).unwrap(), "--report is as wide");
        stdout(&output).lines().map(|line| line.chars().count()).max().unwrap()
    };
    let usual = widest(None);
    assert!((81..=100).contains(&usual) && widest(Some("60")) <= 60 && widest(Some("150")) > 100);
    assert_eq!([widest(Some("0")), widest(Some("wide")), widest(Some("9999999"))], [usual; 3]);
}

/// One clear line with the cause, one with the remedy, status 2, nothing on stdout.
fn refused(path: &str, why: &str) {
    let output = unc().args(["report", path]).output().unwrap();
    assert_eq!(status(&output), 2, "{path}: {}", stderr(&output));
    assert_eq!(stdout(&output), "");
    assert!(
        stderr(&output).starts_with("unc: ") && stderr(&output).contains(why),
        "{path}: {}",
        stderr(&output)
    );
    assert!(stderr(&output).lines().count() <= 2, "{}", stderr(&output));
}

#[test]
fn what_is_no_trace_is_refused() {
    let folder = Folder::new();
    let empty = folder.file("empty");
    std::fs::write(&empty, "").unwrap();
    refused(&empty, "not a trace");
    refused("/etc/passwd", "not a trace");
    refused("/no/such/file", "no such file");
    refused("/", "it is a folder");
}

#[test]
fn a_truncated_or_changed_trace_is_refused() {
    let folder = Folder::new();
    let (trace, _) = kept(&folder);
    let bytes = std::fs::read(&trace).unwrap();
    let broken = folder.file("broken");
    for keep in [bytes.len() - 1, bytes.len() / 2, 100] {
        std::fs::write(&broken, &bytes[..keep]).unwrap();
        refused(&broken, "its end is missing");
    }
    for at in [0, 100, bytes.len() / 2, bytes.len() - 50] {
        let mut changed = bytes.clone();
        changed[at] ^= 0x55;
        std::fs::write(&broken, &changed).unwrap();
        refused(&broken, "changed");
    }
    let mut other = bytes.clone();
    let at = other.len() - 32;
    other[at] = 77;
    std::fs::write(&broken, &other).unwrap();
    refused(&broken, "version 77");
}

#[test]
fn an_output_of_a_report_that_cannot_be_written_is_said() {
    let folder = Folder::new();
    let (trace, _) = kept(&folder);
    let output = unc().args(["report", &trace, "--json", "/dev/full"]).output().unwrap();
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("/dev/full could not be written"));
}
