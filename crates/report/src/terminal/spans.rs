//! What the slowest spans of each name waited for.

use super::{Options, heading};
use crate::run::{RunReport, Spans};
use crate::spans::{HEADINGS, notes, remark, rows, title};
use uncontended_figures as figures;
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::text::wrap;

/// A block for each name; nothing without spans.
pub(super) fn spans(report: &RunReport, options: &Options, paint: Paint) -> String {
    report.spans.iter().map(|spans| block(report, spans, options, paint)).collect()
}

fn block(report: &RunReport, spans: &Spans, options: &Options, paint: Paint) -> String {
    let [slowest, median, place, what] = HEADINGS;
    let columns = [
        Column::figure(slowest),
        Column::figure(median),
        Column::elastic(place),
        Column::word(what),
    ];
    let mut table = Table::new(columns.to_vec());
    let rows = rows(report, spans);
    let is_empty = rows.is_empty();
    for (times, [place, what]) in rows {
        let [slowest, median] = times.map(figures::duration);
        table.row([slowest, median, place, what]);
    }
    let body = match is_empty {
        true => "  No call was seen from its beginning to its end.\n".to_owned(),
        false => wrap(&remark(spans), "  ", options.width) + &table.text(options.width, paint),
    };
    let notes = notes(spans).into_iter().map(|text| wrap(&text, "  ", options.width));
    heading(&title(spans), "", options, paint) + &body + &notes.collect::<String>()
}
