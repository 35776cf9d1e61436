//! A verdict in the forms that people read: text, Markdown, a page.
//!
//! # Contract
//! A form shows what the verdict contains and decides nothing. [`Form`] has what differs between kinds of questions.

mod banner;
mod compare;
pub mod hyperfine;
pub mod page;
mod permute;
mod pictures;
pub mod recording;
mod slo;
mod values;

use banner::Plain;
use maud::Markup;
use page::{Replay, Shown};
use std::fmt::Write as _;
use uncontended_decide::Failure;
use uncontended_decide::question::Question;
use uncontended_decide::record::{Run, Stop};
use uncontended_decide::verdict::{About, Answer, Finding, Holds, Verdict};
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::text::{clean, fit};
use uncontended_figures::{at_most_percent, given_percent, share, whole};

/// What a kind of question shows of its verdict.
trait Form {
    /// What a finding says, without the answer and the error.
    fn said(&self, finding: &Finding) -> String;

    /// The answer in a word.
    fn word(&self, answer: Answer) -> &'static str {
        answer.name()
    }

    /// Why neither answer was given, and what would help other than more runs.
    fn why_undecided(&self, finding: &Finding) -> Why;

    /// The columns of a table of findings, without the error.
    fn columns(&self) -> Vec<Column>;

    /// A finding as the cells of a row.
    fn cells(&self, finding: &Finding) -> Vec<String>;

    /// The text after the table, in Markdown.
    fn below(&self, _: &Finding) -> Option<String> {
        None
    }

    /// A summary of the commands' values.
    fn values(&self, _: &[Finding]) -> Option<Table> {
        None
    }

    /// What the table leaves out of the values of a command, which is named.
    fn remarks(&self, _: &[Finding]) -> Vec<String> {
        Vec::new()
    }

    /// What is certain although the question is open.
    fn certain(&self, _: &Finding) -> Option<String> {
        None
    }

    /// What the finding's rate is the rate of.
    fn rate_remark(&self) -> &'static str;

    /// The marks on the picture of the rate.
    fn thresholds(&self) -> Vec<(&'static str, f64)>;

    /// A threshold of the evidence, as people read it: a rate, unless it is a ratio.
    fn threshold(&self, threshold: f64) -> String {
        given_percent(threshold)
    }

    /// How the evidence grew.
    fn replay(&self, verdict: &Verdict, runs: &[Run]) -> Result<Replay, Failure> {
        page::replay(verdict, runs)
    }

    /// The ends of the band of equivalent ratios, if there are ratios to show.
    fn band(&self) -> Option<(f64, f64)> {
        None
    }

    /// What the ratios are of: "median ratio".
    fn effect(&self) -> String {
        String::new()
    }

    /// What an answer needs in addition to a path of the evidence.
    fn guarded(&self) -> &'static str {
        ""
    }

    /// The answer without statistics.
    fn plainly(&self, finding: &Finding) -> Plain;

    /// The pictures of the values.
    fn pictures(&self, shown: &Shown<'_>) -> Vec<Markup>;

    /// The figures of the commands, as a table of the page.
    fn commands(&self, _: &Shown<'_>) -> Markup {
        Markup::default()
    }

    /// The commands, each with what it is.
    fn lines(&self) -> Vec<(&'static str, String)>;
}

/// The form of a question of any kind.
fn form(question: &Question) -> &dyn Form {
    question.each(|slo| slo, |compare| compare, |permute| permute, |record| record)
}

/// The columns of a finding about a rate: the answer, two counts, and the rate with its interval.
fn of_rate(counts_and_rate: [&'static str; 3]) -> Vec<Column> {
    let [good, all, rate] = counts_and_rate.map(Column::figure);
    vec![Column::word("verdict"), good, all, rate]
}

/// A finding about a rate, with its estimate, as a row of that table.
fn rate_cells(finding: &Finding, rate: Option<f64>) -> Vec<String> {
    let [low, high] = finding.interval;
    vec![
        finding.verdict.name().to_string(),
        whole(finding.successes),
        whole(finding.n),
        share(rate, low, high),
    ]
}

/// The text for people, with a table of the values that is at most this wide if that is enough.
#[must_use]
pub fn human(verdict: &Verdict, columns: usize) -> String {
    let verdict = &plain(verdict);
    let form = form(&verdict.hypothesis);
    let values = form.values(findings(verdict));
    let values = values.map(|values| values.text(columns, Paint::default()));
    let remarks = form.remarks(findings(verdict)).into_iter().map(|remark| remark + "\n");
    lines(verdict) + &values.unwrap_or_default() + &remarks.collect::<String>()
}

/// The sentences for people.
#[must_use]
pub fn sentences(verdict: &Verdict) -> String {
    lines(&plain(verdict))
}

/// The sentences about a verdict whose names are plain.
fn lines(verdict: &Verdict) -> String {
    let mut text = String::new();
    let several = verdict.comparisons.len() > 1;
    for finding in &verdict.comparisons {
        if several {
            let name = finding.pairs().map_or("", |pairs| pairs.candidate.as_str());
            let _ = writeln!(text, "  {name}: {}", sentence(verdict, finding));
        }
    }
    let finding = &verdict.finding;
    match several {
        true => {
            let _ = writeln!(text, "{}: {}", headline(verdict), verdict.question);
        }
        false => {
            let _ = writeln!(text, "{}", sentence(verdict, finding));
        }
    }
    let form = form(&verdict.hypothesis);
    if finding.verdict == Answer::Undecided {
        let _ = writeln!(text, "{}", form.why_undecided(finding).sentence(verdict.stopped_by));
        if let Some(certain) = form.certain(finding) {
            let _ = writeln!(text, "certain so far: {certain}");
        }
    }
    text + &warnings(verdict)
}

/// The warnings, a line each.
fn warnings(verdict: &Verdict) -> String {
    verdict.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect()
}

/// The answer about all candidates, and what it is for which of them: "no: 1 yes ('./b'), 1 no ('./c')".
fn headline(verdict: &Verdict) -> String {
    let answers = [Answer::Yes, Answer::No, Answer::Undecided, Answer::Error];
    let settled = answers.into_iter().filter_map(|answer| {
        let of = verdict.comparisons.iter().filter(|finding| finding.verdict == answer);
        let names: Vec<String> = of
            .filter_map(|finding| finding.pairs())
            .map(|pairs| format!("'{}'", fit(&pairs.candidate, MOST_OF_NAME)))
            .collect();
        let count = names.len();
        (count > 0).then(|| format!("{count} {} ({})", answer.name(), names.join(", ")))
    });
    let settled: Vec<String> = settled.collect();
    format!("{}: {}", verdict.finding.verdict.name(), settled.join(", "))
}

/// Width of a candidate's name in the headline.
const MOST_OF_NAME: usize = 30;

/// The finding, or one for each candidate.
fn findings(verdict: &Verdict) -> &[Finding] {
    match verdict.comparisons.as_slice() {
        [] => std::slice::from_ref(&verdict.finding),
        several => several,
    }
}

/// What the evidence lacks.
enum Cause {
    /// Neither answer was certain; with the truth of which none ever is, if there is one.
    Uncertain(&'static str),
    /// Something else.
    Known(&'static str),
    /// Something that more runs would not change, with what to do.
    Whole(&'static str),
}

/// Why neither answer was given.
struct Why {
    /// What the evidence lacks.
    cause: Cause,
    /// What is needed more of: runs, pairs, resamples.
    more: &'static str,
    /// Another remedy; empty for none.
    or: &'static str,
}

impl Why {
    /// What ended the trial, why that was too early, and what to do.
    fn sentence(&self, stop: Stop) -> String {
        let Why { cause, more, or } = self;
        if let Cause::Whole(cause) = cause {
            return (*cause).to_owned();
        }
        let (ended, remedy) = match stop {
            Stop::MaxRuns => (format!("the budget of {more} was spent"), "raise --max-runs"),
            Stop::MaxTime => ("the time was up".to_owned(), "raise --max-time"),
            Stop::Interrupted => ("it was interrupted".to_owned(), "let it run to its end"),
            Stop::EndOfInput => ("the input ended".to_owned(), "give more values"),
            Stop::Failed => ("a run failed".to_owned(), "fix it"),
            Stop::LogCut => ("the log broke off".to_owned(), "rerun the trial"),
            Stop::Decided => {
                ("only some of the answers are certain".to_owned(), "ask about each separately")
            }
        };
        let cause = match (cause, stop) {
            (Cause::Known(cause) | Cause::Whole(cause), _) => format!(", and {cause}"),
            (Cause::Uncertain(_), Stop::Decided) => String::new(),
            (Cause::Uncertain(never), _) => format!(" before either answer was certain{never}"),
        };
        format!("{ended}{cause}: {remedy}{or}")
    }
}

/// The first values or pairs of a file gave one answer, and the others the opposite.
const OPPOSITE: Why = Why {
    cause: Cause::Whole(
        "the first values say the opposite of the others: they are not of one kind; judge them in parts, or in random order",
    ),
    more: "",
    or: "",
};

/// How many there are, if not all that a file has gave the answer.
fn first_of(finding: &Finding) -> String {
    let rest = finding.rest();
    rest.map_or_else(String::new, |rest| {
        format!(" (the first of {})", whole(finding.n + rest.values))
    })
}

/// One finding as one line.
fn sentence(verdict: &Verdict, finding: &Finding) -> String {
    let form = form(&verdict.hypothesis);
    let (word, said) = (form.word(finding.verdict), form.said(finding));
    format!("{word}: {said}{}", error_clause(verdict))
}

/// The end of a sentence: how likely it is wrong.
fn error_clause(verdict: &Verdict) -> String {
    let error = at_most_percent(verdict.max_error);
    match verdict.error_holds {
        _ if verdict.max_error == 0.0 => String::new(),
        Holds::AsStated => format!(", error at most {error}"),
        Holds::IfIndependent => {
            format!(", error at most {error} if the values are independent (see --bursts)")
        }
        Holds::No => format!("; the runs are not independent, so the error may exceed {error}"),
    }
}

/// The verdict as a Markdown section.
#[must_use]
pub fn markdown(verdict: &Verdict) -> String {
    let verdict = &plain(verdict);
    let form = form(&verdict.hypothesis);
    let mut text = format!("**{}** {}\n\n", form.word(verdict.finding.verdict), verdict.question);
    let error = at_most_percent(verdict.max_error);
    let mut columns = form.columns();
    columns.push(Column::figure("error at most"));
    let mut table = Table::new(columns);
    for finding in findings(verdict) {
        let mut cells = form.cells(finding);
        cells.push(error.clone());
        table.row(cells);
    }
    text += &table.markdown();
    if let Some(values) = form.values(findings(verdict)) {
        let _ = write!(text, "\n{}", values.markdown());
    }
    for remark in form.remarks(findings(verdict)) {
        let _ = writeln!(text, "\n{remark}");
    }
    if let Some(below) = form.below(&verdict.finding) {
        let _ = writeln!(text, "\n{below}");
    }
    for warning in &verdict.warnings {
        let _ = writeln!(text, "\nWarning: {warning}");
    }
    text
}

/// The verdict with names that control neither a terminal nor what reads lines, such as a log of a CI system.
fn plain(verdict: &Verdict) -> Verdict {
    let mut plain = verdict.clone();
    let commands: Vec<&mut String> = match &mut plain.hypothesis {
        Question::Slo(slo) => slo.command.iter_mut().collect(),
        Question::Compare(compare) => {
            let control = compare.sessions.iter_mut().filter_map(|own| own.control.as_mut());
            compare.commands.iter_mut().chain(control).collect()
        }
        Question::Permute(_) => Vec::new(),
        Question::Record(recording) => {
            std::iter::once(&mut recording.command).chain(recording.control.as_mut()).collect()
        }
    };
    let findings = std::iter::once(&mut plain.finding).chain(&mut plain.comparisons);
    let candidates = findings.filter_map(|finding| match &mut finding.about {
        About::Pairs(pairs) => Some(&mut pairs.candidate),
        _ => None,
    });
    let names = commands.into_iter().chain(candidates).chain(&mut plain.warnings);
    for name in names.chain(std::iter::once(&mut plain.question)) {
        *name = clean(name);
    }
    plain
}
