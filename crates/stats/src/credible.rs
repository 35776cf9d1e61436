//! Credible intervals: the posterior of the rate if all rates were equally likely a priori.
//!
//! # Contract
//! Both ends err outwards. A credible interval is about a posterior, at one moment: it is *not* covered over many looks
//! as a confidence sequence is, and reports label it so.
//! # Why it holds
//! The bound on the Beta's tail is never too small, and an end is rejected only if it is certainly improbable; the
//! search strategy does not affect that.
//! # Evidence
//! tests/truth_credible.rs: 60 references and the published cases.
//! # Sources
//! Khuong, the confidence sequence method's companion interval; DLMF 8.17.

use crate::mass::log_below_upper;
use crate::rate::{Counts, MaxError, Rate};

/// Terms of the tail's series: enough for counts of a million at common error bounds.
const TERMS: u32 = 20_000;

/// The central credible interval of the rate under a uniform prior: Beta(s + 1, f + 1), half of `max_error` outside at
/// either end.
///
/// ```
/// use uncontended_stats::{Counts, MaxError, credible};
/// let (low, high) = credible::interval(Counts::new(4000, 3972)?, MaxError::new(0.002)?);
/// assert!(low > 0.98 && high < 0.997);
/// # Ok::<(), uncontended_stats::Invalid>(())
/// ```
#[must_use]
pub fn interval(counts: Counts, max_error: MaxError) -> (f64, f64) {
    let tail = max_error.split(2);
    let above = quantile_of(counts.complement(), tail);
    (quantile_of(counts, tail), (1.0 - above).next_up().min(1.0))
}

/// A value whose lower tail is certainly at most `tail`, within 1e-13 of the largest such.
fn quantile_of(counts: Counts, tail: MaxError) -> f64 {
    // Not above zero: certainly improbable.
    let excess = |x: f64, terms: u32| {
        Rate::new(x).map_or(f64::INFINITY, |x| log_below_upper(counts, x, terms) - tail.log())
    };
    // A rough lower end by bisection over the doubles, with few terms; then refined by false position, where an end
    // that stays has its value halved (Illinois).
    let (mut low, mut high) = (0u64, 1.0f64.to_bits());
    while high - low > 1 << 32 {
        let middle = low + (high - low) / 2;
        if excess(f64::from_bits(middle), 8) <= 0.0 { low = middle } else { high = middle }
    }
    let (mut low, mut high) = (f64::from_bits(low), 1.0);
    let (mut below, mut above) = (excess(low.max(f64::MIN_POSITIVE), TERMS), -tail.log());
    for _ in 0..100 {
        let guess = low + (high - low) * (below / (below - above)).clamp(0.001, 0.999);
        if high - low <= 1e-13 * low || !(low < guess && guess < high) {
            break;
        }
        let at = excess(guess, TERMS);
        if at <= 0.0 {
            (low, below, above) = (guess, at, above / 2.0);
        } else {
            (high, above, below) = (guess, at, below / 2.0);
        }
    }
    low
}
