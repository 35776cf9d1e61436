//! A verdict as one self-contained page: the answer, what is known of the rate, how the evidence grew, the pairs.
//!
//! # Contract
//! The path of the evidence is replayed from the runs, through the same trial that gave the verdict.

use super::output;
use super::suite;
use crate::failure::Failure;
use std::ops::ControlFlow;
use uncontended_decide::dealing::DealTrial;
use uncontended_decide::question::{Compare, Question, error_bound};
use uncontended_decide::record::Run;
use uncontended_decide::value::{self, Dimension, Toward, significant};
use uncontended_decide::verdict::{Finding, Verdict};
use uncontended_report::html::{Cell, Page, list, table};
use uncontended_report::svg::{self, Look, Within};

/// Points of a path at most: more than a screen has.
const POINTS: usize = 2000;

const EVIDENCE: &str = "That the truth is above, and that it is below. A path that reaches the level decides. It may be \
                        looked at after every step: the chance that it ever gets there wrongly is bounded.";

const RATIOS: &str = "One point a pair, in their order. The median lies between the steps: they may be looked at after \
                      every pair.";

/// One verdict as a whole document.
pub(crate) fn page(verdict: &Verdict, runs: &[Run]) -> Result<String, Failure> {
    let facts = [
        format!("verdict: {}", verdict.finding.verdict.name()),
        format!("error at most {}", error_bound(verdict.max_error)),
        format!("stopped by: {}", verdict.stopped_by.name()),
        format!("seed {}", verdict.seed),
    ];
    let said = output::human(verdict).lines().map(String::from).collect::<Vec<_>>();
    let page = Page::new(&verdict.question, &facts).section("Verdict", "", &list(&said, false));
    Ok(sections(page, verdict, runs, "")?.html())
}

/// The verdicts of a suite as one document.
pub(crate) fn of_suite(suite: &suite::Outcome) -> Result<String, Failure> {
    let facts = [
        format!("verdict: {}", suite.worst.name()),
        format!("error of all together at most {}", error_bound(suite.max_error)),
    ];
    let mut page = Page::new(&suite.sentence(), &facts);
    for (name, verdict) in &suite.judged {
        let said = suite::said(verdict).lines().map(String::from).collect::<Vec<_>>();
        let question = verdict.as_ref().map_or("", |verdict| verdict.question.as_str());
        page = page.section(name, question, &list(&said, false));
        if let Ok(verdict) = verdict {
            page = sections(page, verdict, verdict.runs.as_deref().unwrap_or_default(), name)?;
        }
    }
    Ok(page.html())
}

/// The pictures of one verdict; `name` tells it from others on the page.
fn sections(mut page: Page, verdict: &Verdict, runs: &[Run], name: &str) -> Result<Page, Failure> {
    let findings = match verdict.comparisons.as_slice() {
        [] => std::slice::from_ref(&verdict.finding),
        several => several,
    };
    let Replay { paths, within, ratios } = replay(verdict, runs)?;
    for (index, finding) in findings.iter().enumerate() {
        let names = [name, finding.candidate.as_deref().unwrap_or("")];
        page = page.section(
            &titled("The rate", names),
            rate_remark(verdict),
            &svg::rate(finding.successes, finding.n, finding.interval.into(), &thresholds(verdict)),
        );
        for entry in &finding.evidence {
            let own: Vec<(&str, &[Look])> = paths
                .iter()
                .filter(|path| path.finding == index && path.threshold == entry.threshold)
                .map(|path| (path.side, path.looks.as_slice()))
                .collect();
            if own.is_empty() {
                continue;
            }
            let title =
                titled(&format!("The evidence at {}", significant(entry.threshold, 5)), names);
            let picture = svg::evidence(&own, entry.needed / std::f64::consts::LN_10);
            page = page.section(&title, EVIDENCE, &picture);
        }
        if let (Question::Compare(compare), Some(ratios)) = (&verdict.hypothesis, ratios.get(index))
        {
            let picture = svg::ratios(ratios, &within[index], compare.band());
            page = page.section(&titled("The ratios", names), RATIOS, &picture);
        }
    }
    if let Question::Compare(compare) = &verdict.hypothesis {
        page = pair_sections(page, compare, runs, name);
        page = page.section(&titled("Candidates", [name, ""]), "", &candidates(findings));
    }
    Ok(page)
}

/// A heading: what is shown, of which property of a suite, of which candidate; empty names are left out.
fn titled(what: &str, names: [&str; 2]) -> String {
    let named = names.into_iter().filter(|name| !name.is_empty());
    std::iter::once(what).chain(named).collect::<Vec<_>>().join(": ")
}

fn rate_remark(verdict: &Verdict) -> &'static str {
    match &verdict.hypothesis {
        Question::Slo(_) => "The rate of runs that have the property.",
        Question::Compare(compare) if compare.quantile.is_some() => {
            "Pairs that speak for the claim; the percentiles of all runs decide, not these."
        }
        Question::Compare(_) => {
            "The rate of pairs that speak for the claim: one half is what has to be refuted."
        }
        Question::Permute(_) => {
            "The rate of dealings as extreme as the values at hand: the p-value."
        }
    }
}

fn thresholds(verdict: &Verdict) -> Vec<(&'static str, f64)> {
    let (upper, lower) = match &verdict.hypothesis {
        Question::Slo(slo) => (slo.rate, slo.or_below),
        Question::Permute(permute) => (permute.level, permute.or_below),
        Question::Compare(_) => return vec![("one half", 0.5)],
    };
    let mut marks = vec![("asked about", upper)];
    marks.extend(lower.map(|low| ("or below", low)));
    marks
}

