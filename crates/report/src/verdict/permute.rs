//! The presentation of a permutation test.

use super::banner::{Plain, capital};
use super::page::{POINTS, Replay, Shown};
use super::{Cause, Form, Why, pictures};
use maud::Markup;
use std::ops::ControlFlow;
use uncontended_decide::Failure;
use uncontended_decide::question::Permute;
use uncontended_decide::record::Run;
use uncontended_decide::resampling::{self, ResampleTrial};
use uncontended_decide::verdict::{Answer, Finding, Verdict};
use uncontended_figures::table::Column;
use uncontended_figures::text::several;
use uncontended_figures::{Dimension, given_percent, measured, share};

impl Form for Permute {
    fn said(&self, finding: &Finding) -> String {
        let level = given_percent(self.level);
        let said = match (finding.verdict, self.or_below) {
            (Answer::Yes, _) => format!("the p-value is below {level}"),
            (Answer::No, None) => format!("the p-value is at least {level}"),
            (Answer::No, Some(low)) => format!("the p-value is above {}", given_percent(low)),
            _ => format!("whether the p-value is below {level} is not certain"),
        };
        let [low, high] = finding.interval;
        let dimension = Dimension::of_unit(&self.unit).unwrap_or(Dimension::Number);
        let (difference, p_value) =
            finding.resampling().map_or((0.0, 1.0), |found| (found.difference, found.p_value));
        format!(
            "{said}; difference {}, p about {}, {}",
            measured(difference, dimension),
            share(Some(p_value), low, high),
            several(finding.n, "resample", "resamples")
        )
    }

    fn why_undecided(&self, _: &Finding) -> Why {
        let more = "resamples";
        if self.or_below.is_none() {
            let cause = Cause::Uncertain(
                " (if the true p-value equals the level, no number of resamples decides)",
            );
            Why { cause, more, or: ", or give an indifference zone with --or-below" }
        } else {
            Why { cause: Cause::Uncertain(""), more, or: "" }
        }
    }

    fn columns(&self) -> Vec<Column> {
        super::of_rate(["as extreme", "resamples", "p-value"])
    }

    fn cells(&self, finding: &Finding) -> Vec<String> {
        let p_value = finding.resampling().map(|found| found.p_value);
        super::rate_cells(finding, p_value)
    }

    fn rate_remark(&self) -> &'static str {
        "The rate of resamples as extreme as the given values: the p-value."
    }

    fn plainly(&self, finding: &Finding) -> Plain {
        let (a, statistic) = (self.expectation(), &self.statistic);
        let differ = match (self.more.as_slice(), self.two_sided) {
            ([], true) => format!("the {statistic} of {a} and B differ by"),
            ([], false) => format!("B's {statistic} is higher than {a}'s by"),
            (..) => format!("the {statistic} of {} differ by", self.groups()),
        };
        let answer = match finding.verdict {
            Answer::Yes => format!("{differ} more than chance explains"),
            Answer::No => format!("it is not shown that {differ} more than chance explains"),
            _ => format!("it is not certain whether {differ} more than chance explains"),
        };
        let said = self.said(finding);
        let seen = said.split_once("; ").map_or(said.as_str(), |(_, seen)| seen);
        Plain { answer: capital(&answer), seen: format!("{}.", capital(seen)) }
    }

    fn pictures(&self, _: &Shown<'_>) -> Vec<Markup> {
        vec![pictures::of_permute(self)]
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let values = |values: &[f64]| several(values.len() as u64, "value", "values");
        let names = ["A", "B", "C", "D", "E", "F", "G", "H"].into_iter();
        let groups = [&self.a, &self.b].into_iter().chain(&self.more);
        names.zip(groups.map(|group| values(group))).collect()
    }

    fn thresholds(&self) -> Vec<(&'static str, f64)> {
        let mut marks = vec![("asked about", self.level)];
        marks.extend(self.or_below.map(|low| ("or below", low)));
        marks
    }

    /// A permutation test has no runs: it resamples again.
    fn replay(&self, verdict: &Verdict, _: &[Run]) -> Result<Replay, Failure> {
        let mut replay = Replay::default();
        let most = verdict.finding.n;
        let every = usize::try_from(most).unwrap_or(usize::MAX).div_ceil(POINTS).max(1) as u64;
        ResampleTrial::new(self, None, |judge| {
            let counts = judge.counts();
            if counts.trials().is_multiple_of(every) {
                let report = judge.question().report(counts);
                replay.look(&[resampling::finding(self, &report, 0.0, 1.0)]);
            }
            let over = counts.trials() >= most;
            if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        replay.look(std::slice::from_ref(&verdict.finding));
        Ok(replay)
    }
}
