//! `unc slo` end to end: counts, streams and commands, and the exit status of every outcome.

mod decide;

use decide::{Folder, TERMINATED, command, interrupt, unc, unc_reading};
use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::time::Duration;
use uncontended_stats::Rng;

#[test]
fn counts_at_hand_are_judged() {
    let said =
        unc(&["slo", "--rate", ".98", "--method", "csm", "--counts", "3972/4000", "--json", "-"]);
    assert_eq!(said.status, 0);
    let json = said.json();
    assert_eq!(json["schema"], "uncontended.verdict/1");
    assert_eq!(json["verdict"], "yes");
    assert_eq!(json["n"], 4000);
    assert_eq!(json["successes"], 3972);
    assert_eq!(json["decided_by"], "csm");
    // The published value, which the bound may exceed but never undercut.
    let criterion = json["log_criterion"].as_f64().unwrap();
    assert!((-17.238568532412956..-17.238568).contains(&criterion), "{criterion}");
    let [low, high] = [0, 1].map(|end| json["interval"][end].as_f64().unwrap());
    assert!(0.98 < low && low < 0.993 && 0.993 < high && high < 1.0);
    assert_eq!(json["evidence"].as_array().unwrap().len(), 1);
    assert!(json["seed"].is_string());
}

#[test]
fn every_answer_has_its_exit_status() {
    let counts = |counts: &str| unc(&["slo", "--rate", "98%", "--counts", counts]).status;
    assert_eq!(counts("4000/4000"), 0);
    assert_eq!(counts("3000/4000"), 1);
    assert_eq!(counts("10/10"), 3);
    assert_eq!(counts("0/0"), 2, "nothing was tried");
    assert_eq!(counts("5/4"), 2);
}

#[test]
fn two_thresholds_have_two_entries() {
    let said =
        unc(&["slo", "--rate", ".98", "--or-below", ".96", "--counts", "970/1000", "--json", "-"]);
    let evidence = said.json()["evidence"].clone();
    assert_eq!(evidence[0]["threshold"], 0.96);
    assert!(evidence[0]["above"].is_f64() && evidence[0]["below"].is_null());
    assert_eq!(evidence[1]["threshold"], 0.98);
    assert!(evidence[1]["above"].is_null() && evidence[1]["below"].is_f64());
}

/// `--method csm` decides exactly when Robbins' criterion does: the cases of the reference table.
#[test]
fn with_csm_the_criterion_alone_decides() {
    for (rate, error, counts, decided) in [
        (".9", ".2", "98/100", true),
        (".9", "1e-5", "98/100", false),
        (".01", "1e-3", "50/10000", true),
        (".01", "1e-9", "50/10000", false),
        // Around exp(-10) = 4.54e-5.
        (".99", "4.55e-5", "990597/1000000", true),
        (".99", "4.55e-5", "990596/1000000", false),
        (".99", "4.7e-5", "990596/1000000", true),
        (".98", ".001", "3972/4000", true),
        (".9", ".001", "111/111", true),
        (".9", ".001", "110/110", false),
        (".98", ".001", "664/664", true),
        (".98", ".001", "663/663", false),
        (".99", ".001", "1409/1409", true),
        (".99", ".001", "1408/1408", false),
        (".999", ".001", "16618/16618", true),
        (".999", ".001", "16617/16617", false),
        (".9999", "1e-6", "262939/262939", true),
        (".9999", "1e-6", "262938/262938", false),
        (".01", "3.3333333333333335e-10", "0/2967", true),
        (".01", "3.3333333333333335e-10", "0/2966", false),
    ] {
        let said = unc(&[
            "slo",
            "--rate",
            rate,
            "--max-error",
            error,
            "--method",
            "csm",
            "--counts",
            counts,
        ]);
        assert_eq!(said.status != 3, decided, "{rate} {error} {counts}: {}", said.out);
    }
}

