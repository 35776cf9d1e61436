//! A table of text with aligned columns, which drops its least important columns on a narrow terminal.
//!
//! # Contract
//! Words are aligned left, figures right. On a terminal every line is at most as wide as requested, unless the columns
//! that always stay are wider together. At most one column is elastic: it is cut, with an ellipsis, to the width that
//! the others leave. Markdown has all columns, and bars in cells are escaped.
//!
//! ```
//! use uncontended_figures::table::{Column, Paint, Table};
//! let mut table = Table::new(vec![Column::word("verdict"), Column::figure("runs")]);
//! table.row(["yes", "4,000"]);
//! assert_eq!(table.text(80, Paint::default()), "verdict   runs\nyes      4,000\n");
//! assert_eq!(table.markdown(), "| verdict | runs |\n|:--|--:|\n| yes | 4,000 |\n");
//! ```

use crate::text::{fit, fit_place, width};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Spaces between columns.
const GAP: usize = 2;
/// The width to which the elastic column is cut before other columns are dropped.
const ELASTIC_LEAST: usize = 24;
/// The width to which it is cut when no other column can be dropped.
const LEAST: usize = 8;

/// A column of a table.
#[derive(Debug, Clone)]
pub struct Column {
    group: &'static str,
    title: Cow<'static, str>,
    fit: Fit,
    goes: u8,
    least: usize,
}

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Left,
    Right,
    /// Left, and cut if the table is too wide.
    Elastic,
}

impl Column {
    const fn new(title: &'static str, fit: Fit) -> Column {
        Column { group: "", title: Cow::Borrowed(title), fit, goes: 0, least: ELASTIC_LEAST }
    }

    /// A column of words, aligned left.
    #[must_use]
    pub const fn word(title: &'static str) -> Column {
        Column::new(title, Fit::Left)
    }

    /// A column of figures, aligned right.
    #[must_use]
    pub const fn figure(title: &'static str) -> Column {
        Column::new(title, Fit::Right)
    }

    /// A column of words that is cut if the table is too wide; a file and line at the end stay.
    #[must_use]
    pub const fn elastic(title: &'static str) -> Column {
        Column::new(title, Fit::Elastic)
    }

    /// A column of figures with a title made at run time.
    #[must_use]
    pub fn titled(title: String) -> Column {
        Column { title: Cow::Owned(title), ..Column::figure("") }
    }

    /// Cuts the elastic column to less than `width` only when no other column can be dropped.
    #[must_use]
    pub const fn least(mut self, width: usize) -> Column {
        self.least = width;
        self
    }

    /// Puts the column into a group, whose name is shown above the titles of adjacent columns.
    #[must_use]
    pub const fn of(mut self, group: &'static str) -> Column {
        self.group = group;
        self
    }

    /// Drops the column if the table is too wide, the highest order first. A column with 0 always stays.
    #[must_use]
    pub const fn goes(mut self, order: u8) -> Column {
        self.goes = order;
        self
    }
}

/// Styles headings and rules with ANSI sequences, or not at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Paint {
    /// Whether to use ANSI sequences.
    pub colour: bool,
}

