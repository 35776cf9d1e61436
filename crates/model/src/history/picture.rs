//! Operations as a picture: one bar each, from call to return, time running to the right.
//!
//! # Contract
//! Time is not to scale: each distinct time is one step to the right of the one before, so that overlaps are visible
//! whatever the durations. The output depends only on the picture.

use std::fmt::Write as _;

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    /// The client.
    pub who: String,
    /// The call and its output.
    pub what: String,
    /// The time of the call.
    pub from: u64,
    /// The time of the return, if it returned.
    pub to: Option<u64>,
    /// A note, such as its place in a file.
    pub note: String,
    /// Whether it is only context: drawn with dots.
    pub is_faint: bool,
}

/// Operations in the order in which they are drawn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Picture {
    /// The operations.
    pub bars: Vec<Bar>,
    /// The unit of time, such as `us`; empty if it is not known.
    pub unit: String,
}

/// Steps and heights of the drawing, in user units. A row is a label and the bar below it.
const STEP: usize = 44;
const ROW: usize = 44;
const BAR: usize = 14;
/// The axis: a line for its label, and two for times.
const AXIS: usize = 58;
/// Columns after the last time, for operations that did not return.
const TAIL: usize = 3;
/// Width of a character of the monospaced font, rounded up.
const CHARACTER: usize = 8;
/// The least width: that of a page on a phone.
const LEAST: usize = 300;

impl Picture {
    /// The distinct times, ascending.
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

    /// The picture as text of at most `width` columns, if names and calls leave room for times.
    pub fn text(&self, width: usize) -> String {
        let times = self.times();
        let widest = |text: fn(&Bar) -> &String| {
            self.bars.iter().map(|bar| text(bar).chars().count()).max().unwrap_or(0)
        };
        let (who, what, note) =
            (widest(|bar| &bar.who), widest(|bar| &bar.what), widest(|bar| &bar.note));
        let room = width.saturating_sub(who + what + note + 8);
        let axis = room.clamp(times.len().clamp(8, 24), (4 * times.len()).max(8));
        // An operation that did not return extends to the right, even if it was called last.
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
        if let [first, .., last] = times[..] {
            // Both ends of the axis.
            let (start, end) = ("0", format!("+{}", last - first));
            let end_column = column(times.len() - 1) + 1;
            let gap = end_column.saturating_sub(start.len() + end.len()).max(1);
            let _ = writeln!(text, "  {:who$}  {start}{:gap$}{end}  {}", "", "", self.axis(&times));
        }
        text
    }

    /// The axis label: its start and its unit.
    fn axis(&self, times: &[u64]) -> String {
        let space = if self.unit.is_empty() { "" } else { " " };
        let first = times.first().copied().unwrap_or(0);
        format!("time from {first}{space}{}, not to scale", self.unit)
    }

    /// Ticks of an axis, relative to the first time: step, line (of two) and text. Ticks without room are left out.
    fn ticks(times: &[u64], left: usize) -> Vec<(usize, usize, String)> {
        let first = times.first().copied().unwrap_or(0);
        let mut ends = [0; 2];
        let mut ticks = Vec::new();
        for (step, time) in times.iter().enumerate() {
            let text = if step == 0 { "0".to_owned() } else { format!("+{}", time - first) };
            let (x, half) = (left + step * STEP, text.len() * CHARACTER / 2);
            let line =
                (0..2).find(|line| ends[*line] + CHARACTER <= (x + CHARACTER).saturating_sub(half));
            if let Some(line) = line {
                ends[line] = x + CHARACTER + half;
                ticks.push((x, line, text));
            }
        }
        ticks
    }

