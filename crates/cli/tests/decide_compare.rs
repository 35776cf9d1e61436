//! `unc compare` end to end: every claim on streams of known effect, and on commands.

mod decide;

use decide::{Folder, compile, unc, unc_reading};
use serde_json::Value;
use uncontended_stats::{Counts, MaxError, Method, Question, Rate, Rng, Verdict};

/// Pairs whose candidate is `ratio` times the baseline, with up to 10 % noise on both.
fn pairs(ratio: f64, count: usize, rng: &mut Rng) -> String {
    let noisy = |rng: &mut Rng| 100.0 * (1.0 + 0.1 * rng.unit());
    (0..count).map(|_| format!("{} {}\n", noisy(rng), ratio * noisy(rng))).collect()
}

fn compare(claim: &str, extra: &[&str], values: &str) -> (i32, Value) {
    let mut all = vec!["compare", "--quiet", "--claim", claim, "--from", "-", "--json", "-"];
    all.extend(extra);
    if !extra.contains(&"--margin") {
        all.extend(["--margin", "5%"]);
    }
    let said = unc_reading(&all, values);
    assert_ne!(said.status, 2, "{}", said.err);
    (said.status, said.json())
}

#[test]
fn claims_have_their_answers() {
    let mut rng = Rng::new(3);
    for (ratio, relation, answers) in [
        (1.3, "worse", [("no-worse", 1), ("better", 1), ("equivalent", 1), ("different", 0)]),
        (0.7, "better", [("no-worse", 0), ("better", 0), ("equivalent", 1), ("different", 0)]),
        (1.0, "equivalent", [("no-worse", 0), ("better", 1), ("equivalent", 0), ("different", 1)]),
    ] {
        let values = pairs(ratio, 600, &mut rng);
        for (claim, status) in answers {
            let (said, json) = compare(claim, &[], &values);
            assert_eq!(said, status, "{claim} at {ratio}");
            let effect = |end: &str| json["effect"][end].as_f64().unwrap();
            assert!(effect("low") <= ratio && ratio <= effect("high"), "{json}");
            assert!(effect("low") <= effect("ratio") && effect("ratio") <= effect("high"));
            // The claim alone stops the trial, so a one-sided one may leave the direction open.
            assert!(json["relation"] == relation || json["relation"] == "unknown", "{json}");
            if ["equivalent", "different"].contains(&claim) {
                assert_eq!(json["relation"], relation);
            }
        }
    }
}

#[test]
fn where_higher_is_better_the_direction_turns() {
    let mut rng = Rng::new(4);
    let values = pairs(1.3, 400, &mut rng);
    let (status, json) = compare("better", &["--higher-is-better"], &values);
    assert_eq!((status, json["relation"].as_str()), (0, Some("better")));
    let low = json["effect"]["low"].as_f64().unwrap();
    assert!(low > 1.05 && json["effect"]["high"].as_f64().unwrap() >= 1.3, "{json}");
    let (status, _) = compare("no-worse", &["--higher-is-better"], &pairs(0.7, 400, &mut rng));
    assert_eq!(status, 1);
}

/// The interval is dual to the test that decided: it never contains what was refuted.
#[test]
fn no_interval_contains_what_was_refuted() {
    let mut rng = Rng::new(8);
    for ratio in [0.8, 0.9, 0.95, 1.0, 1.06, 1.2] {
        for claim in ["no-worse", "better", "equivalent", "different"] {
            let (status, json) = compare(claim, &[], &pairs(ratio, 300, &mut rng));
            let [low, high] = [0, 1].map(|end| json["interval"][end].as_f64().unwrap());
            match status {
                3 => {}
                _ => assert!(high < 0.5 || low > 0.5, "{claim} at {ratio}: {json}"),
            }
            let effect = |end: &str| json["effect"][end].as_f64();
            match (claim, status) {
                ("no-worse", 0) => assert!(effect("high").unwrap() <= 1.05),
                ("no-worse", 1) => assert!(effect("low").unwrap() > 1.05),
                ("better", 0) => assert!(effect("high").unwrap() < 1.0 / 1.05),
                ("better", 1) => assert!(effect("low").unwrap() >= 1.0 / 1.05),
                _ => {}
            }
        }
    }
}

