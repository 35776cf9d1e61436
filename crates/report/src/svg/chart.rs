//! Curves, bands, points and rules on two axes.

use super::{Axis, class, line, picture, place, text};
use maud::{Markup, html};
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 316.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 26.0;
/// Room for the label of the y axis and, below it, the names of the series.
const TOP: f64 = 46.0;
const BOTTOM: f64 = 46.0;

/// A chart under construction. Later marks are drawn over earlier ones.
#[derive(Debug, Clone)]
pub struct Chart {
    title: String,
    x: Axis,
    y: Axis,
    marks: Vec<Markup>,
    /// Class and name.
    legend: Vec<(String, String)>,
    /// Vertical rules so far.
    verticals: u32,
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
        let (title, marks, legend) = (title.to_owned(), Vec::new(), Vec::new());
        Chart { title, x, y, marks, legend, verticals: 0 }
    }

    /// Adds a series in colour `colour` (0 to 5), named in the legend unless `name` is empty.
    pub fn series(
        mut self,
        name: &str,
        colour: usize,
        marks: Marks,
        points: &[(f64, f64)],
    ) -> Chart {
        let placed: Vec<(f64, f64)> =
            points.iter().filter_map(|&(x, y)| self.place(x, y)).collect();
        if marks == Marks::Points {
            self.marks.push(html! {
                g class=(class(colour, "point")) {
                    title { (name) }
                    @for &(x, y) in &placed { circle cx=(place(x)) cy=(place(y)) r="3" {} }
                }
            });
        } else if let (Some(first), Some(last)) = (placed.first(), placed.last()) {
            let line = path(&placed, marks == Marks::Steps);
            let floor = place(HEIGHT - BOTTOM);
            let filled = format!("{line}L{} {floor}L{} {floor}Z", place(last.0), place(first.0));
            self.marks.push(html! {
                @if marks == Marks::Area {
                    path class=(class(colour, "area")) d=(filled) { title { (name) } }
                }
                path class=(class(colour, "line")) d=(line) { title { (name) } }
            });
        }
        if !name.is_empty() && !placed.is_empty() {
            self.legend.push((class(colour, "fill"), name.to_owned()));
        }
        self
    }

    /// Shades the values of x from `low` to `high`.
    pub fn band(mut self, name: &str, colour: usize, low: f64, high: f64) -> Chart {
        if let (Some((from, _)), Some((to, _))) = (self.place_x(low), self.place_x(high)) {
            let (width, height) = ((to - from).max(1.0), HEIGHT - TOP - BOTTOM);
            self.marks.push(html! {
                rect class=(class(colour, "band")) x=(place(from)) y=(place(TOP)) width=(place(width))
                    height=(place(height)) { title { (name) } }
            });
            self.legend.push((class(colour, "fill faint"), name.to_owned()));
        }
        self
    }

    /// A vertical rule at `x` with its name next to it, below the names of earlier rules.
    pub fn at_x(mut self, name: &str, colour: usize, x: f64) -> Chart {
        if let Some((x, share)) = self.place_x(x) {
            let (anchor, text) = if share > 0.6 { ("end", x - 5.0) } else { ("start", x + 5.0) };
            let below = TOP + 12.0 + 15.0 * f64::from(self.verticals);
            self.rule(name, colour, [x, TOP, x, HEIGHT - BOTTOM], (text, below), anchor);
            self.verticals += 1;
        }
        self
    }

    /// A horizontal rule at `y` with its name above its left end, where curves are rare.
    pub fn at_y(mut self, name: &str, colour: usize, y: f64) -> Chart {
        if let Some(share) = self.y.at(y) {
            let y = HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
            let text = if share > 0.9 { y + 13.0 } else { y - 5.0 };
            self.rule(name, colour, [LEFT, y, WIDTH - RIGHT, y], (LEFT + 4.0, text), "start");
        }
        self
    }

    /// A dashed line through two points, for a rule on neither axis.
    pub fn guide(mut self, name: &str, colour: usize, from: (f64, f64), to: (f64, f64)) -> Chart {
        if let (Some(from), Some(to)) = (self.place(from.0, from.1), self.place(to.0, to.1)) {
            let ends = [from.0, from.1, to.0, to.1];
            self.rule(name, colour, ends, (to.0 - 4.0, to.1 + 14.0), "end");
        }
        self
    }

    /// The chart as an `<svg>` element.
    pub fn svg(&self) -> Markup {
        let content = html! { (self.grid()) @for mark in &self.marks { (mark) } (self.legend()) };
        picture("chart", (WIDTH, HEIGHT), &self.title, &content)
    }

    fn rule(&mut self, name: &str, colour: usize, ends: [f64; 4], at: (f64, f64), anchor: &str) {
        self.marks.push(html! {
            g class=(class(colour, "rule")) { (line(ends)) (text(at, anchor, name)) }
        });
    }

    fn place_x(&self, x: f64) -> Option<(f64, f64)> {
        let share = self.x.at(x)?;
        Some((LEFT + share * (WIDTH - LEFT - RIGHT), share))
    }

    fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (x, _) = self.place_x(x)?;
        let share = self.y.at(y)?;
        Some((x, HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)))
    }

    fn grid(&self) -> Markup {
        let floor = HEIGHT - BOTTOM;
        let across = self.x.ticks().iter().filter_map(|(value, name)| {
            let (x, _) = self.place_x(*value)?;
            let name = text((x, floor + 16.0), "middle", name);
            Some(html! { (line([x, TOP, x, floor])) (name) })
        });
        let up = self.y.ticks().iter().filter_map(|(value, name)| {
            let y = floor - self.y.at(*value)? * (floor - TOP);
            let name = text((LEFT - 6.0, y + 4.0), "end", name);
            Some(html! { (line([LEFT, y, WIDTH - RIGHT, y])) (name) })
        });
        html! {
            g class="grid" {
                @for tick in across.chain(up) { (tick) }
                g class="label" {
                    (text(((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8.0), "middle", self.x.label()))
                    (text((4.0, 14.0), "start", self.y.label()))
                }
            }
        }
    }

    /// Names of the series, right-aligned above the chart: one text, since its font is larger on a narrow page.
    fn legend(&self) -> Markup {
        html! {
            text class="legend" x=(place(WIDTH - RIGHT)) y="33" text-anchor="end" {
                @for (class, name) in &self.legend { tspan class=(class) dx="14" { "■" } tspan dx="5" { (name) } }
            }
        }
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
