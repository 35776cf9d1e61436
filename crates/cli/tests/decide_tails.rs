//! Lost runs and tails: what a median does not see.

mod decide;

use decide::{Folder, Said, unc, unc_reading};
use std::fmt::Write as _;
use uncontended_stats::Rng;

/// A log with a question about two commands and these runs: baseline and candidate alternately; none is a lost run.
fn log(folder: &Folder, head: &str, pairs: &[[Option<f64>; 2]]) -> String {
    let mut text = format!(
        r#"{{"head":{{"schema":"uncontended.verdict-log/1","hypothesis":{{"kind":"compare","metric":"wall","unit":"ns","claim":"no-worse","margin":0.02,"higher_is_better":false,"max_error":0.001,"block":1,"commands":["a","b"],"baseline":0,"ignore_failure":true{head}}},"seed":"1","warnings":[]}}}}"#
    );
    for pair in pairs {
        for (arm, value) in pair.iter().enumerate() {
            let (value, outcome) = match value {
                Some(value) => (value.to_string(), "\"ok\""),
                None => ("null".to_string(), "\"timed-out\""),
            };
            let _ = write!(
                text,
                "\n{{\"run\":{{\"arm\":{arm},\"value\":{value},\"outcome\":{outcome}}}}}"
            );
        }
    }
    let path = folder.file("log");
    std::fs::write(&path, text + "\n").unwrap();
    path
}

const LOST_ONLY: &str =
    r#","guard":{"factors":[],"lost":true,"share":0.1,"excess":0.09,"missed":0.05}"#;

fn verdict(head: &str, pairs: &[[Option<f64>; 2]]) -> Said {
    let folder = Folder::new();
    unc(&["verdict", &log(&folder, head, pairs), "--json", "-"])
}

#[test]
fn runs_that_are_all_killed_are_no_verdict() {
    let said = unc(&["compare", "-i", "--timeout", "20ms", "--quiet", "--", "sleep 5", "sleep 6"]);
    said.assert_refused("pairs of 'sleep 5' and 'sleep 6' were lost on both sides");
    assert!(said.err.contains("--timeout"), "{}", said.err);
    // Neither are a few of them.
    let said = verdict(LOST_ONLY, &[[None, None]; 3]);
    let json = said.json();
    assert_eq!((said.status, json["verdict"].as_str()), (2, Some("error")));
    assert!(json["error"].as_str().unwrap().starts_with("all 3 pairs of 'a' and 'b'"), "{json}");
    let said = verdict(LOST_ONLY, &[[Some(1.0), None]; 40]);
    assert_eq!((said.status, said.json()["lost_pairs"].as_u64()), (1, Some(0)), "{}", said.err);
}

#[test]
fn a_pair_that_is_lost_on_both_sides_decides_nothing() {
    // Twice as slow, as thirteen pairs in forty show; the others were killed on both sides.
    let pairs: Vec<_> = (0..40)
        .map(|pair| if pair % 3 == 0 { [Some(1.0), Some(2.0)] } else { [None, None] })
        .collect();
    let said = verdict(LOST_ONLY, &pairs);
    let json = said.json();
    assert_eq!((json["n"].as_u64(), json["lost_pairs"].as_u64()), (Some(14), Some(26)));
    assert_eq!(json["effect"]["ratio"], 2.0);
    let warnings = json["warnings"].to_string();
    assert!(warnings.contains("26 pairs with 'b' were lost on both sides"), "{warnings}");
}

#[test]
fn the_shares_of_lost_runs_are_compared() {
    // Never slower, but every third run of the candidate is lost.
    let lost = |every: usize| -> Vec<_> {
        (0..200).map(|pair| [Some(1.0), (pair % every != 0).then_some(1.0)]).collect()
    };
    let said = verdict(LOST_ONLY, &lost(3));
    let json = said.json();
    assert_eq!(
        (said.status, json["tails"]["state"].as_str()),
        (1, Some("heavier")),
        "{}",
        said.err
    );
    assert_eq!(
        (json["tails"]["factor"].is_null(), json["tails"]["median"].as_str()),
        (true, Some("undecided")),
        "the shares decide before the median does"
    );
    assert!((json["tails"]["candidate"].as_f64().unwrap() - 1.0 / 3.0).abs() < 0.02);
    assert!(said.err.contains(" of its runs are lost (0 % of the baseline's)"), "{}", said.err);
    // One in a hundred is not evidence, and the question is not about tails.
    let json = verdict(LOST_ONLY, &lost(100)).json();
    assert_eq!((&json["verdict"], &json["tails"]["state"]), (&"yes".into(), &"untested".into()));
    // The other way around, the candidate is not worse for it.
    let turned: Vec<_> = lost(3).into_iter().map(|[a, b]| [b, a]).collect();
    assert_eq!(verdict(LOST_ONLY, &turned).status, 0);
}

