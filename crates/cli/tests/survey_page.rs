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
    assert!(page.contains("<td>Futex</td>"), "a row of a table");
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
    assert!(
        refused(&["locks", "--lock", "Ttas<HintThenYeild>"]).contains("did you mean ttas-yield?")
    );
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
    assert!(shown.contains("\n7 threads\n"), "{shown}");
}

/// A queue of spinning threads, of which most have no CPU, would take a time slice for each hand-off.
#[test]
fn a_lock_that_is_handed_over_to_spinners_is_left_out_with_many_threads() {
    let output = unc()
        .args(["survey", "locks", "-q", "--lock", "ticket", "--threads", "1000", "--budget", "2s"])
        .output()
        .unwrap();
    let shown = common::stdout(&output);
    let left_out = "not measured: Ticket<Hint> by 1000 threads: ";
    assert!(shown.contains(left_out) && shown.contains("\n1,000 threads\n"), "{shown}");
}

/// What has no room is named, and a page has it.
#[test]
fn columns_that_have_no_room_are_named() {
    let output = unc()
        .args(["survey", "locks", "-q", "--lock", "futex", "--budget", "2s"])
        .env("COLUMNS", "44")
        .output()
        .unwrap();
    let shown = common::stdout(&output);
    assert!(shown.contains("columns left out: ") && shown.contains("--html"), "{shown}");
}

/// A user who asks what a topic is finds the topics in the help.
#[test]
fn the_help_lists_the_topics_with_or_without_one() {
    for arguments in [&["survey", "--help"][..], &["survey", "locks", "--help"]] {
        let output = unc().args(arguments).output().unwrap();
        let shown = common::stdout(&output);
        for topic in
            ["machine", "contention", "locks", "fences", "scale", "spawn", "jitter", "affinity"]
        {
            assert!(shown.contains(&format!("  {topic} ")), "{topic}: {shown}");
        }
    }
}

/// A lock has one name, the library's, and is found by it, in any case, or by a short one for a shell.
#[test]
fn a_lock_is_asked_for_by_its_type_or_by_a_short_name() {
    let output = unc()
        .args(["survey", "locks", "-q", "--lock", "mcs<spinthenpark>", "--lock", "ttas-yield"])
        .args(["--lock", "combining", "--lock", "delegate", "--lock", "seqlock"])
        .args(["--budget", "3s", "--json", "-"])
        .output()
        .unwrap();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = found["topics"][0]["rows"].as_array().unwrap();
    for name in ["std", "Mcs<SpinThenPark>", "Ttas<HintThenYield>", "Combining", "delegate"] {
        let row = rows.iter().find(|row| row["name"] == name && row["threads"] == 2);
        let row = row.unwrap_or_else(|| panic!("{name} among {rows:?}"));
        assert!(row["failed"].is_null() && row["wait_ns"].as_f64().unwrap() > 0.0, "{row}");
        let worst = row["worst_wait_is_cut"].as_array().unwrap();
        assert!(worst.len() == 4 && row["intervals"]["wait_ns"].is_object(), "{row}");
    }
    let readers = |name: &str| {
        let mut rows = rows.iter().filter(|row| !row["one_write_in"].is_null());
        rows.find(|row| row["name"] == name && row["threads"] == 2).unwrap().clone()
    };
    assert_eq!(readers("std RwLock")["role"], "baseline");
    assert!(
        readers("SeqLock")["failed"].is_null() && readers("SeqLock")["ns"].as_f64() > Some(0.0)
    );
    assert!(!rows.iter().any(|row| row["name"] == "Bravo<PhaseFair<Spin>>"), "not asked for");
}
