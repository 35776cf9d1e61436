//! Reports as text: aligned for a terminal, or Markdown.

use std::fmt::Write as _;

use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::{self as figures, duration_f, given_percent, number, whole};

use crate::bench::Ratio;
use crate::report::{Estimate, Measurement, Report, Role, Row, Stopped};

/// The report for a terminal.
#[must_use]
pub fn text(report: &Report) -> String {
    all(report, &|table| table.text(usize::MAX, Paint::default()))
}

/// The report as Markdown.
#[must_use]
pub fn markdown(report: &Report) -> String {
    listed(&all(report, &|table| table.markdown() + "\n"))
}

/// Warnings as a list, so that Markdown does not join the lines.
fn listed(text: &str) -> String {
    text.replace("\nwarning: ", "\n- warning: ")
}

/// The report as Markdown with two tables per place: the ratios of all cases, where the baseline shows its time, and
/// the CPU time.
#[must_use]
pub fn matrix(report: &Report) -> String {
    let mut text = head(report);
    let mut places: Vec<_> = report.tables.iter().map(|table| table.place).collect();
    places.dedup();
    for place in places {
        let at_place = report.tables.iter().filter(|table| table.place == place);
        let measured: Vec<(&str, &Measurement)> =
            at_place.filter_map(|it| Some((it.case.as_str(), it.outcome.as_ref().ok()?))).collect();
        let Some((_, first)) = measured.first() else { continue };
        let rounds = measured.iter().map(|(_, table)| table.rounds);
        let (fewest, most) = (rounds.clone().min().unwrap_or(0), rounds.max().unwrap_or(0));
        let _ = writeln!(
            text,
            "{}, {place}; {} to {} rounds, intervals hold at {}.\n",
            heading(report, first),
            whole(fewest),
            whole(most),
            given_percent(1.0 - report.max_error)
        );
        let ratio = |row: &Row| match (row.role, row.ns_per_operation) {
            (Role::Baseline, Some(ns)) => duration_f(ns),
            _ => of_baseline(row),
        };
        text += &(crossed(&measured, &ratio).markdown() + "\n");
        let _ = writeln!(text, "CPU time of all threads, in ns/{}.\n", report.operation);
        let cpu = |row: &Row| row.cpu_ns_per_operation.map_or(String::new(), number);
        text += &(crossed(&measured, &cpu).markdown() + "\n");
        text += &gathered(&measured);
    }
    listed(&(text + &foot(report)))
}

/// One figure of every subject in every case: a row per subject and a column per case, or the other way round if there
/// are more cases.
fn crossed(tables: &[(&str, &Measurement)], pick: &dyn Fn(&Row) -> String) -> Table {
    let cases = tables.iter().map(|(case, _)| (*case).to_owned());
    let mut cells: Vec<Vec<String>> = vec![std::iter::once(String::new()).chain(cases).collect()];
    let names = tables.first().map_or(&[][..], |(_, first)| &first.rows);
    for name in names.iter().map(|row| &row.name) {
        let in_table = |table: &Measurement| {
            table.rows.iter().find(|row| row.name == *name).map_or(String::new(), pick)
        };
        let figures = tables.iter().map(|(_, table)| in_table(table));
        cells.push(std::iter::once(name.clone()).chain(figures).collect());
    }
    tabled(if cells[0].len() > cells.len() { transposed(&cells) } else { cells })
}

/// The warnings of many tables: each kind once, with the first case that has it.
fn gathered(tables: &[(&str, &Measurement)]) -> String {
    let kind = |text: &str| text.chars().filter(|c| c.is_alphabetic()).collect::<String>();
    let mut kinds: Vec<(String, usize, String)> = Vec::new();
    for (case, table) in tables {
        for warning in &table.warnings {
            match kinds.iter_mut().find(|(known, ..)| *known == kind(warning)) {
                Some((_, count, _)) => *count += 1,
                None => kinds.push((kind(warning), 1, format!("{case}: {warning}"))),
            }
        }
    }
    let line = |(_, count, first): &(String, usize, String)| match count {
        1 => format!("warning: {first}\n"),
        _ => format!("warning: in {count} of {} tables; {first}\n", tables.len()),
    };
    kinds.iter().map(line).collect()
}

/// The first row as headings; the first column has names, the others figures.
fn tabled(cells: Vec<Vec<String>>) -> Table {
    let mut rows = cells.into_iter();
    let headings = rows.next().unwrap_or_default().into_iter().enumerate();
    let column = |(at, title)| match at {
        0 => Column::word(""),
        _ => Column::titled(title),
    };
    let mut table = Table::new(headings.map(column).collect());
    rows.for_each(|row| table.row(row));
    table
}

fn transposed(cells: &[Vec<String>]) -> Vec<Vec<String>> {
    let columns = cells.first().map_or(0, Vec::len);
    (0..columns).map(|at| cells.iter().map(|row| row[at].clone()).collect()).collect()
}

/// The question and the machine.
fn head(report: &Report) -> String {
    let facts = &report.facts;
    let load = facts.load.map_or(String::new(), |load| format!(", load {}", number(load)));
    format!(
        "{}: {}\n{}, {} CPUs, Linux {}{load}; a tick is {}\n\n",
        report.name,
        report.question,
        facts.processor,
        facts.cpus,
        facts.kernel,
        duration_f(facts.tick_ns)
    )
}

