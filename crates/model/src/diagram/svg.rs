//! The same table as a picture that needs nothing but itself.

use super::Diagram;
use std::fmt::Write as _;

/// Height of a row, in user units.
const ROW: usize = 26;
/// Width of a character of the monospaced font, in user units, rounded up.
const CHARACTER: usize = 8;

impl Diagram {
    /// The diagram as an SVG document. Colours follow the reader's light or dark setting.
    pub fn svg(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row.cells[column].chars().count());
            cells.chain([self.heads[column].chars().count(), 8]).max().unwrap_or(8) * CHARACTER + 32
        };
        let widths: Vec<_> = (0..self.heads.len()).map(width).collect();
        let note = self.title.chars().count().max(self.result.chars().count() + 3) * CHARACTER + 32;
        let columns = widths.iter().sum::<usize>();
        let beside = self.rows.iter().map(|row| row.note.chars().count()).max().unwrap_or(0);
        let beside = if beside == 0 { 0 } else { beside * CHARACTER + 32 };
        let total = (columns + beside).max(note);
        let height = (self.rows.len() + 4) * ROW;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {total} {height}\" width=\"{total}\" \
             height=\"{height}\" role=\"img\" font-family=\"ui-monospace, monospace\" font-size=\"13\">\n\
             <style>svg{{color-scheme:light dark}}text{{fill:light-dark(#1b1f24,#e6e6e6)}}\
             line{{stroke:light-dark(#b8c0c8,#555)}}rect{{fill:light-dark(#eef3f8,#22303c)}}\
             .mark{{fill:light-dark(#fde3d8,#5a2a18)}}.head{{font-weight:bold}}\
             .note{{opacity:.65}}</style>\n\
             <title>{0}</title>\n<text class=\"head\" x=\"16\" y=\"18\">{0}</text>\n",
            escaped(&self.title)
        );
        let mut left = 0;
        for (column, head) in self.heads.iter().enumerate() {
            let middle = left + widths[column] / 2;
            let bottom = (self.rows.len() + 2) * ROW + 8;
            let _ = writeln!(
                out,
                "<line x1=\"{middle}\" y1=\"{}\" x2=\"{middle}\" y2=\"{bottom}\"/>",
                2 * ROW
            );
            let _ = writeln!(
                out,
                "<text class=\"head\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                ROW + 18,
                escaped(head)
            );
            for (at, row) in
                self.rows.iter().enumerate().filter(|(_, row)| !row.cells[column].is_empty())
            {
                let cell = &row.cells[column];
                let wide = cell.chars().count() * CHARACTER + 16;
                let top = (at + 2) * ROW + 3;
                let class = if row.marked { " class=\"mark\"" } else { "" };
                let _ = writeln!(
                    out,
                    "<rect{class} x=\"{}\" y=\"{top}\" width=\"{wide}\" height=\"20\" rx=\"5\"/>\
                     <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                    middle - wide / 2,
                    top + 15,
                    escaped(cell)
                );
            }
            left += widths[column];
        }
        for (at, row) in self.rows.iter().enumerate().filter(|(_, row)| !row.note.is_empty()) {
            let (x, y) = (columns + 16, (at + 2) * ROW + 18);
            let _ = writeln!(
                out,
                "<text class=\"note\" x=\"{x}\" y=\"{y}\">{}</text>",
                escaped(&row.note)
            );
        }
        let _ =
            writeln!(out, "<text x=\"16\" y=\"{}\">{}</text>", height - 10, escaped(&self.result));
        out + "</svg>\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
