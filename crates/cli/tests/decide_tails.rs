//! Lost runs and tails: what a median does not see.

mod decide;

use decide::{Folder, Said, unc};
use std::fmt::Write as _;

/// A log with a question about two commands and these runs: baseline, candidate, in turn; none is a lost run.
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
        (true, Some("yes"))
    );
    assert!((json["tails"]["candidate"].as_f64().unwrap() - 1.0 / 3.0).abs() < 0.01);
    assert!(
        said.err.contains(", but 34% of its runs are lost (0% of the baseline's)"),
        "{}",
        said.err
    );
    // One of a hundred is no evidence, and nobody asked about tails.
    let json = verdict(LOST_ONLY, &lost(100)).json();
    assert_eq!((&json["verdict"], &json["tails"]["state"]), (&"yes".into(), &"untested".into()));
    // The other way round the candidate is no worse for it.
    let turned: Vec<_> = lost(3).into_iter().map(|[a, b]| [b, a]).collect();
    assert_eq!(verdict(LOST_ONLY, &turned).status, 0);
}
