//! Forecasts against what is known of their questions.

use uncontended_decide::power::{Comparison, Forecast, Simulation, Truth};
use uncontended_decide::power::{of_comparison, of_permutation, of_rate};
use uncontended_decide::question::{Claim, Permute, Slo};
use uncontended_stats::power::Noise;

const SIMULATION: Simulation = Simulation { max_runs: 400, simulations: 200, seed: 11 };

fn slo(rate: f64) -> Slo {
    Slo {
        metric: "counts".to_string(),
        unit: "1".to_string(),
        bound: None,
        rate,
        or_below: None,
        max_error: 0.001,
        method: Default::default(),
        bursts: None,
        quantile: None,
        command: None,
    }
}

fn permute() -> Permute {
    Permute {
        unit: "1".to_string(),
        a: Vec::new(),
        b: Vec::new(),
        statistic: "mean".to_string(),
        two_sided: false,
        level: 0.05,
        or_below: None,
        max_error: 0.01,
        most_resamples: 400,
        seed: String::new(),
    }
}

/// The shares are of one whole, and what is decidable lies around what is not.
fn check(forecast: &Forecast) {
    let shares = [forecast.yes, forecast.no, forecast.undecided];
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{forecast:?}");
    let [low, high] = forecast.undecided_interval;
    assert!(low <= forecast.undecided && forecast.undecided <= high, "{forecast:?}");
    let [below, above] = forecast.decidable;
    let undecidable = forecast.truth.undecidable();
    assert!(below.is_none_or(|below| below < undecidable), "{forecast:?}");
    assert!(above.is_none_or(|above| above > undecidable), "{forecast:?}");
    assert!(forecast.fewest_runs as f64 <= forecast.mean_runs, "{forecast:?}");
}

#[test]
fn a_rate_far_from_its_threshold_is_decided_and_the_threshold_itself_is_not() {
    let far = of_rate(&slo(0.9), 0.5, &SIMULATION).unwrap();
    check(&far);
    assert_eq!((far.no, far.truth), (1.0, Truth::Rate(0.9)));
    let wrong = of_rate(&slo(0.9), 1.5, &SIMULATION).unwrap_err();
    assert_eq!(wrong.cause, "150 % is not a rate");
    let same = of_rate(&slo(0.9), 0.9, &SIMULATION).unwrap();
    check(&same);
    assert!(same.undecided > 0.98 && same.p95_runs.is_none(), "{same:?}");
    assert_eq!(same.decidable, far.decidable);
}

#[test]
fn a_comparison_of_equals_is_hardly_ever_better_and_half_the_time_always() {
    let comparison = |ratio| Comparison {
        claim: Claim::Better,
        margin: 0.02,
        max_error: 0.001,
        ratio: Some(ratio),
        noise: Noise::LogNormal(0.05),
    };
    let half = of_comparison(&comparison(0.5), &SIMULATION).unwrap();
    check(&half);
    assert_eq!(half.yes, 1.0, "{half:?}");
    let equal = of_comparison(&comparison(1.0), &SIMULATION).unwrap();
    check(&equal);
    assert!(equal.yes <= 0.01, "{equal:?}");
}

#[test]
fn a_pilot_has_enough_pairs_and_a_ratio_of_its_own() {
    let comparison = |pairs: usize| Comparison {
        claim: Claim::NoWorse,
        margin: 0.02,
        max_error: 0.001,
        ratio: None,
        noise: Noise::Pilot((0..pairs).map(|at| 1.5 + 0.01 * at as f64).collect()),
    };
    let forecast = of_comparison(&comparison(11), &SIMULATION).unwrap();
    assert!(forecast.no > 0.99, "{forecast:?}");
    assert!(
        forecast.question.contains("the median ratio is 1.55 and ratios vary as in 11 pairs"),
        "{}",
        forecast.question
    );
    let few = of_comparison(&comparison(9), &SIMULATION).unwrap_err();
    assert_eq!(few.cause, "9 pairs are too few for a plan");
    let blind = Comparison { noise: Noise::LogNormal(0.1), ..comparison(0) };
    assert_eq!(of_comparison(&blind, &SIMULATION).unwrap_err().cause, "no ratio is assumed");
}

#[test]
fn a_shift_is_found_above_zero_alone() {
    let forecast = of_permutation(&permute(), 20, 3.0, &SIMULATION).unwrap();
    check(&forecast);
    assert!(forecast.yes > 0.99 && forecast.decidable[0].is_none(), "{forecast:?}");
    let wrong = of_permutation(&permute(), 20, f64::NAN, &SIMULATION).unwrap_err();
    assert_eq!(wrong.cause, "`Truth::Shift` is not a finite number");
}
