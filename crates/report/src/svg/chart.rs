//! Curves, bands, points and rules on two axes.
//!
//! # Contract
//! A chart is drawn several times, for wide and for narrow places, and the style sheet shows the one that fits: its
//! text keeps a readable size in all. The names of the marks stand above the picture, as text of the page that
//! wraps, and marks of the axes that would overlap are omitted. So no label covers another.

use super::{Axis, class, line, picture, place, text};
use maud::{Markup, html};
use std::fmt::Write;
use uncontended_figures::text::width;

/// Width of a character of an axis's marks.
const LETTER: f64 = 6.6;
/// Radius of a point.
const POINT: f64 = 2.6;

/// Where the parts of a picture are.
struct Layout {
    class: &'static str,
    width: f64,
    height: f64,
}

const LAYOUTS: [Layout; 3] = [
    Layout { class: "chart whole", width: 1240.0, height: 300.0 },
    Layout { class: "chart broad", width: 640.0, height: 300.0 },
    Layout { class: "chart slim", width: 360.0, height: 280.0 },
];
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
/// Room for the label of the y axis.
const TOP: f64 = 30.0;
const BOTTOM: f64 = 44.0;

/// A chart under construction. Later marks are drawn over earlier ones.
#[derive(Debug, Clone)]
pub struct Chart {
    title: String,
    x: Axis,
    y: Axis,
    marks: Vec<(usize, String, Mark)>,
    is_alone: bool,
}

/// What a mark shows.
#[derive(Debug, Clone)]
enum Mark {
    Series(Marks, Vec<(f64, f64)>),
    /// From one value of x to another.
    Across(f64, f64),
    /// From one value of y to another.
    Along(f64, f64),
    AtX(f64),
    AtY(f64),
    /// At this y, from one value of x to another.
    Interval(f64, (f64, f64)),
}

/// How to draw the points of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// Joined by straight lines.
    Line,
    /// Each value holds until the next.
    Steps,
    /// Separate points.
    Points,
    /// Joined, and filled down to the x axis.
    Area,
}

impl Chart {
    /// An empty chart. Screen readers announce the title.
    pub fn new(title: &str, x: Axis, y: Axis) -> Chart {
        Chart { title: title.to_owned(), x, y, marks: Vec::new(), is_alone: false }
    }

    /// The chart for a row of its own, if it has one.
    #[must_use]
    pub fn alone(self, is_alone: bool) -> Chart {
        Chart { is_alone, ..self }
    }

    /// Adds a series in colour `colour` (0 to 5), named above the chart unless `name` is empty, as every mark.
    pub fn series(self, name: &str, colour: usize, marks: Marks, points: &[(f64, f64)]) -> Chart {
        let has_place = |&(x, y): &(f64, f64)| self.x.at(x).is_some() && self.y.at(y).is_some();
        let points: Vec<(f64, f64)> = points.iter().copied().filter(has_place).collect();
        if points.is_empty() {
            return self;
        }
        self.with(name, colour, Mark::Series(marks, points))
    }

    /// Shades the values of x from `low` to `high`.
    pub fn band(self, name: &str, colour: usize, low: f64, high: f64) -> Chart {
        match self.x.at(low).and(self.x.at(high)) {
            Some(_) => self.with(name, colour, Mark::Across(low, high)),
            None => self,
        }
    }

    /// Shades the values of y from `low` to `high`.
    pub fn band_y(self, name: &str, colour: usize, low: f64, high: f64) -> Chart {
        match self.y.at(low).and(self.y.at(high)) {
            Some(_) => self.with(name, colour, Mark::Along(low, high)),
            None => self,
        }
    }

    /// A vertical rule at `x`.
    pub fn at_x(self, name: &str, colour: usize, x: f64) -> Chart {
        if self.x.at(x).is_none() { self } else { self.with(name, colour, Mark::AtX(x)) }
    }

    /// A horizontal rule at `y`.
    pub fn at_y(self, name: &str, colour: usize, y: f64) -> Chart {
        if self.y.at(y).is_none() { self } else { self.with(name, colour, Mark::AtY(y)) }
    }

