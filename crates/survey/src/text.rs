//! The survey for people: a table a topic.

use crate::short::in_short;
use crate::{
    Class, Ends, FOUND_ON, Intervals, OverBlocks, Row, Slowed, Survey, Topic, columns, fences,
};
use std::fmt::Write as _;
use uncontended_figures::read::Quantity;
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::text::{several, wrap};
use uncontended_figures::{Dimension, duration, duration_f, number, quantity, ratio};

/// The survey as text, for a terminal of `columns` columns.
#[must_use]
pub fn text(survey: &Survey, columns: usize, paint: Paint) -> String {
    let (mut out, mut left_out) = (String::new(), Vec::new());
    for topic in &survey.topics {
        let name = format!("{}: ", topic.topic);
        let question = wrap(&format!("{}?", topic.question), &name, columns);
        out.push_str(&question.replacen(topic.topic, &paint.bold(topic.topic), 1));
        for line in in_short(topic) {
            out.push_str(&wrap(&line, "  ", columns));
        }
        if topic.topic == "machine" {
            for (name, fact) in survey.machine.lines() {
                out.push_str(&wrap(&fact, &format!("  {name:<14}"), columns));
            }
        } else {
            for (heading, table) in tables(topic) {
                if let Some(heading) = heading {
                    let _ = writeln!(out, "\n{heading}");
                }
                out.push_str(&table.text(columns, paint));
                left_out.extend(table.left_out(columns));
            }
        }
        remarks(&mut out, topic, columns);
        out.push('\n');
    }
    left_out.sort_unstable();
    left_out.dedup();
    if !left_out.is_empty() {
        let all = left_out.join(", ");
        let remark = format!("{all}: no room in {columns} columns; --html and --markdown show all");
        out.push_str(&wrap(&remark, "columns left out: ", columns));
    }
    out
}

/// The survey as Markdown.
#[must_use]
pub fn markdown(survey: &Survey) -> String {
    let mut out = String::new();
    for topic in &survey.topics {
        let _ = writeln!(out, "## {}: {}?\n", topic.topic, topic.question);
        for line in in_short(topic) {
            let _ = writeln!(out, "{line}\n");
        }
        if topic.topic == "machine" {
            for (name, fact) in survey.machine.lines() {
                let _ = writeln!(out, "- {name}: {fact}");
            }
        } else {
            for (heading, table) in tables(topic) {
                if let Some(heading) = heading {
                    let _ = writeln!(out, "{heading}:\n");
                }
                let _ = writeln!(out, "{}", table.markdown());
            }
        }
        remarks(&mut out, topic, usize::MAX);
        out.push('\n');
    }
    out
}

/// The tables of a topic, some with a heading.
#[must_use]
pub fn tables(topic: &Topic) -> Vec<(Option<String>, Table)> {
    if topic.rows.is_empty() {
        return Vec::new();
    }
    match topic.topic {
        "machine" => Vec::new(), // Its facts are shown instead.
        "scale" => columns::scale(topic),
        "jitter" => columns::jitter(topic),
        "affinity" => {
            let rows: Vec<&Row> = topic.rows.iter().collect();
            let others = columns::affinity(topic);
            std::iter::once((None, table(topic, &rows))).chain(others).collect()
        }
        "fences" => {
            let readers: Vec<&Row> = topic.rows.iter().filter(|row| row.fence.is_none()).collect();
            let heading = Some("light fences: a step of a reader".to_owned());
            let others = fences::columns::tables(topic);
            std::iter::once((heading, table(topic, &readers))).chain(others).collect()
        }
        _ => parts(topic).iter().flat_map(|part| of_part(topic, part)).collect(),
    }
}

fn of_part(topic: &Topic, part: &[&Row]) -> Vec<(Option<String>, Table)> {
    let first = (heading(topic, part), table(topic, part));
    let others = [waits(part), hand_offs(part), longest(part), slowed(part)];
    let others = others.into_iter().flatten().map(|table| (None, table));
    std::iter::once(first).chain(others).collect()
}

/// The rows of a topic by number of threads and class, if it compares within them.
pub(crate) fn parts(topic: &Topic) -> Vec<Vec<&Row>> {
    if topic.topic != "locks" {
        return vec![topic.rows.iter().collect()];
    }
    let mut parts: Vec<Vec<&Row>> = Vec::new();
    for row in &topic.rows {
        let is_same = |part: &&mut Vec<&Row>| crew(part[0]) == crew(row);
        match parts.last_mut().filter(is_same) {
            Some(part) => part.push(row),
            None => parts.push(vec![row]),
        }
    }
    parts
}