impl Paint {
    /// Emphasised text.
    #[must_use]
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    /// Dimmed text.
    #[must_use]
    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// A table: columns and rows.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(columns: Vec<Column>) -> Table {
        Table { columns, rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty, surplus cells are ignored.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// Removes the columns with this title, for example when every row has the same value.
    pub fn drop_column(&mut self, title: &str) {
        while let Some(at) = self.columns.iter().position(|column| column.title == title) {
            self.columns.remove(at);
            self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
    }

    /// The titles of the columns; a group's name precedes them.
    #[must_use]
    pub fn titles(&self) -> Vec<String> {
        let title = |column: &Column| format!("{} {}", column.group, column.title);
        self.columns.iter().map(|column| title(column).trim().to_owned()).collect()
    }

    /// The cells, by row, each with whether it is a figure.
    pub fn cells(&self) -> impl Iterator<Item = impl Iterator<Item = (&str, bool)>> {
        let is_figure = |at: usize| self.columns[at].fit == Fit::Right;
        let cell = move |(at, cell)| (String::as_str(cell), is_figure(at));
        self.rows.iter().map(move |row| row.iter().enumerate().map(cell))
    }

    /// The titles of the columns that it drops at this width.
    #[must_use]
    pub fn left_out(&self, limit: usize) -> Vec<String> {
        let (kept, _) = self.choose(self.natural(), limit);
        let titles = self.titles().into_iter().enumerate();
        titles.filter(|(at, _)| !kept.contains(at)).map(|(_, title)| title).collect()
    }

    /// The lines of the table, each ending in a line feed, at most `limit` columns wide.
    #[must_use]
    pub fn text(&self, limit: usize, paint: Paint) -> String {
        let (kept, widths) = self.choose(self.natural(), limit);
        let mut text = String::new();
        if kept.iter().any(|&at| !self.columns[at].group.is_empty()) {
            text.push_str(&paint.dim(self.groups(&kept, &widths).trim_end()));
            text.push('\n');
        }
        if self.columns.iter().any(|column| !column.title.is_empty()) {
            let titles = self.line(&kept, &widths, |at| &self.columns[at].title);
            text.push_str(&paint.dim(titles.trim_end()));
            text.push('\n');
        }
        for row in &self.rows {
            text.push_str(self.line(&kept, &widths, |at| &row[at]).trim_end());
            text.push('\n');
        }
        text
    }

    /// The table in Markdown; a group's name precedes the title.
    #[must_use]
    pub fn markdown(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = String>| {
            let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = line(&mut self.titles().into_iter());
        text.push('|');
        for column in &self.columns {
            text.push_str(if column.fit == Fit::Right { "--:|" } else { ":--|" });
        }
        text.push('\n');
        for row in &self.rows {
            text.push_str(&line(&mut row.iter().cloned()));
        }
        text
    }

    fn natural(&self) -> Vec<usize> {
        let of = |at: usize| {
            let cells = self.rows.iter().map(|row| width(&row[at]));
            cells.chain([width(&self.columns[at].title)]).max().unwrap_or(0)
        };
        (0..self.columns.len()).map(of).collect()
    }

    /// The columns that stay, and the widths of all columns.
    fn choose(&self, mut widths: Vec<usize>, limit: usize) -> (Vec<usize>, Vec<usize>) {
        let columns = &self.columns;
        let mut kept: Vec<usize> = (0..columns.len()).collect();
        let elastic = columns.iter().position(|column| column.fit == Fit::Elastic);
        loop {
            for run in self.runs(&kept) {
                // Under a group's name, the last column has room for the whole of it.
                let (last, needed) = (run[run.len() - 1], width(columns[run[0]].group));
                widths[last] += needed.saturating_sub(room(run, &widths));
            }
            let total = room(&kept, &widths);
            if total <= limit {
                return (kept, widths);
            }
            let slack = elastic.map_or(0, |at| widths[at].saturating_sub(columns[at].least));
            let may_go = kept.iter().copied().filter(|&at| columns[at].goes > 0);
            let go = may_go.max_by_key(|&at| columns[at].goes);
            match (elastic, go) {
                (Some(at), _) if total - slack <= limit => widths[at] -= total - limit,
                (_, Some(gone)) => kept.retain(|&at| at != gone),
                (Some(at), None) if widths[at] > LEAST => {
                    widths[at] = widths[at].saturating_sub(total - limit).max(LEAST);
                }
                _ => return (kept, widths),
            }
        }
    }

    /// Neighbouring columns of one group, together.
    fn runs<'k>(&self, kept: &'k [usize]) -> impl Iterator<Item = &'k [usize]> {
        kept.chunk_by(|&one, &next| self.columns[one].group == self.columns[next].group)
    }

    fn line<'a>(
        &self,
        kept: &[usize],
        widths: &[usize],
        cell: impl Fn(usize) -> &'a str,
    ) -> String {
        let mut text = String::new();
        for (nth, &at) in kept.iter().enumerate() {
            let cut = if self.columns[at].fit == Fit::Elastic { fit_place } else { fit };
            let cell = cut(cell(at), widths[at]);
            let pad = " ".repeat(widths[at].saturating_sub(width(&cell)));
            let gap = " ".repeat(if nth > 0 { GAP } else { 0 });
            // Writing to a String cannot fail.
            let _ = match self.columns[at].fit {
                Fit::Right => write!(text, "{gap}{pad}{cell}"),
                _ => write!(text, "{gap}{cell}{pad}"),
            };
        }
        text
    }

    /// The line above the titles: each group's name, with a rule over its columns.
    fn groups(&self, kept: &[usize], widths: &[usize]) -> String {
        let mut text = String::new();
        for run in self.runs(kept) {
            let group = self.columns[run[0]].group;
            let room = room(run, widths);
            if run[0] != kept[0] {
                text.push_str(&" ".repeat(GAP));
            }
            text.push_str(&if group.is_empty() { " ".repeat(room) } else { ruled(group, room) });
        }
        text
    }
}

/// The width of these columns side by side.
fn room(columns: &[usize], widths: &[usize]) -> usize {
    columns.iter().map(|&at| widths[at]).sum::<usize>() + GAP * columns.len().saturating_sub(1)
}

