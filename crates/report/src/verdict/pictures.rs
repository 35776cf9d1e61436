//! The values of a verdict's runs, as pictures need them.

use super::page::Shown;
use crate::html::figure;
use crate::svg::{self, Arm, Marked, Scale};
use maud::Markup;
use uncontended_decide::question::{Compare, Permute, Side, Slo};
use uncontended_decide::record::{Outcome, Run};
use uncontended_decide::recording::Recording;
use uncontended_figures::text::several;
use uncontended_figures::{Dimension, at_most_percent, given, given_percent, measured, percentile};
use uncontended_stats::{MaxError, Method, Rate, quantile};

/// A run of a command is slow, for the shading, beyond this many times the command's median.
const SLOW: f64 = 1.5;
/// A stretch of slow runs is shaded if independent runs would show one as long in fewer trials than this.
const RARE: f64 = 0.05;

const DISTRIBUTION: &str = "The share of the runs that had at most each value: the further left a curve, the smaller the values.";

/// The values of a comparison: every command's.
pub(super) fn of_compare(compare: &Compare, shown: &Shown<'_>) -> Vec<Markup> {
    let mut order: Vec<usize> = (0..compare.commands.len()).collect();
    order.sort_by_key(|arm| *arm != compare.baseline);
    let names: Vec<&str> = order.iter().map(|arm| compare.commands[*arm].as_str()).collect();
    let names = super::values::labels(&names);
    let mut arms: Vec<Arm> = order
        .into_iter()
        .zip(names)
        .map(|(arm, name)| Arm { name, runs: runs_of(shown, arm), quantile: None })
        .collect();
    let rate = compare.quantile.unwrap_or(0.5);
    let share = compare.max_error / compare.commands.len().max(1) as f64;
    for arm in &mut arms {
        arm.quantile = interval(arm, rate, share, compare.higher_is_better);
    }
    let marked = Marked { quantile: Some((percentile_name(rate), rate)), threshold: None };
    let is_known = arms
        .iter()
        .any(|arm| arm.quantile.is_some_and(|(low, high)| low.is_finite() || high.is_finite()));
    let remark = match is_known {
        true => format!(
            "{DISTRIBUTION} Thick: where the {} of each command lies; the chance that one of them is elsewhere is at \
             most {}, in addition to the verdict's.",
            percentile_name(rate),
            at_most_percent(compare.max_error)
        ),
        false => DISTRIBUTION.to_owned(),
    };
    let slow = slow_runs(&arms, compare.higher_is_better);
    let what = match compare.higher_is_better {
        true => format!("failed, or fell {SLOW} times below the median of their command"),
        false => format!("failed, or exceeded {SLOW} times the median of their command"),
    };
    let scale = scale(&compare.metric, &compare.unit);
    let distribution = svg::distribution(&arms, &marked, &scale, compare.higher_is_better);
    let order = order_of(&arms, &slow, &what, &Marked::default(), &scale);
    vec![figure("Distribution", &remark, &distribution), order]
}

/// The values of a question about a rate; nothing if only counts are known.
pub(super) fn of_slo(slo: &Slo, shown: &Shown<'_>) -> Vec<Markup> {
    let Some(bound) = slo.bound.filter(|_| !shown.runs.is_empty()) else { return Vec::new() };
    let low_is_bad = bound.side == Side::AtLeast;
    let value = |run: &Run| run.value.filter(|_| run.outcome == Outcome::Ok);
    let runs: Vec<(u64, Option<f64>)> = (1..).zip(shown.runs.iter().map(value)).collect();
    let bad = |value: &Option<f64>| !value.is_some_and(|value| bound.holds(value));
    let slow: Vec<bool> = runs.iter().map(|(_, value)| bad(value)).collect();
    let place = shown.findings.first().and_then(|finding| finding.rate()?.quantile);
    let ends = place
        .map(|place| (place.low.unwrap_or(f64::NEG_INFINITY), place.high.unwrap_or(f64::INFINITY)));
    let name = slo.command.clone().unwrap_or_else(|| "values".to_owned());
    let arms = [Arm { name: super::values::labels(&[&name]).remove(0), runs, quantile: ends }];
    let quantile = match slo.quantile {
        Some(rate) => (percentile(rate), rate),
        None if low_is_bad => (format!("all but {}", given_percent(slo.rate)), 1.0 - slo.rate),
        None => (given_percent(slo.rate), slo.rate),
    };
    let side = if low_is_bad { "at least" } else { "at most" };
    let threshold = format!("{side} {}", given(bound.threshold, slo.dimension()));
    let marked = Marked { quantile: Some(quantile), threshold: Some((threshold, bound.threshold)) };
    let scale = scale(&slo.metric, &slo.unit);
    let distribution = svg::distribution(&arms, &marked, &scale, low_is_bad);
    let order = order_of(&arms, &slow, "lacked the property", &marked, &scale);
    vec![figure("Distribution", DISTRIBUTION, &distribution), order]
}

