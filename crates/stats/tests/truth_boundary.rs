//! Boundaries against published values, and all quantiles at once against simulation.

mod common;

use common::error;
use uncontended_stats::{Counts, Rate, Rng, boundary};

#[test]
fn the_published_values_hold() {
    let (low, high) =
        boundary::bernoulli_interval(Counts::new(1000, 700).unwrap(), 100.0, error(0.05));
    assert!((low - 0.651_629).abs() < 1e-5 && (high - 0.745_949).abs() < 1e-5, "{low} {high}");
    let stitched = boundary::double_stitching(Rate::new(0.9).unwrap(), 1000.0, 100.0, error(0.05));
    assert!((stitched - 43.721_19).abs() < 1e-5, "{stitched}");
    let normal = boundary::normal_mixture(100.0, 100.0, error(0.05));
    assert!((normal - 30.352_09).abs() < 1e-5, "{normal}");
}

/// Uniform values, whose quantiles are the rates themselves: whether any of them ever passes the boundary.
#[test]
fn all_quantiles_stay_within_the_boundary_together() {
    let runs = common::depth("all_quantiles_stay_within_the_boundary_together", 200, 2000);
    let rates: Vec<Rate> = (1..40).map(|i| Rate::new(f64::from(i) / 40.0).unwrap()).collect();
    let mut rng = Rng::new(12);
    let mut passed = 0;
    for _ in 0..runs {
        let mut counts = vec![0.0; rates.len()];
        let mut ever = false;
        for n in 1..=1000 {
            let x = rng.unit();
            for (count, rate) in counts.iter_mut().zip(&rates) {
                *count += f64::from(u8::from(x <= rate.get()));
            }
            if n % 50 == 0 {
                ever |= counts.iter().zip(&rates).any(|(count, &rate)| {
                    let n = f64::from(n);
                    let above = count - n * rate.get();
                    above > boundary::double_stitching(rate, n, 50.0, error(0.2))
                        || -above
                            > boundary::double_stitching(rate.complement(), n, 50.0, error(0.2))
                });
            }
        }
        passed += u64::from(ever);
    }
    println!("{passed} of {runs} runs passed it somewhere, at a bound of 0.2");
    assert!((passed as f64) < 0.2 * runs as f64);
}
