//! Verdicts as text and Markdown against golden texts in `golden/`; `UNC_BLESS=1` rewrites them, for a reader to
//! compare.

use uncontended_decide::plan::Told;
use uncontended_decide::progress::Silent;
use uncontended_decide::record::Stop;
use uncontended_decide::suite::Suite;
use uncontended_decide::verdict::{Answer, Verdict};
use uncontended_report::verdict::{human, markdown, page::page, sentences};
use uncontended_testkit::{Folder, golden};

/// The verdict on a table of a suite, in which `FILE` and `OTHER` are files with these lines.
fn verdict(table: &str, lines: [&dyn Fn(u64) -> String; 2], count: u64) -> Verdict {
    let folder = Folder::new();
    let mut text = format!("max-error = 0.01\n{table}\n");
    for (name, line) in ["FILE", "OTHER"].into_iter().zip(lines) {
        let path = folder.path().join(name);
        let lines: String = (0..count).map(|at| line(at) + "\n").collect();
        std::fs::write(&path, lines).unwrap();
        text = text.replace(name, path.to_str().unwrap());
    }
    let suite = Suite::parse(&text, None).unwrap();
    let told = Told { progress: Box::new(Silent), keep_runs: true };
    suite.properties[0].plan.verdict(told).unwrap()
}

fn check(name: &str, answer: Answer, verdict: &Verdict) {
    assert_eq!(verdict.finding.verdict, answer, "{name}: {}", human(verdict, 100));
    assert!(
        human(verdict, 100).starts_with(&sentences(verdict)),
        "the values come after the sentences"
    );
    let found = format!("{}\n{}", human(verdict, 100), markdown(verdict));
    golden(env!("CARGO_MANIFEST_DIR"), &format!("{name}.txt"), &found);
    let page = page(verdict, verdict.runs.as_deref().unwrap_or_default()).unwrap();
    assert!(page.contains("</html>"), "{name}");
}

fn none(_: u64) -> String {
    String::new()
}

/// Values from 1 to 2, as if at random.
fn noise(at: u64) -> f64 {
    1.0 + (at * 37 % 101) as f64 / 101.0
}

#[test]
fn verdicts_about_a_rate() {
    let slow_at_times = |at: u64| format!("{} ms", if at % 50 == 7 { 9.0 } else { noise(at) });
    let in_bursts = |at: u64| format!("{} ms", if at % 200 < 30 { 9.0 } else { noise(at) });
    for (name, answer, table, line, count) in [
        (
            "slo_counts",
            Answer::Yes,
            "rate = 0.98\ncounts = '3972/4000'",
            &none as &dyn Fn(u64) -> String,
            0,
        ),
        (
            "slo_zone_yes",
            Answer::Yes,
            "rate = 0.99\nor-below = 0.98\ncounts = '3990/4000'",
            &none,
            0,
        ),
        ("slo_zone", Answer::No, "rate = 0.99\nor-below = 0.98\ncounts = '3800/4000'", &none, 0),
        (
            "slo_percentile",
            Answer::Yes,
            "quantile = 'p90'\nat-most = '2 ms'\nfrom = 'FILE'",
            &slow_at_times,
            500,
        ),
        (
            "slo_undecided",
            Answer::Undecided,
            "quantile = 'p95'\nat-most = '2 ms'\nfrom = 'FILE'",
            &slow_at_times,
            60,
        ),
        (
            "slo_bursts",
            Answer::Undecided,
            "rate = 0.93\nat-most = '2 ms'\nfrom = 'FILE'",
            &in_bursts,
            800,
        ),
    ] {
        check(name, answer, &verdict(&format!("[[slo]]\n{table}"), [line, &none], count));
    }
}

