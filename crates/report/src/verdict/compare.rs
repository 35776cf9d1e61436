//! The presentation of a comparison.

use super::page::{self, Shown};
use super::{Cause, Form, Why, values};
use crate::html::Page;
use uncontended_decide::question::{Claim, Compare};
use uncontended_decide::verdict::{Answer, Effect, Finding, OfPairs, Relation};
use uncontended_figures::table::{Column, Table};
use uncontended_figures::text::several;
use uncontended_figures::{Dimension, given_number, given_percent, ratio, whole};

impl Form for Compare {
    fn said(&self, finding: &Finding) -> String {
        let Some(pairs) = finding.pairs() else { return String::new() };
        let said = said_of_pair(self, finding.verdict, pairs);
        let (effect, name) = (shown(&pairs.effect), self.effect_name());
        let Some(sessions) = &pairs.sessions else {
            return format!("{said}; {name} {effect}, {}", several(finding.n, "pair", "pairs"));
        };
        let runs = several(finding.n, "run", "runs");
        let counts = format!("{runs} against {}", whole(sessions.baseline_runs));
        match (&sessions.control, self.sessions.as_ref().and_then(|own| own.control.as_ref())) {
            (Some(control), Some(line)) => format!(
                "{said}; {name} {effect} = {} / {} of the control '{line}', {counts}, half of the error for each ratio",
                shown(&sessions.measured),
                shown(control)
            ),
            _ => format!("{said}; {name} {effect}, {counts}"),
        }
    }

    fn why_undecided(&self, finding: &Finding) -> Why {
        let tails = finding.pairs().and_then(|pairs| pairs.tails);
        let more = "runs";
        let sessions = finding.pairs().and_then(|pairs| pairs.sessions.as_deref());
        if sessions.is_some_and(|own| !own.is_explained() && own.told != Answer::Undecided) {
            let whole = "the sessions were not interleaved, and no control was run in both: run both in one session (unc compare -- OLD NEW), record a control (unc record --control), or pass --trust-sessions if the machine was equally fast";
            return Why { cause: Cause::Whole(whole), more, or: "" };
        }
        if tails.is_some_and(|tails| tails.median != Answer::Undecided) {
            let cause = "the median alone is settled, but a heavier tail is not ruled out";
            Why {
                cause: Cause::Known(cause),
                more,
                or: ", or ask about the median alone with --no-tail-guard",
            }
        } else {
            let cause = Cause::Uncertain(
                " (if the true ratio is at the margin, no amount of data decides)",
            );
            let or = match sessions {
                Some(_) => ", record more runs of the baseline, or give another --margin",
                None => ", or give another --margin",
            };
            Why { cause, more, or }
        }
    }

    fn values(&self, findings: &[Finding]) -> Option<Table> {
        let pairs = || findings.iter().filter_map(|finding| finding.pairs());
        let baseline = pairs().find_map(|pairs| pairs.values)?.baseline;
        let mut rows = vec![(self.commands.get(self.baseline)?.as_str(), baseline)];
        for pairs in pairs() {
            rows.push((&pairs.candidate, pairs.values?.candidate));
        }
        let arm = |finding: &Finding| {
            let effect = finding.pairs().map_or_else(String::new, |pairs| shown(&pairs.effect));
            [finding.verdict.name().to_owned(), effect]
        };
        let arms = (findings.len() > 1).then(|| {
            let baseline = ["baseline".to_owned(), String::new()];
            let arms = std::iter::once(baseline).chain(findings.iter().map(arm)).collect();
            (self.effect_name(), arms)
        });
        let dimension = Dimension::of_unit(&self.unit).unwrap_or(Dimension::Number);
        Some(values::table(&rows, arms, dimension))
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::word("candidate"),
            Column::word("verdict"),
            Column::word("relation"),
            Column::titled(self.effect_name()),
            Column::figure(counted(self)),
        ]
    }

    fn cells(&self, finding: &Finding) -> Vec<String> {
        let Some(pairs) = finding.pairs() else { return Vec::new() };
        vec![
            format!("`{}`", pairs.candidate),
            finding.verdict.name().to_string(),
            pairs.relation.told().to_string(),
            shown(&pairs.effect),
            whole(finding.n),
        ]
    }

    fn certain(&self, finding: &Finding) -> Option<String> {
        let pairs = finding.pairs()?;
        if pairs.sessions.as_ref().is_some_and(|own| !own.is_explained()) {
            return None;
        }
        let effect = pairs.effect;
        let (low, high) = (effect.low, effect.high.unwrap_or(f64::INFINITY));
        // Either end of the interval is a margin that would have been decided.
        let (worse, better) = match self.higher_is_better {
            true => (low.recip() - 1.0, high - 1.0),
            false => (high - 1.0, low.recip() - 1.0),
        };
        let ends = [("worse", worse), ("better", better)].into_iter();
        let certain: Vec<String> = ends
            .filter(|(_, margin)| margin.is_finite() && *margin > 0.0)
            .map(|(word, margin)| format!("not {word} by more than {}", change(margin, f64::ceil)))
            .collect();
        let of = if self.quantile.is_some() { "" } else { " in the median" };
        (!certain.is_empty()).then(|| format!("it is {}{of}", certain.join(", ")))
    }

    fn rate_remark(&self) -> &'static str {
        if self.quantile.is_some() {
            "Pairs that support the claim; the percentiles of all runs decide, not these."
        } else {
            "The rate of pairs that support the claim; the test has to refute one half."
        }
    }

    fn thresholds(&self) -> Vec<(&'static str, f64)> {
        vec![("one half", 0.5)]
    }

    fn threshold(&self, threshold: f64) -> String {
        let high = given_number(1.0 + self.margin);
        if threshold < 1.0 { format!("1/{high}") } else { high }
    }

    fn band(&self) -> Option<(f64, f64)> {
        Some(Compare::band(self))
    }

    fn pictures(&self, page: Page, shown: &Shown<'_>) -> Page {
        page::of_pairs(page, self, shown)
    }
}

