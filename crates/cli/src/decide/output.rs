//! A verdict for people and for programs: the line on the terminal, JSON, Markdown.
//!
//! # Contract
//! The verdict goes to standard output, unless `--json -` claims that for JSON: then it goes to standard error. A
//! failure has no verdict line, and its JSON says `error`.

use super::flags::OutputFlags;
use super::page::page;
use super::progress::tell;
use crate::failure::Failure;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use uncontended_decide::question::{Compare, Question, error_bound, percent};
use uncontended_decide::record::Stop;
use uncontended_decide::value::{self, Dimension, Toward, significant};
use uncontended_decide::verdict::{Answer, Finding, Percentile, Relation, SCHEMA, Verdict};

/// Judges, writes what came of it everywhere it was asked for, and answers with the exit status.
pub(crate) fn deliver(
    judge: impl FnOnce() -> Result<Verdict, Failure>,
    output: &OutputFlags,
) -> ExitCode {
    let result = output
        .check()
        .and_then(|()| judge())
        .and_then(|mut verdict| write_all(&mut verdict, output).map(|()| verdict));
    let verdict = match result {
        Ok(verdict) => verdict,
        Err(failure) => {
            tell(&format!("{failure}\n"));
            // The failure itself is what counts; a second one while reporting it adds nothing.
            let _ = write_failure(SCHEMA, &failure, output.json.as_deref());
            return ExitCode::from(Answer::Error.exit_status());
        }
    };
    if verdict.stopped_by == Stop::Interrupted
        && let Some(signal) = uncontended_sys::interrupts::received()
    {
        uncontended_sys::interrupts::die_by(signal);
    }
    ExitCode::from(verdict.finding.verdict.exit_status())
}

/// A verdict as JSON.
pub(crate) fn json(verdict: &mut Verdict) -> Result<serde_json::Value, Failure> {
    if verdict.log.is_some() {
        verdict.runs = None; // They are in the log.
    }
    serde_json::to_value(verdict)
        .map_err(|error| Failure::new(format!("cannot write JSON: {error}"), ""))
}

fn write_all(verdict: &mut Verdict, output: &OutputFlags) -> Result<(), Failure> {
    say(&human(verdict), to_stdout(output))?;
    if let Some(path) = &output.html {
        write_file(path, &page(verdict, verdict.runs.as_deref().unwrap_or_default())?)?;
    }
    if let Some(path) = &output.json {
        write_file(path, &format!("{:#}\n", json(verdict)?))?;
    }
    if let Some(path) = &output.markdown {
        write_file(path, &markdown(verdict))?;
    }
    Ok(())
}

/// Prints for people: on standard output, or on standard error where that is for JSON. Whoever closed the pipe has read
/// enough; the exit status still tells the verdict.
pub(crate) fn say(text: &str, for_json: bool) -> Result<(), Failure> {
    let printed = match for_json {
        true => std::io::stderr().write_all(text.as_bytes()),
        false => std::io::stdout().write_all(text.as_bytes()),
    };
    unless_nobody_reads(printed).map_err(|error| Failure::new(format!("cannot print: {error}"), ""))
}

