//! Wording: comments on unsafe code and on orderings say something, and nothing is left to do.

use super::{complaint, source::Source};

/// How far above an operation the comment on it may stand, in lines.
const REACH: usize = 6;

/// SAFETY texts that name no reason.
const EMPTY_FORMULAS: [&str; 6] = [
    "guaranteed by caller",
    "guaranteed by the caller",
    "this is safe",
    "trust me",
    "see above",
    "untriaged",
];

/// How a text begins that refers to a reason given nearby.
const REFERENCES: [&str; 3] = ["as in `", "as above", "as for "];

/// Words that promise work instead of doing it.
const PROMISES: [&str; 5] = ["TODO", "FIXME", "XXX", "todo!", "unimplemented!"];

/// Complaints about the wording of one file.
pub(crate) fn check(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    complaints.extend(safety(source));
    complaints.extend(promises(source));
    complaints.extend(std_atomics(source));
    if source.ships() && source.crate_folder() != "crates/model" {
        complaints.extend(orderings(source));
    }
    complaints
}

/// A SAFETY comment has a reason of its own.
fn safety(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    for (at, comment) in source.comments.iter().enumerate() {
        let Some((_, reason)) = comment.split_once("SAFETY:") else { continue };
        let following = source.comments[at + 1..].iter().take(8).take_while(|c| !c.is_empty());
        let whole = following.fold(reason.to_owned(), |whole, c| {
            whole + " " + c.trim_start_matches(['/', '!', ' '])
        });
        let plain = whole.trim().trim_end_matches('.').to_lowercase();
        let cites = plain.contains("(i") && plain.ends_with(')');
        let refers = cites || REFERENCES.iter().any(|start| plain.starts_with(start));
        if plain.len() < 20 && !refers || EMPTY_FORMULAS.contains(&plain.as_str()) {
            complaints.push(complaint(
                source,
                at + 1,
                "a SAFETY comment without a reason; name the invariant",
            ));
        }
    }
    complaints
}

/// Nothing is promised in comments or by macros.
fn promises(source: &Source) -> Vec<String> {
    let is_this_rule = source.path.ends_with("tidy/wording.rs");
    let lines = source.code.iter().zip(&source.comments).enumerate();
    lines
        .filter(|(_, (code, comment))| {
            let has = |text: &str, word: &str| {
                text.split(|c: char| !c.is_alphanumeric() && c != '!').any(|w| w == word)
            };
            !is_this_rule && PROMISES.iter().any(|word| has(code, word) || has(comment, word))
        })
        .map(|(at, _)| complaint(source, at + 1, "promised work: do it or leave it out"))
        .collect()
}

/// Above floor 0, atomics come through the crate `atomic`.
fn std_atomics(source: &Source) -> Vec<String> {
    let exempt = [
        "crates/atomic",
        "crates/sys",
        "crates/stats",
        "crates/model",
        "crates/itoa",
        "crates/delta",
        "xtask",
    ];
    if exempt.contains(&source.crate_folder()) || !source.ships() {
        return Vec::new();
    }
    let named =
        |line: &String| line.contains("std::sync::atomic") || line.contains("core::sync::atomic");
    let lines = source
        .code
        .iter()
        .enumerate()
        .filter(|(at, line)| at + 1 < source.tests_begin() && named(line));
    lines
        .map(|(at, _)| {
            complaint(source, at + 1, "std's atomics outside floor 0: use uncontended-atomic")
        })
        .collect()
}

/// Acquire and release name their edge; SeqCst says what it keeps before what.
fn orderings(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    for (at, line) in source.code.iter().enumerate().take(source.tests_begin() - 1) {
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        if words.contains(&"use") || line.trim_start().starts_with("pub use") {
            continue;
        }
        let names = |which: &[&str]| words.iter().any(|word| which.contains(word));
        let edge = |comment: &str| comment.contains("EDGE ");
        let order = |comment: &str| comment.contains("before") || comment.contains("EDGE ");
        if names(&["Acquire", "Release", "AcqRel"]) && !source.comment_near(at + 1, REACH, edge) {
            complaints.push(complaint(
                source,
                at + 1,
                "an acquire or release without a named EDGE",
            ));
        }
        if names(&["SeqCst"]) && !source.comment_near(at + 1, REACH, order) {
            complaints.push(complaint(
                source,
                at + 1,
                "a SeqCst that does not say which store it keeps before which load",
            ));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        check(&Source::new(path, text))
    }

    #[test]
    fn empty_formulas_are_named_and_reasons_pass() {
        assert_eq!(
            complaints("crates/x/src/a.rs", "// SAFETY: guaranteed by the caller.\n").len(),
            1
        );
        assert_eq!(complaints("crates/x/src/a.rs", "// SAFETY: ok\n").len(), 1);
        assert!(
            complaints(
                "crates/x/src/a.rs",
                "// SAFETY: the slot is ours until `tail` moves (I2).\n"
            )
            .is_empty()
        );
    }

    #[test]
    fn orderings_need_an_edge() {
        let bare = "fn f() {\n a.store(1, Release);\n}\n";
        assert_eq!(complaints("crates/x/src/a.rs", bare).len(), 1);
        let named =
            "fn f() {\n // EDGE publish (release): carries the value.\n a.store(1, Release);\n}\n";
        assert!(complaints("crates/x/src/a.rs", named).is_empty());
        assert_eq!(complaints("crates/x/src/a.rs", "fn f() {\n a.swap(1, SeqCst);\n}\n").len(), 1);
        assert!(complaints("crates/x/tests/a.rs", bare).is_empty());
    }

    #[test]
    fn promises_and_std_atomics_are_named() {
        assert_eq!(complaints("crates/x/src/a.rs", "// TODO later\nfn f() { todo!() }\n").len(), 2);
        assert_eq!(
            complaints("crates/ring/src/a.rs", "use std::sync::atomic::AtomicU8;\n").len(),
            1
        );
        assert!(complaints("crates/sys/src/a.rs", "use std::sync::atomic::AtomicU8;\n").is_empty());
    }
}
