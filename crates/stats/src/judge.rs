//! The two-threshold judge: is a rate at least R?
//!
//! # Contract
//! Whatever the rate, the chance of ever giving the wrong verdict, or of ever showing an interval that misses the rate,
//! is at most `max_error`, over all looks. *Yes* refutes "at most `or_below`" (R itself if there is none), *no* refutes
//! "at least R". Between the two thresholds, in the indifference zone, both answers are right. At R itself, without
//! such a zone, the judge may stay undecided forever.
//! # How the error budget is spent
//! * `Csm` and `Jeffreys`: one confidence sequence, which gets all of it, gives both thresholds.
//! * `OneSided`: the upward test and the downward test get half each; the interval is what neither refutes.
//! # Invariants
//! J1: a test lacks at least what the judge reckons between two looks, so no look is left out that would decide.
//! J2: the interval contains no rate that the verdict refutes.
//! # Evidence
//! tests/truth_engine.rs.
//! # Sources
//! Ding, Gandy and Hahn, arXiv 1611.01675; Khuong's two-threshold driver; anchored in [`crate::Prior`].

use crate::credible;
use crate::deviance::log_rate;
use crate::eprocess::{Price, Prior};
use crate::rate::{Counts, Invalid, MaxError, Rate};
use crate::robbins;

/// Which e-process judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// The confidence sequence method: uniform prior, two-sided.
    Csm,
    /// One prior above the lower threshold and one below the upper: fewest trials if the direction is the question.
    #[default]
    OneSided,
    /// Beta(1/2, 1/2), two-sided.
    Jeffreys,
}

/// "Is the rate at least `at_least`?", with an optional indifference zone down to `or_below`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    at_least: Rate,
    or_below: Option<Rate>,
    method: Method,
    max_error: MaxError,
}

impl Question {
    /// # Errors
    /// [`Invalid::Order`] unless `or_below < at_least`.
    pub fn new(
        at_least: Rate,
        or_below: Option<Rate>,
        method: Method,
        max_error: MaxError,
    ) -> Result<Question, Invalid> {
        match or_below {
            Some(low) if low >= at_least => {
                Err(Invalid::Order { low: low.get(), high: at_least.get() })
            }
            _ => Ok(Question { at_least, or_below, method, max_error }),
        }
    }

    /// The question without an indifference zone, which cannot be wrong.
    #[must_use]
    pub fn about(at_least: Rate, method: Method, max_error: MaxError) -> Question {
        Question { at_least, or_below: None, method, max_error }
    }

    /// The rate asked about: the upper threshold.
    #[must_use]
    pub fn at_least(&self) -> Rate {
        self.at_least
    }

    /// What *yes* refutes: the lower threshold.
    #[must_use]
    pub fn yes_refutes(&self) -> Rate {
        self.or_below.unwrap_or(self.at_least)
    }

    /// The error bound of the whole question.
    #[must_use]
    pub fn max_error(&self) -> MaxError {
        self.max_error
    }

    /// The error bound of each test, after the split.
    #[must_use]
    pub fn share(&self) -> MaxError {
        if self.method == Method::OneSided { self.max_error.split(2) } else { self.max_error }
    }

    /// The priors of the test that can say yes and of the one that can say no.
    fn priors(&self) -> [Prior; 2] {
        match self.method {
            Method::Csm => [Prior::Uniform; 2],
            Method::Jeffreys => [Prior::Jeffreys; 2],
            Method::OneSided => [Prior::Above(self.yes_refutes()), Prior::Below(self.at_least)],
        }
    }