/// What the rows of a part have in common.
fn crew(row: &Row) -> (usize, Class, Option<u64>) {
    (row.threads, row.class, row.one_write_in)
}

/// The heading of a part: what its rows have in common.
pub(crate) fn heading(topic: &Topic, rows: &[&Row]) -> Option<String> {
    let row = rows.first().filter(|_| topic.topic == "locks")?;
    let threads = several(row.threads as u64, "thread", "threads");
    Some(match row.one_write_in {
        None if row.class == Class::Other => threads,
        None => format!("{threads}, {}", row.class),
        Some(one_in) => format!("locks for readers, {threads}, one write in {one_in}"),
    })
}

fn table(topic: &Topic, rows: &[&Row]) -> Table {
    let is_locks = topic.topic == "locks";
    let mut columns = vec![Column::word(if is_locks { "lock" } else { "way" })];
    if !is_locks {
        columns.push(Column::figure("threads"));
    }
    columns.extend([Column::figure("each"), Column::figure("ratio")]);
    let without_clock = rows.iter().any(|row| row.ratio_without_clock.is_some());
    if without_clock {
        columns.push(Column::figure("no clock").goes(1));
    }
    let fast_path = rows.iter().any(|row| row.fast_path_ns.is_some());
    if fast_path {
        columns.push(Column::figure("fast path"));
    }
    let mut table = Table::new(columns);
    for row in rows {
        let mut cells = cells(row, is_locks);
        if without_clock {
            cells.push(row.ratio_without_clock.map_or_else(|| "–".to_owned(), ends));
        }
        if fast_path {
            cells.push(row.fast_path_ns.map_or_else(|| "–".to_owned(), duration_f));
        }
        table.row(cells);
    }
    table
}

/// An interval of a ratio, without the ratio.
fn ends(Ends { low, high }: Ends) -> String {
    ratio(None, low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY))
}

/// Waits, idle times and hand-offs, of the rows of several threads.
fn waits(rows: &[&Row]) -> Option<Table> {
    let rows: Vec<&&Row> =
        rows.iter().filter(|row| row.threads > 1 && row.wait_ns.is_some()).collect();
    rows.first()?;
    let is_of_writes = rows[0].one_write_in.is_some();
    let mut columns = vec![
        Column::word("lock"),
        Column::figure(if is_of_writes { "wait to write" } else { "wait" }),
    ];
    if !is_of_writes {
        columns.extend([Column::figure("idle"), Column::figure("overtaken")]);
    }
    let mut table = Table::new(columns);
    for row in rows {
        let overtaken =
            row.overtaken_p99.map_or_else(|| "–".to_owned(), |it| it.round().to_string());
        let mut cells = vec![row.name.clone(), time(row.intervals.wait_ns)];
        if !is_of_writes {
            cells.extend([time(row.intervals.idle_ns), overtaken]);
        }
        table.row(cells);
    }
    Some(table)
}

/// From a release to the acquisition by a thread that waited.
fn hand_offs(rows: &[&Row]) -> Option<Table> {
    let of = "hand-offs";
    let columns = [Column::figure("half at most").of(of), Column::figure("99 % at most").of(of)];
    let mut table = Table::new(std::iter::once(Column::word("lock")).chain(columns).collect());
    let is_in = |row: &&&Row| row.intervals.hand_off_p50_ns.is_some();
    for row in rows.iter().filter(is_in) {
        let Intervals { hand_off_p50_ns, hand_off_p99_ns, .. } = row.intervals;
        table.row([row.name.clone(), time(hand_off_p50_ns), time(hand_off_p99_ns)]);
    }
    rows.iter().any(|row| is_in(&row)).then_some(table)
}

/// A time with its interval in its own unit: `1.37 [0.0504, 8.58] µs`.
fn time(figure: Option<OverBlocks>) -> String {
    let Some(OverBlocks { median, low, high }) = figure else { return "–".to_owned() };
    let (Some(low), Some(high)) = (low, high) else {
        return quantity(Some(median), low, high, Dimension::Time);
    };
    let (unit, size) = unit_of(duration_f(median));
    format!("{} [{}, {}] {unit}", number(median / size), number(low / size), number(high / size))
}

/// The unit of a time that is shown, and how many nanoseconds it has.
fn unit_of(shown: String) -> (String, f64) {
    let unit = shown.rsplit(' ').next().unwrap_or_default().to_owned();
    let size = Quantity::parse(&format!("1 {unit}")).map_or(1.0, |one| one.value);
    (unit, size)
}

