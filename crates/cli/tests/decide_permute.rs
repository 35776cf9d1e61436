//! `unc permute` and `unc power` end to end.

mod decide;

use decide::{Folder, command, unc};
use std::process::Stdio;
use std::time::Duration;

fn file(folder: &Folder, name: &str, values: impl Iterator<Item = f64>) -> String {
    let path = folder.file(name);
    std::fs::write(&path, values.map(|value| format!("{value}\n")).collect::<String>()).unwrap();
    path
}

#[test]
fn two_values_on_a_line_are_refused_for_that() {
    let folder = Folder::new();
    let a = file(&folder, "a", [1.0, 2.0, 3.0].into_iter());
    let pairs = folder.file("pairs");
    std::fs::write(&pairs, "1 2\n3 4\n").unwrap();
    let cause = "pairs line 1: 2 values; one value a line is expected";
    unc(&["permute", &a, &pairs]).assert_refused(cause);
}

/// Three against three: of all 20 relabelings one or two are as extreme, so the p-value is known.
#[test]
fn small_groups_have_the_p_value_of_enumeration() {
    let folder = Folder::new();
    let a = file(&folder, "a", [1.0, 2.0, 3.0].into_iter());
    let b = file(&folder, "b", [4.0, 5.0, 6.0].into_iter());
    for (extra, p) in [(&[][..], 0.05), (&["--two-sided"][..], 0.1)] {
        let mut all = vec![
            "permute",
            &a,
            &b,
            "--seed",
            "1",
            "--level",
            "50%",
            "--max-error",
            "1e-9",
            "--json",
            "-",
        ];
        all.extend(extra);
        let said = unc(&all);
        assert_eq!(said.status, 0, "{}", said.err);
        let json = said.json();
        let [low, high] = [0, 1].map(|end| json["interval"][end].as_f64().unwrap());
        assert!(low <= p && p <= high && high < 0.5, "{json}");
        assert_eq!(json["difference"], 3.0);
    }
    // The other way around every resample is as extreme: the p-value is 1.
    assert_eq!(unc(&["permute", &b, &a]).status, 1);
}

/// B against what is expected of it, and three groups: the p-values are those of all relabelings, counted by hand.
#[test]
fn groups_are_compared_under_a_shift_a_scale_and_with_a_third() {
    let folder = Folder::new();
    let file = |name: &str, values: [f64; 3]| file(&folder, name, values.into_iter());
    let (a, b) = (file("a", [1.0, 2.0, 3.0]), file("b", [4.0, 5.0, 6.0]));
    let pair = |name: &str, from: f64| self::file(&folder, name, [from, from + 1.0].into_iter());
    let (one, two, three) = (pair("one", 1.0), pair("two", 3.0), pair("three", 5.0));
    for (words, difference, p) in [
        (vec![&*a, &*b, "--shift", "3"], 0.0, 0.7),
        (vec![&a, &b, "--scale", "2"], 1.0, 0.35),
        (vec![&one, &two, &three], 4.0, 1.0 / 15.0),
    ] {
        let log = folder.file("log");
        let mut all =
            vec!["permute", "--level", "99%", "--max-error", "1e-9", "--max-runs", "4000"];
        all.extend(["--seed", "1", "--log", &log, "--json", "-"]);
        all.extend(&words);
        let json = unc(&all).json();
        let [low, high] = [0, 1].map(|end| json["interval"][end].as_f64().unwrap());
        assert!(low <= p && p <= high, "{words:?}: {json}");
        assert_eq!(json["difference"], difference, "{words:?}");
        let again = unc(&["verdict", &log, "--json", "-"]).json();
        assert_eq!(again["interval"], json["interval"], "{words:?}");
    }
    let sentence = |words: &[&str]| unc(words).err;
    let said = sentence(&["permute", &a, &b, "--scale", "2", "--shift", "1"]);
    assert!(said.contains("is B's mean higher than (A × 2 + 1)'s by more"), "{said}");
    let said = sentence(&["permute", &one, &two, &three]);
    assert!(said.contains("does the mean of A, B and C differ by more than chance"), "{said}");
    unc(&["permute", &one, &two, &three, "--shift", "1"]).assert_refused("have no direction");
    unc(&["permute", &a, &b, "--shift", "1ms"]).assert_refused("--shift has another unit");
    unc(&["permute", &a, &b, "--scale", "0"]).assert_refused("'0' is not a number above zero");
}

#[test]
fn each_statistic_sees_its_own_difference() {
    let folder = Folder::new();
    let a = file(&folder, "a", (0..60).map(|i| f64::from(i % 7)));
    // Equal except for a long tail, which the median does not see.
    let b = file(&folder, "b", (0..60).map(|i| if i % 7 > 4 { 100.0 } else { f64::from(i % 7) }));
    let status =
        |statistic: &str| unc(&["permute", &a, &b, "--seed", "2", "--statistic", statistic]).status;
    assert_eq!(["mean", "p95", "max", "median"].map(status), [0, 0, 0, 1]);
}

