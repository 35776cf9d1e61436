//! The presentation of a comparison.

use super::banner::{self, Plain};
use super::page::{self, Shown};
use super::{Cause, Form, OPPOSITE, Why, first_of, pictures, values};
use maud::Markup;
use uncontended_decide::question::{Claim, Compare, spoken};
use uncontended_decide::spread::Spread;
use uncontended_decide::verdict::{Answer, Effect, Finding, OfPairs, OfSessions, Relation};
use uncontended_figures::table::{Column, Table};
use uncontended_figures::text::several;
use uncontended_figures::{Dimension, given_number, given_percent, percentile, ratio, whole};

impl Form for Compare {
    fn said(&self, finding: &Finding) -> String {
        let Some(pairs) = finding.pairs() else { return String::new() };
        let said = said_of_pair(self, finding.verdict, pairs);
        let (effect, name) = (shown(&pairs.effect), self.effect_name());
        let Some(sessions) = &pairs.sessions else {
            if finding.n == 0 && finding.rest().is_none() {
                return format!("{said}; no pair of runs was complete");
            }
            let pairs = several(finding.n, "pair", "pairs");
            return format!("{said}; {name} {effect}, {pairs}{}", first_of(finding));
        };
        let runs = several(finding.n, "run", "runs");
        let counts = format!("{runs} against {}", whole(sessions.baseline_runs));
        match (&sessions.control, self.sessions.as_ref().and_then(|own| own.control.as_ref())) {
            (Some(control), Some(line)) => format!(
                "{said}; {name} {effect} by the control '{line}' next to each run (without it {}; its own {}), {counts}, half of the error for each ratio",
                shown(&sessions.measured),
                shown(control)
            ),
            _ => format!("{said}; {name} {effect}, {counts}"),
        }
    }

