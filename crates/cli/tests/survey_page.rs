//! The page of `unc survey`: whole, self-contained, with a picture for each topic that has one.

mod common;

use common::{Folder, status, stderr, unc};

#[test]
fn a_page_has_pictures_and_tables_and_loads_nothing() {
    let folder = Folder::new();
    let file = folder.file("survey.html");
    let output = unc()
        .args(["survey", "contention", "locks", "jitter", "machine", "-q", "--budget", "4s"])
        .args(["--lock", "futex", "--html", &file])
        .output()
        .unwrap();
    assert!([0, 3].contains(&status(&output)), "{}", stderr(&output));
    let page = std::fs::read_to_string(file).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    for expected in ["From the cheapest to the dearest", "Locks by threads", "Gaps", "processor"] {
        assert!(page.contains(expected), "{expected}");
    }
    assert!(page.contains("<td>futex</td>"), "a row of a table");
    for request in ["http://", "https://", "src=", "<link", "url("] {
        assert!(!page.contains(request), "{request}");
    }
    let open = page.matches("<section").count();
    assert_eq!((open, page.matches("</section>").count()), (4, 4));
}

#[test]
fn a_lock_that_is_not_known_is_refused_with_the_nearest_name() {
    let refused = |arguments: &[&str]| {
        let output = unc().arg("survey").args(arguments).output().unwrap();
        assert_eq!(status(&output), 2);
        stderr(&output)
    };
    assert!(refused(&["locks", "--lock", "futx"]).contains("did you mean futex?"));
    assert!(refused(&["contention", "--lock", "futex"]).contains("add the topic locks"));
    assert!(refused(&["lock"]).contains("did you mean locks?"));
}

#[test]
fn what_could_not_be_measured_ends_with_status_2() {
    let output = unc().args(["survey", "scale", "-q", "--threads", "1"]).output().unwrap();
    assert_eq!(status(&output), 2, "{}", common::stdout(&output));
}

#[test]
fn an_interrupted_survey_says_so_and_prints_what_it_has() {
    let folder = Folder::new();
    let file = folder.file("survey.json");
    let mut child = unc()
        .args(["survey", "contention", "machine", "-q", "--budget", "30s", "--json", &file])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert!(!child.wait().unwrap().success(), "it ends as if the signal had ended it");
    let found: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let contention = &found["topics"].as_array().unwrap()[1];
    assert_eq!(contention["topic"], "contention");
    assert_eq!(contention["stopped_by"], "interrupted");
}

#[test]
fn as_many_threads_are_measured_as_are_asked_for() {
    let output = unc()
        .args(["survey", "locks", "-q", "--lock", "futex", "--threads", "7", "--budget", "2s"])
        .output()
        .unwrap();
    let shown = common::stdout(&output);
    assert!(shown.contains("7 threads, OTHER"), "{shown}");
}
