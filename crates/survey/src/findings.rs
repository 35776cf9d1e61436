//! What document 003 found of locks on its machine, asked of this one: each sentence has a verdict.
//!
//! # Contract
//! A finding compares medians over blocks of two rows, or of several pairs of rows, all of which it needs. The chance
//! that any of a survey's verdicts is wrong is at most 5 %, if blocks are independent: it is split between all pairs.

use crate::{Class, Row};
use serde::Serialize;
use uncontended_figures::ratio;
use uncontended_stats::{Margin, MaxError, QuantileRatio, Rate};

const MAX_ERROR: f64 = 0.05;

/// Where the sentences come from, for people.
pub const FOUND_ON: &str = "Found on a Ryzen 7 1700 with 16 threads";

/// A sentence, and whether it holds here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The sentence.
    pub finding: &'static str,
    /// `yes`, `no`, or `undecided`.
    pub verdict: &'static str,
    /// What was compared.
    pub pairs: Vec<Pair>,
}

/// Two rows of which the first is said to have the larger median.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Both, in words.
    pub compared: String,
    /// The ratio of their medians, by which the first is larger.
    pub ratio: Option<f64>,
    /// The interval's lower end.
    pub low: f64,
    /// Its upper end; none if it has no bound yet.
    pub high: Option<f64>,
    /// What the ratio is to exceed.
    pub exceeds: f64,
}

/// What is compared of a row's blocks.
#[derive(Clone, Copy)]
enum Figure {
    Time,
    LongestWait,
    LongestIdle,
}

/// A row: the lock, whether there are more threads than CPUs, their class.
#[derive(Clone, Copy)]
struct Side(&'static str, bool, Class);

struct Sentence {
    text: &'static str,
    figure: Figure,
    pairs: &'static [(Side, Side)],
    exceeds: f64,
}

const fn of(lock: &'static str) -> Side {
    Side(lock, false, Class::Other)
}

const SENTENCES: [Sentence; 4] = [
    Sentence {
        text: "a lock that spins by writing is the slowest of those that spin",
        figure: Figure::Time,
        pairs: &[
            (of("tas"), of("ttas")),
            (of("tas"), of("ttas-backoff")),
            (of("tas"), of("ttas-yield")),
        ],
        exceeds: 1.0,
    },
    Sentence {
        text: "the longest waits are longer at a spinlock that does not yield than at one that does",
        figure: Figure::LongestWait,
        pairs: &[(of("ttas"), of("ttas-yield"))],
        exceeds: 1.0,
    },
    Sentence {
        text: "with more threads than CPUs, a spinlock in order of arrival takes more than twice a mutex's time",
        figure: Figure::Time,
        pairs: &[(Side("ticket", true, Class::Other), Side("std", true, Class::Other))],
        exceeds: 2.0,
    },
    Sentence {
        text: "a mutex's longest idle times are shorter under a real-time class",
        figure: Figure::LongestIdle,
        pairs: &[
            (of("std"), Side("std", false, Class::RoundRobin)),
            (of("std"), Side("std", false, Class::Fifo)),
        ],
        exceeds: 1.0,
    },
];

/// The verdicts on those sentences whose rows were measured, and what the others need.
pub(crate) fn findings(rows: &[Row], cpus: usize) -> (Vec<Finding>, Vec<String>) {
    let pairs: usize = SENTENCES.iter().map(|sentence| sentence.pairs.len()).sum();
    let max_error = MaxError::new(MAX_ERROR / pairs as f64).expect("a small share");
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for sentence in &SENTENCES {
        let pairs =
            sentence.pairs.iter().map(|pair| compare(sentence, *pair, rows, cpus, max_error));
        match pairs.collect::<Option<Vec<Pair>>>() {
            Some(pairs) => {
                found.push(Finding { finding: sentence.text, verdict: verdict(&pairs), pairs })
            }
            None => left_out.push(format!("whether {}: its rows were not measured", sentence.text)),
        }
    }
    (found, left_out)
}

fn verdict(pairs: &[Pair]) -> &'static str {
    let is_refuted = |pair: &Pair| pair.high.is_some_and(|high| high <= pair.exceeds);
    match () {
        () if pairs.iter().all(|pair| pair.low > pair.exceeds) => "yes",
        () if pairs.iter().any(is_refuted) => "no",
        () => "undecided",
    }
}

