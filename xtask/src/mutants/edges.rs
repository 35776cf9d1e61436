//! Edges that no mutant breaks: orderings that no test was shown to need.
//!
//! # Contract
//! A named edge is shown if a mutant, or an entry of `[[kept]]` with its reason, changes the statement at one of its
//! ends. Only crates are looked at that list mutants of their edges.

use super::edit::places;
use crate::tidy::Source;
use crate::tidy::edges::citations;
use std::collections::{BTreeMap, BTreeSet};

/// Complaints about edges that are not shown, given the changes: files, with what changes in them.
pub(super) fn check(sources: &[Source], changes: &[(&str, &str)]) -> Vec<String> {
    let mut shown: BTreeMap<(&str, &str), (bool, String)> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.ships()) {
        let here = changes.iter().filter(|(file, _)| *file == source.path);
        let changed: Vec<_> = here.flat_map(|(_, from)| lines(&source.text, from)).collect();
        for (at, citation) in citations(source) {
            let Some((name, _)) = citation else { continue };
            let end = at + statement(&source.code[at..]);
            let is_changed = changed.iter().any(|&(first, last)| first <= end && at <= last);
            let place = format!("{}:{}", source.path, at + 1);
            let edge = shown.entry((source.crate_folder(), name)).or_insert((false, place));
            edge.0 |= is_changed;
        }
    }
    let edges = shown.iter();
    let crates: BTreeSet<&str> =
        edges.filter_map(|((folder, _), (is_shown, _))| is_shown.then_some(*folder)).collect();
    let unshown =
        shown.iter().filter(|((folder, _), (is_shown, _))| crates.contains(folder) && !is_shown);
    unshown
        .map(|((_, name), (_, place))| format!("{place}: no mutant breaks the edge {name}"))
        .collect()
}

/// The first and last line, from 0, of each place where `from` stands.
fn lines(text: &str, from: &str) -> impl Iterator<Item = (usize, usize)> {
    let line = |at: usize| text[..at].matches('\n').count();
    places(text, from).into_iter().map(move |place| (line(place.start), line(place.end)))
}

/// How many lines further the statement ends that begins in these lines; a fence's ends with the access it orders.
fn statement(code: &[String]) -> usize {
    let end = |line: &&String| line.trim_end().ends_with([';', '{', '}']);
    let mut ends = code.iter().enumerate().filter(|(_, line)| end(line));
    let Some((at, first)) = ends.next() else { return 0 };
    let is_fence = first.contains("fence(");
    is_fence.then(|| ends.next()).flatten().map_or(at, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "fn a() {\n    // EDGE one (release): it.\n    tail\n        .store(1, Release);\n    other();\n    \
                        // EDGE two (release): it.\n    fence(Release);\n    head.store(1, Relaxed);\n    last();\n}\n";

    #[test]
    fn an_edge_without_a_mutant_is_named_if_its_crate_has_others() {
        let sources = [Source::new("crates/x/src/a.rs", TEXT)];
        let unshown = |from: &[&str]| {
            let changes: Vec<_> = from.iter().map(|&from| ("crates/x/src/a.rs", from)).collect();
            check(&sources, &changes)
        };
        assert_eq!(unshown(&[]), [""; 0]);
        assert_eq!(unshown(&["other();", "last();"]), [""; 0]);
        assert_eq!(
            unshown(&[".store(1, Release)"]),
            ["crates/x/src/a.rs:6: no mutant breaks the edge two"]
        );
        assert_eq!(
            unshown(&["head.store(1, Relaxed);", "last();"]),
            ["crates/x/src/a.rs:2: no mutant breaks the edge one"]
        );
        assert_eq!(unshown(&["tail", "fence(Release);"]), [""; 0]);
    }
}
