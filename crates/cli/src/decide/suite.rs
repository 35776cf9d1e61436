//! Several properties in one invocation, with one error bound for all of them.
//!
//! # Contract
//! A suite is a TOML file with the tables `[[slo]]`, `[[compare]]` and `[[permute]]`; their keys are the flags of those
//! commands, and `command` (or `commands`, or `values = ["A.txt", "B.txt"]`) is what stands after them. `max-error` at the top
//! bounds the chance that *any* verdict is wrong: each of m properties gets an equal share (Bonferroni), whatever they have in
//! common. The whole file is checked before anything runs.
//! # Evidence
//! `tests/decide_suite.rs`.

use super::hypothesis::percent;
use super::output;
use super::progress::tell;
use super::value;
use super::verdict::{Answer, Verdict};
use crate::commands::Command;
use crate::failure::Failure;
use clap::Parser;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::ExitCode;
use toml::{Table, Value};
use uncontended_stats::MaxError;

/// The value of `schema`.
const SCHEMA: &str = "uncontended.verdict-suite/1";

/// The kinds in the order in which they run, and the key of what stands after their flags.
const KINDS: [(&str, &str); 3] =
    [("slo", "command"), ("compare", "commands"), ("permute", "values")];

#[derive(Debug, Parser)]
#[command(name = "unc", no_binary_name = true)]
struct One {
    #[command(subcommand)]
    command: Command,
}

/// One property of a suite.
#[derive(Debug)]
struct Property {
    name: String,
    command: Command,
}

/// Judges a suite and answers with the exit status: 2 if a property could not run, else 1 if one is refuted, else 3 if
/// one is undecided, else 0.
pub(crate) fn execute(path: &Path, max_error: f64, json: Option<&Path>, quiet: bool) -> ExitCode {
    let answer = judge(path, max_error, json, quiet).unwrap_or_else(|failure| {
        tell(&format!("{failure}\n"));
        Answer::Error
    });
    ExitCode::from(answer.exit_status())
}

fn judge(path: &Path, max_error: f64, json: Option<&Path>, quiet: bool) -> Result<Answer, Failure> {
    let failed =
        |cause: String| Failure::new(format!("{}: {cause}", path.display()), "see unc slo --help");
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let (properties, max_error) = read(&text, max_error, quiet).map_err(failed)?;
    let for_json = json == Some(Path::new("-"));
    let mut worst = Answer::Yes;
    let mut told = Vec::new();
    for property in &properties {
        if super::interrupted() {
            break;
        }
        let judged = match &property.command {
            Command::Slo(flags) => flags.verdict(),
            Command::Compare(flags) => flags.verdict(),
            Command::Permute(flags) => flags.verdict(),
            _ => Err(Failure::new("no command of a suite", "")),
        };
        let (answer, line, mut entry) = entry(judged);
        output::say(&format!("{}: {line}", property.name), for_json)?;
        entry["name"] = property.name.clone().into();
        told.push(entry);
        worst = if answer.badness() > worst.badness() { answer } else { worst };
    }
    let share = share(max_error, properties.len())?;
    let together = format!(
        "{}: {} properties; the chance that any verdict is wrong is at most {} ({} each, Bonferroni)\n",
        worst.name(),
        properties.len(),
        percent(max_error),
        percent(share)
    );
    output::say(&together, for_json)?;
    if let Some(path) = json {
        let all = json!({
            "schema": SCHEMA,
            "verdict": worst.name(),
            "max_error": max_error,
            "share": share,
            "correction": "bonferroni",
            "properties": told,
        });
        output::write_file(path, &format!("{all:#}\n"))?;
    }
    if let Some(signal) = uncontended_sys::interrupts::received() {
        uncontended_sys::interrupts::die_by(signal);
    }
    Ok(worst)
}

/// The answer, the lines for people and the entry in JSON.
fn entry(judged: Result<Verdict, Failure>) -> (Answer, String, Json) {
    let failed = |failure: Failure| {
        let entry = json!({ "verdict": Answer::Error.name(), "error": failure.cause, "remedy": failure.remedy });
        (Answer::Error, format!("error\n{failure}\n"), entry)
    };
    match judged {
        Ok(verdict) => match serde_json::to_value(&verdict) {
            Ok(entry) => (verdict.finding.verdict, output::human(&verdict), entry),
            Err(error) => failed(Failure::new(format!("cannot write JSON: {error}"), "")),
        },
        Err(failure) => failed(failure),
    }
}

/// The properties of a suite, each with its share of the error.
fn read(text: &str, default_error: f64, quiet: bool) -> Result<(Vec<Property>, f64), String> {
    let mut suite: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let max_error = match suite.remove("max-error") {
        Some(Value::Float(error)) => value::rate(&error.to_string())?,
        Some(Value::String(error)) => value::rate(&error)?,
        Some(other) => return Err(format!("max-error is no share, but a {}", other.type_str())),
        None => default_error,
    };
    let mut tables = Vec::new();
    for (kind, last) in KINDS {
        match suite.remove(kind) {
            None => {}
            Some(Value::Array(entries)) => {
                for entry in entries {
                    let Value::Table(table) = entry else {
                        return Err(format!(
                            "'{kind}' holds a {}: write [[{kind}]]",
                            entry.type_str()
                        ));
                    };
                    tables.push((kind, last, table));
                }
            }
            Some(_) => return Err(format!("'{kind}' is no array of tables: write [[{kind}]]")),
        }
    }
    if let Some(key) = suite.keys().next() {
        return Err(format!(
            "'{key}' is unknown here: max-error, [[slo]], [[compare]] and [[permute]] are known"
        ));
    }
    if tables.is_empty() {
        return Err("there is no property in it".to_string());
    }
    let share = share(max_error, tables.len()).map_err(|failure| failure.cause)?;
    let mut properties = Vec::new();
    for (number, (kind, last, mut table)) in tables.into_iter().enumerate() {
        let name = match table.remove("name") {
            Some(Value::String(name)) => name,
            Some(other) => return Err(format!("a name is no text, but a {}", other.type_str())),
            None => format!("{kind} {}", number + 1),
        };
        let mut words = arguments(kind, last, table).map_err(|cause| format!("{name}: {cause}"))?;
        words.insert(1, format!("--max-error={share:e}"));
        if quiet {
            words.insert(1, "--quiet".to_string());
        }
        let one = One::try_parse_from(words).map_err(|error| {
            let text = error.to_string();
            format!(
                "{name}: {}",
                text.lines().next().unwrap_or_default().trim_start_matches("error: ")
            )
        })?;
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
                after =
                    texts(&value).ok_or_else(|| format!("{key} is no text and no list of texts"))?
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
    use super::read;

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
            match read(&text, 0.01, true) {
                Ok((properties, _)) => accepted += usize::from(!properties.is_empty()),
                Err(why) => assert!(!why.is_empty()),
            }
        }
        assert!(accepted > 0);
    }
}