    fn why_undecided(&self, finding: &Finding) -> Why {
        if finding.rest().is_some() {
            return OPPOSITE;
        }
        let tails = finding.pairs().and_then(|pairs| pairs.tails);
        let more = "runs";
        let sessions = finding.pairs().and_then(|pairs| pairs.sessions.as_deref());
        if sessions.is_some_and(|own| !own.is_explained() && own.told != Answer::Undecided) {
            if sessions.is_some_and(|own| own.dependent && (own.trusted || own.control.is_some())) {
                let whole = "the runs of a session depend on the previous ones, so the stated error does not hold: record a control, which takes out what slows both, and repeat while the machine is quieter";
                return Why { cause: Cause::Whole(whole), more, or: "" };
            }
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
        let rows = spreads(self, findings)?;
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

    fn remarks(&self, findings: &[Finding]) -> Vec<String> {
        let rows = spreads(self, findings).unwrap_or_default();
        let names: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
        let dimension = Dimension::of_unit(&self.unit).unwrap_or(Dimension::Number);
        let named = values::labels(&names).into_iter().zip(&rows);
        named
            .filter_map(|(name, (_, spread))| values::two_modes(&name, spread, dimension))
            .collect()
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
        let is_contradicted = finding.verdict == Answer::Undecided && pairs.rest.is_some();
        if is_contradicted || pairs.sessions.as_ref().is_some_and(|own| !own.is_explained()) {
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

    fn effect(&self) -> String {
        self.effect_name()
    }

    fn guarded(&self) -> &'static str {
        match &self.guard {
            Some(_) => {
                " The guard on tails is not in the picture: it may answer no, or ask for more pairs before a yes."
            }
            None => "",
        }
    }

    fn plainly(&self, finding: &Finding) -> Plain {
        let Some(pairs) = finding.pairs() else {
            return Plain { answer: String::new(), seen: String::new() };
        };
        Plain {
            answer: banner::capital(&plain_answer(self, finding.verdict, pairs)),
            seen: seen(self, finding.n, &pairs.effect),
        }
    }

    fn pictures(&self, shown: &Shown<'_>) -> Vec<Markup> {
        pictures::of_compare(self, shown)
    }

    fn commands(&self, shown: &Shown<'_>) -> Markup {
        page::candidates(shown.findings, self)
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let what = |arm: usize| if arm == self.baseline { "baseline" } else { "candidate" };
        let line = |arm: usize| match self.lines.get(arm) {
            Some(line) => format!("{}: {line}", self.commands[arm]),
            None => self.commands[arm].clone(),
        };
        (0..self.commands.len()).map(|arm| (what(arm), line(arm))).collect()
    }
}

/// The values of the baseline and of each candidate, with their names.
fn spreads<'a>(compare: &'a Compare, findings: &'a [Finding]) -> Option<Vec<(&'a str, Spread)>> {
    let pairs = || findings.iter().filter_map(|finding| finding.pairs());
    let baseline = pairs().find_map(|pairs| pairs.values)?.baseline;
    let baseline = (compare.commands.get(compare.baseline)?.as_str(), baseline);
    let candidates = pairs().map(|pairs| Some((pairs.candidate.as_str(), pairs.values?.candidate)));
    std::iter::once(Some(baseline)).chain(candidates).collect()
}

/// What was found, in the words of a user of the program.
fn plain_answer(compare: &Compare, verdict: Answer, pairs: &OfPairs) -> String {
    let (names, baseline) = names(compare, pairs);
    if pairs.tails.is_some_and(|tails| tails.clause(compare.claim, verdict).starts_with(',')) {
        return format!("of '{names}': {}", said_of_pair(compare, verdict, pairs));
    }
    let is_time = Dimension::of_unit(&compare.unit) == Some(Dimension::Time);
    let (worse, better) = match is_time && !compare.higher_is_better {
        true => ("slower", "faster"),
        false => ("worse", "better"),
    };
    let by = match compare.margin {
        0.0 => String::new(),
        margin => format!(" by more than {}", given_percent(margin)),
    };
    let said = match compare.claim {
        Claim::NoWorse => [format!("not {worse}"), worse.to_owned()],
        Claim::Better => [better.to_owned(), format!("not {better}")],
        Claim::Equivalent => ["not different".to_owned(), "different".to_owned()],
        Claim::Different => ["different".to_owned(), "not different".to_owned()],
    };
    let of =
        if matches!(compare.claim, Claim::Equivalent | Claim::Different) { "from" } else { "than" };
    let [yes, no] = said.map(|word| format!("'{names}' is {word} {of} '{baseline}'{by}"));
    match verdict {
        Answer::Yes => yes,
        Answer::No => no,
        _ => format!("it is not certain whether {yes}"),
    }
}

/// Short names of the candidate and the baseline.
fn names(compare: &Compare, pairs: &OfPairs) -> (String, String) {
    let baseline = compare.commands.get(compare.baseline).map_or("", String::as_str);
    let mut names = values::labels(&[&pairs.candidate, baseline]);
    let baseline = names.pop().unwrap_or_default();
    (names.pop().unwrap_or_default(), baseline)
}

/// How large the difference is: "In the median, the wall time is 58 % greater (certain: 57 % to 59 % greater)."
fn seen(compare: &Compare, pairs: u64, effect: &Effect) -> String {
    let Some(ratio) = effect.ratio else { return "Nothing is known yet.".to_owned() };
    let within = match (effect.low, effect.high) {
        (low, None) if low <= 0.0 => String::new(),
        (low, None) => format!(" (certain: at least {})", greater(low, f64::floor)),
        (low, Some(high)) if low <= 0.0 => {
            format!(" (certain: at most {})", greater(high, f64::ceil))
        }
        (low, Some(high)) => format!(
            " (certain: between {} and {})",
            greater(low, f64::floor),
            greater(high, f64::ceil)
        ),
    };
    let metric = spoken(&compare.metric);
    let of = match compare.quantile {
        None => "In the median".to_owned(),
        Some(rate) => format!("At {}", percentile(rate)),
    };
    let by = match &compare.sessions {
        None => format!("{} of runs", several(pairs, "pair", "pairs")),
        Some(_) => several(pairs, "run", "runs"),
    };
    format!("{of}, {metric} is {}{within}, by {by}.", greater(ratio, f64::round))
}

/// A ratio as a change: "58 % greater", "3.2 times as great", "12 % less", "equal"; rounded this way.
fn greater(ratio: f64, round: fn(f64) -> f64) -> String {
    match ratio {
        1.0 => "equal".to_owned(),
        2.0.. => format!("{} times as great", round(ratio * 100.0) / 100.0),
        1.0.. => format!("{} greater", change(ratio - 1.0, round)),
        // What is missing grows as the ratio falls.
        _ => format!("{} less", change(1.0 - ratio, |share| -round(-share))),
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
fn change(share: f64, round: impl Fn(f64) -> f64) -> String {
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
        return unexplained(compare, &subject, sessions);
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
fn unexplained(compare: &Compare, subject: &str, sessions: &OfSessions) -> String {
    let told = sessions.told;
    let said = compare.said(subject, told);
    if sessions.dependent && (sessions.trusted || sessions.control.is_some()) {
        return format!("as measured, {said}, but the runs depend on each other");
    }
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
