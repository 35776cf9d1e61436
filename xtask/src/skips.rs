//! Tests that were skipped: they pass, so that cargo hides what they print, and are listed here by name and reason.
//!
//! # Contract
//! `testkit::skip!` appends a line to `target/skips`; [`recorded`] reads them until [`forget`] empties the list.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Where testkit writes.
const FILE: &str = "target/skips";

/// A test that was skipped, and how often.
#[derive(Debug, PartialEq)]
pub(crate) struct Skip {
    line: String,
    times: u32,
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
    let skips = recorded(root);
    skips.iter().for_each(|skip| println!("{skip}"));
    println!("tests skipped since `cargo xtask skips --forget`: {}", skips.len());
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
}
