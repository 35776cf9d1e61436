//! A diagram as plain text, within the width of a terminal if possible.
//!
//! # Contract
//! A diagram that fits into `WIDTH` columns is printed as a table. Otherwise columns become narrower, and a cell
//! extends into columns that are empty in its row; then places in the file that most notes name are shortened to
//! `@line`; then the part of a cell in parentheses goes to its own line. Nothing is left out: a diagram that is still
//! too wide stays too wide.

use super::{Diagram, Row};
use std::collections::BTreeMap;

/// Columns of a terminal.
pub(crate) const WIDTH: usize = 80;

/// The least width of a column.
const NARROWEST: usize = 3;

impl Diagram {
    /// The diagram in plain text, lines ending in `\n`.
    pub fn text(&self) -> String {
        self.text_after("")
    }

    /// The same, with `lead` before the title.
    pub(crate) fn text_after(&self, lead: &str) -> String {
        let whole = Table::fitting(self, &[false]);
        if whole.line_length() <= WIDTH {
            return whole.text(lead);
        }
        match self.shortened() {
            Some(shorter) => Table::fitting(&shorter, &[false, true]).text(lead),
            None => Table::fitting(self, &[false, true]).text(lead),
        }
    }

    /// The diagram with shorter places, if most of its notes name one file.
    fn shortened(&self) -> Option<Diagram> {
        let mut files: BTreeMap<&str, usize> = BTreeMap::new();
        for row in &self.rows {
            if let Some((file, _)) = row.note.split_once(".rs:") {
                *files.entry(file).or_default() += 1;
            }
        }
        let (file, _) = files.into_iter().max_by_key(|&(_, rows)| rows)?;
        let (long, mut shorter) = (format!("{file}.rs:"), self.clone());
        let cells =
            shorter.rows.iter_mut().flat_map(|row| row.cells.iter_mut().chain([&mut row.note]));
        let below = shorter.reasons.iter_mut().chain(&mut shorter.legend);
        for text in cells.chain(below).chain([&mut shorter.result]) {
            *text = text.replace(&long, "@");
        }
        shorter.legend.insert(0, format!("@n is line n of {file}.rs."));
        Some(shorter)
    }
}

/// The positions of the columns.
struct Table<'d> {
    diagram: &'d Diagram,
    widths: Vec<usize>,
    /// Width of the row numbers.
    digits: usize,
    /// Whether text in parentheses goes to its own line.
    folds: bool,
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Splits a cell before the part in parentheses, which may go to the next line.
fn parts(cell: &str) -> (&str, &str) {
    cell.find(" (").map_or((cell, ""), |at| (&cell[..at], &cell[at + 1..]))
}

impl<'d> Table<'d> {
    fn text(&self, lead: &str) -> String {
        let diagram = self.diagram;
        let mut out = String::new();
        for (at, line) in diagram.title.lines().enumerate() {
            out += &wrapped(if at == 0 { lead } else { "  " }, 4, line);
        }
        out += &self.head();
        for (at, row) in diagram.rows.iter().enumerate() {
            out += &self.row(at, row);
        }
        let below = [&diagram.result].into_iter().chain(&diagram.reasons);
        for line in below.filter(|line| !line.is_empty()) {
            out += &wrapped("  => ", 5, line);
        }
        for line in &diagram.legend {
            out += &wrapped("  ", 4, line);
        }
        out
    }

