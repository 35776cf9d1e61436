//! A judge that does not mistake bursts for a rate: is the rate at least R, if bad outcomes may come in bursts?
//!
//! # Contract
//! A verdict needs what [`Judge`] needs, so for independent outcomes its error bound is the same; in addition:
//! * *no* needs as much evidence against every two-state Markov chain whose rate is at least R and whose bad outcomes
//!   come in bursts from 1 to `stretch` times as long as by chance: at R = 0.9 and a stretch of 20, in bursts of up to
//!   22 on average. For each of these chains *no* is wrong with at most its share of the error, over all looks.
//! * *yes* needs the same against the chains with the same bursts whose rate is at most the lower threshold, but only
//!   if the outcomes are clustered ([`Chain::clustered`] at most [`CLUSTERED`]) or a stretch was given for yes
//!   too. Otherwise *yes* assumes their independence: good outcomes alone do not show how long a burst would be.
//! # Why it holds
//! The numerator is a mixture fixed beforehand: the independent outcomes' own e-process, and a prior on both rows of
//! the chain's matrix. The denominator is the largest likelihood of any chain under the null, started in its stationary
//! state. For the true chain the quotient is at most a likelihood ratio, which reaches 1/epsilon with a chance of at
//! most epsilon (Ville). The first term is the independent evidence minus what the best such chain explains better than
//! independence does. The logarithm of a chain's likelihood is concave, so its maximum is at most its value at any
//! point plus the slope there times the width of the range.
//! # Evidence
//! tests/truth_bursts.rs: Markov noise, autoregressive noise, a periodic neighbour, drift; the cost for independent
//! outcomes.
//! # Sources
//! Wasserman, Ramdas and Balakrishnan, arXiv 1912.11436 (universal inference); Wald and Wolfowitz 1940 (runs test).

use crate::ball::Ball;
use crate::eprocess::Prior;
use crate::judge::{Judge, Question, Verdict};
use crate::ln::{ln, ln_ball};
use crate::rate::{Counts, Rate};
use crate::robbins::log_choose;

/// *Yes* requires more evidence if independent outcomes would be clustered like this with at most this chance.
pub const CLUSTERED: f64 = 0.001;

/// The shares of the numerator: the independent mixture, and the prior on chains.
const SHARES: [f64; 2] = [0.9, 0.1];

/// Rounding rates to doubles changes a log-likelihood by less than this, up to a billion outcomes.
const ROUNDED: f64 = 1e-6;

/// Counts of transitions between outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    first: Option<bool>,
    last: Option<bool>,
    /// Outcomes after a bad one, and after a good one: their number, and how many of them are good.
    after: [Counts; 2],
}

impl Chain {
    /// Takes one outcome.
    pub fn push(&mut self, good: bool) {
        self.first.get_or_insert(good);
        if let Some(last) = self.last.replace(good) {
            self.after[usize::from(last)].push(good);
        }
    }

    /// The chain after this many more good outcomes.
    #[must_use]
    pub fn and_good(mut self, more: u64) -> Chain {
        if more > 0 {
            self.push(true);
            self.after[1] = self.after[1].and_good(more - 1);
        }
        self
    }

    /// The number of bursts of bad outcomes.
    #[must_use]
    pub fn bursts(&self) -> u64 {
        self.after[1].failures() + u64::from(self.first == Some(false))
    }

    fn bad(&self) -> u64 {
        self.bursts() + self.after[0].failures()
    }

    fn outcomes(&self) -> u64 {
        u64::from(self.first.is_some()) + self.after[0].trials() + self.after[1].trials()
    }

    /// The chance that as many independent outcomes, as many of them bad, form as few bursts or fewer.
    #[must_use]
    pub fn clustered(&self) -> f64 {
        self.tail((1..=self.bursts()).rev())
    }

    /// The chance of as many bursts or more.
    #[must_use]
    pub fn scattered(&self) -> f64 {
        self.tail(self.bursts()..=self.bad())
    }

    /// The total chance of these numbers of bursts, summed outward from the likeliest.
    fn tail(&self, bursts: impl Iterator<Item = u64>) -> f64 {
        if self.bad() == 0 {
            return 1.0;
        }
        let (mut sum, mut last) = (0.0, 0.0);
        for chance in bursts.map(|bursts| self.chance_of(bursts)) {
            sum += chance;
            // Beyond the mode they decrease ever faster: what is left out is less than this.
            if chance < last && chance < 1e-9 * sum || sum == 0.0 {
                break;
            }
            last = chance;
        }
        sum.min(1.0)
    }