fn unless_nobody_reads(printed: std::io::Result<()>) -> std::io::Result<()> {
    match printed {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Whether standard output is for JSON.
fn to_stdout(output: &OutputFlags) -> bool {
    output.json.as_deref() == Some(Path::new("-"))
}

/// Writes a failure as JSON, where that was asked for.
pub(crate) fn write_failure(
    schema: &str,
    failure: &Failure,
    json: Option<&Path>,
) -> Result<(), Failure> {
    let Some(path) = json else { return Ok(()) };
    let error = serde_json::json!({
        "schema": schema,
        "verdict": Answer::Error.name(),
        "error": failure.cause,
        "remedy": failure.remedy,
    });
    write_file(path, &format!("{error:#}\n"))
}

/// Writes as JSON that flags could not be understood, if `words`, which follow the command's name, show that JSON was
/// asked for.
pub(crate) fn write_usage_error(schema: &str, words: &[OsString], error: &clap::Error) {
    let ours = words.iter().take_while(|word| *word != "--");
    let at = ours.clone().position(|word| word == "--json").and_then(|at| words.get(at + 1));
    let json = at.map(Path::new).or_else(|| {
        let mut joined = ours.filter_map(|word| word.to_str()?.strip_prefix("--json="));
        joined.next().map(Path::new)
    });
    // The error itself is told already; a second one while reporting it adds nothing.
    let _ = write_failure(schema, &usage_failure(error), json);
}

/// What the flag parser has to say, in one line.
pub(crate) fn usage_failure(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let lines: Vec<&str> =
        text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    Failure::new(lines.join(" ").trim_start_matches("error: "), "see --help")
}

/// Writes a file, or to standard output for `-`.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    let written = match path == Path::new("-") {
        true => unless_nobody_reads(std::io::stdout().write_all(text.as_bytes())),
        false => std::fs::write(path, text),
    };
    written.map_err(|error| Failure::new(format!("{}: {error}", path.display()), ""))
}

