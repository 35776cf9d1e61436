//! Horizontal lanes with segments: bars from zero, stacked bars, or spans of time.

use super::{Axis, escape, place};
use std::fmt::Write;
use uncontended_figures::text::{fit, width};

const WIDTH: f64 = 1000.0;
const LANE: f64 = 24.0;
const TOP: f64 = 6.0;
const BOTTOM: f64 = 40.0;
/// Columns of a lane's name; the rest is in its tooltip.
const NAME_COLUMNS: usize = 38;

/// One lane.
#[derive(Debug, Clone)]
pub struct Lane {
    /// What stands to its left.
    pub name: String,
    /// What stands after its last segment.
    pub note: String,
    /// What lies in it; later segments lie over earlier ones.
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
    /// Its height as a share of the lane's, so that what lies under it shows.
    pub height: f64,
    /// What it is, for its tooltip.
    pub title: String,
}

/// The lanes over `axis` as an `<svg>` element that says `title` to a screen reader; `legend` names the colours.
pub fn lanes(title: &str, axis: &Axis, lanes: &[Lane], legend: &[(usize, &str)]) -> String {
    let columns = lanes.iter().map(|lane| width(&lane.name).min(NAME_COLUMNS)).max().unwrap_or(0);
    let left = 12.0 + 7.5 * columns as f64;
    let notes = lanes.iter().map(|lane| width(&lane.note)).max().unwrap_or(0);
    let right = WIDTH - 12.0 - 7.5 * notes as f64;
    let top = TOP + if legend.is_empty() { 0.0 } else { 20.0 };
    let floor = top + LANE * lanes.len() as f64;
    let mut svg = format!(
        "<svg class=\"lanes\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{1}\"><title>{1}</title><g class=\"grid\">",
        place(floor + BOTTOM),
        escape(title)
    );
    let at = |value: f64| axis.at(value).map(|share| left + share * (right - left));
    // Writing to a String cannot fail.
    for (value, text) in axis.ticks() {
        let Some(x) = at(*value) else { continue };
        let _ = write!(
            svg,
            "<line x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" y2=\"{2}\"/><text x=\"{0}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>",
            place(x),
            place(top),
            place(floor),
            place(floor + 15.0),
            escape(text)
        );
    }
    let _ = write!(
        svg,
        "<text class=\"label\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text></g>",
        place((left + right) / 2.0),
        place(floor + 32.0),
        escape(axis.label())
    );
    svg.push_str(&key(legend, left));
    for (nth, lane) in lanes.iter().enumerate() {
        svg.push_str(&one(lane, top + LANE * nth as f64, left, &at));
    }
    svg.push_str("</svg>");
    svg
}

fn one(lane: &Lane, top: f64, left: f64, at: &dyn Fn(f64) -> Option<f64>) -> String {
    let base = place(top + LANE / 2.0 + 4.0);
    let mut svg = format!(
        "<g><text x=\"{}\" y=\"{base}\" text-anchor=\"end\">{}<title>{}</title></text>",
        place(left - 6.0),
        escape(&fit(&lane.name, NAME_COLUMNS)),
        escape(&lane.name)
    );
    let mut end = left;
    for segment in &lane.segments {
        let (Some(from), Some(to)) = (at(segment.from), at(segment.to)) else { continue };
        // A span too short for the scale is still to be seen.
        let length = (to - from).max(1.5);
        let height = (LANE - 8.0) * segment.height.clamp(0.1, 1.0);
        end = end.max(from + length);
        let _ = write!(
            svg,
            "<rect class=\"c{} fill\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"1.5\"><title>{}</title></rect>",
            segment.colour % 6,
            place(from),
            place(top + (LANE - height) / 2.0),
            place(length),
            place(height),
            escape(&segment.title)
        );
    }
    if !lane.note.is_empty() {
        let _ = write!(
            svg,
            "<text class=\"note\" x=\"{}\" y=\"{base}\">{}</text>",
            place(end + 6.0),
            escape(&lane.note)
        );
    }
    svg.push_str("</g>");
    svg
}

fn key(legend: &[(usize, &str)], left: f64) -> String {
    let mut svg = String::from("<g class=\"legend\">");
    let mut x = left;
    for (colour, name) in legend {
        let _ = write!(
            svg,
            "<rect class=\"c{} fill\" x=\"{}\" y=\"7\" width=\"11\" height=\"10\" rx=\"2\"/><text x=\"{}\" y=\"16\">{}</text>",
            colour % 6,
            place(x),
            place(x + 16.0),
            escape(name)
        );
        x += 16.0 + 6.6 * width(name) as f64 + 18.0;
    }
    svg.push_str("</g>");
    svg
}
