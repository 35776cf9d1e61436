//! One engine for all tests of a rate: a bet against a null rate, whose winnings are the evidence.
//!
//! # Contract
//! [`Prior::log_evidence`] is never above the logarithm of the e-process
//! `E = integral of theta^s (1-theta)^f dPrior(theta) / (p^s (1-p)^f)`.
//! If the rate is `p`, the chance that E ever reaches 1/epsilon is at most epsilon (Ville), however often you look.
//! For `Above(r)` this holds for all nulls `p <= r` at once, and for `Below(r)` for all nulls `p >= r`. The prior is
//! fixed before the data: choosing among priors after looking needs a share of epsilon for each.
//! # Priors
//! * `Uniform` on (0, 1): the confidence sequence method; two-sided.
//! * `Jeffreys`, Beta(1/2, 1/2): two-sided, better near 0 and 1.
//! * `Above(r)`: only rates above r. Uniform on (r, 1) for r >= 1/2; for smaller r, Beta(1, m) truncated at r with
//!   m = floor(1/r), so that the bet is on rates of r's own magnitude, not on the whole of (r, 1).
//! * `Below(r)`: the mirror image; for r above 1/2 it is Beta(m, 1) truncated at r with m = floor(1/(1-r)).
//! # Why it holds
//! `ln E(p) = deviance(p) - price`, where the price depends only on the prior and the counts. A prior Beta(m, 1) is
//! `m - 1` prior successes: with integer counts every price reduces to Robbins' criterion and a tail of the Beta.
//! # Evidence
//! tests/truth_engine.rs (identities, Type I error judged by the engine), tests/truth_power.rs (sample sizes);
//! compare/src/evidence.rs: every prior against its integral in Arb.
//! # Sources
//! Robbins 1970; Howard, Ramdas, McAuliffe, Sekhon, arXiv 1810.08240; Ville 1939.

use crate::ball::Ball;
use crate::deviance::{deviance, log_rate};
use crate::ln::{ln, ln_ball};
use crate::mass::log_above_lower;
use crate::rate::{Counts, MAX_TRIALS, MaxError, Rate};
use crate::robbins::log_uniform_mixture;
use crate::stirling::{excess, half_excess};

/// The prior that the e-process bets on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Prior {
    /// All rates equally: the confidence sequence method.
    Uniform,
    /// Beta(1/2, 1/2).
    Jeffreys,
    /// Rates above the given one.
    Above(Rate),
    /// Rates below the given one.
    Below(Rate),
}

impl Prior {
    /// A lower bound of the log of the e-process against the null rate `p`, after `counts`.
    ///
    /// ```
    /// use uncontended_stats::{Counts, Prior, Rate};
    /// let half = Rate::HALF;
    /// // Ten heads in ten tosses: 1 to 93 against a fair coin.
    /// let evidence = Prior::Uniform.log_evidence(Counts::new(10, 10)?, half);
    /// assert!((evidence.exp() - 1024.0 / 11.0).abs() < 1e-9);
    /// # Ok::<(), uncontended_stats::Invalid>(())
    /// ```
    #[must_use]
    pub fn log_evidence(self, counts: Counts, p: Rate) -> f64 {
        self.price(counts).evidence(p)
    }

    /// The price of the prior at these counts; evidence against any rate then costs one deviance.
    #[must_use]
    pub fn price(self, counts: Counts) -> Price {
        let upper = match self {
            Prior::Uniform => log_uniform_mixture(counts),
            Prior::Jeffreys => log_jeffreys_mixture(counts),
            Prior::Above(rate) => price_above(counts, rate),
            Prior::Below(rate) => price_above(counts.complement(), rate.complement()),
        };
        Price { counts, price: upper }
    }

    /// The name that reports and logs use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Prior::Uniform => "uniform",
            Prior::Jeffreys => "beta(1/2,1/2)",
            Prior::Above(rate) if pseudo_failures(rate) == 0 => "uniform above the threshold",
            Prior::Above(_) => "beta(1,1/threshold) above the threshold",
            Prior::Below(rate) if pseudo_failures(rate.complement()) == 0 => {
                "uniform below the threshold"
            }
            Prior::Below(_) => "beta(1/(1-threshold),1) below the threshold",
        }
    }
}

