//! The trial of a rate: how many runs have the property, where the percentile lies, whether runs depend on each other.
//!
//! # Contract
//! The verdict is the judge's, which does not mistake bursts for a rate unless runs are declared independent. A
//! percentile has an interval of its own, valid over all looks. Without an indifference zone, one error covers verdict
//! and interval, since either is wrong only if too many, or too few, values are at or below the true percentile. Bursts
//! of runs that lack the property raise a warning, which is false at most once in a thousand trials.
//! # Evidence
//! `crates/cli/tests/decide_slo.rs`, `tests/truth.rs`.

use crate::Failure;
use crate::question::{Bound, Side, Slo};
use crate::record::{Outcome, Run};
use crate::spread::{Spread, Values};
use crate::trial::{self, Trial, finding_about, more_to_decide, remaining};
use crate::verdict::{About, Answer, Finding, Holds, OfRate, Percentile};
use serde::Serialize;
use uncontended_figures::text::several;
use uncontended_figures::{progress::State, share, whole};
use uncontended_stats::bursts::{BurstJudge, Chain, Pending};
use uncontended_stats::{self as stats, Counts, Judge, MaxError, Rate, Report, quantile};

/// The trial of a rate.
#[derive(Debug, Clone)]
pub struct RateTrial {
    slo: Slo,
    judge: Judging,
    /// The values after the answer, if a file has more.
    rest: Counts,
    /// Every value, if a percentile is asked about. A run that failed is worse than any value.
    values: Option<Vec<f64>>,
    /// The values of a command's runs.
    shown: Option<Values>,
    runs: u64,
    failed: u64,
}

impl RateTrial {
    /// A trial without any runs yet.
    pub fn new(slo: &Slo) -> Result<RateTrial, Failure> {
        Ok(RateTrial {
            slo: slo.clone(),
            judge: Judging::new(slo)?,
            rest: Counts::default(),
            values: slo.quantile.map(|_| Vec::new()),
            shown: slo.command.as_ref().map(|_| Values::default()),
            runs: 0,
            failed: 0,
        })
    }

    /// The finding without the percentile and the values, which need a sort.
    pub fn finding(&self) -> Finding {
        self.finding_with(None, None)
    }

    fn finding_with(&self, quantile: Option<Percentile>, values: Option<Spread>) -> Finding {
        let report = self.judge.question().report(self.judge.counts());
        let about = OfRate {
            log_criterion: report.log_criterion,
            dependence: Some(self.dependence()),
            rest: self.rest(),
            quantile,
            values,
        };
        Finding { verdict: self.answer(), ..finding(&self.slo, &report, about) }
    }

    /// What all values after the answer say at this one look, without regard to bursts: it only ever contradicts.
    fn rest(&self) -> Option<Rest> {
        let verdict = || self.judge.question().verdict(self.rest).into();
        let values = self.rest.trials();
        (values > 0).then(|| Rest { values, verdict: verdict() })
    }

    fn dependence(&self) -> Dependence {
        let (chain, pending) = (self.judge.chain(), self.judge.pending());
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        Dependence {
            bad: self.judge.counts().failures(),
            failed: self.failed,
            bursts: chain.bursts(),
            clustered: chain.clustered(),
            would_be: pending.map(|pending| pending.would_be.into()),
            log_evidence: pending.and_then(|pending| finite(pending.log_evidence)),
            needed: pending.map(|pending| pending.needed),
        }
    }

    /// The interval of the percentile.
    pub fn percentile(&self) -> Option<Percentile> {
        let rate = Rate::new(self.slo.quantile?).ok()?;
        let max_error = MaxError::new(self.slo.max_error).ok()?;
        let mut sorted = self.values.clone()?;
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len() as u64;
        let (low, high) = quantile::ranks(n, rate, self.slo.method.method(), max_error);
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let at = |rank: Option<u64>| finite(*sorted.get(usize::try_from(rank?).ok()?)?);
        let value = quantile::of_sorted(&sorted, rate).and_then(finite);
        Some(Percentile { rate: rate.get(), value, low: at(low), high: at(high) })
    }
}

impl Trial for RateTrial {
    fn push(&mut self, run: &Run) -> Result<(), Failure> {
        trial::check(run, 1)?;
        // A run that failed or timed out lacks the property, whatever it shows.
        let value = run.value.filter(|_| run.outcome == Outcome::Ok);
        let bound = self.slo.bound.as_ref();
        let good = |bound: &Bound| value.is_some_and(|value| bound.holds(value));
        let success = bound.is_some_and(good);
        if let Some(shown) = &mut self.shown {
            shown.push(value, run.usage.as_ref());
        }
        if let Some(values) = &mut self.values {
            let worst = match bound {
                Some(Bound { side: Side::AtLeast, .. }) => f64::NEG_INFINITY,
                _ => f64::INFINITY,
            };
            values.push(value.unwrap_or(worst));
        }
        self.runs += 1;
        self.failed += u64::from(run.outcome != Outcome::Ok);
        if self.is_settled() {
            self.rest.push(success);
        } else {
            self.judge.push(success);
        }
        Ok(())
    }

