//! Random cases of every size against an independent oracle with twice the precision: never below, hardly above.

mod common;
mod oracle;

use uncontended_stats::{Counts, Rate, Rng, robbins};
use uncontended_testkit::repetitions;

/// A case whose size, rate and distance from the rate are spread over their whole ranges.
fn case(rng: &mut Rng) -> (u64, f64, u64) {
    let bits = rng.below(54);
    let n = (rng.below(1 << bits.max(1)) + (1 << bits) / 2).clamp(1, (1 << 53) - 1);
    let p = match rng.below(6) {
        0 => 0.5,
        1 => [0.1, 0.9, 0.99, 0.999, 1e-3, 0.98][rng.below(6) as usize],
        2 => 2f64.powi(-(rng.below(900) as i32)) * (0.5 + rng.unit() / 2.0),
        3 => 1.0 - 2f64.powi(-(rng.below(50) as i32 + 1)) * (0.5 + rng.unit() / 2.0),
        _ => rng.unit(),
    };
    let p = if p > 0.0 && p < 1.0 { p } else { 0.25 };
    let mean = n as f64 * p;
    let sigma = (mean * (1.0 - p)).sqrt();
    let s = match rng.below(5) {
        0 => rng.below(n + 1),
        1 => rng.below(40),
        2 => n - rng.below(40).min(n),
        _ => (mean + sigma * (rng.unit() - 0.5) * 40.0).max(0.0) as u64,
    };
    (n, p, s.min(n))
}

#[test]
fn random_cases_are_never_undercut() {
    let cases = repetitions("random_cases_are_never_undercut", 150_000, 5_000_000);
    let mut rng = Rng::new(20_261_121);
    let (mut worst_small, mut worst) = (0.0f64, 0.0f64);
    for _ in 0..cases {
        let (n, p, s) = case(&mut rng);
        let ours = robbins::log_criterion(Counts::new(n, s).unwrap(), Rate::new(p).unwrap());
        let (truth, doubt) = oracle::criterion(n, p, s);
        let above = oracle::Dd::from(ours).add(truth.neg()).0;
        assert!(
            above >= -doubt,
            "L({n}, {p:e}, {s}) = {ours:e} is below the truth by {:e}",
            -above
        );
        let slack = (above + doubt) / truth.0.abs().max(1.0);
        worst = worst.max(slack);
        if n <= 1_000_000_000_000 {
            worst_small = worst_small.max(slack);
        }
    }
    println!(
        "worst slack {worst_small:.1e} up to 1e12, {worst:.1e} up to 2^53, relative to max(1, |L|)"
    );
    assert!(worst_small <= 1e-9 && worst <= 1e-6);
}
