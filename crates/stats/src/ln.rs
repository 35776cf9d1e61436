//! Natural logarithm and exponential with proven error bounds, using only the four basic operations.
//!
//! # Contract
//! `ln` of a positive double is within a relative error of 4 units of roundoff; exactly zero at 1.
//! `exp_upper` is never below the true value, and at most 1e-13 above it, relatively, from -700 on.
//! The platform's math library is never called, so any two machines agree.
//! # Why it holds
//! x = 2^k m with m in [0.707, 1.415), f = m - 1 exactly, s = f / (2 + f), ln m = f - s (f - R) with
//! R = 2 (s^2/3 + s^4/5 + ...). Left out of R is less than 2^-60 R. s (f - R) carries at most 6 U of itself and is at
//! most 0.21 of |ln m|, so that ln m is within 2.3 U. For k /= 0 the high part of k ln 2 is exact, its low part is
//! within U of itself, and |k ln 2 + ln m| >= |ln m|: two more roundings make 4 U at most.
//! # Evidence
//! tests/truth_robbins.rs; `cargo run --manifest-path compare/Cargo.toml -- robbins` against Arb.
//! # Sources
//! The shape of the reduction: Tang 1990; the split of ln 2: Cody and Waite 1980.

use crate::ball::{Ball, U};

/// ln 2, its first 33 bits, so that it times an exponent is exact.
const LN2_HI: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
/// The rest of ln 2.
const LN2_LO: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
/// Claimed relative error of `ln`, in units of roundoff.
const LN_ULPS: f64 = 4.0;

/// The logarithm of a positive, finite double as a ball.
pub(crate) fn ln(x: f64) -> Ball {
    debug_assert!(x > 0.0 && x < f64::INFINITY);
    let (m, k) = normalise(x);
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * odd_series(z);
    let low = s * (f - r);
    let mid = if k == 0.0 { f - low } else { k * LN2_HI + (f - (low - k * LN2_LO)) };
    Ball::new(mid, mid.abs() * (LN_ULPS * U))
}

/// The logarithm of a positive ball; a ball that reaches zero has no lower bound.
pub(crate) fn ln_ball(x: Ball) -> Ball {
    let room = x.mid - x.err;
    if room <= 0.0 {
        return Ball { mid: 0.0, err: f64::INFINITY };
    }
    let at = ln(x.mid);
    Ball::new(at.mid, at.err + x.err / (room * (1.0 - 4.0 * U)))
}

/// `x = 2^k m`, m in [0.707, 1.415).
fn normalise(x: f64) -> (f64, f64) {
    let (scaled, shift) =
        if x < f64::MIN_POSITIVE { (x * (1u64 << 54) as f64, 54) } else { (x, 0) };
    let bits = scaled.to_bits();
    // Adding the distance from the mantissa of sqrt(1/2) to that of 1 carries into the exponent from there on.
    let carried = bits + (0x3ff0_0000_0000_0000 - 0x3fe6_a09e_667f_3bcd);
    let k = (carried >> 52) as i64 - 1023;
    let m = f64::from_bits(bits.wrapping_sub((k as u64) << 52));
    (m, (k - shift) as f64)
}

/// 2 (1/3 + z/5 + z^2/7 + ...) for z up to 0.0295.
fn odd_series(z: f64) -> f64 {
    const C: [f64; 11] = [
        2.0 / 3.0,
        2.0 / 5.0,
        2.0 / 7.0,
        2.0 / 9.0,
        2.0 / 11.0,
        2.0 / 13.0,
        2.0 / 15.0,
        2.0 / 17.0,
        2.0 / 19.0,
        2.0 / 21.0,
        2.0 / 23.0,
    ];
    C.iter().rev().fold(0.0, |sum, c| sum * z + c)
}

/// An upper bound of e^x, at most 1 for `x <= 0`.
pub(crate) fn exp_upper(x: f64) -> f64 {
    if x < -700.0 {
        return 1e-303; // e^-700 is 9.9e-305.
    }
    if x > 709.0 {
        return f64::INFINITY;
    }
    let k = (x * std::f64::consts::LOG2_E).round();
    // |r| < 0.35, in error by less than 1e-15.
    let r = (x - k * LN2_HI) - k * LN2_LO;
    // Fourteen terms leave out less than 1e-18; rounding and r's error make less than 1e-14.
    const RECIPROCALS: [f64; 14] = {
        let mut table = [0.0; 14];
        let mut i = 0;
        while i < 14 {
            table[i] = 1.0 / (i + 1) as f64;
            i += 1;
        }
        table
    };
    let series = RECIPROCALS.iter().rev().fold(1.0, |sum, c| 1.0 + sum * (r * c));
    let power = f64::from_bits(((1023 + k as i64) as u64) << 52);
    let up = series * power * (1.0 + 5e-14);
    if x <= 0.0 { up.min(1.0) } else { up }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The library's own `ln` is within an ulp almost everywhere: far closer than a wrong reduction would be.
    #[test]
    fn ln_agrees_with_the_platform_within_the_claim() {
        let mut x: f64 = 5e-324;
        while x < 1e308 {
            for y in [x, x.next_up(), x.next_down().max(5e-324), x * 1.37] {
                let ours = ln(y);
                let theirs = y.ln();
                assert!((ours.mid - theirs).abs() <= ours.err + theirs.abs() * 2.0 * U, "ln {y:e}");
            }
            x *= 1.000_9 + x.fract();
            if x < 1e-300 {
                x *= 3.0;
            }
        }
        assert_eq!(ln(1.0).mid, 0.0);
        assert!(ln(1.0f64.next_up()).mid > 0.0 && ln(1.0f64.next_down()).mid < 0.0);
    }

    #[test]
    fn exp_is_above_and_close() {
        for i in 0..200_000 {
            let x = -705.0 + f64::from(i) * 0.007;
            let (ours, theirs) = (exp_upper(x), x.exp());
            let close = x < -700.0 || ours <= theirs * (1.0 + 1e-12);
            assert!(ours >= theirs * (1.0 - 1e-15) && close, "exp {x}");
        }
        assert_eq!(exp_upper(0.0), 1.0);
    }
}