    /// The chance of this many bursts, given the number of outcomes and of bad ones.
    fn chance_of(&self, bursts: u64) -> f64 {
        let (n, bad) = (self.outcomes(), self.bad());
        if bursts > n - bad + 1 {
            return 0.0;
        }
        let choose = |n, k| Counts::new(n, k).map_or(0.0, log_choose);
        (choose(bad - 1, bursts - 1) + choose(n - bad + 1, bursts) - choose(n, bad)).exp()
    }

    /// A lower bound of the log of the e-process for `answer` about the rate `at`: against every chain with a rate at
    /// least (for no) or at most (for yes) `at`, whose bursts of bad outcomes are at most `stretch` times longer than
    /// by chance. `independent` is the log for independent outcomes.
    #[must_use]
    pub fn log_evidence(&self, answer: Verdict, at: Rate, stretch: f64, independent: f64) -> f64 {
        let Some(first) = self.first else { return 0.0 };
        let ([from_bad, from_good], null) = (self.after, Null::new(at, stretch));
        let (best, slack) = null.best(from_bad, from_good);
        let excess = null.log_ratio(from_bad, from_good, best) + slack + ROUNDED;
        // Under the null, a first outcome of the null's own kind may have any chance up to 1.
        let own = first == (answer == Verdict::No);
        let chance = if first { at.p } else { at.q };
        let of_first = Ball { mid: ln(chance.hi).mid, err: 1e-12 };
        let first_slack = if own { -of_first } else { Ball::exact(0.0) };
        let share = |i: usize| ln(SHARES[i]);
        let mixed = (share(0) + independent - excess - first_slack).lower();
        let (Ok(stays), Ok(leaves)) = (Rate::new(1.0 - null.odds.mid * best), Rate::new(best))
        else {
            return mixed;
        };
        let row = |counts: Counts, rate: Rate| Prior::Jeffreys.log_evidence(counts, rate);
        let rows = row(from_good, stays) + row(from_bad, leaves);
        // A priori the first outcome is good or bad with equal chance.
        let begun = ln(0.5) - of_first;
        let chains = (share(1) + rows + begun - first_slack - slack - ROUNDED).lower();
        let evidence = mixed.max(chains);
        if null.contains(answer, from_bad, from_good) { evidence.min(0.0) } else { evidence }
    }
}

/// The chains at the edge of the null: with a rate of exactly `at`. A chain is identified by the chance of leaving its
/// bad state; the chance of leaving its good state is `odds` times that.
struct Null {
    at: Rate,
    odds: Ball,
    least: f64,
    most: f64,
}

impl Null {
    fn new(at: Rate, stretch: f64) -> Null {
        let ball = |hi: f64, lo: f64| Ball { mid: hi, err: lo.abs() };
        let odds = ball(at.q.hi, at.q.lo) / ball(at.p.hi, at.p.lo);
        // By chance, a burst ends at the rate itself.
        let least = (at.get() / stretch.max(1.0)).max(f64::MIN_POSITIVE);
        Null { at, odds, least, most: at.get() }
    }

    /// Whether the likeliest chain of all is in the null, so that there is no evidence against the null.
    fn contains(&self, answer: Verdict, from_bad: Counts, from_good: Counts) -> bool {
        let leaves_bad = from_bad.observed().clamp(self.least.min(self.most), self.most);
        let leaves_good = 1.0 - from_good.observed();
        let edge = self.odds.mid * leaves_bad;
        match answer {
            Verdict::No => leaves_good <= edge,
            _ => leaves_good >= edge,
        }
    }

    /// The likeliest chain at the edge, and a bound on what another could gain over it.
    fn best(&self, from_bad: Counts, from_good: Counts) -> (f64, f64) {
        let odds = self.odds.mid;
        let leaves = (from_bad.successes() + from_good.failures()) as f64;
        let (good, bad) = (from_good.successes() as f64, from_bad.failures() as f64);
        let slope = |x: f64| leaves / x - odds * good / (1.0 - odds * x) - bad / (1.0 - x);
        let (mut low, mut high) = (self.least.min(self.most), self.most);
        if slope(low) <= 0.0 {
            return (low, 0.0);
        }
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if slope(middle) > 0.0 { low = middle } else { high = middle }
        }
        // To the left of the maximum: the gain up to it is at most the slope times the distance.
        (low, slope(low).max(0.0) * (high - low))
    }

    /// The log of the likelihood of the chain `x` relative to independent outcomes with the same rate.
    fn log_ratio(&self, from_bad: Counts, from_good: Counts, x: f64) -> Ball {
        let (p, q) = (self.at.p, self.at.q);
        let (p, q) = (Ball { mid: p.hi, err: p.lo.abs() }, Ball { mid: q.hi, err: q.lo.abs() });
        let x = Ball::exact(x);
        let times = |count: u64, ratio: Ball| {
            if count == 0 { Ball::exact(0.0) } else { ln_ball(ratio) * Ball::count(count) }
        };
        times(from_bad.successes() + from_good.failures(), x / p)
            + times(from_good.successes(), (-(self.odds * x) + 1.0) / p)
            + times(from_bad.failures(), (-x + 1.0) / q)
    }
}

