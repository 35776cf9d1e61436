//! A diagram as a self-contained SVG picture.

use super::{Arrow, Diagram, Row};
use std::fmt::Write as _;

/// Height of a row, in user units.
const ROW: usize = 26;
/// Width of a character of the monospaced font, in user units, rounded up.
const CHARACTER: usize = 8;
/// Characters per line of text that has no width limit.
const LINE: usize = 72;

const STYLE: &str = "svg{color-scheme:light dark}text{fill:light-dark(#1b1f24,#e6e6e6)}\
    line{stroke:light-dark(#b8c0c8,#555)}rect{fill:light-dark(#eef3f8,#22303c)}\
    .mark{fill:light-dark(#fde3d8,#5a2a18)}.head{font-weight:bold}\
    .note{opacity:.65}";
const ARROW_STYLE: &str = "path{fill:none;stroke:light-dark(#8a5a00,#e0b050);stroke-width:1.4;stroke-dasharray:4 3}\
    .orders{stroke:light-dark(#1f6f3f,#6fca94);stroke-dasharray:none}\
    marker path{fill:light-dark(#8a5a00,#e0b050);stroke:none}\
    marker .orders{fill:light-dark(#1f6f3f,#6fca94)}";
const MARKERS: &str = "<defs><marker id=\"reads\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" \
    markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker>\
    <marker id=\"orders\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
    orient=\"auto\"><path class=\"orders\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n";

/// Coordinates of the drawing.
struct Layout {
    /// Middle of each column.
    middles: Vec<usize>,
    /// Right end of the columns.
    columns: usize,
    title: Vec<String>,
    below: Vec<String>,
    legend: Vec<String>,
    width: usize,
    height: usize,
}

impl Layout {
    fn new(diagram: &Diagram) -> Layout {
        let longest = |lines: &[String]| lines.iter().map(|line| width(line)).max().unwrap_or(0);
        let column = |at: usize| {
            let cells = diagram.rows.iter().map(|row| width(&row.cells[at]));
            cells.chain([width(&diagram.heads[at]), 8]).max().unwrap_or(8) * CHARACTER + 32
        };
        let mut columns = if diagram.numbered { 48 } else { 0 };
        let mut middles = Vec::new();
        for at in 0..diagram.heads.len() {
            middles.push(columns + column(at) / 2);
            columns += column(at);
        }
        let notes = diagram.rows.iter().map(|row| width(&row.note)).max().unwrap_or(0);
        let table = columns + if notes == 0 { 0 } else { notes * CHARACTER + 32 };
        let room = if diagram.numbered { LINE.max(table / CHARACTER) } else { usize::MAX };
        let title: Vec<_> = diagram.title.lines().flat_map(|line| wrapped(line, room)).collect();
        let below = [&diagram.result].into_iter().chain(&diagram.reasons);
        let below: Vec<_> = below.flat_map(|line| wrapped(line, room)).collect();
        let legend: Vec<_> = diagram.legend.iter().flat_map(|line| wrapped(line, room)).collect();
        let text = longest(&title).max(longest(&below) + 3).max(longest(&legend)) * CHARACTER + 32;
        let arrows = usize::from(!diagram.arrows.is_empty());
        let under = below.len().max(1) + arrows + legend.len();
        let lines = title.len() + diagram.rows.len() + under + 2;
        let (width, height) = (table.max(text), lines * ROW);
        Layout { middles, columns, title, below, legend, width, height }
    }

    /// Top of a row; row 0 has the heads.
    fn top(&self, row: usize) -> usize {
        (self.title.len() + row) * ROW
    }
}