#[test]
fn the_log_of_a_permutation_test_gives_the_same_verdict() {
    let folder = Folder::new();
    let a = file(&folder, "a", (0..40).map(|i| f64::from(i * i % 31)));
    let b = file(&folder, "b", (0..30).map(|i| 3.0 + f64::from(i * i % 29)));
    let log = folder.file("log");
    let live = unc(&["permute", &a, &b, "--log", &log, "--json", "-"]);
    let again = unc(&["verdict", &log, "--json", "-"]);
    assert_eq!((live.status, live.json()), (again.status, again.json()));
    // So does the log of a test that the clock stopped: the log holds the number of resamples.
    let live = unc(&[
        "permute",
        &a,
        &a,
        "--level",
        "50.8%",
        "--max-error",
        "1e-300",
        "--max-runs",
        "100000000",
        "--max-time",
        "50ms",
        "--log",
        &log,
        "--json",
        "-",
    ]);
    let again = unc(&["verdict", &log, "--json", "-"]);
    assert_eq!((live.status, live.json()["stopped_by"].as_str()), (3, Some("max-time")));
    assert_eq!((live.status, live.json()), (again.status, again.json()));
}

/// A test that is killed leaves the log of the one before.
#[test]
fn a_log_stays_until_there_is_a_verdict() {
    let folder = Folder::new();
    let a = file(&folder, "a", (0..40).map(f64::from));
    let log = folder.file("log");
    unc(&["permute", &a, &a, "--log", &log]).assert_status(1);
    let before = std::fs::read(&log).unwrap();
    let endless = ["--level", "50.8%", "--max-error", "1e-300", "--max-runs", "100000000000"];
    let mut child = command(&[&["permute", &a, &a, "--log", &log][..], &endless].concat())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let new = format!("{log}.{}.new", child.id());
    let is_written = || std::fs::metadata(&new).is_ok_and(|new| new.len() > 0);
    while !is_written() && std::fs::read(&log).unwrap() == before {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(std::fs::read(&log).unwrap() == before);
}

#[test]
fn values_that_cannot_be_tested_are_refused() {
    let folder = Folder::new();
    let good = file(&folder, "good", [1.0, 2.0].into_iter());
    let bad = folder.file("bad");
    for (text, words) in [
        ("", "there are no values"),
        ("1\nnan\n", "line 2: 'nan' is not a number"),
        ("1\nx\n", "line 2"),
        ("1ms\n2\n", "line 2: '2' has a different unit than line 1"),
        ("1ms\n", "different units"),
    ] {
        std::fs::write(&bad, text).unwrap();
        unc(&["permute", &good, &bad]).assert_refused(words);
    }
    unc(&["permute", &good, &good, "--statistic", "mode"])
        .assert_refused("there is no statistic 'mode'");
    unc(&["permute", &good, &good, "--level", "1%", "--or-below", "2%"])
        .assert_refused("is not below");
    unc(&["permute", &good, &good, "--max-runs", "5"])
        .assert_refused("5 resamples cannot decide this: it takes at least ");
    unc(&["permute", &good]).assert_refused("<B>");
}

/// A published result: between 96 % and 98 %, a thousand runs hardly ever decide a rate of 97 %.
#[test]
fn plans_tell_when_a_budget_is_too_small() {
    let plan = |most: &str| {
        let said = unc(&[
            "power",
            "slo",
            "--rate",
            ".98",
            "--or-below",
            ".96",
            "--at",
            ".97",
            "--method",
            "csm",
            "--max-runs",
            most,
            "--simulations",
            "100",
            "--seed",
            "1",
            "--json",
            "-",
        ]);
        assert_eq!(said.status, 0, "{}", said.err);
        said.json()
    };
    let small = plan("1000");
    assert_eq!((&small["schema"], &small["seed"]), (&"uncontended.power/1".into(), &"1".into()));
    assert!(small["undecided"].as_f64().unwrap() > 0.9, "{small}");
    assert!(small["p95_runs"].is_null());
    let large = plan("10000");
    assert!(large["undecided"].as_f64().unwrap() < 0.05, "{large}");
    let [below, above] = [0, 1].map(|end| large["decidable"][end].as_f64().unwrap());
    assert!(below < 0.97 && 0.97 < above, "{large}");
    assert_eq!(plan("10000"), large, "the same seed, the same plan");
}

#[test]
fn every_question_can_be_planned() {
    let yes = |arguments: &[&str]| {
        let mut all = vec!["power"];
        all.extend(arguments);
        all.extend(["--simulations", "60", "--seed", "3", "--json", "-"]);
        let said = unc(&all);
        assert_eq!(said.status, 0, "{}", said.err);
        said.json()["yes"].as_f64().unwrap()
    };
    assert!(yes(&["compare", "--ratio", "1", "--spread", "2%", "--max-runs", "300"]) > 0.9);
    assert!(yes(&["compare", "--ratio", "1.1", "--spread", "2%", "--max-runs", "300"]) < 0.1);
    assert!(yes(&["permute", "--size", "20", "--shift", "2"]) > 0.9);
    assert!(yes(&["permute", "--size", "20", "--shift=-1"]) < 0.1);
    let plan =
        ["power", "permute", "--size", "20", "--shift", "2", "--seed", "3", "--simulations", "60"];
    let said = unc(&[&plan[..], &["--json", "-"]].concat()).json();
    // Two groups of 20 are separated at 5 % from about one standard deviation on.
    assert!((0.7..1.8).contains(&said["decidable"][1].as_f64().unwrap()), "{said}");
    assert!(said["decidable"][0].is_null());
    assert!(unc(&plan).out.contains("trials: if the true shift is at least "));
    unc(&["power", "compare", "--spread", "2%"]).assert_refused("--ratio");
    unc(&["power", "compare", "--ratio", "0", "--spread", "2%"]).assert_refused("0");
    unc(&["power", "slo", "--rate", ".9", "--or-below", ".95", "--at", ".9"])
        .assert_refused("is not below");
    unc(&["power", "permute", "--size", "9", "--shift", "nan"]).assert_refused("--shift");
}

/// A yes of a comparison rules out a tail, and a no of a rate bursts: plans count that, and say what it costs.
#[test]
fn plans_count_the_guards() {
    let said = |arguments: &[&str]| {
        let shared = ["--simulations", "50", "--seed", "3"];
        let said = unc(&[&["power"], arguments, &shared].concat());
        said.assert_status(0);
        said.out
    };
    let compare = ["compare", "--ratio", "0.5", "--spread", "5%", "--max-runs", "1000"];
    let both = said(&compare);
    let lines = [
        "runs: 44 on average, 95th percentile 44, at least 14, for a yes 44",
        "of the median alone (--no-tail-guard): 14 on average, 95th percentile 14",
    ];
    lines.iter().for_each(|line| assert!(both.contains(line), "{both}"));
    let alone = said(&[&compare[..], &["--no-tail-guard"]].concat());
    assert!(alone.contains("runs: 14 on average, 95th percentile 14, at least 14\n"), "{alone}");
    assert!(!alone.contains("median alone"), "{alone}");
    let bursts = said(&[&compare[..], &["--bursts", "20"]].concat());
    assert!(bursts.contains("95th percentile 825, at least 14, for a yes 825"), "{bursts}");
    let json = said(&[&compare[..], &["--json", "-"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["held"], &json["alone"]["mean_runs"]), (&"yes".into(), &14.0.into()));
    let slo = ["slo", "--rate", "90%", "--at", "0.1%"];
    let both = said(&slo);
    assert!(both.contains("runs: 243 on average"), "{both}");
    assert!(
        both.contains("if runs are known to be independent (--bursts 1): 8 on average"),
        "{both}"
    );
    let alone = said(&[&slo[..], &["--bursts", "1"]].concat());
    assert!(alone.contains("runs: 8 on average") && !alone.contains("known"), "{alone}");
}

/// A plan from a pilot: its pairs, from a log or a file, and its ratio unless another is assumed.
#[test]
fn a_pilot_plans_a_comparison() {
    let folder = Folder::new();
    let (log, values) = (folder.file("pilot.log"), folder.file("pairs"));
    let lines: String = (0..30).map(|at| format!("{} {}\n", 100 + at, 150 + at)).collect();
    std::fs::write(&values, &lines).unwrap();
    let pilot = ["compare", "--quiet", "--max-runs", "30", "--claim", "better", "--from", &values];
    unc(&[&pilot[..], &["--log", &log]].concat()).assert_status(1);
    let plan = |more: &[&str]| {
        let said = unc(&[&["power", "compare", "--seed", "3", "--json", "-"], more].concat());
        said.assert_status(0);
        said.json()
    };
    let (of_values, of_log) = (plan(&["--from", &values]), plan(&["--from", &log]));
    assert!(of_values["no"].as_f64().unwrap() > 0.99, "{of_values}");
    assert!(of_values["question"].as_str().unwrap().contains("vary as in 30 pairs"));
    // The trial stopped early; its log has the pairs that were made.
    assert!(of_log["no"].as_f64().unwrap() > 0.99, "{of_log}");
    // A pipe is read once.
    let (pipe, fed) = (folder.file("pipe"), lines.clone());
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let feeds = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, fed).unwrap()
    });
    assert!(plan(&["--from", &pipe])["question"].as_str().unwrap().contains("as in 30 pairs"));
    feeds.join().unwrap();
    let equal = plan(&["--from", &values, "--ratio", "1"]);
    assert!(equal["no"].as_f64().unwrap() < 0.01, "{equal}");
    let refused =
        |more: &[&str], words| unc(&[&["power", "compare"], more].concat()).assert_refused(words);
    refused(&["--from", &values, "--spread", "5%"], "--spread");
    refused(&["--from", "/no/file"], "/no/file");
    std::fs::write(&values, "1 2\n").unwrap();
    refused(&["--from", &values], "1 pair are too few");
    std::fs::write(&values, "0 2\n").unwrap();
    refused(&["--from", &values], "the ratio inf");
}
