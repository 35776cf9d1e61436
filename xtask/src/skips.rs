//! Tests that were skipped or shortened: they pass, so that cargo hides what they print, and are listed here by name
//! and reason.
//!
//! # Contract
//! `testkit::skip!` and `testkit::repetitions` append lines to `target/skips`; [`recorded`] reads them until [`forget`]
//! empties the list.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Where testkit writes.
const FILE: &str = "target/skips";

/// A test that was skipped or shortened, and how often.
#[derive(Debug, PartialEq)]
pub(crate) struct Skip {
    line: String,
    times: u32,
}

impl Skip {
    /// Whether it ran, at less than its full depth.
    fn is_short(&self) -> bool {
        self.line.starts_with("SHORT ")
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.times {
            1 => f.write_str(&self.line),
            times => write!(f, "{} ({times} times)", self.line),
        }
    }
}

/// The skips since the list was emptied.
pub(crate) fn recorded(root: &Path) -> Vec<Skip> {
    merged(&std::fs::read_to_string(root.join(FILE)).unwrap_or_default())
}

/// Empties the list.
pub(crate) fn forget(root: &Path) {
    let _ = std::fs::remove_file(root.join(FILE));
}

/// `cargo xtask skips`: prints them.
pub(crate) fn print(root: &Path) {
    lines(&recorded(root)).iter().for_each(|line| println!("{line}"));
    println!("(since `cargo xtask skips --forget`)");
}

/// The list for people: what was shortened, then what was skipped, each with its count.
pub(crate) fn lines(skips: &[Skip]) -> Vec<String> {
    let (short, skipped): (Vec<_>, Vec<_>) = skips.iter().partition(|skip| skip.is_short());
    let part = |title: &str, skips: &[&Skip]| {
        let head = format!("tests {title}: {}", skips.len());
        std::iter::once(head)
            .chain(skips.iter().map(|skip| format!("  {skip}")))
            .collect::<Vec<_>>()
    };
    [part("shortened", &short), part("skipped", &skipped)].concat()
}

fn merged(lines: &str) -> Vec<Skip> {
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    for line in lines.lines() {
        *times.entry(line).or_default() += 1;
    }
    times.into_iter().map(|(line, times)| Skip { line: line.to_owned(), times }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_skipped_twice_is_one_line() {
        let skips = merged("SKIPPED b: no root\nSKIPPED a: no gzip\nSKIPPED b: no root\n");
        let shown: Vec<String> = skips.iter().map(Skip::to_string).collect();
        assert_eq!(shown, ["SKIPPED a: no gzip", "SKIPPED b: no root (2 times)"]);
    }

    #[test]
    fn shortened_tests_are_counted_apart() {
        let skips = merged("SKIPPED a: no gzip\nSHORT c: 5 instead of 50 (UNC_DEPTH=full)\n");
        let wanted = "tests shortened: 1\n  SHORT c: 5 instead of 50 (UNC_DEPTH=full)\n\
                      tests skipped: 1\n  SKIPPED a: no gzip";
        assert_eq!(lines(&skips).join("\n"), wanted);
    }
}