/// Twice as fast, but every third run of the candidate ends with status 3: today's guard counts that; that of earlier
/// logs judges by the values.
#[test]
fn the_shares_of_failed_runs_are_compared() {
    let folder = Folder::new();
    let [today, earlier] = [r#","failed":true"#, ""].map(|failed| {
        let guard = format!(
            r#","guard":{{"factors":[],"lost":true{failed},"share":0.1,"excess":0.09,"missed":0.05}}"#
        );
        let path = log(&folder, &guard, &[[Some(2.0), Some(1.0)]; 200]);
        let text = std::fs::read_to_string(&path).unwrap();
        let fails = |line: usize| line % 6 == 2;
        let lines = text.lines().enumerate().map(|(number, line)| match fails(number) {
            true => line.replace(r#""ok""#, r#"{"failed":3}"#) + "\n",
            false => format!("{line}\n"),
        });
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        unc(&["verdict", &path, "--json", "-"])
    });
    assert_eq!(today.status, 1, "{}", today.err);
    assert_eq!(today.json()["tails"]["median"], "undecided");
    assert!(today.err.contains("of its runs are lost (0 % of the baseline's)"), "{}", today.err);
    assert_eq!(earlier.status, 0, "{}", earlier.err);
    assert_eq!(earlier.json()["tails"]["candidate"], 0.0);
    assert!(earlier.err.contains("failed: a failing run may be fast"), "{}", earlier.err);
}

/// A log from before there were guards is judged as it was then: by the median alone, with the whole error.
#[test]
fn an_earlier_log_is_judged_as_then() {
    let said = verdict("", &[[Some(1.0), Some(1.0)]; 14]);
    let json = said.json();
    assert_eq!((said.status, json["tails"].is_null()), (0, true), "{}", said.err);
    let needed = json["evidence"][0]["needed"].as_f64().unwrap();
    assert!((needed - (2.0_f64 / 0.001).ln()).abs() < 1e-9, "{needed}");
    let folder = Folder::new();
    let path = folder.file("slo");
    let head = r#"{"head":{"schema":"uncontended.verdict-log/1","hypothesis":{"kind":"slo","metric":"wall","unit":"ns","bound":{"side":"at-most","threshold":5.0},"rate":0.9,"or_below":null,"max_error":0.001,"method":"one-sided"},"seed":"1","warnings":[]}}"#;
    let run = "{\"run\":{\"value\":7.0,\"outcome\":\"ok\"}}\n";
    std::fs::write(&path, format!("{head}\n{}", run.repeat(9))).unwrap();
    assert_eq!(unc(&["verdict", &path]).status, 1);
}

/// The answer of `unc compare` to a stream of pairs, and how many pairs it took.
fn compare(extra: &[&str], values: &str) -> (i32, serde_json::Value, String) {
    let mut all = vec!["compare", "--quiet", "--from", "-", "--json", "-"];
    all.extend(extra);
    let said = unc_reading(&all, values);
    assert_ne!(said.status, 2, "{}", said.err);
    (said.status, said.json(), said.err)
}

/// Pairs with 10 % of noise, the candidate `median` times the baseline and `times` slower in a share of its runs.
fn stream(rng: &mut Rng, median: f64, share: f64, times: f64) -> String {
    let mut text = String::new();
    for _ in 0..500 {
        let mut noise = || 0.95 + 0.1 * rng.unit();
        let (a, b) = (noise(), median * noise());
        let b = if rng.chance(share) { times * b } else { b };
        let _ = writeln!(text, "{a} {b}");
    }
    text
}

