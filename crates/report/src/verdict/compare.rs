//! The presentation of a comparison.

use super::page::{self, Shown};
use super::{Form, Why};
use crate::html::Page;
use uncontended_decide::question::Compare;
use uncontended_decide::spread::Spread;
use uncontended_decide::verdict::{Answer, Effect, Finding, OfPairs, Relation};
use uncontended_figures::table::{Column, Table};
use uncontended_figures::text::fit;
use uncontended_figures::{Dimension, given_number, given_percent, measured, ratio, whole};

/// Width of a command's name in a table, in columns.
const NAME_COLUMNS: usize = 30;

impl Form for Compare {
    fn said(&self, finding: &Finding) -> String {
        let Some(pairs) = finding.pairs() else { return String::new() };
        let said = said_of_pair(self, finding.verdict, pairs);
        let (effect, pairs) = (shown(&pairs.effect), whole(finding.n));
        format!("{said}; {} {effect}, {pairs} pairs", self.effect_name())
    }

    fn why_undecided(&self, finding: &Finding) -> Why {
        let tails = finding.pairs().and_then(|pairs| pairs.tails);
        let more = "runs";
        if tails.is_some_and(|tails| tails.median != Answer::Undecided) {
            let cause = "the median alone is settled, but a heavier tail is not ruled out";
            Why { cause, more, or: ", or ask about the median alone with --no-tail-guard" }
        } else {
            let cause =
                "the evidence suffices for neither answer (at the margin itself it never would)";
            Why { cause, more, or: ", or give another --margin" }
        }
    }

    fn values(&self, findings: &[Finding]) -> Option<Table> {
        let dimension = Dimension::of_unit(&self.unit).unwrap_or(Dimension::Number);
        let figures = ["median", "mean", "least", "greatest", "runs"].map(Column::figure);
        let columns = std::iter::once(Column::word("command")).chain(figures);
        let mut table = Table::new(columns.collect());
        let mut row = |command: &str, spread: &Spread| {
            let shown = |value| measured(value, dimension);
            let Spread { median, mean, min, max, runs } = *spread;
            let name = fit(command, NAME_COLUMNS);
            table.row([name, shown(median), shown(mean), shown(min), shown(max), whole(runs)]);
        };
        let pairs = || findings.iter().filter_map(|finding| finding.pairs());
        let baseline = pairs().find_map(|pairs| pairs.values)?.baseline;
        row(self.commands.get(self.baseline)?, &baseline);
        for pairs in pairs() {
            row(&pairs.candidate, &pairs.values?.candidate);
        }
        Some(table)
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::word("candidate"),
            Column::word("verdict"),
            Column::word("relation"),
            Column::titled(self.effect_name()),
            Column::figure("pairs"),
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

/// The ratio with its interval.
fn shown(effect: &Effect) -> String {
    ratio(effect.ratio, effect.low, effect.high.unwrap_or(f64::INFINITY))
}

/// What was found about the claim, the median and the tails.
fn said_of_pair(compare: &Compare, verdict: Answer, pairs: &OfPairs) -> String {
    let relation = match pairs.relation {
        Relation::Unknown => String::new(),
        relation => format!(" ({})", relation.name()),
    };
    let plain = || format!("{}{relation}", compare.said(verdict));
    let Some(tails) = &pairs.tails else { return plain() };
    let clause = tails.clause(compare.claim, verdict);
    // A clause that continues with a comma modifies an answer that the median alone does not give.
    let median = match (tails.median, pairs.relation) {
        _ if !clause.starts_with(',') => plain(),
        (Answer::Undecided, _) => "the median is open".to_string(),
        (_, Relation::Equivalent) => {
            format!("the median is equal, within {}", given_percent(compare.margin))
        }
        (median, _) => format!("{} in the median{relation}", compare.said(median)),
    };
    median + &clause
}
