//! The last lines of a run: what failed steps said, which tests were skipped or shortened, where the time went, and the
//! counts.

use crate::skips;
use std::time::Duration;

/// How often a failed step's telling lines, and its last lines, are repeated at most.
const TELLING: usize = 60;
const LAST: usize = 15;
/// How many lines belong to a telling one.
const BEHIND: usize = 6;
/// How many of the longest steps are named.
const LONGEST: usize = 16;

/// A step that was reached.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) name: String,
    /// It ran in the second lane.
    pub(crate) is_aside: bool,
    pub(crate) outcome: Outcome,
}

/// How a step ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    Passed(Duration),
    Failed { why: String, said: String },
    Skipped(&'static str),
}

pub(crate) fn all_passed(results: &[Ran]) -> bool {
    !results.iter().any(|ran| matches!(ran.outcome, Outcome::Failed { .. }))
}

/// Prints it; the counts come last, because the end of the output is what people see first.
pub(crate) fn print(results: &[Ran], skipped_tests: &[skips::Skip]) {
    for ran in results {
        if let Outcome::Failed { said, .. } = &ran.outcome {
            println!("\n== {} ==\n{}", ran.name, excerpt(said));
        }
    }
    println!("\n== summary ==");
    skips::lines(skipped_tests).iter().for_each(|line| println!("{line}"));
    longest(results).iter().for_each(|line| println!("{line}"));
    closing(results).iter().for_each(|line| println!("{line}"));
}

/// Which steps failed or were skipped, and how many of each.
fn closing(results: &[Ran]) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for Ran { name, outcome, .. } in results {
        match outcome {
            Outcome::Passed(_) => passed += 1,
            Outcome::Skipped(reason) => {
                skipped += 1;
                lines.push(format!("SKIPPED {name}: {reason}"));
            }
            Outcome::Failed { why, .. } => {
                failed += 1;
                lines.push(format!("FAILED {name}: {why}"));
            }
        }
    }
    let counts = format!("{passed} passed, {failed} failed, {skipped} skipped");
    lines.extend([format!("ci: {counts}"), counts]);
    lines
}

/// The steps that took longest, and how long each lane took.
fn longest(results: &[Ran]) -> Vec<String> {
    let mut took: Vec<(u64, &Ran)> = results
        .iter()
        .filter_map(|ran| match ran.outcome {
            Outcome::Passed(took) => Some((took.as_secs(), ran)),
            _ => None,
        })
        .collect();
    took.sort_by_key(|&(took, _)| std::cmp::Reverse(took));
    let lane = |is_aside| -> u64 {
        took.iter().filter(|(_, ran)| ran.is_aside == is_aside).map(|(took, _)| took).sum()
    };
    let totals = [(lane(false), "in all"), (lane(true), "in all, aside")];
    let longest = took.iter().take(LONGEST).map(|&(took, ran)| {
        format!("{took:5} s {}{}", ran.name, if ran.is_aside { ", aside" } else { "" })
    });
    longest.chain(totals.map(|(took, of)| format!("{took:5} s {of}"))).collect()
}

/// The lines of a failed step that tell why, then its last ones.
fn excerpt(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    let tells = |line: &&str| {
        line.starts_with("error")
            || line.starts_with("FAILED")
            || line.contains("panicked at")
            || line.contains("... FAILED")
    };
    let near = |at: usize| lines[at.saturating_sub(BEHIND)..=at].iter().any(tells);
    let telling: Vec<&str> = (0..lines.len()).filter(|&at| near(at)).map(|at| lines[at]).collect();
    let last = |lines: &[&str], count: usize| lines[lines.len().saturating_sub(count)..].join("\n");
    format!("{}\n-- its last lines --\n{}", last(&telling, TELLING), last(&lines, LAST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Vec<Ran> {
        let ran =
            |name: &str, outcome| Ran { name: name.to_owned(), is_aside: name == "slow", outcome };
        vec![
            ran("quick", Outcome::Passed(Duration::from_secs(1))),
            ran("slow", Outcome::Passed(Duration::from_secs(70))),
            ran("Miri", Outcome::Skipped("no nightly")),
            ran("clippy", Outcome::Failed { why: "status 1".into(), said: String::new() }),
        ]
    }

    #[test]
    fn the_counts_come_last_and_plain() {
        assert_eq!(
            closing(&results()),
            [
                "SKIPPED Miri: no nightly",
                "FAILED clippy: status 1",
                "ci: 2 passed, 1 failed, 1 skipped",
                "2 passed, 1 failed, 1 skipped"
            ]
        );
        assert!(!all_passed(&results()) && all_passed(&results()[..3]));
    }

    #[test]
    fn the_longest_steps_come_first() {
        assert_eq!(
            longest(&results()),
            ["   70 s slow, aside", "    1 s quick", "    1 s in all", "   70 s in all, aside"]
        );
    }

    #[test]
    fn what_tells_why_is_repeated_with_what_follows_it() {
        let noise = "Compiling\n".repeat(100);
        let said = format!("{noise}thread 'a' panicked at x.rs:1\nleft: 1\n{noise}the end");
        let excerpt = excerpt(&said);
        assert!(excerpt.starts_with("thread 'a' panicked at x.rs:1\nleft: 1\n"), "{excerpt}");
        assert!(excerpt.ends_with("Compiling\nthe end"), "{excerpt}");
        assert_eq!(excerpt.lines().count(), 1 + BEHIND + 1 + LAST);
    }
}