#[test]
fn ties_are_no_difference() {
    let (status, json) = compare("equivalent", &["--margin", "0"], &"7 7\n".repeat(60));
    // The median takes 14 pairs; ruling out a heavier tail takes 44.
    assert_eq!((status, json["n"].as_u64()), (0, Some(44)));
    let median = ["--margin", "0", "--no-tail-guard"];
    assert_eq!(compare("equivalent", &median, &"7 7\n".repeat(60)).1["n"].as_u64(), Some(14));
    assert_eq!(json["effect"]["ratio"], 1.0);
    assert_eq!(compare("no-worse", &["--margin", "0"], &"0 0\n".repeat(60)).0, 0);
    assert_eq!(compare("better", &["--margin", "0"], &"0 0\n".repeat(20)).0, 1);
    // Half of the pairs are ties, the others worse: the median ratio is a tie, and nothing is certain.
    assert_eq!(compare("no-worse", &["--margin", "0"], &"7 7\n7 9\n".repeat(100)).0, 3);
    // Something against nothing is infinitely worse.
    let (status, json) = compare("no-worse", &[], &"0 1\n".repeat(20));
    assert_eq!((status, &json["effect"]["high"]), (1, &Value::Null));
}

#[test]
fn commands_are_compared_by_fresh_processes() {
    let said = unc(&[
        "compare",
        "--seed",
        "7",
        "--margin",
        "50%",
        "--json",
        "-",
        "--",
        "sleep 0.001",
        "sleep 0.2",
    ]);
    assert_eq!(said.status, 1, "{}", said.err);
    let json = said.json();
    assert_eq!((&json["relation"], &json["seed"]), (&"worse".into(), &"7".into()));
    let runs = json["runs"].as_array().unwrap();
    let arms: Vec<u64> = runs.iter().map(|run| run["arm"].as_u64().unwrap_or(0)).collect();
    assert!(arms.chunks(2).all(|block| block.iter().sum::<u64>() == 1), "pair by pair: {arms:?}");
    let first = arms.iter().step_by(2).sum::<u64>();
    assert!(first > 0 && first < arms.len() as u64 / 2, "in random order: {arms:?}");
    assert!(runs.iter().all(|run| run["value"].as_f64() == run["wall_ns"].as_f64()));
}

