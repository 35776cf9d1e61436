//! The keys of one property of a suite: taken one by one until none is left.
//!
//! # Contract
//! A key has the name of the corresponding flag. Numbers may be written as numbers or as text, and are read by one
//! grammar. A key that the plan does not take is refused by name, with the most similar one that it would take.

use std::ops::RangeInclusive;
use toml::{Table, Value};
use uncontended_figures::text::closest;

/// The keys not taken yet.
#[derive(Debug)]
pub struct Keys {
    table: Table,
    /// Every key that was asked for.
    known: Vec<String>,
}

impl Keys {
    /// All keys of a table.
    #[must_use]
    pub fn new(table: Table) -> Keys {
        Keys { table, known: Vec::new() }
    }

    /// Whether it is there, not taken yet.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// The value as it is in the file.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.known.push(key.to_string());
        self.table.remove(key)
    }

    /// Whether it is present and true.
    ///
    /// # Errors
    /// If it is anything but true or false.
    pub fn flag(&mut self, key: &str) -> Result<bool, String> {
        match self.take(key) {
            None => Ok(false),
            Some(Value::Boolean(value)) => Ok(value),
            Some(other) => Err(format!("{key} is true or false, not of type {}", other.type_str())),
        }
    }

    /// A text, or a number as text.
    ///
    /// # Errors
    /// If it is neither.
    pub fn text(&mut self, key: &str) -> Result<Option<String>, String> {
        let Some(value) = self.take(key) else { return Ok(None) };
        match plain(&value) {
            Some(text) => Ok(Some(text)),
            None => Err(format!("{key} is a text or a number, not of type {}", value.type_str())),
        }
    }

    /// A text, or a list of texts; none is an empty list.
    ///
    /// # Errors
    /// If it is neither.
    pub fn texts(&mut self, key: &str) -> Result<Vec<String>, String> {
        let texts = match self.take(key) {
            None => Some(Vec::new()),
            Some(Value::Array(values)) => values.iter().map(plain).collect(),
            Some(value) => plain(&value).map(|text| vec![text]),
        };
        texts.ok_or_else(|| format!("{key} is neither text nor a list of texts"))
    }

    /// A text parsed by `read`.
    ///
    /// # Errors
    /// If `read` refuses it.
    pub fn read<T>(
        &mut self,
        key: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let text = self.text(key)?;
        text.map(|text| read(&text)).transpose().map_err(|error| format!("{key}: {error}"))
    }

    /// A whole number.
    ///
    /// # Errors
    /// If it is not one, or out of range.
    pub fn whole(&mut self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, String> {
        self.read(key, |text| match text.parse() {
            Ok(number) if range.contains(&number) => Ok(number),
            _ if *range.end() == u64::MAX => {
                Err(format!("'{text}' is not a whole number from {} on", range.start()))
            }
            _ => Err(format!("'{text}' is not from {} to {}", range.start(), range.end())),
        })
    }

    /// One of several named values.
    ///
    /// # Errors
    /// If none has this name.
    pub fn named<T: Copy>(&mut self, key: &str, all: &[(&str, T)]) -> Result<Option<T>, String> {
        self.read(key, |text| {
            let found = all.iter().find(|(name, _)| *name == text);
            found.map(|(_, value)| *value).ok_or_else(|| {
                let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
                format!("'{text}' is none of {}", names.join(", "))
            })
        })
    }

    /// Refuses keys that contradict or repeat each other.
    ///
    /// # Errors
    /// If more than one of them is present.
    pub fn exclude(&self, keys: &[&str]) -> Result<(), String> {
        let there: Vec<&str> = keys.iter().copied().filter(|key| self.has(key)).collect();
        match there.as_slice() {
            [one, other, ..] => Err(format!("{one} cannot be used with {other}")),
            _ => Ok(()),
        }
    }

    /// Refuses a key that nothing has taken.
    ///
    /// # Errors
    /// If there is such a key.
    pub fn end(&self) -> Result<(), String> {
        let Some(key) = self.table.keys().next() else { return Ok(()) };
        let near = closest(key, self.known.iter().map(String::as_str));
        let hint = near.map_or(String::new(), |known| format!("; did you mean '{known}'?"));
        Err(format!("unknown key '{key}'{hint}"))
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}
