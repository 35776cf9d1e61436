//! Shared by the tests: short names, the length of simulations, references as JSON lines, and judging a chance with the
//! engine itself.
#![allow(dead_code, reason = "every test file uses its own part")]

use uncontended_stats::{Counts, MaxError, Prior, Rate};

pub(crate) fn rate(p: f64) -> Rate {
    Rate::new(p).unwrap()
}

pub(crate) fn error(e: f64) -> MaxError {
    MaxError::new(e).unwrap()
}

pub(crate) fn counts(n: u64, s: u64) -> Counts {
    Counts::new(n, s).unwrap()
}

/// The chance of `k` or more successes in `n`, at a rate of `p` each.
pub(crate) fn chance_of_at_least(n: u64, k: u64, p: f64) -> f64 {
    let mut log = n as f64 * (1.0 - p).ln();
    let mut below = 0.0;
    for i in 0..k.min(n + 1) {
        below += log.exp();
        log += ((n - i) as f64 / (i + 1) as f64).ln() + (p / (1.0 - p)).ln();
    }
    if k > n { 0.0 } else { (1.0 - below).max(0.0) }
}

/// The smallest count in `n` that a chance of `bound` gives in at most one of ten thousand cases.
pub(crate) fn objects_from(n: u64, bound: f64) -> u64 {
    (0..=n + 1).find(|&k| chance_of_at_least(n, k, bound) <= 1e-4).unwrap()
}

/// Asserts that a chance seen `k` times in `n`, fixed beforehand, may be at most `bound`, and that this many
/// trials find out a chance of three times that.
pub(crate) fn assert_at_most(what: &str, n: u64, k: u64, bound: f64) {
    assert_can_fail(n, bound);
    let (low, high) = Prior::Jeffreys.price(counts(n, k)).interval(error(1e-4));
    let objects = objects_from(n, bound);
    println!(
        "{what}: {k} in {n}, within {low:.5}..{high:.5}, bound {bound}, refused from {objects} on"
    );
    assert!(k < objects, "{what}: {k} of {n}, and {bound} was promised");
}

/// Asserts that `n` trials detect a true chance of 15 % where 5 % is promised in 99 of 100 cases, and so on in
/// proportion.
fn assert_can_fail(n: u64, bound: f64) {
    let caught = chance_of_at_least(n, objects_from(n, bound), 3.0 * bound);
    assert!(
        caught >= 0.99,
        "{n} trials find out three times {bound} with a chance of {caught} only"
    );
}

/// The value of a string field, or the digits of a number field, of one line of JSON.
pub(crate) fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let key = format!("\"{name}\": ");
    let rest = &line[line.find(&key).expect("the field is there") + key.len()..];
    rest[..rest.find([',', '}']).unwrap()].trim_matches('"')
}
