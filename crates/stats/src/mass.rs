//! Tails of the Beta posterior, bounded from the side that the caller needs.
//!
//! # Contract
//! For `Beta(s+1, f+1)`: [`log_below_upper`] is never below `ln P(theta <= p)`, [`log_above_lower`] never above `ln
//! P(theta > p)`. The caller chooses how many terms are summed; a geometric series, which is exact in the far tail and
//! loose near the centre, bounds the rest on the safe side.
//! # Why it holds
//! `P(theta <= p)` is `P(Bin(n+1, p) >= s+1)`. Its first term is `exp(L) p/(s+1)`, L being Robbins' criterion, and the
//! ratio of successive terms, `(n+1-k)/(k+1) p/q`, falls. Half of the mass lies above the smaller of mode and mean,
//! between which the median of a unimodal Beta lies.
//! # Sources
//! The hypergeometric series: DLMF 8.17.20; the median: Groeneveld and Meeden 1977.

use crate::ball::Ball;
use crate::deviance::{deviance, log_rate};
use crate::ln::{exp_upper, ln, ln_ball};
use crate::rate::{Counts, Rate};
use crate::robbins::log_uniform_mixture;

/// An upper bound of `ln P(theta <= p)` for `theta ~ Beta(s+1, f+1)`, at most 0.
pub(crate) fn log_below_upper(counts: Counts, rate: Rate, terms: u32) -> f64 {
    match upper_sum(counts, rate, terms) {
        Some(sum) => (first_term(counts, rate) + ln_ball(sum)).upper().min(0.0),
        None => 0.0,
    }
}

/// A lower bound of `ln P(theta > p)` for `theta ~ Beta(s+1, f+1)`.
pub(crate) fn log_above_lower(counts: Counts, rate: Rate) -> f64 {
    // Eight terms reach the geometric tail wherever a decision is near.
    let below = exp_upper(log_below_upper(counts, rate, 8));
    let rest = (1.0 - below).next_down();
    if rest > 0.5 {
        return ln(rest).lower();
    }
    let (n, s) = (counts.trials() as f64, counts.successes() as f64);
    let centre = ((s / n).min((s + 1.0) / (n + 2.0))) * (1.0 - 1e-15);
    if counts.trials() > 0 && rate.get() <= centre {
        return -std::f64::consts::LN_2.next_up();
    }
    lower_sum(counts, rate)
}

/// `ln` of the first term: `P(Bin(n+1, p) = s+1)`.
fn first_term(counts: Counts, rate: Rate) -> Ball {
    let criterion = log_uniform_mixture(counts) - deviance(counts, rate);
    criterion + log_rate(rate.p) - ln(counts.successes() as f64 + 1.0)
}

/// An upper bound of the sum of the terms over the first; `None` if the terms do not decrease yet.
fn upper_sum(counts: Counts, rate: Rate, terms: u32) -> Option<Ball> {
    let odds = up(up(rate.p.hi.next_up() / rate.q.hi.next_down()));
    let (s, f) = (counts.successes() as f64, counts.failures() as f64);
    let ratio = |j: f64| up(up((f - j) / (s + 2.0 + j)) * odds);
    let (mut sum, mut term, mut j) = (1.0, 1.0, 0.0);
    if f > 0.0 && ratio(0.0) >= 1.0 {
        return None;
    }
    while j < f64::from(terms) && j < f {
        let r = ratio(j);
        let rest = term * r / (1.0 - r);
        if rest < sum * 1e-15 {
            break;
        }
        term = up(term * r);
        sum = up(sum + term);
        j += 1.0;
    }
    let r = if j < f { ratio(j) } else { 0.0 };
    Some(Ball::exact(up(up(sum) + up(up(term * r) / (1.0 - r).next_down()))))
}

/// A lower bound of `ln P(theta > p) = ln P(Bin(n+1, p) <= s)` from its largest terms.
fn lower_sum(counts: Counts, rate: Rate) -> f64 {
    let (s, f) = (counts.successes() as f64, counts.failures() as f64);
    // P(Bin(n+1, p) = s) = exp(L) q/(f+1), and each term down is k/(n+2-k) q/p of the last.
    let criterion = log_uniform_mixture(counts) - deviance(counts, rate);
    let first = criterion + log_rate(rate.q) - ln(f + 1.0);
    let odds = (rate.q.hi.next_down() / rate.p.hi.next_up()).next_down();
    let (mut sum, mut term, mut j) = (1.0f64, 1.0f64, 0.0);
    while j < 1000.0 && j < s && term > sum * 1e-12 && sum < 1e300 {
        term = (term * down((s - j) / (f + 2.0 + j)) * odds) * (1.0 - 1e-15);
        sum = down(sum + term);
        j += 1.0;
    }
    (first + ln(sum)).lower().min(0.0)
}

/// Slightly more than a positive value: above the true result of one operation.
fn up(x: f64) -> f64 {
    x * (1.0 + f64::EPSILON) + f64::MIN_POSITIVE
}

/// Slightly less than a positive value.
fn down(x: f64) -> f64 {
    (x * (1.0 - f64::EPSILON) - f64::MIN_POSITIVE).max(0.0)
}

#[cfg(test)]
#[allow(clippy::excessive_precision, reason = "the values as published")]
mod tests {
    use super::*;

    #[test]
    fn tails_are_bounded_from_above_and_closely() {
        // Successes, failures and a rate, with the tail of Beta(s + 1, f + 1) below it.
        let cases: [(u64, u64, f64, f64); 3] = [
            (4, 4, 0.001, 1.2558053968507e-13),
            (99, 999_999, 1e-5, 5.42516638147919e-63),
            (9_999, 0, 0.999, 4.51733459770482e-5),
        ];
        for (s, f, rate, exact) in cases {
            let counts = Counts::new(s + f, s).unwrap();
            let ours = log_below_upper(counts, Rate::new(rate).unwrap(), 20_000);
            let within = exact.ln() - 1e-12..=exact.ln() + 1e-10;
            assert!(within.contains(&ours), "{s} {f} below {rate}: {}", ours.exp());
        }
    }
}
