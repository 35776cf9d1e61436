//! Small charts as inline SVG: curves on two axes, horizontal lanes, flame graphs, and the pictures of a verdict.
//!
//! # Contract
//! A chart is markup for a page of [`crate::html`], whose style sheet gives the classes `c0` to `c5` their colours in
//! light and dark. Values that are not finite, or that a logarithmic axis cannot place, are omitted; nothing panics.
//! Each mark has a `<title>`, which browsers show without a script.
//! # Evidence
//! `tests/charts.rs`; the pages themselves were inspected in a browser.

mod axis;
mod chart;
mod flame;
mod lanes;
mod values;
mod verdict;

pub use axis::Axis;
pub use chart::{Chart, Marks};
pub use flame::{Column, flame};
pub use lanes::{Lane, Segment, lanes};
pub use values::{Arm, MOST_POINTS, Marked, Scale, distribution, in_order};
pub use verdict::{Look, Within, evidence, rate, ratios};

use maud::{Markup, html};

/// The `<svg>` element, which screen readers announce as `title`. It never shrinks so far that its text becomes
/// unreadable: on a narrow page it scrolls.
fn picture(class: &str, (width, height): (f64, f64), title: &str, content: &Markup) -> Markup {
    html! {
        div class="wide" {
            svg class=(class) viewBox={ "0 0 " (place(width)) " " (place(height)) } role="img" aria-label=(title) {
                title { (title) }
                (content)
            }
        }
    }
}

/// Text whose beginning, end or middle is at a place.
fn text((x, y): (f64, f64), anchor: &str, content: &str) -> Markup {
    html! { text x=(place(x)) y=(place(y)) text-anchor=(anchor) { (content) } }
}

/// A straight line from the first place to the second.
fn line([x1, y1, x2, y2]: [f64; 4]) -> Markup {
    html! { line x1=(place(x1)) y1=(place(y1)) x2=(place(x2)) y2=(place(y2)) {} }
}

/// The square of a colour in a legend.
fn swatch(class: &str, x: f64) -> Markup {
    html! { rect class=(class) x=(place(x)) y="7" width="11" height="10" rx="2" {} }
}

/// The class of a colour, 0 to 5, and what it colours.
fn class(colour: usize, what: &str) -> String {
    format!("c{} {what}", colour % 6)
}

/// A coordinate with as many digits as a screen can show.
fn place(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
