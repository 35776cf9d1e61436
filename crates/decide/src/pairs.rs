//! The trial of paired ratios: every candidate against the baseline, block by block.
//!
//! # Contract
//! A block has `block` runs of the baseline and of every candidate that is still open; its ratio is that of the
//! medians. [`Ratio`] makes the inference. Ratios are of costs: if higher values are better, they are inverted.
//! A run that fails (nonzero status, killed, or timed out) is lost: worse than any value, however fast it was. A block
//! lost on both sides decides nothing, and if every block is lost so there is no verdict.
//! # Evidence
//! `crates/cli/tests/decide_compare.rs`.

use crate::Failure;
use crate::costs::{cost, cost_of_run, invalid, middle, single_cost};
use crate::easier;
use crate::guard::{TailFinding, Watch};
use crate::question::{Claim, Compare, Shares};
use crate::rates::Rest;
use crate::ratio::{Ratio, effect_of, mirror};
use crate::record::{Outcome, Run};
use crate::spread::{Spreads, Values};
use crate::trial::{self, Trial, more_to_decide, remaining};
use crate::verdict::{About, Answer, Effect, Evidence, Finding, Holds, OfPairs, Relation};
use uncontended_figures::text::several;
use uncontended_figures::{
    count, given_number, given_percent, number, progress::State, ratio, whole,
};
use uncontended_stats::{self as stats, Counts, Method, Rate, Report};

/// The trial of paired ratios.
#[derive(Debug, Clone)]
pub struct PairTrial {
    compare: Compare,
    shares: Shares,
    /// The fewest pairs that decide anything.
    fewest: u64,
    /// One for each command; none for the baseline.
    candidates: Vec<Option<Candidate>>,
    /// Values of the current block, by command. `None` is a lost run: as bad as can be.
    block: Vec<Vec<Option<f64>>>,
    /// The command of every measured run of the current block, in order.
    order: Vec<usize>,
    /// For each pair of consecutive single runs: whether the first had the larger value; ties omitted.
    first_larger: Vec<bool>,
    /// Runs of each command, and how many of them failed.
    failed: Vec<(u64, u64)>,
    /// The values of each command.
    values: Vec<Values>,
    /// A candidate without any pairs.
    fresh: Candidate,
}

/// One candidate against the baseline.
#[derive(Debug, Clone)]
pub struct Candidate {
    ratio: Ratio,
    /// Cost ratios in the order of the blocks.
    costs: Vec<f64>,
    /// What the baseline's block of each cost.
    bases: Vec<f64>,
    /// Blocks lost on both sides.
    lost: u64,
    watch: Option<Watch>,
    /// What the pairs up to the answer say.
    answer: Answer,
    /// The pairs after the answer, if a file has more.
    rest: Option<Box<Candidate>>,
}

/// Fewest pairs for an estimate of the time left.
const FEWEST_FOR_ESTIMATE: u64 = 3;

/// Fewest pairs for a diagnosis, and the standard deviations that make one.
const ENOUGH: f64 = 30.0;
const SUSPICIOUS: f64 = 3.5;

impl PairTrial {
    /// A trial without any runs yet.
    pub fn new(compare: &Compare) -> Result<PairTrial, Failure> {
        let commands = compare.commands.len();
        if commands < 2 || compare.baseline >= commands || compare.block == 0 {
            return Err(Failure::new("a comparison needs a baseline and a candidate", ""));
        }
        let shares = compare.shares()?;
        let guard = compare.guard.as_ref();
        let watch = guard
            .map(|guard| Watch::new(guard, compare.claim, compare.margin, shares.tails))
            .transpose()?;
        let ratio = Ratio::new(compare, shares.median)?;
        let fewest = ratio.fewest_pairs(shares.median, compare);
        let fresh = Candidate {
            ratio,
            costs: Vec::new(),
            bases: Vec::new(),
            lost: 0,
            watch,
            answer: Answer::Undecided,
            rest: None,
        };
        let candidate = |arm| (arm != compare.baseline).then(|| fresh.clone());
        Ok(PairTrial {
            candidates: (0..commands).map(candidate).collect(),
            block: vec![Vec::new(); commands],
            order: Vec::new(),
            first_larger: Vec::new(),
            failed: vec![(0, 0); commands],
            values: vec![Values::default(); commands],
            shares,
            fewest,
            compare: compare.clone(),
            fresh,
        })
    }

