//! Tables of topics whose rows are not times of ways.

use crate::usl::{Bounded, Fit};
use crate::{Cause, Gaps, LongGap, Matrix, Noise, OverTime, Row, Step, Topic};
use uncontended_figures::table::{Column, Table};
use uncontended_figures::{Dimension, count, duration, duration_f, number, percent, quantity};

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
        let own = [
            row.name.clone(),
            measured(fit),
            if_known(fit.sigma),
            if_known(fit.kappa),
            fit.off_by.map_or_else(|| "–".to_owned(), percent),
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

/// The numbers of threads that were measured; of many, how many and from which to which.
fn measured(fit: &Fit) -> String {
    let counts: Vec<String> = fit.points.iter().map(|point| point.threads.to_string()).collect();
    match &counts[..] {
        [first, _, _, _, .., last] => format!("{} of {first}–{last}", counts.len()),
        few => few.join(", "),
    }
}

/// A figure with its interval, where that has an upper end.
fn if_known(figure: Bounded) -> String {
    if figure.high.is_some() { with_ends(figure) } else { "not known".to_owned() }
}

/// A throughput of the law, which is a prediction where nothing was measured.
fn of_law(fit: &Fit, threads: u64, throughput: f64) -> String {
    let word = if fit.is_measured(threads) { "" } else { ", predicted" };
    format!("{}{word}", number(throughput))
}

/// The throughput of one thread, the peak, and predictions.
fn consequences(rows: &[(&Row, &Fit)], counts: &[u64]) -> Table {
    let mut columns = vec![
        Column::elastic("way"),
        Column::figure("one thread"),
        Column::figure("peak at"),
        Column::figure("there").goes(1),
    ];
    let at = |(nth, threads): (usize, &u64)| {
        let column = Column::titled(format!("by {threads}")).of("predicted");
        if nth == 0 { column } else { column.goes(2) }
    };
    columns.extend(counts.iter().enumerate().map(at));
    let mut table = Table::new(columns);
    for (row, fit) in rows {
        let peak = match (fit.peak.threads, fit.peak.low, fit.peak.high) {
            (None, Some(low), _) if low > 1 => format!("none, or at least {low}"),
            (None, Some(_), _) => "none".to_owned(),
            (Some(at), Some(low), Some(high)) => format!("{at} [{low}, {high}]"),
            (Some(_), Some(low), None) if low > 1 => format!("at least {low}"),
            (Some(_), ..) | (None, None, _) => "not known".to_owned(),
        };
        let known = fit.peak.high.and(fit.peak.threads).zip(fit.peak.throughput);
        let there = known.map_or_else(|| "–".to_owned(), |(at, there)| of_law(fit, at, there));
        let one = of_law(fit, 1, fit.gamma.value);
        let mut cells = vec![row.name.clone(), one, peak, there];
        cells.extend(fit.predicted.iter().map(|it| with_ends(it.throughput)));
        table.row(cells);
    }
    table
}

/// A figure with its interval, if it has one.
fn with_ends(figure: Bounded) -> String {
    match (figure.low, figure.high) {
        (Some(low), high) if high != Some(0.0) => {
            quantity(Some(figure.value), Some(low), high, Dimension::Number)
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
        Column::figure("per second").of("gaps").goes(1),
        Column::figure("time").of("gaps"),
    ];
    let is_found = |cause: &Cause| {
        let gaps = topic.rows.iter().filter_map(|row| row.gaps.as_ref());
        gaps.flat_map(|gaps| &gaps.by).any(|by| by.by == *cause)
    };
    // A machine without quotas needs no column for them.
    let shown = |cause: &Cause| *cause != Cause::Throttling || is_found(cause);
    let shown: Vec<Cause> = Cause::ALL.into_iter().filter(shown).collect();
    columns.extend(shown.iter().map(|cause| Column::figure(cause.key()).of("of which due to")));
    let mut table = Table::new(columns);
    for row in &topic.rows {
        let mut cells = vec![row.name.clone()];
        match (&row.failed, &row.gaps) {
            (Some(why), _) => cells.push(format!("failed: {why}")),
            (None, Some(gaps)) => cells.extend(causes(gaps, &shown)),
            (None, None) => {}
        }
        table.row(cells);
    }
    table
}

fn causes(gaps: &Gaps, shown: &[Cause]) -> Vec<String> {
    let seconds = gaps.watched_ns.max(1) as f64 / 1e9;
    let of_time = |ns: u64| percent(ns as f64 / gaps.watched_ns.max(1) as f64);
    let mut cells = vec![number(gaps.count as f64 / seconds), of_time(gaps.total_ns)];
    let of = |cause: Cause| {
        let found = gaps.by.iter().find(|by| by.by == cause);
        found.map_or_else(|| "–".to_owned(), |by| of_time(by.total_ns))
    };
    cells.extend(shown.iter().copied().map(of));
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

/// The most CPUs whose matrix is shown whole.
const MOST_SHOWN: usize = 8;
/// The most steps of a row that are shown.
const MOST_STEPS: usize = 3;

/// Rates over time, and the latency between CPUs.
pub(crate) fn affinity(topic: &Topic) -> Vec<Headed> {
    let mut rates = Table::new(vec![
        Column::word("way"),
        Column::figure("median").of("exchanges per second"),
        Column::figure("least").of("exchanges per second"),
        Column::figure("most").of("exchanges per second"),
        Column::elastic("steps"),
    ]);
    for (row, over_time) in topic.rows.iter().filter_map(|row| Some((row, row.over_time.as_ref()?)))
    {
        let mut all: Vec<f64> = over_time.slices.iter().map(|slice| slice.per_s).collect();
        all.sort_unstable_by(f64::total_cmp);
        let at = |at: usize| all.get(at).map_or_else(|| "–".to_owned(), |rate| number(*rate));
        let cells = [at(all.len() / 2), at(0), at(all.len().saturating_sub(1)), steps(over_time)];
        rates.row(std::iter::once(row.name.clone()).chain(cells));
    }
    let mut tables = vec![(Some("over time".to_owned()), rates)];
    if let Some(matrix) = &topic.matrix {
        let heading = "from CPU to CPU: half of a round trip of a cache line".to_owned();
        tables.push((Some(heading), latencies(matrix)));
    }
    tables
}

/// How many steps, and the largest of them, in their order.
fn steps(over_time: &OverTime) -> String {
    let size = |step: &Step| (step.after_per_s / step.before_per_s).ln().abs();
    let mut largest = over_time.steps.clone();
    largest.sort_by(|one, other| size(other).total_cmp(&size(one)));
    largest.truncate(MOST_STEPS);
    largest.sort_by_key(|step| step.at_ns);
    let shown = |step: &Step| {
        let [before, after] = [step.before_per_s, step.after_per_s].map(number);
        format!("{before} → {after} at {}", duration(step.at_ns))
    };
    match over_time.steps.len() {
        0 => "none".to_owned(),
        count => {
            let largest: Vec<String> = largest.iter().map(shown).collect();
            format!("{count}: {}", largest.join(", "))
        }
    }
}

fn latencies(matrix: &Matrix) -> Table {
    let shown = |ns: Option<f64>| ns.map_or_else(|| "–".to_owned(), duration_f);
    if matrix.cpus.len() <= MOST_SHOWN {
        let heads = matrix.cpus.iter().map(|cpu| Column::titled(format!("CPU {cpu}")));
        let mut table = Table::new(std::iter::once(Column::word("")).chain(heads).collect());
        for (cpu, row) in matrix.cpus.iter().zip(&matrix.ns) {
            let cells = row.iter().map(|ns| shown(*ns));
            table.row(std::iter::once(format!("CPU {cpu}")).chain(cells));
        }
        return table;
    }
    let figures = ["least", "median", "most"].map(Column::figure);
    let nearest = [Column::word("nearest"), Column::word("farthest")];
    let mut table =
        Table::new(std::iter::once(Column::word("pairs")).chain(figures).chain(nearest).collect());
    let mut pairs: Vec<((usize, usize), f64)> =
        matrix.pairs().into_iter().filter_map(|(pair, ns)| Some((pair, ns?))).collect();
    pairs.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let at = |at: usize| pairs.get(at).map(|(_, ns)| *ns);
    let named = |pair: Option<&((usize, usize), f64)>| {
        let name = |&((one, other), _): &((usize, usize), f64)| {
            format!("{} and {}", matrix.cpus[one], matrix.cpus[other])
        };
        pair.map_or_else(|| "–".to_owned(), name)
    };
    let last = pairs.len().saturating_sub(1);
    table.row([
        count(pairs.len() as u64),
        shown(at(0)),
        shown(at(pairs.len() / 2)),
        shown(at(last)),
        named(pairs.first()),
        named(pairs.last()),
    ]);
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usl::{Law, Point, fit};
    use uncontended_figures::table::Paint;

    /// The tables of figures at these numbers of threads, of a law with a peak at 14.
    fn shown(counts: &[u64]) -> String {
        let law = Law { sigma: 0.1, kappa: 0.005, gamma: 1e3 };
        let point = |&threads: &u64| Point { threads, throughput: law.throughput(threads) };
        let points: Vec<Point> = counts.iter().map(point).collect();
        let mut topic = Topic::left_out("scale", "", "");
        topic.rows =
            vec![Row { name: "data".to_owned(), usl: fit(&points, &[]), ..Row::default() }];
        let plain = Paint { colour: false };
        scale(&topic).iter().map(|(_, table)| table.text(200, plain)).collect()
    }

    #[test]
    fn what_was_not_measured_is_said_to_be_predicted() {
        let text = shown(&[4, 8, 16, 24]);
        assert!(text.contains("4, 8, 16, 24") && !text.contains('–'), "{text}");
        assert_eq!(text.matches(", predicted").count(), 2, "one thread, and the peak: {text}");
        let text = shown(&[1, 2, 4, 8, 13, 24]);
        assert!(text.contains("6 of 1–24"), "{text}");
        assert_eq!(text.matches(", predicted").count(), 0, "{text}");
    }

    #[test]
    fn what_has_no_bound_is_not_known() {
        let text = shown(&[1, 2, 4]);
        assert_eq!(text.matches("not known").count(), 3, "sigma, kappa, the peak: {text}");
    }
}
