//! Printing and parsing of figures, the same in every verb and every output form.
//!
//! # Contract
//! A measured value has three significant digits and its unit after a space: `1.23 µs`, `61.3 %`, `15.7 k`. A given
//! value (a threshold, a margin, a budget) has all its digits: `5 ms`, `2 %`, `12,000`. Counts are exact up to `9,999`;
//! commas separate thousands. An estimate is followed by its interval, `1.31 [0.63, 2.93]`, with as many digits as the
//! interval's width justifies; the ends are rounded outward. No figure reads `-0`, `1000 µs`, `100 %` for less than
//! all, or `0 %` for more than none. Values that are not finite are printed in words. A printed figure parses back to
//! itself, except for separators and for `k` and `M`. JSON has plain numbers, with the units last in the names.
//!
//! ```
//! use uncontended_figures::*;
//! assert_eq!(duration(1_234), "1.23 µs");
//! assert_eq!((count(9_999), count(15_700)), ("9,999".into(), "15.7 k".into()));
//! assert_eq!((percent(0.613), given_percent(0.02)), ("61.3 %".into(), "2 %".into()));
//! assert_eq!(ratio(Some(1.3104), 0.634, 2.927), "1.31 [0.63, 2.93]");
//! assert_eq!(number(f64::NAN), "not a number");
//! assert_eq!(Quantity::parse("200 µs"), Quantity::parse("200us"));
//! ```
#![forbid(unsafe_code)]

mod decimal;
mod interval;
mod print;
pub mod progress;
pub mod read;
pub mod table;
pub mod text;

pub use decimal::Toward;
pub use interval::{quantity, ratio, share};
pub use print::{
    at_most_percent, bytes, count, duration, duration_f, fixed, given, given_number, given_percent,
    measured, measured_toward, number, percent, percentile, short, whole,
};
pub use read::{Dimension, Quantity};

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
