//! `unc compare` with several metrics and percentiles: questions about the same runs, with one error bound for all.

mod decide;

use decide::{Folder, unc};

#[test]
fn each_metric_of_the_same_runs_is_judged_with_its_share_of_the_error() {
    let folder = Folder::new();
    let json = folder.file("json");
    let ask = ["compare", "--quiet", "--margin", "20%", "--metric", "regex:a(.*)"];
    let more = ["--metric", "regex:b(.*)", "--json", &json, "--max-error", "1%", "--"];
    let said = unc(&[&ask[..], &more, &["echo a1; echo b1", "echo a1; echo b2"]].concat());
    said.assert_status(1);
    assert!(said.out.contains("regex:a(.*): yes: "), "{}", said.out);
    assert!(said.out.contains("regex:b(.*): no: "), "{}", said.out);
    assert!(
        said.out.contains("no: 2 properties; the chance that any verdict is wrong is at most 1 %")
    );
    let told: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(
        (&told["schema"], &told["verdict"]),
        (&"uncontended.verdict-suite/1".into(), &"no".into())
    );
    let both = told["properties"].as_array().unwrap();
    let of = |at: usize, field: &str| both[at][field].clone();
    assert_eq!((of(0, "name"), of(1, "name")), ("regex:a(.*)".into(), "regex:b(.*)".into()));
    for one in both {
        let error = one["max_error"].as_f64().unwrap();
        assert!(error <= 0.005 && error > 0.004_9, "{error}");
        let runs = one["runs"].as_array().unwrap();
        assert_eq!(runs.len() as u64, 2 * one["n"].as_u64().unwrap());
    }
    // The clear one takes no more runs than it needs, though the other continues.
    assert!(of(1, "n").as_u64() < of(0, "n").as_u64(), "{told}");
    // The runs are the same, value by value.
    let values = |at: usize, arm: u64| -> Vec<f64> {
        let runs = both[at]["runs"].as_array().unwrap().iter();
        let of_arm = runs.filter(|run| run["arm"].as_u64().unwrap_or(0) == arm);
        of_arm.map(|run| run["value"].as_f64().unwrap()).collect()
    };
    assert!(values(0, 1).iter().all(|&value| value == 1.0));
    assert!(values(1, 1).iter().all(|&value| value == 2.0));
}

/// A metric that prints its unit keeps it: in the table, in the JSON, in the log, in a recording and what is compared
/// with it.
#[test]
fn printed_units_are_kept() {
    let folder = Folder::new();
    let (log, base) = (folder.file("log"), folder.file("base"));
    let metric = ["--metric", "regex:took (.*)"];
    let line = "echo took 5.04 ms";
    let said =
        unc(&[&["compare", "--quiet", "--log", &log][..], &metric, &["--", line, line]].concat());
    said.assert_status(0);
    assert!(said.out.contains("5.04 ms"), "{}", said.out);
    let again = unc(&["verdict", &log, "--json", "-"]);
    again.assert_status(0);
    assert_eq!(again.json()["hypothesis"]["unit"], "ns");
    assert!(again.err.contains("5.04 ms"), "{}", again.err);
    let kept =
        unc(&[&["record", "--runs", "30", "-o", &base][..], &metric, &["--", line]].concat());
    kept.assert_status(0);
    assert!(kept.out.contains("5.04 ms"), "{}", kept.out);
    let trust = ["compare", "--quiet", "--trust-sessions", "--baseline", &base];
    unc(&[&trust[..], &metric, &["--", line]].concat()).assert_status(0);
    unc(&[&trust[..], &metric, &["--", "echo took 5.04"]].concat())
        .assert_refused("a different unit");
}

#[test]
fn the_median_and_a_percentile_are_asked_together() {
    let said = unc(&[
        "compare",
        "--quiet",
        "--margin",
        "50%",
        "--max-error",
        "10%",
        "--quantile",
        "median",
        "--quantile",
        "p90",
        "--metric",
        "regex:.*",
        "--",
        "echo 5",
        "echo 5",
    ]);
    said.assert_status(0);
    assert!(said.out.contains("regex:.*: yes: "), "{}", said.out);
    assert!(said.out.contains("p90 of regex:.*: yes: "), "{}", said.out);
}

#[test]
fn a_failed_run_leaves_the_metrics_that_were_settled() {
    let folder = Folder::new();
    let (count, json) = (folder.file("count"), folder.file("json"));
    std::fs::write(&count, "").unwrap();
    // It fails the thirty-sixth time: the second metric is settled by then, the first is not.
    let failing =
        format!(r#"n=$(wc -c < {count}); printf x >> {count}; echo a1; echo b9; [ "$n" -lt 35 ]"#);
    let said = unc(&[
        "compare",
        "--quiet",
        "--metric",
        "regex:a(.*)",
        "--metric",
        "regex:b(.*)",
        "--json",
        &json,
        "--",
        "echo a1; echo b1",
        &failing,
    ]);
    assert_eq!(said.status, 2, "{}{}", said.out, said.err);
    let told: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let both = &told["properties"];
    assert_eq!(
        (&both[0]["verdict"], &both[1]["verdict"]),
        (&"error".into(), &"no".into()),
        "{told}"
    );
    assert_eq!(both[0]["so_far"]["n"], 35);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let two = ["--metric", "wall", "--metric", "cpu"];
    let ask = |more: &[&str]| unc(&[&["compare"][..], &two, more].concat());
    ask(&["--log", "/tmp/never", "--", "true", "true"]).assert_refused("a log is about one metric");
    ask(&["--export-json", "/tmp/never", "--", "true", "true"])
        .assert_refused("--export-json is about one metric");
    ask(&["--metric", "exit-status", "--", "true", "true"]).assert_refused("exit-status alone");
    ask(&["--metric", "wall", "--", "true", "true"]).assert_refused("wall is asked about twice");
    ask(&["--from", "/dev/null"]).assert_refused("are read from runs, which are made now");
    unc(&[&["slo", "--rate", "90%", "--at-most", "1s"][..], &two, &["true"]].concat())
        .assert_refused("this question is about one metric");
}