/// How far outcomes may depend on each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// How many times as long as chance makes them bursts of bad outcomes may be for a `no`.
    pub no: f64,
    /// The same for a yes; none to ask only if outcomes are clustered.
    pub yes: Option<f64>,
}

impl Default for Stretch {
    fn default() -> Stretch {
        Stretch { no: 20.0, yes: None }
    }
}

/// Judges a stream of outcomes that may come in bursts.
///
/// ```
/// use uncontended_stats::bursts::{BurstJudge, Stretch};
/// use uncontended_stats::{MaxError, Method, Question, Rate, Verdict};
/// let question = Question::about(Rate::new(0.9)?, Method::OneSided, MaxError::new(0.001)?);
/// let mut judge = BurstJudge::new(question, Stretch::default());
/// // A burst of twenty in a stream that is good otherwise is not evidence that more than a tenth is bad.
/// for i in 0..2000 {
///     judge.push(!(10..30).contains(&i));
/// }
/// assert_ne!(judge.verdict(), Verdict::No);
/// # Ok::<(), uncontended_stats::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct BurstJudge {
    /// Determines when to look.
    independent: Judge,
    stretch: Stretch,
    counts: Counts,
    chain: Chain,
    verdict: Verdict,
    /// The number of outcomes at the next look: looking rarely is as sound as looking always.
    next_look: u64,
}

/// Why a judge withholds the verdict that independent outcomes would have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pending {
    /// That verdict.
    pub would_be: Verdict,
    /// The log of the e-process against chains.
    pub log_evidence: f64,
    /// The value it has to reach.
    pub needed: f64,
}

impl BurstJudge {
    /// A judge without any outcomes yet.
    #[must_use]
    pub fn new(question: Question, stretch: Stretch) -> BurstJudge {
        BurstJudge {
            independent: Judge::new(question),
            stretch,
            counts: Counts::default(),
            chain: Chain::default(),
            verdict: Verdict::Undecided,
            next_look: 0,
        }
    }

    /// Takes one outcome and returns the verdict so far. A verdict, once given, stays.
    pub fn push(&mut self, good: bool) -> Verdict {
        if self.verdict == Verdict::Undecided {
            self.counts.push(good);
            self.chain.push(good);
            // Nothing needs evaluating before the first look that could decide.
            let decides = self.independent.push(good) != Verdict::Undecided;
            if decides && self.counts.trials() >= self.next_look {
                self.look();
            }
        }
        self.verdict
    }

    #[cold]
    fn look(&mut self) {
        if self.pending().is_none() {
            self.verdict = self.question().verdict(self.counts);
        }
        let seen = self.counts.trials();
        self.next_look = seen + 1 + seen / 64;
    }

    /// The question.
    #[must_use]
    pub fn question(&self) -> &Question {
        self.independent.question()
    }

    /// The counts, up to the verdict.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The transition counts.
    #[must_use]
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The verdict so far.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// What is missing, if independent outcomes would have a verdict now.
    #[must_use]
    pub fn pending(&self) -> Option<Pending> {
        let question = self.question();
        let would_be = question.verdict(self.counts);
        let [for_yes, for_no] = question.log_evidence(self.counts);
        let (at, independent, stretch) = match would_be {
            Verdict::Undecided => return None,
            Verdict::No => (question.at_least(), for_no, self.stretch.no),
            Verdict::Yes => match self.stretch.yes {
                None if self.chain.clustered() > CLUSTERED => return None,
                None => (question.yes_refutes(), for_yes, self.stretch.no),
                Some(stretch) => (question.yes_refutes(), for_yes, stretch),
            },
        };
        let log_evidence = self.chain.log_evidence(would_be, at, stretch, independent);
        let needed = -question.share().log();
        (log_evidence < needed).then_some(Pending { would_be, log_evidence, needed })
    }
}
