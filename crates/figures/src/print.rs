//! Single figures: a measured value has three significant digits, a given value has all its digits.

use crate::Dimension;
use crate::decimal::{Decimal, Toward, grouped};

/// Significant digits of a measured value.
const DIGITS: usize = 3;
const NANO: [(i32, &str); 4] = [(0, "ns"), (3, "µs"), (6, "ms"), (9, "s")];
const MINUTE: f64 = 6e10;
const HOUR: f64 = 3.6e12;
const THOUSANDS: [&str; 7] = ["", " k", " M", " G", " T", " P", " E"];
const BINARY: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
const DECIMAL: [(i32, &str); 4] = [(3, "kB"), (6, "MB"), (9, "GB"), (12, "TB")];
/// The unit changes at two minutes and at two hours: 90 s and 75 min are easier to grasp than 1.50 min and 1.25 h.
const TWO: f64 = 120.0;
/// A smaller share is shown as smaller than this.
const LEAST_SHARE: f64 = 1e-5;

/// A time in nanoseconds: `0 ns`, `265 ms`, `4.21 s`, `12.5 min`, `3.00 h`.
///
/// ```
/// use uncontended_figures::duration;
/// assert_eq!([duration(999), duration(999_499), duration(999_950)], ["999 ns", "999 µs", "1.00 ms"]);
/// ```
#[must_use]
pub fn duration(ns: u64) -> String {
    duration_f(ns as f64)
}

/// The same for a fractional number of nanoseconds.
#[must_use]
pub fn duration_f(ns: f64) -> String {
    time(ns, Toward::Nearest)
}

fn time(ns: f64, toward: Toward) -> String {
    if !ns.is_finite() {
        return in_words(ns);
    }
    if ns.fract() == 0.0 && ns.abs() < 1e3 {
        return format!("{} ns", Decimal::exact(ns).text());
    }
    let rounded = Decimal::significant(ns, DIGITS, toward);
    let fits = |&&(power, _): &&(i32, &str)| rounded.magnitude() < power + 3;
    if let Some(&(power, unit)) = NANO[..3].iter().find(fits) {
        return format!("{} {unit}", rounded.shifted(-power).text());
    }
    // A value that rounding raises to two of a unit is shown in that unit.
    let in_unit = |size: f64| Decimal::significant(ns / size, DIGITS, toward);
    let below_two = |size: f64| ns.abs() < size * (TWO - 0.5);
    let at_least_two = |size: f64| {
        let two = if ns < 0.0 { -2.0 } else { 2.0 };
        let count =
            if (ns / size).abs() < 2.0 && toward == Toward::Nearest { two } else { ns / size };
        Decimal::significant(count, DIGITS, toward)
    };
    if below_two(1e9) {
        format!("{} s", in_unit(1e9).text())
    } else if below_two(MINUTE) {
        format!("{} min", at_least_two(MINUTE).text())
    } else {
        format!("{} h", at_least_two(HOUR).text())
    }
}

/// A count: `9,999`, then `15.7 k`, `8.41 M`.
///
/// ```
/// use uncontended_figures::count;
/// assert_eq!([count(7), count(9_999), count(15_700), count(999_950)], ["7", "9,999", "15.7 k", "1.00 M"]);
/// ```
#[must_use]
pub fn count(number: u64) -> String {
    if number < 10_000 { whole(number) } else { scaled(number as f64, Toward::Nearest) }
}

/// An exact count: `12,345`.
#[must_use]
pub fn whole(number: u64) -> String {
    grouped(&number.to_string())
}

/// A number that is not a count: `0.292`, `12.0`, `15.7 k`.
#[must_use]
pub fn number(value: f64) -> String {
    scaled(value, Toward::Nearest)
}

fn scaled(value: f64, toward: Toward) -> String {
    if !value.is_finite() {
        return in_words(value);
    }
    let rounded = Decimal::significant(value, DIGITS, toward);
    if rounded.is_zero() {
        return "0".to_owned();
    }
    let step = usize::try_from(rounded.magnitude().div_euclid(3)).unwrap_or(0);
    match THOUSANDS.get(step) {
        Some(suffix) => format!("{}{suffix}", rounded.shifted(-3 * step as i32).text()),
        None => rounded.text(),
    }
}

/// A size in bytes: `512 B`, `1.50 KiB`, `4.00 GiB`.
#[must_use]
pub fn bytes(size: u64) -> String {
    size_f(size as f64, Toward::Nearest)
}

fn size_f(size: f64, toward: Toward) -> String {
    if !size.is_finite() {
        return in_words(size);
    }
    if size.fract() == 0.0 && size.abs() < 1024.0 {
        return format!("{} B", Decimal::exact(size).text());
    }
    let (mut scaled, mut unit) = (size, 0);
    // Four digits show 1,000 to 1,023; a value that they would show as 1,024 moves to the next unit.
    while scaled.abs() >= 1023.5 && unit + 1 < BINARY.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    let text = match scaled.abs() {
        size if size < 999.5 => Decimal::significant(scaled, DIGITS, toward).text(),
        _ => Decimal::fixed(scaled, 0, toward).text(),
    };
    format!("{text} {}", BINARY[unit])
}

