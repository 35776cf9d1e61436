//! Quantile sequences: published ranks, the stream against the formula, coverage at the stopping time.

use uncontended_stats::{MaxError, Method, QuantileSequence, Rate, Rng, quantile};

fn error(e: f64) -> MaxError {
    MaxError::new(e).unwrap()
}

#[test]
fn the_published_ranks_hold_within_one() {
    // The reference spends half of 5 % on either end.
    let cases = [
        (1000, 0.5, Some(441), Some(558)),
        (10_000, 0.9, Some(8873), Some(9122)),
        (20_000, 0.99, Some(19_734), Some(19_860)),
        (10_000, 0.999, Some(9972), None),
    ];
    let close = |ours: Option<u64>, theirs: Option<u64>| match (ours, theirs) {
        (Some(a), Some(b)) => a.abs_diff(b) <= 1,
        (None, None) => true,
        _ => false,
    };
    for (n, p, low, high) in cases {
        let ours = quantile::ranks(n, Rate::new(p).unwrap(), Method::Csm, error(0.025));
        assert!(close(ours.0, low) && close(ours.1, high), "({n}, {p}): {ours:?}");
    }
}

#[test]
fn a_stream_refuses_exactly_what_the_formula_does() {
    for (p, method) in [
        (0.5, Method::OneSided),
        (0.9, Method::OneSided),
        (0.5, Method::Csm),
        (0.97, Method::Jeffreys),
    ] {
        let rate = Rate::new(p).unwrap();
        let mut sequence = QuantileSequence::new(rate, method, error(0.01));
        let mut rng = Rng::new(3);
        for n in 1..=700u64 {
            sequence.push(rng.unit()).unwrap();
            let (low, high) = quantile::ranks(n, rate, method, error(0.01));
            let at = |rank: u64| sequence.sorted()[rank as usize];
            let expected = (low.map_or(f64::NEG_INFINITY, at), high.map_or(f64::INFINITY, at));
            assert_eq!(sequence.interval(), expected, "{method:?} {p} n = {n}");
        }
    }
    assert!(QuantileSequence::new(Rate::HALF, Method::Csm, error(0.1)).push(f64::NAN).is_err());
}
