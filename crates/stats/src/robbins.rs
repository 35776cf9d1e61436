//! Robbins' criterion, the confidence sequence method.
//!
//! # Contract
//! [`log_criterion`] is never below `ln((n+1) C(n,s) p^s (1-p)^(n-s))`, and above it by at most 1e-9 max(1, |L|) up to
//! n = 10^12 and 1e-6 max(1, |L|) up to 2^53 (in fact by some 1e-13). Looking after every trial and stopping once it is
//! at most `ln epsilon` is wrong about the side of `p` with a chance of at most epsilon, over all looks together.
//! # Why it holds
//! `L = ln((n+1)^2 n / (2 pi s f))/2 + excess(n) - excess(s) - excess(f) - deviance`: four small terms and one that is
//! not negative, so no digits cancel however large n is. The reciprocal of the criterion is the likelihood ratio
//! of the uniform mixture against p, an e-process, and Ville's inequality bounds its chance of ever reaching 1/epsilon.
//! # Evidence
//! tests/truth_robbins.rs: published cases, 600 references, random cases against exact integers.
//! `cargo run --release --manifest-path compare/Cargo.toml -- robbins`: millions of cases against Arb.
//! # Sources
//! Robbins 1970; Ding, Gandy and Hahn, arXiv 1611.01675; Loader 2000; Khuong's csm for the demand of one-sided
//! rounding.

use crate::ball::{Ball, U};
use crate::deviance::deviance;
use crate::ln::{ln, ln_ball};
use crate::rate::{Counts, Rate};
use crate::stirling::excess;

/// 2 pi; the double is below it by 2.4e-16.
const TAU: Ball = Ball { mid: std::f64::consts::TAU, err: 4e-16 };

/// An upper bound of the logarithm of the left side of Robbins' criterion.
///
/// ```
/// use uncontended_stats::{Counts, Rate, robbins};
/// let counts = Counts::new(1_000_000, 990_597)?;
/// assert!(robbins::log_criterion(counts, Rate::new(0.99)?) <= -10.0);
/// # Ok::<(), uncontended_stats::Invalid>(())
/// ```
#[must_use]
pub fn log_criterion(counts: Counts, rate: Rate) -> f64 {
    (log_uniform_mixture(counts) - deviance(counts, rate)).upper()
}

/// `ln((n+1) C(n,s) (s/n)^s (f/n)^f)`: the price that the uniform mixture pays for not knowing the rate.
pub(crate) fn log_uniform_mixture(counts: Counts) -> Ball {
    let (n, s, f) = (counts.trials(), counts.successes(), counts.failures());
    let up = Ball::count(n + 1);
    if s == 0 || f == 0 {
        return ln(up.mid) + Ball { mid: 0.0, err: up.err / up.mid };
    }
    let (n_, s_, f_) = (n as f64, s as f64, f as f64);
    // (n+1) ((n+1) / s) (n / f) / (2 pi): no part overflows, and none is subnormal.
    let inside = up * (up / s_) * (Ball::exact(n_) / f_) / TAU;
    ln_ball(inside) * 0.5 + (excess(n) - excess(s) - excess(f))
}

/// An upper bound of `ln C(n, s)`, for `s <= n`.
#[must_use]
pub fn log_choose(counts: Counts) -> f64 {
    let (n, s, f) = (counts.trials(), counts.successes(), counts.failures());
    if s == 0 || f == 0 {
        return 0.0;
    }
    let (n, s, f) = (n as f64, s as f64, f as f64);
    let entropy = ln_ball(Ball::exact(n) / s) * s + ln_ball(Ball::exact(n) / f) * f;
    let up = Ball::count(counts.trials() + 1);
    let shift = log_uniform_mixture(counts) - ln(up.mid);
    let bound = entropy + shift;
    (Ball { mid: bound.mid, err: bound.err + U }).upper()
}
