//! An estimate with its interval: `1.31 [0.63, 2.93]`, `99.3 % [98.5 %, 99.8 %]`.
//!
//! # Contract
//! The width of an interval determines the number of digits: the ends have two digits of the width (three if there is
//! no estimate before them); the estimate has as many decimal places, and at least three digits. Ends are rounded
//! outward. An unknown end is stated in words: `1.31, at least 0.63`.

use crate::Dimension;
use crate::decimal::{Decimal, Toward};
use crate::print::{in_words, measured_toward};

/// The decimal places that distinguish the ends of the interval, and those of an estimate with three digits.
#[derive(Debug, Clone, Copy)]
struct Places {
    width: i32,
    estimate: i32,
}

/// The most places: the precision of a double.
const MOST: i32 = 15;

impl Places {
    fn new(estimate: Option<f64>, low: f64, high: f64) -> Places {
        let of = |value: f64, digits: i32| match value {
            value if value.is_finite() && value > 0.0 => {
                digits - 1 - Decimal::significant(value, 3, Toward::Nearest).magnitude()
            }
            _ => 0,
        };
        // Without an estimate only the ends show how much is known.
        let width = of(high - low, if estimate.is_some() { 2 } else { 3 });
        Places { width, estimate: estimate.map_or(width, |estimate| of(estimate, 3)) }
    }

    fn estimate(self, value: f64) -> Decimal {
        fixed(value, self.width.max(self.estimate), Toward::Nearest)
    }

    /// An end: to the place of the width, or to that of the estimate, with at most four digits.
    fn end(self, value: f64, toward: Toward) -> Decimal {
        let own = Decimal::significant(value, 3, toward);
        let shown = fixed(value, self.width.max(self.estimate.min(3 - own.magnitude())), toward);
        // A value above zero is never shown as zero.
        if shown.is_zero() { own } else { shown }
    }
}

fn fixed(value: f64, places: i32, toward: Toward) -> Decimal {
    Decimal::fixed(value, usize::try_from(places.min(MOST)).unwrap_or(0), toward)
}

/// A ratio, 0 or more, with its interval; an unknown end is 0 or infinite.
///
/// ```
/// use uncontended_figures::ratio;
/// assert_eq!(ratio(Some(1.3104), 0.634, 2.927), "1.31 [0.63, 2.93]");
/// assert_eq!(ratio(Some(0.9931), 0.8593, 1.1593), "0.993 [0.859, 1.160]");
/// assert_eq!(ratio(Some(1.00034), 0.99991, 1.00071), "1.00034 [0.99991, 1.00071]");
/// assert_eq!(ratio(Some(1.3104), 0.634, f64::INFINITY), "1.31, at least 0.63");
/// assert_eq!(ratio(None, 0.0, f64::INFINITY), "no interval yet");
/// assert_eq!(ratio(None, f64::INFINITY, f64::INFINITY), "unbounded");
/// ```
#[must_use]
pub fn ratio(estimate: Option<f64>, low: f64, high: f64) -> String {
    if low == f64::INFINITY {
        return in_words(low);
    }
    let places = Places::new(estimate.filter(|estimate| estimate.is_finite()), low, high);
    let shown = |value: f64| match value.is_finite() {
        true => places.estimate(value).text(),
        false => in_words(value),
    };
    let end = |value, toward| places.end(value, toward).text();
    let (low, high) = (
        (low > 0.0).then(|| end(low, Toward::Low)),
        (high < f64::INFINITY).then(|| end(high, Toward::High)),
    );
    within(estimate.map(shown), low, high)
}

/// A share between 0 and 1, with its interval.
///
/// ```
/// use uncontended_figures::share;
/// assert_eq!(share(Some(0.993), 0.985, 0.998), "99.3 % [98.5 %, 99.8 %]");
/// assert_eq!(share(None, 0.99999, 1.0), "[99.99900 %, 100 %]");
/// ```
#[must_use]
pub fn share(estimate: Option<f64>, low: f64, high: f64) -> String {
    let places = Places::new(estimate, low, high);
    let percent = |shown: Decimal| format!("{} %", shown.shifted(2).text());
    let end = |value: f64, toward| match value {
        // Zero and one are exact; a share below one needs enough digits to show it.
        0.0 => "0 %".to_owned(),
        1.0 => "100 %".to_owned(),
        value => percent(less_than_all(places.end(value, toward), value, toward)),
    };
    let shown = estimate.map(|value| match value {
        0.0 => "0 %".to_owned(),
        1.0 => "100 %".to_owned(),
        value => percent(less_than_all(places.estimate(value), value, Toward::Low)),
    });
    within(shown, Some(end(low, Toward::Low)), Some(end(high, Toward::High)))
}

/// `shown`, or the fewest digits that show a share below 1 as such.
fn less_than_all(shown: Decimal, share: f64, toward: Toward) -> Decimal {
    if shown.magnitude() < 0 || share >= 1.0 {
        return shown;
    }
    let longer = (3..=MOST).map(|places| fixed(share, places, toward));
    longer.into_iter().find(|longer| longer.magnitude() < 0).unwrap_or(shown)
}

/// A value with its unit and its interval; an unknown end is none.
#[must_use]
pub fn quantity(
    estimate: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    dimension: Dimension,
) -> String {
    let shown = |value: f64, toward| measured_toward(value, dimension, toward);
    within(
        estimate.map(|value| shown(value, Toward::Nearest)),
        low.map(|value| shown(value, Toward::Low)),
        high.map(|value| shown(value, Toward::High)),
    )
}

fn within(estimate: Option<String>, low: Option<String>, high: Option<String>) -> String {
    let (space, comma) = if estimate.is_some() { (" ", ", ") } else { ("", "") };
    let estimate = estimate.unwrap_or_default();
    match (low, high) {
        (Some(low), Some(high)) => format!("{estimate}{space}[{low}, {high}]"),
        (Some(low), None) => format!("{estimate}{comma}at least {low}"),
        (None, Some(high)) => format!("{estimate}{comma}at most {high}"),
        (None, None) => format!("{estimate}{comma}no interval yet"),
    }
}
