//! One self-contained page: text, tables and charts, in light and dark, without a request to anywhere.
//!
//! # Contract
//! A page works without scripts; the one small script it carries only lets tables be sorted by a click. Everything that
//! came from outside is escaped. The content policy in the page forbids every request, so that a missed escape could
//! not load anything either.
//! # Evidence
//! `tests/page.rs`: well-formed, self-contained, hostile names harmless.

mod run_page;
mod sections;
mod stacks;
mod timeline;

pub use run_page::run_page;

use crate::svg::escape;
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");
/// The longest word that is never broken, in bytes.
const SHORT: usize = 24;
const SCRIPT: &str = include_str!("sort.js");

/// A page under construction, section by section.
#[derive(Debug, Clone)]
pub struct Page {
    title: String,
    body: String,
}

impl Page {
    /// A page with this title as its heading, and below it a line of `facts`.
    pub fn new(title: &str, facts: &[String]) -> Page {
        let facts: Vec<String> =
            facts.iter().map(|fact| format!("<span>{}</span>", escape(fact))).collect();
        let body = format!(
            "<header><h1>{}</h1><p class=\"facts\">{}</p></header>",
            escape(title),
            facts.join(" ")
        );
        Page { title: title.to_owned(), body }
    }

    /// Adds a section: heading and remark as text, the rest as HTML made by this crate.
    #[must_use]
    pub fn section(mut self, heading: &str, remark: &str, html: &str) -> Page {
        let remark = if remark.is_empty() {
            String::new()
        } else {
            format!("<p class=\"remark\">{}</p>", escape(remark))
        };
        // Writing to a String cannot fail.
        let _ = write!(self.body, "<section><h2>{}</h2>{remark}{html}</section>", escape(heading));
        self
    }

    /// The whole document.
    pub fn html(&self) -> String {
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\">\
             <title>{}</title><style>{STYLE}</style></head><body><main>{}</main><script>{SCRIPT}</script></body></html>\n",
            escape(&self.title),
            self.body
        )
    }
}

/// One cell of a table: what is shown and, for numbers, what it is sorted by.
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
}

/// A table whose columns are sorted by a click on their headings. Columns of figures stand to the right.
pub fn table(headings: &[&str], rows: &[Vec<Cell>]) -> String {
    let is_number = |column: usize| {
        rows.iter().any(|row| row.get(column).is_some_and(|cell| cell.number.is_some()))
    };
    let mut html = String::from("<div class=\"wide\"><table><thead><tr>");
    for (column, heading) in headings.iter().enumerate() {
        let class = if is_number(column) { " class=\"n\"" } else { "" };
        let _ = write!(html, "<th{class}>{}</th>", escape(heading));
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows {
        html.push_str("<tr>");
        for cell in row {
            let _ = match cell.number {
                Some(value) => {
                    write!(html, "<td class=\"n\" data-v=\"{value}\">{}</td>", escape(&cell.text))
                }
                // A word may be as long as a C++ name; short ones keep to one line.
                None if cell.text.len() > SHORT => {
                    write!(html, "<td class=\"w\">{}</td>", escape(&cell.text))
                }
                None => write!(html, "<td>{}</td>", escape(&cell.text)),
            };
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

/// Sentences, one under the other, numbered where `ordered`.
pub fn list(sentences: &[String], ordered: bool) -> String {
    let tag = if ordered { "ol" } else { "ul" };
    let items: String =
        sentences.iter().map(|sentence| format!("<li>{}</li>", escape(sentence))).collect();
    format!("<{tag}>{items}</{tag}>")
}