#[test]
fn verdicts_about_pairs() {
    let pair = |by: f64| move |at: u64| format!("{} {}", noise(at), by * noise(at * 7 + 3));
    let (same, slower) = (pair(1.0), pair(1.5));
    let tail =
        |at: u64| format!("{} {}", noise(at), if at % 5 == 4 { 20.0 } else { 0.9 * noise(at + 3) });
    for (name, answer, keys, line, count) in [
        ("compare_no", Answer::No, "margin = '5 %'", &slower as &dyn Fn(u64) -> String, 400),
        ("compare_yes", Answer::Yes, "margin = '40 %'", &same, 400),
        ("compare_tail", Answer::No, "margin = '5 %'", &tail, 95),
        ("compare_undecided", Answer::Undecided, "margin = '1 %'", &same, 60),
        (
            "compare_equivalent",
            Answer::Yes,
            "claim = 'equivalent'\nmargin = '40 %'\nno-tail-guard = true",
            &same,
            900,
        ),
        (
            "compare_higher",
            Answer::Yes,
            "claim = 'better'\nhigher-is-better = true\nno-tail-guard = true",
            &slower,
            900,
        ),
        (
            "compare_percentile",
            Answer::Yes,
            "quantile = 'p75'\nclaim = 'different'\nmargin = 0",
            &slower,
            900,
        ),
    ] {
        check(
            name,
            answer,
            &verdict(&format!("[[compare]]\nfrom = 'FILE'\n{keys}"), [line, &none], count),
        );
    }
}

/// An interval that excludes 1 says so, whatever the margin leaves open.
#[test]
fn a_difference_that_is_certain_is_said_to_be() {
    let by = |ratio: f64| move |at: u64| format!("{} {}", 1.0, ratio + 0.002 * noise(at));
    for (ratio, keys, words) in [
        (1.05, "", "(worse for certain, by 5.2 % to 5.4 %)"),
        (0.9467, "", "(better for certain, by 4.9 % to 5.2 %)"),
        (1.05, "\nhigher-is-better = true", "(better for certain, by 5.2 % to 5.4 %)"),
    ] {
        let table =
            format!("[[compare]]\nfrom = 'FILE'\nmargin = '5.3 %'\nno-tail-guard = true{keys}");
        let found = human(&verdict(&table, [&by(ratio), &none], 40), 100);
        assert!(found.contains(words), "{ratio}: {found}");
    }
}

/// The margins that would have been decided are said.
#[test]
fn an_undecided_comparison_says_what_is_certain() {
    let pair = |at: u64| format!("{} {}", noise(at), noise(at * 7 + 3));
    for (keys, words) in
        [("", ("worse", "better")), ("\nhigher-is-better = true", ("worse", "better"))]
    {
        let table = format!("[[compare]]\nfrom = 'FILE'\nmargin = '1 %'{keys}");
        let found = verdict(&table, [&pair, &none], 60);
        let effect = found.finding.pairs().unwrap().effect;
        let (low, high) = (effect.low, effect.high.unwrap());
        let (worse, better) = match keys {
            "" => (high - 1.0, 1.0 / low - 1.0),
            _ => (1.0 / low - 1.0, high - 1.0),
        };
        let shown = |share: f64| format!("{} %", (share * 100.0).ceil());
        let line = format!(
            "certain so far: it is not {} by more than {}, not {} by more than {} in the median\n",
            words.0,
            shown(worse),
            words.1,
            shown(better)
        );
        assert!(human(&found, 100).contains(&line), "{line}: {}", human(&found, 100));
    }
}

#[test]
fn verdicts_about_two_groups() {
    let group = |by: f64| move |at: u64| format!("{} ms", by * noise(at));
    let (a, same, b) = (group(1.0), group(1.0), group(1.3));
    let table = |more: &str| format!("[[permute]]\nvalues = ['FILE', 'OTHER']\nseed = 3\n{more}");
    check("permute_yes", Answer::Yes, &verdict(&table("two-sided = true"), [&a, &b], 40));
    check("permute_no", Answer::No, &verdict(&table("statistic = 'p90'"), [&a, &same], 40));
    let cut = table("level = 0.5\nmax-runs = 30");
    check("permute_undecided", Answer::Undecided, &verdict(&cut, [&a, &same], 40));
}

