//! One line: a JSON object whose values are scalars.
//!
//! # Contract
//! Strict: everything that RFC 8259 does not allow is refused, and so are unknown and repeated fields. Text without
//! escapes is borrowed from the line.

use super::reader::Problem;
use std::borrow::Cow;
use std::fmt;

/// Every field that a line may have.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Line<'a> {
    /// The schema; only in the first line.
    pub schema: Option<Cow<'a, str>>,
    /// The unit of times; next to `schema`.
    pub unit: Option<Cow<'a, str>>,
    /// The operation's id.
    pub id: Option<Scalar<'a>>,
    /// The caller.
    pub client: Option<Scalar<'a>>,
    /// The name of the call.
    pub op: Option<Cow<'a, str>>,
    /// An argument.
    pub key: Option<Scalar<'a>>,
    /// An argument.
    pub value: Option<Scalar<'a>>,
    /// An argument.
    pub old: Option<Scalar<'a>>,
    /// An argument.
    pub new: Option<Scalar<'a>>,
    /// The output.
    pub result: Option<Scalar<'a>>,
    /// The time of the call.
    pub call: Option<u64>,
    /// The time of the return: the field `return`.
    pub returned: Option<u64>,
}

const FIELDS: &str = "schema, unit, id, client, op, key, value, old, new, result, call, return";

/// A JSON value that is not a list or an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scalar<'a> {
    /// `null`.
    Nothing,
    /// `true` or `false`.
    Truth(bool),
    /// A whole number.
    Number(i64),
    /// A string.
    Text(Cow<'a, str>),
}

impl Scalar<'_> {
    /// An owned copy.
    pub fn into_owned(self) -> Scalar<'static> {
        match self {
            Scalar::Nothing => Scalar::Nothing,
            Scalar::Truth(truth) => Scalar::Truth(truth),
            Scalar::Number(number) => Scalar::Number(number),
            Scalar::Text(text) => Scalar::Text(Cow::Owned(text.into_owned())),
        }
    }

    /// A copy that borrows from this one.
    pub(super) fn borrowed(&self) -> Scalar<'_> {
        match self {
            Scalar::Nothing => Scalar::Nothing,
            Scalar::Truth(truth) => Scalar::Truth(*truth),
            Scalar::Number(number) => Scalar::Number(*number),
            Scalar::Text(text) => Scalar::Text(Cow::Borrowed(text)),
        }
    }
}

/// For people; [`super::write`] writes JSON.
impl fmt::Display for Scalar<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Nothing => out.write_str("null"),
            Scalar::Truth(truth) => write!(out, "{truth}"),
            Scalar::Number(number) => write!(out, "{number}"),
            Scalar::Text(text) => write!(out, "{text:?}"),
        }
    }
}

impl<'a> Line<'a> {
    /// Parses a line.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Problem> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let why = format!("column {}: this is not UTF-8", error.valid_up_to() + 1);
            Problem::new(why, "write text as UTF-8")
        })?;
        let mut parser = Parser { text, at: 0 };
        let line = parser.object()?;
        parser.end()?;
        Ok(line)
    }

    fn set(&mut self, name: &str, parser: &mut Parser<'a>) -> Result<(), Problem> {
        let scalar = match name {
            "id" => &mut self.id,
            "client" => &mut self.client,
            "key" => &mut self.key,
            "value" => &mut self.value,
            "old" => &mut self.old,
            "new" => &mut self.new,
            "result" => &mut self.result,
            "schema" => return text(&mut self.schema, name, parser),
            "unit" => return text(&mut self.unit, name, parser),
            "op" => return text(&mut self.op, name, parser),
            "call" => return time(&mut self.call, name, parser),
            "return" => return time(&mut self.returned, name, parser),
            _ => {
                let why = format!("unknown field {name:?}");
                return Err(parser.problem(why, format!("known: {FIELDS}")));
            }
        };
        once(scalar.is_some(), name, parser)?;
        *scalar = Some(parser.scalar()?);
        Ok(())
    }
}

fn once(is_there: bool, name: &str, parser: &Parser<'_>) -> Result<(), Problem> {
    match is_there {
        false => Ok(()),
        true => Err(parser.problem(format!("duplicate field `{name}`"), "leave one of them out")),
    }
}

/// A string; `null` counts as absent.
fn text<'a>(
    field: &mut Option<Cow<'a, str>>,
    name: &str,
    parser: &mut Parser<'a>,
) -> Result<(), Problem> {
    once(field.is_some(), name, parser)?;
    match parser.scalar()? {
        Scalar::Text(text) => *field = Some(text),
        Scalar::Nothing => (),
        other => {
            return Err(parser.problem(format!("{other} is not a string"), "put it in quotes"));
        }
    }
    Ok(())
}

