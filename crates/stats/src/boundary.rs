//! Closed boundaries from the literature, for what the binomial engine does not cover.
//!
//! # Contract
//! Crossing such a boundary even once has a chance of at most `max_error`. The formulas hold exactly; their evaluation
//! is deterministic and accurate to about 1e-12, but, unlike the rest of this crate, not rounded to one side.
//! * [`normal_mixture`]: sums with sub-Gaussian increments of total variance `v`.
//! * [`double_stitching`]: the empirical distribution, for every quantile at every time at once. For one quantile alone
//!   [`crate::QuantileSequence`] is tighter.
//! * [`bernoulli_interval`]: a rate, by a Beta prior centred at each null, placed for about `n_best` trials.
//! # Evidence
//! tests/truth_boundary.rs: published values; coverage of all quantiles at once.
//! # Sources
//! Howard, Ramdas, McAuliffe, Sekhon, arXiv 1810.08240; Howard and Ramdas, arXiv 1906.09712, theorem 3.

use crate::ln::ln;
use crate::rate::{Counts, MaxError, Rate};
use crate::stirling::excess_real;

/// The value of Riemann's zeta function at 1.4.
const ZETA: f64 = 3.105_547_277_977_580_4;

/// The boundary of a sum of variance `v`, tightest near `v_best`; two-sided.
#[must_use]
pub fn normal_mixture(v: f64, v_best: f64, max_error: MaxError) -> f64 {
    let rho = v_best / placement(max_error);
    ((v + rho) * (log((v + rho) / rho) - 2.0 * max_error.log())).sqrt()
}

/// By how many of `n` values the empirical distribution may pass the rate `p` at its quantile, for all quantiles and
/// all `n >= n_best` at once (below, as at `n_best`).
#[must_use]
pub fn double_stitching(p: Rate, n: f64, n_best: f64, max_error: MaxError) -> f64 {
    const DELTA: f64 = 0.5;
    const POWER: f64 = 1.4;
    const ETA: f64 = 2.0;
    let (p, q) = (p.p.hi, p.q.hi);
    let time = n.max(n_best) / n_best;
    let logit = log(p) - log(q);
    let toward_half = || {
        let odds = crate::ln::exp_upper(logit + 2.0 * DELTA * (ETA / time).sqrt());
        (odds / (1.0 + odds)).min(0.5)
    };
    let r = if p >= 0.5 { p } else { toward_half() };
    let variance = r * (1.0 - r);
    let rounds = log(ETA * time);
    let reach = time.sqrt() * logit.abs() / (2.0 * DELTA) + 1.0;
    let ell = POWER * (log(rounds) + log(reach) - log(log(ETA)))
        + log(2.0 * ZETA * (2.0 * ZETA + 1.0))
        - max_error.log();
    let fourth = ETA.sqrt().sqrt();
    let k1_squared = (fourth + 1.0 / fourth).powi(2) / 2.0;
    let skew = f64::midpoint(ETA.sqrt(), 1.0) * (1.0 - 2.0 * p) / 3.0 * ell;
    let steps = DELTA * (ETA * time * variance).sqrt();
    steps + (k1_squared * variance * n.max(n_best) * ell + skew * skew).sqrt() + skew
}

/// The confidence sequence of a rate, tightest near `n_best` trials.
#[must_use]
pub fn bernoulli_interval(counts: Counts, n_best: f64, max_error: MaxError) -> (f64, f64) {
    let weight = (n_best / placement(max_error) - 1.0).max(1e-3);
    let seen = counts.observed();
    let rejected = |p: f64| centred_evidence(counts, p, weight) >= -max_error.log();
    let end = |mut outside: f64, mut inside: f64| {
        while (outside - inside).abs() > 1e-14 {
            let middle = f64::midpoint(outside, inside);
            if rejected(middle) { outside = middle } else { inside = middle }
        }
        outside
    };
    let low = if counts.successes() == 0 { 0.0 } else { end(0.0, seen) };
    let high = if counts.failures() == 0 { 1.0 } else { end(1.0, seen) };
    (low, high)
}

/// What the best placement of a normal mixture divides the wanted variance by.
fn placement(max_error: MaxError) -> f64 {
    let twice = -2.0 * max_error.log();
    twice + log(1.0 + twice)
}

/// The log of the e-process against `p` of the prior Beta(weight p, weight (1-p)).
fn centred_evidence(counts: Counts, p: f64, weight: f64) -> f64 {
    let (s, f) = (counts.successes() as f64, counts.failures() as f64);
    let q = 1.0 - p;
    let log_beta = |a: f64, b: f64| log_gamma(a) + log_gamma(b) - log_gamma(a + b);
    log_beta(weight * p + s, weight * q + f)
        - log_beta(weight * p, weight * q)
        - s * log(p)
        - f * log(q)
}

/// The log of the gamma function of a positive number.
fn log_gamma(x: f64) -> f64 {
    let (mut product, mut at) = (1.0, x);
    while at < 16.0 {
        product *= at;
        at += 1.0;
    }
    let ln_tau = log(std::f64::consts::TAU);
    (at - 0.5) * log(at) - at + 0.5 * ln_tau + excess_real(at) - log(product)
}

/// The logarithm of a positive number, the same on every machine.
fn log(x: f64) -> f64 {
    ln(x).mid
}
