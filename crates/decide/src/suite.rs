//! Several questions with one error bound for all, read from TOML.
//!
//! # Contract
//! A suite is a TOML file with the tables `[[slo]]`, `[[compare]]` and `[[permute]]`. Their keys have the names of
//! those commands' flags; `command` (or `commands`, or `values = ["A.txt", "B.txt"]`) holds the positional arguments.
//! `max-error` at the top bounds the chance that *any* verdict is wrong: each of m properties gets an equal share
//! (Bonferroni), whatever they have in common. The whole file is checked before anything runs; the properties keep the
//! order of the file.
//! # Evidence
//! `tests/suite.rs`, `crates/cli/tests/decide_suite.rs`.

use crate::plan::{ComparePlan, Keys, PermutePlan, Plan, SloPlan};
use crate::value;
use serde::Deserialize;
use toml::{Spanned, Table, Value};
use uncontended_stats::MaxError;

/// The default error bound.
pub const DEFAULT_ERROR: f64 = 0.001;

/// Questions that are asked together.
#[derive(Debug)]
pub struct Suite {
    /// In the order of the file; at least one.
    pub properties: Vec<Property>,
    /// Largest chance that any verdict is wrong.
    pub max_error: f64,
    /// Each property's share of it.
    pub share: f64,
}

/// One property of a suite.
#[derive(Debug)]
pub struct Property {
    /// The name in the file, or its kind and number.
    pub name: String,
    /// The question.
    pub plan: Box<dyn Plan>,
}

/// Reads a plan with a given error bound.
type Read = fn(&mut Keys, f64) -> Result<Box<dyn Plan>, String>;

/// The file. Its tables keep their positions, which give their order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    max_error: Option<Value>,
    #[serde(default)]
    slo: Vec<Spanned<Table>>,
    #[serde(default)]
    compare: Vec<Spanned<Table>>,
    #[serde(default)]
    permute: Vec<Spanned<Table>>,
}

impl File {
    fn parse(text: &str) -> Result<File, String> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            format!("line {line}: {}", error.message())
        })
    }

    /// Every table with its kind and its reader.
    fn tables(self) -> Vec<(&'static str, Read, Spanned<Table>)> {
        let slo: Read = |keys, error| Ok(Box::new(SloPlan::from_keys(keys, error)?));
        let compare: Read = |keys, error| Ok(Box::new(ComparePlan::from_keys(keys, error)?));
        let permute: Read = |keys, error| Ok(Box::new(PermutePlan::from_keys(keys, error)?));
        let kinds = [
            ("slo", slo, self.slo),
            ("compare", compare, self.compare),
            ("permute", permute, self.permute),
        ];
        let mut tables = Vec::new();
        for (kind, read, of_kind) in kinds {
            tables.extend(of_kind.into_iter().map(|table| (kind, read, table)));
        }
        tables.sort_by_key(|(.., table)| table.span().start);
        tables
    }
}

impl Suite {
    /// Reads a suite; `max_error`, if given, overrides the file's.
    ///
    /// # Errors
    /// What is wrong with which property, or on which line.
    pub fn parse(text: &str, max_error: Option<f64>) -> Result<Suite, String> {
        let file = File::parse(text)?;
        let own = match &file.max_error {
            Some(Value::Float(error)) => Some(value::rate(&error.to_string())?),
            Some(Value::String(error)) => Some(value::rate(error)?),
            Some(other) => {
                return Err(format!("max-error is not a share but a {}", other.type_str()));
            }
            None => None,
        };
        let max_error = max_error.or(own).unwrap_or(DEFAULT_ERROR);
        let tables = file.tables();
        if tables.is_empty() {
            return Err("there is no property in it".to_string());
        }
        let count = u32::try_from(tables.len()).unwrap_or(u32::MAX);
        let share = MaxError::new(max_error).map_err(|error| error.to_string())?.split(count).get();
        let mut properties = Vec::new();
        for (number, (kind, read, table)) in tables.into_iter().enumerate() {
            let mut keys = Keys::new(table.into_inner());
            let name = match keys.take("name") {
                Some(Value::String(name)) => name,
                Some(other) => {
                    return Err(format!("a name is not text but a {}", other.type_str()));
                }
                None => format!("{kind} {}", number + 1),
            };
            let plan = property(keys, read, share).map_err(|cause| format!("{name}: {cause}"))?;
            properties.push(Property { name, plan });
        }
        Ok(Suite { properties, max_error, share })
    }
}

fn property(mut keys: Keys, read: Read, share: f64) -> Result<Box<dyn Plan>, String> {
    let whole = ["max-error", "json", "markdown", "html", "quiet", "suite"];
    if let Some(key) = whole.into_iter().find(|key| keys.has(key)) {
        return Err(format!("'{key}' belongs to the whole suite"));
    }
    read(&mut keys, share)
}
