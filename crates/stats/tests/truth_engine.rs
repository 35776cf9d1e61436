//! The engine judged by itself: identities between priors, errors over all looks, coverage at the stopping time,
//! skippable looks.
//!
//! Each simulation, in its short form too, detects a chance of three times the promise with 99 %;
//! `assert_at_most` computes it.

mod common;

use common::{assert_at_most, counts, error, rate};
use uncontended_stats::{
    Counts, Judge, Method, Prior, Question, Rate, Rng, Verdict, power, robbins,
};
use uncontended_testkit::repetitions;

const METHODS: [Method; 3] = [Method::Csm, Method::OneSided, Method::Jeffreys];

#[test]
fn the_uniform_prior_is_robbins_criterion() {
    for (n, s, p) in [(10, 10, 0.5), (4000, 3972, 0.98), (1 << 40, 1 << 39, 0.500001), (7, 0, 0.3)]
    {
        let (evidence, criterion) = (
            Prior::Uniform.log_evidence(counts(n, s), rate(p)),
            robbins::log_criterion(counts(n, s), rate(p)),
        );
        assert!((evidence + criterion).abs() <= 1e-12 * criterion.abs().max(1.0));
    }
}

/// Each prior's e-process has a mean of at most 1 under its null, exactly: every sequence of ten tosses, weighted.
#[test]
fn the_expected_winnings_are_at_most_one() {
    for p in [0.001, 0.1, 0.3, 0.5, 0.7, 0.95, 0.9999] {
        for prior in [Prior::Uniform, Prior::Jeffreys, Prior::Above(rate(p)), Prior::Below(rate(p))]
        {
            let mut mean = 0.0;
            for s in 0..=10u64 {
                let ways: f64 = (0..s).map(|i| (10 - i) as f64 / (i + 1) as f64).product();
                let chance = ways * p.powi(s as i32) * (1.0 - p).powi(10 - s as i32);
                mean += chance * prior.log_evidence(counts(10, s), rate(p)).exp();
            }
            // A loose tail bound may lose some, but must not gain.
            assert!(mean <= 1.0 + 1e-12 && mean > 0.4, "{prior:?}: {mean}");
        }
    }
}

/// At one half the uniform prior is an even mixture of the two one-sided ones.
#[test]
fn two_sides_make_a_whole() {
    for s in 0..=60 {
        let of = |prior: Prior| prior.log_evidence(counts(60, s), Rate::HALF).exp();
        let (above, below) = (of(Prior::Above(Rate::HALF)), of(Prior::Below(Rate::HALF)));
        let whole = of(Prior::Uniform);
        let halves = f64::midpoint(above, below);
        assert!(
            halves <= whole * (1.0 + 1e-12) && halves > whole * 0.5,
            "s = {s}: {halves} of {whole}"
        );
        if !(20..=40).contains(&s) {
            assert!(halves > whole * 0.999_9, "s = {s}: {halves} of {whole}");
        }
    }
}

#[test]
fn intervals_are_the_inversion_and_shrink_around_the_rate() {
    for prior in
        [Prior::Uniform, Prior::Jeffreys, Prior::Above(rate(0.9)), Prior::Below(rate(0.99))]
    {
        let mut last = 1.1;
        for n in [1u64, 10, 100, 10_000, 1 << 30, 1 << 50] {
            let seen = counts(n, n - n / 20);
            let price = prior.price(seen);
            let (low, high) = price.interval(error(0.01));
            assert!(
                low < seen.observed() && high >= seen.observed() && high - low <= last,
                "{prior:?} {n}: {low} {high}"
            );
            last = high - low;
            for end in [low, high].into_iter().filter(|&end| end > 0.0 && end < 1.0) {
                assert!(price.rejects(rate(end), error(0.01)));
            }
            assert!(low == 0.0 || !price.rejects(rate(low.next_up()), error(0.01)));
            assert!(high == 1.0 || !price.rejects(rate(high.next_down()), error(0.01)));
        }
    }
}

#[test]
fn a_skipped_look_would_not_have_decided() {
    for method in METHODS {
        for (p, low, truth) in
            [(0.9, None, 0.8), (0.99, Some(0.97), 0.985), (0.5, Some(0.4), 0.6), (0.02, None, 0.05)]
        {
            let question = Question::new(rate(p), low.map(rate), method, error(0.01)).unwrap();
            let mut rng = Rng::new(9);
            let (mut judge, mut seen) = (Judge::new(question), Counts::default());
            for _ in 0..3000 {
                let before = seen;
                let success = rng.chance(truth);
                seen.push(success);
                let verdict = judge.push(success);
                assert_eq!(verdict, question.verdict(seen), "{method:?} {p} {seen:?}");
                if verdict != Verdict::Undecided {
                    assert!(question.next_decision(before) == 1);
                    break;
                }
            }
        }
    }
}

#[test]
fn the_next_decision_is_the_first_that_an_even_run_of_luck_could_bring() {
    for method in METHODS {
        let question = Question::new(rate(0.9), Some(rate(0.8)), method, error(0.001)).unwrap();
        for seen in [counts(0, 0), counts(30, 26), counts(400, 345)] {
            let k = question.next_decision(seen);
            let after =
                |k: u64, s: u64| question.verdict(counts(seen.trials() + k, seen.successes() + s));
            assert!(
                k > 0 && (after(k, k) != Verdict::Undecided || after(k, 0) != Verdict::Undecided)
            );
            assert!((0..k).all(|k| after(k, k) == Verdict::Undecided && after(k, 0) == Verdict::Undecided));
        }
    }
}

