//! Sample sizes: against Wald's test, which knows the rate, and the published power of two thresholds.

mod common;

use common::{error, rate};
use std::ops::ControlFlow;
use uncontended_figures::table::{Column, Table};
use uncontended_figures::{given_percent, number, whole};
use uncontended_stats::power::Noise;
use uncontended_stats::{
    Claim, Counts, Limits, Margin, MaxError, Method, Paired, Prior, Question, Rng, Verdict, drive,
    power,
};
use uncontended_testkit::repetitions;

/// Trials until a prior's evidence against `null` suffices, and until Wald's likelihood ratio, which knows the truth,
/// does.
fn both(prior: Prior, null: f64, truth: f64, max_error: MaxError, rng: &mut Rng) -> (u64, u64) {
    let needed = -max_error.log();
    let step = |success: bool| {
        if success { (truth / null).ln() } else { ((1.0 - truth) / (1.0 - null)).ln() }
    };
    let (mut counts, mut wald, mut ours, mut theirs) = (Counts::default(), 0.0, None, None);
    while ours.is_none() || theirs.is_none() {
        let success = rng.chance(truth);
        counts.push(success);
        wald += step(success);
        if theirs.is_none() && wald >= needed {
            theirs = Some(counts.trials());
        }
        if ours.is_none() && prior.log_evidence(counts, rate(null)) >= needed {
            ours = Some(counts.trials());
        }
    }
    (ours.unwrap(), theirs.unwrap())
}

#[test]
fn one_sided_tests_need_at_most_a_fifth_more_than_the_test_that_knows_the_rate() {
    let runs = repetitions("one_sided_tests_against_sprt", 120, 4000);
    let words = ["threshold → truth", "prior"].map(Column::word).into_iter();
    let figures = ["mean", "95th percentile", "Wald", "ratio"].map(Column::figure);
    let mut table = Table::new(words.chain(figures).collect());
    for (null, truth) in [(0.99, 0.995), (0.98, 0.993), (0.9, 0.95), (0.99, 0.98)] {
        let null_rate = rate(null);
        let prior = if truth > null { Prior::Above(null_rate) } else { Prior::Below(null_rate) };
        let mut rng = Rng::new(1234);
        let mut ours: Vec<u64> = Vec::new();
        let mut theirs = 0;
        for _ in 0..runs {
            let (a, b) = both(prior, null, truth, error(1e-3), &mut rng);
            ours.push(a);
            theirs += b;
        }
        ours.sort_unstable();
        let total: u64 = ours.iter().sum();
        let (mean, sprt) = (total as f64 / runs as f64, theirs as f64 / runs as f64);
        let p95 = ours[(runs as usize * 95).div_ceil(100) - 1];
        table.row([
            format!("{} → {}", given_percent(null), given_percent(truth)),
            prior.name().to_string(),
            whole(mean.round() as u64),
            whole(p95),
            whole(sprt.round() as u64),
            number(mean / sprt),
        ]);
        assert!(mean <= 1.2 * sprt);
    }
    println!("{}", table.markdown());
}

/// 96 % and 98 % at 0.1 %, the true rate midway: a thousand trials decide in less than 99 %, ten thousand in more.
#[test]
fn the_published_power_of_two_thresholds_holds() {
    // The published driver spends a third of the bound on each threshold and a third on its interval.
    let inner =
        Question::new(rate(0.98), Some(rate(0.96)), Method::Csm, error(1e-3).split(3)).unwrap();
    let outer = Question::about(rate(0.99), Method::Csm, error(1e-9));
    for (budget, expected) in [(1000, Verdict::No), (10_000, Verdict::Yes)] {
        let mut rng = Rng::new(4);
        let trial = || Some(power::one_run(inner, 0.97, budget, &mut rng).0 != Verdict::Undecided);
        let (report, _) = drive(
            outer,
            Limits { trials: Some(20_000), time: None },
            |_| ControlFlow::Continue(()),
            trial,
        );
        println!("budget {budget}: {:?} decided, {:?}", report.counts, report.verdict);
        assert_eq!(report.verdict, expected, "budget {budget}");
    }
}

/// A run that does not decide takes the budget, to the last trial.
#[test]
fn a_run_keeps_to_its_budget() {
    let question = Question::about(rate(0.5), Method::Csm, error(1e-9));
    let trials = |budget| power::one_run(question, 0.5, budget, &mut Rng::new(2)).1;
    assert_eq!([0, 1, 500].map(trials), [0, 1, 500]);
}

#[test]
fn power_of_a_comparison_grows_with_the_effect_and_the_budget() {
    let plan = |ratio: f64, budget: u64| {
        let expected = power::Expected { ratio, noise: Noise::LogNormal(0.05) };
        power::of_paired(
            (Claim::NoWorse, Margin::new(0.02).unwrap(), error(0.05)),
            &expected,
            budget,
            200,
            3,
        )
        .unwrap()
    };
    let (small, large, longer) = (plan(1.0, 40), plan(0.9, 40), plan(1.0, 400));
    assert!(
        large.yes > small.yes && longer.yes > small.yes && large.mean_trials < small.mean_trials
    );
    assert!(plan(1.2, 60).no >= 198 && longer.undecided.0 <= longer.undecided_share());
    let decided = (small.yes + small.no) as f64 / small.runs as f64;
    assert!((decided + small.undecided_share() - 1.0).abs() < 1e-12 && decided < 1.0);
}