    /// A thick line at `y` from `low` to `high`; an infinite end is that of the axis.
    pub fn interval(self, name: &str, colour: usize, y: f64, (low, high): (f64, f64)) -> Chart {
        let is_known = self.y.at(y).is_some() && !low.is_nan() && !high.is_nan();
        if is_known { self.with(name, colour, Mark::Interval(y, (low, high))) } else { self }
    }

    fn with(mut self, name: &str, colour: usize, mark: Mark) -> Chart {
        self.marks.push((colour, name.to_owned(), mark));
        self
    }

    /// The chart as `<svg>` elements and the names of its marks.
    pub fn svg(&self) -> Markup {
        html! {
            div class={ "figure" @if self.is_alone { " alone" } } {
                (self.key())
                @for layout in &LAYOUTS[usize::from(!self.is_alone)..] {
                    @let content = layout.content(self);
                    (picture(layout.class, (layout.width, layout.height), &self.title, &content))
                }
            }
        }
    }

    /// The names of the marks, above the chart.
    fn key(&self) -> Markup {
        let named = || self.marks.iter().filter(|(_, name, _)| !name.is_empty());
        let mut seen: Vec<(usize, &str)> = Vec::new();
        let first = named().filter(|(colour, name, _)| {
            let is_new = !seen.contains(&(*colour, name.as_str()));
            seen.push((*colour, name.as_str()));
            is_new
        });
        let entries: Vec<&(usize, String, Mark)> = first.collect();
        html! {
            @if !entries.is_empty() {
                p class="key" {
                    @for (colour, name, mark) in entries {
                        span { i class=(class(*colour, mark.swatch())) {} (name) } " "
                    }
                }
            }
        }
    }
}

impl Mark {
    /// The class of its square in the key.
    fn swatch(&self) -> &'static str {
        match self {
            Mark::Series(Marks::Points, _) => "dot",
            Mark::Series(Marks::Area, _) | Mark::Across(..) | Mark::Along(..) => "pale",
            Mark::Series(..) => "bar",
            Mark::Interval(..) => "thick",
            Mark::AtX(_) | Mark::AtY(_) => "dashed",
        }
    }
}

impl Layout {
    fn content(&self, chart: &Chart) -> Markup {
        html! {
            (self.grid(chart))
            @for (colour, name, mark) in &chart.marks { (self.mark(chart, *colour, name, mark)) }
        }
    }

    fn x(&self, chart: &Chart, x: f64) -> Option<f64> {
        Some(LEFT + chart.x.at(x)? * (self.width - LEFT - RIGHT))
    }

    fn y(&self, chart: &Chart, y: f64) -> Option<f64> {
        Some(self.floor() - chart.y.at(y)? * (self.floor() - TOP))
    }

    fn floor(&self) -> f64 {
        self.height - BOTTOM
    }

    fn mark(&self, chart: &Chart, colour: usize, name: &str, mark: &Mark) -> Markup {
        let (floor, end) = (self.floor(), self.width - RIGHT);
        let x = |value| self.x(chart, value).unwrap_or(LEFT);
        let y = |value| self.y(chart, value).unwrap_or(floor);
        let band = |[from, to]: [f64; 2], [top, bottom]: [f64; 2]| {
            let (width, height) = ((to - from).max(1.0), (bottom - top).max(1.0));
            html! {
                rect class=(class(colour, "band")) x=(place(from)) y=(place(top)) width=(place(width))
                    height=(place(height)) { title { (name) } }
            }
        };
        let rule = |what: &str, ends: [f64; 4]| {
            html! { g class=(class(colour, what)) { title { (name) } (line(ends)) } }
        };
        match mark {
            Mark::Series(marks, points) => {
                let placed: Vec<(f64, f64)> =
                    points.iter().map(|&(at, value)| (x(at), y(value))).collect();
                series(*marks, colour, name, &placed, floor)
            }
            Mark::Across(low, high) => band([x(*low), x(*high)], [TOP, floor]),
            Mark::Along(low, high) => band([LEFT, end], [y(*high), y(*low)]),
            Mark::AtX(value) => rule("rule", [x(*value), TOP, x(*value), floor]),
            Mark::AtY(value) => rule("rule", [LEFT, y(*value), end, y(*value)]),
            Mark::Interval(at, (low, high)) => {
                let left = if low.is_finite() { x(*low) } else { LEFT };
                let right = if high.is_finite() { x(*high) } else { end };
                rule("thick", [left, y(*at), right.max(left + 2.0), y(*at)])
            }
        }
    }