/// A/A: the true rate is the threshold itself, so either verdict is wrong on one side.
#[test]
fn errors_over_all_looks_stay_within_the_bound() {
    let runs = repetitions("errors_over_all_looks_stay_within_the_bound", 400, 20_000);
    for method in METHODS {
        for p in [0.5, 0.9, 0.99, 0.999] {
            let question = Question::about(rate(p), method, error(0.05));
            let mut rng = Rng::new(p.to_bits() ^ method as u64);
            let (mut yes, mut no) = (0, 0);
            for _ in 0..runs {
                match power::one_run(question, p, 3000, &mut rng).0 {
                    Verdict::Yes => yes += 1,
                    Verdict::No => no += 1,
                    Verdict::Undecided => {}
                }
            }
            assert_at_most(&format!("{method:?} at {p}"), runs, yes + no, 0.05);
        }
    }
}

/// Whether the interval contains the rate at the stopping time, and whether the verdict has the right direction.
#[test]
fn the_interval_covers_at_the_stopping_time_and_the_direction_is_right() {
    let runs = repetitions("the_interval_covers_at_the_stopping_time", 300, 10_000);
    for method in METHODS {
        for (threshold, low, truth) in
            [(0.9, None, 0.93), (0.99, None, 0.98), (0.98, Some(0.96), 0.97), (0.5, None, 0.55)]
        {
            let question =
                Question::new(rate(threshold), low.map(rate), method, error(0.1)).unwrap();
            let mut rng = Rng::new(77);
            let (mut missed, mut wrong) = (0, 0);
            for _ in 0..runs {
                let mut judge = Judge::new(question);
                while judge.verdict() == Verdict::Undecided && judge.counts().trials() < 20_000 {
                    judge.push(rng.chance(truth));
                }
                let report = question.report(judge.counts());
                missed += u64::from(truth < report.interval.0 || truth > report.interval.1);
                let forbidden = if truth >= threshold { Verdict::No } else { Verdict::Yes };
                wrong += u64::from(low.is_none() && judge.verdict() == forbidden);
                let (refuted, end) = match judge.verdict() {
                    Verdict::Yes => (question.yes_refutes().get(), report.interval.0),
                    Verdict::No => (report.interval.1, threshold),
                    Verdict::Undecided => continue,
                };
                assert!(refuted <= end, "the interval contains what was refuted");
            }
            assert_at_most(
                &format!("{method:?} {threshold} at {truth}, interval missed"),
                runs,
                missed,
                0.1,
            );
            assert_at_most(
                &format!("{method:?} {threshold} at {truth}, wrong direction"),
                runs,
                wrong,
                0.1,
            );
        }
    }
}

/// The interval spends no more than its share of the error: it ends exactly where the tests begin to refute.
#[test]
fn an_interval_ends_where_the_tests_refute() {
    let mut rng = Rng::new(12);
    for method in METHODS {
        let question = Question::about(rate(0.8), method, error(0.05));
        let priors = match method {
            Method::Csm => [Prior::Uniform; 2],
            Method::Jeffreys => [Prior::Jeffreys; 2],
            Method::OneSided => [Prior::Above(rate(0.8)), Prior::Below(rate(0.8))],
        };
        let needed =
            -if method == Method::OneSided { error(0.05).split(2) } else { error(0.05) }.log();
        for _ in 0..40 {
            let n = 2 + rng.below(400);
            // No end is 0 or 1.
            let seen = counts(n, 1 + rng.below(n - 1));
            let refuted =
                |p: f64| priors.iter().any(|prior| prior.log_evidence(seen, rate(p)) >= needed);
            let (low, high) = question.report(seen).interval;
            if low <= high {
                assert!(refuted(low) && !refuted(low.next_up()), "{method:?} {seen:?} {low}");
                assert!(refuted(high) && !refuted(high.next_down()), "{method:?} {seen:?} {high}");
            }
        }
    }
}

/// Whatever the counts and thresholds, a report is finite, ordered, and consistent with its verdict.
#[test]
fn every_report_is_in_order() {
    let mut rng = Rng::new(55);
    for _ in 0..repetitions("every_report_is_in_order", 40, 20_000) {
        let bits = rng.below(54);
        let n = if rng.chance(0.1) { rng.below(3) } else { rng.below((1 << bits) + 1) };
        let s = if rng.chance(0.3) { n - rng.below(5).min(n) } else { rng.below(n + 1) };
        let mut threshold = || match rng.below(4) {
            0 => f64::from_bits(1 + rng.below(1.0f64.to_bits() - 1)),
            1 => 1.0 - 0.25f64.powi(rng.below(26) as i32 + 1),
            _ => 0.01 + 0.98 * rng.unit(),
        };
        let (a, b) = (threshold(), threshold());
        let (low, high) = (a.min(b), a.max(b));
        let low = (low < high).then(|| rate(low));
        let bound = error(10f64.powi(-(rng.below(12) as i32 + 1)));
        for method in METHODS {
            let question = Question::new(rate(high), low, method, bound).unwrap();
            let report = question.report(counts(n, s));
            let what = format!("{question:?} {report:?}");
            let ((left, right), seen) = (report.interval, report.counts.observed());
            assert!(0.0 <= left && left <= seen && seen <= right && right <= 1.0, "{what}");
            assert!(
                0.0 <= report.credible.0
                    && report.credible.0 < report.credible.1
                    && report.credible.1 <= 1.0,
                "{what}"
            );
            assert!(
                report.log_criterion.is_finite() && !report.evidence[0].log_evidence.is_nan(),
                "{what}"
            );
            match report.verdict {
                Verdict::Yes => assert!(left >= question.yes_refutes().get(), "{what}"),
                Verdict::No => assert!(right <= high, "{what}"),
                Verdict::Undecided => {}
            }
        }
    }
}
