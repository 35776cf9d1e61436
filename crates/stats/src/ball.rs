//! Ball arithmetic: a double with a bound on its distance from the true value.
//!
//! # Contract
//! Every operation on balls that contain the true operands returns a ball that contains the true result. It uses only
//! the five correctly rounded IEEE operations, so every machine computes the same bits.
//! # Invariants
//! I1: `|true - mid| <= err`, `err >= 0`.
//! I2: rounding one IEEE operation changes a normal result by at most `U` times itself, and an underflowing one by less
//!     than `TINY`.
//! I3: `err` is a sum of at most eight nonnegative rounded terms, so `GROW` covers its own rounding.
//! # Evidence
//! tests/truth_robbins.rs checks what is built on this against exact integer arithmetic; compare/ against Arb.
//! # Sources
//! Higham, Accuracy and Stability of Numerical Algorithms, sections 2.2 and 3.3 (running error analysis).

use std::ops::{Add, Div, Mul, Neg, Sub};

/// Unit roundoff of a double.
pub(crate) const U: f64 = f64::EPSILON / 2.0;
/// More than any error of an underflowing operation.
const TINY: f64 = f64::MIN_POSITIVE;
/// Covers the rounding of the error terms themselves (I3).
const GROW: f64 = 1.0 + 16.0 * U;

/// A value known to be within `err` of `mid`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ball {
    pub(crate) mid: f64,
    pub(crate) err: f64,
}

impl Ball {
    /// The ball around `mid` with radius `err`, rounded up a little.
    pub(crate) fn new(mid: f64, err: f64) -> Ball {
        debug_assert!(err >= 0.0 || err.is_nan(), "I1: {mid} with {err}");
        Ball { mid, err: err * GROW }
    }

    /// A double that is exact.
    pub(crate) const fn exact(mid: f64) -> Ball {
        Ball { mid, err: 0.0 }
    }

    /// A count, which above 2^53 may not be a double.
    pub(crate) fn count(count: u64) -> Ball {
        let mid = count as f64;
        if count <= 1 << 53 { Ball::exact(mid) } else { Ball::new(mid, mid * U) }
    }

    /// A double not below the true value.
    pub(crate) fn upper(self) -> f64 {
        if self.err == 0.0 { self.mid } else { (self.mid + self.err).next_up() }
    }

    /// A double not above the true value.
    pub(crate) fn lower(self) -> f64 {
        if self.err == 0.0 { self.mid } else { (self.mid - self.err).next_down() }
    }
}

impl From<f64> for Ball {
    fn from(mid: f64) -> Ball {
        Ball::exact(mid)
    }
}

impl Neg for Ball {
    type Output = Ball;
    fn neg(self) -> Ball {
        Ball { mid: -self.mid, err: self.err }
    }
}

impl<T: Into<Ball>> Add<T> for Ball {
    type Output = Ball;
    fn add(self, other: T) -> Ball {
        let other = other.into();
        let mid = self.mid + other.mid;
        Ball::new(mid, self.err + other.err + mid.abs() * U)
    }
}

impl<T: Into<Ball>> Sub<T> for Ball {
    type Output = Ball;
    fn sub(self, other: T) -> Ball {
        self + -other.into()
    }
}

impl<T: Into<Ball>> Mul<T> for Ball {
    type Output = Ball;
    fn mul(self, other: T) -> Ball {
        let other = other.into();
        let mid = self.mid * other.mid;
        let spread = self.mid.abs() * other.err + self.err * (other.mid.abs() + other.err);
        Ball::new(mid, spread + mid.abs() * U + TINY)
    }
}

impl<T: Into<Ball>> Div<T> for Ball {
    type Output = Ball;
    /// The divisor's ball must not contain zero; if it does, the error is infinite or NaN, never too small.
    fn div(self, other: T) -> Ball {
        let other = other.into();
        let mid = self.mid / other.mid;
        let room = other.mid.abs() - other.err;
        if room <= 0.0 {
            return Ball { mid: 0.0, err: f64::INFINITY };
        }
        // |a/b| is at most |mid| (1 + U) + TINY, which the doubled U and the second TINY cover.
        let spread = (self.err + (mid.abs() + TINY) * other.err) / (room * (1.0 - 4.0 * U));
        Ball::new(mid, spread + mid.abs() * 2.0 * U + TINY)
    }
}

/// A number as the unevaluated sum of two doubles, `|lo| <= ulp(hi)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    pub(crate) hi: f64,
    pub(crate) lo: f64,
}

impl Pair {
    /// The exact sum of two doubles (Knuth).
    pub(crate) fn sum(a: f64, b: f64) -> Pair {
        let hi = a + b;
        let of_b = hi - a;
        let of_a = hi - of_b;
        Pair { hi, lo: (a - of_a) + (b - of_b) }
    }

    /// The product of two doubles (Dekker, with Veltkamp's split): exact unless the lower part underflows, and then
    /// wrong by less than 2^-1060. Both below 2^996.
    pub(crate) fn product(a: f64, b: f64) -> Pair {
        let (a1, a2) = split(a);
        let (b1, b2) = split(b);
        let hi = a * b;
        Pair { hi, lo: ((a1 * b1 - hi) + a1 * b2 + a2 * b1) + a2 * b2 }
    }
}

/// Two halves of 26 bits each whose sum is `a`.
fn split(a: f64) -> (f64, f64) {
    let c = 134_217_729.0 * a; // 2^27 + 1
    let high = c - (c - a);
    (high, a - high)
}