/// The remarks and marks of the pictures.
#[test]
fn pages_say_what_their_pictures_show() {
    let says = |verdict: &Verdict, words: &[&str]| {
        let page = page(verdict, verdict.runs.as_deref().unwrap_or_default()).unwrap();
        for word in words {
            assert!(page.contains(word), "{word}: {page}");
        }
    };
    let rate = verdict("[[slo]]\nrate = 0.98\ncounts = '3972/4000'", [&none, &none], 0);
    says(&rate, &["runs that have the property", "asked about"]);
    let slow = |at: u64| format!("{} ms", if at % 200 < 30 { 9.0 } else { noise(at) });
    let bursts =
        verdict("[[slo]]\nrate = 0.93\nat-most = '5ms'\nfrom = 'FILE'", [&slow, &none], 800);
    says(&bursts, &["a path that bursts explain decides nothing"]);
    let pair = |at: u64| format!("{} {}", noise(at), noise(at * 7 + 3));
    let pairs = verdict("[[compare]]\nfrom = 'FILE'\nmargin = '25 %'", [&pair, &none], 60);
    says(&pairs, &["The rate of pairs that support the claim; the test", "one half", "1/1.25"]);
    says(
        &pairs,
        &["answer yes", "Yes</p>", "'column 2' is not worse than 'column 1'", "Distribution"],
    );
    says(&pairs, &["The guard on tails is not in the picture"]);
    says(&pairs, &["In order", "no more clustered than by chance", "As printed", "How it was"]);
    let groups = "[[permute]]\nvalues = ['FILE', 'OTHER']\nseed = 3\nor-below = 0.04";
    let value = |at: u64| noise(at).to_string();
    let groups = verdict(groups, [&value, &value], 20);
    says(&groups, &["resamples as extreme as the given values: the p-value", "or below"]);
}

/// Two modes are pointed out below the table, on the page too.
#[test]
fn two_modes_are_pointed_out() {
    let of = |at: u64| if at % 10 < 3 { 52.0 } else { 31.0 } * (1.0 + 0.05 * noise(at));
    let pair = |at: u64| format!("{} {}", 40.0 * (1.0 + 0.05 * noise(at)), of(at));
    let table = "[[compare]]\nfrom = 'FILE'\nmargin = '20 %'\nno-tail-guard = true";
    let found = verdict(table, [&pair, &none], 200);
    let says = "`column 2` has two modes, near ";
    let text = human(&found, 100);
    let line = text.lines().last().unwrap();
    assert!(line.starts_with(says) && line.contains(" % of the runs) and "), "{text}");
    assert!(markdown(&found).contains(line));
    let page = page(&found, found.runs.as_deref().unwrap_or_default()).unwrap();
    assert!(page.contains("<code>column 2</code> has two modes, near "), "{page}");
    let one = |at: u64| format!("{} {}", noise(at), noise(at * 7 + 3));
    let found = verdict("[[compare]]\nfrom = 'FILE'\nmargin = '40 %'", [&one, &none], 400);
    assert!(!human(&found, 100).contains("two modes"));
}

/// What ended a trial, and what to do about it.
#[test]
fn an_undecided_verdict_says_what_would_help() {
    let table = "[[slo]]\nrate = 0.9\nat-most = 2\nfrom = 'FILE'";
    let mut undecided = verdict(table, [&|at| noise(at).to_string(), &none], 10);
    for (stop, words) in [
        (Stop::MaxRuns, "the budget of runs was spent before either answer was certain ("),
        (Stop::MaxTime, "the time was up before "),
        (Stop::Interrupted, "it was interrupted before "),
        (Stop::EndOfInput, "the input ended before "),
        (Stop::Failed, "a run failed before "),
        (Stop::LogCut, "the log broke off before "),
    ] {
        undecided.stopped_by = stop;
        undecided.warnings = vec!["the machine was busy".to_string()];
        let text = human(&undecided, 100);
        assert!(text.lines().any(|line| line.starts_with(words)), "{stop:?}: {text}");
        assert!(text.lines().any(|line| line == "warning: the machine was busy"), "{text}");
        assert!(markdown(&undecided).ends_with("\nWarning: the machine was busy\n"));
    }
}

#[test]
fn one_pair_is_no_pairs() {
    let pair = |at: u64| format!("{} {}", noise(at), noise(at * 7 + 3));
    for (count, words) in [(1, ", 1 pair, "), (2, ", 2 pairs, ")] {
        let pairs = verdict("[[compare]]\nfrom = 'FILE'", [&pair, &none], count);
        assert!(human(&pairs, 100).contains(words), "{}", human(&pairs, 100));
    }
}
