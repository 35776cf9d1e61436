//! A verdict as one self-contained page: the answer, what is known of the rate, how the evidence grew, the pairs.
//!
//! # Contract
//! The path of the evidence is recomputed from the runs, through the same trial that gave the verdict.

use super::compare::counted;
use super::{form, sentences, values};
use crate::html::{Cell, Page, list, table};
use crate::svg::{self, Look, Within};
use maud::Markup;
use uncontended_decide::Failure;
use uncontended_decide::question::Compare;
use uncontended_decide::record::Run;
use uncontended_decide::spread::Spread;
use uncontended_decide::verdict::{Finding, Verdict};
use uncontended_figures::{Dimension, at_most_percent, measured, ratio, whole};

/// Most points of a path: more than a screen has.
pub(super) const POINTS: usize = 2000;

const EVIDENCE: &str = "Evidence that the truth is above the threshold, and that it is below. The first path to reach the level \
                        decides. You may look after every step: the chance that a path ever gets there wrongly is bounded.";

const RATIOS: &str = "One point a pair, in their order. The median lies between the steps: they may be looked at after \
                      every pair.";

/// One verdict as a complete document.
///
/// # Errors
/// If the runs are not those of its question.
pub fn page(verdict: &Verdict, runs: &[Run]) -> Result<String, Failure> {
    let facts = [
        format!("verdict: {}", verdict.finding.verdict.name()),
        format!("error at most {}", at_most_percent(verdict.max_error)),
        format!("stopped by: {}", verdict.stopped_by.name()),
        format!("seed {}", verdict.seed),
    ];
    let said = sentences(verdict).lines().map(String::from).collect::<Vec<_>>();
    let page = Page::new(&verdict.question, &facts).section("Verdict", "", &list(&said, false));
    Ok(sections(page, verdict, runs, "")?.html())
}

/// The verdicts of several questions as one document. Each has its name, its text, and a verdict unless it could not
/// run.
///
/// # Errors
/// If the runs of a verdict are not those of its question.
pub fn of_several<'a>(
    title: &str,
    facts: &[String],
    judged: impl Iterator<Item = (&'a str, String, Option<&'a Verdict>)>,
) -> Result<String, Failure> {
    let mut page = Page::new(title, facts);
    for (name, said, verdict) in judged {
        let said = said.lines().map(String::from).collect::<Vec<_>>();
        let question = verdict.map_or("", |verdict| verdict.question.as_str());
        page = page.section(name, question, &list(&said, false));
        if let Some(verdict) = verdict {
            page = sections(page, verdict, verdict.runs.as_deref().unwrap_or_default(), name)?;
        }
    }
    Ok(page.html())
}

/// The pictures of one verdict; `name` distinguishes it from others on the page.
fn sections(mut page: Page, verdict: &Verdict, runs: &[Run], name: &str) -> Result<Page, Failure> {
    let findings = super::findings(verdict);
    let form = form(&verdict.hypothesis);
    let Replay { paths, within, ratios } = form.replay(verdict, runs)?;
    for (index, finding) in findings.iter().enumerate() {
        let names = [name, finding.pairs().map_or("", |pairs| pairs.candidate.as_str())];
        page = page.section(
            &titled("The rate", names),
            form.rate_remark(),
            &svg::rate(finding.successes, finding.n, finding.interval.into(), &form.thresholds()),
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
                titled(&format!("The evidence at {}", form.threshold(entry.threshold)), names);
            let picture = svg::evidence(&own, entry.needed / std::f64::consts::LN_10);
            page = page.section(&title, EVIDENCE, &picture);
        }
        if let (Some(band), Some(ratios)) = (form.band(), ratios.get(index)) {
            let picture = svg::ratios(ratios, &within[index], band);
            page = page.section(&titled("The ratios", names), RATIOS, &picture);
        }
    }
    Ok(form.pictures(page, &Shown { findings, runs, name }))
}

/// The input of a page: the findings, the runs, and the name that distinguishes the verdict from others.
pub(super) struct Shown<'a> {
    findings: &'a [Finding],
    runs: &'a [Run],
    name: &'a str,
}

