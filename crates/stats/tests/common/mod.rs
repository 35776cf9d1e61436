//! What the tests share: short names, the length of simulations, references as JSON lines, and the judgement of a chance by
//! the engine itself.
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

/// The number of runs of the test `name`, short by default and full under `UNC_DEPTH=full`, with a visible line.
pub(crate) fn depth(name: &str, short: u64, full: u64) -> u64 {
    let deep = std::env::var("UNC_DEPTH").is_ok_and(|depth| depth == "full");
    if deep {
        println!("{name}: full form, {full} runs");
        full
    } else {
        println!("{name}: short form, {short} runs; UNC_DEPTH=full takes {full}");
        short
    }
}

/// Asserts, by the confidence sequence itself, that a chance seen `k` times in `n` may be at most `bound`.
pub(crate) fn assert_at_most(what: &str, n: u64, k: u64, bound: f64) {
    let (low, high) = Prior::Jeffreys.price(counts(n, k)).interval(error(1e-4));
    println!("{what}: {k} in {n}, within {low:.5}..{high:.5}, bound {bound}");
    assert!(low <= bound, "{what}: the chance is above {low}, and {bound} was promised");
}

/// The value of a string field, or the digits of a number field, of one line of JSON.
pub(crate) fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let key = format!("\"{name}\": ");
    let rest = &line[line.find(&key).expect("the field is there") + key.len()..];
    rest[..rest.find([',', '}']).unwrap()].trim_matches('"')
}
