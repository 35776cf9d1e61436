//! Throughput by number of threads, from a file.
//!
//! # Contract
//! A line has a number of threads and a throughput, separated by blanks or a comma. The throughput may end in the
//! suffix of a thousand, a million and so on, as the survey prints it: `1.64 k`. Empty lines, what follows a `#`, and a
//! first line without any number, a heading, are ignored. A number of threads may have several lines. Any other line is
//! refused with its number.
//! # Evidence
//! The tests below; fuzz/fuzz_targets/throughput.rs.

use crate::usl::{FEWEST, Point};
use uncontended_figures::read::number;
use uncontended_figures::text::{escaped, several};

/// Suffixes of a throughput: a thousand, a million and so on.
const SUFFIXES: [(char, f64); 6] =
    [('k', 1e3), ('M', 1e6), ('G', 1e9), ('T', 1e12), ('P', 1e15), ('E', 1e18)];

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
/// let points = parse("threads, requests per second\n1, 995\n2, 1908  # two of them\n4, 3.52 k\n")?;
/// assert_eq!((points.len(), points[1].threads, points[2].throughput), (3, 2, 3520.0));
/// assert_eq!(parse("1 995\nmany 10").unwrap_err(), "line 2: 'many' is not a number of threads, from 1 to 1000000");
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// The line, and what is wrong with it; or what the whole lacks.
pub fn parse(text: &str) -> Result<Vec<Point>, String> {
    let mut points = Vec::new();
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let mut lines = lines.zip(1..).filter(|(line, _)| !line.is_empty()).peekable();
    let _ = lines.next_if(|(line, _)| is_heading(line));
    for (line, at) in lines {
        points.push(point(line).map_err(|why| format!("line {at}: {why}"))?);
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
            "it has figures for {}, and the law needs {FEWEST} or more",
            several(few as u64, "number of threads", "numbers of threads")
        )),
        _ => Ok(points),
    }
}

/// Whether none of a line's fields is a number.
fn is_heading(line: &str) -> bool {
    line.split(is_separator).all(|field| number(field).is_err())
}

fn is_separator(of: char) -> bool {
    of == ',' || of.is_whitespace()
}

fn point(line: &str) -> Result<Point, String> {
    let (threads, rest) = line.split_at(line.find(is_separator).unwrap_or(line.len()));
    let rest = rest.trim_start();
    let figure = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    let count = threads.parse().ok().filter(|count| (1..=MOST_THREADS).contains(count));
    let threads = count.ok_or_else(|| {
        format!("'{}' is not a number of threads, from 1 to {MOST_THREADS}", shown(threads))
    })?;
    let throughput = throughput(figure)
        .ok_or_else(|| format!("'{}' is not a throughput above 0 (up to 1e100)", shown(figure)))?;
    Ok(Point { threads, throughput })
}

/// A number above 0, with or without a suffix.
fn throughput(figure: &str) -> Option<f64> {
    let suffix = SUFFIXES.iter().find(|(suffix, _)| figure.ends_with(*suffix));
    let (plain, times) = suffix.map_or((figure, 1.0), |(suffix, times)| {
        (figure.strip_suffix(*suffix).unwrap_or(figure), *times)
    });
    number(plain).ok().map(|value| value * times).filter(|value| RANGE.contains(value))
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
            "1, 2, 3",
            "1,, 2",
            "1 2 kk",
            "1 2 m",
            "1 k",
            "threads throughput",
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
    fn a_table_that_a_person_or_a_program_wrote_is_read() {
        let expected = parse("1 1640\n2 3000\n4 5000000\n4 2e9\n").unwrap();
        for text in [
            "threads\tops/s\n1\t1.64 k\n2\t3k\n4\t5 M\n4\t2 G\n",
            "threads, requests per second\r\n1,1640\r\n2,3.0k\r\n4,5M\r\n4,2G\r\n",
            "# measured today\n\nN X # a heading\n1 , 1.64k # one\n2 ,3000\n 4\t, 5 M\n4 2000M",
        ] {
            let found = parse(text).unwrap();
            let is_near = |(one, other): (&Point, &Point)| {
                one.threads == other.threads
                    && (one.throughput / other.throughput - 1.0).abs() < 1e-12
            };
            assert!(found.len() == 4 && found.iter().zip(&expected).all(is_near), "{found:?}");
        }
        assert!(parse("N X\nthreads throughput\n1 1").unwrap_err().starts_with("line 2: "));
        assert!(parse("threads 5\n1 1").unwrap_err().starts_with("line 1: "), "not a heading");
    }

    #[test]
    fn too_few_figures_are_refused() {
        assert_eq!(parse("# nothing\n").unwrap_err(), "it has no figures");
        let error = parse("1 5\n1 6\n2 7\n").unwrap_err();
        assert_eq!(error, "it has figures for 2 numbers of threads, and the law needs 3 or more");
        let error = parse("4 5\n4 6\n").unwrap_err();
        assert_eq!(error, "it has figures for 1 number of threads, and the law needs 3 or more");
    }

    #[test]
    fn any_text_is_refused_or_fitted_with_finite_figures() {
        let mut rng = Rng::new(9);
        let words = [
            "1", "2", "3", "17", "1000000", "1e-99", "1e99", "0.5", "#", "\n", "\n", " ", "\t",
            "é", "x", "-", "nan", ",", "k", "M", "E",
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