    /// A candidate without any pairs, and the fewest that decide anything.
    pub(crate) fn fresh(self) -> (Candidate, u64) {
        (self.fresh, self.fewest)
    }

    /// The candidates with the numbers of their commands.
    pub fn candidates(&self) -> impl Iterator<Item = (usize, &Candidate)> {
        let numbered = self.candidates.iter().enumerate();
        numbered.filter_map(|(arm, candidate)| Some((arm, candidate.as_ref()?)))
    }

    /// Whether a run is lost. If failures are ignored, earlier logs count a nonzero status by its value.
    fn is_lost(&self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Ok => false,
            Outcome::TimedOut | Outcome::Failed(128..) => true,
            Outcome::Failed(_) => self.compare.guard.as_ref().is_some_and(|guard| guard.failed),
        }
    }

    fn judge_block(&mut self) -> Result<(), Failure> {
        let higher = self.compare.higher_is_better;
        let block = std::mem::replace(&mut self.block, vec![Vec::new(); self.candidates.len()]);
        let order = std::mem::take(&mut self.order);
        let base = middle(&block[self.compare.baseline], higher);
        for (candidate, values) in self.candidates.iter_mut().zip(&block) {
            let Some(candidate) = candidate else { continue };
            if (values.len() as u64) < self.compare.block {
                continue;
            }
            let ratio = cost(middle(values, higher), base, higher)?;
            let base = single_cost(base, higher);
            let single = |value: &Option<f64>| single_cost(*value, higher);
            let runs = values.iter().map(single);
            let runs = runs.zip(block[self.compare.baseline].iter().map(single));
            if candidate.answer == Answer::Undecided {
                candidate.push(runs, ratio, base)?;
                candidate.answer = candidate.judged(&self.compare, self.fewest);
            } else {
                let rest = candidate.rest.get_or_insert_with(|| Box::new(self.fresh.clone()));
                rest.push(runs, ratio, base)?;
            }
        }
        if let [first, second] = order[..]
            && let (Some(first), Some(second)) = (block[first][0], block[second][0])
            && first != second
        {
            self.first_larger.push(first > second);
        }
        Ok(())
    }

    /// What all pairs after the answer say, if there are any: it only ever contradicts.
    fn rest(&self, candidate: &Candidate) -> Option<Rest> {
        let rest = candidate.rest.as_ref()?;
        let verdict = rest.judged(&self.compare, self.fewest);
        Some(Rest { values: rest.costs.len() as u64 + rest.lost, verdict })
    }

    /// None if the pairs after the answer give the opposite one: they are not of one kind.
    fn answer_about(&self, candidate: &Candidate) -> Answer {
        let (first, rest) = (candidate.answer, self.rest(candidate));
        if rest.is_some_and(|rest| rest.contradicts(first)) { Answer::Undecided } else { first }
    }

    fn tails(&self, candidate: &Candidate) -> Option<TailFinding> {
        let median = candidate.ratio.verdict(self.compare.claim);
        candidate.watch.as_ref().map(|watch| watch.finding(median))
    }

    fn finding(&self, arm: usize, candidate: &Candidate) -> Finding {
        let report = self.report(candidate);
        let (least, most) = self.compare.band();
        let thresholds = if least == most { vec![most] } else { vec![least, most] };
        let evidence = |threshold: f64| {
            // Costs are inverted: below in cost is above in ratio. The band is its own mirror image.
            let at = if self.compare.higher_is_better {
                mirror(threshold, self.compare.band())
            } else {
                threshold
            };
            let ((below, above), needed) = candidate.ratio.log_evidence(at);
            let (below, above) =
                if self.compare.higher_is_better { (above, below) } else { (below, above) };
            Evidence { threshold, above: Some(above), below: Some(below), needed }
        };
        let about = OfPairs {
            candidate: self.compare.commands.get(arm).cloned().unwrap_or_default(),
            effect: self.effect(candidate),
            relation: match self.rest(candidate) {
                Some(rest) if rest.contradicts(candidate.answer) => Relation::Unknown,
                _ => candidate.ratio.relation(),
            },
            tails: self.tails(candidate),
            values: None,
            lost_pairs: self.compare.ignore_failure.then_some(candidate.lost),
            sessions: None,
            rest: self.rest(candidate),
        };
        Finding {
            verdict: self.answer_about(candidate),
            n: candidate.costs.len() as u64,
            successes: report.counts.successes(),
            decided_by: match candidate.ratio {
                Ratio::Paired(_) => "paired-sign".to_string(),
                Ratio::Quantile(_) => "quantile-ratio".to_string(),
            },
            evidence: thresholds.into_iter().map(evidence).collect(),
            interval: report.interval.into(),
            credible: report.credible.into(),
            about: About::Pairs(about),
        }
    }

    /// The rate of pairs that support the claim, inside the end or outside it. For a quantile, no such rate decides,
    /// and only the counts are meaningful.
    fn report(&self, candidate: &Candidate) -> Report {
        let inside = candidate.inside(self.tested_end(candidate), self.compare.margin);
        let kept = match self.compare.claim {
            Claim::NoWorse | Claim::Equivalent => inside,
            Claim::Better | Claim::Different => inside.complement(),
        };
        let report =
            stats::Question::about(Rate::HALF, Method::OneSided, self.shares.median).report(kept);
        match candidate.ratio {
            Ratio::Paired(_) => report,
            Ratio::Quantile(_) => Report { interval: (0.0, 1.0), credible: (0.0, 1.0), ..report },
        }
    }

    /// Which end of the band the claim's own test is at: true for the end where the candidate is worse.
    fn tested_end(&self, candidate: &Candidate) -> bool {
        match self.compare.claim {
            Claim::NoWorse => true,
            Claim::Better => false,
            // Both ends are tested: use the one that refuted, or else the one with less to spare.
            Claim::Equivalent | Claim::Different => match candidate.ratio.relation() {
                Relation::Worse => true,
                Relation::Better => false,
                _ => {
                    let [better, worse] = [false, true]
                        .map(|end| candidate.inside(end, self.compare.margin).successes());
                    worse <= better
                }
            },
        }
    }

    /// The median of the ratios, candidate over baseline, with its confidence sequence.
    pub fn effect(&self, candidate: &Candidate) -> Effect {
        let (estimate, interval) = (candidate.ratio.estimate(), candidate.ratio.interval());
        effect_of(estimate, interval, self.compare.higher_is_better)
    }
}

