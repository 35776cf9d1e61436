//! The sections of a run's page.

use super::{Cell, bars, stacks, table};
use crate::rows::{Row, class_name, kind_of, sides};
use crate::run::{Blamed, BlamedKind, Class, Distribution, Holds, RunReport, Spans, Thread};
use crate::svg::{Axis, Chart, Lane, Marks, Segment, lanes};
use crate::terminal::{
    gain, listed_futex_sites, longest_join, notes, own_switches, several, shown, words,
};
use maud::{Markup, html};
use std::cmp::Reverse;
use uncontended_figures as figures;

/// Most bars in a chart.
const BARS: usize = 12;
/// Most rows in a table; the JSON form has the rest.
const TABLE_ROWS: usize = 200;
/// Most locks whose curves and stacks are shown.
const DETAILS: usize = 20;

/// The code that caused the waiting.
pub(super) fn culprits(report: &RunReport) -> Markup {
    let rows: Vec<Vec<Cell>> = shown(report)
        .map(|culprit| {
            let [place, what] = words(report, culprit);
            let [of_run, on_path] = report.of_path(culprit);
            let of_run = of_run.map(|share| Cell::figure(gain(culprit, share), share));
            let on_path = on_path.map(|share| Cell::figure(figures::percent(share), share));
            let mut cells: Vec<Cell> = of_run.into_iter().chain(on_path).collect();
            cells.extend([
                Cell::figure(figures::percent(culprit.share), culprit.share),
                duration(Some(culprit.wait_ns)),
                Cell::text(place),
                Cell::text(what),
                count(holds_of(culprit)),
                duration(Some(culprit.longest_ns).filter(|&ns| ns > 0)),
            ]);
            cells
        })
        .collect();
    let headings = [
        "gain of the run (est.)",
        "on the path, of the run",
        "share",
        "total",
        "where",
        "what",
        "holds",
        "longest",
    ];
    let first = headings.len() - rows.iter().map(Vec::len).max().unwrap_or(0);
    html! {
        @if !rows.is_empty() { (table(&headings[first..], &rows)) }
        @for rest in notes(report) { p class="more" { (rest) } }
    }
}

/// Its holds that a thread waited for; the wakeups, of what it passes on.
fn holds_of(culprit: &Blamed) -> Option<u64> {
    match culprit.kind {
        BlamedKind::Hold => Some(culprit.holds),
        BlamedKind::Wake => Some(culprit.waits),
        BlamedKind::Idle => None,
    }
}

/// The cells of a row of calls: two figures and two texts.
fn cells_of_span((times, texts): crate::spans::Row) -> Vec<Cell> {
    let times = times.map(|ns| Cell::figure(figures::duration(ns), ns as f64));
    times.into_iter().chain(texts.map(Cell::text)).collect()
}

/// What the slowest calls of a function waited for.
pub(super) fn spans(report: &RunReport, spans: &Spans) -> Markup {
    let rows = crate::spans::rows(report, spans);
    let rows: Vec<Vec<Cell>> = rows.into_iter().map(cells_of_span).collect();
    html! {
        @if rows.is_empty() { p { "No call was seen from its beginning to its end." } }
        @else { (table(&crate::spans::HEADINGS, &rows)) }
        @for note in crate::spans::notes(spans) { p class="more" { (note) } }
    }
}

