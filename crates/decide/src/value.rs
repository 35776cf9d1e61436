//! Numbers with units, as people write them: `5ms`, `200MiB`, `2%`, `42`.
//!
//! # Contract
//! A quantity is held in its base unit: nanoseconds, bytes, or the plain number. What is not a finite number with a
//! known unit is refused with the reason; nothing is guessed.
//! # Evidence
//! `tests/value.rs`, `fuzz/fuzz_targets/quantity.rs`.

use std::time::Duration;

/// What a quantity measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// Held in nanoseconds.
    Time,
    /// Held in bytes.
    Bytes,
    /// Without unit.
    Number,
}

impl Dimension {
    /// The name of the base unit in logs and JSON.
    pub fn unit(self) -> &'static str {
        match self {
            Dimension::Time => "ns",
            Dimension::Bytes => "bytes",
            Dimension::Number => "1",
        }
    }

    /// The dimension whose base unit has this name.
    pub fn of_unit(unit: &str) -> Option<Dimension> {
        [Dimension::Time, Dimension::Bytes, Dimension::Number]
            .into_iter()
            .find(|dimension| dimension.unit() == unit)
    }
}

/// A number in its base unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// Nanoseconds, bytes or the plain number; finite.
    pub value: f64,
    /// Which of them.
    pub dimension: Dimension,
    /// What a bare number next to this one would be multiplied by to be in the same unit.
    pub scale: f64,
}

const UNITS: [(&str, f64, Dimension); 21] = [
    ("ns", 1.0, Dimension::Time),
    ("us", 1e3, Dimension::Time),
    ("µs", 1e3, Dimension::Time),
    ("μs", 1e3, Dimension::Time),
    ("ms", 1e6, Dimension::Time),
    ("s", 1e9, Dimension::Time),
    ("m", 6e10, Dimension::Time),
    ("min", 6e10, Dimension::Time),
    ("h", 3.6e12, Dimension::Time),
    ("B", 1.0, Dimension::Bytes),
    ("kB", 1e3, Dimension::Bytes),
    ("KB", 1e3, Dimension::Bytes),
    ("MB", 1e6, Dimension::Bytes),
    ("GB", 1e9, Dimension::Bytes),
    ("TB", 1e12, Dimension::Bytes),
    ("KiB", 1024.0, Dimension::Bytes),
    ("MiB", 1_048_576.0, Dimension::Bytes),
    ("GiB", 1_073_741_824.0, Dimension::Bytes),
    ("TiB", 1_099_511_627_776.0, Dimension::Bytes),
    ("bytes", 1.0, Dimension::Bytes),
    ("", 1.0, Dimension::Number),
];

impl Quantity {
    /// Reads a number and its unit.
    pub fn parse(text: &str) -> Result<Quantity, String> {
        let (number, unit) = split(text.trim());
        let parsed = finite(number).ok_or_else(|| format!("'{text}' is not a finite number"))?;
        let Some(&(_, scale, dimension)) = UNITS.iter().find(|(name, ..)| *name == unit) else {
            return Err(format!(
                "unknown unit '{unit}' in '{text}'; times take ns, us, ms, s, m, h; sizes B, kB, KiB, MB, MiB, GB, GiB"
            ));
        };
        if parsed < 0.0 && dimension != Dimension::Number {
            return Err(format!("'{text}' is below zero: no time or size is"));
        }
        let value = parsed * scale;
        if !value.is_finite() {
            return Err(format!("'{text}' is too large"));
        }
        Ok(Quantity { value, dimension, scale })
    }

    /// Reads one measured value for a threshold: a bare number is in the threshold's own unit.
    pub fn parse_beside(text: &str, threshold: Quantity) -> Result<f64, String> {
        let read = Quantity::parse(text)?;
        if read.dimension == threshold.dimension {
            return Ok(read.value);
        }
        if read.dimension == Dimension::Number && read.value < 0.0 {
            return Err(format!("'{}' is below zero: no time or size is", text.trim()));
        }
        if read.dimension == Dimension::Number {
            return Some(read.value * threshold.scale)
                .filter(|value| value.is_finite())
                .ok_or_else(|| format!("'{}' is too large", text.trim()));
        }
        Err(format!("'{}' is not a {}", text.trim(), noun(threshold.dimension)))
    }
}

/// What a dimension is called in a sentence.
pub fn noun(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Time => "time (such as 5ms)",
        Dimension::Bytes => "size (such as 200MiB)",
        Dimension::Number => "plain number",
    }
}

/// Reads a duration such as `500ms`, `10s` or `2m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let read = Quantity::parse(text)?;
    if read.dimension != Dimension::Time || read.value <= 0.0 {
        return Err(format!("'{text}' is not a duration above zero (such as 500ms, 10s, 2m)"));
    }
    Duration::try_from_secs_f64(read.value / 1e9).map_err(|_| format!("'{text}' is too long"))
}

/// Reads a number of `0.98` or `98%` form.
pub fn share(text: &str) -> Result<f64, String> {
    let trimmed = text.trim();
    let read = match trimmed.strip_suffix('%') {
        Some(percent) => hundredth(percent.trim_end()),
        None => finite(trimmed),
    };
    read.ok_or_else(|| format!("'{text}' is not a share (such as 0.98 or 98%)"))
}