/// The values of a recording: of the command, and of the control.
pub(super) fn of_recording(recording: &Recording, shown: &Shown<'_>) -> Vec<Markup> {
    let names = super::values::labels(&recording.commands()).into_iter().enumerate();
    let arms: Vec<Arm> =
        names.map(|(arm, name)| Arm { name, runs: runs_of(shown, arm), quantile: None }).collect();
    let scale = scale(&recording.metric, &recording.unit);
    let distribution = svg::distribution(&arms, &Marked::default(), &scale, false);
    let what = format!("failed, or exceeded {SLOW} times the median of their command");
    let order = order_of(&arms, &slow_runs(&arms, false), &what, &Marked::default(), &scale);
    vec![figure("Distribution", DISTRIBUTION, &distribution), order]
}

/// The runs of a command, by their number among all, and their values unless they failed.
fn runs_of(shown: &Shown<'_>, arm: usize) -> Vec<(u64, Option<f64>)> {
    let own = (1..).zip(shown.runs).filter(|(_, run)| run.arm == arm);
    own.map(|(nth, run)| (nth, run.value.filter(|_| run.outcome == Outcome::Ok))).collect()
}

/// The values of the groups, A as B is expected to be.
pub(super) fn of_permute(permute: &Permute) -> Markup {
    let arm = |name: &str, values: &[f64]| Arm {
        name: name.to_owned(),
        runs: (1..).zip(values.iter().map(|value| Some(*value))).collect(),
        quantile: None,
    };
    let expected: Vec<f64> = permute.a.iter().map(|value| permute.expected_of(*value)).collect();
    let mut arms = vec![arm(&permute.expectation(), &expected), arm("B", &permute.b)];
    let more = ('C'..='Z').zip(&permute.more);
    arms.extend(more.map(|(name, values)| arm(&name.to_string(), values)));
    let scale = Scale { is_alone: true, ..scale("value", &permute.unit) };
    figure(
        "Distribution",
        DISTRIBUTION,
        &svg::distribution(&arms, &Marked::default(), &scale, false),
    )
}

/// The runs in order, with the stretches of slow ones shaded.
fn order_of(arms: &[Arm], slow: &[bool], what: &str, marked: &Marked, scale: &Scale) -> Markup {
    let least = longer_than_chance(slow);
    let bursts = least.map_or(Vec::new(), |least| stretches(slow, least));
    let remark = match (least, bursts.len()) {
        (Some(least), 1..) => format!(
            "Every run in the order in which it was made. Shaded: {} in a row or more that {what}. Independent runs \
             would show a row as long in about {} of such trials at most.",
            several(least as u64, "run", "runs"),
            given_percent(RARE)
        ),
        _ => format!(
            "Every run in the order in which it was made. The runs that {what} came no more clustered than by chance."
        ),
    };
    let thinned = arms.iter().any(|arm| arm.runs.len() > svg::MOST_POINTS);
    let remark = match thinned {
        true => format!(
            "{remark} Of neighbouring runs, the least, the middle and the greatest value are drawn."
        ),
        false => remark,
    };
    figure("In order", &remark, &svg::in_order(arms, &bursts, marked, scale))
}

/// Which runs, by their order, were lost or far slower than their command's others.
fn slow_runs(arms: &[Arm], higher_is_better: bool) -> Vec<bool> {
    let mut runs: Vec<(u64, bool)> = Vec::new();
    for arm in arms {
        let mut sorted: Vec<f64> = arm.runs.iter().filter_map(|(_, value)| *value).collect();
        sorted.sort_by(f64::total_cmp);
        let median = quantile::of_sorted(&sorted, Rate::HALF).unwrap_or(0.0);
        let is_slow = |value: f64| match higher_is_better {
            true => value * SLOW < median,
            false => value > median * SLOW,
        };
        runs.extend(arm.runs.iter().map(|(nth, value)| (*nth, value.is_none_or(is_slow))));
    }
    runs.sort_by_key(|(nth, _)| *nth);
    runs.into_iter().map(|(_, is_slow)| is_slow).collect()
}

/// The least length of a stretch that is rare by chance: of n independent runs, of which a share p are slow, at most
/// `n (1 - p) p^length + p^length` stretches of this length are expected, which bounds the chance of one (Markov). The
/// share is that of the runs seen. None if there is no such length, or no slow run.
fn longer_than_chance(slow: &[bool]) -> Option<usize> {
    let n = slow.len() as f64;
    let share = slow.iter().filter(|is_slow| **is_slow).count() as f64 / n;
    let expected = |length: usize| (n * (1.0 - share) + 1.0) * share.powi(length as i32);
    let possible = 2..=slow.len();
    possible.into_iter().find(|length| share > 0.0 && expected(*length) <= RARE)
}

