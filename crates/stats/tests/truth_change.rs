//! Changes of a series: exactly what is promised for few values, by counting all orders of them; simulated alarms of
//! long series; how soon a change is noticed.

mod common;

use common::{assert_at_most, error};
use uncontended_stats::Rng;
use uncontended_stats::change::{Alarm, Detector, Direction, STARTS};
use uncontended_testkit::repetitions;

fn detector(max_error: f64) -> Detector {
    Detector::new(error(max_error))
}

/// Calls `take` with every order of `n` distinct values.
fn every_order(n: usize, take: &mut impl FnMut(&[f64])) {
    fn place(values: &mut [f64], at: usize, take: &mut impl FnMut(&[f64])) {
        if at == values.len() {
            return take(values);
        }
        for other in at..values.len() {
            values.swap(at, other);
            place(values, at + 1, take);
            values.swap(at, other);
        }
    }
    let mut values: Vec<f64> = (0..n).map(|value| value as f64).collect();
    place(&mut values, 0, take);
}

#[test]
fn the_evidence_of_each_start_has_a_mean_of_one() {
    for n in 1..=7 {
        let (mut sum, mut orders) = (0.0, 0.0);
        every_order(n, &mut |values| {
            let mut detector = detector(1e-9);
            assert!(values.iter().all(|&value| detector.push(value).is_none()));
            (sum, orders) = (sum + detector.evidence(), orders + 1.0);
        });
        let mean: f64 = sum / orders;
        assert!((mean - (n - 1) as f64).abs() < 1e-9, "{mean} after {n} values");
    }
}

#[test]
fn no_order_of_few_values_breaks_the_promise() {
    for max_error in [0.5, 0.3, 0.1] {
        let (mut alarms, mut orders) = (0u32, 0u32);
        every_order(8, &mut |values| {
            let mut detector = detector(max_error);
            let raised = values.iter().filter(|&&value| detector.push(value).is_some()).count();
            (alarms, orders) = (alarms + raised as u32, orders + 1);
        });
        let mean = f64::from(alarms) / f64::from(orders);
        assert!((0.01..=max_error * 8.0).contains(&mean), "{mean} alarms at {max_error}");
    }
}

/// One value of a series without change.
type Value = fn(&mut Rng) -> f64;

/// Distributions for which everything but ranks differs.
const STEADY: [(&str, Value); 4] = [
    ("normal", |rng| rng.normal()),
    ("heavy tails", |rng| rng.normal() / rng.unit().max(1e-9)),
    ("two modes", |rng| if rng.chance(0.3) { 40.0 } else { 72.0 } + rng.normal()),
    ("ties", |rng| rng.below(3) as f64),
];

#[test]
fn a_series_that_does_not_change_raises_few_alarms() {
    let series = repetitions("a_series_that_does_not_change_raises_few_alarms", 200, 10_000);
    for (name, value) in STEADY {
        let mut any = 0;
        for seed in 0..series {
            let (mut rng, mut detector) = (Rng::new(seed), detector(0.002));
            any += u64::from((0..100).any(|_| detector.push(value(&mut rng)).is_some()));
        }
        println!("{name}: an alarm in {any} of {series} series of 100 values at 0.2 %");
        assert_at_most(name, series, any, 0.2);
    }
}

#[test]
fn restarts_add_no_alarms() {
    // A promise of 100 alarms on average, of which 150 would be a sum with a chance below 1e-5.
    for (name, value) in STEADY {
        let (mut rng, mut detector) = (Rng::new(3), detector(0.01));
        let alarms = (0..10_000).filter(|_| detector.push(value(&mut rng)).is_some()).count();
        assert!(alarms < 150, "{alarms} of {name}");
        assert!(alarms >= 1, "the bound is not met by never saying anything");
    }
}

#[test]
fn changes_are_noticed_soon_in_their_direction_and_each_by_itself() {
    let series = repetitions("changes_are_noticed_soon_in_their_direction", 200, 4_000);
    for (sign, direction) in [(1.0, Direction::Up), (-1.0, Direction::Down)] {
        let (mut late, mut false_alarms, mut far) = (0, 0, 0);
        for seed in 0..series {
            let (mut rng, mut detector) = (Rng::new(seed), detector(0.001));
            let mut value = |shift: f64| rng.normal() + sign * shift;
            let steady: Vec<Alarm> = (0..50).filter_map(|_| detector.push(value(0.0))).collect();
            let first = (50..60).find_map(|_| detector.push(value(3.0)));
            false_alarms += u64::from(!steady.is_empty());
            let Some(alarm) = first.filter(|_| steady.is_empty()) else {
                late += u64::from(steady.is_empty());
                continue;
            };
            assert_eq!((alarm.direction, alarm.from, detector.values()), (direction, 0, 0));
            far += u64::from(alarm.since.abs_diff(50) > 2);
            // It starts again, and no later alarm goes back behind that.
            assert!((0..30).all(|_| detector.push(value(3.0)).is_none_or(|next| next.from > 50)));
        }
        println!("{direction:?}: {late} late, {far} misplaced, {false_alarms} false of {series}");
        assert_at_most("false alarms before the change", series, false_alarms, 0.1);
        assert_at_most("not noticed after ten values", series, late, 0.1);
        assert_at_most("placed wrongly", series, far, 0.1);
    }
}

#[test]
fn equal_values_are_no_change_and_unequal_ones_after_them_are() {
    let mut detector = detector(0.01);
    assert!((0..2_000).all(|_| detector.push(7.0).is_none()));
    let alarm = (0..5).find_map(|_| detector.push(7.5)).expect("each is above all before");
    assert_eq!((alarm.direction, alarm.from), (Direction::Up, 0));
}

#[test]
fn nothing_is_said_of_fewer_values_than_it_takes() {
    for bound in [0.05, 0.001] {
        let fewest = Detector::fewest(error(bound));
        for split in 1..fewest {
            let mut detector = detector(bound);
            let step = |at: usize| f64::from(u8::from(at >= split));
            let first = (0..).find(|&at| detector.push(step(at)).is_some()).unwrap() + 1;
            assert!(
                first >= fewest,
                "{first} values with a step at {split}, and {fewest} it takes"
            );
        }
    }
    assert_eq!(Detector::fewest(error(0.001)), 13);
}

#[test]
fn the_oldest_starts_are_left_out() {
    let (mut rng, mut detector) = (Rng::new(5), detector(1e-6));
    assert!((0..STARTS * 4).all(|_| detector.push(rng.normal()).is_none()));
    let alarm = (0..20).find_map(|_| detector.push(rng.normal() + 6.0)).expect("a clear change");
    assert!(alarm.since.abs_diff(STARTS * 4) <= 1, "{alarm:?}");
    assert!(std::panic::catch_unwind(move || detector.push(f64::NAN)).is_err());
}