    fn grid(&self, chart: &Chart) -> Markup {
        let floor = self.floor();
        let across = chart.x.ticks().iter().filter_map(|(value, name)| {
            let half = LETTER * width(name) as f64 / 2.0 + 2.0;
            let at = self.x(chart, *value)?;
            Some((at, at.clamp(half, (self.width - half).max(half)), half, name))
        });
        let up = chart.y.ticks().iter().filter_map(|(value, name)| {
            let at = self.y(chart, *value)?;
            Some((at, at, 7.0, name))
        });
        let (across, up) = (thinned(across.collect()), thinned(up.collect()));
        html! {
            g class="grid" {
                @for (x, middle, _, name) in across {
                    (line([x, TOP, x, floor])) (text((middle, floor + 16.0), "middle", name))
                }
                @for (y, middle, _, name) in up {
                    (line([LEFT, y, self.width - RIGHT, y])) (text((LEFT - 6.0, middle + 4.0), "end", name))
                }
                g class="label" {
                    (text(((LEFT + self.width - RIGHT) / 2.0, self.height - 8.0), "middle", chart.x.label()))
                    (text((4.0, 14.0), "start", chart.y.label()))
                }
            }
        }
    }
}

/// A mark of an axis: its place, the middle of its text, half its text's length, its text.
type Tick<'a> = (f64, f64, f64, &'a String);

/// Every mark of an axis, or every second, third …, so that the texts do not overlap.
fn thinned(ticks: Vec<Tick<'_>>) -> Vec<Tick<'_>> {
    let every = |step: usize| ticks.iter().step_by(step).copied().collect::<Vec<_>>();
    let fits = |ticks: &[Tick<'_>]| {
        let apart =
            |pair: &[Tick<'_>]| (pair[1].1 - pair[0].1).abs() >= pair[0].2 + pair[1].2 + 6.0;
        ticks.windows(2).all(apart)
    };
    let steps = (1..=ticks.len().max(1)).map(every);
    steps.into_iter().find(|ticks| fits(ticks)).unwrap_or_default()
}

fn series(marks: Marks, colour: usize, name: &str, placed: &[(f64, f64)], floor: f64) -> Markup {
    let (Some(first), Some(last)) = (placed.first(), placed.last()) else { return html! {} };
    if marks == Marks::Points {
        let mut dots = String::new();
        for (x, y) in placed {
            // Writing to a String cannot fail.
            let _ = write!(dots, "M{} {}h0", place(*x), place(*y));
        }
        let width = 2.0 * POINT;
        return html! { path class=(class(colour, "point")) stroke-width=(width) d=(dots) { title { (name) } } };
    }
    let line = path(placed, marks == Marks::Steps);
    let floor = place(floor);
    let filled = format!("{line}L{} {floor}L{} {floor}Z", place(last.0), place(first.0));
    html! {
        @if marks == Marks::Area {
            path class=(class(colour, "area")) d=(filled) { title { (name) } }
        }
        path class=(class(colour, "line")) d=(line) { title { (name) } }
    }
}

fn path(points: &[(f64, f64)], steps: bool) -> String {
    let mut line = String::new();
    for (nth, (x, y)) in points.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = match (nth, steps) {
            (0, _) => write!(line, "M{} {}", place(*x), place(*y)),
            (_, false) => write!(line, "L{} {}", place(*x), place(*y)),
            (_, true) => write!(line, "H{}V{}", place(*x), place(*y)),
        };
    }
    line
}