/// The verdict is not a plain yes if a tenth of the runs or more is twice as slow. The short form's own power: of 150
/// trials that say yes with a chance of 15 % where 5 % is promised, fewer than 15 do so with a chance of 3.5 %; the
/// assertion is on four such cases, so a guard that is wrong in all of them escapes with less than one in 10^5.
#[test]
fn a_worse_tail_is_no_plain_yes() {
    let trials = uncontended_testkit::repetitions("a_worse_tail_is_no_plain_yes", 150, 4000);
    let mut rng = Rng::new(77);
    for (median, share, times, most_yes) in
        [(1.0, 0.3, 4.0, 0.0), (1.0, 0.1, 4.0, 0.05), (1.0, 0.1, 2.0, 0.05), (0.8, 0.12, 4.0, 0.05)]
    {
        let mut answers = [0_u64; 4];
        let mut pairs = 0;
        for _ in 0..trials {
            let (status, json, _) =
                compare(&["--margin", "5%"], &stream(&mut rng, median, share, times));
            answers[status as usize] += 1;
            pairs += json["n"].as_u64().unwrap();
        }
        println!(
            "median {median}, {times} times slower in {share}: yes {}, no {}, undecided {} of {trials}, {} pairs",
            answers[0],
            answers[1],
            answers[3],
            pairs / trials
        );
        // Three standard deviations above the promise.
        let most =
            trials as f64 * most_yes + 3.0 * (trials as f64 * most_yes * (1.0 - most_yes)).sqrt();
        assert!(answers[0] as f64 <= most, "{} of {trials}", answers[0]);
        assert!(answers[1] * 10 >= trials * 9, "{answers:?}");
    }
}

#[test]
fn equals_have_a_yes_that_says_what_it_did_not_see() {
    let mut rng = Rng::new(5);
    let (status, json, err) = compare(&["--margin", "5%"], &stream(&mut rng, 1.0, 0.0, 1.0));
    assert_eq!((status, json["tails"]["state"].as_str()), (0, Some("clear")), "{err}");
    assert!((40..=60).contains(&json["n"].as_u64().unwrap()), "{}", json["n"]);
    assert!(err.contains("no sign that 10 % or more of the runs became twice as slow (missed in at most 5 % of trials, unless in bursts; smaller tails are untested)"), "{err}");
    // A smaller tail is untested.
    let (status, ..) = compare(&["--margin", "5%"], &stream(&mut rng, 1.0, 0.01, 4.0));
    assert_eq!(status, 0);
    // A question about medians alone is not held up.
    let values = stream(&mut rng, 1.0, 0.3, 4.0);
    let (status, json, _) = compare(&["--margin", "5%", "--no-tail-guard"], &values);
    assert_eq!((status, json["tails"].is_null()), (0, true));
}

/// A tenth of the runs is 2.2 times slower, in bursts of 20. With the bursts stated a yes is rare; that most trials say
/// yes without shows that the streams have what the flag is for.
#[test]
fn stated_bursts_are_ruled_out() {
    let (trials, mut rng) = (40, Rng::new(21));
    let mut yes = [0; 2];
    for _ in 0..trials {
        let mut is_slow = rng.chance(0.1);
        let mut text = String::new();
        for _ in 0..1000 {
            let mut noise = || 0.95 + 0.1 * rng.unit();
            let (a, b) = (noise(), noise() * if is_slow { 2.2 } else { 1.0 });
            let _ = writeln!(text, "{a} {b}");
            is_slow = if is_slow { !rng.chance(0.05) } else { rng.chance(0.05 / 9.0) };
        }
        for (at, bursts) in ["1", "20"].iter().enumerate() {
            let (status, json, err) = compare(&["--margin", "5%", "--bursts", bursts], &text);
            yes[at] += u64::from(status == 0);
            let stretch = json["tails"]["stretch"].as_f64();
            assert_eq!(stretch, (*bursts == "20").then_some(20.0), "{err}");
        }
    }
    // A chance of 5 % gives more than 7 of 40 in fewer than one case of 1,000.
    assert!(yes[0] > trials / 2 && yes[1] <= 7, "{yes:?}");
    unc(&["compare", "--bursts", "20", "--no-tail-guard", "--", "true", "false"])
        .assert_refused("'--bursts <N>' cannot be used with '--no-tail-guard'");
}

