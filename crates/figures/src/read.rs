//! Parsing of figures: `5ms`, `1.5 s`, `200 MiB`, `2 %`, `42`.
//!
//! # Contract
//! A quantity is a number and its unit, with or without a space between them, stored in its base unit: nanoseconds,
//! bytes, or the plain number. Anything but a finite number with a known unit is rejected with the reason; nothing is
//! guessed. A decimal unit shifts the decimal point of the text: `0.3 ms` is the double nearest to 300 000 ns.
//! # Evidence
//! `tests/read.rs`, `fuzz/fuzz_targets/quantity.rs`.

use std::ops::RangeInclusive;
use std::time::Duration;

/// The dimension of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// Stored in nanoseconds.
    Time,
    /// Stored in bytes.
    Bytes,
    /// Without a unit.
    Number,
}

impl Dimension {
    /// The name of the base unit in logs and JSON.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Dimension::Time => "ns",
            Dimension::Bytes => "bytes",
            Dimension::Number => "1",
        }
    }

    /// The dimension whose base unit has this name.
    #[must_use]
    pub fn of_unit(unit: &str) -> Option<Dimension> {
        [Dimension::Time, Dimension::Bytes, Dimension::Number]
            .into_iter()
            .find(|dimension| dimension.unit() == unit)
    }

    /// Its name in a sentence.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Dimension::Time => "time (such as 5ms)",
            Dimension::Bytes => "size (such as 200MiB)",
            Dimension::Number => "plain number",
        }
    }

    fn units(self) -> &'static str {
        match self {
            Dimension::Time => "ns, us, ms, s, m or h",
            Dimension::Bytes => "B, kB, KiB, MB, MiB, GB, GiB, TB or TiB",
            Dimension::Number => "none",
        }
    }
}

/// A number with its dimension.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// Nanoseconds, bytes or the plain number; finite.
    pub value: f64,
    /// Which of them.
    pub dimension: Dimension,
    /// The factor for a bare number next to this one, to give both the same unit.
    pub scale: f64,
}

/// The size of a unit in base units.
#[derive(Debug, Clone, Copy)]
enum Size {
    Ten(i32),
    Times(f64),
}

const UNITS: [(&str, Size, Dimension); 21] = [
    ("ns", Size::Ten(0), Dimension::Time),
    ("us", Size::Ten(3), Dimension::Time),
    ("\u{b5}s", Size::Ten(3), Dimension::Time),
    ("\u{3bc}s", Size::Ten(3), Dimension::Time),
    ("ms", Size::Ten(6), Dimension::Time),
    ("s", Size::Ten(9), Dimension::Time),
    ("m", Size::Times(6e10), Dimension::Time),
    ("min", Size::Times(6e10), Dimension::Time),
    ("h", Size::Times(3.6e12), Dimension::Time),
    ("B", Size::Ten(0), Dimension::Bytes),
    ("bytes", Size::Ten(0), Dimension::Bytes),
    ("kB", Size::Ten(3), Dimension::Bytes),
    ("KB", Size::Ten(3), Dimension::Bytes),
    ("MB", Size::Ten(6), Dimension::Bytes),
    ("GB", Size::Ten(9), Dimension::Bytes),
    ("TB", Size::Ten(12), Dimension::Bytes),
    ("KiB", Size::Times(1024.0), Dimension::Bytes),
    ("MiB", Size::Times(1_048_576.0), Dimension::Bytes),
    ("GiB", Size::Times(1_073_741_824.0), Dimension::Bytes),
    ("TiB", Size::Times(1_099_511_627_776.0), Dimension::Bytes),
    ("", Size::Ten(0), Dimension::Number),
];

impl Quantity {
    /// Parses a number and its unit.
    ///
    /// # Errors
    /// What is wrong with the text, as a sentence.
    pub fn parse(text: &str) -> Result<Quantity, String> {
        let (number, unit) = split(text).ok_or_else(|| no_number(text))?;
        let Some(&(_, size, dimension)) = UNITS.iter().find(|(name, ..)| *name == unit) else {
            return Err(format!(
                "unknown unit '{unit}'; use {} for a time, {} for a size",
                Dimension::Time.units(),
                Dimension::Bytes.units()
            ));
        };
        let (value, scale) = match size {
            Size::Ten(power) => (shifted(number, power), 10f64.powi(power)),
            Size::Times(times) => (finite(number).map(|number| number * times), times),
        };
        let value = value.filter(|value| value.is_finite()).ok_or_else(|| too_large(text))?;
        if value < 0.0 && dimension != Dimension::Number {
            return Err(below_zero(text));
        }
        Ok(Quantity { value, dimension, scale })
    }

    /// Parses one measured value for a threshold: a bare number has the threshold's own unit.
    ///
    /// # Errors
    /// What is wrong with the text, or that it has another dimension.
    pub fn parse_for_threshold(text: &str, threshold: Quantity) -> Result<f64, String> {
        let read = Quantity::parse(text)?;
        if read.dimension != threshold.dimension && read.dimension != Dimension::Number {
            return Err(format!("'{}' is not a {}", text.trim(), threshold.dimension.noun()));
        }
        read.in_unit_of(threshold).map(|read| read.value)
    }

    /// The same where a bare number has the unit of `threshold`.
    ///
    /// # Errors
    /// If it would be too large, or a time or size below zero.
    pub fn in_unit_of(self, threshold: Quantity) -> Result<Quantity, String> {
        if self.dimension == threshold.dimension || self.dimension != Dimension::Number {
            return Ok(self);
        }
        let text = self.value.to_string();
        if self.value < 0.0 {
            return Err(below_zero(&text));
        }
        let value = self.value * threshold.scale;
        let scaled = Quantity { value, ..threshold };
        if value.is_finite() { Ok(scaled) } else { Err(too_large(&text)) }
    }

