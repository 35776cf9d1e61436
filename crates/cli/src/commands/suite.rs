//! Several properties in one invocation, with one error bound for all of them.
//!
//! # Contract
//! A suite is a TOML file with the tables `[[slo]]`, `[[compare]]` and `[[permute]]`; their keys are the flags of those
//! commands, and `command` (or `commands`, or `values = ["A.txt", "B.txt"]`) is what stands after them. `max-error` at
//! the top bounds the chance that *any* verdict is wrong: each of m properties gets an equal share (Bonferroni),
//! whatever they have in common. The whole file is checked before anything runs; its properties are judged in the order
//! of the file.
//! # Evidence
//! `tests/decide_suite.rs`.

use super::flags::OutputFlags;
use crate::commands::Command;
use crate::decide::output;
use crate::decide::tell;
use crate::failure::Failure;
use clap::Parser;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::ExitCode;
use toml::{Spanned, Table, Value};
use uncontended_decide::value;
use uncontended_decide::verdict::{Answer, Verdict};
use uncontended_figures::at_most_percent;
use uncontended_report::verdict::{human, markdown, page};
use uncontended_stats::MaxError;

/// The value of `schema`.
const SCHEMA: &str = "uncontended.verdict-suite/1";

/// The kinds of properties, and the key of what stands after their flags.
const KINDS: [(&str, &str); 3] =
    [("slo", "command"), ("compare", "commands"), ("permute", "values")];

#[derive(Debug, Parser)]
#[command(name = "unc", no_binary_name = true)]
struct One {
    #[command(subcommand)]
    command: Command,
}

/// The file. Its tables keep where they stand, since they are judged in that order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Suite {
    max_error: Option<Value>,
    #[serde(default)]
    slo: Vec<Spanned<Table>>,
    #[serde(default)]
    compare: Vec<Spanned<Table>>,
    #[serde(default)]
    permute: Vec<Spanned<Table>>,
}

/// One property of a suite.
#[derive(Debug)]
struct Property {
    name: String,
    command: Command,
}

/// A property that has been judged.
pub(crate) type Judged = (String, Result<Verdict, Failure>);

/// What came of a suite.
pub(crate) struct Outcome {
    /// The properties in the order of the file.
    pub(crate) judged: Vec<Judged>,
    /// The worst answer.
    pub(crate) worst: Answer,
    /// Largest chance that any verdict is wrong.
    pub(crate) max_error: f64,
    /// The part of it that each property has.
    share: f64,
}

/// Judges a suite and answers with the exit status: 2 if a property could not run, else 1 if one is refuted, else 3 if
/// one is undecided, else 0.
pub(crate) fn execute(path: &Path, max_error: f64, output: &OutputFlags) -> ExitCode {
    let for_json = output.json.as_deref() == Some(Path::new("-"));
    let judged = output.check().and_then(|()| judge(path, max_error, output, for_json));
    let told = judged.and_then(|outcome| {
        let worst = outcome.worst;
        write(outcome, output, for_json).map(|()| worst)
    });
    let answer = told.unwrap_or_else(|failure| {
        tell(&format!("{failure}\n"));
        // The failure itself is what counts; a second one while reporting it adds nothing.
        let _ = output::write_failure(SCHEMA, &failure, output.json.as_deref());
        Answer::Error
    });
    if let Some(signal) = uncontended_sys::interrupts::received() {
        uncontended_sys::interrupts::die_by(signal);
    }
    ExitCode::from(answer.exit_status())
}

fn judge(
    path: &Path,
    max_error: f64,
    output: &OutputFlags,
    for_json: bool,
) -> Result<Outcome, Failure> {
    let failed = |cause: String| {
        Failure::new(
            format!("{}: {cause}", path.display()),
            "a suite has max-error, [[slo]], [[compare]] and [[permute]], their keys are the flags of those commands",
        )
    };
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let (properties, max_error) = read(&text, max_error, output).map_err(failed)?;
    let share = share(max_error, properties.len())?;
    let mut outcome = Outcome { judged: Vec::new(), worst: Answer::Yes, max_error, share };
    for property in properties {
        if uncontended_decide::interrupted() {
            outcome.add(Answer::Undecided);
            break;
        }
        let verdict = match &property.command {
            Command::Slo(flags) => flags.verdict(),
            Command::Compare(flags) => flags.verdict(),
            Command::Permute(flags) => flags.verdict(),
            _ => Err(Failure::new("no command of a suite", "")),
        };
        output::say(&format!("{}: {}", property.name, said(&verdict)), for_json)?;
        outcome.add(verdict.as_ref().map_or(Answer::Error, |verdict| verdict.finding.verdict));
        outcome.judged.push((property.name, verdict));
    }
    Ok(outcome)
}

