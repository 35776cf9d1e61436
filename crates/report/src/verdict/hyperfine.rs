//! The runs of a trial as hyperfine exports them, for programs that read that: JSON, CSV, Markdown, AsciiDoc.
//!
//! # Contract
//! The figures are of the wall times of all runs that were made, whatever the metric, in the units of hyperfine:
//! seconds in JSON and CSV, milliseconds or seconds in tables. The ratio in a table is that of means, to the fastest
//! command; it is not a verdict.
//!
//! # Sources
//! hyperfine 1.19, `doc/` and its exports.

use serde_json::{Value, json};
use std::fmt::Write as _;
use uncontended_decide::question::Question;
use uncontended_decide::record::{Outcome, Run, Usage};
use uncontended_decide::spread::Spread;
use uncontended_decide::verdict::Verdict;
use uncontended_figures::fixed;

/// The runs of one command.
struct Arm<'v> {
    name: &'v str,
    runs: Vec<&'v Run>,
    /// Of the wall times, in seconds.
    spread: Spread,
    user_s: f64,
    system_s: f64,
}

/// All commands that were run; none if there is no time of any run.
fn arms<'v>(verdict: &'v Verdict, runs: &'v [Run]) -> Vec<Arm<'v>> {
    let names: Vec<&str> = match &verdict.hypothesis {
        Question::Compare(compare) => compare.commands.iter().map(String::as_str).collect(),
        Question::Slo(slo) => slo.command.iter().map(String::as_str).collect(),
        Question::Record(recording) => recording.commands(),
        Question::Permute(_) => Vec::new(),
    };
    let arm = |(arm, name): (usize, &'v str)| {
        let runs: Vec<&Run> =
            runs.iter().filter(|run| run.arm == arm && run.wall_ns.is_some()).collect();
        let times: Vec<f64> = runs.iter().filter_map(|run| seconds(run)).collect();
        let mean = |of: fn(&Usage) -> u64| {
            let used: Vec<u64> = runs.iter().filter_map(|run| run.usage.as_ref().map(of)).collect();
            used.iter().map(|&ns| ns as f64 / 1e9).sum::<f64>() / used.len().max(1) as f64
        };
        Some(Arm {
            name,
            spread: Spread::of(&times)?,
            user_s: mean(|usage| usage.user_ns),
            system_s: mean(|usage| usage.system_ns),
            runs,
        })
    };
    names.into_iter().enumerate().filter_map(arm).collect()
}

fn seconds(run: &Run) -> Option<f64> {
    run.wall_ns.map(|ns| ns as f64 / 1e9)
}

/// As `--export-json` of hyperfine.
#[must_use]
pub fn json(verdict: &Verdict, runs: &[Run]) -> String {
    let result = |arm: &Arm<'_>| {
        let code = |run: &&Run| match run.outcome {
            Outcome::Ok => json!(0),
            Outcome::Failed(status) => json!(status),
            Outcome::TimedOut => Value::Null,
        };
        // With other metrics, a small program's is that of this one, from which it starts.
        let is_measured = metric(&verdict.hypothesis) == "max-rss";
        let memory =
            |run: &&Run| run.usage.filter(|_| is_measured).map(|usage| usage.max_rss_bytes);
        json!({
            "command": arm.name,
            "mean": arm.spread.mean,
            "stddev": arm.spread.deviation,
            "median": arm.spread.median,
            "user": arm.user_s,
            "system": arm.system_s,
            "min": arm.spread.min,
            "max": arm.spread.max,
            "times": arm.runs.iter().filter_map(|run| seconds(run)).collect::<Vec<_>>(),
            "memory_usage_byte": arm.runs.iter().map(memory).collect::<Vec<_>>(),
            "exit_codes": arm.runs.iter().map(code).collect::<Vec<_>>(),
        })
    };
    let results: Vec<Value> = arms(verdict, runs).iter().map(result).collect();
    format!("{:#}\n", json!({ "results": results }))
}

/// The metric of the runs.
fn metric(question: &Question) -> &str {
    question.each(|slo| &slo.metric, |compare| &compare.metric, |_| "", |record| &record.metric)
}

/// As `--export-csv` of hyperfine.
#[must_use]
pub fn csv(verdict: &Verdict, runs: &[Run]) -> String {
    let mut text = "command,mean,stddev,median,user,system,min,max\n".to_owned();
    for arm in arms(verdict, runs) {
        let name = match arm.name.contains([',', '"', '\n']) {
            true => format!("\"{}\"", arm.name.replace('"', "\"\"")),
            false => arm.name.to_owned(),
        };
        let Spread { mean, median, min, max, deviation, .. } = arm.spread;
        let deviation = deviation.unwrap_or(0.0);
        let (user, system) = (arm.user_s, arm.system_s);
        let _ = writeln!(text, "{name},{mean},{deviation},{median},{user},{system},{min},{max}");
    }
    text
}

/// A row of a table: name, mean, least, greatest, relative.
type Row = [String; 5];

/// The rows of a table, and its unit.
fn rows(arms: &[Arm<'_>]) -> (&'static str, Vec<Row>) {
    let fastest = arms.iter().min_by(|a, b| a.spread.mean.total_cmp(&b.spread.mean));
    let Some(fastest) = fastest else { return ("s", Vec::new()) };
    let (unit, per_s) = if fastest.spread.mean < 1.0 { ("ms", 1e3) } else { ("s", 1.0) };
    let places = if unit == "ms" { 1 } else { 3 };
    let shown = |seconds: f64| fixed(seconds * per_s, places);
    let row = |arm: &Arm<'_>| {
        let Spread { mean, min, max, deviation, .. } = arm.spread;
        let deviation = deviation.map_or(String::new(), |by| format!(" ± {}", shown(by)));
        let relative = mean / fastest.spread.mean;
        [
            format!("`{}`", arm.name),
            shown(mean) + &deviation,
            shown(min),
            shown(max),
            fixed(relative, 2),
        ]
    };
    (unit, arms.iter().map(row).collect())
}

/// As `--export-markdown` of hyperfine.
#[must_use]
pub fn markdown(verdict: &Verdict, runs: &[Run]) -> String {
    let (unit, rows) = rows(&arms(verdict, runs));
    let mut text = format!(
        "| Command | Mean [{unit}] | Min [{unit}] | Max [{unit}] | Relative |\n|:---|---:|---:|---:|---:|\n"
    );
    for row in rows {
        let cells = row.map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

/// As `--export-asciidoc` of hyperfine.
#[must_use]
pub fn asciidoc(verdict: &Verdict, runs: &[Run]) -> String {
    let (unit, rows) = rows(&arms(verdict, runs));
    let mut text = format!(
        "[cols=\"<,>,>,>,>\"]\n|===\n| Command\n| Mean [{unit}]\n| Min [{unit}]\n| Max [{unit}]\n| Relative\n"
    );
    for row in rows {
        let cells = row.map(|cell| format!("| {}\n", cell.replace('|', "\\|")));
        let _ = write!(text, "\n{}", cells.concat());
    }
    text + "|===\n"
}
