//! The binomial deviance: how much less likely the counts are at a rate than at their own frequency.
//!
//! # Contract
//! `deviance(counts, p) = s ln(s/(np)) + f ln(f/(nq)) >= 0` as a ball, relative error a few units of roundoff, for
//! every rate and counts up to 2^53. It decreases in p up to s/n and increases after.
//! # Why it holds
//! Each half is computed as `x ln(x/M) - (x - M)`. Both are nonnegative, so they cannot cancel. The two differences
//! `s - np` and `f - nq` are one number with two signs, computed from an exact product. Near `x = M` a series in
//! `v = (x - M)/(x + M)` replaces the difference of near equals.
//! # Sources
//! Loader 2000.

use crate::ball::{Ball, Pair, U};
use crate::ln::{ln, ln_ball};
use crate::rate::{Counts, Rate};

/// 2^600.
const HUGE: f64 = f64::from_bits((1023 + 600) << 52);

/// `ln` of the likelihood at s/n over that at `rate`.
pub(crate) fn deviance(counts: Counts, rate: Rate) -> Ball {
    let (n, s, f) = (counts.trials() as f64, counts.successes(), counts.failures());
    match (s, f) {
        (0, 0) => Ball::exact(0.0),
        (0, _) => -(log_rate(rate.q) * n),
        (_, 0) => -(log_rate(rate.p) * n),
        _ => {
            let delta = distance(s as f64, n, rate.p);
            half(s as f64, n, rate.p, delta) + half(f as f64, n, rate.q, -delta)
        }
    }
}

/// The logarithm of a rate given as a pair: `ln hi + lo/hi`, the rest being below the square of the quotient.
pub(crate) fn log_rate(p: Pair) -> Ball {
    let at = ln(p.hi);
    if p.lo == 0.0 {
        return at;
    }
    let tail = Ball::exact(p.lo) / p.hi;
    let sum = at + tail;
    Ball::new(sum.mid, sum.err + tail.mid * tail.mid)
}

/// `n p` to a few units of roundoff.
fn mean(n: f64, p: Pair) -> Ball {
    let mid = n * p.hi;
    Ball::new(mid, mid * U + n * p.lo.abs())
}

/// `s - n p`, wrong by about the square of the roundoff times the mean.
fn distance(s: f64, n: f64, p: Pair) -> Ball {
    let product = Pair::product(n, p.hi);
    let low = product.lo + n * p.lo;
    let gap = Pair::sum(s, -product.hi);
    let rest = gap.lo - low;
    let mid = gap.hi + rest;
    // Roundings of: n lo, its sum, `rest`, `mid`; and what underflowed in the product, next to s >= 1.
    let err = U * (2.0 * (n * p.lo).abs() + low.abs() + rest.abs() + mid.abs()) + f64::MIN_POSITIVE;
    Ball::new(mid, err)
}

/// `x ln(x/np) - (x - np)`, where `delta = x - np`.
fn half(x: f64, n: f64, p: Pair, delta: Ball) -> Ball {
    if p.hi < 1.0 / HUGE {
        // Scaled up, so that neither the mean nor its error can underflow.
        let scaled = Ball::exact(p.hi * HUGE) * n;
        return (ln(x) - ln_ball(scaled) + ln(HUGE)) * x - delta;
    }
    let sum = -delta + 2.0 * x;
    if delta.mid.abs() < 0.1 * sum.mid {
        let v = delta / sum;
        let z = v * v;
        delta * v + v * series(z) * (2.0 * x)
    } else {
        ln_ball(Ball::exact(x) / mean(n, p)) * x - delta
    }
}

/// `z/3 + z^2/5 + z^3/7 + ...` for z up to 0.0101.
fn series(z: Ball) -> Ball {
    const C: [f64; 9] = [
        1.0 / 3.0,
        1.0 / 5.0,
        1.0 / 7.0,
        1.0 / 9.0,
        1.0 / 11.0,
        1.0 / 13.0,
        1.0 / 15.0,
        1.0 / 17.0,
        1.0 / 19.0,
    ];
    let x = z.mid;
    let mid = x * C.iter().rev().fold(0.0, |sum, c| sum * x + c);
    // Left out: less than x^9/(21 (1 - x)) of z. Rounding: below 4 U, as each term is under a hundredth of the one
    // before. A change of z changes the sum by at most 1.02 times as much, relatively.
    Ball::new(mid, mid * (4.0 * U + 1e-18) + 0.35 * z.err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviance_vanishes_at_the_observed_rate_and_grows_away_from_it() {
        let counts = Counts::new(1 << 40, 1 << 38).unwrap();
        let at = deviance(counts, Rate::new(0.25).unwrap());
        assert_eq!((at.mid, at.err < 1e-290), (0.0, true));
        let mut last = 0.0;
        for i in 1..1000 {
            let d = deviance(counts, Rate::new(0.25 + f64::from(i) * 7e-4).unwrap());
            assert!(d.lower() > last);
            last = d.upper();
        }
    }
}
