//! Forecasts against what is known of their questions.

use std::io::Cursor;
use uncontended_decide::guard::Guard;
use uncontended_decide::lines::Lines;
use uncontended_decide::plan::{ComparePlan, Keys, SloPlan, Told};
use uncontended_decide::power::{Comparison, Forecast, Simulation, Truth, Variation};
use uncontended_decide::power::{of_comparison, of_permutation, of_rate};
use uncontended_decide::progress::Silent;
use uncontended_decide::question::{Bursts, Claim, Permute, Slo};
use uncontended_decide::verdict::{Answer, Verdict};
use uncontended_stats::Rng;

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
        set: None,
        quantile: None,
        command: None,
    }
}

fn permute() -> Permute {
    Permute {
        unit: "1".to_string(),
        a: Vec::new(),
        b: Vec::new(),
        more: Vec::new(),
        expected: None,
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
        runs: Variation::LogNormal(0.05),
        guard: None,
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
        runs: Variation::Pilot((0..pairs).map(|at| [1.0, 1.5 + 0.01 * at as f64]).collect()),
        guard: None,
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
    let blind = Comparison { runs: Variation::LogNormal(0.1), ..comparison(0) };
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

/// The share of 300 trials that `judge` decides, each with lines of its own. They go through lines, session and
/// verdict, as those of `--from` do.
fn covered(
    most: u64,
    line: impl Fn(&mut Rng) -> String,
    judge: impl Fn(Keys, Lines, Told) -> Verdict,
    keys: &str,
) -> f64 {
    let (mut rng, trials) = (Rng::new(29), 300);
    let mut decides = || {
        let text: String = (0..most).map(|_| line(&mut rng) + "\n").collect();
        let lines = Lines::of("stream".to_owned(), Box::new(Cursor::new(text)), "");
        let keys = toml::from_str(&format!("from = '-'\nmax-runs = {most}\n{keys}")).unwrap();
        let told = Told { progress: Box::new(Silent), keep_runs: false };
        judge(Keys::new(keys), lines, told).finding.verdict != Answer::Undecided
    };
    (0..trials).filter(|_| decides()).count() as f64 / f64::from(trials)
}

/// The runs that a plan states are enough for the share of trials that it claims; those of the median alone are not.
#[test]
fn the_stated_pairs_rule_out_a_tail_in_as_many_trials() {
    let guard = Guard::new(true, false).unwrap();
    let judge = |mut keys: Keys, lines: Lines, told: Told| {
        ComparePlan::from_keys(&mut keys, 0.001).unwrap().judge_pairs(lines, told).unwrap()
    };
    // Wide: the baseline's own runs are slow now and then, so that clearing takes more than the fewest pairs.
    for (bursts, spread, keys) in [
        (None, 0.05, "margin = '10 %'"),
        (None, 0.4, "margin = '90 %'"),
        (Some(3.0), 0.05, "margin = '10 %'\nbursts = 3"),
    ] {
        let margin = if spread > 0.1 { 0.9 } else { 0.1 };
        let comparison = Comparison {
            claim: Claim::NoWorse,
            margin,
            max_error: 0.001,
            ratio: Some(1.0),
            runs: Variation::LogNormal(spread),
            guard: Some(guard.clone().with_bursts(bursts)),
        };
        let budget = Simulation { max_runs: 800, simulations: 500, seed: 5 };
        let told = of_comparison(&comparison, &budget).unwrap();
        let (stated, alone) = (told.p95_runs.unwrap(), told.alone.unwrap().p95_runs.unwrap());
        assert!(told.fewest_to_hold >= 44 && stated >= told.fewest_to_hold, "{told:?}");
        assert_eq!(told.held, Answer::Yes);
        let width = f64::ln_1p(spread * spread).sqrt();
        let run = move |rng: &mut Rng| (width * rng.normal()).exp();
        let line = move |rng: &mut Rng| format!("{} {}", run(rng), run(rng));
        let share = covered(stated, line, judge, keys);
        assert!(share >= 0.93, "{stated} pairs: {share}, {told:?}");
        // Where the median takes as long, its figure differs little.
        if alone < told.fewest_to_hold {
            let share = covered(alone, line, judge, keys);
            assert_eq!(share, 0.0, "{alone} pairs of the median alone");
        }
    }
}

/// The same of a rate: a no has to rule out bursts.
#[test]
fn the_stated_runs_rule_out_bursts_in_as_many_trials() {
    let judge = |mut keys: Keys, lines: Lines, told: Told| {
        SloPlan::from_keys(&mut keys, 0.001).unwrap().judge_values(lines, told).unwrap()
    };
    for (at, bursts, keys) in [(0.7, None, ""), (0.0, None, ""), (0.99, Some(5.0), "bursts = 5")] {
        let slo = Slo { bursts: Bursts::new(bursts), ..slo(0.9) };
        let budget = Simulation { max_runs: 3000, simulations: 500, seed: 5 };
        let told = of_rate(&slo, at, &budget).unwrap();
        check(&told);
        let (stated, alone) = (told.p95_runs.unwrap(), told.alone.unwrap().p95_runs.unwrap());
        assert!(alone < stated, "{told:?}");
        assert!(at > 0.0 || stated > 200, "{told:?}");
        let line = move |rng: &mut Rng| u8::from(!rng.chance(at)).to_string();
        let keys = format!("at-most = 0\nrate = 0.9\n{keys}");
        let share = covered(stated, line, judge, &keys);
        assert!(share >= 0.93, "{stated} runs: {share}, {told:?}");
        let share = covered(alone, line, judge, &keys);
        assert!(share < 0.93, "{alone} runs of independent ones: {share}");
    }
    // Runs known to be independent have one figure.
    assert_eq!(of_rate(&slo(0.9), 0.7, &SIMULATION).unwrap().alone, None);
}
