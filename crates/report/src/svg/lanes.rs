//! Horizontal lanes with segments: bars from zero, stacked bars, or spans of time.

use super::{Axis, class, line, picture, place, swatch, text};
use maud::{Markup, html};
use uncontended_figures::text::{fit, width};

const WIDTH: f64 = 1000.0;
const LANE: f64 = 24.0;
const TOP: f64 = 6.0;
const BOTTOM: f64 = 40.0;
/// Width of a lane's name, in columns; the tooltip has the rest.
const NAME_COLUMNS: usize = 38;

/// One lane.
#[derive(Debug, Clone)]
pub struct Lane {
    /// The text to its left.
    pub name: String,
    /// The text after its last segment.
    pub note: String,
    /// Its segments; later ones are drawn over earlier ones.
    pub segments: Vec<Segment>,
}

/// One bar in a lane.
#[derive(Debug, Clone)]
pub struct Segment {
    /// Where it begins, on the axis.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Its colour, 0 to 5.
    pub colour: usize,
    /// Its height as a share of the lane's, so that what is below it shows.
    pub height: f64,
    /// Its tooltip.
    pub title: String,
}

/// The lanes over `axis` as an `<svg>` element that screen readers announce as `title`; `legend` names the colours.
pub fn lanes(title: &str, axis: &Axis, lanes: &[Lane], legend: &[(usize, &str)]) -> Markup {
    let columns = lanes.iter().map(|lane| width(&lane.name).min(NAME_COLUMNS)).max().unwrap_or(0);
    let left = 12.0 + 7.5 * columns as f64;
    let notes = lanes.iter().map(|lane| width(&lane.note)).max().unwrap_or(0);
    let right = WIDTH - 12.0 - 7.5 * notes as f64;
    let top = TOP + if legend.is_empty() { 0.0 } else { 20.0 };
    let floor = top + LANE * lanes.len() as f64;
    let at = |value: f64| axis.at(value).map(|share| left + share * (right - left));
    let content = html! {
        g class="grid" {
            @for (value, name) in axis.ticks() {
                @if let Some(x) = at(*value) {
                    (line([x, top, x, floor]))
                    (text((x.min(WIDTH - 3.75 * width(name) as f64), floor + 15.0), "middle", name))
                }
            }
            g class="label" { (text(((left + right) / 2.0, floor + 32.0), "middle", axis.label())) }
        }
        (key(legend, left))
        @for (nth, lane) in lanes.iter().enumerate() {
            (one(lane, top + LANE * nth as f64, left, &at))
        }
    };
    picture("lanes", (WIDTH, floor + BOTTOM), title, &content)
}

fn one(lane: &Lane, top: f64, left: f64, at: &dyn Fn(f64) -> Option<f64>) -> Markup {
    let base = top + LANE / 2.0 + 4.0;
    let mut end = left;
    let mut segments = Vec::new();
    for segment in &lane.segments {
        let (Some(from), Some(to)) = (at(segment.from), at(segment.to)) else { continue };
        // A span too short for the scale must still be visible.
        let length = (to - from).max(1.5);
        let height = (LANE - 8.0) * segment.height.clamp(0.1, 1.0);
        end = end.max(from + length);
        segments.push(html! {
            rect class=(class(segment.colour, "fill")) x=(place(from)) y=(place(top + (LANE - height) / 2.0))
                width=(place(length)) height=(place(height)) rx="1.5" { title { (segment.title) } }
        });
    }
    html! {
        g {
            text x=(place(left - 6.0)) y=(place(base)) text-anchor="end" {
                (fit(&lane.name, NAME_COLUMNS))
                title { (lane.name) }
            }
            @for segment in &segments { (segment) }
            @if !lane.note.is_empty() {
                g class="note" { (text((end + 6.0, base), "start", &lane.note)) }
            }
        }
    }
}

fn key(legend: &[(usize, &str)], left: f64) -> Markup {
    let mut x = left;
    let mut entries = Vec::new();
    for (colour, name) in legend {
        entries.push(swatch(&class(*colour, "fill"), x));
        entries.push(text((x + 16.0, 16.0), "start", name));
        x += 16.0 + 6.6 * width(name) as f64 + 18.0;
    }
    html! { g class="legend" { @for entry in &entries { (entry) } } }
}
