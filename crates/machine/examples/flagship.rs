//! How often does this machine lose the sleepers flag of the one-word event count, and what prevents it?
//!
//! P0 increments the version without LOCK; P1 sets the sleepers flag with `lock or` and rereads the word. The flag is
//! lost *silently* if P1 saw it set and it is gone in the end: P1 would sleep and never be woken. The loss is *noticed*
//! if P1 saw it gone and can set it again.
//!
//! `cargo run --release -p uncontended-machine --example flagship [RUNS]`; a hundredth of the runs with membarrier.

use std::time::Instant;
use uncontended_machine::{Setup, run};
use uncontended_model::classics::named;
use uncontended_model::litmus::parse;
use uncontended_model::memory::Tso;
use uncontended_model::outcome::Limits;
use uncontended_model::program::Reg;
use uncontended_model::search::outcomes;

/// The sleepers flag in the word.
const FLAG: u64 = 1;

/// The only register of P1, which holds what it reread.
const REREAD: Reg = Reg(0);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runs: u64 = match std::env::args().nth(1) {
        Some(runs) => runs.parse()?,
        None => 10_000_000,
    };
    let plain = named("EVENTCOUNT").ok_or("no such classic")?.text;
    let heavy = named("EVENTCOUNT+membarrier").ok_or("no such classic")?.text;
    let variants = [
        ("xadd | lock or, reread", plain.to_owned(), runs),
        ("lock xadd | lock or, reread", plain.replace("xaddq", "lock xaddq"), runs),
        ("xadd | lock or, membarrier, reread", heavy.to_owned(), (runs / 100).max(1)),
    ];
    println!(
        "{:34}  {:>11}  {:>16}  {:>16}  {:>9}  tso",
        "", "runs", "lost silently", "lost, noticed", "per run"
    );
    for (name, text, runs) in variants {
        let program = parse(&text)?.program;
        let start = Instant::now();
        let seen = run(&program, &Setup { runs, seed: 0 })?;
        let each_ns = start.elapsed().as_nanos() as f64 / runs as f64;
        let flag = |word: u64| word & FLAG != 0;
        let lost = |saw_it: bool| -> u64 {
            let gone = seen.states.iter().filter(|(end, _)| !flag(end.memory(0)));
            let so = gone.filter(|(end, _)| flag(end.register(&program, 1, REREAD)) == saw_it);
            so.map(|(_, count)| count).sum()
        };
        let allowed = outcomes(&program, Tso::default(), Limits::default()).outcomes;
        let beyond = seen.states.keys().any(|end| !allowed.contains(end));
        let verdict = if beyond { "REFUTED" } else { "agrees" };
        println!(
            "{name:34}  {runs:>11}  {:>16}  {:>16}  {each_ns:>6.0} ns  {verdict}",
            lost(true),
            lost(false)
        );
    }
    Ok(())
}
