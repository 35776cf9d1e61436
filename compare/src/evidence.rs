//! Question: is the evidence of any prior ever above the truth, and how far below is it where a decision is near?
//!
//! Writes random cases with the crate's answers, one per line, for `compare/oracles/evidence.py`:
//! `cargo run --release --manifest-path compare/Cargo.toml -- evidence 100000 SEED | python3
//! compare/oracles/evidence.py` (the oracle needs python-flint).

use std::io::{BufWriter, Write, stdout};

use uncontended_stats::{Counts, Prior, Rate, Rng};

pub fn main(arguments: &[String]) -> Result<(), String> {
    write(arguments).map_err(|error| error.to_string())
}

fn write(arguments: &[String]) -> std::io::Result<()> {
    let mut arguments =
        arguments.iter().map(|a| a.parse::<u64>().expect("CASES and SEED are whole numbers"));
    let (cases, seed) = (arguments.next().unwrap_or(10_000), arguments.next().unwrap_or(1));
    let (mut rng, mut out) = (Rng::new(seed), BufWriter::new(stdout().lock()));
    for _ in 0..cases {
        let bits = rng.below(22);
        let n = 1 + rng.below(1 << bits);
        let p = match rng.below(4) {
            0 => [0.5, 0.9, 0.99, 0.999, 0.01, 0.1][rng.below(6) as usize],
            1 => 0.5f64.powi(rng.below(14) as i32 + 1) * (1.0 + rng.unit()) / 2.0,
            2 => 1.0 - 0.5f64.powi(rng.below(14) as i32 + 1) * (1.0 + rng.unit()) / 2.0,
            _ => 0.001 + 0.998 * rng.unit(),
        };
        let mean = n as f64 * p;
        let spread = (mean * (1.0 - p)).sqrt() + 1.0;
        let s = ((mean + spread * (rng.unit() - 0.5) * 14.0).max(0.0) as u64).min(n);
        let (counts, rate) =
            (Counts::new(n, s).expect("s is at most n"), Rate::new(p).expect("a rate"));
        let priors = [Prior::Uniform, Prior::Jeffreys, Prior::Above(rate), Prior::Below(rate)];
        let [uniform, jeffreys, above, below] =
            priors.map(|prior| prior.log_evidence(counts, rate).to_bits());
        writeln!(
            out,
            "{n} {s} {:016x} {uniform:016x} {jeffreys:016x} {above:016x} {below:016x}",
            p.to_bits()
        )?;
    }
    out.flush()
}
