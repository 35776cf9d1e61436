//! A verdict as one self-contained page: the answer in plain words, the values, the evidence, how it was measured.
//!
//! # Contract
//! The path of the evidence is recomputed from the runs, through the same trial that gave the verdict.

use super::banner::{banner, capital, lines, summary, tag};
use super::compare::counted;
use super::{form, values};
use crate::html::{Cell, Page, figure, list, side_by_side, table};
use crate::svg::{self, Look, Within};
use crate::terminal::date;
use maud::{Markup, html};
use uncontended_decide::Failure;
use uncontended_decide::question::Compare;
use uncontended_decide::record::Run;
use uncontended_decide::spread::Spread;
use uncontended_decide::verdict::{Answer, Finding, Verdict};
use uncontended_figures::text::several;
use uncontended_figures::{Dimension, at_most_percent, ratio, whole};

/// Most points of a path: more than a screen has.
pub(super) const POINTS: usize = 2000;

const EVIDENCE: &str = "Evidence that the truth is above the threshold, and that it is below. The first path to reach the level \
                        decides. You may look after every step: the chance that a path ever gets there wrongly is bounded.";

const RATIOS: &str = "One point a pair, in their order. What is asked about lies between the steps: they may be looked \
                      at after every pair.";

/// One verdict as a complete document.
///
/// # Errors
/// If the runs are not those of its question.
pub fn page(verdict: &Verdict, runs: &[Run]) -> Result<String, Failure> {
    let page = Page::new(&capital(&verdict.question), &facts(verdict));
    Ok(sections(page.part(&banner(verdict)), verdict, runs, "")?.html())
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
    let judged: Vec<_> = judged.collect();
    let answer = |verdict: &Option<&Verdict>| verdict.map_or(Answer::Error, |v| v.finding.verdict);
    let overview = html! {
        p class="plain" { (summary(judged.iter().map(|(.., verdict)| answer(verdict)))) }
        ul {
            @for (nth, (name, _, verdict)) in judged.iter().enumerate() {
                li {
                    (tag(answer(verdict))) " " a href={ "#q" (nth) } { (name) }
                    @if let Some(verdict) = verdict { " " span { (verdict.question) } }
                }
            }
        }
    };
    let mut page = Page::new(title, facts).part(&overview);
    for (nth, (name, said, verdict)) in judged.into_iter().enumerate() {
        let Some(verdict) = verdict else {
            let failed = html! { h2 id={ "q" (nth) } { (name) } (list(&lines(&said), false)) };
            page = page.part(&failed);
            continue;
        };
        page = page.part(&html! {
            h2 id={ "q" (nth) } { (name) }
            p class="remark" { (verdict.question) }
            (banner(verdict))
        });
        page = sections(page, verdict, verdict.runs.as_deref().unwrap_or_default(), name)?;
    }
    Ok(page.html())
}

/// The line below the heading.
fn facts(verdict: &Verdict) -> Vec<String> {
    let runs = verdict.runs.as_ref().map(|runs| several(runs.len() as u64, "run", "runs"));
    let began = verdict.origin.as_ref().map(|origin| format!("{} UTC", date(origin.began_s)));
    let revision = verdict.origin.as_ref().and_then(|origin| origin.revision.clone());
    let revision = revision.map(|revision| format!("revision {revision}"));
    began.into_iter().chain(revision).chain(machine(verdict)).chain(runs).collect()
}