    /// The picture as an SVG element, at least 300 units wide. Colours follow the reader's light or dark setting.
    pub fn svg(&self) -> String {
        let times = self.times();
        let label = |bar: &Bar| match bar.note.is_empty() {
            true => format!("{}: {}", bar.who, bar.what),
            false => format!("{}: {} ({})", bar.who, bar.what, bar.note),
        };
        let left = 16;
        let labels = self.bars.iter().map(|bar| label(bar).chars().count() * CHARACTER).max();
        let end_of_axis = left + times.len().saturating_sub(1) * STEP;
        let is_open = self.bars.iter().any(|bar| bar.to.is_none());
        let end_of_bars = end_of_axis + if is_open { STEP } else { 0 };
        let last_time = times.last().map_or(0, |last| (last - times[0]).to_string().len() + 1);
        let width = [
            LEAST,
            labels.unwrap_or(0) + 8,
            end_of_bars + 20,
            end_of_axis + last_time * CHARACTER / 2 + 4,
        ];
        let width = width.into_iter().max().unwrap_or(LEAST);
        let bottom = self.bars.len() * ROW + 4;
        let height = bottom + AXIS;
        let mut out = format!(
            "<svg class=\"operations\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" font-family=\"ui-monospace, monospace\" font-size=\"13\">\n\
             <style>.operations{{color-scheme:light dark;width:{width}px;height:{height}px;max-width:none}}.operations text{{fill:light-dark(#1b1f24,#e6e6e6)}}\
             .operations rect{{fill:light-dark(#2f6fb0,#6aa9e8)}}.operations .faint text{{opacity:.65}}.operations .faint rect{{fill:none;stroke:light-dark(#2f6fb0,#6aa9e8);stroke-width:2;stroke-dasharray:2 4}}\
             .operations line{{stroke:light-dark(#b8c0c8,#555);stroke-dasharray:2 4}}\
             .operations polygon{{fill:light-dark(#2f6fb0,#6aa9e8)}}.operations .axis{{opacity:.75;font-size:12px}}</style>\n\
             <title>Operations from call to return, time running to the right, not to scale</title>\n"
        );
        for step in 0..times.len() {
            let x = left + step * STEP;
            let _ = writeln!(out, "<line x1=\"{x}\" y1=\"0\" x2=\"{x}\" y2=\"{bottom}\"/>");
        }
        for (at, bar) in self.bars.iter().enumerate() {
            let (from, to) = Self::steps(bar, &times);
            let (top, x) = (at * ROW + 22, left + from * STEP);
            let end = to.map_or(end_of_bars, |to| left + to * STEP);
            let _ = write!(
                out,
                "<g{}><text x=\"0\" y=\"{}\">{}</text>\
                 <rect x=\"{x}\" y=\"{top}\" width=\"{}\" height=\"{BAR}\" rx=\"3\"/>",
                if bar.is_faint { " class=\"faint\"" } else { "" },
                top - 5,
                escaped(&label(bar)),
                (end - x).max(4),
            );
            if to.is_none() {
                let (base, tip, middle) = (top + BAR, end + 12, top + BAR / 2);
                let _ =
                    write!(out, "<polygon points=\"{end},{top} {tip},{middle} {end},{base}\"/>");
            }
            out.push_str("</g>\n");
        }
        for (x, line, text) in Self::ticks(&times, left) {
            let y = bottom + 14 + line * 15;
            let _ = writeln!(
                out,
                "<text class=\"axis\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>"
            );
        }
        let _ = writeln!(
            out,
            "<text class=\"axis\" x=\"0\" y=\"{}\">{}</text>",
            bottom + AXIS - 8,
            escaped(&self.axis(&times))
        );
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
        let picture = Picture { bars, unit: "us".to_owned() };
        let expected = "  client 0  |-------|         enqueue 5\n  \
                          client 1      |---------->  dequeue\n  \
                          client 0              |     a < b\n            \
                                    0       +1990  time from 10 us, not to scale\n";
        assert_eq!(picture.text(42), expected);
        let svg = picture.svg();
        assert_eq!(svg.matches("<polygon").count(), 1);
        assert!(svg.contains("client 0: a &lt; b</text>"), "{svg}");
        for tick in [">0<", ">+10<", ">+990<", ">+1990<", ">time from 10 us, not to scale<"] {
            assert!(svg.contains(tick), "{tick} is not in {svg}");
        }
        assert!(svg.contains("viewBox=\"0 0 300 "), "a phone shows all of it: {svg}");
    }

    #[test]
    fn times_on_the_axis_never_overlap() {
        let times: Vec<u64> = (0..40).map(|at| at * at * 77_777).collect();
        let ticks = Picture::ticks(&times, 16);
        assert_eq!((ticks[0].2.as_str(), ticks[1].2.as_str()), ("0", "+77777"));
        assert!(ticks.len() > 20, "{ticks:?}");
        for line in 0..2 {
            let of_line: Vec<_> = ticks.iter().filter(|tick| tick.1 == line).collect();
            for pair in of_line.windows(2) {
                let halves = (pair[0].2.len() + pair[1].2.len()) * super::CHARACTER / 2;
                assert!(pair[1].0 - pair[0].0 >= halves, "{pair:?}");
            }
        }
    }

    #[test]
    fn what_is_called_last_and_does_not_return_still_has_dots() {
        let late = Bar { is_faint: true, ..bar("b", "pop", 2000, None) };
        let bars = vec![bar("a", "push 1", 10, Some(1000)), late];
        let picture = Picture { bars, unit: String::new() };
        let lines: Vec<String> = picture.text(42).lines().map(str::to_owned).collect();
        assert!(lines[1].contains("|..>"), "{lines:?}");
        assert!(picture.svg().contains("<g class=\"faint\">"));
    }
}