/// How the evidence at one threshold grew, in one direction.
struct PathOf {
    finding: usize,
    threshold: f64,
    side: &'static str,
    looks: Vec<Look>,
}

/// How everything grew.
#[derive(Default)]
struct Replay {
    paths: Vec<PathOf>,
    /// The interval of the median ratio, for each candidate of `compare`.
    within: Vec<Vec<Within>>,
    /// The ratios themselves.
    ratios: Vec<Vec<f64>>,
}

impl Replay {
    /// Adds one look at every finding.
    fn look(&mut self, findings: &[Finding]) {
        self.within.resize(findings.len(), Vec::new());
        for (within, finding) in self.within.iter_mut().zip(findings) {
            let at = finding.effect.map(|effect| Within {
                n: finding.n,
                low: effect.low,
                high: effect.high.unwrap_or(f64::INFINITY),
            });
            within.extend(at);
        }
        look(&mut self.paths, findings);
    }
}

/// Adds one look at every finding to the paths.
fn look(paths: &mut Vec<PathOf>, findings: &[Finding]) {
    for (index, finding) in findings.iter().enumerate() {
        for entry in &finding.evidence {
            for (side, log_e) in [("above", entry.above), ("below", entry.below)] {
                let Some(log_e) = log_e else { continue };
                let at = Look { n: finding.n, log10_e: log_e / std::f64::consts::LN_10 };
                let threshold = entry.threshold;
                let same = |path: &&mut PathOf| {
                    (path.finding, path.threshold, path.side) == (index, threshold, side)
                };
                match paths.iter_mut().find(same) {
                    // A candidate that is decided stays where it is.
                    Some(path) if path.looks.last().is_some_and(|last| last.n == at.n) => {}
                    Some(path) => path.looks.push(at),
                    None => paths.push(PathOf { finding: index, threshold, side, looks: vec![at] }),
                }
            }
        }
    }
}

fn replay(verdict: &Verdict, runs: &[Run]) -> Result<Replay, Failure> {
    let mut replay = Replay::default();
    if let Question::Permute(permute) = &verdict.hypothesis {
        let every =
            usize::try_from(verdict.finding.n).unwrap_or(usize::MAX).div_ceil(POINTS).max(1) as u64;
        DealTrial::new(permute, None, |judge| {
            let counts = judge.counts();
            if counts.trials().is_multiple_of(every) {
                let report = judge.question().report(counts);
                replay.look(&[uncontended_decide::dealing::finding(permute, &report)]);
            }
            if counts.trials() >= verdict.finding.n {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        replay.look(std::slice::from_ref(&verdict.finding));
        return Ok(replay);
    }
    let mut trial = verdict.hypothesis.asked().trial(None)?;
    let every = runs.len().div_ceil(POINTS).max(1);
    for (index, run) in runs.iter().enumerate() {
        trial.push(run)?;
        if index % every == 0 || index + 1 == runs.len() {
            replay.look(&trial.findings());
        }
    }
    replay.ratios = trial.ratios();
    Ok(replay)
}

/// One picture for each candidate, of its runs against those of the baseline in the order they were made.
fn pair_sections(mut page: Page, compare: &Compare, runs: &[Run], name: &str) -> Page {
    let values = |arm: usize| runs.iter().filter(move |run| run.arm == arm).map(|run| run.value);
    let format: fn(f64) -> String = match Dimension::of_unit(&compare.unit) {
        Some(Dimension::Time) => |value| value::show(value, Dimension::Time),
        Some(Dimension::Bytes) => |value| value::show(value, Dimension::Bytes),
        _ => |value| value::show(value, Dimension::Number),
    };
    for (arm, candidate) in
        compare.commands.iter().enumerate().filter(|(arm, _)| *arm != compare.baseline)
    {
        let shown = values(compare.baseline).zip(values(arm)).take(POINTS);
        let pairs: Vec<(f64, f64)> = shown.filter_map(|(a, b)| Some((a?, b?))).collect();
        let baseline = &compare.commands[compare.baseline];
        if !pairs.is_empty() {
            let picture = svg::paired((baseline, candidate), &pairs, format);
            page = page.section(
                &titled("Pairs", [name, candidate]),
                "On the dashed line both took the same.",
                &picture,
            );
        }
    }
    page
}

fn candidates(findings: &[Finding]) -> String {
    let rows: Vec<Vec<Cell>> = findings
        .iter()
        .map(|finding| {
            let figure = |value: Option<f64>, toward| {
                value.map_or(Cell::none(), |value| {
                    Cell::figure(value::rounded(value, 5, toward), value)
                })
            };
            let effect = finding.effect;
            vec![
                Cell::text(finding.candidate.clone().unwrap_or_default()),
                Cell::text(finding.verdict.name()),
                Cell::text(finding.relation.map_or("not known", |relation| relation.told())),
                figure(effect.and_then(|effect| effect.ratio), Toward::Nearest),
                figure(effect.map(|effect| effect.low), Toward::Low),
                figure(effect.and_then(|effect| effect.high), Toward::High),
                Cell::figure(finding.n.to_string(), finding.n as f64),
            ]
        })
        .collect();
    table(
        &["candidate", "verdict", "relation", "median ratio", "at least", "at most", "pairs"],
        &rows,
    )
}
