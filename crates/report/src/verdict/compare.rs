//! What is shown of a comparison.

use super::Form;
use super::page::{self, Shown};
use crate::html::Page;
use uncontended_decide::question::{Compare, percent};
use uncontended_decide::value::{self, significant};
use uncontended_decide::verdict::{Answer, Finding, Relation};

impl Form for Compare {
    fn said(&self, finding: &Finding) -> String {
        let Some(effect) = &finding.effect else { return String::new() };
        let within = value::within(effect.low, effect.high.unwrap_or(f64::INFINITY), 5);
        let ratio = effect.ratio.map_or("-".to_string(), |ratio| significant(ratio, 5));
        let said = said_of_pair(self, finding);
        format!("{said}; {} {ratio} {within}, {} pairs", self.effect_name(), finding.n)
    }

    fn why_undecided(&self, finding: &Finding) -> &'static str {
        if finding.tail_is_open() {
            "the median alone is settled: give more runs to rule out a heavier tail, or ask about the median alone with --no-tail-guard"
        } else {
            "the evidence suffices for neither answer; at the margin itself it never would: give more runs or another --margin"
        }
    }

    fn header(&self) -> &'static str {
        "| candidate | verdict | relation | median ratio | within | pairs | error at most |\n|:--|:--|:--|--:|:--|--:|--:|\n"
    }

    fn row(&self, finding: &Finding) -> String {
        let effect = finding.effect;
        let within = effect.map_or(String::new(), |effect| {
            value::within(effect.low, effect.high.unwrap_or(f64::INFINITY), 5)
        });
        format!(
            "`{}` | {} | {} | {} | {within} | {}",
            finding.candidate.as_deref().unwrap_or_default().replace('|', "\\|"),
            finding.verdict.name(),
            finding.relation.map_or("not known", |relation| relation.told()),
            effect
                .and_then(|effect| effect.ratio)
                .map_or("-".to_string(), |ratio| significant(ratio, 5)),
            finding.n
        )
    }

    fn rate_remark(&self) -> &'static str {
        if self.quantile.is_some() {
            "Pairs that speak for the claim; the percentiles of all runs decide, not these."
        } else {
            "The rate of pairs that speak for the claim: one half is what has to be refuted."
        }
    }

    fn thresholds(&self) -> Vec<(&'static str, f64)> {
        vec![("one half", 0.5)]
    }

    fn band(&self) -> Option<(f64, f64)> {
        Some(Compare::band(self))
    }

    fn pictures(&self, page: Page, shown: &Shown<'_>) -> Page {
        page::of_pairs(page, self, shown)
    }
}

/// What the claim, the median and the tails are found to be.
fn said_of_pair(compare: &Compare, finding: &Finding) -> String {
    let relation = match finding.relation {
        None | Some(Relation::Unknown) => String::new(),
        Some(relation) => format!(" ({})", relation.name()),
    };
    let plain = || format!("{}{relation}", compare.said(finding.verdict));
    let Some(tails) = &finding.tails else { return plain() };
    let clause = tails.clause(compare.claim, finding.verdict);
    // A clause that goes on with a comma is about an answer that the median alone does not give.
    let median = match (tails.median, finding.relation) {
        _ if !clause.starts_with(',') => plain(),
        (Answer::Undecided, _) => "the median is open".to_string(),
        (_, Some(Relation::Equivalent)) => {
            format!("the median is equal, within {}", percent(compare.margin))
        }
        (median, _) => format!("{} in the median{relation}", compare.said(median)),
    };
    median + &clause
}
