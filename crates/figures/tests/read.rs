//! Parsing of figures.

use std::time::Duration;
use uncontended_figures::read::{duration, number, percentile, share, time_limit, whole};
use uncontended_figures::{Dimension, Quantity};
use uncontended_testkit::Random;

fn base(text: &str) -> Result<(f64, Dimension), String> {
    Quantity::parse(text).map(|read| (read.value, read.dimension))
}

#[test]
fn one_grammar_reads_all_spellings() {
    for text in [
        "5s",
        "5 s",
        " 5s ",
        "5.0 s",
        "+5s",
        "5e0s",
        "5000ms",
        "5_000 ms".replace('_', "").as_str(),
    ] {
        assert_eq!(base(text), Ok((5e9, Dimension::Time)), "{text}");
        assert_eq!(duration(text), Ok(Duration::from_secs(5)), "{text}");
    }
    for text in ["200us", "200µs", "200 \u{3bc}s", ".2ms", "0.2 ms"] {
        assert_eq!(duration(text), Ok(Duration::from_micros(200)), "{text}");
    }
    assert_eq!(
        (duration("2m"), duration("2 min")),
        (Ok(Duration::from_secs(120)), Ok(Duration::from_secs(120)))
    );
    assert_eq!(duration("1.5 ms"), Ok(Duration::from_micros(1500)));
    assert_eq!(
        (duration("2h"), duration("0s")),
        (Ok(Duration::from_secs(7200)), Ok(Duration::ZERO))
    );
    assert_eq!(base("200MiB"), Ok((209_715_200.0, Dimension::Bytes)));
    assert_eq!(base("1 MB"), Ok((1e6, Dimension::Bytes)));
    assert_eq!(
        (base("1e3"), base("-2")),
        (Ok((1000.0, Dimension::Number)), Ok((-2.0, Dimension::Number)))
    );
}

#[test]
fn a_decimal_unit_is_exact() {
    for tenths in 1..10_000_u32 {
        let text = format!("{}.{} ms", tenths / 10, tenths % 10);
        assert_eq!(base(&text), Ok((f64::from(tenths) * 1e5, Dimension::Time)), "{text}");
    }
}

#[test]
fn what_is_not_a_number_is_refused() {
    let texts = [
        "-5ms",
        "-1 B",
        "-0.1us",
        "",
        " ",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "ms",
        "5 parsecs",
        "1e999",
        "1e308s",
        "1.2.3",
        "--5",
        "5ms ms",
        "1,234",
        "1e",
        "5 %",
    ];
    for text in texts {
        assert!(Quantity::parse(text).is_err(), "{text}");
    }
    for text in ["", "10", "s", "-1s", "1.2.3s", "99999999999999999999h", "5 B", "5 %", "1,5 s"] {
        assert!(duration(text).is_err(), "{text}");
    }
}

#[test]
fn an_error_says_what_would_do() {
    let of = |text| duration(text).unwrap_err();
    assert_eq!(of("5 parsecs"), "unknown unit 'parsecs'; use ns, us, ms, s, m or h");
    assert_eq!(of("5MiB"), "unknown unit 'MiB'; use ns, us, ms, s, m or h");
    assert_eq!(of("10"), "'10' has no unit; use ns, us, ms, s, m or h");
    assert_eq!(of("ten"), "'ten' is not a number");
    assert_eq!(of("-1s"), "'-1s' is negative");
    assert_eq!(time_limit("0 ms").unwrap_err(), "'0 ms' must be above zero");
    let unknown = Quantity::parse("5 parsecs").unwrap_err();
    assert!(
        unknown.starts_with("unknown unit 'parsecs'; use ns, us, ms, s, m or h for a time, "),
        "{unknown}"
    );
}

#[test]
fn a_bare_value_takes_the_unit_of_the_threshold() {
    let threshold = Quantity::parse("5ms").unwrap();
    assert_eq!(Quantity::parse_for_threshold("4.5", threshold), Ok(4.5e6));
    assert_eq!(Quantity::parse_for_threshold("4500 µs", threshold), Ok(4.5e6));
    assert!(Quantity::parse_for_threshold("3MiB", threshold).is_err());
    assert!(Quantity::parse_for_threshold("-1", threshold).is_err());
    assert_eq!(Quantity::parse_for_threshold("-1", Quantity::parse("5").unwrap()), Ok(-1.0));
    assert!(Quantity::parse_for_threshold("3ms", Quantity::parse("5").unwrap()).is_err());
}

#[test]
fn shares_and_percentiles_are_exact_decimals() {
    assert_eq!((share("98%"), share("98 %"), share(".999")), (Ok(0.98), Ok(0.98), Ok(0.999)));
    assert_eq!((share("99.9%"), share("1e1%"), share("5E-1 %")), (Ok(0.999), Ok(0.1), Ok(0.005)));
    for thousandths in 1..1000 {
        let percent = format!("{}.{}%", thousandths / 10, thousandths % 10);
        assert_eq!(share(&percent), share(&format!("0.{thousandths:03}")), "{percent}");
    }
    assert_eq!(
        (percentile("p99.9"), percentile("median"), percentile(" p5 ")),
        (Ok(0.999), Ok(0.5), Ok(0.05))
    );
    for text in ["99", "p", "p0", "p100", "p-1", "pnan", "p5ms"] {
        assert!(percentile(text).is_err(), "{text}");
    }
    for text in ["nan", "", "%", "5ms", "5 percent"] {
        assert!(share(text).is_err(), "{text}");
    }
    assert_eq!(number("1e3"), Ok(1000.0));
    assert!(number("1ms").is_err());
}

#[test]
fn a_whole_number_is_in_its_range_or_the_range_is_said() {
    let any = whole::<u8>(1..=u8::MAX.into());
    assert_eq!((any("1"), any(" 255 ")), (Ok(1), Ok(255)));
    for text in ["0", "256", "-1", "1.5", "x", "", "99999999999999999999"] {
        assert_eq!(any(text), Err("give a whole number from 1 to 255".into()), "{text}");
    }
    assert_eq!(whole::<u64>(0..=u64::MAX)("x"), Err("give a whole number, 0 or more".into()));
}

/// Random text from the alphabet of numbers and units: every result is finite, and nothing panics.
#[test]
fn any_text_is_answered() {
    let alphabet: Vec<char> = "0123456789.,+-eE nusmhBkKMGTi%pµ\u{1F600}".chars().collect();
    let mut rng = Random(7);
    let mut read = 0;
    for _ in 0..200_000 {
        let length = 1 + rng.below(8);
        let text: String =
            (0..length).map(|_| alphabet[(rng.next() >> 33) as usize % alphabet.len()]).collect();
        if let Ok(quantity) = Quantity::parse(&text) {
            assert!(quantity.value.is_finite(), "{text}");
            read += 1;
        }
        if let Ok(limit) = duration(&text) {
            let quantity = Quantity::parse(&text).expect("a duration is a quantity");
            assert!(
                (limit.as_secs_f64() * 1e9 - quantity.value).abs()
                    <= 1e-9 * quantity.value.max(1e9),
                "{text}"
            );
        }
        assert!(share(&text).is_ok_and(f64::is_finite) || share(&text).is_err());
        let _ = percentile(&text);
    }
    assert!(read > 100, "{read} texts were quantities");
}
