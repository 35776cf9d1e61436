//! What makes a table weaker than it looks, and what to do about it.

use uncontended_figures::{self as figures, number, percent};
use uncontended_stats::{MaxError, Paired};

use crate::report::{Measurement, Role, Row};

/// Warnings about one table, whose intervals hold with `max_error` each.
pub(crate) fn of(table: &Measurement, max_error: MaxError) -> Vec<String> {
    let mut warnings = Vec::new();
    for row in &table.rows {
        if let Some(failed) = &row.failed {
            let hung = if failed.starts_with("hung") {
                "; its threads may still run, and what was measured after it may suffer: leave it out (--only) to be sure"
            } else {
                ""
            };
            warnings.push(format!("{}: {failed}{hung}", row.name));
        }
    }
    control(table, &mut warnings);
    let fewest = Paired::fewest_pairs(max_error);
    if table.rounds < fewest && table.rows.iter().any(|row| row.ratio.is_some()) {
        warnings.push(format!(
            "{} rounds are too few for an interval, which needs {fewest}: give more --seconds",
            table.rounds
        ));
    }
    if table.stolen > 0.01 {
        warnings.push(format!(
            "the hypervisor took {} of the machine's time: the columns in ns are too large and uneven; ratios suffer less; \
             measure on a host of one's own, or later",
            percent(table.stolen)
        ));
    }
    if table.others > 0.1 {
        warnings.push(format!(
            "other processes kept {} CPUs busy: end them and measure again",
            number(table.others)
        ));
    }
    warnings
}

/// The baseline against itself must show nothing.
fn control(table: &Measurement, warnings: &mut Vec<String>) {
    let is_control = |row: &&Row| row.role == Role::Control;
    let Some(ratio) = table.rows.iter().find(is_control).and_then(|row| row.ratio) else { return };
    if ratio.low > 1.0 || ratio.high < 1.0 {
        warnings.push(format!(
            "the baseline differs from itself ({}): no difference of that size means anything here; measure on a \
             quieter machine, or with longer blocks",
            figures::ratio(Some(ratio.median), ratio.low, ratio.high)
        ));
    } else if ratio.low > 0.0 && ratio.high > 1.25 * ratio.low {
        warnings.push(format!(
            "the baseline against itself is only known to lie within {}: so is everything else; give more --seconds",
            figures::ratio(None, ratio.low, ratio.high)
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Estimate, Stopped};

    #[test]
    fn a_baseline_that_differs_from_itself_or_is_hardly_known_is_told() {
        let control = |low: f64, high: f64| {
            let ratio = Some(Estimate { median: f64::midpoint(low, high), low, high });
            let row = Row { ratio, ..Row::new("one again", Role::Control) };
            let table = Measurement {
                cpus: vec![0],
                rounds: 100,
                stopped: Stopped::Time,
                seconds: 1.0,
                stolen: 0.0,
                others: 0.0,
                rows: vec![row],
                warnings: vec![],
            };
            of(&table, MaxError::new(0.01).unwrap()).join(" ")
        };
        assert!(control(1.05, 1.15).contains("differs from itself (1.10 [1.05, 1.15])"));
        assert!(control(0.7, 0.98).contains("differs from itself"));
        assert!(control(0.8, 1.3).contains("only known to lie within [0.800, 1.300]"));
        assert_eq!(control(0.98, 1.03), "");
    }
}
