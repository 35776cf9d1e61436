//! Question: how many runs per second does the machine make of a test, including setup and counting, and how often does
//! it show the weak outcome?
//!
//! `cargo bench -p uncontended-machine --bench how_many_runs_a_second [-- RUNS]`. The five tests take turns, so drift
//! affects all of them; the median of five turns is printed, with the slowest and the fastest. Not measured: the rate
//! on CPUs shared with other programs.

use std::time::Instant;
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::{number, percent, whole};
use uncontended_machine::{Setup, run};
use uncontended_model::classics::named;
use uncontended_model::litmus::{Test, parse};

const TURNS: usize = 5;

fn main() {
    let runs =
        std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(10_000_000_u64);
    let names = ["SB", "SB+mfences", "MP", "n6", "LOCK-INC"];
    let tests: Vec<Test> = names
        .iter()
        .map(|name| parse(named(name).expect("a classic").text).expect("a classic parses"))
        .collect();
    let mut rates = vec![Vec::new(); tests.len()];
    let mut met = vec![0; tests.len()];
    for turn in 0..TURNS {
        for (at, test) in tests.iter().enumerate() {
            let start = Instant::now();
            let seen = match run(&test.program, &Setup { runs, seed: turn as u64 }) {
                Ok(seen) => seen,
                Err(reason) => {
                    return uncontended_testkit::skip!("how_many_runs_a_second", "{reason}");
                }
            };
            rates[at].push(runs as f64 / start.elapsed().as_secs_f64());
            met[at] +=
                seen.states.iter().filter(|(end, _)| test.holds(end)).map(|(_, n)| n).sum::<u64>();
        }
    }
    let figures = ["runs a second", "slowest", "fastest", "condition met", "of", "share"];
    let columns = std::iter::once(Column::word("")).chain(figures.map(Column::figure));
    let mut table = Table::new(columns.collect());
    for ((name, mut rates), met) in names.iter().zip(rates).zip(met) {
        rates.sort_by(f64::total_cmp);
        let all = runs * TURNS as u64;
        let [middle, slowest, fastest] = [TURNS / 2, 0, TURNS - 1].map(|at| number(rates[at]));
        let share = percent(met as f64 / all as f64);
        table.row([name.to_string(), middle, slowest, fastest, whole(met), whole(all), share]);
    }
    print!("{}", table.text(usize::MAX, Paint::default()));
}