/// Runs that slow down together vary much, their ratios little: only a pilot shows that.
#[test]
fn a_pilot_plans_for_the_pairs_that_will_be_made() {
    let mut rng = Rng::new(5);
    let mut pairs = || {
        let shared = 1.0 + rng.unit();
        let mut run = || shared * (1.0 + 0.01 * rng.normal().clamp(-3.0, 3.0));
        (run(), run())
    };
    let both: Vec<(f64, f64)> = (0..200).map(|_| pairs()).collect();
    let runs: Vec<f64> = both.iter().map(|pair| pair.0).collect();
    let mean = runs.iter().sum::<f64>() / 200.0;
    let spread = (runs.iter().map(|run| (run - mean).powi(2)).sum::<f64>() / 199.0).sqrt() / mean;
    let pilot = Noise::Pilot(both.iter().map(|pair| 1.3 * pair.1 / pair.0).collect());
    let test = (Claim::NoWorse, Margin::new(0.02).unwrap(), error(0.01));
    let plan = |noise: &Noise| {
        let expected = power::Expected { ratio: 1.0, noise: noise.clone() };
        power::of_paired(test, &expected, 2000, 100, 3).unwrap().mean_trials
    };
    let (blind, informed) = (plan(&Noise::LogNormal(spread)), plan(&pilot));
    // What the trial itself takes, whose pairs are of the same kind.
    let truth = power::Power::simulate(100, 4, |rng| {
        let mut paired = Paired::new(test.1, test.2);
        while paired.verdict(test.0) == Verdict::Undecided && paired.pairs() < 2000 {
            let noise = |rng: &mut Rng| 1.0 + 0.01 * rng.normal().clamp(-3.0, 3.0);
            paired.push(noise(rng) / noise(rng)).unwrap();
        }
        (paired.verdict(test.0), paired.pairs())
    });
    let truth = truth.unwrap().mean_trials;
    assert!(blind > 7.0 * truth, "{blind} {truth}");
    assert!((0.8..1.25).contains(&(informed / truth)), "{informed} {truth}");
    let bad = |ratios: &[f64]| power::Expected { ratio: 1.0, noise: Noise::Pilot(ratios.to_vec()) };
    assert!(power::of_paired(test, &bad(&[]), 10, 10, 3).is_err());
    assert!(power::of_paired(test, &bad(&[1.0, f64::INFINITY]), 10, 10, 3).is_err());
}

#[test]
fn the_smallest_decidable_difference_is_decided_and_shrinks_with_the_budget() {
    let question = Question::about(rate(0.9), Method::OneSided, error(0.01));
    let above = |budget| power::decidable_above(question, budget, 40, 8).unwrap();
    let (short, long) = (above(300).unwrap(), above(3000).unwrap());
    assert!(0.9 < long && long < short && short < 1.0, "{long} {short}");
    assert!(power::of_rate(question, short, 300, 40, 8).unwrap().yes >= 38);
    assert_eq!(above(10), None);
    let below = power::decidable_below(question, 300, 40, 8).unwrap().unwrap();
    assert!(below < 0.9 && power::of_rate(question, below, 300, 40, 8).unwrap().no >= 38);
}

#[test]
fn decidable_ratios_lie_on_either_side_of_the_end_that_the_claim_is_about() {
    let end = Margin::new(0.05).unwrap();
    for (claim, at) in [
        (Claim::NoWorse, 1.05),
        (Claim::Better, 1.0 / 1.05),
        (Claim::Equivalent, 1.05),
        (Claim::Different, 1.05),
    ] {
        let test = (claim, end, error(0.01));
        let noise = Noise::LogNormal(0.02);
        let found = |budget| power::decidable_ratios(test, &noise, budget, 20, 3).unwrap();
        let [below, above] = found(200).map(Option::unwrap);
        assert!(below < at && at < above && above < 1.2 * at, "{claim:?}: {below} {above}");
        let [nearer_below, nearer_above] = found(800).map(Option::unwrap);
        assert!(below < nearer_below && nearer_above < above, "{claim:?}: more runs tell more");
        for (ratio, inside) in [(below, true), (above, false)] {
            let expected = power::Expected { ratio, noise: noise.clone() };
            let plan = power::of_paired(test, &expected, 200, 20, 3).unwrap();
            let yes = inside != (claim == Claim::Different);
            assert!((if yes { plan.yes } else { plan.no }) >= 19, "{claim:?} {ratio}: {plan:?}");
        }
        assert_eq!(found(5), [None, None]);
    }
}