/// What is counted of a candidate.
pub(super) fn counted(compare: &Compare) -> &'static str {
    if compare.sessions.is_some() { "runs" } else { "pairs" }
}

/// The ratio with its interval.
fn shown(effect: &Effect) -> String {
    ratio(effect.ratio, effect.low, effect.high.unwrap_or(f64::INFINITY))
}

/// The candidate's name in a sentence; several of them have theirs before it.
fn subject(compare: &Compare, pairs: &OfPairs) -> String {
    match compare.commands.as_slice() {
        [one, other] if one != other => {
            let names = values::labels(&[one, other]);
            format!("'{}'", names[usize::from(*one != pairs.candidate)])
        }
        _ => "it".to_owned(),
    }
}

/// The direction and size of a difference that is certain although its relation to the margin is not.
fn for_certain(compare: &Compare, effect: &Effect) -> String {
    let (low, high) = (effect.low, effect.high.unwrap_or(f64::INFINITY));
    let larger = low > 1.0;
    if !larger && high >= 1.0 {
        return String::new();
    }
    let is_time = Dimension::of_unit(&compare.unit) == Some(Dimension::Time);
    let word = match (larger == compare.higher_is_better, is_time) {
        (true, true) if !compare.higher_is_better => "faster",
        (false, true) if !compare.higher_is_better => "slower",
        (true, _) => "better",
        (false, _) => "worse",
    };
    let (least, most) = if larger { (low - 1.0, high - 1.0) } else { (1.0 - high, 1.0 - low) };
    let by = match most.is_finite() {
        true => format!("{} to {}", change(least, f64::floor), change(most, f64::ceil)),
        false => format!("at least {}", change(least, f64::floor)),
    };
    format!(" ({word} for certain, by {by})")
}

/// A change as a percentage, of two digits, rounded away from the other end of its interval.
fn change(share: f64, round: fn(f64) -> f64) -> String {
    let percent = share * 100.0;
    match percent < 10.0 {
        true => format!("{} %", round(percent * 10.0) / 10.0),
        false => format!("{} %", round(percent)),
    }
}

/// What was found about the claim, the median and the tails.
fn said_of_pair(compare: &Compare, verdict: Answer, pairs: &OfPairs) -> String {
    // Unless the answer says it already.
    let relation = |answer: Answer| match (pairs.relation, compare.claim, answer) {
        (Relation::Unknown, ..)
            if pairs.sessions.as_ref().is_some_and(|own| !own.is_explained()) =>
        {
            String::new()
        }
        (Relation::Unknown, ..) => for_certain(compare, &pairs.effect),
        (Relation::Better, Claim::Better, Answer::Yes)
        | (Relation::Worse, Claim::NoWorse, Answer::No)
        | (Relation::Equivalent, Claim::Equivalent, Answer::Yes)
        | (Relation::Equivalent, Claim::Different, Answer::No) => String::new(),
        (relation, ..) => format!(" ({})", relation.name()),
    };
    let subject = subject(compare, pairs);
    if let Some(sessions) = pairs.sessions.as_ref().filter(|own| own.told != verdict) {
        return unexplained(compare, &subject, sessions.told);
    }
    let plain = || format!("{}{}", compare.said(&subject, verdict), relation(verdict));
    let Some(tails) = &pairs.tails else { return plain() };
    let clause = tails.clause(compare.claim, verdict);
    // A clause that continues with a comma modifies an answer that the median alone does not give.
    let median = match (tails.median, pairs.relation) {
        _ if !clause.starts_with(',') => plain(),
        (Answer::Undecided, _) => "the median is open".to_string(),
        (_, Relation::Equivalent) => {
            format!("the median is equal, within {}", given_percent(compare.margin))
        }
        (median, _) => {
            format!("{} in the median{}", compare.said(&subject, median), relation(median))
        }
    };
    median + &clause
}

/// What two sessions show if the reason may be either of the two things that changed between them.
fn unexplained(compare: &Compare, subject: &str, told: Answer) -> String {
    let said = compare.said(subject, told);
    // A machine that changed can make a difference, and hide one.
    let hides = matches!(
        (compare.claim, told),
        (Claim::NoWorse | Claim::Equivalent, Answer::Yes) | (Claim::Different, Answer::No)
    );
    let reason = match hides {
        true => "the machine may have changed between the sessions and hide a difference",
        false => "the reason is the candidate, or the machine between the sessions",
    };
    format!("as measured, {said}, but {reason}")
}