impl Outcome {
    fn add(&mut self, answer: Answer) {
        if answer.badness() > self.worst.badness() {
            self.worst = answer;
        }
    }

    /// All of it as one page.
    fn page(&self) -> Result<String, Failure> {
        let facts = [
            format!("verdict: {}", self.worst.name()),
            format!("error of all together at most {}", at_most_percent(self.max_error)),
        ];
        let judged = self
            .judged
            .iter()
            .map(|(name, verdict)| (name.as_str(), said(verdict), verdict.as_ref().ok()));
        Ok(page::of_several(&self.sentence(), &facts, judged)?)
    }

    /// All of it in one line.
    pub(crate) fn sentence(&self) -> String {
        format!(
            "{}: {} properties; the chance that any verdict is wrong is at most {} ({} each, Bonferroni)",
            self.worst.name(),
            self.judged.len(),
            at_most_percent(self.max_error),
            at_most_percent(self.share)
        )
    }
}

/// The lines about one property, for people.
pub(crate) fn said(verdict: &Result<Verdict, Failure>) -> String {
    match verdict {
        Ok(verdict) => human(verdict),
        Err(failure) => format!("error\n{failure}\n"),
    }
}

fn write(mut outcome: Outcome, output: &OutputFlags, for_json: bool) -> Result<(), Failure> {
    output::say(&format!("{}\n", outcome.sentence()), for_json)?;
    if let Some(path) = &output.html {
        output::write_file(path, &outcome.page()?)?;
    }
    if let Some(path) = &output.markdown {
        let section = |(name, verdict): &Judged| match verdict {
            Ok(verdict) => format!("### {name}\n\n{}\n", markdown(verdict)),
            Err(failure) => format!("### {name}\n\n**error** {}\n\n", failure.cause),
        };
        let sections: String = outcome.judged.iter().map(section).collect();
        output::write_file(path, &format!("{sections}{}\n", outcome.sentence()))?;
    }
    let Some(path) = &output.json else { return Ok(()) };
    let entry = |(name, verdict): &mut Judged| {
        let told = verdict.as_mut().map_err(|failure| (&failure.cause, &failure.remedy));
        let mut entry = match told {
            Ok(verdict) => output::json(verdict)?,
            Err((cause, remedy)) => {
                json!({ "verdict": Answer::Error.name(), "error": cause, "remedy": remedy })
            }
        };
        entry["name"] = name.clone().into();
        Ok(entry)
    };
    let properties: Vec<Json> =
        outcome.judged.iter_mut().map(entry).collect::<Result<_, Failure>>()?;
    let all = json!({
        "schema": SCHEMA,
        "verdict": outcome.worst.name(),
        "max_error": outcome.max_error,
        "share": outcome.share,
        "correction": "bonferroni",
        "properties": properties,
    });
    output::write_file(path, &format!("{all:#}\n"))
}

