//! Quotes: a page that names a table of `compare/tables` has its figures from there, rounded.
//!
//! # Contract
//! Of a paragraph, an item of a list or a row of a table that names a table as `` `r1_stream` ``, each number with a
//! decimal point is, to as many digits, one in a file of `compare/tables` whose name begins so. A row that names none
//! takes the names of the paragraph before its table. The first cell of a row is its name, and not looked at.

use super::complaint;
use super::source::Source;
use std::collections::BTreeMap;
use std::ops::Range;

const FOLDER: &str = "compare/tables/";

/// Complaints about the pages, some of which are the tables.
pub(crate) fn check(pages: &[Source]) -> Vec<String> {
    let tables: BTreeMap<&str, Vec<f64>> = pages
        .iter()
        .filter_map(|page| {
            Some((name(&page.path)?, numbers(&page.text).filter_map(value).collect()))
        })
        .collect();
    let others = pages.iter().filter(|page| name(&page.path).is_none());
    others.flat_map(|page| unquoted(page, &tables)).collect()
}

/// The name of a table, without its ending.
fn name(path: &str) -> Option<&str> {
    path.strip_prefix(FOLDER)?.strip_suffix(".md")
}

/// Figures of a page that no table has which it names next to them.
fn unquoted(page: &Source, tables: &BTreeMap<&str, Vec<f64>>) -> Vec<String> {
    let lines: Vec<&str> = page.text.lines().collect();
    let blocks = blocks(&lines);
    let mut complaints = Vec::new();
    for (nth, block) in blocks.iter().enumerate() {
        let text = lines[block.clone()].join("\n");
        let is_row = text.starts_with('|');
        let mut named = named(&text, tables);
        if named.is_empty() && is_row {
            let is_text = |block: &&Range<usize>| !lines[block.start].starts_with('|');
            let before = blocks[..nth].iter().rev().find(is_text);
            named = before.map_or_else(Vec::new, |block| {
                self::named(&lines[block.clone()].join("\n"), tables)
            });
        }
        let text = if is_row { text.splitn(3, '|').nth(2).unwrap_or("") } else { &text };
        let is_missing = |figure: &&str| {
            let all = named.iter().flat_map(|name| &tables[name]);
            !named.is_empty() && !all.into_iter().any(|&there| is_rounded(figure, there))
        };
        let figures =
            numbers(text).filter(|figure| figure.contains('.') && value(figure).is_some());
        complaints.extend(figures.filter(is_missing).map(|figure| {
            let what = format!(
                "{figure} is in none of the tables that are named here: {}",
                named.join(", ")
            );
            complaint(page, block.start + 1, what)
        }));
    }
    complaints
}

/// The lines of each paragraph, item of a list and row of a table.
fn blocks(lines: &[&str]) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    for (nth, line) in lines.iter().enumerate() {
        let begins = ["- ", "|", "#", "    "].iter().any(|start| line.starts_with(start));
        match blocks.last_mut() {
            _ if line.trim().is_empty() => {}
            Some(last) if last.end == nth && !begins => last.end = nth + 1,
            _ => blocks.push(nth..nth + 1),
        }
    }
    blocks
}

/// The tables whose names begin as a word between backticks.
fn named<'t>(text: &str, tables: &BTreeMap<&'t str, Vec<f64>>) -> Vec<&'t str> {
    let words: Vec<&str> =
        text.split('`').skip(1).step_by(2).flat_map(str::split_whitespace).collect();
    let is_named =
        |table: &&&str| words.iter().any(|word| word.contains('_') && table.starts_with(word));
    tables.keys().filter(is_named).copied().collect()
}

/// Runs of digits, points and commas.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let runs = text.split(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    runs.map(|run| run.trim_matches(['.', ','])).filter(|run| !run.is_empty())
}

/// Nothing for what is not a number, such as a version.
fn value(number: &str) -> Option<f64> {
    number.replace(',', "").parse().ok()
}

/// Whether a figure is this number to its digits.
fn is_rounded(figure: &str, number: f64) -> bool {
    let digits = figure.split_once('.').map_or(0, |(_, digits)| digits.len());
    let half = 0.5 / 10f64.powi(digits as i32);
    value(figure).is_some_and(|figure| (figure - number).abs() <= half * (1.0 + 1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(page: &str) -> Vec<String> {
        let table = "| ours | 1.046 [0.957, 1.09] | 1,054.26 |\n";
        check(&[Source::new("compare/tables/r1_stream.md", table), Source::new("README.md", page)])
    }

    #[test]
    fn figures_are_those_of_the_tables_that_are_named() {
        assert_eq!(
            told("As `r1_stream` has it, 1.05 [0.96, 1.1], and\n1,054.3; not 2 or 0.4.1."),
            [""; 0]
        );
        let wrong = told("# A\n\nAs `r1_stream` has it,\n1.04 times.\n\nElsewhere 7.5.");
        let [wrong] = &wrong[..] else { panic!("{wrong:?}") };
        assert!(wrong.starts_with("README.md:3: 1.04 is in none"), "{wrong}");
        assert_eq!(told("- `r1_stream`: 1.0\n- 7.5 times\n").len(), 0);
    }

    #[test]
    fn rows_have_the_names_before_their_table() {
        let text = "`r1_stream --markdown`:\n\n| 9.9 | 1.05 |\n";
        assert_eq!(told(text), [""; 0]);
        assert_eq!(told(&text.replace("1.05", "1.06")).len(), 1);
    }
}
