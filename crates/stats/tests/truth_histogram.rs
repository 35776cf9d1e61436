//! The histogram against the sorted values.

use uncontended_stats::{MaxError, Method, Rate, Rng, histogram::Histogram, quantile};

#[test]
fn every_value_lies_between_its_edges_and_they_are_close() {
    for bits in [1, 2, 7, 12i32] {
        let around = |power: u32| {
            [(1u64 << power) - 1, 1 << power, (1 << power) + 1, (1 << power) + (1 << power) / 3]
        };
        let values = (0..64).flat_map(around).chain([0, u64::MAX, u64::MAX - 1]);
        for value in values {
            let mut one = Histogram::new(bits as u32);
            one.record(value);
            let (low, high, count) = one.buckets().next().unwrap();
            assert!(low <= value && value <= high && count == 1, "{bits} {value}: {low} {high}");
            assert!(
                (high - low) as f64 <= low as f64 * 0.5f64.powi(bits),
                "{bits} {value}: {low} {high}"
            );
            assert_eq!(one.at_rank(0), Some((value, value)));
        }
    }
}

#[test]
fn what_is_read_off_encloses_the_truth_also_after_a_merge() {
    let mut rng = Rng::new(6);
    let mut values: Vec<u64> =
        (0..5000).map(|_| 1000 + rng.next_u64() / (1 + (rng.next_u64() >> 20))).collect();
    let (mut whole, mut part) = (Histogram::new(5), Histogram::new(5));
    for (i, &value) in values.iter().enumerate() {
        if i % 3 == 0 { part.record(value) } else { whole.record_many(value, 1) }
    }
    whole.merge(&part).unwrap();
    assert!(whole.merge(&Histogram::new(6)).is_err());
    values.sort_unstable();
    assert_eq!(
        (whole.total(), whole.least(), whole.most()),
        (5000, Some(values[0]), Some(values[4999]))
    );
    for rank in 0..5000 {
        let (low, high) = whole.at_rank(rank).unwrap();
        assert!((low..=high).contains(&values[rank as usize]));
        let truth = values.partition_point(|&v| v <= values[rank as usize]) as u64;
        let (least, most) = whole.at_most(values[rank as usize]);
        assert!((least..=most).contains(&truth));
    }
    for p in [0.5, 0.9, 0.99] {
        let (rate, error) = (Rate::new(p).unwrap(), MaxError::new(0.01).unwrap());
        let (low, high) = whole.interval(rate, Method::OneSided, error);
        let ranks = quantile::ranks(5000, rate, Method::OneSided, error);
        assert!(
            low.unwrap() <= values[ranks.0.unwrap() as usize]
                && high.unwrap() >= values[ranks.1.unwrap() as usize]
        );
    }
    assert_eq!((whole.at_rank(5000), Histogram::new(3).least()), (None, None));
}

/// A count is exact at the upper edge of every bucket, which for the last one is the largest value.
#[test]
fn how_many_are_at_most_an_edge_is_exact() {
    let mut histogram = Histogram::new(2);
    // Buckets of eight from 32 on, of sixteen from 64 on.
    let values = [33, 38, 39, 40, 70, 72];
    values.iter().for_each(|&value| histogram.record(value));
    for (value, least, most) in
        [(31, 0, 0), (32, 0, 3), (38, 0, 3), (39, 3, 3), (40, 3, 4), (47, 4, 4), (63, 4, 4)]
    {
        assert_eq!(histogram.at_most(value), (least, most), "{value}");
    }
    for (value, least) in [(70, 4), (71, 4), (72, 6), (73, 6), (u64::MAX, 6)] {
        assert_eq!(histogram.at_most(value), (least, 6), "{value}");
    }
}
