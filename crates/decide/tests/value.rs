//! Numbers with units as people write and read them.

use uncontended_decide::value::*;

fn base(text: &str) -> Result<(f64, Dimension), String> {
    Quantity::parse(text).map(|read| (read.value, read.dimension))
}

#[test]
fn units_are_exact() {
    assert_eq!(base("5ms"), Ok((5e6, Dimension::Time)));
    assert_eq!(base("1.5 s"), Ok((1.5e9, Dimension::Time)));
    assert_eq!(base("2m"), Ok((1.2e11, Dimension::Time)));
    assert_eq!(base("200MiB"), Ok((209_715_200.0, Dimension::Bytes)));
    assert_eq!(base("1e3"), Ok((1000.0, Dimension::Number)));
    assert_eq!(base("-2"), Ok((-2.0, Dimension::Number)));
}

#[test]
fn what_is_no_number_is_refused() {
    for text in [
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
    ] {
        assert!(Quantity::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_bare_value_takes_the_unit_of_the_threshold() {
    let threshold = Quantity::parse("5ms").unwrap();
    assert_eq!(Quantity::parse_beside("4.5", threshold), Ok(4.5e6));
    assert_eq!(Quantity::parse_beside("4500us", threshold), Ok(4.5e6));
    assert!(Quantity::parse_beside("3MiB", threshold).is_err());
    assert!(Quantity::parse_beside("-1", threshold).is_err());
    assert_eq!(Quantity::parse_beside("-1", Quantity::parse("5").unwrap()), Ok(-1.0));
    assert!(Quantity::parse_beside("3ms", Quantity::parse("5").unwrap()).is_err());
}

#[test]
fn shares_and_percentiles() {
    assert_eq!(rate("98%"), Ok(0.98));
    assert_eq!(rate(".999"), Ok(0.999));
    assert_eq!(percentile("p99.9"), Ok(0.999));
    // Exactly these decimals; every rate of three digits.
    assert_eq!((rate("99.9%"), rate("1e1%"), rate("5E-1 %")), (Ok(0.999), Ok(0.1), Ok(0.005)));
    for thousandths in 1..1000 {
        let percent = format!("{}.{}%", thousandths / 10, thousandths % 10);
        assert_eq!(rate(&percent), rate(&format!("0.{thousandths:03}")), "{percent}");
    }
    assert_eq!(percentile("median"), Ok(0.5));
    assert_eq!(margin("0"), Ok(0.0));
    for text in ["0", "1", "100%", "-1", "nan", "2", "", "%"] {
        assert!(rate(text).is_err(), "{text}");
    }
    for text in ["99", "p", "p0", "p100", "p-1", "pnan"] {
        assert!(percentile(text).is_err(), "{text}");
    }
}

#[test]
fn people_read_four_digits() {
    assert_eq!(show(5e6, Dimension::Time), "5 ms");
    assert_eq!(show(1_234_567.0, Dimension::Time), "1.235 ms");
    assert_eq!(show(209_715_200.0, Dimension::Bytes), "200 MiB");
    assert_eq!(show(0.0, Dimension::Time), "0 ns");
    assert_eq!(significant(123_456.0, 4), "123456");
    assert_eq!(significant(1e-9, 4), "1.000e-9");
}

#[test]
fn intervals_are_rounded_outward() {
    assert_eq!(within(1.000_06, 1.000_04, 5), "within [1, 1.0001]");
    assert_eq!(within(0.999_999, 99_999.6, 5), "within [0.99999, 100000]");
    assert_eq!(within(0.0, f64::INFINITY, 5), "not bounded yet");
    assert_eq!(within(0.0, 2.5, 5), "at most 2.5");
    assert_eq!(within(1.5, f64::INFINITY, 5), "at least 1.5");
    assert_eq!(within(1.5, 2.5, 5), "within [1.5, 2.5]");
    assert_eq!(rate_interval(0.900_000_9, 0.999_999_1, 6), "[0.900000, 1.000000]");
    assert_eq!(show_toward(1_234_567.0, Dimension::Time, Toward::Low), "1.234 ms");
    let mut state = 5_u64;
    for _ in 0..20_000 {
        state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        let value = f64::from_bits(state & !(1 << 63));
        if value.is_finite() {
            let end = |toward| rounded(value, 5, toward).parse::<f64>().unwrap();
            let (low, high) = (end(Toward::Low), end(Toward::High));
            assert!(low <= value && value <= high, "{value:e}: {low:e} {high:e}");
        }
    }
}

/// Random bytes from the alphabet of numbers and units: every answer is finite, and none panics.
#[test]
fn any_text_is_answered() {
    let alphabet: Vec<char> = "0123456789.+-eE nusmhBkKMGTi%pµ\u{1F600}".chars().collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..200_000 {
        let mut text = String::new();
        for _ in 0..8 {
            state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            text.push(alphabet[(state >> 33) as usize % alphabet.len()]);
        }
        if let Ok(read) = Quantity::parse(&text) {
            assert!(read.value.is_finite(), "{text}");
            assert!(!show(read.value, read.dimension).is_empty());
        }
        assert!(rate(&text).is_ok_and(|rate| rate > 0.0 && rate < 1.0) || rate(&text).is_err());
        let _ = (duration(&text), percentile(&text), margin(&text));
    }
}
