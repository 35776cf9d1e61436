//! A benchmark that stops when it is decided: is the new way of summing no slower than the old one by more than 10 %?
//!
//! `cargo run --release -p uncontended-decide --example until_decided`

use std::hint::black_box;
use std::time::Instant;
use uncontended_decide::Failure;
use uncontended_decide::guard::Guard;
use uncontended_decide::progress::Silent;
use uncontended_decide::question::{Claim, Compare, Question};
use uncontended_decide::record::Run;
use uncontended_decide::session::{Session, Setting};

fn old_way(values: &[u64]) -> u64 {
    values.iter().fold(0, |sum, value| sum ^ value.rotate_left(7))
}

fn new_way(values: &[u64]) -> u64 {
    values
        .chunks(4)
        .map(|four| four.iter().fold(0, |sum, value| sum ^ value.rotate_left(7)))
        .fold(0, |a, b| a ^ b)
}

fn main() -> Result<(), Failure> {
    let question = Question::Compare(Compare {
        guard: Guard::new(true, false),
        ..Compare::of(Claim::NoWorse, 0.1, 0.01, &["old", "new"])
    });
    let setting = Setting { most_runs: Some(4000), ..Setting::default() };
    let mut session = Session::open(question, setting, Box::new(Silent))?;
    let values: Vec<u64> = (0..100_000).collect();
    let ways: [fn(&[u64]) -> u64; 2] = [old_way, new_way];
    let stop = 'blocks: loop {
        // Disturbances hit both: the two alternate, and take turns at going first.
        for arm in [0, 1, 1, 0] {
            if let Some(stop) = session.stop() {
                break 'blocks stop;
            }
            let started = Instant::now();
            black_box(ways[arm](black_box(&values)));
            session.push(Run::of(arm, started.elapsed().as_nanos() as f64))?;
        }
    };
    let verdict = session.finish(stop)?;
    println!("{} {}", verdict.question, verdict.finding.verdict.name());
    println!("after {} pairs: {:?}", verdict.finding.n, verdict.finding.pairs());
    Ok(())
}
