//! What document 003 found of locks on its machine, asked of this one: each sentence has a verdict.
//!
//! # Contract
//! A finding compares two rows, or several pairs of rows, all of which it needs: the ratio of their figures within a
//! round, whose median over rounds is in its interval with an error that is split between all pairs of a survey: the
//! chance that any verdict is wrong is at most 5 %, if rounds are independent. What drifts, or other programs that come
//! and go, change both rows of a round alike.
//!
//! A longest time that was not over at the end of its block is at least as long: the lower end of the interval takes
//! the smaller side's to be without bound, and the upper end the larger side's.

use crate::{Class, Row};
use serde::Serialize;
use uncontended_figures::ratio;
use uncontended_stats::{Margin, MaxError, Paired, paired};

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

/// Two rows of which the first is said to have the larger figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Both, in words.
    pub compared: String,
    /// The median of the ratios within a round, by which the first is larger.
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
            (of("Tas"), of("Ttas<Hint>")),
            (of("Tas"), of("Ttas<Backoff>")),
            (of("Tas"), of("Ttas<HintThenYield>")),
        ],
        exceeds: 1.0,
    },
    Sentence {
        text: "the longest waits are longer at a spinlock that does not yield than at one that does",
        figure: Figure::LongestWait,
        pairs: &[(of("Ttas<Hint>"), of("Ttas<HintThenYield>"))],
        exceeds: 1.0,
    },
    Sentence {
        text: "with more threads than CPUs, a spinlock in order of arrival takes more than twice a mutex's time",
        figure: Figure::Time,
        pairs: &[(Side("Ticket<Hint>", true, Class::Other), Side("std", true, Class::Other))],
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

/// What was measured.
pub(crate) struct Found<'r> {
    pub(crate) rows: &'r [Row],
    /// Std's mutex by as many threads as CPUs, under each class, in the same rounds.
    pub(crate) classes: &'r [Row],
    pub(crate) cpus: usize,
}

/// The verdicts on those sentences whose rows were measured, and what the others need.
pub(crate) fn findings(measured: &Found) -> (Vec<Finding>, Vec<String>) {
    let pairs: usize = SENTENCES.iter().map(|sentence| sentence.pairs.len()).sum();
    let max_error = MaxError::new(MAX_ERROR / pairs as f64).expect("a small share");
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for sentence in &SENTENCES {
        let pairs = sentence.pairs.iter().map(|pair| compare(sentence, *pair, measured, max_error));
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
    measured: &Found,
    max_error: MaxError,
) -> Option<Pair> {
    let rows = match larger.2 == smaller.2 {
        true => measured.rows,
        false => measured.classes,
    };
    let (larger, smaller) = (larger.row(rows, measured.cpus)?, smaller.row(rows, measured.cpus)?);
    let figures = |row| sentence.figure.of(row);
    let new = || Some(Paired::new(Margin::new(0.0).ok()?, max_error));
    let (mut least, mut plain, mut most) = (new()?, new()?, new()?);
    for ((larger, larger_is_cut), (smaller, smaller_is_cut)) in
        figures(larger)?.zip(figures(smaller)?)
    {
        let ratio = paired::ratio(larger, smaller).ok()?;
        plain.push(ratio).ok()?;
        least.push(if smaller_is_cut { 0.0 } else { ratio }).ok()?;
        most.push(if larger_is_cut { f64::INFINITY } else { ratio }).ok()?;
    }
    let (low, high) = (least.interval().0, most.interval().1);
    let name = |row: &Row| match row.class {
        Class::Other => row.name.clone(),
        class => format!("{}, {class}", row.name),
    };
    Some(Pair {
        compared: format!("{} to {}", name(larger), name(smaller)),
        ratio: plain.estimate().filter(|ratio| ratio.is_finite()),
        low: low.max(0.0),
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
            is_it && row.failed.is_none() && row.role != "control" && threads > 1
        })
    }
}