#[test]
fn a_heavier_tail_is_told_in_words() {
    let mut rng = Rng::new(9);
    let (status, json, err) = compare(&["--margin", "5%"], &stream(&mut rng, 1.0, 0.3, 4.0));
    assert_eq!((status, json["tails"]["state"].as_str()), (1, Some("heavier")), "{err}");
    assert!(err.starts_with("no: the median is "), "{err}");
    assert!(err.contains("of its runs are 4.02 times slower (0 % of the baseline's)"), "{err}");
    let tails = &json["tails"];
    assert!((tails["candidate"].as_f64().unwrap() - 0.3).abs() < 0.12, "{tails}");
    assert!((tails["times_slower"].as_f64().unwrap() - 4.0).abs() < 0.3, "{tails}");
    // Too few pairs for either: undecided, with the reason.
    let few: String =
        stream(&mut rng, 1.0, 0.0, 1.0).lines().take(30).map(|line| format!("{line}\n")).collect();
    let (status, json, err) = compare(&["--margin", "5%"], &few);
    assert_eq!((status, json["tails"]["median"].as_str()), (3, Some("yes")), "{err}");
    assert!(
        err.contains("whether a tail is heavier is open") && err.contains("--no-tail-guard"),
        "{err}"
    );
    // For `equivalent` and `different` the baseline's tail counts as well; throughput reverses the direction.
    let turned: String = stream(&mut rng, 1.0, 0.3, 4.0)
        .lines()
        .map(|line| line.split_once(' ').map(|(a, b)| format!("{b} {a}\n")).unwrap())
        .collect();
    for (claim, answer) in [("no-worse", 0), ("equivalent", 1), ("different", 0)] {
        let (status, _, err) = compare(&["--margin", "5%", "--claim", claim], &turned);
        assert_eq!(status, answer, "{claim}: {err}");
    }
    let (status, json, err) = compare(&["--margin", "5%", "--higher-is-better"], &turned);
    assert_eq!((status, json["tails"]["state"].as_str()), (0, Some("clear")), "{err}");
    let slow: String = stream(&mut rng, 1.0, 0.3, 0.25);
    let (status, ..) = compare(&["--margin", "5%", "--higher-is-better"], &slow);
    assert_eq!(status, 1);
}

#[test]
fn percentiles_are_compared() {
    let mut rng = Rng::new(21);
    let values = stream(&mut rng, 1.0, 0.3, 4.0);
    let (status, json, err) = compare(&["--quantile", "p90"], &values);
    assert_eq!((status, json["decided_by"].as_str()), (1, Some("quantile-ratio")), "{err}");
    assert!(err.contains("no: 'column 2' is worse by more than 2 %; ratio of p90 "), "{err}");
    assert!(json["effect"]["low"].as_f64().unwrap() > 1.02, "{json}");
    assert!(
        json["question"].as_str().unwrap().contains("by the ratio of p90 of the value"),
        "{json}"
    );
    let (status, json, err) = compare(&["--quantile", "p50", "--margin", "10%"], &values);
    assert_eq!(status, 0, "{err}");
    let high = json["effect"]["high"].as_f64().unwrap();
    assert!(high <= 1.1 && json["effect"]["low"].as_f64().unwrap() < 1.0, "{json}");
    // p10 of a throughput is p90 of its cost.
    let slow = stream(&mut rng, 1.0, 0.3, 0.25);
    let flags = ["--quantile", "p10", "--higher-is-better"];
    assert_eq!(compare(&flags, &slow).0, 1);
    let said = unc(&["compare", "--quantile", "p90", "--max-runs", "50", "--", "true", "true"]);
    said.assert_refused("50 runs of each command cannot decide this");
}

#[test]
fn slow_runs_are_no_news_where_the_median_is_worse() {
    let mut pairs = String::new();
    for n in 0..20 {
        let _ = writeln!(pairs, "1.0{} 2.0{}", n % 7, n % 5);
    }
    let said = unc_reading(&["compare", "--quiet", "--from", "-"], &pairs);
    said.assert_status(1);
    assert!(!said.out.contains("took more than"), "{}", said.out);
}