/// The first and the last of at least `least` slow runs in a row, counted from 1.
fn stretches(slow: &[bool], least: usize) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut at = 0;
    for stretch in slow.chunk_by(|one, next| one == next) {
        if stretch[0] && stretch.len() >= least {
            found.push((at as u64 + 1, (at + stretch.len()) as u64));
        }
        at += stretch.len();
    }
    found
}

/// The confidence sequence of a command's quantile.
fn interval(arm: &Arm, rate: f64, max_error: f64, lost_is_low: bool) -> Option<(f64, f64)> {
    let lost = if lost_is_low { f64::NEG_INFINITY } else { f64::INFINITY };
    let mut sorted: Vec<f64> = arm.runs.iter().map(|(_, value)| value.unwrap_or(lost)).collect();
    sorted.sort_by(f64::total_cmp);
    let (rate, max_error) = (Rate::new(rate).ok()?, MaxError::new(max_error).ok()?);
    let (low, high) = quantile::ranks(sorted.len() as u64, rate, Method::OneSided, max_error);
    let at = |rank: Option<u64>| sorted.get(usize::try_from(rank?).ok()?).copied();
    Some((at(low).unwrap_or(f64::NEG_INFINITY), at(high).unwrap_or(f64::INFINITY)))
}

fn percentile_name(rate: f64) -> String {
    if rate == 0.5 { "median".to_owned() } else { percentile(rate) }
}

fn scale(metric: &str, unit: &str) -> Scale {
    let format: fn(f64) -> String = match Dimension::of_unit(unit) {
        Some(Dimension::Time) => |value| measured(value, Dimension::Time),
        Some(Dimension::Bytes) => |value| measured(value, Dimension::Bytes),
        _ => |value| measured(value, Dimension::Number),
    };
    let label = uncontended_decide::question::spoken(metric);
    Scale { label: label.strip_prefix("the ").unwrap_or(label).to_owned(), format, is_alone: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(marks: &str) -> Vec<bool> {
        marks.chars().map(|mark| mark == 'x').collect()
    }

    #[test]
    fn only_stretches_that_are_rare_by_chance_are_shaded() {
        // 5 of 100: (95 + 1) * 0.05^2 = 0.24, and * 0.05^3 = 0.012.
        let scattered = slow(&("x".to_owned() + &".".repeat(19)).repeat(5));
        assert_eq!(longer_than_chance(&scattered), Some(3));
        assert_eq!(stretches(&scattered, 3), []);
        let clustered = slow(&(".".repeat(40) + "xxxxx" + &".".repeat(55)));
        assert_eq!(longer_than_chance(&clustered), Some(3));
        assert_eq!(stretches(&clustered, 3), [(41, 45)]);
        assert_eq!(longer_than_chance(&slow("xxxx")), None, "all are slow");
        assert_eq!(longer_than_chance(&slow("....")), None);
        assert_eq!(longer_than_chance(&[]), None);
        assert_eq!(stretches(&slow("xx.xxx"), 2), [(1, 2), (4, 6)]);
    }

    #[test]
    fn slow_runs_are_those_far_beyond_their_own_median() {
        let arm = |first: u64, values: &[f64]| Arm {
            name: String::new(),
            runs: (0..).zip(values).map(|(at, value)| (first + 2 * at, Some(*value))).collect(),
            quantile: None,
        };
        let mut arms = [arm(1, &[1.0, 1.1, 1.7]), arm(2, &[10.0, 20.0, 10.0])];
        assert_eq!(slow_runs(&arms, false), slow("...xx."));
        arms[0].runs[0].1 = None;
        assert!(slow_runs(&arms, false)[0], "a lost run is slow");
        assert_eq!(slow_runs(&[arm(1, &[9.0, 10.0, 5.0])], true), slow("..x"));
    }

    #[test]
    fn the_interval_of_a_quantile_counts_lost_runs() {
        let runs = |lost: u64| -> Arm {
            let value = |at: u64| (at, (at > lost).then_some(at as f64));
            Arm { name: String::new(), runs: (1..=100).map(value).collect(), quantile: None }
        };
        let (low, high) = interval(&runs(0), 0.5, 0.01, false).unwrap();
        assert!(low < 50.0 && high > 51.0 && low > 20.0 && high < 80.0, "{low} {high}");
        let (later, end) = interval(&runs(40), 0.5, 0.01, false).unwrap();
        assert!(later > low && end == f64::INFINITY, "{later} {end}");
    }
}
