//! Credible intervals against 60 references and the published cases: always outwards, and by almost nothing.

#![allow(clippy::excessive_precision)] // The values as published.

mod common;

use common::field;
use uncontended_stats::{Counts, MaxError, credible};

/// The lower end of the interval with a tail of Beta(a, b) below it.
fn quantile(a: u64, b: u64, tail: f64) -> f64 {
    let posterior = Counts::new(a + b - 2, a - 1).unwrap();
    credible::interval(posterior, MaxError::new(2.0 * tail).unwrap()).0
}

#[test]
fn no_reference_is_cut_into() {
    let mut worst = 0.0f64;
    for line in include_str!("data/beta_tails.jsonl").lines() {
        let (a, b) = (field(line, "a").parse().unwrap(), field(line, "b").parse().unwrap());
        let tail = field(line, "tail").parse().unwrap();
        let exact: f64 = field(line, "low").parse().unwrap();
        let exact_high: f64 = field(line, "one_minus_high").parse().unwrap();
        for (ours, exact) in [(quantile(a, b, tail), exact), (quantile(b, a, tail), exact_high)] {
            assert!(ours <= exact, "{line}: {ours} cuts into {exact}");
            worst = worst.max((exact - ours) / exact);
        }
    }
    println!("worst outward error {worst:.1e}");
    assert!(worst <= 1e-11);
}

#[test]
fn the_published_intervals_hold() {
    // a, b, tail, low, high: both ends exact to the digits given.
    let cases = [
        (5, 5, 0.01, 0.170_965_105_482_459_06, 0.829_034_894_517_540_94),
        (10_000, 10, 1e-4, 0.997_385_303_415_15, 0.999_780_364_823_33),
        (100, 1_000_000, 1e-8, 5.361_735_698_508_84e-5, 1.666_077_240_191_56e-4),
        (3972, 28, 0.001, 0.988_219_351_468_655_7, 0.996_383_266_042_268_04),
        (2, 100, 2.5e-10, 2.224_987_134_249_88e-7, 0.223_213_143_108_1),
    ];
    for (a, b, tail, low, high) in cases {
        let (ours_low, above) = (quantile(a, b, tail), quantile(b, a, tail));
        assert!(
            ours_low <= low * (1.0 + 1e-13) && ours_low >= low * (1.0 - 1e-11),
            "Beta({a},{b}) low {ours_low}"
        );
        assert!(
            (above - (1.0 - high)).abs() <= 1e-8 * (1.0 - high),
            "Beta({a},{b}) high {}",
            1.0 - above
        );
    }
}

#[test]
fn an_interval_contains_the_posterior_mean() {
    for (n, s) in [(0, 0), (1, 0), (1, 1), (40, 3), (1_000_000, 999_999)] {
        let (low, high) =
            credible::interval(Counts::new(n, s).unwrap(), MaxError::new(0.01).unwrap());
        let mean = (s as f64 + 1.0) / (n as f64 + 2.0);
        assert!(0.0 < low && low < mean && mean < high && high < 1.0, "{s}/{n}: {low} {high}");
    }
}
