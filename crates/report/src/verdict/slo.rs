//! The presentation of a rate.

use super::banner::{Plain, capital};
use super::page::Shown;
use super::{Cause, Form, OPPOSITE, Why, first_of, pictures, values};
use crate::html::{Cell, table};
use maud::{Markup, html};
use uncontended_decide::question::{Side, Slo, spoken};
use uncontended_decide::verdict::{Answer, Finding, Percentile};
use uncontended_figures::table::{Column, Table};
use uncontended_figures::{self as figures, Dimension, given, given_percent, share, whole};

impl Form for Slo {
    fn said(&self, finding: &Finding) -> String {
        let rate = given_percent(self.rate);
        let said = match (finding.verdict, self.or_below) {
            (Answer::Yes, None) => format!("the rate is at least {rate}"),
            (Answer::Yes, Some(low)) => format!("the rate is above {}", given_percent(low)),
            (Answer::No, _) => format!("the rate is below {rate}"),
            _ => format!("whether the rate is at least {rate} is not certain"),
        };
        let failed = finding.rate().and_then(|rate| Some(rate.dependence?.failed));
        let said = match (failed, finding.verdict) {
            (Some(all), verdict) if all > 0 && all == finding.n => {
                let then = if verdict == Answer::No { ", so" } else { ";" };
                let all = match all {
                    1 => "the only run".to_owned(),
                    all => format!("all {} runs", whole(all)),
                };
                format!("{all} failed{then} {said}")
            }
            _ => said,
        };
        let [low, high] = finding.interval;
        let place = finding.rate().and_then(|rate| rate.quantile.as_ref());
        let place = place.map(|place| format!("; {}", percentile(place, self.dimension())));
        format!(
            "{said}; {} of {}{}, {}{}",
            whole(finding.successes),
            whole(finding.n),
            first_of(finding),
            share(seen(finding), low, high),
            place.unwrap_or_default()
        )
    }

    fn why_undecided(&self, finding: &Finding) -> Why {
        if finding.rest().is_some() {
            return OPPOSITE;
        }
        let independent = ", or pass --bursts 1 if the runs are independent";
        let (cause, or) = match finding.rate().and_then(|rate| rate.dependence?.would_be) {
            Some(Answer::No) => (
                Cause::Known(
                    "independent runs would give a no, but this many runs without the property may be bursts",
                ),
                independent,
            ),
            Some(_) => (
                Cause::Known(
                    "independent runs would give a yes, but the runs without the property come in bursts",
                ),
                independent,
            ),
            None if self.or_below.is_none() => (
                Cause::Uncertain(
                    " (if the true rate equals the threshold, no amount of data decides)",
                ),
                ", or give an indifference zone with --or-below",
            ),
            None => (Cause::Uncertain(""), ""),
        };
        Why { cause, more: "runs", or }
    }

    fn values(&self, findings: &[Finding]) -> Option<Table> {
        let spread = findings.iter().find_map(|finding| finding.rate()?.values)?;
        Some(values::table(&[(self.command.as_deref()?, spread)], None, self.dimension()))
    }

    fn remarks(&self, findings: &[Finding]) -> Vec<String> {
        let spread = findings.iter().find_map(|finding| finding.rate()?.values);
        let remark = self.command.as_ref().zip(spread).and_then(|(command, spread)| {
            let name = values::labels(&[command]).remove(0);
            values::two_modes(&name, &spread, self.dimension())
        });
        remark.into_iter().collect()
    }

    fn columns(&self) -> Vec<Column> {
        super::of_rate(["good", "runs", "rate"])
    }

    fn cells(&self, finding: &Finding) -> Vec<String> {
        super::rate_cells(finding, seen(finding))
    }

    fn below(&self, finding: &Finding) -> Option<String> {
        let place = finding.rate()?.quantile.as_ref()?;
        Some(percentile(place, self.dimension()))
    }

    fn rate_remark(&self) -> &'static str {
        "The rate of runs that have the property."
    }

    fn guarded(&self) -> &'static str {
        match &self.bursts {
            Some(_) => {
                " The guard against bursts may ask for more runs than that: a path that bursts explain decides nothing."
            }
            None => "",
        }
    }

    fn plainly(&self, finding: &Finding) -> Plain {
        let rate = given_percent(self.rate);
        let property = match &self.bound {
            None => "the property holds".to_owned(),
            Some(bound) => {
                let side = if bound.side == Side::AtMost { "at most" } else { "at least" };
                let threshold = given(bound.threshold, self.dimension());
                format!("{} is {side} {threshold}", spoken(&self.metric))
            }
        };
        let answer = match finding.verdict {
            Answer::Yes => format!("{property} in at least {rate} of the runs"),
            Answer::No => format!("{property} in fewer than {rate} of the runs"),
            _ => format!("it is not certain whether {property} in at least {rate} of the runs"),
        };
        let [low, high] = finding.interval;
        let (good, all) = (whole(finding.successes), whole(finding.n));
        let share = share(seen(finding), low, high);
        let place = finding.rate().and_then(|rate| rate.quantile.as_ref());
        let place = place.map(|place| format!("; {}", percentile(place, self.dimension())));
        let place = place.unwrap_or_default();
        let seen = format!("It was so in {good} of {all} runs: {share}{place}.");
        Plain { answer: capital(&answer), seen }
    }

    fn pictures(&self, shown: &Shown<'_>) -> Vec<Markup> {
        pictures::of_slo(self, shown)
    }

    fn commands(&self, shown: &Shown<'_>) -> Markup {
        let spread = shown.findings.first().and_then(|finding| finding.rate()?.values);
        let Some((spread, command)) = spread.zip(self.command.clone()) else { return html! {} };
        let mut row = vec![Cell::text(command)];
        row.extend(values::cells(Some(spread), self.dimension()));
        let titles = values::titles();
        let titles = std::iter::once("command").chain(titles.iter().map(String::as_str));
        table(&titles.collect::<Vec<_>>(), &[row])
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        self.command.iter().map(|command| ("command", command.clone())).collect()
    }

    fn thresholds(&self) -> Vec<(&'static str, f64)> {
        let mut marks = vec![("asked about", self.rate)];
        marks.extend(self.or_below.map(|low| ("or below", low)));
        marks
    }
}

/// The rate among the runs that were seen.
fn seen(finding: &Finding) -> Option<f64> {
    (finding.n > 0).then(|| finding.successes as f64 / finding.n as f64)
}

/// The location of a percentile, as part of a sentence.
fn percentile(place: &Percentile, dimension: Dimension) -> String {
    let name = figures::percentile(place.rate);
    match place.value {
        Some(_) => {
            format!("{name} {}", figures::quantity(place.value, place.low, place.high, dimension))
        }
        None => {
            let within = figures::quantity(None, place.low, place.high, dimension);
            format!("{name} a failed run, {within}")
        }
    }
}
