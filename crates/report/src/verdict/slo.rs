//! What is shown of a rate.

use super::Form;
use uncontended_decide::question::{Slo, percent};
use uncontended_decide::value::{self, Dimension, Toward, significant};
use uncontended_decide::verdict::{Answer, Finding, Percentile};

impl Form for Slo {
    fn said(&self, finding: &Finding) -> String {
        let rate = percent(self.rate);
        let said = match (finding.verdict, self.or_below) {
            (Answer::Yes, None) => format!("the rate is at least {rate}"),
            (Answer::Yes, Some(low)) => format!("the rate is above {}", percent(low)),
            (Answer::No, _) => format!("the rate is below {rate}"),
            _ => format!("whether the rate is at least {rate} is not certain"),
        };
        let [low, high] = finding.interval;
        let place = finding.rate().and_then(|rate| rate.quantile.as_ref());
        let place = place.map(|place| format!("; {}", percentile(place, self.dimension())));
        format!(
            "{said}; {} of {} within {}{}",
            finding.successes,
            finding.n,
            value::rate_interval(low, high, 6),
            place.unwrap_or_default()
        )
    }

    fn why_undecided(&self, finding: &Finding) -> &'static str {
        match finding.rate().and_then(|rate| rate.dependence?.would_be) {
            Some(Answer::No) => {
                "independent runs would say no, but so many that lack the property may be bursts: give more runs, or say --bursts 1 if they are independent"
            }
            Some(_) => {
                "independent runs would say yes, but those that lack the property come in bursts: give more runs, or say --bursts 1 if they are independent"
            }
            None if self.or_below.is_none() => {
                "the evidence suffices for neither answer; at the rate itself it never would: give more runs, or an indifference zone with --or-below"
            }
            None => "the evidence suffices for neither answer yet: give more runs",
        }
    }

    fn header(&self) -> &'static str {
        "| verdict | good | runs | rate within | error at most |\n|:--|--:|--:|:--|--:|\n"
    }

    fn row(&self, finding: &Finding) -> String {
        let [low, high] = finding.interval;
        let within = value::rate_interval(low, high, 6);
        let answer = finding.verdict.name();
        format!("{answer} | {} | {} | {within}", finding.successes, finding.n)
    }

    fn below(&self, finding: &Finding) -> Option<String> {
        let place = finding.rate()?.quantile.as_ref()?;
        Some(percentile(place, self.dimension()))
    }

    fn rate_remark(&self) -> &'static str {
        "The rate of runs that have the property."
    }

    fn thresholds(&self) -> Vec<(&'static str, f64)> {
        let mut marks = vec![("asked about", self.rate)];
        marks.extend(self.or_below.map(|low| ("or below", low)));
        marks
    }
}

/// Where a percentile lies, as a part of a sentence.
fn percentile(place: &Percentile, dimension: Dimension) -> String {
    let shown = |value: f64, toward| value::show_toward(value, dimension, toward);
    let within = match (place.low, place.high) {
        (Some(low), Some(high)) => {
            format!("within [{}, {}]", shown(low, Toward::Low), shown(high, Toward::High))
        }
        (Some(low), None) => format!("at least {}", shown(low, Toward::Low)),
        (None, Some(high)) => format!("at most {}", shown(high, Toward::High)),
        (None, None) => "not bounded yet".to_string(),
    };
    let value = place.value.map(|value| shown(value, Toward::Nearest));
    let rate = significant(place.rate * 100.0, 12);
    format!("p{rate} {} {within}", value.as_deref().unwrap_or("a failed run"))
}
