//! The pictures of each topic.

use super::heavy_fences::heavy_fences;
use crate::html::{figure, side_by_side};
use crate::svg::{Axis, Chart, Lane, Marks, Segment, lanes};
use maud::{Markup, html};
use uncontended_figures::text::several;
use uncontended_figures::{duration_f, number};
use uncontended_survey::usl::Fit;
use uncontended_survey::{Class, Row, Topic};

/// The locks whose hand-offs are drawn: more curves would cover each other.
const DRAWN: [&str; 6] =
    ["std", "Futex", "Ttas<HintThenYield>", "Bounded", "Mcs<SpinThenPark>", "Ticket<Hint>"];

/// The pictures of a topic, if it has any.
pub(super) fn of(topic: &Topic) -> Vec<Markup> {
    let pictures = match topic.topic {
        "contention" | "spawn" => vec![ladder(topic)],
        "locks" => vec![heat_of_locks(topic), hand_offs(topic), heat_of_readers(topic)],
        "affinity" => vec![over_time(topic), topic.matrix.as_ref().map(heat_of_cores)],
        "jitter" => vec![gaps(topic)],
        "fences" => vec![heavy_fences(topic)],
        "scale" => vec![laws(topic)],
        _ => Vec::new(),
    };
    if topic.rows.is_empty() { Vec::new() } else { pictures.into_iter().flatten().collect() }
}

/// Each way's time on one scale, the cheapest first.
fn ladder(topic: &Topic) -> Option<Markup> {
    let mut rows: Vec<(&Row, f64)> =
        topic.rows.iter().filter_map(|row| Some((row, row.ns?))).collect();
    rows.sort_by(|one, other| one.1.total_cmp(&other.1));
    let (first, last) = (rows.first()?.1, rows.last()?.1);
    let low = first / 2.0;
    let rungs: Vec<Lane> = rows.iter().map(|(row, ns)| rung(row, *ns, low)).collect();
    let axis = Axis::log(low, last * 1.2, "time per operation", duration_f);
    let legend = [(2, "one thread"), (0, "several")];
    let picture = lanes(topic.question, &axis, &rungs, &legend);
    Some(figure("From the cheapest to the dearest", "", &picture))
}

fn rung(row: &Row, ns: f64, low: f64) -> Lane {
    let threads = several(row.threads as u64, "thread", "threads");
    let name = format!("{}, {threads}", row.name);
    let title = format!("{name}: {}", duration_f(ns));
    let colour = if row.threads == 1 { 2 } else { 0 };
    let segments = vec![Segment { from: low, to: ns, colour, height: 1.0, title }];
    Lane { name, note: duration_f(ns), segments }
}

/// Locks by numbers of threads: the ratio to the baseline, the darker the further from 1.
fn heat_of_locks(topic: &Topic) -> Option<Markup> {
    let rows: Vec<&Row> = topic.rows.iter().filter(|row| row.one_write_in.is_none()).collect();
    let remark = "Time per acquisition relative to std's mutex: red takes longer, green less; without a colour: no difference shown.";
    heat_of_rows(&rows, "Locks by threads", remark, |row| {
        let threads = several(row.threads as u64, "thread", "threads");
        if row.class == Class::Other { threads } else { format!("{threads}, {}", row.class) }
    })
}

/// The same of locks for readers, also by how often they are written to.
fn heat_of_readers(topic: &Topic) -> Option<Markup> {
    let rows: Vec<&Row> = topic.rows.iter().filter(|row| row.one_write_in.is_some()).collect();
    let remark = "Time per access relative to std's lock for readers: red takes longer, green less; without a colour: no difference shown.";
    heat_of_rows(&rows, "Locks for readers, by threads and writes", remark, |row| {
        let one_in = row.one_write_in.unwrap_or(1);
        format!("{}, 1 write in {one_in}", several(row.threads as u64, "thread", "threads"))
    })
}

/// Rows by name, in columns by what `crew` says of each; none without rows.
fn heat_of_rows(
    rows: &[&Row],
    title: &str,
    remark: &str,
    crew: impl Fn(&Row) -> String,
) -> Option<Markup> {
    let mut crews: Vec<String> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.role != "control").collect();
    for row in &rows {
        if !crews.contains(&crew(row)) {
            crews.push(crew(row));
        }
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let cell = |name: &str, column: &String| {
        let found = rows.iter().find(|row| row.name == name && crew(row) == *column)?;
        if found.role == "baseline" {
            return Some((number(1.0), 0.0));
        }
        let own = found.ratio?;
        // What is not told apart from the baseline has no colour. Four times as long is as dark as it gets.
        let is_apart = found.is_faster() || found.is_slower();
        Some((number(own), if is_apart { own.log2() / 2.0 } else { 0.0 }))
    };
    let warm: Vec<Warm> = names
        .iter()
        .map(|name| ((*name).to_owned(), crews.iter().map(|crew| cell(name, crew)).collect()))
        .collect();
    (!warm.is_empty()).then(|| figure(title, remark, &heat(&crews, &warm)))
}

