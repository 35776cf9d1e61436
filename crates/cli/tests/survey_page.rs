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
