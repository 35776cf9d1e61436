//! Figures as people read them: three significant digits and a unit.
//!
//! # Contract
//! Every form of a report (terminal, page, verdict) writes its figures through this file, so that the same figure reads
//! the same everywhere. A space stands between number and unit; rounding never shows `1000 µs` for `1.00 ms`.

const THOUSANDS: [&str; 5] = ["", "k", "M", "G", "T"];
const BINARY: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// A time given in nanoseconds: `0 ns`, `265 ms`, `4.21 s`, `12.5 min`, `3.00 h`.
///
/// ```
/// assert_eq!(uncontended_report::units::duration(1_234), "1.23 µs");
/// ```
pub fn duration(ns: u64) -> String {
    duration_f(ns as f64)
}

/// The same for a time that is not a whole number of nanoseconds.
pub fn duration_f(ns: f64) -> String {
    const STEPS: [(f64, &str); 6] =
        [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s"), (60e9, "min"), (3600e9, "h")];
    if !ns.is_finite() {
        return "–".to_owned();
    }
    if ns.abs() < 999.5 {
        let text = if ns.fract() == 0.0 { format!("{ns:.0}") } else { digits(ns) };
        return format!("{text} ns");
    }
    // Minutes begin at two, hours at two: 90 s and 75 min are easier to grasp than 1.50 min and 1.25 h.
    let limits = [999.5, 999.5, 999.5, 119.95, 119.95, f64::INFINITY];
    for ((size, unit), limit) in STEPS.into_iter().zip(limits) {
        if ns.abs() / size < limit {
            return format!("{} {unit}", digits(ns / size));
        }
    }
    unreachable!("the last limit is infinite and the time is not")
}

/// A number of things: exact up to 9 999, then `15.7 k`, `8.41 M`.
pub fn count(number: u64) -> String {
    if number < 10_000 { number.to_string() } else { scaled(number as f64, 1e3, &THOUSANDS) }
}

/// A number of things that is not whole: three significant digits, then `15.7 k`.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        "–".to_owned()
    } else if value.abs() < 999.5 {
        digits(value)
    } else {
        scaled(value, 1e3, &THOUSANDS)
    }
}

/// A size in bytes: `512 B`, `1.50 KiB`, `4.00 GiB`.
pub fn bytes(size: u64) -> String {
    if size < 1024 { format!("{size} B") } else { scaled(size as f64, 1024.0, &BINARY) }
}

/// A share between 0 and 1 (it may be greater): `0 %`, `< 0.01 %`, `0.05 %`, `4.0 %`, `61 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        _ if !percent.is_finite() => "–".to_owned(),
        0.0 => "0 %".to_owned(),
        size if size < 0.01 => "< 0.01 %".to_owned(),
        size if size < 0.995 => format!("{percent:.2} %"),
        size if size < 9.95 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// A figure without the zeros that end its fraction, for the marks of an axis: `1 ms` for `1.00 ms`.
pub fn short(figure: &str) -> String {
    let (number, unit) = figure
        .split_once(' ')
        .map_or((figure, String::new()), |(number, unit)| (number, format!(" {unit}")));
    if number.contains('.') && !number.contains('e') {
        format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
    } else {
        figure.to_owned()
    }
}

/// How many times one figure is another: `1.2`, `12`, `3.40 k`.
pub fn times(ratio: f64) -> String {
    match ratio.abs() {
        size if size < 9.95 => format!("{ratio:.1}"),
        size if size < 999.5 => format!("{ratio:.0}"),
        _ => number(ratio),
    }
}

/// Three significant digits without an exponent.
fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 0.001 => format!("{value:.2e}"),
        size if size < 0.01 => format!("{value:.5}"),
        size if size < 0.1 => format!("{value:.4}"),
        size if size < 0.9995 => format!("{value:.3}"),
        size if size < 9.995 => format!("{value:.2}"),
        size if size < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// `value` in the greatest of `units`, each `step` times the one before, that leaves at least 1.
fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let (mut value, mut unit) = (value, 0);
    // The figure that three digits would show as a whole step belongs to the next unit.
    while value.abs() >= step - 0.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let text = digits(value);
    if units[unit].is_empty() { text } else { format!("{text} {}", units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_three_digits_and_carry_into_the_next_unit() {
        let cases = [
            (0, "0 ns"),
            (7, "7 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (265_400_000, "265 ms"),
            (999_999_999, "1.00 s"),
            (90_000_000_000, "90.0 s"),
            (119_990_000_000, "2.00 min"),
            (7_200_000_000_000, "2.00 h"),
            (u64::MAX, "5124096 h"),
        ];
        for (ns, text) in cases {
            assert_eq!(duration(ns), text);
        }
        assert_eq!(duration_f(12.34), "12.3 ns");
        assert_eq!(duration_f(f64::NAN), "–");
    }

    #[test]
    fn counts_sizes_and_shares() {
        assert_eq!(count(9_999), "9999");
        assert_eq!(count(15_700), "15.7 k");
        assert_eq!(count(999_950), "1.00 M");
        assert_eq!(count(u64::MAX), "18446744 T");
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1_536), "1.50 KiB");
        assert_eq!(bytes(1 << 20), "1.00 MiB");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.000_01), "< 0.01 %");
        assert_eq!(percent(0.000_5), "0.05 %");
        assert_eq!(percent(0.04), "4.0 %");
        assert_eq!(percent(0.61), "61 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(number(0.292), "0.292");
        assert_eq!(times(12.2), "12");
        assert_eq!(
            (short("1.00 ms"), short("1.50 k"), short("100")),
            ("1 ms".into(), "1.5 k".into(), "100".into())
        );
    }
}