/// Notes and warnings on all tables.
fn foot(report: &Report) -> String {
    let notes = report.notes.iter().cloned();
    let warnings = report.warnings.iter().map(|warning| format!("warning: {warning}"));
    notes.chain(warnings).map(|line| line + "\n").collect()
}

fn all(report: &Report, render: &dyn Fn(&Table) -> String) -> String {
    let mut text = head(report);
    for table in &report.tables {
        let case = if table.case.is_empty() { String::new() } else { format!("{}, ", table.case) };
        match &table.outcome {
            Err(reason) => {
                let _ = writeln!(text, "SKIPPED {case}{}: {reason}\n", table.place);
            }
            Ok(measured) => {
                let _ = writeln!(text, "{case}{}: {}\n", table.place, ending(report, measured));
                text += &render(&cells(report, measured));
                for warning in &measured.warnings {
                    let _ = writeln!(text, "warning: {warning}");
                }
                text.push('\n');
            }
        }
    }
    text + &foot(report)
}

/// The number of rounds, and why they ended.
fn ending(report: &Report, table: &Measurement) -> String {
    let cpus: Vec<String> = table.cpus.iter().map(ToString::to_string).collect();
    let cpus = if cpus.is_empty() { String::new() } else { format!("CPU {}; ", cpus.join(", ")) };
    let why = match table.stopped {
        Stopped::Narrow => {
            format!("every interval is within {}", given_percent(report.width))
        }
        Stopped::Time => "the time is spent".to_owned(),
        Stopped::Interrupted => "it was interrupted".to_owned(),
        Stopped::Rounds => "the limit of --rounds is reached".to_owned(),
        Stopped::Nothing => "nothing is left to compare".to_owned(),
    };
    let intervals = given_percent(1.0 - report.max_error);
    format!(
        "{cpus}{} rounds in {}, {why}; intervals hold at {intervals} together",
        whole(table.rounds),
        duration_f(table.seconds * 1e9)
    )
}

fn heading(report: &Report, table: &Measurement) -> String {
    let baseline = table.rows.iter().find(|row| row.role == Role::Baseline);
    let of = baseline.map_or("", |row| row.name.as_str());
    match report.ratio {
        Ratio::Time => format!("time ÷ {of}"),
        Ratio::Speed => format!("speed ÷ {of}"),
        Ratio::Cpu => format!("CPU time ÷ {of}"),
    }
}

/// The heading and a row per subject, without columns that are empty in all rows.
fn cells(report: &Report, table: &Measurement) -> Table {
    let operation = report.operation;
    let figure = |value: Option<f64>| value.map_or(String::new(), number);
    let mut columns: Vec<Vec<String>> = Vec::new();
    let mut column = |heading: String, cell: &dyn Fn(&Row) -> String| {
        let cells: Vec<String> = table.rows.iter().map(cell).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            columns.push(std::iter::once(heading).chain(cells).collect());
        }
    };
    column(String::new(), &|row| row.name.clone());
    column(format!("ns/{operation}"), &|row| figure(row.ns_per_operation));
    if report.ratio == Ratio::Speed {
        column(format!("M {operation}s/s"), &|row| figure(row.ns_per_operation.map(|ns| 1e3 / ns)));
    }
    column(heading(report, table), &of_baseline);
    let latency = |pick: &dyn Fn(&crate::report::Latency) -> u64, row: &Row| {
        row.latency_ns.as_ref().map_or(String::new(), |it| number(pick(it) as f64 / 1e3))
    };
    column("p50 µs".to_owned(), &|row| latency(&|it| it.p50, row));
    column("p99 µs".to_owned(), &|row| latency(&|it| it.p99, row));
    column("p99.9 µs".to_owned(), &|row| latency(&|it| it.p999, row));
    column("p99.99 µs".to_owned(), &|row| latency(&|it| it.p9999, row));
    column(format!("CPU ns/{operation}"), &|row| figure(row.cpu_ns_per_operation));
    column("CPUs".to_owned(), &|row| figure(row.cpu_share));
    column("sleeps/s".to_owned(), &|row| figure(row.voluntary_per_s));
    column("forced off/s".to_owned(), &|row| figure(row.involuntary_per_s));
    let mut names: Vec<&str> =
        table.rows.iter().flat_map(|row| row.figures.iter().map(|it| it.0)).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let own = |row: &Row| row.figures.iter().find(|it| it.0 == name).map(|it| it.1);
        column(name.to_owned(), &|row| figure(own(row)));
    }
    tabled(transposed(&columns))
}

fn of_baseline(row: &Row) -> String {
    match (row.role, row.ratio, &row.failed) {
        (_, _, Some(failed)) => failed.split(':').next().unwrap_or("failed").to_owned(),
        (Role::Baseline, ..) => "1".to_owned(),
        (_, Some(Estimate { median, low, high }), _) => figures::ratio(Some(median), low, high),
        (_, None, _) => String::new(),
    }
}