/// A prior's price at given counts: the part of an e-process that does not depend on the null rate.
#[derive(Clone, Copy, Debug)]
pub struct Price {
    counts: Counts,
    price: Ball,
}

impl Price {
    /// A lower bound of the log of the e-process against the null rate `p`.
    #[must_use]
    pub fn evidence(&self, p: Rate) -> f64 {
        (deviance(self.counts, p) - self.price).lower()
    }

    /// Whether the evidence against `p` is certainly at least one over the error bound.
    #[must_use]
    pub fn rejects(&self, p: Rate, max_error: MaxError) -> bool {
        self.evidence(p) >= -max_error.log()
    }

    /// The confidence sequence: every rate not rejected, rounded outwards. It contains the true rate at all times
    /// simultaneously with a chance of at least `1 - max_error`. Both ends are in [0, 1]; an end that no trial has
    /// bounded yet is 0 or 1.
    #[must_use]
    pub fn interval(&self, max_error: MaxError) -> (f64, f64) {
        let low = if self.counts.successes() == 0 { 0.0 } else { self.end_below(max_error) };
        let high = if self.counts.failures() == 0 { 1.0 } else { self.end_above(max_error) };
        (low, high)
    }

    /// The largest double below the observed rate that is rejected, or 0: evidence decreases up to the observed rate.
    fn end_below(&self, max_error: MaxError) -> f64 {
        let rejected =
            |bits: u64| Rate::new(f64::from_bits(bits)).is_ok_and(|p| self.rejects(p, max_error));
        let (mut low, mut high) = (0u64, self.counts.observed().to_bits());
        // Doubles of one sign are ordered like their bits. `low` is rejected or 0, `high` is not.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if rejected(middle) { low = middle } else { high = middle }
        }
        f64::from_bits(low)
    }

    /// The smallest double above the observed rate that is rejected, or 1.
    fn end_above(&self, max_error: MaxError) -> f64 {
        let rejected =
            |bits: u64| Rate::new(f64::from_bits(bits)).is_ok_and(|p| self.rejects(p, max_error));
        let (mut low, mut high) = (self.counts.observed().to_bits(), 1.0f64.to_bits());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if rejected(middle) { high = middle } else { low = middle }
        }
        f64::from_bits(high)
    }
}

/// `ln` of the likelihood at s/n over that of the Beta(1/2, 1/2) mixture:
/// `ln(pi n / 2)/2 + excess(n) - half_excess(s) - half_excess(f)`.
fn log_jeffreys_mixture(counts: Counts) -> Ball {
    let n = counts.trials();
    if n == 0 {
        return Ball::exact(0.0);
    }
    // pi/2 exceeds the double by less than 1e-16.
    let half_pi = Ball { mid: std::f64::consts::FRAC_PI_2, err: 1e-16 };
    let spread = ln_ball(half_pi * n as f64) * 0.5;
    spread + (excess(n) - half_excess(counts.successes()) - half_excess(counts.failures()))
}

/// Prior failures of `Above(rate)`: m - 1 for its Beta(1, m).
fn pseudo_failures(rate: Rate) -> u64 {
    let scale = (1.0 / rate.get()).floor();
    if rate.get() >= 0.5 { 0 } else { (scale as u64 - 1).min(1 << 50) }
}

/// The price of `Above(rate)`, bounded above.
///
/// With m - 1 pseudo-failures, `E(rate) = m U(n + m - 1, s) P(theta > rate) / q`, where U is the uniform mixture's
/// e-process at the augmented counts and theta their Beta posterior; the truncated prior's own mass is q^m.
fn price_above(counts: Counts, rate: Rate) -> Ball {
    let pseudo = pseudo_failures(rate);
    let trials = counts.trials() + pseudo;
    if trials > MAX_TRIALS {
        return Ball::exact(f64::INFINITY);
    }
    let seen =
        Counts::new(trials, counts.successes()).expect("pseudo-failures only add to the failures");
    let mass = Ball::exact(log_above_lower(seen, rate));
    let at_rate = mass - log_rate(rate.q) + ln((pseudo + 1) as f64);
    if pseudo == 0 {
        return log_uniform_mixture(counts) - at_rate;
    }
    deviance(counts, rate) - deviance(seen, rate) + log_uniform_mixture(seen) - at_rate
}
