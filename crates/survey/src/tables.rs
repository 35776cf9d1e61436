//! Tables of topics whose rows are not times of ways.

use crate::usl::{Bounded, Fit};
use crate::{Row, Topic};
use uncontended_figures::table::{Column, Table};
use uncontended_figures::{Dimension, number, percent, quantity};

/// A table with its heading, if it has one.
pub(crate) type Headed = (Option<String>, Table);

/// The law of each row, and what follows from it.
pub(crate) fn scale(topic: &Topic) -> Vec<Headed> {
    let mut laws = Table::new(vec![
        Column::elastic("way"),
        Column::figure("threads"),
        Column::figure("sigma"),
        Column::figure("kappa"),
        Column::figure("off by").goes(1),
    ]);
    let fits = || topic.rows.iter().filter_map(|row| Some((row, row.usl.as_ref()?)));
    for (row, fit) in fits() {
        let up_to = format!("1–{}", row.threads);
        let own = [
            row.name.clone(),
            up_to,
            with_ends(fit.sigma),
            with_ends(fit.kappa),
            percent(fit.off_by),
        ];
        laws.row(own);
    }
    let mut follows: Vec<Headed> = vec![(None, laws)];
    let mut counts: Vec<Vec<u64>> = fits().map(|(_, fit)| predicted(fit)).collect();
    counts.dedup();
    for counts in counts {
        let rows: Vec<(&Row, &Fit)> = fits().filter(|(_, fit)| predicted(fit) == counts).collect();
        follows.push((Some("throughput".to_owned()), consequences(&rows, &counts)));
    }
    follows
}

fn predicted(fit: &Fit) -> Vec<u64> {
    fit.predicted.iter().map(|prediction| prediction.threads).collect()
}

/// The throughput of one thread, the peak, and predictions.
fn consequences(rows: &[(&Row, &Fit)], counts: &[u64]) -> Table {
    let mut columns = vec![
        Column::elastic("way"),
        Column::figure("one thread"),
        Column::figure("peak at"),
        Column::figure("there").goes(1),
    ];
    let at = |threads: &u64| Column::titled(format!("by {threads}")).of("predicted");
    columns.extend(counts.iter().map(at));
    let mut table = Table::new(columns);
    for (row, fit) in rows {
        let peak = match (fit.peak.threads, fit.peak.low, fit.peak.high) {
            (None, ..) => "none".to_owned(),
            (Some(at), Some(low), Some(high)) => format!("{at} [{low}, {high}]"),
            (Some(at), Some(low), None) => format!("{at}, at least {low}"),
            (Some(at), None, _) => at.to_string(),
        };
        let there = fit.peak.throughput.map_or_else(|| "–".to_owned(), number);
        let mut cells = vec![row.name.clone(), number(fit.gamma.value), peak, there];
        cells.extend(fit.predicted.iter().map(|it| number(it.throughput.value)));
        table.row(cells);
    }
    table
}

/// A figure with its interval, if it has one.
fn with_ends(figure: Bounded) -> String {
    match (figure.low, figure.high) {
        (Some(low), Some(high)) if high > 0.0 => {
            quantity(Some(figure.value), Some(low), Some(high), Dimension::Number)
        }
        _ => number(figure.value),
    }
}
