//! A bar for each lock: its total wait, divided by the code that caused it.

use crate::rows::{Row, code};
use crate::run::{Blamed, Distribution, Frame};
use crate::svg::{Lane, Segment};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use uncontended_figures as figures;

/// The colours of the parts.
pub(super) const LEGEND: [(usize, &str); 6] = [
    (0, "held, most in one place"),
    (2, "in the next place"),
    (3, "elsewhere"),
    (1, "idle"),
    (4, "until woken"),
    (5, "unknown"),
];

/// The bar of a row.
pub(super) fn bar(row: &Row, name: String) -> Lane {
    let total = row.wait_total() as f64;
    let wait = row.wait.as_ref().map_or_else(String::new, |wait| times("wait", wait));
    let mut segments = vec![segment(0.0, total, 5, wait)];
    let mut from = 0.0;
    for (ns, colour, title) in parts(row) {
        let to = (from + ns as f64).min(total);
        if to > from {
            segments.push(segment(from, to, colour, title));
        }
        from = to;
    }
    Lane { name, note: figures::duration(row.wait_total()), segments }
}

fn segment(from: f64, to: f64, colour: usize, title: String) -> Segment {
    Segment { from, to, colour, height: 1.0, title }
}

fn times(what: &str, times: &Distribution) -> String {
    format!(
        "{what}: {} in {}, longest {}",
        figures::duration(times.total),
        figures::count(times.count),
        figures::duration(times.max)
    )
}

/// The parts of a row's wait that are known: time, colour and tooltip.
fn parts(row: &Row) -> Vec<(u64, usize, String)> {
    let pieces = row.locks.iter().flat_map(|lock| &lock.held_by);
    let mut sites: BTreeMap<Option<&Frame>, u64> = BTreeMap::new();
    for Blamed { site, wait_ns, .. } in pieces {
        let sum = sites.entry(site.as_ref()).or_default();
        *sum = sum.saturating_add(*wait_ns);
    }
    let mut sites: Vec<(Option<&Frame>, u64)> = sites.into_iter().collect();
    sites.sort_by_key(|&(_, ns)| Reverse(ns));
    let held = sites.into_iter().enumerate().map(|(nth, (site, ns))| {
        let place = site.map_or_else(|| "unknown code".to_owned(), code);
        let title = format!("held by {place}: {}", figures::duration(ns));
        (ns, [0, 2, 3][nth.min(2)], title)
    });
    let mut parts: Vec<(u64, usize, String)> = held.collect();
    let blames: Vec<u64> =
        row.locks.iter().filter_map(|lock| lock.blame).map(|blame| blame.idle_ns).collect();
    let idle_ns = match (&row.idle, blames.is_empty()) {
        (_, false) => blames.into_iter().fold(0, u64::saturating_add),
        (Some(idle), true) => idle.total,
        (None, true) => 0,
    };
    parts.push((idle_ns, 1, format!("idle: {}", figures::duration(idle_ns))));
    let ended = row.locks.iter().filter_map(|lock| lock.blame).map(|blame| blame.ended_ns);
    let ended_ns = ended.fold(0, u64::saturating_add);
    parts.push((ended_ns, 4, format!("until woken: {}", figures::duration(ended_ns))));
    parts
}