#[test]
fn several_commands_share_the_error() {
    let said = unc(&[
        "compare",
        "--quiet",
        "--max-runs",
        "40",
        "--margin",
        "50%",
        "--claim",
        "different",
        "--json",
        "-",
        "--baseline",
        "2",
        "--",
        "sleep 0.1",
        "sleep 0.001",
        "sleep 0.1",
    ]);
    let json = said.json();
    assert_eq!((said.status, json["verdict"].as_str()), (0, Some("yes")), "{}", said.err);
    let comparisons = json["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 2);
    for comparison in comparisons {
        assert_eq!(comparison["candidate"], "sleep 0.1");
        let needed = comparison["evidence"][0]["needed"].as_f64().unwrap();
        // Two candidates and two sides: a quarter of the error each, minus the twentieth for the tails.
        assert!((needed - (4.0_f64 / 0.000_95).ln()).abs() < 1e-9, "{needed}");
    }
}

#[test]
fn blocks_compare_medians() {
    let said = unc(&[
        "compare",
        "--quiet",
        "--block",
        "3",
        "--metric",
        "regex:[0-9]+",
        "--max-runs",
        "48",
        "--json",
        "-",
        "--",
        "echo 5",
        "echo 5",
    ]);
    let json = said.json();
    assert_eq!(
        (said.status, json["n"].as_u64(), json["runs"].as_array().unwrap().len()),
        (0, Some(15), 90)
    );
}

#[test]
fn a_crash_never_wins() {
    let line = "kill -9 $$";
    let said =
        unc(&["compare", "--quiet", "--ignore-failure", "--json", "-", "--", "sleep 0.01", line]);
    assert_eq!((said.status, said.json()["relation"].as_str()), (1, Some("worse")), "{}", said.err);
    unc(&["compare", "--quiet", "--", "sleep 0.01", line])
        .assert_refused("a fast crash must not win");
    // Neither does a run that fails fast, if failures are ignored: it is lost as well.
    let said = unc(&["compare", "--quiet", "-i", "--margin", "20%", "--", "sleep 0.01", "exit 3"]);
    said.assert_status(1);
    assert!(said.out.starts_with("no: 'exit 3' is worse by more than 20 %; "), "{}", said.out);
    let warning = " runs of 'exit 3' failed: such a run is lost, worse than any value";
    assert!(said.out.contains(warning), "{}", said.out);
    unc(&["compare", "--quiet", "-i", "--", "exit 4", "exit 3"])
        .assert_refused("pairs of 'exit 4' and 'exit 3' were lost on both sides");
}

/// One run that fails ends the trial, but not what was known before it.
#[test]
fn a_run_that_fails_leaves_the_standing_of_those_before_it() {
    let folder = Folder::new();
    let (count, log, json) = (folder.file("count"), folder.file("log"), folder.file("json"));
    // It fails the sixth time.
    let failing = format!(r#"n=$(wc -c < {count}); printf x >> {count}; echo 3; [ "$n" -lt 5 ]"#);
    let fresh = || std::fs::write(&count, "").unwrap();
    let ask = ["compare", "--quiet", "--seed", "3", "--metric", "regex:[0-9]+"];
    let ask = |more: &[&str]| unc(&[&ask[..], more, &["--", "echo 3", &failing]].concat());
    fresh();
    let said = ask(&["--json", &json]);
    said.assert_refused("failed with status 1");
    assert!(said.err.contains("So far, undecided: whether '"), "{}", said.err);
    assert!(said.err.contains("a run failed before either answer was certain"), "{}", said.err);
    let told: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!((&told["verdict"], &told["so_far"]["n"]), (&"error".into(), &5.into()));
    assert_eq!(told["so_far"]["stopped_by"], "failed");
    // Five pairs, and perhaps one of the sixth.
    assert!([10, 11].contains(&told["runs"].as_array().unwrap().len()), "{told}");
    fresh();
    ask(&["--log", &log]).assert_refused("failed with status 1");
    let again = unc(&["verdict", &log, "--json", "-"]);
    assert_eq!((again.status, &again.json()["n"]), (3, &5.into()), "{}", again.err);
    // If the first run fails, nothing is known.
    let said = unc(&["compare", "--quiet", "--", "false", "true"]);
    said.assert_refused("failed with status 1");
    assert!(!said.err.contains("So far"), "{}", said.err);
}

#[test]
fn a_command_is_compared_with_itself() {
    let said =
        unc(&["compare", "--aa", "--quiet", "--metric", "regex:.+", "--json", "-", "--", "echo 3"]);
    assert_eq!(said.json()["hypothesis"]["claim"], "equivalent");
    assert_eq!(said.status, 0);
}

#[test]
fn commands_that_begin_alike_differ_in_the_table() {
    let commands =
        ["old", "new"].map(|end| format!("/bin/echo 3 a-long-word another-long-word {end}"));
    let compare = ["compare", "--quiet", "--no-tail-guard", "--metric", "regex:[0-9]"];
    let out = unc(&[&compare[..], &["--", &commands[0], &commands[1]]].concat()).out;
    let rows = out.lines().skip_while(|line| !line.starts_with("command ")).skip(1);
    let names: Vec<_> = rows.filter_map(|row| row.split("  ").next()).collect();
    assert_eq!(names, ["… old", "… new"], "{out}");
}

/// The log of another question has runs, too, under the old name of the flag.
#[test]
fn the_runs_of_another_trial_are_a_baseline() {
    let folder = Folder::new();
    let log = folder.file("log");
    let metric = ["--metric", "regex:.+"];
    let slo = ["slo", "--at-least", "0", "--rate", "70%", "--log", &log];
    assert_eq!(unc(&[&slo[..], &metric, &["--", "echo 3"]].concat()).status, 0);
    let against = |flags: &[&str], line: &str| {
        let compare = ["compare", "--stored-baseline", &log, "--json", "-"];
        unc(&[&compare[..], &metric, flags, &["--", line]].concat())
    };
    let said = against(&[], "echo 3");
    assert_eq!(said.status, 3, "{}", said.err);
    assert_eq!(said.json()["sessions"]["told"], "yes");
    assert_eq!(against(&["--trust-sessions"], "echo 3").status, 0);
    assert_eq!(against(&["--trust-sessions"], "echo 4").status, 1);
    // Fewer stored runs than any verdict needs are like having no budget.
    let text = std::fs::read_to_string(&log).unwrap();
    let short = folder.file("short");
    let few: String = text.lines().take(6).map(|line| format!("{line}\n")).collect();
    std::fs::write(&short, few).unwrap();
    let refused =
        unc(&[&["compare", "--baseline", &short][..], &metric, &["--", "echo 3"]].concat());
    refused.assert_refused("5 runs in");
    // Those of a comparison's baseline, too.
    let pairs = ["compare", "--no-tail-guard", "--log", &short];
    assert_eq!(unc(&[&pairs[..], &metric, &["--", "echo 3", "echo 3"]].concat()).status, 0);
    let said = unc(&[
        &["compare", "--trust-sessions", "--max-error", "5%", "--baseline", &short][..],
        &metric,
        &["--", "echo 9"],
    ]
    .concat());
    assert_eq!(
        (said.status, said.out.contains("against 14")),
        (1, true),
        "{} {}",
        said.out,
        said.err
    );
}

#[test]
fn scans_make_commands() {
    let said = unc(&[
        "compare",
        "--quiet",
        "--metric",
        "regex:.+",
        "--parameter-scan",
        "n",
        "3",
        "5",
        "--json",
        "-",
        "--",
        "echo {n}",
    ]);
    let json = said.json();
    assert_eq!(json["hypothesis"]["commands"], serde_json::json!(["echo 3", "echo 4", "echo 5"]));
    assert_eq!(said.status, 1);
}

#[test]
fn runs_that_depend_on_each_other_are_pointed_out() {
    let mut rng = Rng::new(6);
    let slow = |line: usize| if (line / 5).is_multiple_of(2) { 0.5 } else { 1.5 };
    let values: String =
        (0..200).map(|line| format!("1 {}\n", slow(line) + 0.01 * rng.unit())).collect();
    let (status, json) = compare("equivalent", &["--margin", "0"], &values);
    let warning = json["warnings"][0].as_str().unwrap_or_default();
    assert!(warning.contains("depend on the previous ones"), "{status} {json}");
}

/// Four threads that contend for one lock, wait for each other and end: about 2 ms.
const CONTENDED: &str = r#"
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long shared;
static void *work(void *unused) {
    for (int i = 0; i < 4000; i++) {
        pthread_mutex_lock(&lock);
        for (int j = 0; j < 20; j++) shared += j;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    return 0;
}
"#;

/// Ten commands of every system, one that contends for a lock among them (`{contended}`).
const COMMANDS: [&str; 10] = [
    "{contended}",
    "true",
    "date",
    "ls -l /etc",
    "wc {lines}",
    "sort {lines}",
    "sort --parallel=2 -S 64K {lines}",
    "gzip -c {lines}",
    "sha256sum {lines}",
    "grep -c 7 {lines}",
];

/// A/A on the real machine: no command is found different from itself, beyond the error.
#[test]
fn no_command_is_different_from_itself() {
    let folder = Folder::new();
    let contended =
        compile(&folder, CONTENDED, &[]).expect("the C compiler that `unc` is built with");
    let lines = folder.file("lines");
    let text: String = (0..20_000_u64).map(|n| format!("{}\n", n * 7_919 % 20_011)).collect();
    std::fs::write(&lines, text).unwrap();
    let rounds = uncontended_testkit::repetitions("no_command_is_different_from_itself", 1, 100);
    // In a short test no comparison may be wrong; of many, as many as the error allows.
    let error = if rounds == 1 { 1e-5 } else { 0.05 };
    let (mut wrong, mut pairs) = (Vec::new(), 0);
    for _ in 0..rounds {
        for command in COMMANDS {
            let command = command.replace("{contended}", &contended).replace("{lines}", &lines);
            let error = error.to_string();
            let mut all = vec!["compare", "--quiet", "--claim", "different", "--margin", "0"];
            all.extend(["--max-runs", "40", "--json", "-", "--max-error", &error, "--"]);
            all.extend([command.as_str(), command.as_str()]);
            let said = unc(&all);
            assert!([0, 3].contains(&said.status), "{}{}", said.out, said.err);
            pairs += said.json()["n"].as_u64().unwrap();
            wrong.extend((said.status == 0).then_some(command));
        }
    }
    let (trials, found) = (rounds * COMMANDS.len() as u64, wrong.len() as u64);
    println!(
        "found different {found} times in {trials}, {pairs} pairs, error at most {error}: {wrong:?}"
    );
    let question =
        Question::about(Rate::new(error).unwrap(), Method::Csm, MaxError::new(1e-6).unwrap());
    let verdict = question.verdict(Counts::new(trials, found).unwrap());
    assert!(verdict != Verdict::Yes && (found == 0 || rounds > 1), "{wrong:?} of {trials}");
}

#[test]
fn what_the_values_of_both_commands_look_like_is_shown() {
    let pairs: String = (1..=60).map(|n| format!("{n}ms {}ms\n", 3 * n)).collect();
    let said = unc_reading(&["compare", "--quiet", "--from", "-", "--json", "-"], &pairs);
    let json = said.json();
    let (baseline, candidate) = (&json["values"]["baseline"], &json["values"]["candidate"]);
    let n = baseline["runs"].as_u64().unwrap() as f64;
    assert_eq!(json["n"], baseline["runs"]);
    assert_eq!((baseline["min"].as_f64(), baseline["max"].as_f64()), (Some(1e6), Some(n * 1e6)));
    assert_eq!(candidate["median"].as_f64(), Some(1.5e6 * (n + 1.0)));
    assert_eq!(candidate["mean"].as_f64().map(f64::round), Some(1.5e6 * (n + 1.0)));
    let rows: Vec<&str> = said.err.lines().filter(|line| line.starts_with("column ")).collect();
    assert!(rows.len() == 2 && said.err.contains("median"), "{}", said.err);
}

#[test]
fn pairs_are_read_with_and_without_a_space_before_the_unit() {
    let json = |line: &str| {
        let pairs = format!("{line}\n").repeat(60);
        unc_reading(&["compare", "--quiet", "--from", "-", "--json", "-"], &pairs).json()
    };
    for line in ["2ms 2000us", "2 ms 2000 µs", "2 ms, 2000 us", "2ms,2000us", "2e6 2e6"] {
        assert_eq!(json(line)["effect"]["ratio"], 1.0, "{line}");
    }
    for line in ["2 ms 3", "2 ms 3 MiB", "1 2 3"] {
        assert_eq!(json(line)["verdict"], "error", "{line}");
    }
}

#[test]
fn a_budget_that_permits_no_yes_is_warned_about_in_flags() {
    let said = unc(&["compare", "--max-error", "5%", "--max-runs", "12", "true", "true x"]);
    let warnings = said.err.lines().chain(said.out.lines());
    let warnings: Vec<&str> = warnings.filter(|line| line.contains("heavier tail")).collect();
    assert_eq!(warnings.len(), 2, "{} {}", said.out, said.err);
    assert!(warnings.iter().all(|line| line.contains("(--no-tail-guard asks")), "{warnings:?}");
}

/// Pairs of a file keep the unit that is printed with them, in the log as well.
#[test]
fn pairs_keep_their_unit() {
    let folder = Folder::new();
    let (file, log) = (folder.file("pairs"), folder.file("log"));
    let ask = |values: &str, more: &[&str]| {
        std::fs::write(&file, values).unwrap();
        unc(&[&["compare", "--quiet", "--from", &file], more].concat())
    };
    let said = ask(&"10ms 20ms\n".repeat(60), &["--log", &log]);
    said.assert_status(1);
    let row = |said: &str| -> Vec<String> {
        let row = said.lines().find(|line| line.starts_with("column 2")).unwrap();
        row.split("  ").filter(|cell| !cell.is_empty()).map(|cell| cell.trim().to_owned()).collect()
    };
    assert_eq!(row(&said.out)[1], "20.0 ms", "{}", said.out);
    let again = unc(&["verdict", "--quiet", &log]);
    assert_eq!(row(&again.out), row(&said.out));
    let json = unc(&["verdict", "--quiet", "--json", "-", &log]).json();
    assert_eq!(json["hypothesis"]["unit"], "ns");
    assert_eq!(row(&ask(&"10 20\n".repeat(60), &[]).out)[1], "20.0");
    let odd = "10 ms 20 ms\n".repeat(30);
    ask(&format!("{odd}10 20\n"), &[])
        .assert_refused("line 31: '10 20' has a different unit than the first line");
}

/// A file of pairs is read to its end: what comes after the answer may contradict it.
#[test]
fn the_pairs_after_the_answer_count_too() {
    let folder = Folder::new();
    let (file, log) = (folder.file("pairs"), folder.file("log"));
    let ask = |values: String, more: &[&str]| {
        std::fs::write(&file, values).unwrap();
        unc(&[&["compare", "--quiet", "--from", &file, "--json", "-"], more].concat())
    };
    let same = "10 ms 10 ms\n".repeat(100);
    let said = ask(format!("{same}{}", "10 ms 13 ms\n".repeat(200)), &["--log", &log]);
    said.assert_status(3);
    let json = said.json();
    let rest = serde_json::json!({"values": 256, "verdict": "no"});
    assert_eq!((&json["rest"], &json["n"]), (&rest, &44.into()), "{json}");
    assert_eq!(json["relation"], "unknown");
    let words = [
        "44 pairs (the first of 300)",
        "the first 44 of 300 pairs say yes, and the others no",
        "not of one kind",
    ];
    words.iter().for_each(|words| assert!(said.err.contains(words), "{}", said.err));
    assert!(!said.err.contains("certain so far"), "{}", said.err);
    // The log has all of it, and so has a plan that takes it as its pilot.
    unc(&["verdict", &log]).assert_status(3);
    let plan = ["power", "compare", "--from", &log, "--simulations", "10", "--seed", "1"];
    let said = unc(&plan);
    assert!(said.out.contains("as in 300 pairs before"), "{} {}", said.out, said.err);
    // A tail in the rest counts, too.
    let tail = "10 ms 10 ms\n10 ms 40 ms\n".repeat(100);
    let said = ask(format!("{same}{tail}"), &[]);
    said.assert_status(3);
    assert_eq!(said.json()["rest"]["verdict"], "no");
    // The rest may agree, or say nothing; the answer stands, and the table is of all pairs.
    let said = ask(format!("{same}{}", "10 ms 10.1 ms\n".repeat(200)), &[]);
    said.assert_status(0);
    let json = said.json();
    assert_eq!(
        (&json["rest"]["verdict"], &json["values"]["candidate"]["runs"]),
        (&"yes".into(), &300.into())
    );
    ask(format!("{same}10 ms 30 ms\n"), &[]).assert_status(0);
    let (same, slow) = (same.repeat(10), "10 ms 13 ms\n".repeat(1000));
    ask(same.clone(), &["--quantile", "p90"]).assert_status(0);
    ask(format!("{same}{slow}"), &["--quantile", "p90"]).assert_status(3);
    // A stream ends with the answer.
    let said =
        unc_reading(&["compare", "--quiet", "--from", "-", "--json", "-"], &"1 1\n".repeat(99));
    assert_eq!((&said.json()["n"], &said.json()["rest"]), (&44.into(), &Value::Null));
}