/// A time; `null` counts as absent.
fn time(field: &mut Option<u64>, name: &str, parser: &mut Parser<'_>) -> Result<(), Problem> {
    once(field.is_some(), name, parser)?;
    let from = parser.at;
    let value = match parser.peek() {
        Some(b'-' | b'0'..=b'9') => parser.number().and_then(|number| u64::try_from(number).ok()),
        _ => match parser.scalar()? {
            Scalar::Nothing => return Ok(()),
            _ => None,
        },
    };
    *field = value;
    match value {
        Some(_) => Ok(()),
        None => {
            let why = format!("{} is not a time", &parser.text[from..parser.at]);
            let remedy = "write whole numbers below 2^63, such as nanoseconds of one clock";
            Err(parser.problem(why, remedy))
        }
    }
}

/// A cursor in a line.
pub(super) struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Parser { text, at: 0 }
    }

    fn problem(&self, cause: impl fmt::Display, remedy: impl Into<String>) -> Problem {
        Problem::new(format!("column {}: {cause}", self.at + 1), remedy)
    }

    fn unexpected(&self, expected: &str) -> Problem {
        match self.text[self.at..].chars().next() {
            None => self.problem("the line ends too early", "was the file cut off?"),
            Some(found) => self.problem(
                format!("expected {expected}, found {found:?}"),
                "a line is one JSON object; see docs/json.md",
            ),
        }
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8, name: &str) -> Result<(), Problem> {
        match self.peek() == Some(byte) {
            true => self.at += 1,
            false => return Err(self.unexpected(name)),
        }
        Ok(())
    }

    /// Expects the end of the line.
    pub(super) fn end(&mut self) -> Result<(), Problem> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the line")),
        }
    }

    fn object(&mut self) -> Result<Line<'a>, Problem> {
        let mut line = Line::default();
        self.take(b'{', "a JSON object")?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(line);
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a field"));
            }
            let name = self.string()?;
            self.take(b':', "a colon")?;
            self.peek();
            line.set(&name, self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.unexpected("a comma or the end of the object")),
            }
        }
        self.at += 1;
        Ok(line)
    }

    pub(super) fn scalar(&mut self) -> Result<Scalar<'a>, Problem> {
        match self.peek() {
            Some(b'"') => self.string().map(Scalar::Text),
            Some(b'-' | b'0'..=b'9') => {
                let from = self.at;
                self.number().map(Scalar::Number).ok_or_else(|| {
                    let why =
                        format!("{} is not a whole number of 64 bits", &self.text[from..self.at]);
                    self.problem(why, "write it as a string, in quotes")
                })
            }
            _ => {
                for (word, scalar) in [
                    ("null", Scalar::Nothing),
                    ("true", Scalar::Truth(true)),
                    ("false", Scalar::Truth(false)),
                ] {
                    if self.text[self.at..].starts_with(word) {
                        self.at += word.len();
                        return Ok(scalar);
                    }
                }
                Err(self.unexpected("a whole number, a string, true, false or null"))
            }
        }
    }

    /// A whole number, if it fits 64 bits. Moves past it in any case.
    fn number(&mut self) -> Option<i64> {
        let from = self.at;
        let is_in_number =
            |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let bytes = &self.text.as_bytes()[from..];
        self.at += bytes.iter().take_while(|byte| is_in_number(byte)).count();
        let number = &self.text[from..self.at];
        let digits = number.strip_prefix('-').unwrap_or(number);
        let leads = digits.len() > 1 && digits.starts_with('0');
        // Rust's own parser also accepts a plus sign.
        if leads || digits.starts_with('+') { None } else { number.parse().ok() }
    }

    /// A string: begins at its first quotation mark, and moves past its last.
    fn string(&mut self) -> Result<Cow<'a, str>, Problem> {
        self.at += 1;
        let mut whole: Option<String> = None;
        loop {
            let rest = &self.text[self.at..];
            let is_plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | 0..0x20);
            let plain = rest.bytes().take_while(is_plain).count();
            let part = &rest[..plain];
            self.at += plain;
            match rest.as_bytes().get(plain) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(match whole {
                        None => Cow::Borrowed(part),
                        Some(whole) => Cow::Owned(whole + part),
                    });
                }
                Some(b'\\') => {
                    self.at += 1;
                    let escaped = self.escaped()?;
                    let whole = whole.get_or_insert_default();
                    whole.push_str(part);
                    whole.push(escaped);
                }
                _ => {
                    let why = "a string is not closed, or contains a control character";
                    return Err(self.problem(why, "was the line cut off?"));
                }
            }
        }
    }

    /// The character after a backslash.
    fn escaped(&mut self) -> Result<char, Problem> {
        let byte = self.text.as_bytes().get(self.at).copied();
        let character = match byte {
            Some(b'u') => return self.unicode(),
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            _ => return Err(self.unexpected("an escaped character")),
        };
        self.at += 1;
        Ok(character)
    }

    /// `u` and four digits; twice that for characters that take two units of UTF-16.
    fn unicode(&mut self) -> Result<char, Problem> {
        let from = self.at;
        let first = self.unit()?;
        let mut units = vec![first];
        if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u") {
            self.at += 1;
            units.push(self.unit()?);
        }
        let mut characters = char::decode_utf16(units);
        match (characters.next(), characters.next()) {
            (Some(Ok(character)), None) => Ok(character),
            _ => {
                let why = format!("\\{} is an unpaired surrogate", &self.text[from..self.at]);
                Err(self.problem(why, "write text as UTF-8"))
            }
        }
    }

    fn unit(&mut self) -> Result<u16, Problem> {
        let digits = self.text.as_bytes().get(self.at + 1..self.at + 5);
        let is_hex = |digits: &&[u8]| digits.iter().all(u8::is_ascii_hexdigit);
        let Some(digits) = digits.filter(is_hex) else {
            self.at += 1;
            return Err(self.problem("\\u takes four hexadecimal digits", "write text as UTF-8"));
        };
        self.at += 5;
        let digit =
            |unit: u16, digit: &u8| unit << 4 | char::from(*digit).to_digit(16).unwrap_or(0) as u16;
        Ok(digits.iter().fold(0, digit))
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Scalar};
    use crate::random::Random;
    use serde_json::Value;

    const SEED: &str = r#" {"id":"a\u00e9\ud83d\ude00\n","client":-7,"op":"cas","old":null,"new":"\"","call":0,"return":12,"result":true}"#;

    /// A line that is accepted reads as in serde_json; a line that serde_json refuses is refused.
    fn as_serde_json_has_it(text: &[u8]) -> bool {
        let Ok(line) = Line::parse(text) else { return false };
        let value: Value = serde_json::from_slice(text)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(text)));
        let scalar = |scalar: &Option<Scalar<'_>>| match scalar {
            None => Value::Null,
            Some(Scalar::Nothing) => Value::Null,
            Some(Scalar::Truth(truth)) => (*truth).into(),
            Some(Scalar::Number(number)) => (*number).into(),
            Some(Scalar::Text(text)) => text.as_ref().into(),
        };
        let field = |name: &str| match value.get(name) {
            // The only number that `Line` accepts and serde_json does not read as a whole one.
            Some(number) if number.as_f64() == Some(0.0) => 0.into(),
            field => field.cloned().unwrap_or_default(),
        };
        for (name, read) in [
            ("id", scalar(&line.id)),
            ("client", scalar(&line.client)),
            ("old", scalar(&line.old)),
            ("new", scalar(&line.new)),
            ("result", scalar(&line.result)),
            ("op", line.op.as_deref().into()),
            ("call", line.call.into()),
            ("return", line.returned.into()),
        ] {
            assert_eq!(read, field(name), "{name} of {}", String::from_utf8_lossy(text));
        }
        true
    }

    #[test]
    fn a_line_is_read_as_another_reader_reads_it() {
        assert!(as_serde_json_has_it(SEED.as_bytes()));
        let (mut random, mut read) = (Random(1), 0);
        for _ in 0..200_000 {
            let mut text = SEED.as_bytes().to_vec();
            for _ in 0..=random.below(2) {
                let at = random.below(text.len() as u64) as usize;
                let byte = br#"{}":,\u09-.eEn dD8tx"#[random.below(20) as usize];
                match random.below(3) {
                    0 => text[at] = byte,
                    1 => text.insert(at, byte),
                    _ => drop(text.remove(at)),
                }
            }
            read += u32::from(as_serde_json_has_it(&text));
        }
        assert!((5_000..150_000).contains(&read), "{read} of 200,000 were lines");
    }

    #[test]
    fn what_json_does_not_allow_is_refused() {
        for text in [
            "",
            "{",
            "{}x",
            "{,}",
            "[]",
            r#"{"id":}"#,
            r#"{"id":01}"#,
            r#"{"id":+1}"#,
            r#"{"id":-+1}"#,
            r#"{"id":-}"#,
            r#"{"id":1,}"#,
            r#"{"id":1 "op":"a"}"#,
            r#"{id:1}"#,
            r#"{"id":"\x"}"#,
            r#"{"id":"\ud800"}"#,
            r#"{"id":"\udc00"}"#,
            r#"{"id":"\ud800\u0041"}"#,
            r#"{"id":"\u00g0"}"#,
            r#"{"id":"\u00"#,
            "{\"id\":\"\t\"}",
            r#"{"id":nul}"#,
            r#"{"id":1,"id":1}"#,
            r#"{"op":1}"#,
        ] {
            assert!(Line::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(Line::parse(b"{\"id\":\"\xff\"}").is_err());
    }
}
