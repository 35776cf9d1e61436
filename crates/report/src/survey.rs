//! A survey as one self-contained page: the pictures that people look for first, then every table.

mod heavy_fences;
mod pictures;

use crate::html::{Cell, Page, list, table};
use crate::terminal::date;
use maud::{Markup, html};
use uncontended_figures::read::Quantity;
use uncontended_figures::table::Table;
use uncontended_survey::{FOUND_ON, Machine, Survey, Topic, in_short, tables};

/// The survey as one document.
#[must_use]
pub fn page(survey: &Survey) -> String {
    let facts = survey.machine.lines().into_iter().take(2);
    let facts = facts.map(|(name, fact)| format!("{name}: {fact}"));
    let at = format!("{} UTC, by version {}", date(survey.started_unix_s), survey.version);
    let command = (!survey.command.is_empty()).then(|| survey.command.join(" "));
    let facts: Vec<String> = facts.chain([at]).chain(command).collect();
    let page = Page::new("What contention costs on this machine", &facts);
    let add = |page: Page, topic: &Topic| {
        let question = format!("{}?", topic.question);
        page.section(topic.topic, &question, &body(topic, &survey.machine))
    };
    survey.topics.iter().fold(page, add).html()
}

fn body(topic: &Topic, machine: &Machine) -> Markup {
    let remarks = remarks(topic);
    html! {
        @if topic.topic == "machine" { (facts(machine)) }
        @let short = in_short(topic);
        @if !short.is_empty() { (list(&short, false)) }
        @if !topic.findings.is_empty() { (findings(topic)) }
        @for picture in pictures::of(topic) { (picture) }
        @for (heading, rows) in tables(topic) {
            @if let Some(heading) = heading { h3 { (heading) } }
            (as_html(&rows))
        }
        @if !remarks.is_empty() { (list(&remarks, false)) }
    }
}

fn facts(machine: &Machine) -> Markup {
    html! { dl { @for (name, fact) in machine.lines() { dt { (name) } dd { (fact) } } } }
}

/// What was found elsewhere, and whether it holds here.
fn findings(topic: &Topic) -> Markup {
    html! {
        h3 { (FOUND_ON) ", asked of this machine" }
        ul {
            @for finding in &topic.findings {
                li {
                    strong class={ "tag " (finding.verdict) } { (finding.verdict) } ": " (finding.said())
                }
            }
        }
    }
}

fn remarks(topic: &Topic) -> Vec<String> {
    let baseline = topic.baseline.iter().map(|baseline| {
        format!(
            "Ratios are to {baseline}, within a round; their intervals hold at all looks together."
        )
    });
    let warnings = topic.warnings.iter().map(|text| format!("warning: {text}"));
    let missing = topic.not_measured.iter().map(|text| format!("not measured: {text}"));
    baseline.chain(topic.notes.iter().cloned()).chain(warnings).chain(missing).collect()
}

/// A table of text whose figures sort by their values.
fn as_html(of: &Table) -> Markup {
    let headings = of.titles();
    let cell = |(text, is_figure): (&str, bool)| match is_figure {
        true => Cell::figure(text, first_figure(text).unwrap_or(-1.0)),
        false => Cell::text(text),
    };
    let rows: Vec<Vec<Cell>> = of.cells().map(|row| row.map(cell).collect()).collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    table(&headings, &rows)
}

/// The value of the figure with which a cell begins.
fn first_figure(text: &str) -> Option<f64> {
    let ends_figure = |at: char| at == '[' || at == ',';
    let first = text.split(ends_figure).next()?.replace('\u{202f}', "");
    let words: Vec<&str> = first.split_whitespace().take(2).collect();
    let read = |words: &[&str]| Some(Quantity::parse(&words.join(" ")).ok()?.value);
    read(&words).or_else(|| read(words.get(..1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_sort_by_the_figure_with_which_they_begin() {
        let cells = ["99.1 ns", "1.50 µs", "1.51 [1.16, 1.88]", "8.93 %", "7119", "no figure"];
        let keys = cells.map(first_figure);
        assert_eq!(keys, [Some(99.1), Some(1500.0), Some(1.51), Some(8.93), Some(7119.0), None]);
    }
}