fn compare(
    sentence: &Sentence,
    (larger, smaller): (Side, Side),
    rows: &[Row],
    cpus: usize,
    max_error: MaxError,
) -> Option<Pair> {
    let mut ratio = QuantileRatio::of_sessions(Rate::HALF, Margin::new(0.0).ok()?, max_error);
    let (larger, smaller) = (larger.row(rows, cpus)?, smaller.row(rows, cpus)?);
    sentence.figure.of(larger)?.iter().try_for_each(|&value| ratio.push_b(value)).ok()?;
    sentence.figure.of(smaller)?.iter().try_for_each(|&value| ratio.push_a(value)).ok()?;
    let (low, high) = ratio.interval();
    let name = |row: &Row| match row.class {
        Class::Other => row.name.clone(),
        class => format!("{}, {class}", row.name),
    };
    Some(Pair {
        compared: format!("{} to {}", name(larger), name(smaller)),
        ratio: ratio.estimate(),
        low,
        high: high.is_finite().then_some(high),
        exceeds: sentence.exceeds,
    })
}

impl Finding {
    /// The sentence, with what was compared.
    #[must_use]
    pub fn said(&self) -> String {
        let pairs = self.pairs.iter().map(|pair| {
            let shown = ratio(pair.ratio, pair.low, pair.high.unwrap_or(f64::INFINITY));
            format!("{} {shown}", pair.compared)
        });
        format!("{} ({})", self.finding, pairs.collect::<Vec<_>>().join("; "))
    }
}

impl Side {
    fn row(self, rows: &[Row], cpus: usize) -> Option<&Row> {
        let Side(lock, is_over, class) = self;
        let threads = if is_over { 2 * cpus } else { cpus };
        rows.iter().find(|row| {
            let is_it = row.name == lock && row.threads == threads && row.class == class;
            is_it && row.failed.is_none() && threads > 1
        })
    }
}

impl Figure {
    /// The figure of each block, if there are any.
    fn of(self, row: &Row) -> Option<&[f64]> {
        let named = |name| row.block_figures.iter().find(|(own, _)| *own == name);
        let values = match self {
            Figure::Time => Some(&row.block_ns),
            Figure::LongestWait => named("longest_wait_ns").map(|(_, values)| values),
            Figure::LongestIdle => named("longest_idle_ns").map(|(_, values)| values),
        };
        values.map(Vec::as_slice).filter(|values| !values.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, threads: usize, class: Class, ns: f64, longest_ns: f64) -> Row {
        let spread =
            |middle: f64| (0..60).map(|n| middle * (1.0 + f64::from(n % 7) * 0.01)).collect();
        let longest: Vec<f64> = spread(longest_ns);
        Row {
            name: name.to_owned(),
            threads,
            class,
            block_ns: spread(ns),
            block_figures: vec![("longest_wait_ns", longest.clone()), ("longest_idle_ns", longest)],
            ..Row::default()
        }
    }

    fn rows(tas_ns: f64, ticket_ns: f64) -> Vec<Row> {
        vec![
            row("tas", 2, Class::Other, tas_ns, 9e6),
            row("ttas", 2, Class::Other, 200.0, 8e6),
            row("ttas-backoff", 2, Class::Other, 150.0, 8e6),
            row("ttas-yield", 2, Class::Other, 100.0, 4e6),
            row("std", 4, Class::Other, 100.0, 4e6),
            row("ticket", 4, Class::Other, ticket_ns, 4e6),
        ]
    }

    fn verdicts(rows: &[Row]) -> Vec<&'static str> {
        findings(rows, 2).0.iter().map(|finding| finding.verdict).collect()
    }

    #[test]
    fn a_sentence_holds_is_refuted_or_open() {
        assert_eq!(verdicts(&rows(300.0, 500.0)), ["yes", "yes", "yes"]);
        assert_eq!(verdicts(&rows(170.0, 150.0)), ["no", "yes", "no"]);
        assert_eq!(verdicts(&rows(202.0, 200.0)), ["undecided", "yes", "undecided"]);
        let few: Vec<Row> = rows(300.0, 500.0)
            .into_iter()
            .map(|row| Row { block_ns: row.block_ns[..2].to_vec(), ..row })
            .collect();
        assert_eq!(verdicts(&few), ["undecided", "yes", "undecided"]);
    }

    #[test]
    fn a_sentence_whose_rows_are_missing_says_so() {
        let mut rows = rows(300.0, 500.0);
        let (_, left_out) = findings(&rows, 2);
        assert!(left_out.len() == 1 && left_out[0].contains("real-time"), "{left_out:?}");
        rows.push(row("std", 2, Class::Other, 100.0, 4e6));
        rows.push(row("std", 2, Class::RoundRobin, 100.0, 1e6));
        rows.push(row("std", 2, Class::Fifo, 100.0, 5e6));
        assert_eq!(verdicts(&rows)[3], "no", "it needs both classes");
        rows.last_mut().unwrap().failed = Some("hangs".to_owned());
        assert_eq!(findings(&rows, 2).0.len(), 3);
    }
}