impl Trial for PairTrial {
    fn active(&self) -> Vec<usize> {
        let open = |candidate: &Candidate| candidate.answer == Answer::Undecided;
        (0..self.candidates.len())
            .filter(|&arm| self.candidates[arm].as_ref().is_none_or(open))
            .collect()
    }

    fn push(&mut self, run: &Run) -> Result<(), Failure> {
        trial::check(run, self.block.len())?;
        let value = run.value.filter(|_| !self.is_lost(run.outcome));
        cost_of_run(value, self.compare.higher_is_better)?;
        self.block[run.arm].push(value);
        self.values[run.arm].push(value, run.usage.as_ref());
        let (runs, failed) = &mut self.failed[run.arm];
        (*runs, *failed) = (*runs + 1, *failed + u64::from(run.outcome != Outcome::Ok));
        // Two values on a line, or a stored one, have no order in time.
        if run.wall_ns.is_some() {
            self.order.push(run.arm);
        }
        let full = |&arm: &usize| self.block[arm].len() as u64 >= self.compare.block;
        let awaited = match self.is_settled() {
            // Only a file has more, with values of all.
            true => (0..self.block.len()).collect(),
            false => self.active(),
        };
        if awaited.iter().all(full) {
            self.judge_block()?;
        }
        Ok(())
    }