impl Figure {
    /// The figure of each block, and whether it may be larger; if there are any.
    fn of(self, row: &Row) -> Option<impl Iterator<Item = (f64, bool)>> {
        let named = |name: &str| {
            let found = row.block_figures.iter().find(|(own, _)| *own == name)?;
            Some(found.1.as_slice())
        };
        let (values, is_cut) = match self {
            Figure::Time => (Some(row.block_ns.as_slice()), None),
            Figure::LongestWait => (named("longest_wait_ns"), named("longest_wait_is_cut")),
            Figure::LongestIdle => (named("longest_idle_ns"), named("longest_idle_is_cut")),
        };
        let values = values.filter(|values| !values.is_empty())?;
        let is_cut =
            move |at: usize| is_cut.and_then(|all| all.get(at)).is_some_and(|&it| it > 0.0);
        Some(values.iter().enumerate().map(move |(at, &value)| (value, is_cut(at))))
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
            row("Tas", 2, Class::Other, tas_ns, 9e6),
            row("Ttas<Hint>", 2, Class::Other, 200.0, 8e6),
            row("Ttas<Backoff>", 2, Class::Other, 150.0, 8e6),
            row("Ttas<HintThenYield>", 2, Class::Other, 100.0, 4e6),
            row("std", 4, Class::Other, 100.0, 4e6),
            row("Ticket<Hint>", 4, Class::Other, ticket_ns, 4e6),
        ]
    }

    fn verdicts(rows: &[Row]) -> Vec<&'static str> {
        let found = Found { rows, classes: &[], cpus: 2 };
        findings(&found).0.iter().map(|finding| finding.verdict).collect()
    }

    #[test]
    fn a_sentence_holds_is_refuted_or_open() {
        assert_eq!(verdicts(&rows(300.0, 500.0)), ["yes", "yes", "yes"]);
        assert_eq!(verdicts(&rows(170.0, 150.0)), ["no", "yes", "no"]);
        assert_eq!(verdicts(&rows(200.0, 200.0)), ["no", "yes", "no"], "not by more");
        let few: Vec<Row> = rows(300.0, 500.0)
            .into_iter()
            .map(|row| Row { block_ns: row.block_ns[..2].to_vec(), ..row })
            .collect();
        assert_eq!(verdicts(&few), ["undecided", "yes", "undecided"]);
    }

    /// Other programs come and go: every block of a round takes as much longer, and the verdicts stay.
    #[test]
    fn a_load_that_changes_both_rows_of_a_round_changes_no_verdict() {
        let mut rng = uncontended_stats::Rng::new(3);
        let loads: Vec<f64> = (0..60).map(|_| 1.0 + 9.0 * rng.unit()).collect();
        for (tas_ns, expected) in [(300.0, "yes"), (170.0, "no")] {
            let mut rows = rows(tas_ns, 500.0);
            for row in &mut rows {
                row.block_ns.iter_mut().zip(&loads).for_each(|(ns, load)| *ns *= load);
            }
            assert_eq!(verdicts(&rows)[0], expected);
        }
    }

    #[test]
    fn a_longest_wait_that_was_not_over_decides_only_what_it_can() {
        let cut = |row: &mut Row| row.block_figures.push(("longest_wait_is_cut", vec![1.0; 60]));
        // At least 9 ms are longer than 4 ms; 8 ms may be shorter than what lasted at least 4.
        let mut rows = rows(300.0, 500.0);
        cut(&mut rows[1]);
        assert_eq!(verdicts(&rows)[1], "yes");
        cut(&mut rows[3]);
        assert_eq!(verdicts(&rows)[1], "undecided");
    }

    #[test]
    fn a_sentence_whose_rows_are_missing_says_so() {
        let rows = rows(300.0, 500.0);
        let (_, left_out) = findings(&Found { rows: &rows, classes: &[], cpus: 2 });
        assert!(left_out.len() == 1 && left_out[0].contains("real-time"), "{left_out:?}");
        let mut classes = vec![
            row("std", 2, Class::Other, 100.0, 4e6),
            row("std", 2, Class::RoundRobin, 100.0, 1e6),
            row("std", 2, Class::Fifo, 100.0, 5e6),
        ];
        let found = |classes: &[Row]| findings(&Found { rows: &rows, classes, cpus: 2 }).0;
        assert_eq!(found(&classes)[3].verdict, "no", "it needs both classes");
        classes[2].failed = Some("hangs".to_owned());
        assert_eq!(found(&classes).len(), 3);
    }
}