    /// The fewest trials after which any outcome could decide this question, starting from `counts`; 0 if it is
    /// decided.
    #[must_use]
    pub fn next_decision(&self, counts: Counts) -> u64 {
        let after = |success: bool, k: u64| {
            let gained = if success { k } else { 0 };
            Counts::new(counts.trials().saturating_add(k), counts.successes() + gained).ok()
        };
        let fewest = |success: bool| {
            let decides =
                |k: u64| after(success, k).is_none_or(|c| self.verdict(c) != Verdict::Undecided);
            let mut high = 1u64;
            while !decides(high) {
                high *= 2;
            }
            let mut low = high / 2;
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if decides(middle) { high = middle } else { low = middle }
            }
            high
        };
        if self.verdict(counts) == Verdict::Undecided { fewest(true).min(fewest(false)) } else { 0 }
    }

    /// The verdict after `counts`, as of this look.
    #[must_use]
    pub fn verdict(&self, counts: Counts) -> Verdict {
        match () {
            () if self.says(Verdict::Yes, counts) => Verdict::Yes,
            () if self.says(Verdict::No, counts) => Verdict::No,
            () => Verdict::Undecided,
        }
    }

    /// Whether the evidence for yes, or for no, suffices.
    pub(crate) fn says(&self, answer: Verdict, counts: Counts) -> bool {
        self.is_toward(answer, counts) && self.evidence_for(answer, counts) >= -self.share().log()
    }

    /// Whether the observed rate is on the answer's side of its threshold; otherwise there is no evidence for the
    /// answer.
    fn is_toward(&self, answer: Verdict, counts: Counts) -> bool {
        let seen = counts.observed();
        match answer {
            Verdict::Yes => seen > self.yes_refutes().get(),
            Verdict::No => seen < self.at_least.get(),
            Verdict::Undecided => false,
        }
    }

    /// The log of the e-process against what `answer` refutes.
    fn evidence_for(&self, answer: Verdict, counts: Counts) -> f64 {
        let [above, below] = self.priors();
        match answer {
            Verdict::Yes => above.log_evidence(counts, self.yes_refutes()),
            Verdict::No => below.log_evidence(counts, self.at_least),
            Verdict::Undecided => 0.0,
        }
    }

    /// The logs of the e-processes for *yes* and for *no*. A two-sided prior's evidence counts for the side of the
    /// observed rate.
    #[must_use]
    pub fn log_evidence(&self, counts: Counts) -> [f64; 2] {
        [Verdict::Yes, Verdict::No].map(|answer| {
            let evidence = self.evidence_for(answer, counts);
            let counted = self.method == Method::OneSided || self.is_toward(answer, counts);
            if counted { evidence } else { evidence.min(0.0) }
        })
    }

    fn prices(&self, counts: Counts) -> [Price; 2] {
        self.priors().map(|prior| prior.price(counts))
    }

    /// The full report after `counts`.
    #[must_use]
    pub fn report(&self, counts: Counts) -> Report {
        let log_evidence = self.log_evidence(counts);
        let priors = self.priors();
        let entry = |answer: Verdict, refutes: Rate, i: usize| Evidence {
            answer,
            refutes: refutes.get(),
            prior: priors[i].name(),
            log_evidence: log_evidence[i],
            needed: -self.share().log(),
        };
        let verdict = self.verdict(counts);
        Report {
            counts,
            verdict,
            evidence: [
                entry(Verdict::Yes, self.yes_refutes(), 0),
                entry(Verdict::No, self.at_least, 1),
            ],
            log_criterion: robbins::log_criterion(counts, self.at_least),
            interval: self.interval(counts, verdict),
            credible: credible::interval(counts, self.max_error),
        }
    }

    /// The confidence sequence dual to the tests: it never contains a refuted rate.
    fn interval(&self, counts: Counts, verdict: Verdict) -> (f64, f64) {
        let [above, below] = self.prices(counts).map(|price| price.interval(self.share()));
        let both = (above.0.max(below.0), above.1.min(below.1));
        let shown = match verdict {
            _ if both.0 <= both.1 => both,
            // They contradict each other, which has a chance of at most `max_error`: show the one that decided.
            Verdict::No => below,
            _ => above,
        };
        debug_assert!(verdict != Verdict::Yes || shown.0 >= self.yes_refutes().get(), "J2");
        debug_assert!(verdict != Verdict::No || shown.1 <= self.at_least.get(), "J2");
        shown
    }
}