    fn refusal(&self) -> Option<Failure> {
        let unmeasured =
            |(_, candidate): &(usize, &Candidate)| candidate.costs.is_empty() && candidate.lost > 0;
        let (arm, candidate) = self.candidates().find(unmeasured)?;
        Some(Failure::new(
            format!(
                "{} of '{}' and '{}' were lost on both sides (failed, killed, or ended without the metric): there is nothing to compare",
                match candidate.lost {
                    1 => "both values of the only pair".to_owned(),
                    lost => format!("all {lost} pairs"),
                },
                self.compare.commands[self.compare.baseline],
                self.compare.commands[arm]
            ),
            "see what they print with `Runs::show_output`, and whether `Runs::timeout` is long enough; write 'COMMAND || true' if a nonzero status is normal",
        ))
    }

    fn answer(&self) -> Answer {
        let answers = self.candidates().map(|(_, candidate)| self.answer_about(candidate));
        answers.max_by_key(|&answer| answer.badness()).unwrap_or(Answer::Undecided)
    }

    fn is_settled(&self) -> bool {
        self.active().len() <= 1
    }

    fn findings(&self) -> Vec<Finding> {
        self.candidates().map(|(arm, candidate)| self.finding(arm, candidate)).collect()
    }

    fn findings_in_full(&self) -> Vec<Finding> {
        let spread = |arm: usize| self.values[arm].spread();
        let mut findings = self.findings();
        for (finding, (arm, _)) in findings.iter_mut().zip(self.candidates()) {
            if let About::Pairs(pairs) = &mut finding.about {
                let both = spread(self.compare.baseline).zip(spread(arm));
                pairs.values = both.map(|(baseline, candidate)| Spreads { baseline, candidate });
            }
        }
        findings
    }

    fn state(&self) -> State {
        let open = self.candidates().find(|(_, candidate)| candidate.answer == Answer::Undecided);
        let Some((arm, candidate)) = open.or_else(|| self.candidates().next()) else {
            return State::default();
        };
        let effect = self.effect(candidate);
        let question = stats::Question::about(Rate::HALF, Method::OneSided, self.shares.median);
        let inside = candidate.inside(self.tested_end(candidate), self.compare.margin);
        let median = candidate.ratio.verdict(self.compare.claim);
        let (left, to_decide) = match (median, &candidate.ratio) {
            _ if candidate.answer != Answer::Undecided => {
                (None, format!("{}, and the rest is read", candidate.answer.name()))
            }
            (Answer::Undecided, Ratio::Paired(_)) => {
                let left = remaining(&question, inside);
                (left, more_to_decide(left))
            }
            (Answer::Undecided, Ratio::Quantile(_)) => {
                (None, "neither answer is certain yet".to_string())
            }
            _ => match candidate.watch.as_ref().map_or(0, Watch::more_to_clear) {
                0 => (None, "the median is settled, the tail is open".to_string()),
                more => {
                    let text = format!("about {} more for the tail", count(more));
                    (Some(more), format!("the median is settled, {text}"))
                }
            },
        };
        let rest = candidate.rest.as_ref().map_or(0, |rest| rest.costs.len());
        let pairs = (candidate.costs.len() + rest) as u64;
        let text = format!(
            "{}, {}; {to_decide}",
            several(pairs, "pair", "pairs"),
            ratio(effect.ratio, effect.low, effect.high.unwrap_or(f64::INFINITY)),
        );
        let found = self.compare.commands[arm].clone();
        // One pair, or two, say too little.
        let left = left.filter(|_| pairs >= FEWEST_FOR_ESTIMATE);
        // Every pair takes a run of the baseline and one of each candidate that is still open.
        let runs = (self.active().len() as u64).saturating_mul(self.compare.block);
        let left = left.map(|left| left.saturating_mul(runs));
        State { text, left, found, ..State::default() }
    }

