//! How many events in independent trials speak against a stated chance.

/// The chance of `k` or more events in `n`, at a rate of `p` each.
#[must_use]
pub fn chance_of_at_least(n: u64, k: u64, p: f64) -> f64 {
    let mut log = n as f64 * (1.0 - p).ln();
    let mut below = 0.0;
    for i in 0..k.min(n + 1) {
        below += log.exp();
        log += ((n - i) as f64 / (i + 1) as f64).ln() + (p / (1.0 - p)).ln();
    }
    if k > n { 0.0 } else { (1.0 - below).max(0.0) }
}

/// The smallest count in `n` that a chance of `bound` gives in at most one of ten thousand cases.
#[must_use]
pub fn objects_from(n: u64, bound: f64) -> u64 {
    (0..=n).find(|&k| chance_of_at_least(n, k, bound) <= 1e-4).unwrap_or(n + 1)
}

/// Asserts that a chance is at most `bound`, of which `k` events in `n` were seen, and that this many trials detect
/// three times that in 99 of 100 cases.
///
/// # Panics
/// Panics otherwise.
pub fn assert_at_most(what: &str, n: u64, k: u64, bound: f64) {
    let objects = objects_from(n, bound);
    let caught = chance_of_at_least(n, objects, 3.0 * bound);
    assert!(caught >= 0.99, "{n} trials detect three times {bound} with a chance of {caught}");
    assert!(k < objects, "{what}: {k} of {n}, and {bound} was promised");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_the_binomial_distribution() {
        assert!((chance_of_at_least(10, 1, 0.1) - (1.0 - 0.9_f64.powi(10))).abs() < 1e-12);
        assert!((chance_of_at_least(3, 2, 0.5) - 0.5).abs() < 1e-12);
        assert_eq!((chance_of_at_least(3, 0, 0.5), chance_of_at_least(3, 4, 0.5)), (1.0, 0.0));
        // P(38 or more of 400 at 5 %) is 1.4e-4, and of 39 or more 6.7e-5.
        assert_eq!(objects_from(400, 0.05), 39);
    }
}
