//! A forecast of a question's runs, as people read it.

use std::fmt::Write as _;
use uncontended_decide::power::{Forecast, Truth};
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::text::several;
use uncontended_figures::{given_number, given_percent, percent, share, whole};

/// The forecast as lines of text.
#[must_use]
pub fn text(forecast: &Forecast) -> String {
    let most = several(forecast.max_runs, "run", "runs");
    let mut text = format!("{}, with at most {most}:\n", forecast.question);
    text += &answers(forecast).text(usize::MAX, Paint::default());
    let p95 = p95(forecast.p95_runs);
    let _ = writeln!(
        text,
        "  runs: {} on average, 95th percentile {p95}, at least {}",
        whole(forecast.mean_runs.round() as u64),
        fewest(forecast)
    );
    text += &alone(forecast);
    let _ = writeln!(text, "  decided in at least 95 of 100 trials: {}", decidable(forecast));
    let simulations = whole(forecast.simulations);
    let _ = writeln!(text, "  {simulations} simulated trials, seed {}", forecast.seed);
    text
}

fn p95(runs: Option<u64>) -> String {
    runs.map_or("more than the budget".to_string(), whole)
}

/// The fewest runs for an answer, and for the one that the guard holds back.
fn fewest(forecast: &Forecast) -> String {
    let (any, held) = (whole(forecast.fewest_runs), whole(forecast.fewest_to_hold));
    if held == any { any } else { format!("{any}, for a {} {held}", forecast.held.name()) }
}

/// The runs without the guard, where they differ.
fn alone(forecast: &Forecast) -> String {
    let Some(alone) = &forecast.alone else { return String::new() };
    let same = (alone.mean_runs, alone.p95_runs) == (forecast.mean_runs, forecast.p95_runs);
    let what = match forecast.truth {
        _ if same => return String::new(),
        Truth::Rate(_) => "if runs are known to be independent (--bursts 1)",
        _ => "of the median alone (--no-tail-guard)",
    };
    let mean = whole(alone.mean_runs.round() as u64);
    format!("  {what}: {mean} on average, 95th percentile {}\n", p95(alone.p95_runs))
}

fn answers(forecast: &Forecast) -> Table {
    let mut answers =
        Table::new(vec![Column::word("  answer"), Column::figure("chance"), Column::word("")]);
    let [low, high] = forecast.undecided_interval;
    answers.row(["  yes", &percent(forecast.yes)]);
    answers.row(["  no", &percent(forecast.no)]);
    answers.row(["  undecided", &percent(forecast.undecided), &share(None, low, high)]);
    answers
}

/// For which truths the budget is enough.
fn decidable(forecast: &Forecast) -> String {
    let (what, print) = match forecast.truth {
        Truth::Rate(_) => ("rate", given_percent as fn(f64) -> String),
        Truth::Ratio => ("ratio", given_number as fn(f64) -> String),
        Truth::Shift => ("shift", given_number as fn(f64) -> String),
    };
    let rounded = |value: Option<f64>| Some(print(away(value?, forecast.truth.undecidable())));
    match forecast.decidable.map(rounded) {
        [Some(below), Some(above)] => {
            format!("if the true {what} is at most {below} or at least {above}")
        }
        [Some(below), None] => format!("if the true {what} is at most {below}"),
        [None, Some(above)] => format!("if the true {what} is at least {above}"),
        [None, None] => format!("for no {what}"),
    }
}

/// A value to two digits of its distance from `from`, rounded away from that.
fn away(value: f64, from: f64) -> f64 {
    let distance = value - from;
    if distance == 0.0 {
        return value;
    }
    let scale = 10f64.powf(1.0 - distance.abs().log10().floor());
    let rounded = if distance < 0.0 { f64::floor } else { f64::ceil };
    rounded(value * scale) / scale
}
