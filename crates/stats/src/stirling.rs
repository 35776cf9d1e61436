//! The error of Stirling's formula for the logarithm of a factorial.
//!
//! # Contract
//! `excess(n) = ln n! - ln(sqrt(2 pi n) (n/e)^n)` and `half_excess(n) = ln Gamma(n + 1/2) - (n ln n - n + ln(2 pi)/2)`
//! as balls, for counts up to 2^53 and slightly beyond.
//! # Why it holds
//! Both series are enveloping: the remainder has the sign of the first omitted term and is smaller. Below 16 the value
//! comes from a table that is correct to half a unit in the last place.
//! # Evidence
//! tests/truth_robbins.rs.
//! # Sources
//! Loader, Fast and Accurate Computation of Binomial Probabilities, 2000; Whittaker and Watson, 12.33.

use crate::ball::{Ball, U};

/// excess(n) for n = 1..16; the entry for 0 is unused.
const EXCESS: [f64; 16] = [
    0.0,
    0.08106146679532726,
    0.0413406959554093,
    0.02767792568499834,
    0.020790672103765093,
    0.016644691189821193,
    0.013876128823070748,
    0.01189670994589177,
    0.010411265261972096,
    0.009255462182712733,
    0.00833056343336287,
    0.007573675487951841,
    0.00694284010720953,
    0.006408994188004207,
    0.0059513701127588475,
    0.005554733551962801,
];
/// half_excess(n) for n = 0..16.
const HALF_EXCESS: [f64; 16] = [
    -0.34657359027997264,
    -0.039720770839917964,
    -0.0205500238516442,
    -0.013801796861927592,
    -0.010379406841792997,
    -0.00831412775645832,
    -0.0069332887158612185,
    -0.005945339833132922,
    -0.005203609342362456,
    -0.004626308433378704,
    -0.004164243741365948,
    -0.003786057419507406,
    -0.003470818724230763,
    -0.003204023959949169,
    -0.0029753061292084387,
    -0.002777058622210108,
];

/// `ln n! - ln(sqrt(2 pi n) (n/e)^n)`, n >= 1.
pub(crate) fn excess(n: u64) -> Ball {
    if n < 16 {
        let mid = EXCESS[n as usize];
        return Ball::new(mid, mid * U);
    }
    let x = n as f64;
    bounded(excess_real(x), 1.0 / (x * x), x, 691.0 / 360_360.0)
}

/// The series of `excess` at a real number of at least 16.
fn excess_real(x: f64) -> f64 {
    let w = 1.0 / (x * x);
    let series =
        1.0 / 12.0 - w * (1.0 / 360.0 - w * (1.0 / 1260.0 - w * (1.0 / 1680.0 - w / 1188.0)));
    series / x
}

/// `ln Gamma(n + 1/2) - (n ln n - n + ln(2 pi)/2)`; negative, -ln(2)/2 at 0.
pub(crate) fn half_excess(n: u64) -> Ball {
    if n < 16 {
        let mid = HALF_EXCESS[n as usize];
        return Ball::new(mid, mid.abs() * U);
    }
    let x = n as f64;
    let w = 1.0 / (x * x);
    // Term j is (2^(1-2j) - 1) times that of `excess`.
    let series = 1.0 / 24.0
        - w * (7.0 / 2880.0
            - w * (31.0 / 40_320.0 - w * (127.0 / 215_040.0 - w * (511.0 / 608_256.0))));
    bounded(-series / x, w, x, 691.0 / 360_360.0)
}

/// The ball of a series whose first omitted term is `next` w^5 / x. Its rounding stays below 6 U: the leading term is
/// rounded five times, and the others are less than a thousandth of it.
fn bounded(mid: f64, w: f64, x: f64, next: f64) -> Ball {
    let w2 = w * w;
    Ball::new(mid, mid.abs() * (6.0 * U) + next * (w2 * w2 * w) / x * (1.0 + 16.0 * U))
}
