//! What makes a table weaker than it looks, and the remedy.

use uncontended_figures::text::several;
use uncontended_figures::{self as figures, number, percent};
use uncontended_stats::{MaxError, Paired};

use crate::report::{Measurement, Role, Row};

/// Warnings about one table, whose intervals each hold with `max_error`.
pub(crate) fn of(table: &Measurement, max_error: MaxError) -> Vec<String> {
    let mut warnings = Vec::new();
    for row in &table.rows {
        if let Some(failed) = &row.failed {
            let hung = if failed.starts_with("hung") {
                "; its threads may still run and disturb later measurements: leave it out with --only to be sure"
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
            "{} too few for an interval, which needs {fewest}: give more --seconds",
            several(table.rounds, "round is", "rounds are")
        ));
    }
    if table.stolen > 0.01 {
        warnings.push(format!(
            "the hypervisor took {} of the machine's time: the columns in ns are too large and uneven, the ratios less so; \
             measure on a dedicated host, or later",
            percent(table.stolen)
        ));
    }
    if table.others > 0.1 {
        warnings.push(format!(
            "other processes kept {} CPUs busy: stop them and measure again",
            number(table.others)
        ));
    }
    warnings
}

/// The baseline compared with itself must show no difference.
fn control(table: &Measurement, warnings: &mut Vec<String>) {
    let is_control = |row: &&Row| row.role == Role::Control;
    let Some(ratio) = table.rows.iter().find(is_control).and_then(|row| row.ratio) else { return };
    if ratio.low > 1.0 || ratio.high < 1.0 {
        warnings.push(format!(
            "the baseline differs from itself ({}): differences of that size mean nothing here; measure on a \
             quieter machine, or with longer blocks",
            figures::ratio(Some(ratio.median), ratio.low, ratio.high)
        ));
    } else if ratio.low > 0.0 && ratio.high > 1.25 * ratio.low {
        warnings.push(format!(
            "the baseline compared with itself is only known to lie within {}, and the other ratios are no better known; \
             give more --seconds",
            figures::ratio(None, ratio.low, ratio.high)
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Estimate, Stopped};

    #[test]
    fn a_baseline_that_differs_from_itself_or_is_hardly_known_is_reported() {
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