/// A measured share of a whole (it may be greater): `0 %`, `< 0.001 %`, `0.0512 %`, `61.3 %`, `> 99.9 %`, `100 %`.
///
/// Less than all is never shown as `100 %`, and more than none never as `0 %`.
///
/// ```
/// use uncontended_figures::percent;
/// assert_eq!([0.02, 1.0].map(percent), ["2.00 %", "100 %"]);
/// assert_eq!([1e-7, 0.9997].map(percent), ["< 0.001 %", "> 99.9 %"]);
/// ```
#[must_use]
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return in_words(share);
    }
    if share == 0.0 {
        return "0 %".to_owned();
    }
    if share > 0.0 && share < LEAST_SHARE {
        return "< 0.001 %".to_owned();
    }
    let rounded = Decimal::significant(share, DIGITS, Toward::Nearest);
    if rounded.magnitude() == 0 && share < 1.0 && share > 0.0 {
        return "> 99.9 %".to_owned();
    }
    format!("{} %", rounded.shifted(2).text())
}

/// A given share, with all its digits: `2 %`, `99.9 %`.
///
/// ```
/// assert_eq!(uncontended_figures::given_percent(0.07), "7 %");
/// ```
#[must_use]
pub fn given_percent(share: f64) -> String {
    if share.is_finite() {
        format!("{} %", Decimal::exact(share).shifted(2).text())
    } else {
        in_words(share)
    }
}

/// An upper bound on the probability of an error, rounded up: `0.1 %`, `0.0334 %`.
#[must_use]
pub fn at_most_percent(share: f64) -> String {
    // Hides the rounding of the last bit.
    let rounded = Decimal::significant(share * (1.0 - 1e-12), DIGITS, Toward::High);
    if share < 1.0 && rounded.magnitude() >= 0 {
        return given_percent(share);
    }
    format!("{} %", rounded.shifted(2).trimmed().text())
}

/// A percentile's name: `p50`, `p99.9`.
#[must_use]
pub fn percentile(rate: f64) -> String {
    format!("p{}", Decimal::exact(rate).shifted(2).text())
}

/// A number with this many decimals, for forms that other programs read.
#[must_use]
pub fn fixed(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

/// A given number, with all its digits: `1.5`, `12,000`.
#[must_use]
pub fn given_number(value: f64) -> String {
    if value.is_finite() { Decimal::exact(value).text() } else { in_words(value) }
}

/// A measured value with its unit.
#[must_use]
pub fn measured(value: f64, dimension: Dimension) -> String {
    measured_toward(value, dimension, Toward::Nearest)
}

/// Like [`measured`], rounded in one direction.
#[must_use]
pub fn measured_toward(value: f64, dimension: Dimension, toward: Toward) -> String {
    match dimension {
        Dimension::Time => time(value, toward),
        Dimension::Bytes => size_f(value, toward),
        Dimension::Number => scaled(value, toward),
    }
}

/// A given value, with all its digits, in the unit in which it is shortest: `5 ms`, `200 MiB`, `1 MB`.
///
/// ```
/// use uncontended_figures::{Dimension, Quantity, given};
/// for text in ["5 ms", "1.234567 ms", "90 s", "2 min", "200 MiB", "1 MB", "12.5"] {
///     let read = Quantity::parse(text)?;
///     assert_eq!(given(read.value, read.dimension), text);
/// }
/// # Ok::<(), String>(())
/// ```
#[must_use]
pub fn given(value: f64, dimension: Dimension) -> String {
    if !value.is_finite() {
        return in_words(value);
    }
    let exact = Decimal::exact(value);
    let shifted =
        |(power, unit): (i32, &str)| format!("{} {unit}", exact.clone().shifted(-power).text());
    // A unit that fits at least once.
    let whole = |&(power, _): &(i32, &str)| exact.magnitude() >= power;
    match dimension {
        Dimension::Number => exact.text(),
        Dimension::Time => {
            // Only whole hours and minutes: 90 s is easier to grasp than 1.5 min.
            let long = [(HOUR, "h"), (MINUTE, "min")].into_iter().find_map(|(size, unit)| {
                let count = value / size;
                let is_whole = count >= 1.0 && count.fract() == 0.0 && count * size == value;
                is_whole.then(|| format!("{} {unit}", Decimal::exact(count).text()))
            });
            long.unwrap_or_else(|| shifted(NANO.into_iter().rev().find(whole).unwrap_or(NANO[0])))
        }
        Dimension::Bytes => {
            let decimal = DECIMAL.into_iter().rev().find(whole).map(shifted);
            let binary = BINARY.iter().enumerate().rev().find_map(|(step, unit)| {
                // Exact: the divisor is a power of two.
                let count = value / 1024f64.powi(step as i32);
                let least = step == 0 || count >= 1.0;
                least.then(|| format!("{} {unit}", Decimal::exact(count).text()))
            });
            let texts = binary.into_iter().chain(decimal);
            texts.min_by_key(|text| text.chars().count()).unwrap_or_default()
        }
    }
}

/// A figure without trailing zeros in its fraction, for the ticks of an axis: `1 ms` for `1.00 ms`.
#[must_use]
pub fn short(figure: &str) -> String {
    let (number, unit) = figure
        .split_once(' ')
        .map_or((figure, String::new()), |(number, unit)| (number, format!(" {unit}")));
    if number.contains('.') && !number.contains('e') {
        format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
    } else {
        figure.to_owned()
    }
}

/// A value that is not finite, in words.
pub(crate) fn in_words(value: f64) -> String {
    match value {
        value if value.is_nan() => "not a number",
        value if value > 0.0 => "unbounded",
        _ => "unbounded below",
    }
    .to_owned()
}
