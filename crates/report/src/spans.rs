//! The table of spans of one name, for the terminal and the page.

use crate::rows::code;
use crate::run::{RunReport, SpanGroup, SpanKind, SpanPart, Spans};
use crate::terminal::words;
use uncontended_figures as figures;
use uncontended_figures::text::clean;

/// A smaller part of a call is not shown.
const LEAST: f64 = 0.01;

/// The headings of [`rows`].
pub(crate) const HEADINGS: [&str; 4] = ["slowest", "median", "where", "what"];

/// The title of the table.
pub(crate) fn title(spans: &Spans) -> String {
    match spans.kind {
        SpanKind::Function => format!("Calls of {}", clean(&spans.name)),
        SpanKind::Annotation => format!("Spans: {}", clean(&spans.name)),
    }
}

/// How long the calls took, in a sentence.
pub(crate) fn remark(spans: &Spans) -> String {
    let [p50, p99, max] = [spans.p50_ns, spans.p99_ns, spans.max_ns].map(figures::duration);
    let count = figures::count(spans.count);
    let ones = if spans.kind == SpanKind::Function { "calls" } else { "spans" };
    format!(
        "{count} {ones}: median {p50}, 99 % within {p99}, longest {max}; means of the slowest 1 % and of as many in the middle"
    )
}

/// What the table leaves out, and what watching cost, in sentences.
pub(crate) fn notes(spans: &Spans) -> Vec<String> {
    let kept = (spans.not_kept > 0).then(|| {
        let (is, their) = if spans.not_kept == 1 { ("is", "its") } else { ("are", "their") };
        let what = if spans.not_kept == 1 { "it" } else { "they" };
        let count = figures::count(spans.not_kept);
        format!("{count} more {is} left out: {their} beginning or end, or what {what} waited for, was not seen.")
    });
    let lost = (spans.lost > 0).then(|| {
        format!("{} calls and returns came too fast to follow.", figures::count(spans.lost))
    });
    let cost = spans
        .cost_ns
        .map(|cost| format!("Watching added about {} to each call.", figures::duration(cost)));
    [kept, lost, cost].into_iter().flatten().collect()
}

/// A row of the table: the mean of the slowest calls and of the median ones, in nanoseconds, where and what.
pub(crate) type Row = ([u64; 2], [String; 2]);

/// The parts of the slowest calls next to those of the median ones, the whole first; none if there are no calls.
pub(crate) fn rows(report: &RunReport, spans: &Spans) -> Vec<Row> {
    let (slowest, median) = (&spans.slowest, &spans.median);
    if slowest.count == 0 {
        return Vec::new();
    }
    let row = |of: fn(&SpanGroup) -> u64, words: [&str; 2]| {
        ([of(slowest), of(median)], words.map(str::to_owned))
    };
    let is_much = |ns: u64, of: &SpanGroup| ns as f64 >= LEAST * of.ns as f64 && ns > 0;
    let mut rows = vec![row(|group| group.ns, ["the whole call", ""])];
    let in_median = |part: &SpanPart| {
        let is_same = |of: &&SpanPart| {
            (of.culprit, of.kind, &of.site) == (part.culprit, part.kind, &part.site)
        };
        median.parts.iter().find(is_same).map_or(0, |part| part.ns)
    };
    for part in slowest.parts.iter().filter(|part| is_much(part.ns, slowest)) {
        let nth = part.culprit.and_then(|nth| usize::try_from(nth).ok());
        let words = match nth.and_then(|nth| report.culprits.get(nth)) {
            Some(culprit) => words(report, culprit),
            None => {
                [part.site.as_ref().map_or_else(|| "–".to_owned(), code), "another lock".to_owned()]
            }
        };
        rows.push(([part.ns, in_median(part)], words));
    }
    type Part = (fn(&SpanGroup) -> u64, [&'static str; 2]);
    let rest: [Part; 3] = [
        (|group| group.own_ns, ["other work", "ran, slept, wanted a CPU or waited for input"]),
        (|group| group.handed_over_ns, ["between threads", "released or woken, not running yet"]),
        (|group| group.unknown_ns, ["unknown", "waited; what ended it was not seen"]),
    ];
    for (of, words) in rest {
        if is_much(of(slowest), slowest) || is_much(of(median), median) {
            rows.push(row(of, words));
        }
    }
    rows
}