/// How much a bystander is slowed next to each lock.
fn slowed(rows: &[&Row]) -> Option<Table> {
    let columns = [Column::word("lock"), Column::figure("bystander"), Column::word("its CPU")];
    let mut table = Table::new(columns.to_vec());
    for row in rows {
        let Some(Slowed { ratio: slowed, low, high, cpu }) = row.bystander else { continue };
        let shown = ratio(Some(slowed), low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY));
        let cpu = if cpu == "own" { "its own" } else { "shared: two CPUs have none to spare" };
        table.row([row.name.clone(), shown, cpu.to_owned()]);
    }
    rows.iter().any(|row| row.bystander.is_some()).then_some(table)
}

/// The four longest waits and idle times, as document 003 shows them.
fn longest(rows: &[&Row]) -> Option<Table> {
    let [lock, waits, idles] = ["lock", "longest waits", "longest idle times"].map(Column::word);
    let mut table = Table::new(vec![lock, waits, idles.goes(1)]);
    for row in rows.iter().filter(|row| row.threads > 1 && row.failed.is_none()) {
        let (Some(waits), Some(idles)) = (row.worst_wait_ns, row.worst_idle_ns) else { continue };
        let cut = |flags: Option<[bool; 4]>| flags.unwrap_or_default();
        table.row([
            row.name.clone(),
            in_one_unit(waits, cut(row.worst_wait_is_cut)),
            in_one_unit(idles, cut(row.worst_idle_is_cut)),
        ]);
    }
    rows.iter().any(|row| row.worst_wait_ns.is_some() && row.threads > 1).then_some(table)
}

/// Times in the unit of the longest, which is the first: `≥ 12.1, 4.03, 4.01, 0.820 ms`, where the first was not over.
fn in_one_unit(times_ns: [u64; 4], is_cut: [bool; 4]) -> String {
    let (unit, size) = unit_of(duration(times_ns[0]));
    let shown = |(ns, is_cut): (u64, bool)| {
        format!("{}{}", if is_cut { "≥ " } else { "" }, number(ns as f64 / size))
    };
    let all: Vec<String> = times_ns.into_iter().zip(is_cut).map(shown).collect();
    format!("{} {unit}", all.join(", "))
}

fn cells(row: &Row, is_locks: bool) -> Vec<String> {
    let mut cells = vec![row.name.clone()];
    if !is_locks {
        cells.push(row.threads.to_string());
    }
    if row.failed.is_some() {
        cells.push("failed".to_owned()); // The remarks say why.
        return cells;
    }
    let shown = match (row.role, row.ratio) {
        ("baseline", _) => "1".to_owned(),
        (_, None) => "–".to_owned(),
        (_, estimate) => ratio(estimate, row.low.unwrap_or(0.0), row.high.unwrap_or(f64::INFINITY)),
    };
    cells.extend([row.ns.map_or_else(|| "–".to_owned(), duration_f), shown]);
    cells
}

fn remarks(out: &mut String, topic: &Topic, columns: usize) {
    if let Some(baseline) = &topic.baseline {
        let remark = format!(
            "Ratios are to {baseline}, within a round; their intervals hold at all looks together."
        );
        out.push_str(&wrap(&remark, "", columns));
    }
    for row in topic.rows.iter().filter(|row| topic.topic != "jitter" && row.failed.is_some()) {
        let why = row.failed.as_deref().unwrap_or_default();
        let threads = several(row.threads as u64, "thread", "threads");
        let first = why.lines().next().unwrap_or_default();
        out.push_str(&wrap(&format!("{}, {threads}: {first}", row.name), "failed: ", columns));
    }
    if !topic.findings.is_empty() {
        let _ = writeln!(out, "{FOUND_ON}, asked of this machine:");
    }
    for finding in &topic.findings {
        out.push_str(&wrap(&finding.said(), &format!("  {}: ", finding.verdict), columns));
    }
    let kinds = [
        ("note", &topic.notes),
        ("warning", &topic.warnings),
        ("not measured", &topic.not_measured),
    ];
    for (kind, remarks) in kinds {
        for remark in remarks {
            out.push_str(&wrap(remark, &format!("{kind}: "), columns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_times_share_a_unit() {
        assert_eq!(
            in_one_unit([12_100_000, 4_030_000, 820_000, 0], [true, false, false, false]),
            "≥ 12.1, 4.03, 0.820, 0 ms"
        );
        assert_eq!(in_one_unit([900, 70, 5, 5], [false; 4]), "900, 70.0, 5.00, 5.00 ns");
    }
}