/// `name` centred in a rule of `room` columns.
fn ruled(name: &str, room: usize) -> String {
    let name = fit(name, room);
    let left = room.saturating_sub(width(&name));
    // A rule needs a space and a dash on both sides.
    if left < 4 {
        return format!("{}{name}", " ".repeat(left));
    }
    let (before, after) = (left.div_ceil(2), left / 2);
    format!("{} {name} {}", "─".repeat(before - 1), "─".repeat(after - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> Table {
        let mut table = Table::new(vec![
            Column::elastic("where"),
            Column::figure("total").of("wait"),
            Column::figure("longest").of("wait").goes(1),
            Column::figure("queue").goes(2),
        ]);
        table.row(["a_function_with_a_long_name", "1.23 s", "線程", "0.29"]);
        table
    }

    fn shown(limit: usize) -> String {
        made().text(limit, Paint::default())
    }

    #[test]
    fn the_elastic_column_is_cut_first_and_then_the_least_important_is_dropped() {
        assert_eq!(
            shown(60),
            "                             ───── wait ────\n\
             where                         total  longest  queue\n\
             a_function_with_a_long_name  1.23 s     線程   0.29\n"
        );
        let cut = shown(50);
        assert!(cut.contains("a_function_with_a_long_na…  1.23 s     線程   0.29\n"), "{cut}");
        assert!(made().left_out(50).is_empty() && made().left_out(34) == ["wait longest", "queue"]);
        let narrow = shown(34);
        assert!(
            narrow.contains("a_function_with_a_long_na…  1.23 s") && !narrow.contains("queue"),
            "{narrow}"
        );
        assert!(narrow.lines().all(|line| width(line) <= 34), "{narrow}");
        assert!(shown(3).contains("1.23 s"));
    }

    #[test]
    fn other_columns_go_before_an_elastic_one_is_cut_below_its_least() {
        let shown = |limit: usize| {
            let columns = [Column::figure("total").goes(1), Column::elastic("where").least(40)];
            let mut table = Table::new(columns.into());
            table.row(["1.23 s", "a_function_with_a_long_name queue.c:120"]);
            table.text(limit, Paint::default()).lines().nth(1).unwrap().to_owned()
        };
        assert_eq!(shown(47), "1.23 s  a_function_with_a_long_name queue.c:120");
        assert_eq!(shown(46), "a_function_with_a_long_name queue.c:120");
        assert_eq!(shown(38), "a_function_with_a_long_na… queue.c:120");
    }

    #[test]
    fn a_cut_place_keeps_its_file_and_line() {
        let shown = |limit: usize, text: &str| {
            let mut table = Table::new(vec![Column::elastic("where"), Column::figure("total")]);
            table.row([text, "1.23 s"]);
            let text = table.text(limit, Paint::default());
            text.lines().nth(1).unwrap().to_owned()
        };
        let place = "a_function_with_a_long_name queue.c:120";
        assert_eq!(shown(40, place), "a_function_with_a_l… queue.c:120  1.23 s");
        assert_eq!(shown(26, place), "a_fun… queue.c:120  1.23 s");
        assert_eq!(shown(25, place), "a_function_with_…  1.23 s");
        assert_eq!(
            shown(40, "a_function_with_a_long_name queue.c:x1"),
            "a_function_with_a_long_name que…  1.23 s"
        );
    }

    #[test]
    fn markdown_has_all_columns_and_escapes_bars() {
        let mut table =
            Table::new(vec![Column::word("command"), Column::figure("before").of("wait").goes(1)]);
        table.row(["a | b"]);
        assert_eq!(table.markdown(), "| command | wait before |\n|:--|--:|\n| a \\| b |  |\n");
        table.drop_column("before");
        assert_eq!(table.markdown(), "| command |\n|:--|\n| a \\| b |\n");
    }

    #[test]
    fn the_name_of_a_group_is_never_cut() {
        let columns =
            [Column::figure("own").of("switches"), Column::figure("forced").of("switches")];
        let mut table = Table::new(columns.map(|column| column.goes(1)).to_vec());
        table.row(["17", "0"]);
        assert_eq!(table.text(80, Paint::default()), "   switches\nown  forced\n 17       0\n");
        assert_eq!(table.text(8, Paint::default()), "switches\n     own\n      17\n");
    }

    #[test]
    fn a_table_without_titles_has_no_line_for_them() {
        let mut table = Table::new(vec![Column::word(""), Column::figure("")]);
        table.row(["yes", "1.00 %"]);
        table.row(["undecided", "99.0 %"]);
        assert_eq!(table.text(80, Paint::default()), "yes        1.00 %\nundecided  99.0 %\n");
    }
}