/// CPUs by CPUs: the latency of a cache line, the darker the longer.
fn heat_of_cores(matrix: &uncontended_survey::Matrix) -> Markup {
    let all = || matrix.ns.iter().flatten().flatten().copied();
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let shade = |ns: f64| if most > least { (ns - least) / (most - least) } else { 0.2 };
    let name = |cpu: &usize| format!("CPU {cpu}");
    let rows: Vec<Warm> = matrix
        .cpus
        .iter()
        .zip(&matrix.ns)
        .map(|(cpu, row)| {
            let cells = row.iter().map(|ns| ns.map(|ns| (duration_f(ns), shade(ns))));
            (name(cpu), cells.collect())
        })
        .collect();
    let columns: Vec<String> = matrix.cpus.iter().map(name).collect();
    let remark = "How long a cache line takes from one CPU to the other, in one direction.";
    figure("Core to core", remark, &heat(&columns, &rows))
}

/// A row of a heat map: its name, and the text and shade of its cells, where it has any.
type Warm = (String, Vec<Option<(String, f64)>>);

/// A table whose cells are coloured by a value: red up to 1, green down to -1.
fn heat(columns: &[String], rows: &[Warm]) -> Markup {
    let style = |shade: f64| {
        let colour = if shade < 0.0 { "--c4" } else { "--c0" };
        let part = (shade.abs().min(1.0) * 70.0).round();
        format!("background:color-mix(in srgb,var({colour}) {part}%,transparent)")
    };
    html! {
        div class="wide" {
            table class="heat" {
                thead { tr { th {} @for column in columns { th class="n" { (column) } } } }
                tbody {
                    @for (name, cells) in rows {
                        tr {
                            td { (name) }
                            @for (cell, column) in cells.iter().zip(columns) {
                                @match cell {
                                    Some((text, shade)) => td class="n" data-h=(column) style=(style(*shade)) { (text) },
                                    None => td class="n" data-h=(column) { "–" },
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Percentiles of hand-offs, a chart for each number of threads.
fn hand_offs(topic: &Topic) -> Option<Markup> {
    let mut counts: Vec<usize> = topic
        .rows
        .iter()
        .filter(|row| row.hand_off_ns.is_some() && row.class == Class::Other)
        .map(|row| row.threads)
        .collect();
    counts.dedup();
    counts.sort_unstable();
    counts.dedup();
    let charts: Vec<Markup> = counts.iter().filter_map(|&threads| curves(topic, threads)).collect();
    (!charts.is_empty()).then(|| side_by_side(&charts))
}

fn curves(topic: &Topic, threads: usize) -> Option<Markup> {
    let of = |name: &str| {
        let mut rows = topic.rows.iter().filter(|row| {
            row.threads == threads && row.class == Class::Other && row.role != "control"
        });
        rows.find(|row| row.name == name)?.hand_off_ns
    };
    let drawn: Vec<(usize, &str, [f64; 3])> = DRAWN
        .iter()
        .enumerate()
        .filter_map(|(colour, name)| {
            let at = of(name)?;
            Some((colour, *name, [at.p50, at.p99, at.p999].map(|ns| ns.max(1) as f64)))
        })
        .collect();
    let all = || drawn.iter().flat_map(|(_, _, values)| *values);
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    if drawn.is_empty() {
        return None;
    }
    let title = format!("Hand-offs, {}", several(threads as u64, "thread", "threads"));
    let (x, y) = (
        Axis::nines(1000.0, "share of hand-offs that take at most as long"),
        Axis::log(
            least / 1.5,
            most * 1.5,
            "from the release to the waiter's acquisition",
            duration_f,
        ),
    );
    let shares = [0.5, 0.99, 0.999].map(Axis::nines_of);
    let chart = drawn.iter().fold(Chart::new(&title, x, y), |chart, (colour, name, values)| {
        let points: Vec<(f64, f64)> = shares.iter().copied().zip(*values).collect();
        chart.series(name, *colour, Marks::Line, &points)
    });
    Some(figure(&title, "", &chart.svg()))
}

/// The rates over time, free and pinned, with a rule at each step.
fn over_time(topic: &Topic) -> Option<Markup> {
    let charts: Vec<Markup> = topic.rows.iter().filter_map(steps).collect();
    (!charts.is_empty()).then(|| side_by_side(&charts))
}

fn steps(row: &Row) -> Option<Markup> {
    let over = row.over_time.as_ref()?;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let points: Vec<(f64, f64)> =
        over.slices.iter().map(|slice| (seconds(slice.until_ns), slice.per_s)).collect();
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let x = Axis::linear(0.0, points.last()?.0, "seconds", number);
    let y = Axis::linear(0.0, most * 1.05, "exchanges per second", number);
    let chart = Chart::new(&row.name, x, y).series("rate", 2, Marks::Steps, &points);
    let chart =
        over.steps.iter().fold(chart, |chart, step| chart.at_x("step", 0, seconds(step.at_ns)));
    let found = several(over.steps.len() as u64, "step", "steps");
    Some(figure(&row.name, &found, &chart.svg()))
}

/// The share of each CPU's time that gaps took, by cause.
fn gaps(topic: &Topic) -> Option<Markup> {
    let causes = uncontended_survey::Cause::ALL;
    let legend: Vec<(usize, &str)> =
        causes.iter().enumerate().map(|(colour, cause)| (colour, cause.key())).collect();
    let lane = |row: &Row| {
        let gaps = row.gaps.as_ref()?;
        let (mut from, mut segments) = (0.0, Vec::new());
        for (colour, cause) in causes.iter().enumerate() {
            let Some(by) = gaps.by.iter().find(|by| by.by == *cause) else { continue };
            let to = from + by.total_ns as f64 / gaps.watched_ns.max(1) as f64;
            let title = format!("{}: {}", cause.key(), duration_f(by.total_ns as f64));
            segments.push(Segment { from, to, colour, height: 1.0, title });
            from = to;
        }
        let longest = gaps.longest.first().map_or(0, |gap| gap.ns);
        let note = format!("longest {}", duration_f(longest as f64));
        Some((from, Lane { name: row.name.clone(), note, segments }))
    };
    let all: Vec<(f64, Lane)> = topic.rows.iter().filter_map(lane).collect();
    let most = all.iter().map(|(share, _)| *share).fold(0.0, f64::max);
    let axis =
        Axis::linear(0.0, most.max(1e-6), "share of the CPU's time", uncontended_figures::percent);
    let rows: Vec<Lane> = all.into_iter().map(|(_, lane)| lane).collect();
    (!rows.is_empty())
        .then(|| figure("Gaps", "", &lanes("Gaps of each CPU", &axis, &rows, &legend)))
}

/// Each row's throughput, the law that was fitted, and how it continues.
fn laws(topic: &Topic) -> Option<Markup> {
    let charts = topic.rows.iter().filter_map(|row| Some(law(&row.name, row.usl.as_ref()?)));
    let charts: Vec<Markup> = charts.collect();
    (!charts.is_empty()).then(|| side_by_side(&charts))
}

fn law(name: &str, fit: &Fit) -> Markup {
    let measured: Vec<(f64, f64)> =
        fit.points.iter().map(|point| (point.threads as f64, point.throughput)).collect();
    let first = measured.iter().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let last = measured.iter().map(|point| point.0).fold(first, f64::max);
    let most = fit.predicted.iter().map(|it| it.threads as f64).fold(last, f64::max);
    let at = |threads: f64| (threads, fit.throughput(threads));
    let line = |from: f64, to: f64| -> Vec<(f64, f64)> {
        (0..=60).map(|step| at(from + (to - from) * f64::from(step) / 60.0)).collect()
    };
    let below = if first > 1.0 { line(1.0, first) } else { Vec::new() };
    let top = line(1.0, most).iter().chain(&measured).map(|point| point.1).fold(0.0, f64::max);
    let x = Axis::linear(0.0, most, "threads", number);
    let y = Axis::linear(0.0, top * 1.1, "throughput", number);
    let chart = Chart::new(name, x, y)
        .series("the law", 2, Marks::Line, &line(first, last))
        .series("predicted below what was measured", 3, Marks::Line, &below)
        .series("predicted, not measured", 3, Marks::Line, &line(last, most))
        .series("measured", 0, Marks::Points, &measured);
    figure(name, "", &chart.svg())
}
