//! The permutation test against full enumeration, and against the published runs.

mod common;

use common::rate;
use std::ops::ControlFlow;
use uncontended_stats::{
    Counts, Limits, MaxError, Method, Permutation, Question, Sides, Statistic, Stopped, Verdict,
    credible, permutation,
};

/// The exact p-value of B's mean exceeding A's, by trying every relabeling.
fn enumerated(a: &[f64], b: &[f64], value: impl Fn(&[f64]) -> f64, both: bool) -> f64 {
    let pooled = [a, b].concat();
    let observed = value(b) - value(a);
    let (mut extreme, mut all) = (0, 0);
    for mask in 0u32..1 << pooled.len() {
        if mask.count_ones() as usize != a.len() {
            continue;
        }
        let (mut x, mut y) = (vec![], vec![]);
        for (i, &v) in pooled.iter().enumerate() {
            if mask >> i & 1 == 1 { x.push(v) } else { y.push(v) }
        }
        let difference = value(&y) - value(&x);
        let far = if both {
            difference.abs() >= observed.abs() - 1e-9
        } else {
            difference >= observed - 1e-9
        };
        extreme += u32::from(far);
        all += 1;
    }
    f64::from(extreme) / f64::from(all)
}

/// An independent, plain implementation of a statistic.
type Value<'a> = &'a dyn Fn(&[f64]) -> f64;

#[test]
fn resamples_are_as_extreme_as_often_as_enumeration_says() {
    let (a, b) = ([1.0, 2.5, 3.0, 4.25, 4.25, 7.0], [2.0, 4.25, 5.0, 6.5, 9.0]);
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let max = |v: &[f64]| v.iter().copied().fold(f64::MIN, f64::max);
    let median = |v: &[f64]| {
        let mut v = v.to_vec();
        v.sort_by(f64::total_cmp);
        (v[(v.len() - 1) / 2] + v[v.len() / 2]) / 2.0
    };
    let values: [(Value, Statistic); 3] =
        [(&mean, Statistic::Mean), (&median, Statistic::Median), (&max, Statistic::Max)];
    for (value, statistic) in values {
        for (sides, x, y) in
            [(Sides::Upper, &a[..], &b[..]), (Sides::Both, &a, &b), (Sides::Upper, &b, &a)]
        {
            let exact = enumerated(x, y, value, sides == Sides::Both);
            let mut test = Permutation::new(x, y, statistic, sides, 11).unwrap();
            let extreme = (0..20_000).filter(|_| test.resample()).count() as u64;
            let counts = Counts::new(20_000, extreme).unwrap();
            let price = uncontended_stats::Prior::Uniform.price(counts);
            let (low, high) = price.interval(MaxError::new(1e-6).unwrap());
            assert!(
                low <= exact && exact <= high,
                "{statistic:?} {sides:?}: {exact} not in {low}..{high}"
            );
        }
    }
}

#[test]
fn the_published_resampling_stops_where_it_did() {
    // No resample is as extreme: below 1 %, or not below 0.5 %, at 1e-9 in three parts, one of them for the interval.
    let a: Vec<f64> = (0..400).map(|i| f64::from(i % 7) * 1e-4).collect();
    let b: Vec<f64> = a.iter().map(|x| x + 1.0).collect();
    let share = MaxError::new(1e-9).unwrap().split(3);
    let question = Question::new(rate(0.01), Some(rate(0.005)), Method::Csm, share).unwrap();
    let mut test = Permutation::new(&a, &b, Statistic::Mean, Sides::Upper, 5).unwrap();
    let found = test.test(question, Limits::default(), |_| ControlFlow::Continue(()));
    assert_eq!((found.report.counts.trials(), found.report.counts.successes()), (2967, 0));
    assert_eq!((found.verdict, found.stopped), (Verdict::Yes, Stopped::Decided));
    assert_eq!(found.p_value, 1.0 / 2968.0);
    let (_, high) = credible::interval(found.report.counts, share);
    assert!((high - 0.00755722445873).abs() < 1e-13, "{high}");
    assert!((found.observed - 1.0).abs() < 1e-12);
}

#[test]
fn a_null_is_not_significant_and_a_bad_input_is_refused() {
    let same = [3.0; 8];
    let question =
        Question::new(rate(0.05), Some(rate(0.01)), Method::OneSided, MaxError::new(1e-3).unwrap())
            .unwrap();
    let mut test = Permutation::new(&same, &same, Statistic::Median, Sides::Both, 1).unwrap();
    let found = test.test(question, Limits::default(), |_| ControlFlow::Continue(()));
    assert_eq!((found.verdict, found.p_value), (Verdict::No, 1.0));
    assert!(Permutation::new(&[], &same, Statistic::Mean, Sides::Both, 1).is_err());
    assert!(Permutation::new(&[f64::NAN], &same, Statistic::Mean, Sides::Both, 1).is_err());
    assert_eq!(permutation::p_value(Counts::new(99, 0).unwrap()), 0.01);
}

/// Each resample is drawn on its own: whether it is extreme says nothing about the next.
#[test]
fn a_resample_does_not_depend_on_the_one_before() {
    // The groups are alike, so about half of the resamples are as extreme.
    let a: Vec<f64> = (0..20).map(f64::from).collect();
    let mut test = Permutation::new(&a, &a, Statistic::Mean, Sides::Upper, 9).unwrap();
    let extreme: Vec<bool> = (0..4001).map(|_| test.resample()).collect();
    let alike = extreme.windows(2).filter(|pair| pair[0] == pair[1]).count();
    // Four standard deviations around one half.
    assert!((1874..=2126).contains(&alike), "{alike} of 4000 are like the one before");
}

/// Three pairs of values: in 6 of their 90 relabelings the means are as far apart; three copies differ by chance.
#[test]
fn three_groups_differ_as_often_as_enumeration_says() {
    let groups: [&[f64]; 3] = [&[1.0, 2.0], &[3.0, 4.0], &[5.0, 6.0]];
    let mut test = Permutation::among(&groups, Statistic::Mean, 5).unwrap();
    assert_eq!(test.observed(), 4.0);
    let extreme = (0..90_000).filter(|_| test.resample()).count();
    // Six deviations of 75.
    assert!((5_550..6_450).contains(&extreme), "{extreme}");
    let copies: [&[f64]; 3] = [&[1.0, 2.0]; 3];
    let mut test = Permutation::among(&copies, Statistic::Median, 5).unwrap();
    assert_eq!((test.observed(), test.resample()), (0.0, true));
    assert!(Permutation::among(&[&[1.0], &[2.0], &[]], Statistic::Max, 5).is_err());
    assert!(Permutation::among(&[], Statistic::Max, 5).is_err());
}
