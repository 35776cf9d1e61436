//! Shared by the tests: short names, and references as JSON lines.
#![allow(dead_code, reason = "every test file uses its own part")]

use uncontended_stats::{Counts, MaxError, Rate};
#[allow(unused_imports, reason = "every test file uses its own part")]
pub(crate) use uncontended_testkit::chance::assert_at_most;

pub(crate) fn rate(p: f64) -> Rate {
    Rate::new(p).unwrap()
}

pub(crate) fn error(e: f64) -> MaxError {
    MaxError::new(e).unwrap()
}

pub(crate) fn counts(n: u64, s: u64) -> Counts {
    Counts::new(n, s).unwrap()
}

/// The value of a string field, or the digits of a number field, of one line of JSON.
pub(crate) fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let key = format!("\"{name}\": ");
    let rest = &line[line.find(&key).expect("the field is there") + key.len()..];
    rest[..rest.find([',', '}']).unwrap()].trim_matches('"')
}