/// Bars and table of the locks.
pub(super) fn locks(report: &RunReport, rows: &[Row]) -> Markup {
    let [hold_p50, hold_p99, longest_hold] = match report.holds {
        Some(Holds::Waited) => ["blocking hold p50", "blocking hold p99", "longest blocking hold"],
        Some(Holds::All) | None => ["hold p50", "hold p99", "longest hold"],
    };
    let headings = [
        "lock",
        "pid",
        "class",
        "kind",
        "where",
        "locks",
        "taken",
        "blocked",
        "tries failed",
        "slept",
        "wait",
        "not ended",
        "of threads' time",
        "p50",
        "p99",
        "longest",
        "idle of wait",
        "longest idle",
        hold_p50,
        hold_p99,
        longest_hold,
        "in use, of run",
        "queue",
    ];
    let cells = rows.iter().take(TABLE_ROWS).map(|row| {
        let mut cells = names(row);
        let [blocked, slept] = [row.blocked_share(), row.slept.share()].map(share);
        cells.extend([blocked, count(Some(row.try_failed)), slept]);
        let wait = row.wait.as_ref();
        cells.extend([
            time(wait, |t| t.total),
            duration(row.unfinished.map(|(_, ns)| ns)),
            share(row.wait_share),
            time(wait, |t| t.p50),
            time(wait, |t| t.p99),
            time(wait, |t| t.max),
        ]);
        cells.push(share(row.idle_share()));
        cells.push(time(row.idle.as_ref(), |t| t.max));
        let hold = row.hold.as_ref();
        cells.extend([time(hold, |t| t.p50), time(hold, |t| t.p99), time(hold, |t| t.max)]);
        cells.push(share(row.utilisation));
        cells.push(
            row.mean_queue
                .map_or_else(Cell::none, |queue| Cell::figure(figures::number(queue), queue)),
        );
        cells
    });
    let table = without_constants(&headings, cells.collect(), rows);
    html! {
        @if let Some(chart) = chart(rows) { (chart) }
        (table)
        @if let Some(sides) = sides(&rows[..rows.len().min(TABLE_ROWS)]) { p class="more" { (sides) } }
    }
}

fn chart(rows: &[Row]) -> Option<Markup> {
    // Waiting for work would dwarf the rest.
    let held_up = |row: &&Row| row.wait_total() > 0 && row.class().is_caused_by_holders();
    let waited: Vec<&Row> = rows.iter().filter(held_up).take(BARS).collect();
    waited.first().map(|first| {
        let axis = Axis::linear(0.0, first.wait_total() as f64, "total wait", figures::duration_f);
        let lanes_of: Vec<Lane> = waited.iter().map(|row| bars::bar(row, name(row))).collect();
        lanes(
            "Total wait of each lock of class contention or gate",
            &axis,
            &lanes_of,
            &bars::LEGEND,
        )
    })
}

fn name(row: &Row) -> String {
    format!("{} {}", row.label(), row.place())
}

fn names(row: &Row) -> Vec<Cell> {
    vec![
        Cell::figure(row.label(), row.first().id as f64),
        Cell::figure(row.pids(), f64::from(row.pid)),
        Cell::text(class_name(row.class())),
        Cell::text(kind_of(row.first())),
        Cell::text(row.place()),
        Cell::figure(figures::count(row.locks.len() as u64), row.locks.len() as f64),
        count(row.taken()),
    ]
}

fn time(of: Option<&Distribution>, figure: fn(&Distribution) -> u64) -> Cell {
    of.map_or_else(Cell::none, |times| duration(Some(figure(times))))
}

fn duration(ns: Option<u64>) -> Cell {
    ns.map_or_else(Cell::none, |ns| Cell::figure(figures::duration(ns), ns as f64))
}

fn share(of: Option<f64>) -> Cell {
    of.map_or_else(Cell::none, |share| Cell::figure(figures::percent(share), share))
}

fn count(number: Option<u64>) -> Cell {
    number.map_or_else(Cell::none, |number| Cell::figure(figures::count(number), number as f64))
}

/// The table without columns that are the same in every row, and a line about the rows it omits.
fn without_constants(headings: &[&str], cells: Vec<Vec<Cell>>, rows: &[Row]) -> Markup {
    let one_each = rows.iter().all(|row| row.locks.len() == 1);
    let constant = |heading: &str| match heading {
        "pid" => rows.iter().all(|row| row.pids() == rows[0].pids()),
        "class" => rows.iter().all(|row| row.class() == Class::Contention),
        "locks" => one_each,
        "tries failed" => !rows.iter().any(Row::is_polled),
        "slept" => rows.iter().all(|row| row.slept.known == 0),
        "not ended" => rows.iter().all(|row| row.unfinished.is_none()),
        _ => false,
    };
    let rest = &rows[rows.len().min(TABLE_ROWS)..];
    let wait = rest.iter().map(Row::wait_total).fold(0, u64::saturating_add);
    let more = several(rest.len() as u64, "more row", "more rows");
    html! {
        (without(&constant, headings, cells))
        @if !rest.is_empty() {
            (left_out(&format!("{more}, wait {} in all", figures::duration(wait))))
        }
    }
}

