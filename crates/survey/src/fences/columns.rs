//! The tables of heavy fences, and of their comparison.

use super::peers::Peers;
use super::{Comparison, Fence, Percentile};
use crate::Topic;
use crate::columns::Headed;

use uncontended_figures::table::{Column, Table};
use uncontended_figures::{
    Dimension, Toward, count, duration_f, fixed, measured_toward, quantity, ratio,
};

/// A table for each kind of peers, and one that compares.
pub(crate) fn tables(topic: &Topic) -> Vec<Headed> {
    let mut all = Vec::new();
    for peers in Peers::ALL {
        let rows = || topic.rows.iter().filter_map(|row| Some((row, row.fence.as_ref()?)));
        let mut table = Table::new(vec![
            Column::elastic("backend"),
            Column::figure("median"),
            Column::figure("p99"),
            Column::figure("p99.9").goes(2),
            Column::figure("longest").goes(1),
            Column::figure("interrupts"),
            Column::word("light fence").goes(3),
        ]);
        for (row, fence) in rows().filter(|(_, fence)| fence.peers == peers.key()) {
            table.row(cells(&row.name, fence));
        }
        if rows().any(|(_, fence)| fence.peers == peers.key()) {
            all.push((Some(format!("heavy fences, other CPUs {peers}")), table));
        }
    }
    for peers in Peers::ALL {
        let compared: Vec<&Comparison> =
            topic.comparisons.iter().filter(|one| one.peers == peers.key()).collect();
        if !compared.is_empty() {
            all.push((Some(format!("how much faster, other CPUs {peers}")), table(&compared)));
        }
    }
    all
}

fn cells(name: &str, fence: &Fence) -> Vec<String> {
    let mut cells = vec![name.to_owned()];
    let Some(timed) = &fence.timed else {
        cells.push("refused".to_owned()); // The remarks say why.
        return cells;
    };
    cells.extend([
        with_ends(timed.p50),
        duration_f(timed.p99.ns),
        duration_f(timed.p999.ns),
        duration_f(timed.most_ns),
        fixed(timed.interrupts, 2),
        fence.light.to_owned(),
    ]);
    cells
}

fn with_ends(at: Percentile) -> String {
    quantity(Some(at.ns), at.low, at.high, Dimension::Time)
}

fn table(comparisons: &[&Comparison]) -> Table {
    let mut table = Table::new(vec![
        Column::elastic("fence"),
        Column::figure("medians"),
        Column::word("of pairs, at least"),
    ]);
    for one in comparisons {
        let times = match one.times {
            1.0 => share(one.share),
            times => format!("{} by {} times", share(one.share), count(times as u64)),
        };
        let medians = ratio(one.ratio, one.low, one.high.unwrap_or(f64::INFINITY));
        table.row([format!("{} to {}", one.faster, one.slower), medians, times]);
    }
    table
}

/// Rounded down: it is a lower bound.
fn share(share: f64) -> String {
    format!("{} %", measured_toward(share * 100.0, Dimension::Number, Toward::Low))
}
