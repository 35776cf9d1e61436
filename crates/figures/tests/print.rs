//! Properties of every printed figure, for random doubles and at the edges where units change.

use uncontended_figures::*;
use uncontended_testkit::Random;

/// Positive doubles over the whole range of measured values, dense where units change.
fn values(rng: &mut Random) -> impl Iterator<Item = f64> {
    let edges =
        [1.0, 10.0, 99.95, 999.5, 999.95, 1e3, 1023.5, 1024.0, 119.5, 119.95, 120.0, 3600.0];
    (0..20_000).map(move |nth| {
        let random = f64::from_bits(rng.next());
        let power = 10f64.powi((rng.next() % 19) as i32 - 3);
        let near = 1.0 + (rng.next() % 2001) as f64 / 1e6 - 1e-3;
        match nth % 3 {
            0 => edges[nth % edges.len()] * power * near,
            1 => (rng.next() % 1_000_000) as f64 * power,
            _ if random.is_finite() && random.abs() < 1e18 && random.abs() > 1e-6 => random.abs(),
            _ => power * near,
        }
    })
}

/// The value that a figure parses to, in base units; separators and the suffixes of thousands are for readers only.
fn read_back(text: &str) -> f64 {
    let plain = text.replace(',', "");
    let (number, factor) =
        [(" k", 1e3), (" M", 1e6), (" G", 1e9), (" T", 1e12), (" P", 1e15), (" E", 1e18)]
            .into_iter()
            .find_map(|(suffix, factor)| Some((plain.strip_suffix(suffix)?, factor)))
            .unwrap_or((&plain, 1.0));
    Quantity::parse(number).unwrap_or_else(|error| panic!("{text}: {error}")).value * factor
}

const DIMENSIONS: [Dimension; 3] = [Dimension::Time, Dimension::Bytes, Dimension::Number];

#[test]
fn a_measured_value_reads_back_within_its_digits() {
    for value in values(&mut Random(1)) {
        for dimension in DIMENSIONS {
            let text = measured(value, dimension);
            let off = (read_back(&text) / value - 1.0).abs();
            assert!(off <= 0.005_01, "{value:e} {dimension:?}: {text}");
        }
    }
}

#[test]
fn a_greater_value_is_never_shown_as_a_smaller_one() {
    let mut sorted: Vec<f64> = values(&mut Random(2)).collect();
    sorted.sort_by(f64::total_cmp);
    for dimension in DIMENSIONS {
        let mut last = (0.0, String::new());
        for &value in &sorted {
            let text = measured(value, dimension);
            let shown = read_back(&text);
            assert!(shown >= last.0 * (1.0 - 1e-12), "{} then {text} at {value:e}", last.1);
            last = (shown, text);
        }
    }
}

#[test]
fn a_value_rounded_one_way_is_never_on_the_other_side() {
    for value in values(&mut Random(3)) {
        for dimension in DIMENSIONS {
            let end = |toward| read_back(&measured_toward(value, dimension, toward));
            let (low, high) = (end(Toward::Low), end(Toward::High));
            // Units that are not a power of ten, and the suffixes, each cost one rounding of the double.
            let slack = value * 1e-15;
            assert!(low <= value + slack && value - slack <= high, "{value:e}: {low:e} {high:e}");
            assert!(high / low < 1.0201, "{value:e}: {low:e} {high:e}");
        }
    }
}

#[test]
fn what_was_given_reads_back_exactly() {
    let mut rng = Random(4);
    let random: Vec<f64> = values(&mut rng).collect();
    for value in
        random.into_iter().chain([0.0, 1e6, 5e6, 9e10, 1.2e11, 7.2e12, 1e15, 209_715_200.0])
    {
        for dimension in DIMENSIONS {
            let text = given(value, dimension);
            let plain = text.replace(',', "");
            assert_eq!(Quantity::parse(&plain).map(|read| read.value), Ok(value), "{text}");
        }
        let share = value / 1e18;
        assert_eq!(read::share(&given_percent(share).replace(',', "")), Ok(share));
    }
    let texts = [
        (9e10, "90 s"),
        (1.2e11, "2 min"),
        (4.5e11, "450 s"),
        (3.6e12, "1 h"),
        (1.5e5, "150 µs"),
        (0.5, "0.5 ns"),
    ];
    for (value, text) in texts {
        assert_eq!(given(value, Dimension::Time), text);
    }
    let texts = [(1e6, "1 MB"), (1024.0, "1 KiB"), (209_715_200.0, "200 MiB"), (999.0, "999 B")];
    for (value, text) in texts {
        assert_eq!(given(value, Dimension::Bytes), text);
    }
}