/// A hundredth of a number, shifted as text: 99.9% is the double nearest to 0.999, which 99.9 / 100 is not.
fn hundredth(number: &str) -> Option<f64> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent: i32 = exponent.parse().ok()?;
    finite(&format!("{mantissa}e{}", exponent.checked_sub(2)?))
}

/// Reads a rate or an error probability: strictly between 0 and 1.
pub fn rate(text: &str) -> Result<f64, String> {
    let read = share(text)?;
    if read > 0.0 && read < 1.0 {
        return Ok(read);
    }
    Err(format!("'{text}' is outside (0, 1): it must be above 0 and below 1"))
}

/// Reads a margin: at least 0 and below 1 (100 %).
pub fn margin(text: &str) -> Result<f64, String> {
    let read = share(text)?;
    if (0.0..1.0).contains(&read) {
        return Ok(read);
    }
    Err(format!("'{text}' is not a margin: it must be at least 0% and below 100%"))
}

/// Reads how many times longer something may be: at least once, at most a million times.
pub fn stretch(text: &str) -> Result<f64, String> {
    let read = finite(text.trim()).filter(|read| (1.0..=1e6).contains(read));
    read.ok_or_else(|| format!("'{text}' is not a number from 1 to 1000000"))
}

/// Reads a percentile such as `p99`, `p99.9` or `median`; the answer is the rate, 0.99.
pub fn percentile(text: &str) -> Result<f64, String> {
    let number = match text.trim() {
        "median" => "50",
        other => other.strip_prefix('p').unwrap_or(""),
    };
    let read = hundredth(number).filter(|&rate| rate > 0.0 && rate < 1.0);
    read.ok_or_else(|| format!("'{text}' is not a percentile (such as p50, p99, p99.9)"))
}

/// Which way a number is rounded where it is shown. The ends of an interval are rounded outward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toward {
    /// The nearest.
    Nearest,
    /// Never above.
    Low,
    /// Never below.
    High,
}

/// The value for people, with a unit and four significant digits.
pub fn show(value: f64, dimension: Dimension) -> String {
    show_toward(value, dimension, Toward::Nearest)
}

/// As [`show`], rounded one way.
pub fn show_toward(value: f64, dimension: Dimension, toward: Toward) -> String {
    let steps: &[(f64, &str)] = match dimension {
        Dimension::Time => &[(1e9, " s"), (1e6, " ms"), (1e3, " us"), (0.0, " ns")],
        Dimension::Bytes => {
            &[(1_073_741_824.0, " GiB"), (1_048_576.0, " MiB"), (1024.0, " KiB"), (0.0, " B")]
        }
        Dimension::Number => &[(0.0, "")],
    };
    let size = value.abs();
    let (scale, unit) = steps.iter().find(|(least, _)| size >= *least).unwrap_or(&(0.0, ""));
    let scaled = if *scale == 0.0 { value } else { value / scale };
    rounded(scaled, 4, toward) + unit
}

/// `value` with at most `digits` significant digits and without trailing zeros.
pub fn significant(value: f64, digits: usize) -> String {
    rounded(value, digits, Toward::Nearest)
}

/// Where a ratio lies, with at most `digits` significant digits; an end that is not known yet is 0 or infinite.
pub fn within(low: f64, high: f64, digits: usize) -> String {
    let shown = |end, toward| rounded(end, digits, toward);
    match (low > 0.0, high < f64::INFINITY) {
        (true, true) => {
            format!("within [{}, {}]", shown(low, Toward::Low), shown(high, Toward::High))
        }
        (true, false) => format!("at least {}", shown(low, Toward::Low)),
        (false, true) => format!("at most {}", shown(high, Toward::High)),
        (false, false) => "not bounded yet".to_string(),
    }
}

/// The interval of a rate, with `digits` after the point.
pub fn rate_interval(low: f64, high: f64, digits: usize) -> String {
    let ten = 10f64.powi(digits as i32);
    format!("[{:.digits$}, {:.digits$}]", (low * ten).floor() / ten, (high * ten).ceil() / ten)
}

/// `value` with at most `digits` significant digits, rounded one way.
pub fn rounded(value: f64, digits: usize, toward: Toward) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor();
    let text = nearest(value, magnitude, digits);
    let shown: f64 = text.parse().unwrap_or(value);
    let unit = 10f64.powf(magnitude + 1.0 - digits as f64);
    match toward {
        Toward::Low if shown > value => nearest(shown - unit, magnitude, digits),
        Toward::High if shown < value => nearest(shown + unit, magnitude, digits),
        _ => text,
    }
}

fn nearest(value: f64, magnitude: f64, digits: usize) -> String {
    if !(-5.0..15.0).contains(&magnitude) {
        return format!("{value:.*e}", digits - 1);
    }
    // In range, so the cast is exact.
    let decimals = (digits as i32 - 1 - magnitude as i32).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The longest prefix that could be a number, and the rest without spaces between.
fn split(text: &str) -> (&str, &str) {
    let end = text
        .find(|symbol: char| !(symbol.is_ascii_digit() || "+-.eE".contains(symbol)))
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// A finite number in decimal notation. The names that Rust reads as numbers (inf, nan) are none here.
fn finite(text: &str) -> Option<f64> {
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}