    fn decidable(&self, runs: u64) -> Option<String> {
        let active = self.active();
        let open = self.candidates().filter(|(arm, _)| active.contains(arm));
        let pairs = runs / (active.len() as u64).saturating_mul(self.compare.block).max(1);
        let margins = open.map(|(_, candidate)| match candidate.ratio {
            Ratio::Paired(_) => easier::margin(&candidate.costs, pairs, &self.compare, self.shares),
            Ratio::Quantile(_) => None,
        });
        let margins = margins.collect::<Option<Vec<f64>>>()?;
        let margin = margins.into_iter().reduce(f64::max)?;
        Some(format!("`ComparePlan::margin` {}", given_percent(margin).replace(' ', "")))
    }

    fn ratios(&self) -> Vec<Vec<f64>> {
        let turn = |cost: f64| if self.compare.higher_is_better { cost.recip() } else { cost };
        let all = |candidate: &Candidate| {
            let rest = candidate.rest.iter().flat_map(|rest| &rest.costs);
            candidate.costs.iter().chain(rest).copied().map(turn).collect()
        };
        self.candidates().map(|(_, candidate)| all(candidate)).collect()
    }

    fn pairs(&self) -> Vec<[f64; 2]> {
        let both = |candidate: &Candidate| -> Vec<[f64; 2]> {
            let bases = candidate.bases.iter();
            bases.zip(&candidate.costs).map(|(base, ratio)| [*base, base * ratio]).collect()
        };
        let Some((_, first)) = self.candidates().next() else { return Vec::new() };
        let rest = first.rest.iter().flat_map(|rest| both(rest));
        both(first).into_iter().chain(rest).collect()
    }

    fn error_holds(&self) -> Holds {
        let depends = |candidate: &Candidate| neighbours_resemble(&candidate.costs).is_some();
        match self.candidates().any(|(_, candidate)| depends(candidate)) {
            true => Holds::No,
            false => Holds::AsStated,
        }
    }

    fn diagnoses(&self) -> Vec<String> {
        let meaning = match self.is_lost(Outcome::Failed(1)) {
            true => "such a run is lost, worse than any value",
            false => "a failing run may be fast",
        };
        let failed =
            self.failed.iter().zip(&self.compare.commands).filter(|((_, failed), _)| *failed > 0);
        let mut found: Vec<String> = failed
            .map(|((runs, failed), line)| {
                format!("{failed} of {runs} runs of '{line}' failed: {meaning}")
            })
            .collect();
        for (arm, candidate) in self.candidates() {
            let (first, n) = (candidate.answer, candidate.costs.len() as u64);
            let rest = self.rest(candidate).filter(|rest| rest.contradicts(first));
            found.extend(rest.map(|rest| rest.said(first, n, "pairs")));
            if candidate.lost > 0 {
                found.push(format!(
                    "{} pairs with '{}' were lost on both sides: they decide nothing",
                    candidate.lost, self.compare.commands[arm]
                ));
            }
            // Where the median itself is worse, slow runs are no news.
            let is_news = candidate.ratio.relation() != Relation::Worse;
            let seen = candidate.watch.as_ref().and_then(Watch::seen).filter(|_| is_news);
            if let Some(seen) = seen {
                found.push(format!(
                    "{} of {} runs of '{}' took more than {} times the baseline's median ({} of the baseline's did): the verdict does not rest on them",
                    whole(seen.candidate),
                    whole(seen.pairs),
                    self.compare.commands[arm],
                    given_number(seen.factor),
                    whole(seen.baseline)
                ));
            }
            if let Some(z) = neighbours_resemble(&candidate.costs) {
                found.push(format!(
                    "the ratios of '{}' depend on the previous ones (serial z = {}): the runs are not independent, so the stated error does not hold",
                    self.compare.commands[arm],
                    number(z)
                ));
            }
        }
        let pairs = self.first_larger.len() as f64;
        let larger = self.first_larger.iter().filter(|&&larger| larger).count() as f64;
        let z = (2.0 * larger - pairs) / pairs.sqrt();
        if pairs >= ENOUGH && z.abs() > SUSPICIOUS {
            found.push(format!(
                "the first run of a block differs from the second, whichever command it is (position z = {}): random order keeps the test sound, and `Runs::prepare` may remove the difference",
                number(z)
            ));
        }
        found
    }
}

