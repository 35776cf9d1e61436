//! Operations as a picture: a line for each, from its call to its return, time running to the right.
//!
//! # Contract
//! Time is not to scale: of the times that occur, each next one is one step to the right, so that what overlaps is seen
//! whatever took how long. The output depends on nothing but the picture.

use std::fmt::Write as _;

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    /// Whose it is.
    pub who: String,
    /// What was called, and what came back.
    pub what: String,
    /// When it was called.
    pub from: u64,
    /// When it returned, if it did.
    pub to: Option<u64>,
    /// More about it, such as its place in a file.
    pub note: String,
    /// It is there, but is not the point: drawn with dots.
    pub is_faint: bool,
}

/// Operations to be seen, in the order in which they are drawn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Picture {
    /// The operations.
    pub bars: Vec<Bar>,
}

/// Steps and heights of the drawing, in user units.
const STEP: usize = 44;
const ROW: usize = 30;
/// Columns behind the last time, for what did not return.
const TAIL: usize = 3;
/// Width of a character of the monospaced font, rounded up.
const CHARACTER: usize = 8;

impl Picture {
    /// The times that occur, ascending.
    fn times(&self) -> Vec<u64> {
        let both = |bar: &Bar| [Some(bar.from), bar.to];
        let mut times: Vec<u64> = self.bars.iter().flat_map(both).flatten().collect();
        times.sort_unstable();
        times.dedup();
        times
    }

    /// The steps at which a bar begins and ends.
    fn steps(bar: &Bar, times: &[u64]) -> (usize, Option<usize>) {
        let step = |time| times.partition_point(|other| *other < time);
        (step(bar.from), bar.to.map(step))
    }

    /// As text of at most `width` columns, if names and calls leave room for times.
    pub fn text(&self, width: usize) -> String {
        let times = self.times();
        let widest = |text: fn(&Bar) -> &String| {
            self.bars.iter().map(|bar| text(bar).chars().count()).max().unwrap_or(0)
        };
        let (who, what, note) =
            (widest(|bar| &bar.who), widest(|bar| &bar.what), widest(|bar| &bar.note));
        let room = width.saturating_sub(who + what + note + 8);
        let axis = room.clamp(times.len().clamp(8, 24), (4 * times.len()).max(8));
        // What did not return is seen to go on, even if it was called last.
        let last = axis - 1 - if self.bars.iter().all(|bar| bar.to.is_some()) { 0 } else { TAIL };
        let column = |step: usize| step * last / times.len().saturating_sub(1).max(1);
        let mut text = String::new();
        for bar in &self.bars {
            let (from, to) = Self::steps(bar, &times);
            let (from, to) = (column(from), to.map(column));
            let end = to.unwrap_or(axis - 1);
            let mut line = vec![' '; axis];
            line[from..=end].fill(if bar.is_faint { '.' } else { '-' });
            line[end] = if to.is_some() { '|' } else { '>' };
            line[from] = '|';
            let line: String = line.into_iter().collect();
            let row = format!("  {:who$}  {line}  {:what$}  {}", bar.who, bar.what, bar.note);
            let _ = writeln!(text, "{}", row.trim_end());
        }
        text
    }

    /// As an SVG element. Colours follow the reader's light or dark setting.
    pub fn svg(&self) -> String {
        let times = self.times();
        let widest = |text: fn(&Bar) -> &String| {
            self.bars.iter().map(|bar| text(bar).chars().count()).max().unwrap_or(0) * CHARACTER
        };
        let left = widest(|bar| &bar.who) + 16;
        let axis = times.len().max(2) * STEP;
        let labels = left + axis + 16;
        let notes = labels + widest(|bar| &bar.what) + 16;
        let (width, height) = (notes + widest(|bar| &bar.note) + 8, self.bars.len() * ROW + 8);
        let mut out = format!(
            "<svg class=\"operations\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" font-family=\"ui-monospace, monospace\" font-size=\"13\">\n\
             <style>.operations{{color-scheme:light dark;width:{width}px;height:{height}px;max-width:none}}.operations text{{fill:light-dark(#1b1f24,#e6e6e6)}}\
             .operations rect{{fill:light-dark(#2f6fb0,#6aa9e8)}}.operations .faint text{{opacity:.65}}.operations .faint rect{{fill:none;stroke:light-dark(#2f6fb0,#6aa9e8);stroke-width:2;stroke-dasharray:2 4}}\
             .operations line{{stroke:light-dark(#b8c0c8,#555);stroke-dasharray:2 4}}\
             .operations polygon{{fill:light-dark(#2f6fb0,#6aa9e8)}}.operations .note{{opacity:.65}}</style>\n\
             <title>Operations from call to return, time running to the right, not to scale</title>\n"
        );
        for step in 0..times.len() {
            let x = left + step * STEP + 8;
            let _ = writeln!(out, "<line x1=\"{x}\" y1=\"0\" x2=\"{x}\" y2=\"{height}\"/>");
        }
        for (at, bar) in self.bars.iter().enumerate() {
            let (from, to) = Self::steps(bar, &times);
            let (top, x) = (at * ROW + 8, left + from * STEP + 8);
            let end = to.map_or(left + axis - 8, |to| left + to * STEP + 8);
            let _ = write!(
                out,
                "<g{}><text x=\"8\" y=\"{base}\">{}</text>\
                 <rect x=\"{x}\" y=\"{top}\" width=\"{}\" height=\"16\" rx=\"3\"/>",
                if bar.is_faint { " class=\"faint\"" } else { "" },
                escaped(&bar.who),
                (end - x).max(4),
                base = top + 13,
            );
            if to.is_none() {
                let (bottom, tip, middle) = (top + 16, end + 12, top + 8);
                let _ =
                    write!(out, "<polygon points=\"{end},{top} {tip},{middle} {end},{bottom}\"/>");
            }
            let _ = writeln!(
                out,
                "<text x=\"{labels}\" y=\"{base}\">{}</text>\
                 <text class=\"note\" x=\"{notes}\" y=\"{base}\">{}</text></g>",
                escaped(&bar.what),
                escaped(&bar.note),
                base = top + 13,
            );
        }
        out + "</svg>\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{Bar, Picture};

    fn bar(who: &str, what: &str, from: u64, to: Option<u64>) -> Bar {
        let (who, what) = (who.to_owned(), what.to_owned());
        Bar { who, what, from, to, note: String::new(), is_faint: false }
    }

    #[test]
    fn what_overlaps_is_seen_and_what_never_returned_goes_on() {
        let bars = vec![
            bar("client 0", "enqueue 5", 10, Some(1000)),
            bar("client 1", "dequeue", 20, None),
            bar("client 0", "a < b", 2000, Some(2000)),
        ];
        let picture = Picture { bars };
        let expected = "  client 0  |-------|         enqueue 5\n  \
                          client 1      |---------->  dequeue\n  \
                          client 0              |     a < b\n";
        assert_eq!(picture.text(42), expected);
        let svg = picture.svg();
        assert_eq!(svg.matches("<polygon").count(), 1);
        assert!(svg.contains("a &lt; b"), "{svg}");
    }

    #[test]
    fn what_is_called_last_and_does_not_return_still_has_dots() {
        let late = Bar { is_faint: true, ..bar("b", "pop", 2000, None) };
        let picture = Picture { bars: vec![bar("a", "push 1", 10, Some(1000)), late] };
        let lines: Vec<String> = picture.text(42).lines().map(str::to_owned).collect();
        assert!(lines[1].contains("|..>"), "{lines:?}");
        assert!(picture.svg().contains("<g class=\"faint\">"));
    }
}
