//! Durations as people write them: `500ms`, `10s`, `2m`.

use std::time::Duration;

/// Reads a number followed by `ms`, `s`, `m` or `h`; a fraction is allowed.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("write a number and its unit: 500ms, 10s, 2m".into()),
    };
    let number: f64 = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| "that is too long".into())
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::time::Duration;

    #[test]
    fn units_and_fractions() {
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(parse("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("2h"), Ok(Duration::from_secs(7200)));
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        for text in ["", "10", "s", "-1s", "1e3s", "1.2.3s", "99999999999999999999h", "5 s", "5µs"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