/// The properties of a suite in the order of the file, each with its share of the error.
fn read(
    text: &str,
    default_error: f64,
    output: &OutputFlags,
) -> Result<(Vec<Property>, f64), String> {
    let suite: Suite = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        format!("line {line}: {}", error.message())
    })?;
    let max_error = match suite.max_error {
        Some(Value::Float(error)) => value::rate(&error.to_string())?,
        Some(Value::String(error)) => value::rate(&error)?,
        Some(other) => return Err(format!("max-error is not a share but a {}", other.type_str())),
        None => default_error,
    };
    let mut tables: Vec<(&str, &str, Spanned<Table>)> = Vec::new();
    for ((kind, last), of_kind) in KINDS.into_iter().zip([suite.slo, suite.compare, suite.permute])
    {
        tables.extend(of_kind.into_iter().map(|table| (kind, last, table)));
    }
    tables.sort_by_key(|(.., table)| table.span().start);
    if tables.is_empty() {
        return Err("there is no property in it".to_string());
    }
    let share = share(max_error, tables.len()).map_err(|failure| failure.cause)?;
    let mut properties = Vec::new();
    for (number, (kind, last, table)) in tables.into_iter().enumerate() {
        let mut table = table.into_inner();
        let name = match table.remove("name") {
            Some(Value::String(name)) => name,
            Some(other) => return Err(format!("a name is not text but a {}", other.type_str())),
            None => format!("{kind} {}", number + 1),
        };
        let mut words = arguments(kind, last, table).map_err(|cause| format!("{name}: {cause}"))?;
        words.insert(1, format!("--max-error={share:e}"));
        if output.quiet {
            words.insert(1, "--quiet".to_string());
        }
        if output.needs_runs() {
            // Nothing is written by the property itself, but its runs are kept.
            words.insert(1, "--json=-".to_string());
        }
        let one = One::try_parse_from(words)
            .map_err(|error| format!("{name}: {}", super::usage_failure(&error).cause))?;
        properties.push(Property { name, command: one.command });
    }
    Ok((properties, max_error))
}

fn share(max_error: f64, count: usize) -> Result<f64, Failure> {
    let error = MaxError::new(max_error)
        .map_err(|error| Failure::new(error.to_string(), "see --max-error"))?;
    Ok(error.split(u32::try_from(count).unwrap_or(u32::MAX)).get())
}

/// A table as the arguments of its command.
fn arguments(kind: &str, last: &str, table: Table) -> Result<Vec<String>, String> {
    let mut words = vec![kind.to_string()];
    let mut after = Vec::new();
    for (key, value) in table {
        match key.as_str() {
            key if key == last => {
                after = texts(&value)
                    .ok_or_else(|| format!("{key} is neither text nor a list of texts"))?
            }
            "max-error" | "json" | "markdown" | "html" | "quiet" | "suite" => {
                return Err(format!("'{key}' belongs to the whole suite"));
            }
            key => {
                let flag = format!("--{key}");
                match value {
                    Value::Boolean(true) => words.push(flag),
                    Value::Boolean(false) => {}
                    value => {
                        let values = texts(&value).ok_or_else(|| {
                            format!("{key} is a {}, which {flag} does not take", value.type_str())
                        })?;
                        words.extend(values.into_iter().map(|value| format!("{flag}={value}")));
                    }
                }
            }
        }
    }
    words.push("--".to_string());
    words.extend(after);
    Ok(words)
}

/// A value, or a list of values, as texts.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Integer(number) => Some(vec![number.to_string()]),
        Value::Float(number) => Some(vec![number.to_string()]),
        Value::Array(values) => values.iter().map(|value| texts(value)?.pop()).collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{OutputFlags, read};

    /// Any text is answered: parsed, or refused with a reason.
    #[test]
    fn random_suites_are_answered() {
        let pieces = [
            "[[slo]]\n",
            "[[compare]]\n",
            "[slo]\n",
            "rate = 0.9\n",
            "rate = '90%'\n",
            "counts = '1/2'\n",
            "max-error = 0.1\n",
            "commands = ['a', 'b']\n",
            "command = 3\n",
            "aa = true\n",
            "x = [1, [2]]\n",
            "name = 'n'\n",
            "=",
            "\u{0}",
            "at-most = '5ms'\n",
        ];
        let mut state = 11_u64;
        let mut accepted = 0;
        for _ in 0..1500 {
            let mut text = String::new();
            for _ in 0..5 {
                state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
                text += pieces[(state >> 33) as usize % pieces.len()];
            }
            match read(&text, 0.01, &OutputFlags::default()) {
                Ok((properties, _)) => accepted += usize::from(!properties.is_empty()),
                Err(why) => assert!(!why.is_empty()),
            }
        }
        assert!(accepted > 0);
    }
}