/// A line about what only the JSON form has.
fn left_out(more: &str) -> Markup {
    html! { p class="more" { "And " (more) "; the JSON form has them." } }
}

/// The table without the columns of which `constant` is true.
fn without(constant: &dyn Fn(&str) -> bool, headings: &[&str], cells: Vec<Vec<Cell>>) -> Markup {
    let kept: Vec<&str> = headings.iter().copied().filter(|heading| !constant(heading)).collect();
    let told = |row: Vec<Cell>| {
        headings
            .iter()
            .zip(row)
            .filter(|(heading, _)| !constant(heading))
            .map(|(_, cell)| cell)
            .collect()
    };
    let cells: Vec<Vec<Cell>> = cells.into_iter().map(told).collect();
    table(&kept, &cells)
}

/// Percentile curves and stacks of the locks with waits.
pub(super) fn details(rows: &[Row]) -> Markup {
    let waited = || rows.iter().filter(|row| row.wait.is_some());
    let rest = waited().count().saturating_sub(DETAILS);
    html! {
        @for (nth, row) in waited().take(DETAILS).enumerate() {
            details open[nth < 3] {
                summary { b { (name(row)) } span { "wait " (figures::duration(row.wait_total())) } }
                div class="pair" { div { (curves(row)) } div { (stacks::worst(row)) } }
            }
        }
        @if rest > 0 { (left_out(&several(rest as u64, "more row", "more rows"))) }
    }
}

fn curves(row: &Row) -> Markup {
    let parts = [("wait", 0, &row.wait), ("idle", 1, &row.idle), ("hold", 2, &row.hold)];
    let present =
        || parts.iter().filter_map(|(name, colour, times)| Some((*name, *colour, times.as_ref()?)));
    let most = present().map(|(.., times)| times.count).max().unwrap_or(1) as f64;
    let low = present()
        .filter_map(|(.., times)| times.buckets.first())
        .map(|bucket| bucket.0.max(1))
        .min()
        .unwrap_or(1);
    let high = present().map(|(.., times)| times.max).max().unwrap_or(1);
    let x = Axis::nines(2.0 * most, "share of all that took no longer");
    let y = Axis::log(low as f64, high as f64, "time", figures::duration_f);
    let mut chart = Chart::new(&format!("Percentiles of {}", name(row)), x, y);
    for (name, colour, times) in present() {
        chart = chart.series(name, colour, Marks::Line, &curve(times));
    }
    chart.svg()
}

/// The percentile curve: for the end of each bucket, the share of times up to there; half an observation is placed
/// above the longest, since no share of a sample reaches one.
fn curve(times: &Distribution) -> Vec<(f64, f64)> {
    let count = times.count.max(1) as f64;
    let mut points: Vec<(f64, f64)> =
        times.buckets.first().map(|bucket| (0.0, bucket.0.max(1) as f64)).into_iter().collect();
    let mut below = 0u64;
    for &(_, high, number) in &times.buckets {
        below = below.saturating_add(number);
        let share = (below as f64 - 0.5) / count;
        points.push((Axis::nines_of(share.max(0.0)), high.min(times.max).max(1) as f64));
    }
    points
}

const UNFINISHED: &str = "waiting, not ended";