/// The lines for people.
pub(crate) fn human(verdict: &Verdict) -> String {
    let mut text = String::new();
    let several = verdict.comparisons.len() > 1;
    for finding in &verdict.comparisons {
        if several {
            let name = finding.candidate.as_deref().unwrap_or_default();
            let _ = writeln!(text, "  {name}: {}", sentence(verdict, finding));
        }
    }
    let finding = &verdict.finding;
    match several {
        true => {
            let _ = writeln!(text, "{}: {}", finding.verdict.name(), verdict.question);
        }
        false => {
            let _ = writeln!(text, "{}", sentence(verdict, finding));
        }
    }
    if finding.verdict == Answer::Undecided {
        let _ = writeln!(text, "{}", why_undecided(verdict));
    }
    for warning in &verdict.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

/// One finding as one line.
pub(crate) fn sentence(verdict: &Verdict, finding: &Finding) -> String {
    let answer = finding.verdict.name();
    let [low, high] = finding.interval;
    let error = error_bound(verdict.max_error);
    match (&verdict.hypothesis, &finding.effect) {
        (Question::Compare(compare), Some(effect)) => {
            let within = value::within(effect.low, effect.high.unwrap_or(f64::INFINITY), 5);
            let ratio = effect.ratio.map_or("-".to_string(), |ratio| significant(ratio, 5));
            let said = said_of_pair(compare, finding);
            format!(
                "{answer}: {said}; {} {ratio} {within}, {} pairs, error at most {error}",
                compare.effect_name(),
                finding.n
            )
        }
        (Question::Slo(slo), _) => {
            let rate = percent(slo.rate);
            let said = match (finding.verdict, slo.or_below) {
                (Answer::Yes, None) => format!("the rate is at least {rate}"),
                (Answer::Yes, Some(low)) => format!("the rate is above {}", percent(low)),
                (Answer::No, _) => format!("the rate is below {rate}"),
                _ => format!("whether the rate is at least {rate} is not certain"),
            };
            let place = finding.quantile.as_ref();
            let place = place.map(|place| format!("; {}", percentile(place, slo.dimension())));
            format!(
                "{answer}: {said}; {} of {} within {}{}, error at most {error}",
                finding.successes,
                finding.n,
                value::rate_interval(low, high, 6),
                place.unwrap_or_default()
            )
        }
        (Question::Permute(permute), _) => {
            let level = percent(permute.level);
            let said = match (finding.verdict, permute.or_below) {
                (Answer::Yes, _) => format!("the p-value is below {level}"),
                (Answer::No, None) => format!("the p-value is at least {level}"),
                (Answer::No, Some(low)) => format!("the p-value is above {}", percent(low)),
                _ => format!("whether the p-value is below {level} is not certain"),
            };
            format!(
                "{answer}: {said}; difference {}, p about {} {}, {} dealings, error at most {error}",
                significant(finding.difference.unwrap_or(0.0), 6),
                significant(finding.p_value.unwrap_or(1.0), 4),
                value::within(low, high, 4),
                finding.n
            )
        }
        (Question::Compare(_), None) => answer.to_string(),
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

fn why_undecided(verdict: &Verdict) -> &'static str {
    match verdict.finding.dependence.and_then(|dependence| dependence.would_be) {
        Some(Answer::No) => {
            return "independent runs would say no, but so many that lack the property may be bursts: give more runs, or say --bursts 1 if they are independent";
        }
        Some(_) => {
            return "independent runs would say yes, but those that lack the property come in bursts: give more runs, or say --bursts 1 if they are independent";
        }
        None => {}
    }
    match (verdict.stopped_by, &verdict.hypothesis) {
        (_, Question::Slo(slo)) if slo.or_below.is_none() => {
            "the evidence suffices for neither answer; at the rate itself it never would: give more runs, or an indifference zone with --or-below"
        }
        (_, Question::Permute(permute)) if permute.or_below.is_none() => {
            "the evidence suffices for neither answer; at the level itself it never would: give more dealings, or an indifference zone with --or-below"
        }
        (_, Question::Permute(_)) => {
            "the evidence suffices for neither answer yet: give more dealings"
        }
        (_, Question::Slo(_)) => "the evidence suffices for neither answer yet: give more runs",
        (_, Question::Compare(_)) if verdict.finding.tail_is_open() => {
            "the median alone is settled: give more runs to rule out a heavier tail, or ask about the median alone with --no-tail-guard"
        }
        (_, Question::Compare(_)) => {
            "the evidence suffices for neither answer; at the margin itself it never would: give more runs or another --margin"
        }
    }
}

/// The verdict as a Markdown section.
pub(crate) fn markdown(verdict: &Verdict) -> String {
    let mut text = format!("**{}** {}\n\n", verdict.finding.verdict.name(), verdict.question);
    let findings = match verdict.comparisons.as_slice() {
        [] => std::slice::from_ref(&verdict.finding),
        several => several,
    };
    match verdict.hypothesis {
        Question::Slo(_) => {
            text +=
                "| verdict | good | runs | rate within | error at most |\n|:--|--:|--:|:--|--:|\n";
        }
        Question::Permute(_) => {
            text += "| verdict | as extreme | dealings | p-value within | error at most |\n|:--|--:|--:|:--|--:|\n";
        }
        Question::Compare(_) => {
            text += "| candidate | verdict | relation | median ratio | within | pairs | error at most |\n|:--|:--|:--|--:|:--|--:|--:|\n";
        }
    }
    let error = error_bound(verdict.max_error);
    for finding in findings {
        let answer = finding.verdict.name();
        let [low, high] = finding.interval;
        let _ = match &finding.effect {
            None => writeln!(
                text,
                "| {answer} | {} | {} | {} | {error} |",
                finding.successes,
                finding.n,
                value::rate_interval(low, high, 6)
            ),
            Some(effect) => writeln!(
                text,
                "| `{}` | {answer} | {} | {} | {} | {} | {error} |",
                finding.candidate.as_deref().unwrap_or_default().replace('|', "\\|"),
                finding.relation.map_or("not known", |relation| relation.told()),
                effect.ratio.map_or("-".to_string(), |ratio| significant(ratio, 5)),
                value::within(effect.low, effect.high.unwrap_or(f64::INFINITY), 5),
                finding.n
            ),
        };
    }
    if let (Some(place), Question::Slo(slo)) = (&verdict.finding.quantile, &verdict.hypothesis) {
        let _ = writeln!(text, "\n{}", percentile(place, slo.dimension()));
    }
    for warning in &verdict.warnings {
        let _ = writeln!(text, "\nWarning: {warning}");
    }
    text
}
