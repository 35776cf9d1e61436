//! SAFETY comments: each gives a reason, and names the invariant that it rests on.
//!
//! # Contract
//! An invariant is a letter and a number (`I1`; `L1` for a contract of the C library) that stands at the start of a
//! header line, before a colon. A SAFETY comment of code that ships cites one that is listed in the header of its own
//! file or of a module around it, or a contract of the C library, listed once for all crates.

use super::{complaint, source::Source};
use std::collections::{BTreeMap, BTreeSet};

/// Where the contracts of the C library and the kernel (`L1`) are listed.
const CONTRACTS: &str = "crates/sys/src/lib.rs";

/// Texts that name no reason.
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

/// The SAFETY comments of a file: line (from 1) and text.
fn comments(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, comment) in source.comments.iter().enumerate() {
        let Some((_, reason)) = comment.split_once("SAFETY:") else { continue };
        let following = source.comments[at + 1..].iter().take(8).take_while(|c| !c.is_empty());
        let whole = following.fold(reason.to_owned(), |whole, c| {
            whole + " " + c.trim_start_matches(['/', '!', ' '])
        });
        found.push((at + 1, whole));
    }
    found
}

/// Complaints about SAFETY comments without a reason of their own.
pub(crate) fn reasons(source: &Source) -> Vec<String> {
    let is_empty = |text: &str| {
        let plain = text.trim().trim_end_matches('.').to_lowercase();
        let refers = REFERENCES.iter().any(|start| plain.starts_with(start));
        let short = plain.len() < 20 && !refers && cited(text).next().is_none();
        short || EMPTY_FORMULAS.contains(&plain.as_str())
    };
    let empty = comments(source).into_iter().filter(|(_, text)| is_empty(text));
    empty.map(|(line, _)| complaint(source, line, "a SAFETY comment without a reason")).collect()
}

/// SAFETY comments of code that ships and that cite no invariant of their module. An example in a doc comment is the
/// user's code, which knows none.
pub(crate) fn invariants(sources: &[Source]) -> Vec<String> {
    let listed: BTreeMap<&str, BTreeSet<&str>> =
        sources.iter().map(|source| (source.path.as_str(), listed(source).collect())).collect();
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.is_ours()) {
        let around = around(&source.path);
        let is_listed = |name: &str| {
            let holds = |path: &str| listed.get(path).is_some_and(|of| of.contains(name));
            around.iter().any(|path| holds(path)) || (name.starts_with('L') && holds(CONTRACTS))
        };
        let is_code = |line: usize| !source.comments[line - 1].starts_with(['/', '!']);
        let ships = comments(source)
            .into_iter()
            .filter(|&(line, _)| source.line_ships(line) && is_code(line));
        for (line, text) in ships {
            if cited(&text).next().is_none() || !cited(&text).all(is_listed) {
                findings.push(complaint(source, line, "SAFETY cites no invariant of its module"));
            }
        }
    }
    findings
}

/// A letter and a number.
fn is_name(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(|first| first.is_ascii_uppercase())
        && word.len() > 1
        && chars.all(|digit| digit.is_ascii_digit())
}

/// The names in a text.
fn cited(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| is_name(word))
}

/// The names that a header lists.
fn listed(source: &Source) -> impl Iterator<Item = &str> {
    source.header().filter_map(|line| {
        let name = line.split_once(':')?.0.trim_matches([' ', '-', '*', '`']);
        is_name(name).then_some(name)
    })
}

/// The file itself and the files of the modules around it.
fn around(path: &str) -> Vec<String> {
    let mut files = vec![path.to_owned()];
    let mut folder = path;
    while let Some((outer, _)) = folder.rsplit_once('/') {
        files.extend(["mod.rs", "lib.rs", "main.rs"].map(|name| format!("{outer}/{name}")));
        if outer.ends_with("/src") {
            break;
        }
        files.push(format!("{outer}.rs"));
        folder = outer;
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_formulas_are_named_and_reasons_pass() {
        let complaints = |text: &str| reasons(&Source::new("crates/x/src/a.rs", text)).len();
        assert_eq!(complaints("// SAFETY: guaranteed by the caller.\n"), 1);
        assert_eq!(complaints("// SAFETY: ok\n"), 1);
        assert_eq!(complaints("// SAFETY: I2.\n"), 0);
        assert_eq!(complaints("// SAFETY: the slot is ours until `tail` moves (I2).\n"), 0);
    }

    #[test]
    fn an_invariant_is_cited_that_the_module_or_one_around_it_lists() {
        let check = |text: &str| {
            let root = Source::new("crates/x/src/lib.rs", "//! L1: a path ends in NUL.\n");
            let module = Source::new("crates/x/src/a/mod.rs", "//! I1: `head <= tail`.\n");
            let other = Source::new("crates/x/src/other.rs", "//! I9: other.\n");
            let file = Source::new("crates/x/src/a/b.rs", format!("//! I2: own.\n{text}"));
            let contracts = Source::new(CONTRACTS, "//! L3: a mapping is new.\n//! I3: ours.\n");
            invariants(&[root, module, other, file, contracts]).len()
        };
        for name in ["I1", "I2", "L1"] {
            assert_eq!(check(&format!("// SAFETY: a reason that is sound ({name}).\n")), 0);
        }
        assert_eq!(check("// SAFETY: a reason of another module (I9).\n"), 1);
        assert_eq!(check("// SAFETY: the kernel's doing (L3).\n"), 0, "listed for all crates");
        assert_eq!(check("// SAFETY: the doing of another (L9).\n"), 1);
        assert_eq!(check("// SAFETY: a reason without a number, under C11.\n"), 1);
        let test = "#[cfg(test)]\nmod tests {\n// SAFETY: the test made it just now.\n}\n";
        assert_eq!(check(test), 0);
        assert_eq!(check("/// // SAFETY: the example keeps the memory itself.\nfn f() {}\n"), 0);
    }
}