    /// None if the values after the answer give the opposite one: they are not of one kind.
    fn answer(&self) -> Answer {
        let first = self.judge.verdict();
        let rest = self.rest();
        if rest.is_some_and(|rest| rest.contradicts(first)) { Answer::Undecided } else { first }
    }

    fn is_settled(&self) -> bool {
        self.judge.verdict() != Answer::Undecided
    }

    fn state(&self) -> State {
        let (question, counts) = (self.judge.question(), self.judge.counts());
        let (low, high) = question.report(counts).interval;
        let pending = self.judge.pending();
        let is_open = pending.is_none() && !self.is_settled();
        let left = remaining(question, counts).filter(|_| is_open);
        let to_decide = match pending {
            None if self.is_settled() => {
                format!("{}, and the rest is read", self.judge.verdict().name())
            }
            None => more_to_decide(left),
            // In 80 columns, next to the figures.
            Some(pending) => {
                format!("{}, unless bad runs come in bursts", Answer::from(pending.would_be).name())
            }
        };
        let runs = several(self.runs, "run", "runs");
        let good = whole(counts.successes() + self.rest.successes());
        let text = format!("{runs}, {good} good, {}; {to_decide}", share(None, low, high));
        let found = self.slo.command.clone().unwrap_or_default();
        State { text, left, found, ..State::default() }
    }

    fn findings(&self) -> Vec<Finding> {
        vec![self.finding()]
    }

    fn findings_in_full(&self) -> Vec<Finding> {
        let values = self.shown.as_ref().and_then(Values::spread);
        vec![self.finding_with(self.percentile(), values)]
    }

    /// A no is guarded against bursts, a yes only if asked for or if some were seen. Runs of a command are not a stream
    /// of what one process saw.
    fn error_holds(&self) -> Holds {
        let is_unguarded = self.slo.bursts.is_some_and(|bursts| bursts.yes.is_none());
        match self.answer() {
            Answer::Yes if is_unguarded && self.slo.command.is_none() => Holds::IfIndependent,
            _ => Holds::AsStated,
        }
    }

    fn diagnoses(&self) -> Vec<String> {
        let meaning = "they lack the property, whatever they print";
        let failed = match self.failed {
            0 => None,
            1 if self.runs == 1 => Some(
                "the only run failed: it lacks the property, whatever it prints; if a nonzero status is normal, write 'COMMAND || true'"
                    .to_owned(),
            ),
            all if all == self.runs => Some(format!(
                "all {all} runs failed: {meaning}; if a nonzero status is normal, write 'COMMAND || true'"
            )),
            some => Some(format!("{some} of {} runs failed: {meaning}", self.runs)),
        };
        let (first, judged) = (self.judge.verdict(), self.judge.counts().trials());
        let rest = self.rest().filter(|rest| rest.contradicts(first));
        let rest = rest.map(|rest| rest.said(first, judged, "values"));
        let begun = match &self.judge {
            Judging::Sets(sets) => sets.begun.trials(),
            _ => 0,
        };
        let begun = (begun > 0).then(|| {
            let runs = several(begun, "run", "runs");
            format!("the last set is not whole, and its {runs} are not counted")
        });
        let guarded = self.slo.bursts.is_some();
        let dependent = diagnosis(self.judge.chain(), self.judge.counts(), guarded);
        failed.into_iter().chain(rest).chain(begun).chain(dependent).collect()
    }
}

/// The judge: of outcomes that may come in bursts, or of independent ones.
#[derive(Debug, Clone)]
enum Judging {
    Bursts(Box<BurstJudge>),
    Independent(Judge, Chain),
    Sets(Box<Sets>),
}

/// The judge of whole sets of runs, which are drawn independently of each other.
#[derive(Debug, Clone)]
struct Sets {
    question: stats::Question,
    size: u64,
    /// Of whole sets.
    counts: Counts,
    /// Of the set that is not whole.
    begun: Counts,
    chain: Chain,
    verdict: stats::Verdict,
}

impl Sets {
    fn push(&mut self, success: bool) {
        self.begun.push(success);
        self.chain.push(success);
        if self.begun.trials() < self.size {
            return;
        }
        let begun = std::mem::take(&mut self.begun);
        (0..begun.successes()).for_each(|_| self.counts.push(true));
        (0..begun.failures()).for_each(|_| self.counts.push(false));
        self.verdict = self.question.verdict(self.counts);
    }
}