    /// The widest layout that fits; if none does, the narrowest.
    fn fitting(diagram: &'d Diagram, foldings: &[bool]) -> Table<'d> {
        let digits = if diagram.numbered { diagram.rows.len().to_string().len() + 2 } else { 0 };
        let natural = |column: usize| {
            let cells = diagram.rows.iter().map(|row| length(&row.cells[column]));
            cells.chain([length(&diagram.heads[column])]).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..diagram.heads.len()).map(natural).collect();
        let whole = Table { diagram, widths, digits, folds: false };
        if whole.line_length() <= WIDTH {
            return whole;
        }
        let widest = whole.widths.iter().copied().max().unwrap_or(0);
        let narrowed = foldings.iter().flat_map(|&folds| {
            let whole = &whole;
            (NARROWEST..widest).rev().map(move |most| {
                let least = |column| whole.least(column, folds);
                let narrow = |(column, &width): (usize, &usize)| width.min(most.max(least(column)));
                let widths = whole.widths.iter().enumerate().map(narrow).collect();
                Table { widths, folds, ..*whole }
            })
        });
        let mut last = None;
        for table in narrowed {
            let fits = table.line_length() <= WIDTH;
            last = Some(table);
            if fits {
                break;
            }
        }
        last.unwrap_or(whole)
    }

    /// The least width of a column: a cell to the left of another one in its row has to fit.
    fn least(&self, column: usize, folds: bool) -> usize {
        let is_left = |row: &&Row| row.cells[column + 1..].iter().any(|cell| !cell.is_empty());
        let shown = |row: &Row| {
            length(if folds { parts(&row.cells[column]).0 } else { &row.cells[column] })
        };
        let cells = self.diagram.rows.iter().filter(is_left).map(shown);
        cells.chain([length(&self.diagram.heads[column])]).max().unwrap_or(0)
    }

    /// Characters before the first cell.
    fn margin(&self) -> usize {
        2 + self.digits
    }

    /// The offset of a column within the table.
    fn begin(&self, column: usize) -> usize {
        self.widths[..column].iter().map(|width| width + 3).sum()
    }

    /// The width of the table: to the end of its last column, or of the cell that reaches furthest.
    fn table_length(&self) -> usize {
        let cells = self.diagram.rows.iter().flat_map(|row| row.cells.iter().enumerate());
        let ends = cells.filter(|(_, cell)| !cell.is_empty()).map(|(column, cell)| {
            let (first, rest) = self.folded(cell);
            self.begin(column) + length(first).max(length(rest))
        });
        let last = self.begin(self.widths.len()).saturating_sub(3);
        ends.chain([last]).max().unwrap_or(0)
    }

    fn line_length(&self) -> usize {
        let note = self.diagram.rows.iter().map(|row| length(&row.note)).max().unwrap_or(0);
        let gap = if note > 0 { 3 } else { 0 };
        self.margin() + self.table_length() + gap + note
    }

    fn folded<'c>(&self, cell: &'c str) -> (&'c str, &'c str) {
        if self.folds { parts(cell) } else { (cell, "") }
    }

    /// Cells in their columns; each extends as far as it must.
    fn cells<'c>(&self, cells: impl Iterator<Item = &'c str>) -> String {
        let mut line = String::new();
        for (column, cell) in cells.enumerate() {
            let begin = self.begin(column);
            if column > 0 && length(&line) + 3 <= begin {
                line += &" ".repeat(begin - 3 - length(&line));
                line += " | ";
            }
            if !cell.is_empty() {
                line += &" ".repeat(begin.saturating_sub(length(&line)));
                line += cell;
            }
        }
        let width = self.table_length();
        format!("{line:width$}")
    }

    fn head(&self) -> String {
        let margin = " ".repeat(self.margin());
        let heads = self.cells(self.diagram.heads.iter().map(String::as_str));
        let rule: Vec<_> = self.widths.iter().map(|&width| "-".repeat(width)).collect();
        format!("{}\n{margin}{}\n", format!("{margin}{heads}").trim_end(), rule.join("-+-"))
    }

    fn row(&self, at: usize, row: &Row) -> String {
        let (mark, digits) = (if row.marked { ">" } else { " " }, self.digits);
        let number = if self.diagram.numbered { self.diagram.number(at) } else { String::new() };
        let first = self.cells(row.cells.iter().map(|cell| self.folded(cell).0));
        let line = format!("{mark} {number:digits$}{first}   {}", row.note);
        let mut out = line.trim_end().to_owned() + "\n";
        if row.cells.iter().any(|cell| !self.folded(cell).1.is_empty()) {
            let rest = self.cells(row.cells.iter().map(|cell| self.folded(cell).1));
            out += &format!("{}{}\n", " ".repeat(self.margin()), rest.trim_end());
        }
        out
    }
}

/// Wraps a line of words to the width: the first line after `lead`, the others after `indent` spaces.
pub(crate) fn wrapped(lead: &str, indent: usize, text: &str) -> String {
    let mut out = lead.to_owned();
    let mut at = length(lead);
    for (number, word) in text.split(' ').enumerate() {
        if number > 0 && at + 1 + length(word) > WIDTH {
            out += "\n";
            out += &" ".repeat(indent);
            at = indent;
        } else if number > 0 {
            out += " ";
            at += 1;
        }
        out += word;
        at += length(word);
    }
    out + "\n"
}
