//! Maps the values, keys and clients of a file to numbers, and back.

use super::line::Scalar;
use super::reader::Problem;
use crate::failure::Failure;
use serde_json::Value;
use std::collections::HashMap;

/// Numbers stand for themselves; texts are numbered in order of appearance. A file uses one or the other.
#[derive(Debug)]
pub(super) struct Names {
    /// What is named, for messages: `values`.
    what: &'static str,
    kind: Option<Kind>,
    numbers: HashMap<String, i64>,
    texts: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Numbers,
    Texts,
}

impl Names {
    pub(super) fn new(what: &'static str) -> Self {
        Names { what, kind: None, numbers: HashMap::new(), texts: vec![] }
    }

    /// The number that stands for `scalar`.
    pub(super) fn number(&mut self, scalar: &Scalar<'_>) -> Result<i64, Problem> {
        let kind = match scalar {
            Scalar::Number(_) => Kind::Numbers,
            Scalar::Text(_) => Kind::Texts,
            Scalar::Nothing | Scalar::Truth(_) => {
                return Err(Problem::new(
                    format!("{scalar} is not one of the {}", self.what),
                    "They are whole numbers, or all texts.",
                ));
            }
        };
        if *self.kind.get_or_insert(kind) != kind {
            return Err(Problem::new(
                format!("{scalar} among {} of another type", self.what),
                format!("Write all {} as numbers, or all as text.", self.what),
            ));
        }
        match scalar {
            Scalar::Number(number) => Ok(*number),
            Scalar::Text(text) => Ok(self.of_text(text)),
            Scalar::Nothing | Scalar::Truth(_) => Ok(0),
        }
    }

    fn of_text(&mut self, text: &str) -> i64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as i64;
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }

    /// The same; `null` is `None`.
    pub(super) fn optional(&mut self, scalar: &Scalar<'_>) -> Result<Option<i64>, Problem> {
        match scalar {
            Scalar::Nothing => Ok(None),
            scalar => self.number(scalar).map(Some),
        }
    }

    /// The number of a value on the command line: JSON, or bare text.
    pub(super) fn of_flag(&mut self, text: &str) -> Result<Option<i64>, Failure> {
        let scalar = match serde_json::from_str(text) {
            Ok(Value::Null) => return Ok(None),
            Ok(Value::Number(number)) => number.as_i64().map(Scalar::Number),
            Ok(Value::String(text)) => Some(Scalar::Text(text.into())),
            Ok(_) => None,
            Err(_) => Some(Scalar::Text(text.into())),
        };
        let number = scalar.and_then(|scalar| self.number(&scalar).ok());
        let cannot =
            || Failure::new(format!("{text} is not a value"), "Give a whole number or a text.");
        number.map(Some).ok_or_else(cannot)
    }

    /// The text of `number`, as people read it.
    pub(super) fn show(&self, number: i64) -> String {
        match self.kind {
            Some(Kind::Texts) => format!("{:?}", self.texts[number as usize]),
            _ => number.to_string(),
        }
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> usize {
        // Both copies of a text, and their places in the tables.
        self.texts.iter().map(|text| 2 * text.len() + 96).sum()
    }
}
