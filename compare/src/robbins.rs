//! Question: is the certified bound of Robbins' criterion ever below the truth, and how far above is it?
//!
//! Writes random cases with the crate's answer, one per line, for `compare/oracles/robbins.py`, which checks them in
//! ball arithmetic of any precision: `cargo run --release --manifest-path compare/Cargo.toml -- robbins 1000000 SEED |
//! python3 compare/oracles/robbins.py` (the oracle needs python-flint). Numbers are hexadecimal, so none is
//! rounded.

use std::io::{BufWriter, Write, stdout};

use uncontended_stats::{Counts, Rate, Rng, robbins};

pub fn main(arguments: &[String]) -> Result<(), String> {
    write(arguments).map_err(|error| error.to_string())
}

fn write(arguments: &[String]) -> std::io::Result<()> {
    let mut arguments =
        arguments.iter().map(|a| a.parse::<u64>().expect("CASES and SEED are whole numbers"));
    let (cases, seed) = (arguments.next().unwrap_or(100_000), arguments.next().unwrap_or(1));
    let (mut rng, mut out) = (Rng::new(seed), BufWriter::new(stdout().lock()));
    for _ in 0..cases {
        let (n, p, s) = case(&mut rng);
        let counts = Counts::new(n, s).expect("s is at most n");
        let ours = robbins::log_criterion(counts, Rate::new(p).expect("p lies between 0 and 1"));
        writeln!(out, "{n:x} {s:x} {:016x} {:016x}", p.to_bits(), ours.to_bits())?;
    }
    out.flush()
}

/// Sizes spread over all powers of two; rates down to the subnormal and up to 1 - 2^-53; counts near the mean, near the
/// ends, and anywhere.
fn case(rng: &mut Rng) -> (u64, f64, u64) {
    let bits = rng.below(54);
    let n = ((1 << bits) / 2 + rng.below((1 << bits) / 2 + 2)).clamp(1, 1 << 53);
    let p = match rng.below(8) {
        0 => 0.5,
        1 => [0.1, 0.9, 0.99, 0.999, 1e-3, 0.98][rng.below(6) as usize],
        2 => f64::from_bits(1 + rng.below(1 << 52)),
        3 => 2f64.powi(-(rng.below(1020) as i32)) * (0.5 + rng.unit() / 2.0),
        4 => 1.0 - 2f64.powi(-(rng.below(53) as i32 + 1)) * (1.0 + rng.unit()) / 2.0,
        _ => rng.unit(),
    };
    let p = p.clamp(f64::from_bits(1), 1.0f64.next_down());
    let mean = n as f64 * p;
    let sigma = (mean * (1.0 - p)).sqrt();
    let s = match rng.below(6) {
        0 => rng.below(n + 1),
        1 => rng.below(40),
        2 => n - rng.below(40).min(n),
        3 => mean as u64 + rng.below(3),
        _ => (mean + sigma * (rng.unit() - 0.5) * 60.0).max(0.0) as u64,
    };
    (n, p, s.min(n))
}