#[test]
fn units_change_where_rounding_does() {
    let cases = [
        (0.0, "0 ns"),
        (-0.0, "0 ns"),
        (7.0, "7 ns"),
        (12.34, "12.3 ns"),
        (999.0, "999 ns"),
        (999.4, "999 ns"),
        (999.95, "1.00 µs"),
        (999_499.0, "999 µs"),
        (999_500.0, "1.00 ms"),
        (999_950.0, "1.00 ms"),
        (265_400_000.0, "265 ms"),
        (999_999_999.0, "1.00 s"),
        (90e9, "90.0 s"),
        (119.4e9, "119 s"),
        (119.5e9, "2.00 min"),
        (119.99e9, "2.00 min"),
        (7.17e12, "2.00 h"),
        (7.2e12, "2.00 h"),
        (u64::MAX as f64, "5,120,000 h"),
        (f64::NAN, "not a number"),
        (f64::INFINITY, "unbounded"),
    ];
    for (ns, text) in cases {
        assert_eq!(duration_f(ns), text);
    }
    assert_eq!(
        [1023, 1024, 1_047_552, 1_048_064].map(bytes),
        ["1,023 B", "1.00 KiB", "1,023 KiB", "1.00 MiB"]
    );
    assert_eq!(
        [0, 9_999, 10_000, 999_499, 999_500].map(count),
        ["0", "9,999", "10.0 k", "999 k", "1.00 M"]
    );
    assert_eq!(count(u64::MAX), "18.4 E");
    assert_eq!([0.0, -0.0, 0.292, 12.0, 1e-4].map(number), ["0", "0", "0.292", "12.0", "0.000100"]);
    assert_eq!([short("1.00 ms"), short("1.50 k"), short("100")], ["1 ms", "1.5 k", "100"]);
}

#[test]
fn less_than_all_is_never_all_and_more_than_none_never_none() {
    let mut rng = Random(5);
    for _ in 0..20_000 {
        let share = (rng.next() >> 11) as f64 / (1u64 << 53) as f64;
        for share in [share, share * 1e-9, 1.0 - share * 1e-9] {
            let text = percent(share);
            assert_eq!(text == "100 %", share == 1.0, "{share}");
            assert_eq!(text == "0 %", share == 0.0, "{share}");
            let whole =
                uncontended_figures::share(Some(share), share * 0.99, share + (1.0 - share) / 2.0);
            assert!(
                share == 0.0
                    || share == 1.0
                    || ![" 100 %", "[100 %"].iter().any(|all| format!(" {whole}").contains(all)),
                "{share}: {whole}"
            );
        }
    }
    let cases = [
        (0.61, "61.0 %"),
        (1e-6, "< 0.001 %"),
        (0.000_5, "0.0500 %"),
        (1.25, "125 %"),
        (0.9994, "99.9 %"),
    ];
    for (share, text) in cases {
        assert_eq!(percent(share), text);
    }
    assert_eq!([0.001, 1e-6, 0.001 / 3.0].map(at_most_percent), ["0.1 %", "0.0001 %", "0.0334 %"]);
    assert_eq!([0.5, 0.999, 0.07].map(percentile), ["p50", "p99.9", "p7"]);
}

#[test]
fn an_interval_holds_what_it_is_about() {
    let mut rng = Random(6);
    for _ in 0..20_000 {
        let unit = |rng: &mut Random| (rng.next() >> 11) as f64 / (1u64 << 53) as f64;
        let spread = 10f64.powf(-5.0 * unit(&mut rng));
        let estimate = 10f64.powf(4.0 * unit(&mut rng) - 2.0);
        let (low, high) =
            (estimate * (1.0 - 0.9 * spread * unit(&mut rng)), estimate * (1.0 + spread));
        let text = ratio(Some(estimate), low, high);
        let (shown, rest) = text.split_once(" [").expect("both ends");
        let ends = rest.trim_end_matches(']').replace(", ", " ");
        let [shown_low, shown_high] =
            ends.split(' ').map(read_back).collect::<Vec<_>>().try_into().expect("two ends");
        assert!(shown_low <= low && high <= shown_high, "{low} {high}: {text}");
        // Not much wider than the interval: two digits of its width, and three of the value.
        let slack = (0.1 * (high - low)).max(0.011 * high);
        assert!(low - shown_low <= slack && shown_high - high <= slack, "{low} {high}: {text}");
        assert!((read_back(shown) - estimate).abs() <= 0.005_01 * estimate, "{estimate}: {text}");
    }
}
