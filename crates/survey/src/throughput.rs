//! Throughput by number of threads, from a file.
//!
//! # Contract
//! A line has a number of threads and a throughput, separated by blanks. Empty lines, and what follows a `#`, are
//! ignored. A number of threads may have several lines. Any other line is refused with its number.
//! # Evidence
//! The tests below; fuzz/fuzz_targets/throughput.rs.

use crate::usl::{FEWEST, Point};
use uncontended_figures::read::number;
use uncontended_figures::text::{escaped, several};

/// The most threads of a line.
pub const MOST_THREADS: u64 = 1_000_000;
/// The most lines with figures: the intervals take a thousand times as many steps.
pub const MOST_LINES: usize = 100_000;
/// Throughputs outside this range are refused: their squares would not be numbers.
const RANGE: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

/// Reads figures.
///
/// ```
/// use uncontended_survey::throughput::parse;
/// let points = parse("# threads, requests per second\n1 995\n2 1908  # two of them\n4 3520\n")?;
/// assert_eq!((points.len(), points[1].threads, points[1].throughput), (3, 2, 1908.0));
/// assert_eq!(parse("1 995\nmany 10").unwrap_err(), "line 2: 'many' is not a number of threads, from 1 to 1000000");
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// The line, and what is wrong with it; or what the whole lacks.
pub fn parse(text: &str) -> Result<Vec<Point>, String> {
    let mut points = Vec::new();
    for (line, at) in text.lines().zip(1..) {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let point = match words[..] {
            [] => continue,
            [threads, throughput] => point(threads, throughput),
            _ => {
                Err(format!("'{}' is not a number of threads and a throughput", shown(line.trim())))
            }
        };
        points.push(point.map_err(|why| format!("line {at}: {why}"))?);
        if points.len() > MOST_LINES {
            return Err(format!("line {at}: more than {MOST_LINES} figures"));
        }
    }
    let mut counts: Vec<u64> = points.iter().map(|point: &Point| point.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    match counts.len() {
        0 => Err("it has no figures".to_owned()),
        few if few < FEWEST => Err(format!(
            "it has {}, and the law has {FEWEST} parameters",
            several(few as u64, "different number of threads", "different numbers of threads")
        )),
        _ => Ok(points),
    }
}

fn point(threads: &str, throughput: &str) -> Result<Point, String> {
    let count = threads.parse().ok().filter(|count| (1..=MOST_THREADS).contains(count));
    let threads = count.ok_or_else(|| {
        format!("'{}' is not a number of threads, from 1 to {MOST_THREADS}", shown(threads))
    })?;
    let above_zero = number(throughput).ok().filter(|value| RANGE.contains(value));
    let throughput = above_zero.ok_or_else(|| {
        format!("'{}' is not a throughput above 0 (up to 1e100)", shown(throughput))
    })?;
    Ok(Point { threads, throughput })
}

/// The start of `text`, with nothing that controls a terminal.
fn shown(text: &str) -> String {
    uncontended_figures::text::fit(&escaped(text), 40)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usl::fit;
    use uncontended_stats::Rng;

    #[test]
    fn a_bad_line_is_named() {
        let error = |text: &str| parse(text).unwrap_err();
        assert_eq!(error("1 10\n\n2 x"), "line 3: 'x' is not a throughput above 0 (up to 1e100)");
        for bad in [
            "0 1",
            "-1 1",
            "1.5 1",
            "1 0",
            "1 -3",
            "1 inf",
            "1 nan",
            "1",
            "1 2 3",
            "1000001 1",
            "1 1e101",
        ] {
            assert!(error(&format!("1 1\n2 2\n3 3\n{bad}\n5 5")).starts_with("line 4: "), "{bad}");
        }
        assert_eq!(
            error("\u{1b}[31m 5"),
            "line 1: '\\u{1b}[31m' is not a number of threads, from 1 to 1000000"
        );
    }

    #[test]
    fn too_few_figures_are_refused() {
        assert_eq!(parse("# nothing\n").unwrap_err(), "it has no figures");
        let error = parse("1 5\n1 6\n2 7\n").unwrap_err();
        assert_eq!(error, "it has 2 different numbers of threads, and the law has 3 parameters");
    }

    #[test]
    fn any_text_is_refused_or_fitted_with_finite_figures() {
        let mut rng = Rng::new(9);
        let words = [
            "1", "2", "3", "17", "1000000", "1e-99", "1e99", "0.5", "#", "\n", "\n", " ", "\t",
            "é", "x", "-", "nan",
        ];
        let mut fitted = 0;
        for _ in
            0..uncontended_testkit::repetitions("any text is fitted or refused", 20_000, 500_000)
        {
            let length = rng.below(8);
            let mut word = || words[rng.below(words.len() as u64) as usize];
            let text: String = (0..length).map(|_| format!("{} {}\n", word(), word())).collect();
            let Ok(points) = parse(&text) else { continue };
            fitted += 1;
            let fit = fit(&points, &[2_000_000]).expect("three numbers of threads");
            let figures =
                [fit.sigma.value, fit.kappa.value, fit.gamma.value, fit.off_by.unwrap_or(0.0)];
            assert!(
                figures.iter().all(|figure| figure.is_finite() && *figure >= 0.0),
                "{text:?}: {fit:?}"
            );
            assert!(fit.gamma.value > 0.0, "{text:?}: {fit:?}");
        }
        assert!(fitted > 0, "some texts are figures");
    }
}
