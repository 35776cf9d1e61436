//! Curves, bands, points and rules on two axes.

use super::{Axis, escape, place};
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 26.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;

/// A chart under construction. Later marks lie over earlier ones.
#[derive(Debug, Clone)]
pub struct Chart {
    title: String,
    x: Axis,
    y: Axis,
    marks: String,
    /// Colour, whether it is faint, and name.
    legend: Vec<(usize, bool, String)>,
    /// Vertical rules so far.
    verticals: u32,
}

/// How the points of a series are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// Joined by straight lines.
    Line,
    /// Each value holds until the next.
    Steps,
    /// Alone.
    Points,
    /// Joined, and filled down to the x axis.
    Area,
}

impl Chart {
    /// An empty chart. The title is what a screen reader says.
    pub fn new(title: &str, x: Axis, y: Axis) -> Chart {
        let (title, marks, legend) = (title.to_owned(), String::new(), Vec::new());
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
        let title = format!("<title>{}</title>", escape(name));
        let colour_class = colour % 6;
        // Writing to a String cannot fail.
        if marks == Marks::Points {
            let _ = write!(self.marks, "<g class=\"c{colour_class} point\">{title}");
            for (x, y) in &placed {
                let _ = write!(
                    self.marks,
                    "<circle cx=\"{}\" cy=\"{}\" r=\"3\"/>",
                    place(*x),
                    place(*y)
                );
            }
            self.marks.push_str("</g>");
        } else if let (Some(first), Some(last)) = (placed.first(), placed.last()) {
            let line = path(&placed, marks == Marks::Steps);
            if marks == Marks::Area {
                let floor = place(HEIGHT - BOTTOM);
                let (from, to) = (place(first.0), place(last.0));
                let _ = write!(
                    self.marks,
                    "<path class=\"c{colour_class} area\" d=\"{line}L{to} {floor}L{from} {floor}Z\">{title}</path>"
                );
            }
            let _ = write!(
                self.marks,
                "<path class=\"c{colour_class} line\" d=\"{line}\">{title}</path>"
            );
        }
        if !name.is_empty() && !placed.is_empty() {
            self.legend.push((colour_class, false, name.to_owned()));
        }
        self
    }

    /// Shades the values of x from `low` to `high`.
    pub fn band(mut self, name: &str, colour: usize, low: f64, high: f64) -> Chart {
        if let (Some((from, _)), Some((to, _))) = (self.place_x(low), self.place_x(high)) {
            let _ = write!(
                self.marks,
                "<rect class=\"c{} band\" x=\"{}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
                colour % 6,
                place(from),
                place((to - from).max(1.0)),
                HEIGHT - TOP - BOTTOM,
                escape(name)
            );
            self.legend.push((colour % 6, true, name.to_owned()));
        }
        self
    }

    /// A vertical rule at `x` with its name next to it, below the names of the rules before it.
    pub fn at_x(mut self, name: &str, colour: usize, x: f64) -> Chart {
        if let Some((x, share)) = self.place_x(x) {
            let (anchor, text) = if share > 0.6 { ("end", x - 5.0) } else { ("start", x + 5.0) };
            let below = TOP + 12.0 + 15.0 * f64::from(self.verticals);
            self.rule(name, colour, [x, TOP, x, HEIGHT - BOTTOM], (text, below, anchor));
            self.verticals += 1;
        }
        self
    }

    /// A horizontal rule at `y` with its name above its left end, where curves seldom are.
    pub fn at_y(mut self, name: &str, colour: usize, y: f64) -> Chart {
        if let Some(share) = self.y.at(y) {
            let y = HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
            let text = if share > 0.9 { y + 13.0 } else { y - 5.0 };
            self.rule(name, colour, [LEFT, y, WIDTH - RIGHT, y], (LEFT + 4.0, text, "start"));
        }
        self
    }