/// Where the threads' time went, with their figures.
pub(super) fn threads(report: &RunReport) -> Markup {
    let mut threads: Vec<(u32, &Thread)> = Vec::new();
    for process in &report.processes {
        threads.extend(process.threads.iter().map(|thread| (process.pid, thread)));
    }
    threads.sort_by_key(|(pid, thread)| {
        (Reverse((thread.held_up_ns(), thread.cpu_ns)), *pid, thread.tid)
    });
    let spent = |thread: &Thread| {
        let parts = thread_parts(thread);
        parts.into_iter().filter_map(|(.., ns)| ns).fold(0, u64::saturating_add)
    };
    let longest = threads.iter().take(BARS).map(|(_, thread)| spent(thread)).max().unwrap_or(0);
    let axis = Axis::linear(0.0, longest.max(1) as f64, "time", figures::duration_f);
    let bar = |(_, thread): &(u32, &Thread)| thread_bar(thread);
    let bars: Vec<Lane> = threads.iter().take(BARS).map(bar).collect();
    let legend = thread_parts(&Thread::default()).map(|(colour, what, _)| (colour, what));
    let chart = lanes("Where the time of each thread went", &axis, &bars, &legend);
    let headings = [
        "thread",
        "pid",
        "name",
        "user",
        "system",
        "wanted CPU",
        "waited for locks",
        "waited for work",
        "waited otherwise",
        UNFINISHED,
        "blocked",
        "own switches",
        "forced switches",
        "migrations",
    ];
    let rows: Vec<Vec<Cell>> =
        threads.iter().take(TABLE_ROWS).map(|(pid, thread)| thread_cells(*pid, thread)).collect();
    let rest = threads.len().saturating_sub(TABLE_ROWS);
    let is_finished = threads.iter().all(|(_, thread)| thread.unfinished_wait_ns.is_none());
    let is_constant = |heading: &str| match heading {
        "pid" => report.processes.len() < 2,
        UNFINISHED => is_finished,
        _ => false,
    };
    html! {
        (chart)
        (without(&is_constant, &headings, rows))
        @if rest > 0 { (left_out(&several(rest as u64, "more thread", "more threads"))) }
        @if let Some(join) = longest_join(report) { p { (join) } }
        @if let Some(switches) = own_switches(report) { p { (switches) } }
    }
}

/// The parts of a thread's time: colour, name, nanoseconds.
fn thread_parts(thread: &Thread) -> [(usize, &'static str, Option<u64>); 6] {
    let sum = |parts: [Option<u64>; 2]| parts.into_iter().flatten().reduce(u64::saturating_add);
    let [stuck_ns, waits_ns] = thread.unfinished();
    [
        (4, "ran", thread.user_ns.or(thread.cpu_ns)),
        (1, "ran in the kernel", thread.system_ns),
        (5, "wanted a CPU", thread.runnable_ns),
        (0, "waited for locks", sum([thread.held_up_ns(), stuck_ns])),
        (2, "waited for work", thread.work_wait_ns()),
        (3, "waited otherwise", sum([thread.other_wait_ns, waits_ns])),
    ]
}

fn thread_bar(thread: &Thread) -> Lane {
    let mut segments = Vec::new();
    let mut from = 0.0;
    for (colour, what, ns) in thread_parts(thread) {
        let Some(ns) = ns.filter(|&ns| ns > 0) else { continue };
        let to = from + ns as f64;
        segments.push(Segment {
            from,
            to,
            colour,
            height: 1.0,
            title: format!("{what}: {}", figures::duration(ns)),
        });
        from = to;
    }
    Lane { name: format!("{} {}", thread.tid, thread.name), note: String::new(), segments }
}

fn thread_cells(pid: u32, thread: &Thread) -> Vec<Cell> {
    vec![
        Cell::figure(thread.tid.to_string(), f64::from(thread.tid)),
        Cell::figure(pid.to_string(), f64::from(pid)),
        Cell::text(&*thread.name),
        duration(thread.user_ns.or(thread.cpu_ns)),
        duration(thread.system_ns),
        duration(thread.runnable_ns),
        duration(thread.held_up_ns()),
        duration(thread.work_wait_ns()),
        duration(thread.other_wait_ns),
        duration(thread.unfinished_wait_ns),
        count(thread.blocked),
        count(thread.voluntary_switches),
        count(thread.involuntary_switches),
        count(thread.migrations),
    ]
}

/// Futex waits by call site, as the kernel saw them; needs root.
pub(super) fn futex_sites(report: &RunReport) -> Markup {
    let sites = listed_futex_sites(report);
    if sites.is_empty() {
        return Markup::default();
    }
    let rows: Vec<Vec<Cell>> = sites
        .iter()
        .take(TABLE_ROWS)
        .map(|site| {
            let code = crate::findings::waited_at(site);
            vec![Cell::text(code), count(Some(site.waits)), duration(Some(site.total_ns))]
        })
        .collect();
    html! {
        h3 { "Futex waits as the kernel saw them" }
        (table(&["code", "waits", "total"], &rows))
    }
}
