//! Every word that heads a column, every class, and nothing that is not in a report.

mod common;

use common::*;
use uncontended_report::rows::{class_name, kind_name};
use uncontended_report::run::*;
use uncontended_report::terminal::{Options, render};
use uncontended_report::terms::{TERMS, text};

fn is_explained(word: &str) -> bool {
    let words = |term: &'static str| term.split(", ");
    TERMS.iter().any(|(_, terms)| terms.iter().any(|(term, _)| words(term).any(|one| one == word)))
}

#[test]
fn every_column_is_explained() {
    let mut report = sort();
    let locks: Vec<Lock> = (0..3)
        .map(|id| Lock {
            site: report.processes[0].locks[0].site.clone(),
            id,
            ..report.processes[0].locks[0].clone()
        })
        .collect();
    report.processes.push(process(2, locks, vec![thread(2, "other")]));
    let shown = render(&report, &Options { width: 400, ..Options::default() });
    let heads = |first: &'static str| {
        shown
            .lines()
            .filter(move |line| line.trim_start().starts_with(first) && line.contains("  "))
    };
    let heads: Vec<&str> =
        heads("share  ").chain(heads("lock  ")).chain(heads("thread  ")).collect();
    assert_eq!(heads.len(), 3, "culprits, locks, threads: {shown}");
    for head in heads {
        for word in head.split("  ").map(str::trim).filter(|word| !word.is_empty()) {
            assert!(is_explained(word) || word == "of wait" || word == "class", "{word:?}");
        }
    }
}

#[test]
fn every_class_and_kind_is_explained() {
    for class in [Class::Contention, Class::HandOff, Class::Gate, Class::Queue, Class::Unknown] {
        assert!(is_explained(class_name(class)), "{class:?}");
    }
    let kinds = text(80);
    for kind in [Kind::Mutex, Kind::Condition, Kind::Semaphore, Kind::Barrier, Kind::Futex] {
        assert!(kinds.contains(kind_name(kind)), "{kind:?}");
    }
}

/// Each thing that a culprit does is explained in the words that stand in the table.
#[test]
fn what_culprits_did_is_explained() {
    let text = text(200);
    let written = include_str!("../src/terminal/culprits.rs");
    for words in [
        "holds ",
        "delays ",
        "arrives last at ",
        "releases ",
        "passes ",
        " on",
        " stood idle",
        " ← ",
        "code not recorded",
        "no known cause",
    ] {
        assert!(written.contains(words) && text.contains(words), "{words:?}");
    }
}

/// The words of headings, findings and kinds that are no column.
#[test]
fn what_stands_outside_of_tables_is_explained() {
    for (words, written) in [
        ("Deadlock", include_str!("../src/deadlocks.rs")),
        ("Cycle of waits", include_str!("../src/deadlocks.rs")),
        ("Still waiting", include_str!("../src/hangs.rs")),
        ("Lock order inversion", include_str!("../src/inversions.rs")),
        ("its holder had died", include_str!("../src/terminal/worst.rs")),
        ("futex mutex", include_str!("../src/rows.rs")),
        ("polling", include_str!("../src/findings/rules.rs")),
    ] {
        assert!(written.contains(words) && is_explained(words), "{words:?}");
    }
}

/// The words of a survey that a reader cannot know.
#[test]
fn words_of_a_survey_are_explained() {
    for word in [
        "A/A",
        "bystander",
        "overtaken",
        "fast path",
        "sigma",
        "kappa",
        "check-in",
        "ticket",
        "gap",
        "steal",
        "no clock",
        "wait",
        "idle",
        "hand-off",
    ] {
        assert!(is_explained(word), "{word:?}");
    }
}

#[test]
fn the_text_keeps_to_its_width() {
    for columns in [60, 80, 120] {
        assert!(text(columns).lines().all(|line| line.chars().count() <= columns));
    }
}