impl Diagram {
    /// The diagram as an SVG document. Colours follow the reader's light or dark setting.
    pub fn svg(&self) -> String {
        let layout = Layout::new(self);
        let Layout { width, height, .. } = layout;
        let arrows = if self.arrows.is_empty() { "" } else { ARROW_STYLE };
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" font-family=\"ui-monospace, monospace\" font-size=\"13\">\n\
             <style>{STYLE}{arrows}</style>\n<title>{}</title>\n",
            escaped(self.heading())
        );
        for (at, line) in layout.title.iter().enumerate() {
            let y = at * ROW + 18;
            let _ =
                writeln!(out, "<text class=\"head\" x=\"16\" y=\"{y}\">{}</text>", escaped(line));
        }
        self.svg_columns(&layout, &mut out);
        self.svg_arrows(&layout, &mut out);
        self.svg_rows(&layout, &mut out);
        let under = layout.legend.len() + usize::from(!self.arrows.is_empty());
        for (at, line) in layout.below.iter().rev().enumerate() {
            let y = height - 10 - (at + under) * ROW;
            let _ = writeln!(out, "<text x=\"16\" y=\"{y}\">{}</text>", escaped(line));
        }
        for (at, line) in layout.legend.iter().rev().enumerate() {
            let y = height - 10 - at * ROW;
            let line = escaped(line);
            let _ = writeln!(out, "<text class=\"note\" x=\"16\" y=\"{y}\">{line}</text>");
        }
        out + "</svg>\n"
    }

    fn svg_columns(&self, layout: &Layout, out: &mut String) {
        let (top, bottom) = (layout.top(1), layout.top(self.rows.len() + 1) + 8);
        for (middle, head) in layout.middles.iter().zip(&self.heads) {
            let _ = writeln!(
                out,
                "<line x1=\"{middle}\" y1=\"{top}\" x2=\"{middle}\" y2=\"{bottom}\"/>\n\
                 <text class=\"head\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                top - 8,
                escaped(head)
            );
        }
    }

    fn svg_rows(&self, layout: &Layout, out: &mut String) {
        for (at, row) in self.rows.iter().enumerate() {
            let top = layout.top(at + 1) + 3;
            let class = if row.marked { " class=\"mark\"" } else { "" };
            if self.numbered {
                let number = self.number(at);
                let _ = writeln!(
                    out,
                    "<text class=\"note\" x=\"16\" y=\"{}\">{number}</text>",
                    top + 15
                );
            }
            for (middle, cell) in
                layout.middles.iter().zip(&row.cells).filter(|(_, cell)| !cell.is_empty())
            {
                let wide = box_width(cell);
                let _ = writeln!(
                    out,
                    "<rect{class} x=\"{}\" y=\"{top}\" width=\"{wide}\" height=\"20\" rx=\"5\"/>\
                     <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                    middle - wide / 2,
                    top + 15,
                    escaped(cell)
                );
            }
            if !row.note.is_empty() {
                let _ = writeln!(
                    out,
                    "<text class=\"note\" x=\"{}\" y=\"{}\">{}</text>",
                    layout.columns + 16,
                    top + 15,
                    escaped(&row.note)
                );
            }
        }
    }

    fn svg_arrows(&self, layout: &Layout, out: &mut String) {
        if self.arrows.is_empty() {
            return;
        }
        *out += MARKERS;
        let column = |row: &Row| row.cells.iter().position(|cell| !cell.is_empty());
        for &Arrow { from, to, orders } in &self.arrows {
            let (Some(one), Some(other)) = (column(&self.rows[from]), column(&self.rows[to]))
            else {
                continue;
            };
            if one == other {
                continue;
            }
            let half = |row: usize, at: usize| box_width(&self.rows[row].cells[at]) / 2;
            let (start, end) = if one < other {
                (layout.middles[one] + half(from, one), layout.middles[other] - half(to, other))
            } else {
                (layout.middles[one] - half(from, one), layout.middles[other] + half(to, other))
            };
            let (begin, finish) = (layout.top(from + 1) + 13, layout.top(to + 1) + 13);
            let _ = writeln!(out, "{}", arrow((start, begin), (end, finish), orders));
        }
        let y = layout.height - 14 - layout.legend.len() * ROW;
        let mut x = 16;
        for (orders, told) in [(true, "orders"), (false, "is read from, orders nothing")] {
            if self.arrows.iter().any(|arrow| arrow.orders == orders) {
                let sample = arrow((x, y), (x + 32, y), orders);
                let (x_text, y_text) = (x + 40, y + 4);
                let _ = writeln!(
                    out,
                    "{sample}<text class=\"note\" x=\"{x_text}\" y=\"{y_text}\">{told}</text>"
                );
                x += 144;
            }
        }
    }
}

/// A curve that leaves and arrives horizontally.
fn arrow((x1, y1): (usize, usize), (x2, y2): (usize, usize), orders: bool) -> String {
    let middle = usize::midpoint(x1, x2);
    let (class, marker) = if orders { (" class=\"orders\"", "orders") } else { ("", "reads") };
    format!(
        "<path{class} d=\"M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}\" marker-end=\"url(#{marker})\"/>"
    )
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// The width of the picture, in user units.
pub(super) fn picture_width(diagram: &Diagram) -> usize {
    Layout::new(diagram).width
}

fn box_width(cell: &str) -> usize {
    width(cell) * CHARACTER + 16
}

/// Wraps text to lines of at most `room` characters, broken between words.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= room => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
