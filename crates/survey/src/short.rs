//! A topic in short: which rows differ from the baseline, and what puts that in doubt.
//!
//! # Contract
//! A row is faster or slower only where its whole interval is, so nothing is said that the tables do not hold.

use crate::text::{heading, parts};
use crate::{Row, Topic};
use uncontended_figures::ratio;
use uncontended_figures::text::several;

/// How many rows are named of each kind.
const NAMED: usize = 3;
/// Topics whose rows are compared with one baseline.
const COMPARED: [&str; 3] = ["contention", "locks", "spawn"];

/// How the warning begins that a benchmark gives of a busy machine.
const BUSY: &str = "other processes kept";

/// The lines that come before the tables.
#[must_use]
pub fn in_short(topic: &Topic) -> Vec<String> {
    if !COMPARED.contains(&topic.topic) {
        return Vec::new();
    }
    let busy =
        topic.warnings.iter().find_map(|warning| warning.find(BUSY).map(|at| &warning[at..]));
    let doubt = busy.map(|busy| format!("in doubt: {busy}"));
    let lines = parts(topic).into_iter().filter_map(|part| line(topic, &part));
    doubt.into_iter().chain(lines).collect()
}

fn line(topic: &Topic, part: &[&Row]) -> Option<String> {
    let baseline = part.iter().find(|row| row.role == "baseline")?;
    let compared: Vec<&Row> =
        part.iter().copied().filter(|row| row.role == "subject" && row.ratio.is_some()).collect();
    compared.first()?;
    let (faster, others): (Vec<&Row>, Vec<&Row>) =
        compared.into_iter().partition(|row| row.is_faster());
    let (slower, open): (Vec<&Row>, Vec<&Row>) =
        others.into_iter().partition(|row| row.is_slower());
    let (base, about) = (&baseline.name, heading(topic, part));
    let open = match (faster.len() + slower.len(), open.len()) {
        (0, _) => format!("nothing differs from {base} yet"),
        (_, 0) => String::new(),
        (_, count) => format!("no difference from {base} shown: {count}"),
    };
    let is_shown = faster.len() + slower.len() > 0;
    let itself = if is_shown { itself(base, part) } else { String::new() };
    let said = [
        named(&format!("faster than {base}"), faster, |ratio| ratio),
        named(&format!("slower than {base}"), slower, |ratio| -ratio),
        open,
        itself,
    ];
    let said: Vec<String> = said.into_iter().filter(|said| !said.is_empty()).collect();
    let about = about.map_or_else(String::new, |about| format!(", {about}"));
    Some(format!("in short{about}: {}", said.join("; ")))
}

/// The rows by `order`, the first of them by name and ratio.
fn named(what: &str, mut rows: Vec<&Row>, order: impl Fn(f64) -> f64) -> String {
    let by = |row: &Row| order(row.ratio.unwrap_or(f64::NAN));
    rows.sort_by(|one, other| by(one).total_cmp(&by(other)));
    let is_by_threads = rows.iter().any(|row| row.threads != rows[0].threads);
    let name = |row: &&Row| {
        let threads = several(row.threads as u64, "thread", "threads");
        let by = if is_by_threads { format!(" ({threads})") } else { String::new() };
        format!("{}{by} {}", row.name, shown(row))
    };
    let mut names: Vec<String> = rows.iter().take(NAMED).map(name).collect();
    if rows.len() > NAMED {
        names.push(format!("and {} more", rows.len() - NAMED));
    }
    if names.is_empty() { String::new() } else { format!("{what}: {}", names.join(", ")) }
}

fn shown(row: &Row) -> String {
    ratio(row.ratio, row.low.unwrap_or(0.0), row.high.unwrap_or(f64::INFINITY))
}

/// How far apart the baseline is from itself.
fn itself(base: &str, part: &[&Row]) -> String {
    let Some(control) = part.iter().find(|row| row.role == "control") else { return String::new() };
    match (control.low, control.high) {
        (Some(low), Some(high)) => {
            format!("{base} is within {} of itself", ratio(None, low, high))
        }
        _ => format!("{base} has no interval to itself yet"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, role: &'static str, [low, middle, high]: [f64; 3]) -> Row {
        let (ratio, end) = (Some(middle), |end: f64| end.is_finite().then_some(end));
        Row {
            name: name.to_owned(),
            threads: 2,
            role,
            ratio,
            low: end(low),
            high: end(high),
            ..Row::default()
        }
    }

    fn said(rows: Vec<Row>) -> String {
        let mut topic = Topic::left_out("locks", "which", "");
        topic.rows = rows;
        in_short(&topic).join("\n")
    }

    #[test]
    fn only_what_its_whole_interval_says_is_faster_or_slower() {
        let rows = vec![
            row("std", "baseline", [1.0; 3]),
            row("std again", "control", [0.98, 1.0, 1.02]),
            row("Quick", "subject", [0.5, 0.6, 0.7]),
            row("Quicker", "subject", [0.4, 0.5, 0.6]),
            row("Slow", "subject", [1.5, 2.0, f64::INFINITY]),
            row("Open", "subject", [0.5, 0.6, f64::INFINITY]),
        ];
        assert_eq!(
            said(rows),
            "in short, 2 threads: faster than std: Quicker 0.500 [0.400, 0.600], Quick 0.600 [0.500, 0.700]; slower than std: Slow 2.00, at least 1.50; \
             no difference from std shown: 1; std is within [0.9800, 1.0200] of itself"
        );
    }

    #[test]
    fn without_intervals_nothing_differs() {
        let open = [f64::NEG_INFINITY, 0.2, f64::INFINITY];
        let rows = vec![row("std", "baseline", [1.0; 3]), row("Quick", "subject", open)];
        assert_eq!(said(rows), "in short, 2 threads: nothing differs from std yet");
    }
}
