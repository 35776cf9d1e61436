//! Tables of topics whose rows are not times of ways.

use crate::usl::{Bounded, Fit};
use crate::{Cause, Gaps, LongGap, Noise, Row, Topic};
use uncontended_figures::table::{Column, Table};
use uncontended_figures::{Dimension, count, duration, number, percent, quantity};

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

/// Gaps of each CPU by cause, the longest, and what the kernel's own tracer says.
pub(crate) fn jitter(topic: &Topic) -> Vec<Headed> {
    let mut all =
        vec![(None, by_cause(topic)), (Some("the longest gaps".to_owned()), longest(topic))];
    let noise: Vec<(&Row, Noise)> =
        topic.rows.iter().filter_map(|row| Some((row, row.gaps.as_ref()?.osnoise?))).collect();
    if !noise.is_empty() {
        all.push((Some("rtla osnoise".to_owned()), osnoise(&noise)));
    }
    all
}

fn by_cause(topic: &Topic) -> Table {
    let mut columns = vec![
        Column::word("CPU"),
        Column::figure("per second").of("gaps"),
        Column::figure("time").of("gaps"),
    ];
    columns.extend(Cause::ALL.map(|cause| Column::figure(cause.key()).of("of which due to")));
    let mut table = Table::new(columns);
    for row in &topic.rows {
        let mut cells = vec![row.name.clone()];
        match (&row.failed, &row.gaps) {
            (Some(why), _) => cells.push(format!("failed: {why}")),
            (None, Some(gaps)) => cells.extend(causes(gaps)),
            (None, None) => {}
        }
        table.row(cells);
    }
    table
}

fn causes(gaps: &Gaps) -> Vec<String> {
    let seconds = gaps.watched_ns.max(1) as f64 / 1e9;
    let of_time = |ns: u64| percent(ns as f64 / gaps.watched_ns.max(1) as f64);
    let mut cells = vec![number(gaps.count as f64 / seconds), of_time(gaps.total_ns)];
    let of = |cause: Cause| {
        let found = gaps.by.iter().find(|by| by.by == cause);
        found.map_or_else(|| "–".to_owned(), |by| of_time(by.total_ns))
    };
    cells.extend(Cause::ALL.map(of));
    cells
}

fn longest(topic: &Topic) -> Table {
    let mut table = Table::new(vec![
        Column::word("CPU"),
        Column::figure("gap"),
        Column::figure("at"),
        Column::word("due to"),
        Column::elastic("seen meanwhile"),
    ]);
    let rows = topic.rows.iter().filter_map(|row| Some((row, row.gaps.as_ref()?)));
    for (row, gaps) in rows {
        for LongGap { ns, at_ns, by, seen } in &gaps.longest {
            let cells = [duration(*ns), duration(*at_ns), by.key().to_owned(), seen.join(", ")];
            table.row(std::iter::once(row.name.clone()).chain(cells));
        }
    }
    table
}

fn osnoise(noise: &[(&Row, Noise)]) -> Table {
    let figures = ["noise", "longest", "hardware", "NMI", "interrupts", "softirqs", "threads"];
    let columns = std::iter::once(Column::word("CPU")).chain(figures.map(Column::figure));
    let mut table = Table::new(columns.collect());
    for (row, noise) in noise {
        let counts = [noise.hardware, noise.nmi, noise.irq, noise.softirq, noise.thread];
        let share = percent(noise.noise_ns as f64 / noise.runtime_ns.max(1) as f64);
        let own = [row.name.clone(), share, duration(noise.max_single_ns)];
        table.row(own.into_iter().chain(counts.map(count)));
    }
    table
}