/// An answer of the judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The rate is at least R, or in the indifference zone below it.
    Yes,
    /// The rate is below R, or in the indifference zone.
    No,
    /// Neither is certain yet.
    Undecided,
}

/// The evidence that one test of a question has gathered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// The verdict this evidence argues for.
    pub answer: Verdict,
    /// The threshold it refutes: "at most" this rate for yes, "at least" it for no.
    pub refutes: f64,
    /// The prior's name.
    pub prior: &'static str,
    /// A lower bound of the log of the e-process.
    pub log_evidence: f64,
    /// The value it has to reach.
    pub needed: f64,
}

/// A verdict with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Trials and successes.
    pub counts: Counts,
    /// The answer.
    pub verdict: Verdict,
    /// The test for yes, then the test for no.
    pub evidence: [Evidence; 2],
    /// Robbins' criterion at the rate asked about, rounded up.
    pub log_criterion: f64,
    /// Confidence sequence dual to the tests, valid over all looks.
    pub interval: (f64, f64),
    /// Credible interval under a uniform prior, of the same nominal error: not valid over many looks.
    pub credible: (f64, f64),
}

/// Judges a stream of outcomes; evaluates the tests only when a look could decide.
///
/// ```
/// use uncontended_stats::{Judge, MaxError, Method, Question, Rate, Verdict};
/// let question = Question::new(Rate::new(0.9)?, None, Method::Csm, MaxError::new(0.001)?)?;
/// let mut judge = Judge::new(question);
/// let stopped = (1..).find(|_| judge.push(true) != Verdict::Undecided);
/// assert_eq!(stopped, Some(111));
/// # Ok::<(), uncontended_stats::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct Judge {
    question: Question,
    counts: Counts,
    verdict: Verdict,
    /// What the evidence for yes and for no still lacks, at best (J1).
    lacking: [f64; 2],
    /// The most that a success, and a failure, can add to the evidence for yes and for no.
    gains: [[f64; 2]; 2],
}

impl Judge {
    /// A judge without any outcomes yet.
    #[must_use]
    pub fn new(question: Question) -> Judge {
        // One success multiplies the likelihood ratio against rate p by at most 1/p, one failure by at most 1/(1-p); a
        // one-sided prior gains only from its own side's outcome.
        let surprise = |rate: Rate| [-log_rate(rate.p).lower(), -log_rate(rate.q).lower()];
        let (yes, no) = (surprise(question.yes_refutes()), surprise(question.at_least));
        let gains = match question.method {
            Method::OneSided => [[yes[0], 0.0], [0.0, no[1]]],
            Method::Csm | Method::Jeffreys => [yes, no],
        };
        let needed = -question.share().log();
        Judge {
            question,
            counts: Counts::default(),
            verdict: Verdict::Undecided,
            lacking: [needed; 2],
            gains,
        }
    }

    /// Takes one outcome and returns the verdict so far. A verdict, once given, stays.
    pub fn push(&mut self, success: bool) -> Verdict {
        if self.verdict == Verdict::Undecided {
            self.counts.push(success);
            let outcome = usize::from(!success);
            self.lacking[0] -= self.gains[0][outcome];
            self.lacking[1] -= self.gains[1][outcome];
            if self.lacking[0].min(self.lacking[1]) < 1e-6 {
                self.look();
            }
        }
        self.verdict
    }

    /// The question.
    #[must_use]
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The counts, up to the verdict.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The verdict so far.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    #[cold]
    fn look(&mut self) {
        let needed = -self.question.share().log();
        let lacking = self.question.log_evidence(self.counts).map(|e| needed - e);
        debug_assert!(
            lacking.iter().zip(self.lacking).all(|(&found, reckoned)| found > reckoned - 1e-6),
            "J1: {lacking:?} {:?}",
            self.lacking
        );
        self.lacking = lacking;
        self.verdict = self.question.verdict(self.counts);
    }
}