    /// A dashed line through two points, where neither axis alone names it.
    pub fn guide(mut self, name: &str, colour: usize, from: (f64, f64), to: (f64, f64)) -> Chart {
        if let (Some(from), Some(to)) = (self.place(from.0, from.1), self.place(to.0, to.1)) {
            self.rule(name, colour, [from.0, from.1, to.0, to.1], (to.0 - 4.0, to.1 + 14.0, "end"));
        }
        self
    }

    /// The chart as an `<svg>` element.
    pub fn svg(&self) -> String {
        let mut svg = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>",
            escape(&self.title)
        );
        svg.push_str(&self.grid());
        svg.push_str(&self.marks);
        svg.push_str(&self.legend());
        svg.push_str("</svg>");
        svg
    }

    fn rule(
        &mut self,
        name: &str,
        colour: usize,
        line: [f64; 4],
        (x, y, anchor): (f64, f64, &str),
    ) {
        let [x1, y1, x2, y2] = line.map(place);
        let _ = write!(
            self.marks,
            "<g class=\"c{} rule\"><line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text></g>",
            colour % 6,
            place(x),
            place(y),
            escape(name)
        );
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

    fn grid(&self) -> String {
        let mut svg = String::from("<g class=\"grid\">");
        let floor = HEIGHT - BOTTOM;
        for (value, text) in self.x.ticks() {
            let Some((x, _)) = self.place_x(*value) else { continue };
            let _ = write!(
                svg,
                "<line x1=\"{0}\" y1=\"{TOP}\" x2=\"{0}\" y2=\"{floor}\"/><text x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">{2}</text>",
                place(x),
                floor + 16.0,
                escape(text)
            );
        }
        for (value, text) in self.y.ticks() {
            let Some(share) = self.y.at(*value) else { continue };
            let y = floor - share * (floor - TOP);
            let _ = write!(
                svg,
                "<line x1=\"{LEFT}\" y1=\"{0}\" x2=\"{1}\" y2=\"{0}\"/><text x=\"{2}\" y=\"{3}\" text-anchor=\"end\">{4}</text>",
                place(y),
                WIDTH - RIGHT,
                LEFT - 6.0,
                place(y + 4.0),
                escape(text)
            );
        }
        let _ = write!(
            svg,
            "<text class=\"label\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text class=\"label\" x=\"4\" y=\"12\">{}</text></g>",
            place((LEFT + WIDTH - RIGHT) / 2.0),
            HEIGHT - 8.0,
            escape(self.x.label()),
            escape(self.y.label())
        );
        svg
    }

    /// Names of the series, right-aligned above the chart.
    fn legend(&self) -> String {
        let mut svg = String::from("<g class=\"legend\">");
        let mut right = WIDTH - RIGHT;
        for (colour, faint, name) in self.legend.iter().rev() {
            let faint = if *faint { " faint" } else { "" };
            // The font is proportional: its average advance at this size.
            let text_width = 6.4 * uncontended_figures::text::width(name) as f64;
            right -= text_width;
            let _ = write!(svg, "<text x=\"{}\" y=\"16\">{}</text>", place(right), escape(name));
            right -= 16.0;
            let _ = write!(
                svg,
                "<rect class=\"c{colour} fill{faint}\" x=\"{}\" y=\"7\" width=\"11\" height=\"10\" rx=\"2\"/>",
                place(right)
            );
            right -= 14.0;
        }
        svg.push_str("</g>");
        svg
    }
}

fn path(points: &[(f64, f64)], steps: bool) -> String {
    let mut line = String::new();
    for (nth, (x, y)) in points.iter().enumerate() {
        let _ = match (nth, steps) {
            (0, _) => write!(line, "M{} {}", place(*x), place(*y)),
            (_, false) => write!(line, "L{} {}", place(*x), place(*y)),
            (_, true) => write!(line, "H{}V{}", place(*x), place(*y)),
        };
    }
    line
}