/// The pairs of a comparison, and its candidates side by side.
pub(super) fn of_pairs(page: Page, compare: &Compare, shown: &Shown<'_>) -> Page {
    // Runs of two sessions are not pairs.
    let page = match compare.sessions {
        None => pair_sections(page, compare, shown.runs, shown.name),
        Some(_) => page,
    };
    let title = titled("Commands", [shown.name, ""]);
    page.section(&title, "", &candidates(shown.findings, compare))
}

/// A heading: what is shown, for which property of a suite, for which candidate; empty names are omitted.
fn titled(what: &str, names: [&str; 2]) -> String {
    let named = names.into_iter().filter(|name| !name.is_empty());
    std::iter::once(what).chain(named).collect::<Vec<_>>().join(": ")
}

/// How the evidence at one threshold grew, in one direction.
struct PathOf {
    finding: usize,
    threshold: f64,
    side: &'static str,
    looks: Vec<Look>,
}

/// How evidence and intervals grew.
#[derive(Default)]
pub(super) struct Replay {
    paths: Vec<PathOf>,
    /// The interval of the median ratio, for each candidate of `compare`.
    within: Vec<Vec<Within>>,
    /// The ratios themselves.
    ratios: Vec<Vec<f64>>,
}

impl Replay {
    /// Adds one look at every finding.
    pub(super) fn look(&mut self, findings: &[Finding]) {
        self.within.resize(findings.len(), Vec::new());
        for (within, finding) in self.within.iter_mut().zip(findings) {
            let at = finding.pairs().map(|pairs| Within {
                n: finding.n,
                low: pairs.effect.low,
                high: pairs.effect.high.unwrap_or(f64::INFINITY),
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
                    // A decided candidate does not change any more.
                    Some(path) if path.looks.last().is_some_and(|last| last.n == at.n) => {}
                    Some(path) => path.looks.push(at),
                    None => paths.push(PathOf { finding: index, threshold, side, looks: vec![at] }),
                }
            }
        }
    }
}

/// How evidence and intervals grew: the runs go through the trial once more.
pub(super) fn replay(verdict: &Verdict, runs: &[Run]) -> Result<Replay, Failure> {
    let mut replay = Replay::default();
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

/// One picture per candidate, of its runs against those of the baseline in the order they were made.
fn pair_sections(mut page: Page, compare: &Compare, runs: &[Run], name: &str) -> Page {
    let values = |arm: usize| runs.iter().filter(move |run| run.arm == arm).map(|run| run.value);
    let format: fn(f64) -> String = match Dimension::of_unit(&compare.unit) {
        Some(Dimension::Time) => |value| measured(value, Dimension::Time),
        Some(Dimension::Bytes) => |value| measured(value, Dimension::Bytes),
        _ => |value| measured(value, Dimension::Number),
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
                "On the dashed line both took equally long.",
                &picture,
            );
        }
    }
    page
}

/// The commands side by side: the baseline, then the candidates with their findings.
fn candidates(findings: &[Finding], compare: &Compare) -> Markup {
    let dimension = Dimension::of_unit(&compare.unit).unwrap_or(Dimension::Number);
    let values = |spread: Option<Spread>| values::cells(spread, dimension);
    let pairs = || findings.iter().filter_map(|finding| Some((finding, finding.pairs()?)));
    let baseline = pairs().find_map(|(_, pairs)| pairs.values).map(|values| values.baseline);
    let name = compare.commands.get(compare.baseline).cloned().unwrap_or_default();
    let mut first = vec![Cell::text(name), Cell::text("baseline"), Cell::text("")];
    first.extend([Cell::none(), Cell::none()]);
    first.extend(values(baseline));
    let mut rows = vec![first];
    for (finding, pairs) in pairs() {
        let effect = &pairs.effect;
        let shown = ratio(effect.ratio, effect.low, effect.high.unwrap_or(f64::INFINITY));
        let mut row = vec![
            Cell::text(pairs.candidate.clone()),
            Cell::text(finding.verdict.name()),
            Cell::text(pairs.relation.told()),
            Cell::figure(shown, effect.ratio.unwrap_or(f64::MAX)),
            Cell::figure(whole(finding.n), finding.n as f64),
        ];
        row.extend(values(pairs.values.map(|values| values.candidate)));
        rows.push(row);
    }
    let effect = compare.effect_name();
    let headings = ["command", "verdict", "relation", &effect, counted(compare)];
    table(&[&headings[..], &values::titles()].concat(), &rows)
}
