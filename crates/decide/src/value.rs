//! Values of flags that have a range of their own; [`uncontended_figures::read`] parses them.
//!
//! # Evidence
//! `tests/value.rs`, `fuzz/fuzz_targets/quantity.rs`.

use uncontended_figures::{Toward, read};

pub use uncontended_figures::read::percentile;
pub use uncontended_figures::{Dimension, Quantity};

/// Reads a duration above zero such as `500ms`, `10 s` or `2m`.
///
/// # Errors
/// What is wrong with the text.
pub fn duration(text: &str) -> Result<std::time::Duration, String> {
    read::time_limit(text)
}

/// Reads a rate or an error probability: strictly between 0 and 1.
///
/// # Errors
/// What is wrong with the text.
pub fn rate(text: &str) -> Result<f64, String> {
    match read::share(text)? {
        read if read > 0.0 && read < 1.0 => Ok(read),
        _ => {
            let meant = in_percent(text);
            Err(format!("'{text}' is outside (0, 1): it must be above 0 and below 1{meant}"))
        }
    }
}

/// What to write for a number above 1 that is a share in percent; nothing for another text.
fn in_percent(text: &str) -> String {
    match text.trim().parse::<f64>() {
        Ok(number) if number > 1.0 && number < 100.0 => {
            let number = text.trim();
            format!("; for {number} % write {number}%")
        }
        _ => String::new(),
    }
}

/// Reads a margin: at least 0 and below 1 (100 %).
///
/// # Errors
/// What is wrong with the text.
pub fn margin(text: &str) -> Result<f64, String> {
    match read::share(text)? {
        read if (0.0..1.0).contains(&read) => Ok(read),
        _ => {
            let meant = in_percent(text);
            Err(format!("'{text}' is not a margin: it must be at least 0 % and below 100 %{meant}"))
        }
    }
}

/// Reads a factor by which something may be longer: at least 1, at most a million.
///
/// # Errors
/// What is wrong with the text.
pub fn stretch(text: &str) -> Result<f64, String> {
    let read = read::number(text).ok().filter(|read| (1.0..=1e6).contains(read));
    read.ok_or_else(|| format!("'{text}' is not a number from 1 to 1000000"))
}

/// Reads a factor: a number above zero.
///
/// # Errors
/// What is wrong with the text.
pub fn factor(text: &str) -> Result<f64, String> {
    let read = read::number(text).ok().filter(|read| *read > 0.0 && read.is_finite());
    read.ok_or_else(|| format!("'{text}' is not a number above zero"))
}

/// The name of a dimension in a sentence.
#[deprecated(note = "use `Dimension::noun`")]
#[must_use]
pub fn noun(dimension: Dimension) -> &'static str {
    dimension.noun()
}

/// Reads a share of `0.98` or `98%` form.
///
/// # Errors
/// What is wrong with the text.
#[deprecated(note = "use `uncontended_figures::read::share`")]
pub fn share(text: &str) -> Result<f64, String> {
    read::share(text)
}

/// The value for people, with a unit.
#[deprecated(note = "use `uncontended_figures::measured`")]
#[must_use]
pub fn show(value: f64, dimension: Dimension) -> String {
    uncontended_figures::measured(value, dimension)
}

/// As [`show`], rounded one way.
#[deprecated(note = "use `uncontended_figures::measured_toward`")]
#[must_use]
pub fn show_toward(value: f64, dimension: Dimension, toward: Toward) -> String {
    uncontended_figures::measured_toward(value, dimension, toward)
}