/// What is known of the machine.
fn machine(verdict: &Verdict) -> Vec<String> {
    let Some(machine) = &verdict.machine else { return Vec::new() };
    let named =
        |what: &str, text: &Option<String>| text.as_ref().map(|text| format!("{what}{text}"));
    [
        named("", &machine.cpu),
        machine.cpus.map(|cpus| several(cpus, "CPU", "CPUs")),
        named("kernel ", &machine.kernel),
        named("governor ", &machine.governor),
        machine.load.map(|load| format!("load {load} at the start")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The sections of one verdict after its answer; `name` distinguishes it from others on the page.
fn sections(mut page: Page, verdict: &Verdict, runs: &[Run], name: &str) -> Result<Page, Failure> {
    let findings = super::findings(verdict);
    let form = form(&verdict.hypothesis);
    let shown = Shown { findings, runs };
    let pictures = form.pictures(&shown);
    if !pictures.is_empty() {
        page = page.section(
            &titled("The values", [name, ""]),
            "",
            &html! {
                (side_by_side(&pictures)) (form.commands(&shown))
            @let remarks = form.remarks(findings);
            @if !remarks.is_empty() { (list(&remarks, false)) }
            },
        );
    }
    let replay = form.replay(verdict, runs)?;
    if let Some(band) = form.band().filter(|_| !replay.ratios.is_empty()) {
        let of = form.effect();
        let pictures = replay.ratios.iter().zip(&replay.within).zip(findings);
        let pictures: Vec<Markup> = pictures
            .filter(|((ratios, _), _)| !ratios.is_empty())
            .map(|((ratios, within), finding)| {
                let candidate = finding.pairs().map_or("", |pairs| pairs.candidate.as_str());
                let is_alone = findings.len() == 1;
                figure(candidate, "", &svg::ratios(ratios, within, band, &of, is_alone))
            })
            .collect();
        if !pictures.is_empty() {
            let title = titled("The ratios", [name, ""]);
            page = page.section(&title, RATIOS, &side_by_side(&pictures));
        }
    }
    let title = titled("The evidence", [name, ""]);
    let said = format!("{EVIDENCE}{}", form.guarded());
    page = page.section(&title, &said, &side_by_side(&evidence(verdict, &replay)));
    Ok(page.section(&titled("How it was measured", [name, ""]), "", &measured(verdict)))
}

/// What is known of each finding's rate, and how the evidence about it grew.
fn evidence(verdict: &Verdict, replay: &Replay) -> Vec<Markup> {
    let form = form(&verdict.hypothesis);
    let mut pictures = Vec::new();
    for (index, finding) in super::findings(verdict).iter().enumerate() {
        let candidate = match super::findings(verdict).len() {
            1 => "",
            _ => finding.pairs().map_or("", |pairs| pairs.candidate.as_str()),
        };
        // Of sessions and percentiles, no rate of runs decides.
        if finding.interval != [0.0, 1.0] {
            let interval = finding.interval.into();
            let rate = svg::rate(finding.successes, finding.n, interval, &form.thresholds());
            pictures.push(figure(&titled("The rate", [candidate, ""]), form.rate_remark(), &rate));
        }
        for entry in &finding.evidence {
            let own: Vec<(&str, &[Look])> = replay
                .paths
                .iter()
                .filter(|path| path.finding == index && path.threshold == entry.threshold)
                .map(|path| (path.side, path.looks.as_slice()))
                .collect();
            if own.is_empty() {
                continue;
            }
            let title = format!("The evidence at {}", form.threshold(entry.threshold));
            let picture = svg::evidence(&own, entry.needed / std::f64::consts::LN_10);
            pictures.push(figure(&titled(&title, [candidate, ""]), "", &picture));
        }
    }
    pictures
}

/// The commands, the machine, and what it takes to repeat the verdict.
fn measured(verdict: &Verdict) -> Markup {
    let commands = form(&verdict.hypothesis).lines();
    let origin = verdict.origin.as_ref();
    let mut facts: Vec<(&str, String)> = commands;
    facts.extend(origin.map(|origin| ("began", format!("{} UTC", date(origin.began_s)))));
    facts.extend(origin.and_then(|origin| Some(("revision", origin.revision.clone()?))));
    facts.extend((verdict.machine.is_some()).then(|| ("machine", machine(verdict).join(", "))));
    facts.extend(settings(verdict).map(|settings| ("settings", settings)));
    facts.push(("error", format!("at most {}", at_most_percent(verdict.max_error))));
    facts.push(("stopped by", verdict.stopped_by.name().to_owned()));
    facts.push(("seed", verdict.seed.clone()));
    if let Some(log) = &verdict.log {
        facts.push(("log", log.clone()));
        facts.push(("check", format!("unc verdict {log}")));
    }
    html! {
        dl { @for (what, text) in &facts { dt { (what) } dd { (text) } } }
    }
}

/// The settings of the commands, if any were given.
fn settings(verdict: &Verdict) -> Option<String> {
    let arms: Vec<usize> = (0..form(&verdict.hypothesis).lines().len()).collect();
    let entries = verdict.circumstances.as_ref()?.entries(&arms);
    let told: Vec<String> =
        entries.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// The input of the pictures: the findings and the runs.
pub(super) struct Shown<'a> {
    pub(super) findings: &'a [Finding],
    pub(super) runs: &'a [Run],
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

/// The commands side by side: the baseline, then the candidates with their findings.
pub(super) fn candidates(findings: &[Finding], compare: &Compare) -> Markup {
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
    let titles = values::titles();
    let titles = headings.into_iter().chain(titles.iter().map(String::as_str));
    table(&titles.collect::<Vec<_>>(), &rows)
}
