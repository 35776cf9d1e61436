//! Small charts as inline SVG: curves on two axes, horizontal lanes, and what a verdict needs.
//!
//! # Contract
//! A chart is a string to be put into a page of [`crate::html`], whose style sheet gives the classes `c0` to `c5` their
//! colours in light and dark. All text is escaped. Values that are not finite, or that a logarithmic axis has no place
//! for, are left out; nothing panics. Each mark has a `<title>`, which browsers show without any script.
//! # Evidence
//! `tests/charts.rs`; the pages themselves were looked at in a browser.

mod axis;
mod chart;
mod lanes;
mod verdict;

pub use axis::Axis;
pub use chart::{Chart, Marks};
pub use lanes::{Lane, Segment, lanes};
pub use verdict::{Look, Within, evidence, paired, rate, ratios};

use uncontended_figures::text::clean;

/// `text` for use between tags and in quoted attributes, harmless there and to a terminal.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// A coordinate with as many digits as a screen can show.
fn place(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
