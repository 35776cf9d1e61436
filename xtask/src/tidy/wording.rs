//! Wording: comments on orderings say something, atomics come through one door, and nothing is left to do.

use super::{complaint, source::Source};

/// How far above an operation the comment on it may stand, in lines.
const REACH: usize = 6;

/// Words that promise work instead of doing it.
const PROMISES: [&str; 5] = ["TODO", "FIXME", "XXX", "todo!", "unimplemented!"];

/// Complaints about the wording of one file.
pub(crate) fn check(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    complaints.extend(promises(source));
    complaints.extend(std_atomics(source));
    if source.crate_folder() != "crates/model" {
        complaints.extend(orderings(source));
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
    let exempt = ["crates/atomic", "crates/sys", "crates/stats", "crates/model", "xtask"];
    if exempt.contains(&source.crate_folder()) {
        return Vec::new();
    }
    let named =
        |line: &String| line.contains("std::sync::atomic") || line.contains("core::sync::atomic");
    let lines = source
        .code
        .iter()
        .enumerate()
        .filter(|(at, line)| source.line_ships(at + 1) && named(line));
    lines
        .map(|(at, _)| {
            complaint(source, at + 1, "std's atomics outside floor 0: use uncontended-atomic")
        })
        .collect()
}

/// Acquire and release name their edge; SeqCst says what it keeps before what.
fn orderings(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    let lines = source.code.iter().enumerate();
    for (at, line) in lines.filter(|(at, _)| source.line_ships(at + 1)) {
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
    fn orderings_need_an_edge() {
        let bare = "fn f() {\n a.store(1, Release);\n}\n";
        assert_eq!(complaints("crates/x/src/a.rs", bare).len(), 1);
        let named =
            "fn f() {\n // EDGE publish (release): carries the value.\n a.store(1, Release);\n}\n";
        assert!(complaints("crates/x/src/a.rs", named).is_empty());
        assert_eq!(complaints("crates/x/src/a.rs", "fn f() {\n a.swap(1, SeqCst);\n}\n").len(), 1);
        assert!(complaints("crates/x/tests/a.rs", bare).is_empty());
        let before = format!("#[cfg(test)]\nmod tests;\n{bare}");
        assert_eq!(complaints("crates/x/src/a.rs", &before).len(), 1);
        let within = format!("#[cfg(test)]\nmod tests {{\n{bare}}}\n");
        assert!(complaints("crates/x/src/a.rs", &within).is_empty());
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
