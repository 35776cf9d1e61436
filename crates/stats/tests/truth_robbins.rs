//! The criterion against published cases, 600 references, and exact integers.

#![allow(clippy::excessive_precision)] // The values as published.

mod common;

use common::field;
use uncontended_stats::{Counts, MaxError, Rate, robbins};

fn criterion(n: u64, p: f64, s: u64) -> f64 {
    robbins::log_criterion(Counts::new(n, s).unwrap(), Rate::new(p).unwrap())
}

/// A double written as C's `%a` does.
fn hexadecimal(text: &str) -> f64 {
    let (mantissa, exponent) = text.trim_start_matches("0x").split_once('p').unwrap();
    let (whole, digits) = mantissa.split_once('.').unwrap();
    let bits = u64::from_str_radix(&format!("{whole}{digits}"), 16).unwrap();
    // In two steps, so that a subnormal result is rounded only once.
    let exponent = exponent.parse::<i32>().unwrap() - 4 * digits.len() as i32;
    bits as f64 * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2)
}

#[test]
fn no_reference_is_undercut_and_the_slack_is_tiny() {
    let (mut worst, mut cases) = (0.0f64, 0);
    for line in include_str!("data/robbins_log.jsonl").lines() {
        let (n, s) = (field(line, "n").parse().unwrap(), field(line, "s").parse().unwrap());
        let truth: f64 = field(line, "L").parse().unwrap();
        let ours = criterion(n, hexadecimal(field(line, "p")), s);
        // The reference's nearest double may be half an ulp above the reference.
        assert!(ours >= truth.next_down(), "{line}: {ours}");
        worst = worst.max((ours - truth) / truth.abs().max(1.0));
        cases += 1;
    }
    println!("{cases} references, worst slack {worst:.2e}");
    assert!(cases == 600 && worst <= 1e-12);
}

/// Cases 1 to 13 and 25 to 29: n, p, s, the exact value. (Case 10 is often quoted with a wrong sixth decimal.)
const CASES: [(u64, f64, u64, f64); 23] = [
    (1, 0.5, 0, 0.0),
    (1, 0.5, 1, 0.0),
    (100, 0.9, 98, -1.808237348051071),
    (1_000_000_000, 0.99, 990_000_000, 11.750304638855154),
    (10_000, 0.01, 50, -9.132361654429957),
    (10, 0.05, 1, 1.2431084427504705),
    (100_000, 0.05, 100, -4624.756746690990),
    (1_000_000, 0.99, 990_596, -9.977077202007390),
    (1_000_000, 0.99, 990_597, -10.039130012876934),
    (10, 0.98, 10, 2.195868199623176),
    (100, 0.98, 100, 2.594849785089313),
    (1000, 0.98, 995, -3.011784410050829),
    (2000, 0.98, 1984, -4.190713426433141),
    (4000, 0.98, 3972, -17.238568532412956),
    (1_000_000_000_000_000, 0.5, 500_000_000_000_000, 17.043596844810616),
    (1_000_000_000_000_000, 0.5, 500_000_100_000_000, -2.9564031551894974),
    (1_000_000_000_000_000, 0.99, 990_000_000_000_000, 18.658059925171459),
    (10, 5e-324, 1, -739.73959155558885),
    (1_000_000, 1e-300, 3, -2018.8563029320151),
    (1_000_000_000_000_000, 1e-15, 0, 33.538776394910686),
    (
        1_000_000_000_000_000,
        1.0 - 1.0 / 9_007_199_254_740_992.0,
        1_000_000_000_000_000,
        34.427754092448171,
    ),
    ((1 << 53) - 1, 0.5, 1 << 52, 18.142608932193823),
    (1 << 53, 0.5, 1 << 52, 18.142608932193823),
];

#[test]
fn the_published_cases_hold_with_their_direction() {
    for (n, p, s, exact) in CASES {
        let ours = criterion(n, p, s);
        let scale = exact.abs().max(1.0);
        assert!(
            ours >= exact - 4e-15 * scale && ours <= exact + 1e-12 * scale,
            "L({n},{p},{s}) = {ours}, not {exact}"
        );
    }
    assert!(
        (0.0..=1e-15).contains(&criterion(1, 0.5, 0))
            && (0.0..=1e-15).contains(&criterion(1, 0.5, 1))
    );
}

#[test]
fn the_published_decisions_fall_on_the_right_side() {
    let stops = |n, p, s, e: f64| criterion(n, p, s) <= MaxError::new(e).unwrap().log();
    assert!(stops(100, 0.9, 98, 0.2) && !stops(100, 0.9, 98, 1e-5));
    assert!(stops(10_000, 0.01, 50, 1e-3) && !stops(10_000, 0.01, 50, 1e-9));
    assert!(
        criterion(1_000_000, 0.99, 990_596) > -10.0 && criterion(1_000_000, 0.99, 990_597) <= -10.0
    );
    assert!(!stops(2000, 0.98, 1984, 1e-3) && stops(4000, 0.98, 3972, 1e-3));
    let first = |p: f64, e: f64| (1..).find(|&n| stops(n, p, n, e)).unwrap();
    let fewest =
        [(0.9, 0.001, 111), (0.98, 0.001, 664), (0.99, 0.001, 1409), (0.999, 0.001, 16_618)];
    for (p, e, n) in fewest {
        assert_eq!(first(p, e), n, "p = {p}");
    }
    assert!(!stops(262_938, 0.9999, 262_938, 1e-6) && stops(262_939, 0.9999, 262_939, 1e-6));
    // Resampling without any success: p < 1 % at a third of 1e-9.
    assert_eq!((1..).find(|&n| stops(n, 0.01, 0, 1e-9 / 3.0)), Some(2967));
}

/// Cases 14 to 16, and exact integers.
#[test]
fn binomial_coefficients_are_bounded_from_above_and_closely() {
    let choose = |n, s| robbins::log_choose(Counts::new(n, s).unwrap());
    let published = [
        (4, 2, 1.791759469228055),
        (10, 5, 5.529429087511423),
        (1000, 500, 689.46726156785118),
        (1000, 5, 29.741269618706545),
        (10_000, 100, 556.79801167547072),
        (10_000, 8000, 4999.41637364456054),
    ];
    for (n, s, exact) in published {
        let ours = choose(n, s);
        assert!(
            ours >= exact - 2e-16 * exact && ours <= exact + 1e-12 * exact,
            "C({n},{s}) {ours}"
        );
    }
    for n in 1..=60_u64 {
        let mut exact = 1_u128;
        for s in 0..=n {
            assert!(choose(n, s) >= (exact as f64).ln() * (1.0 - 4e-16), "C({n},{s})");
            assert!(choose(n, s) <= (exact as f64).ln() * (1.0 + 1e-14) + 1e-14, "C({n},{s})");
            exact = exact * u128::from(n - s) / u128::from(s + 1);
        }
    }
}
