//! A two-sided flame graph: columns with a stack upwards and a stack downwards from a middle row.

use super::{class, picture, place};
use maud::{Markup, html};
use uncontended_figures::text::fit;

const WIDTH: f64 = 1000.0;
const ROW: f64 = 18.0;
/// Rows on each side of the middle.
const FRAMES: usize = 10;
/// Width of a character.
const CHARACTER: f64 = 6.6;

/// One column. Neighbours with the same frames from the middle on share them.
#[derive(Debug, Clone)]
pub struct Column {
    /// What is in the middle.
    pub middle: String,
    /// The frames upwards from there.
    pub above: Vec<String>,
    /// The frames downwards from there.
    pub below: Vec<String>,
    /// The colour of those, 0 to 5.
    pub colour: usize,
    /// Its width, relative to the others.
    pub weight: f64,
}

/// Neighbouring columns with the same frame in one row.
struct Cell<'a> {
    column: &'a Column,
    name: &'a str,
    from: f64,
    to: f64,
}

/// A side of the columns.
type Side = fn(&Column) -> &[String];

/// The columns as an `<svg>` element that screen readers announce as `title`; `print` prints a weight.
pub fn flame(title: &str, columns: &[Column], print: impl Fn(f64) -> String) -> Markup {
    let columns: Vec<&Column> =
        columns.iter().filter(|column| column.weight.is_finite() && column.weight > 0.0).collect();
    let total: f64 = columns.iter().map(|column| column.weight).sum();
    let (above, below): (Side, Side) = (|column| &column.above, |column| &column.below);
    let rows = |side: Side| columns.iter().map(|column| side(column).len().min(FRAMES)).max();
    let (up, down) = (rows(above).unwrap_or(0), rows(below).unwrap_or(0));
    let row = |nth: usize, side: Side, depth: usize, colour: &dyn Fn(&Column) -> usize| {
        let top = ROW * nth as f64;
        let cells = cells(&columns, side, depth);
        let scale = |weight: f64| weight / total * WIDTH;
        html! {
            @for cell in &cells {
                @let (x, width) = (scale(cell.from), scale(cell.to - cell.from));
                (one(cell.name, [x, top, width], colour(cell.column), &print(cell.to - cell.from)))
            }
        }
    };
    let content = html! {
        @for depth in (1..=up).rev() { (row(up - depth, above, depth, &|_| 0)) }
        (row(up, above, 0, &|_| 3))
        @for depth in 1..=down { (row(up + depth, below, depth, &|column| column.colour)) }
    };
    picture("flame", (WIDTH, ROW * (up + 1 + down) as f64), title, &content)
}

/// The cells at `depth` of a side; depth 0 is the middle.
fn cells<'a>(columns: &[&'a Column], side: Side, depth: usize) -> Vec<Cell<'a>> {
    let mut cells: Vec<Cell<'a>> = Vec::new();
    let mut from = 0.0;
    for &column in columns {
        let to = from + column.weight;
        let frames = side(column).get(..depth);
        let name = if depth == 0 { Some(&column.middle) } else { side(column).get(depth - 1) };
        let is_same = |cell: &&mut Cell<'_>| {
            let (other, frames) = (cell.column, frames);
            cell.to == from && other.middle == column.middle && side(other).get(..depth) == frames
        };
        match (name, cells.last_mut().filter(is_same)) {
            (Some(_), Some(cell)) => cell.to = to,
            (Some(name), None) => cells.push(Cell { column, name, from, to }),
            (None, _) => {}
        }
        from = to;
    }
    cells
}

fn one(name: &str, [x, top, width]: [f64; 3], colour: usize, weight: &str) -> Markup {
    let columns = ((width - 8.0) / CHARACTER).max(0.0) as usize;
    html! {
        g {
            title { (name) ": " (weight) }
            rect class=(class(colour, "fill")) x=(place(x)) y=(place(top)) width=(place((width - 1.0).max(0.5)))
                height=(place(ROW - 1.0)) rx="1.5" {}
            @if columns >= 3 {
                text x=(place(x + 4.0)) y=(place(top + 13.0)) { (fit(name, columns)) }
            }
        }
    }
}
