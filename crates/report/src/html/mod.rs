//! Self-contained HTML pages: text, tables and charts, in light and dark, without any network request.
//!
//! # Contract
//! A page works without scripts; its one small script only sorts tables on a click. Text is escaped by type: only
//! [`Markup`] enters a page unchanged. Characters that control a terminal or reorder text are removed from the whole
//! page. Its content policy forbids every request, so even a missed escape could not load anything.
//! # Evidence
//! `tests/page.rs`: well-formed, self-contained, unaffected by hostile names.

mod bars;
mod flame;
mod run_page;
mod sections;
mod stacks;
mod timeline;

pub use run_page::run_page;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use uncontended_figures::text::clean;

const STYLE: &str = include_str!("style.css");
/// The longest word that is kept on one line, in bytes.
const SHORT: usize = 24;
const SCRIPT: &str = include_str!("sort.js");
/// Forbids every request.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// A page, built section by section.
#[derive(Debug, Clone)]
pub struct Page {
    title: String,
    body: Vec<Markup>,
}

impl Page {
    /// A page with this title as its heading, and a line of `facts` below it.
    pub fn new(title: &str, facts: &[String]) -> Page {
        let header = html! {
            header {
                h1 { (title) }
                p class="facts" { @for fact in facts { span { (fact) } " " } }
            }
        };
        Page { title: title.to_owned(), body: vec![header] }
    }

    /// Adds a line below the heading: the whole page in short.
    #[must_use]
    pub fn lead(mut self, text: &str) -> Page {
        self.body.push(html! { p class="lead" { (text) } });
        self
    }

    /// Adds content without a heading.
    #[must_use]
    pub fn part(mut self, content: &Markup) -> Page {
        self.body.push(html! { section { (content) } });
        self
    }

    /// Adds a section: heading, remark and content.
    #[must_use]
    pub fn section(mut self, heading: &str, remark: &str, content: &Markup) -> Page {
        self.body.push(html! {
            section {
                h2 { (heading) }
                @if !remark.is_empty() { p class="remark" { (remark) } }
                (content)
            }
        });
        self
    }

    /// Adds a section of text.
    #[must_use]
    pub fn words(self, heading: &str, remark: &str) -> Page {
        self.section(heading, remark, &html! {})
    }

    /// Adds a section with one of our pictures, SVG as text, at its own width.
    #[must_use]
    pub fn drawing(self, heading: &str, remark: &str, svg: &str) -> Page {
        self.section(heading, remark, &html! { div class="wide" { (PreEscaped(svg)) } })
    }

    /// The whole document.
    pub fn html(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    main { @for part in &self.body { (part) } }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        page.into_string().lines().map(|line| clean(line) + "\n").collect()
    }
}

/// One cell of a table: the text and, for numbers, the sort key.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    text: String,
    number: Option<f64>,
}

impl Cell {
    /// A word.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), number: None }
    }

    /// A figure, shown as `text` and sorted by `value`.
    pub fn figure(text: impl Into<String>, value: f64) -> Cell {
        Cell { text: text.into(), number: Some(value) }
    }

    /// A figure that this row does not have.
    pub fn none() -> Cell {
        Cell { text: "–".to_owned(), number: Some(-1.0) }
    }

    /// The cell with its column's heading, which a narrow screen shows before it.
    fn markup(&self, heading: &str) -> Markup {
        match self.number {
            Some(value) => html! { td class="n" data-h=(heading) data-v=(value) { (self.text) } },
            // A word may be as long as a C++ name; short ones keep to one line.
            None => {
                let class = (self.text.len() > SHORT).then_some("w");
                html! { td class=[class] data-h=(heading) { (self.text) } }
            }
        }
    }
}

/// A table whose columns sort on a click on their headings. Columns of figures are right-aligned. On a narrow screen,
/// each row is a block of its own, with the heading before each cell.
pub fn table(headings: &[&str], rows: &[Vec<Cell>]) -> Markup {
    let is_number = |column: usize| {
        rows.iter().any(|row| row.get(column).is_some_and(|cell| cell.number.is_some()))
    };
    html! {
        div class="wide" {
            table {
                thead {
                    tr {
                        @for (column, heading) in headings.iter().enumerate() {
                            th class=[is_number(column).then_some("n")] { (heading) }
                        }
                    }
                }
                tbody {
                    @for row in rows {
                        tr { @for (cell, heading) in row.iter().zip(headings) { (cell.markup(heading)) } }
                    }
                }
            }
        }
    }
}

/// A picture with its heading and a remark.
pub fn figure(heading: &str, remark: &str, picture: &Markup) -> Markup {
    html! {
        div {
            h3 { (heading) }
            (picture)
            @if !remark.is_empty() { p class="remark" { (remark) } }
        }
    }
}

/// Pictures side by side, or below each other where the page is too narrow.
pub fn side_by_side(figures: &[Markup]) -> Markup {
    html! { div class="pair" { @for figure in figures { (figure) } } }
}

/// Sentences, one per line, numbered if `ordered`.
pub fn list(sentences: &[String], ordered: bool) -> Markup {
    let lines = |sentence: &str| {
        html! {
            @for (nth, line) in sentence.split('\n').enumerate() { @if nth > 0 { br; } (prose(line)) }
        }
    };
    let items = html! { @for sentence in sentences { li { (lines(sentence)) } } };
    if ordered {
        html! { ol { (items) } }
    } else {
        html! { ul { (items) } }
    }
}

/// A sentence whose commands, between backticks, are set as such.
fn prose(sentence: &str) -> Markup {
    let parts: Vec<&str> = sentence.split('`').collect();
    // Without its partner, a backtick is one.
    if parts.len().is_multiple_of(2) {
        return html! { (sentence) };
    }
    html! {
        @for (nth, part) in parts.into_iter().enumerate() {
            @if nth % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