#[test]
fn a_stream_is_left_at_the_verdict() {
    let mut child =
        command(&["slo", "--at-most", "5ms", "--rate", "90%", "--from", "-", "--json", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
    // A producer that never ends by itself: only a closed pipe stops it.
    let mut producer = std::process::Command::new("yes")
        .arg("4.5")
        .stdout(child.stdin.take().unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!producer.wait().unwrap().success(), "the pipe broke");
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let (n, runs) = (json["n"].as_u64().unwrap(), json["runs"].as_array().unwrap());
    assert_eq!(json["successes"].as_u64(), Some(n));
    assert_eq!(runs.len() as u64, n);
    assert_eq!(runs[0]["value"], 4.5e6, "a bare number has the unit of the threshold");
    assert_eq!(json["stopped_by"], "decided");
}

#[test]
fn values_of_a_file_may_carry_units() {
    let folder = Folder::new();
    let path = folder.file("values");
    std::fs::write(&path, "4ms\n".repeat(60) + &"0.004s\n".repeat(60)).unwrap();
    assert_eq!(unc(&["slo", "--at-most", "5ms", "--rate", "90%", "--from", &path]).status, 0);
    let slow = ["slo", "--at-most", "3ms", "--rate", "90%", "--bursts", "1", "--from", &path];
    assert_eq!(unc(&slow).status, 1);
    assert_eq!(unc(&["slo", "--at-least", "3ms", "--rate", "90%", "--from", &path]).status, 0);
    // p50 at most 5 ms, and p10 at least 3 ms.
    assert_eq!(unc(&["slo", "--quantile", "p50", "--at-most", "5ms", "--from", &path]).status, 0);
    let said =
        unc(&["slo", "--quantile", "p99", "--at-least", "3ms", "--from", &path, "--json", "-"]);
    let warning =
        "p99 at least 3 ms holds if 1 % of the runs have it; if nearly all should, use p1";
    assert_eq!(said.json()["warnings"][0], warning);
    let said =
        unc(&["slo", "--quantile", "p10", "--at-least", "3ms", "--from", &path, "--json", "-"]);
    assert_eq!(said.json()["warnings"].as_array().map(Vec::len), Some(0));
    assert_eq!(said.json()["hypothesis"]["rate"], 0.9);
}

#[test]
fn a_property_of_a_command_is_judged_by_its_runs() {
    let said = unc(&["slo", "--at-most", "1h", "--rate", "60%", "--json", "-", "--", "true"]);
    assert_eq!((said.status, said.json()["verdict"].as_str()), (0, Some("yes")), "{}", said.err);
    assert!(
        said.err.contains("Question: is the wall time at most 1 h in at least 60 % of the runs?"),
        "{}",
        said.err
    );
    assert_eq!(unc(&["slo", "--at-most", "1ns", "--rate", "60%", "--", "true"]).status, 1);
}

#[test]
fn a_failed_run_fails_the_property() {
    let said = unc(&["slo", "--at-most", "1h", "--rate", "60%", "--json", "-", "--", "false"]);
    assert_eq!(said.status, 1);
    assert_eq!(said.json()["successes"], 0);
    assert!(said.json()["warnings"][0].as_str().unwrap().contains(" runs failed: they lack"));
    assert!(said.err.contains("no: all "), "{}", said.err);
    assert!(said.err.contains(" runs failed, so the rate is below 60 %; 0 of "), "{}", said.err);
    let undecided =
        unc(&["slo", "--at-most", "1h", "--rate", "60%", "--max-runs", "20", "--", "false"]);
    let told = "undecided: all 20 runs failed; whether the rate is at least 60 % is not certain";
    assert!(undecided.out.contains(told), "{}", undecided.out);
    let folder = Folder::new();
    let there = folder.file("there");
    let half = format!("mkdir {there} || {{ rmdir {there}; false; }}");
    let half = unc(&["slo", "--at-most", "1h", "--rate", "60%", "--max-runs", "20", "--", &half]);
    assert!(half.out.starts_with("undecided: whether the rate"), "{}", half.out);
    assert!(half.out.contains("warning: 10 of 20 runs failed: they lack"), "{}", half.out);
    assert_eq!(said.json()["runs"][0]["outcome"], serde_json::json!({"failed": 1}));
    // If the status is the metric, it is a value like any other.
    let metric =
        ["slo", "--metric", "exit-status", "--at-least", "1", "--rate", "60%", "--", "false"];
    assert_eq!(unc(&metric).status, 0);
}

#[test]
fn a_budget_that_is_spent_leaves_it_undecided() {
    let slo = ["slo", "--at-most", "1h", "--rate", "60%", "--max-runs", "14"];
    let said = unc(&[&slo[..], &["--bursts", "1", "--", "true"]].concat());
    assert_eq!(said.status, 3, "{}", said.err);
    assert!(said.err.contains("14 runs can only ever answer no, never yes"), "{}", said.err);
    assert!(
        said.out.contains("\nthe budget of runs was spent before either answer was certain"),
        "{}",
        said.out
    );
    assert!(said.out.contains(": raise --max-runs, or give an indifference zone with --or-below"));
    let timed = [
        "slo",
        "--at-most",
        "1h",
        "--rate",
        "99.9%",
        "--max-time",
        "20ms",
        "--json",
        "-",
        "--",
        "true",
    ];
    let said = unc(&timed);
    assert_eq!((said.status, said.json()["stopped_by"].as_str()), (3, Some("max-time")));
    assert!(
        said.err.contains("\nthe time was up before ") && said.err.contains(": raise --max-time")
    );
}

/// A percentile has its own interval, which agrees with the verdict.
#[test]
fn a_percentile_has_its_interval() {
    let mut rng = Rng::new(9);
    // Uniform in 0 to 10 ms: p90 is 9 ms.
    let values: String = (0..2000).map(|_| format!("{}\n", 10.0 * rng.unit())).collect();
    let place = |extra: &[&str]| {
        let mut all = vec!["slo", "--quiet", "--from", "-", "--json", "-"];
        all.extend(extra);
        let said = unc_reading(&all, &values);
        assert_ne!(said.status, 2, "{}", said.err);
        let json = said.json();
        let end = |name: &str| json["quantile"][name].as_f64().unwrap() / 1e6;
        (said.status, end("low"), end("value"), end("high"), said.err)
    };
    let (status, low, seen, high, line) = place(&["--quantile", "p90", "--at-most", "9ms"]);
    assert!(status == 3 && low < 9.0 && 9.0 < high && low < seen && seen < high, "{low} {high}");
    assert!(line.contains("; p90 ") && line.contains(" ms ["), "{line}");
    // If the threshold is refuted, or certain, it is outside the interval.
    let (status, low, ..) = place(&["--quantile", "p90", "--at-most", "8ms"]);
    assert!(status == 1 && low > 8.0, "{low}");
    let (status, _, _, high, _) = place(&["--quantile", "p90", "--at-most", "9.8ms"]);
    assert!(status == 0 && high <= 9.8, "{high}");
    let (status, low, ..) = place(&["--quantile", "p10", "--at-least", "0.5ms"]);
    assert!(status == 0 && low >= 0.5, "{low}");
    // A rate has no percentile.
    let rate = ["slo", "--quiet", "--rate", ".9", "--at-most", "9ms", "--from", "-", "--json", "-"];
    assert!(unc_reading(&rate, &values).json()["quantile"].is_null());
}

/// Bursts of runs that lack the property raise a warning; independent runs do not.
#[test]
fn bursts_of_bad_runs_are_pointed_out() {
    let warnings = |rate: &str, bad: fn(usize) -> bool| {
        let values: String = (0..1000).map(|i| if bad(i) { "3\n" } else { "1\n" }).collect();
        let slo =
            ["slo", "--quiet", "--at-most", "2", "--from", "-", "--json", "-", "--rate", rate];
        let said = unc_reading(&slo, &values);
        (said.json()["warnings"].as_array().unwrap().clone(), said.err)
    };
    let (bursts, line) = warnings(".9", |i| i % 100 >= 90);
    let text = bursts[0].as_str().unwrap();
    assert!(
        text.contains("the 100 runs that lack the property came in 10 bursts, fewer"),
        "{text}"
    );
    assert!(line.contains("warning: the 100 runs that lack the property"), "{line}");
    let (alternating, _) = warnings(".5", |i| i % 2 == 0);
    assert!(alternating[0].as_str().unwrap().contains("bursts, more than"), "{alternating:?}");
    // A tenth of them, without order.
    let (none, _) = warnings(".9", |i| (i * 617 + i * i * 13) % 1009 % 10 == 0);
    assert!(none.is_empty(), "{none:?}");
}

/// A run in progress is ended at twice the time, and does not count.
#[test]
fn the_time_holds_while_a_run_is_under_way() {
    let started = std::time::Instant::now();
    let common = ["--max-time", "300ms", "--json", "-", "--"];
    let slo =
        unc(&[&["slo", "--at-most", "1s", "--rate", ".9"][..], &common, &["sleep 30"]].concat());
    let compare = unc(&[&["compare"][..], &common, &["sleep 31", "sleep 32"]].concat());
    assert!(started.elapsed() < std::time::Duration::from_secs(10));
    for said in [slo, compare] {
        let json = said.json();
        assert_eq!((said.status, &json["stopped_by"]), (3, &"max-time".into()), "{}", said.err);
        assert_eq!((&json["n"], json["runs"].as_array().map(Vec::len)), (&0.into(), Some(0)));
        assert!(!said.err.contains("inf") && !said.err.contains("unknown"), "{}", said.err);
    }
}

/// The rate asked about is the decimal that was written.
#[test]
fn a_rate_in_percent_is_that_decimal() {
    for (text, rate) in [("99.9%", 0.999), ("99.99%", 0.9999), ("14.3%", 0.143), ("0.07%", 0.0007)]
    {
        let json = unc(&["slo", "--rate", text, "--counts", "5/9", "--json", "-"]).json();
        assert_eq!(json["hypothesis"]["rate"].as_f64(), Some(rate), "{text}");
    }
}

/// One burst of twelve is not a rate: what independent runs would refute stays open, and the message says why.
#[test]
fn a_burst_is_not_taken_for_a_rate() {
    let stream = |good: usize| "1\n".repeat(10) + &"3\n".repeat(12) + &"1\n".repeat(good);
    let slo = |extra: &[&str], values: &str| {
        let mut all = vec!["slo", "--at-most", "2", "--rate", ".9", "--from", "-", "--json", "-"];
        all.extend(extra);
        unc_reading(&all, values)
    };
    assert_eq!(slo(&["--bursts", "1"], &stream(0)).status, 1);
    let said = slo(&[], &stream(0));
    let dependence = &said.json()["dependence"];
    assert_eq!((said.status, &dependence["would_be"]), (3, &"no".into()), "{}", said.err);
    assert_eq!((&dependence["bad"], &dependence["bursts"]), (&12.into(), &1.into()));
    assert!(said.err.contains("independent runs would give a no, but"), "{}", said.err);
    // The burst is not forgotten either: yes takes more than independent runs would.
    let said = slo(&[], &stream(330));
    assert_eq!(
        (said.status, &said.json()["dependence"]["would_be"]),
        (3, &"yes".into()),
        "{}",
        said.err
    );
    assert_eq!(slo(&["--bursts", "1"], &(stream(0).replace('3', "1") + &stream(330))).status, 0);
    // A stream of only bad runs may be one long burst, but not forever.
    let said = slo(&[], &"3\n".repeat(400));
    assert!(said.status == 1 && said.json()["n"].as_u64().unwrap() > 200, "{}", said.err);
    let said = slo(&["--max-runs", "100"], &"3\n".repeat(400));
    assert_eq!(said.status, 3);
    assert!(said.err.contains("100 runs can only ever answer yes, never no"), "{}", said.err);
    for bad in ["0", "0.5", "nan", "1e9"] {
        let said = slo(&["--bursts", bad], "1\n");
        assert!(said.status == 2 && said.err.contains("--bursts"), "{}", said.err);
    }
}

/// Ctrl-C, and the time limit, leave a verdict of the lines so far and a complete log, although the pipe stays open.
#[test]
fn a_wait_for_the_next_line_can_be_ended() {
    let folder = Folder::new();
    for (extra, stopped_by) in [(&[][..], "interrupted"), (&["--max-time", "1s"], "max-time")] {
        let (log, json) = (folder.file("log"), folder.file("json"));
        let _ = std::fs::remove_file(&log);
        let mut all = vec!["slo", "--quiet", "--at-most", "5", "--rate", ".9", "--from", "-"];
        all.extend(["--log", &log, "--json", &json]);
        all.extend(extra);
        let mut child = command(&all)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(b"4\n6\n4\n1").unwrap();
        // It has read every complete line once the log contains them.
        while std::fs::read_to_string(&log).unwrap_or_default().lines().count() < 4 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let out = if extra.is_empty() {
            let (out, signal) = interrupt(child);
            assert_eq!(signal, TERMINATED, "as a shell expects");
            out
        } else {
            let ended = child.wait_with_output().unwrap();
            assert_eq!(ended.status.code(), Some(3));
            String::from_utf8(ended.stdout).unwrap()
        };
        assert!(out.starts_with("undecided: ") && out.contains("2 of 3, 66.7 % ["), "{out}");
        let told: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        assert_eq!((told["n"].as_u64(), told["stopped_by"].as_str()), (Some(3), Some(stopped_by)));
        let again = unc(&["verdict", &log, "--json", "-"]);
        assert_eq!((again.status, again.json()["n"].as_u64()), (3, Some(3)), "{}", again.err);
        drop(pipe);
    }
}

/// A reader that closes our output has read enough: the exit status still carries the verdict.
#[test]
fn closed_outputs_do_not_change_the_verdict() {
    for extra in [&[][..], &["--json", "-"]] {
        let mut all = vec!["slo", "--at-most", "1h", "--rate", "60%"];
        all.extend(extra);
        all.extend(["--", "true"]);
        let mut child =
            command(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

/// The figures that `docs/deciding_in_ci.md` names.
#[test]
fn a_percentile_without_a_miss_takes_as_many_runs_as_the_guide_says() {
    let guide = include_str!("../docs/deciding_in_ci.md");
    for (rate, runs) in [("90%", 94), ("95%", 193), ("99%", 984), ("99.9%", 9888)] {
        let told = uncontended_figures::whole(runs);
        assert!(guide.contains(&told), "{told} is not in the guide");
        for (runs, status) in [(runs, 0), (runs - 1, 3)] {
            let counts = format!("{runs}/{runs}");
            let output = std::process::Command::new(env!("CARGO_BIN_EXE_unc"))
                .args(["slo", "--rate", rate, "--counts", &counts])
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(status), "{rate} {counts}");
        }
    }
}

/// A file is read to its end: what comes after the answer may contradict it, and belongs to the percentile.
#[test]
fn the_values_after_the_answer_count_too() {
    let folder = Folder::new();
    let file = folder.file("values");
    let ask = |values: String, more: &[&str]| {
        std::fs::write(&file, values).unwrap();
        let ask = ["slo", "--quiet", "--quantile", "p90", "--at-most", "5ms", "--json", "-"];
        unc(&[&ask[..], more, &["--from", &file]].concat())
    };
    let fast = "2 ms\n".repeat(300);
    let said = ask(format!("{fast}{}", "30 ms\n2 ms\n".repeat(300)), &[]);
    said.assert_status(3);
    let json = said.json();
    assert_eq!((&json["rest"]["verdict"], &json["n"]), (&"no".into(), &94.into()), "{json}");
    let words = ["the first 94 of 900 values say yes, and the others no", "not of one kind"];
    words.iter().for_each(|words| assert!(said.err.contains(words), "{}", said.err));
    // The rest may agree; the percentile is that of all.
    let said = ask(format!("{fast}{}", "3 ms\n".repeat(2_000)), &[]);
    said.assert_status(0);
    assert!(said.err.contains("94 of 94 (the first of 2,300)"), "{}", said.err);
    assert_eq!(said.json()["quantile"]["value"], 3e6);
    // The log has all of it.
    let log = folder.file("log");
    ask(format!("{fast}{}", "30 ms\n".repeat(300)), &["--log", &log]).assert_status(3);
    unc(&["verdict", &log]).assert_status(3);
}

/// A number that a command prints without a unit has that of the threshold, as a number in a file does.
#[test]
fn a_bare_number_has_the_unit_of_the_threshold() {
    let ask = |prints: &str, most: &str| {
        let ask = ["slo", "--quiet", "--quantile", "p50", "--at-most", most, "--json", "-"];
        let runs = ["--metric", "regex:.+", "--", "echo", prints];
        unc(&[&ask[..], &runs].concat())
    };
    for (prints, most, status, median) in [
        ("3", "5ms", 0, 3e6),
        ("3", "5us", 0, 3e3),
        ("7", "5ms", 1, 7e6),
        ("3ms", "5ms", 0, 3e6),
        ("3", "2", 1, 3.0),
    ] {
        let said = ask(prints, most);
        said.assert_status(status);
        assert_eq!(said.json()["quantile"]["value"], median, "{prints} {most}");
    }
    assert_eq!(ask("3 MiB", "5ms").json()["verdict"], "error");
    assert_eq!(ask("-3", "5ms").json()["verdict"], "error");
    assert_eq!(ask("3ms", "5").json()["verdict"], "error");
}

/// Sets of requests decide when they are whole; the log has the question, and gives the same again.
#[test]
fn sets_decide_when_they_are_whole() {
    let folder = Folder::new();
    let log = folder.file("log");
    let values = "5 ms\n".repeat(250);
    let asked = ["slo", "--rate", "50%", "--at-most", "9ms", "--from", "-", "--json", "-"];
    let ask = |more: &[&str]| unc_reading(&[&asked[..], more].concat(), &values).json();
    let json = ask(&["--set", "100", "--log", &log]);
    assert_eq!((json["verdict"].as_str(), json["n"].as_u64()), (Some("yes"), Some(100)));
    assert_eq!(json["hypothesis"]["set"], 100);
    let again = unc(&["verdict", &log, "--json", "-"]).json();
    assert_eq!((&again["n"], &again["interval"]), (&json["n"], &json["interval"]));
    let open = ask(&["--set", "300"]);
    assert_eq!((open["verdict"].as_str(), open["n"].as_u64()), (Some("undecided"), Some(0)));
    assert!(open["warnings"][0].as_str().unwrap().contains("250 runs are not counted"), "{open}");
    unc(&["slo", "--rate", "50%", "--set", "9", "--counts", "3/4"]).assert_refused("--set");
}
