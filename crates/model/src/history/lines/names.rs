//! Maps the values and keys of a file to numbers, and back.

use super::line::{Parser, Scalar};
use super::reader::Problem;
use std::borrow::Cow;
use std::collections::HashMap;

/// The values and keys of a file.
#[derive(Debug, Clone)]
pub struct Dictionary {
    /// The values.
    pub values: Names,
    /// The keys.
    pub keys: Names,
}

impl Default for Dictionary {
    fn default() -> Self {
        Dictionary { values: Names::new("values"), keys: Names::new("keys") }
    }
}

/// Numbers stand for themselves; texts are numbered in order of appearance. A file uses one or the other.
#[derive(Debug, Clone)]
pub struct Names {
    /// What is mapped, for messages: `values`.
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
    fn new(what: &'static str) -> Self {
        Names { what, kind: None, numbers: HashMap::new(), texts: vec![] }
    }

    /// The number that stands for `scalar`.
    pub fn number(&mut self, scalar: &Scalar<'_>) -> Result<i64, Problem> {
        let kind = match scalar {
            Scalar::Number(_) => Kind::Numbers,
            Scalar::Text(_) => Kind::Texts,
            Scalar::Nothing | Scalar::Truth(_) => {
                return Err(Problem::new(
                    format!("{scalar} is not one of the {}", self.what),
                    "use whole numbers, or strings for all of them",
                ));
            }
        };
        if *self.kind.get_or_insert(kind) != kind {
            return Err(Problem::new(
                format!("{scalar} among {} of another type", self.what),
                format!("write all {} as numbers, or all as strings", self.what),
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

    /// Like `number`, with `null` as `None`.
    pub fn optional(&mut self, scalar: &Scalar<'_>) -> Result<Option<i64>, Problem> {
        match scalar {
            Scalar::Nothing => Ok(None),
            scalar => self.number(scalar).map(Some),
        }
    }

    /// The number of a value typed by a user: JSON, or bare text.
    pub fn of_word(&mut self, word: &str) -> Result<Option<i64>, Problem> {
        let mut parser = Parser::new(word);
        let scalar = parser.scalar().and_then(|scalar| parser.end().map(|()| scalar));
        let is_list = word.starts_with(['[', '{']);
        let cannot =
            || Problem::new(format!("{word} is not a value"), "use a whole number or a string");
        match scalar {
            Ok(scalar) => self.optional(&scalar).map_err(|_| cannot()),
            Err(_) if is_list => Err(cannot()),
            Err(_) => self.number(&Scalar::Text(word.into())).map(Some).map_err(|_| cannot()),
        }
    }

    /// The value with this number.
    pub fn scalar(&self, number: i64) -> Scalar<'_> {
        let text = usize::try_from(number).ok().and_then(|number| self.texts.get(number));
        match (self.kind, text) {
            (Some(Kind::Texts), Some(text)) => Scalar::Text(Cow::Borrowed(text)),
            _ => Scalar::Number(number),
        }
    }

    /// The value with this number, as text for people.
    pub fn show(&self, number: i64) -> String {
        self.scalar(number).to_string()
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> usize {
        // Both copies of a text, and their entries in the tables.
        self.texts.iter().map(|text| 2 * text.len() + 96).sum()
    }
}