    /// The former name of [`Quantity::parse_for_threshold`].
    ///
    /// # Errors
    /// As there.
    #[deprecated(note = "use `Quantity::parse_for_threshold`")]
    pub fn parse_beside(text: &str, threshold: Quantity) -> Result<f64, String> {
        Quantity::parse_for_threshold(text, threshold)
    }
}

/// Parses a duration: `500ms`, `1.5 s`, `200us`, `2 m`.
///
/// ```
/// use std::time::Duration;
/// use uncontended_figures::read;
/// assert_eq!(read::duration("1.5 ms"), Ok(Duration::from_micros(1500)));
/// assert_eq!(read::duration("5 parsecs").unwrap_err(), "unknown unit 'parsecs'; use ns, us, ms, s, m or h");
/// ```
///
/// # Errors
/// What is wrong with the text.
pub fn duration(text: &str) -> Result<Duration, String> {
    let units = Dimension::Time.units();
    let (_, unit) = split(text).ok_or_else(|| no_number(text))?;
    match UNITS.iter().find(|(name, ..)| *name == unit) {
        Some((.., Dimension::Time)) => {}
        Some((.., Dimension::Number)) => {
            return Err(format!("'{}' has no unit; use {units}", text.trim()));
        }
        _ => return Err(format!("unknown unit '{unit}'; use {units}")),
    }
    let read = Quantity::parse(text)?;
    Duration::try_from_secs_f64(read.value / 1e9).map_err(|_| too_large(text))
}

/// Parses a duration above zero, such as a time limit.
///
/// # Errors
/// What is wrong with the text.
pub fn time_limit(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err(format!("'{}' must be above zero", text.trim())),
        limit => Ok(limit),
    }
}

/// Parses a share: `0.98`, `98%` or `98 %`.
///
/// # Errors
/// What is wrong with the text.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = split(text).ok_or_else(|| no_number(text))?;
    let read = match unit {
        "%" => shifted(number, -2),
        "" => finite(number),
        _ => None,
    };
    read.ok_or_else(|| format!("'{}' is not a share (such as 0.98 or 98%)", text.trim()))
}

/// Parses a percentile such as `p99`, `p99.9` or `median`; returns the rate, 0.99.
///
/// # Errors
/// What is wrong with the text.
pub fn percentile(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let number = if text == "median" { "50" } else { text.strip_prefix('p').unwrap_or("") };
    let read = split(number)
        .filter(|(_, unit)| unit.is_empty())
        .and_then(|(number, _)| shifted(number, -2));
    read.filter(|&rate| rate > 0.0 && rate < 1.0)
        .ok_or_else(|| format!("'{text}' is not a percentile (such as p50, p99, p99.9)"))
}

/// Parses a plain number.
///
/// # Errors
/// What is wrong with the text.
pub fn number(text: &str) -> Result<f64, String> {
    match Quantity::parse(text)? {
        Quantity { value, dimension: Dimension::Number, .. } => Ok(value),
        _ => Err(format!("'{}' is not a plain number", text.trim())),
    }
}

/// A parser of whole numbers in `range` that fit into `T`.
///
/// # Errors
/// The parser's: which numbers it takes.
pub fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.trim().parse().ok().filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match range.end() {
            &u64::MAX => format!("give a whole number, {} or more", range.start()),
            most => format!("give a whole number from {} to {most}", range.start()),
        })
    }
}

fn no_number(text: &str) -> String {
    format!("'{}' is not a number", text.trim())
}

fn too_large(text: &str) -> String {
    format!("'{}' is too large", text.trim())
}

fn below_zero(text: &str) -> String {
    format!("'{}' is negative", text.trim())
}

/// The number at the start of `text`, and the unit after it; `None` if there is no number.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let after = |text: &str| text.trim_start_matches(|symbol: char| symbol.is_ascii_digit()).len();
    let mut left = after(rest);
    let whole = rest.len() - left;
    let mut fraction = 0;
    if let Some(behind) = rest[whole..].strip_prefix('.') {
        left = after(behind);
        fraction = behind.len() - left;
    }
    let rest = &rest[rest.len() - left..];
    // An exponent has digits; an `e` without them is the start of a unit.
    let exponent = rest.strip_prefix(['e', 'E']).and_then(|power| {
        let digits = power.strip_prefix(['+', '-']).unwrap_or(power);
        digits.starts_with(|symbol: char| symbol.is_ascii_digit()).then(|| after(digits))
    });
    let unit = &rest[rest.len() - exponent.unwrap_or(rest.len())..];
    // Two numbers in one are rejected.
    let is_number = whole + fraction > 0 && !unit.starts_with(|symbol: char| ".,".contains(symbol));
    let number = &text[..text.len() - unit.len()];
    is_number.then_some((number, unit.trim_start()))
}

fn finite(number: &str) -> Option<f64> {
    number.parse().ok().filter(|number: &f64| number.is_finite())
}

/// `number` times ten to the power of `power`, shifted as text: 99.9 % is the double nearest to 0.999, which 99.9 / 100
/// is not.
fn shifted(number: &str, power: i32) -> Option<f64> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent: i32 = exponent.parse().ok()?;
    finite(&format!("{mantissa}e{}", exponent.checked_add(power)?))
}