impl Candidate {
    /// What its pairs say, without those after the answer.
    pub(crate) fn judged(&self, compare: &Compare, fewest: u64) -> Answer {
        if self.costs.is_empty() && self.lost >= fewest {
            return Answer::Error;
        }
        let median = self.ratio.verdict(compare.claim);
        self.watch.as_ref().map_or(median, |watch| watch.verdict(compare.claim, median))
    }

    /// Takes a block: the costs of its runs, with the baseline's, and their ratio, if not both are lost, to what the
    /// baseline's block costs.
    pub(crate) fn push(
        &mut self,
        mut runs: impl Iterator<Item = (f64, f64)>,
        ratio: Option<f64>,
        base: f64,
    ) -> Result<(), Failure> {
        runs.try_for_each(|(ours, theirs)| self.push_runs(ours, theirs))?;
        match ratio {
            Some(cost) => {
                self.bases.push(base);
                self.push_block(cost)?;
            }
            None => self.lost += 1,
        }
        Ok(())
    }

    /// Takes the costs of two single runs, the j-th of each in their block.
    fn push_runs(&mut self, candidate: f64, baseline: f64) -> Result<(), Failure> {
        if let Some(watch) = &mut self.watch {
            watch.push(candidate, baseline);
        }
        match &mut self.ratio {
            // A pair lost on both sides decides nothing.
            Ratio::Quantile(ratio) if candidate.is_finite() || baseline.is_finite() => {
                ratio.push(candidate, baseline).map_err(invalid)
            }
            _ => Ok(()),
        }
    }

    /// Takes the cost ratio of a block.
    fn push_block(&mut self, cost: f64) -> Result<(), Failure> {
        self.costs.push(cost);
        match &mut self.ratio {
            Ratio::Paired(paired) => paired.push(cost).map_err(invalid),
            Ratio::Quantile(_) => Ok(()),
        }
    }

    /// Pairs, and how many of them are inside one end of the band; a ratio exactly at the end is inside.
    fn inside(&self, worse_end: bool, margin: f64) -> Counts {
        let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
        let is_inside = |cost: &&f64| if worse_end { **cost <= most } else { **cost >= least };
        let inside = self.costs.iter().filter(is_inside).count() as u64;
        Counts::new(self.costs.len() as u64, inside).expect("no more of them than of all")
    }
}

impl From<Claim> for stats::Claim {
    fn from(claim: Claim) -> stats::Claim {
        match claim {
            Claim::NoWorse => stats::Claim::NoWorse,
            Claim::Better => stats::Claim::Better,
            Claim::Equivalent => stats::Claim::Equivalent,
            Claim::Different => stats::Claim::Different,
        }
    }
}

impl From<stats::Relation> for Relation {
    fn from(relation: stats::Relation) -> Relation {
        match relation {
            stats::Relation::Better => Relation::Better,
            stats::Relation::Worse => Relation::Worse,
            stats::Relation::Equivalent => Relation::Equivalent,
            stats::Relation::Unknown => Relation::Unknown,
        }
    }
}

/// [`serial_z`], if it is suspicious.
pub(crate) fn neighbours_resemble(values: &[f64]) -> Option<f64> {
    serial_z(values).filter(|z| z.abs() > SUSPICIOUS)
}

/// Standard deviations by which neighbours are on the same side of the median more often than by chance.
fn serial_z(ratios: &[f64]) -> Option<f64> {
    let mut sorted = ratios.to_vec();
    sorted.sort_by(f64::total_cmp);
    let centre = *sorted.get(sorted.len() / 2)?;
    let off_centre = ratios.iter().filter(|&&ratio| ratio != centre);
    let signs: Vec<f64> =
        off_centre.map(|&ratio| if ratio > centre { 1.0 } else { -1.0 }).collect();
    let links = signs.len().saturating_sub(1) as f64;
    let agreement = || signs.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
    (links >= ENOUGH).then(|| agreement() / links.sqrt())
}
