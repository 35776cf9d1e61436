//! Percentile curves of heavy fences, as document 000 draws them.

use crate::html::{figure, side_by_side};
use crate::svg::{Axis, Chart, Marks};
use maud::Markup;
use uncontended_figures::duration_f;
use uncontended_survey::{Timed, Topic};

/// The backends that are drawn: those that are all but equal would cover each other.
const DRAWN: [&str; 6] = [
    "membarrier",
    "membarrier global",
    "mprotect",
    "check-ins",
    "full fence",
    "membarrier, 16 tickets",
];

/// Percentiles of heavy fences, a chart for each kind of peers.
pub(super) fn heavy_fences(topic: &Topic) -> Option<Markup> {
    let charts = ["idle", "own", "other"].into_iter().filter_map(|peers| next_to(topic, peers));
    let charts: Vec<Markup> = charts.collect();
    (!charts.is_empty()).then(|| side_by_side(&charts))
}

fn next_to(topic: &Topic, peers: &str) -> Option<Markup> {
    let drawn: Vec<(&str, &Timed)> = topic
        .rows
        .iter()
        .filter(|row| DRAWN.contains(&row.name.as_str()))
        .filter_map(|row| Some((row.name.as_str(), row.fence.as_ref()?)))
        .filter(|(_, fence)| fence.peers == peers)
        .filter_map(|(name, fence)| Some((name, fence.timed.as_ref()?)))
        .collect();
    let all = || drawn.iter().flat_map(|(_, fence)| &fence.curve);
    let (least, most) = all()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), (_, ns)| (least.min(*ns), most.max(*ns)));
    all().next()?;
    let title = match peers {
        "idle" => "Heavy fences, other CPUs idle",
        "own" => "Other CPUs busy with this process",
        _ => "Other CPUs busy with another process",
    };
    let x = Axis::nines(10_000.0, "share of fences that take at most as long");
    let y = Axis::log(least.max(1.0) / 1.5, most * 1.5, "time of a heavy fence", duration_f);
    let chart = drawn.iter().fold(Chart::new(title, x, y), |chart, (name, fence)| {
        let colour = DRAWN.iter().position(|drawn| drawn == name).unwrap_or(0);
        let points: Vec<(f64, f64)> =
            fence.curve.iter().map(|(share, ns)| (Axis::nines_of(*share), *ns)).collect();
        chart.series(name, colour, Marks::Line, &points)
    });
    Some(figure(title, "", &chart.svg()))
}