impl Judging {
    fn new(slo: &Slo) -> Result<Judging, Failure> {
        let question = slo.question()?;
        let sets = |size| Sets {
            question,
            size,
            counts: Counts::default(),
            begun: Counts::default(),
            chain: Chain::default(),
            verdict: stats::Verdict::Undecided,
        };
        if let Some(size) = slo.set {
            return Ok(Judging::Sets(Box::new(sets(size))));
        }
        Ok(match slo.bursts {
            Some(bursts) => Judging::Bursts(Box::new(BurstJudge::new(question, bursts.into()))),
            None => Judging::Independent(Judge::new(question), Chain::default()),
        })
    }

    fn push(&mut self, success: bool) {
        match self {
            Judging::Bursts(judge) => {
                judge.push(success);
            }
            Judging::Independent(judge, chain) => {
                judge.push(success);
                chain.push(success);
            }
            Judging::Sets(sets) => sets.push(success),
        }
    }

    fn question(&self) -> &stats::Question {
        match self {
            Judging::Bursts(judge) => judge.question(),
            Judging::Independent(judge, _) => judge.question(),
            Judging::Sets(sets) => &sets.question,
        }
    }

    fn counts(&self) -> Counts {
        match self {
            Judging::Bursts(judge) => judge.counts(),
            Judging::Independent(judge, _) => judge.counts(),
            Judging::Sets(sets) => sets.counts,
        }
    }

    fn chain(&self) -> &Chain {
        match self {
            Judging::Bursts(judge) => judge.chain(),
            Judging::Independent(_, chain) => chain,
            Judging::Sets(sets) => &sets.chain,
        }
    }

    fn verdict(&self) -> Answer {
        match self {
            Judging::Bursts(judge) => judge.verdict().into(),
            Judging::Independent(judge, _) => judge.verdict().into(),
            Judging::Sets(sets) => sets.verdict.into(),
        }
    }

    /// Why the verdict for independent runs does not apply to runs that may depend on each other.
    fn pending(&self) -> Option<Pending> {
        match self {
            Judging::Bursts(judge) => judge.pending(),
            Judging::Independent(..) | Judging::Sets(_) => None,
        }
    }
}

/// What the values, or pairs of values, after the answer say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rest {
    /// How many they are.
    pub values: u64,
    /// Their own answer.
    pub verdict: Answer,
}

impl Rest {
    /// Whether they say the opposite of the `first` answer.
    #[must_use]
    pub fn contradicts(self, first: Answer) -> bool {
        matches!((first, self.verdict), (Answer::Yes, Answer::No) | (Answer::No, Answer::Yes))
    }

    /// What both say, as a sentence; the first `judged` gave the `first` answer.
    pub(crate) fn said(self, first: Answer, judged: u64, what: &str) -> String {
        let (said, all) = (whole(judged), whole(judged + self.values));
        let (first, other) = (first.name(), self.verdict.name());
        format!("the first {said} of {all} {what} say {first}, and the others {other}")
    }
}

/// What is known of bursts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Dependence {
    /// Runs that lack the property.
    pub bad: u64,
    /// Those that failed or timed out.
    pub failed: u64,
    /// The number of bursts they form.
    pub bursts: u64,
    /// The chance of so few bursts if runs were independent.
    pub clustered: f64,
    /// The verdict under independence, if bursts leave it open.
    pub would_be: Option<Answer>,
    /// The log of the e-process against bursts, in that case.
    pub log_evidence: Option<f64>,
    /// The value it has to reach.
    pub needed: Option<f64>,
}

/// The largest chance of a false warning that outcomes depend on each other.
const FALSE_ALARM: f64 = 5e-4;

fn diagnosis(chain: &Chain, counts: Counts, guarded: bool) -> Option<String> {
    let (bad, bursts) = (counts.failures(), chain.bursts());
    let clustered = chain.clustered() <= FALSE_ALARM;
    if !clustered && chain.scattered() > FALSE_ALARM {
        return None;
    }
    let how = if clustered { "fewer" } else { "more" };
    let noun = if bursts == 1 { "burst" } else { "bursts" };
    let then = match (clustered, guarded) {
        (false, _) => "the runs are not independent",
        (true, true) => "the runs are not independent, which the verdict takes into account",
        (true, false) => "the runs are not independent, so the stated error does not hold",
    };
    Some(format!(
        "the {bad} runs that lack the property came in {bursts} {noun}, {how} than by chance: {then}"
    ))
}

/// The finding about a rate after the given counts, with what is known of their order and of the values.
#[must_use]
pub fn finding(slo: &Slo, report: &Report, about: OfRate) -> Finding {
    finding_about(slo.rate, slo.or_below, report, slo.method.name(), About::Rate(about))
}
