//! The presentation of a comparison.

use super::page::{self, Shown};
use super::{Cause, Form, Why};
use crate::html::Page;
use uncontended_decide::question::{Claim, Compare};
use uncontended_decide::spread::Spread;
use uncontended_decide::verdict::{Answer, Effect, Finding, OfPairs, Relation};
use uncontended_figures::table::{Column, Table};
use uncontended_figures::text::{fit, several};
use uncontended_figures::{Dimension, given_number, given_percent, measured, ratio, whole};

/// Width of a command's name in a table, in columns.
const NAME_COLUMNS: usize = 30;

impl Form for Compare {
    fn said(&self, finding: &Finding) -> String {
        let Some(pairs) = finding.pairs() else { return String::new() };
        let said = said_of_pair(self, finding.verdict, pairs);
        let (effect, pairs) = (shown(&pairs.effect), several(finding.n, "pair", "pairs"));
        format!("{said}; {} {effect}, {pairs}", self.effect_name())
    }

    fn why_undecided(&self, finding: &Finding) -> Why {
        let tails = finding.pairs().and_then(|pairs| pairs.tails);
        let more = "runs";
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
            Why { cause, more, or: ", or give another --margin" }
        }
    }

    fn values(&self, findings: &[Finding]) -> Option<Table> {
        let dimension = Dimension::of_unit(&self.unit).unwrap_or(Dimension::Number);
        let figures = ["median", "mean", "least", "greatest", "runs"].map(Column::figure);
        let columns = std::iter::once(Column::word("command")).chain(figures);
        let mut table = Table::new(columns.collect());
        let pairs = || findings.iter().filter_map(|finding| finding.pairs());
        let baseline = pairs().find_map(|pairs| pairs.values)?.baseline;
        let mut rows = vec![(self.commands.get(self.baseline)?.as_str(), baseline)];
        for pairs in pairs() {
            rows.push((&pairs.candidate, pairs.values?.candidate));
        }
        let (commands, spreads): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        for (name, spread) in labels(&commands).into_iter().zip(spreads) {
            let shown = |value| measured(value, dimension);
            let Spread { median, mean, min, max, runs } = spread;
            table.row([name, shown(median), shown(mean), shown(min), shown(max), whole(runs)]);
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

/// Names of commands that fit and differ: without what all begin with if a name is too long, and numbered if that does
/// not help.
fn labels(commands: &[&str]) -> Vec<String> {
    let fitted = |names: Vec<String>| -> Vec<String> {
        names.iter().map(|name| fit(name, NAME_COLUMNS)).collect()
    };
    let differ =
        |names: &[String]| names.iter().enumerate().all(|(at, name)| !names[..at].contains(name));
    let whole = fitted(commands.iter().map(|&command| command.to_owned()).collect());
    if differ(&whole) {
        return whole;
    }
    let shared = shared_words(commands);
    let rest = |command: &str| match shared {
        0 => command.to_owned(),
        _ => format!("…{}", &command[shared..]),
    };
    let cut = fitted(commands.iter().map(|command| rest(command)).collect());
    if differ(&cut) {
        return cut;
    }
    let numbered = commands.iter().enumerate();
    fitted(numbered.map(|(at, command)| format!("{}: {}", at + 1, rest(command))).collect())
}

/// How many bytes of words all commands begin with; 0 if nothing would be left of one.
fn shared_words(commands: &[&str]) -> usize {
    let Some((first, others)) = commands.split_first() else { return 0 };
    let ends = first.char_indices().filter(|(_, c)| *c == ' ' || *c == '/').map(|(at, _)| at);
    let all_begin = |end: &usize| {
        others.iter().all(|other| other.len() > *end && other.starts_with(&first[..=*end]))
    };
    ends.take_while(all_begin).last().unwrap_or(0)
}

/// The ratio with its interval.
fn shown(effect: &Effect) -> String {
    ratio(effect.ratio, effect.low, effect.high.unwrap_or(f64::INFINITY))
}

/// What was found about the claim, the median and the tails.
fn said_of_pair(compare: &Compare, verdict: Answer, pairs: &OfPairs) -> String {
    // Unless the answer says it already.
    let relation = |answer: Answer| match (pairs.relation, compare.claim, answer) {
        (Relation::Unknown, ..)
        | (Relation::Better, Claim::Better, Answer::Yes)
        | (Relation::Worse, Claim::NoWorse, Answer::No)
        | (Relation::Equivalent, Claim::Equivalent, Answer::Yes)
        | (Relation::Equivalent, Claim::Different, Answer::No) => String::new(),
        (relation, ..) => format!(" ({})", relation.name()),
    };
    let plain = || format!("{}{}", compare.said(verdict), relation(verdict));
    let Some(tails) = &pairs.tails else { return plain() };
    let clause = tails.clause(compare.claim, verdict);
    // A clause that continues with a comma modifies an answer that the median alone does not give.
    let median = match (tails.median, pairs.relation) {
        _ if !clause.starts_with(',') => plain(),
        (Answer::Undecided, _) => "the median is open".to_string(),
        (_, Relation::Equivalent) => {
            format!("the median is equal, within {}", given_percent(compare.margin))
        }
        (median, _) => format!("{} in the median{}", compare.said(median), relation(median)),
    };
    median + &clause
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_in_a_table_always_differ() {
        let long = "/opt/program/target/release/benchmark";
        let ask = |commands: [&str; 2]| labels(&commands);
        assert_eq!(ask(["./old", "./new"]), ["./old", "./new"]);
        let (one, two) = (format!("{long} --one 1"), format!("{long} --two 1"));
        assert_eq!(ask([&one, &two]), ["… --one 1", "… --two 1"]);
        let (old, new) = (format!("{long}/old -x"), format!("{long}/new -x"));
        assert_eq!(ask([&old, &new]), ["…/old -x", "…/new -x"]);
        assert_eq!(ask([long, &one]), ["…/benchmark", "…/benchmark --one 1"]);
        assert_eq!(ask(["same", "same"]), ["1: same", "2: same"]);
        let (x, y) = ("x".repeat(40), "x".repeat(41));
        let numbered = ask([&x, &y]);
        assert!(
            numbered[0].starts_with("1: xxx") && numbered[1].starts_with("2: xxx"),
            "{numbered:?}"
        );
    }
}
