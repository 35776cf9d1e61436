//! The text of a litmus file: a cursor, and errors with line and column.

use std::fmt;

/// Why a litmus file was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.line, self.column, self.reason)
    }
}

impl std::error::Error for Refusal {}

/// A position in the text, in bytes.
pub(super) type At = usize;

/// An error at a position.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) at: At,
    pub(super) reason: String,
}

/// Shorthand for an `Err`.
pub(super) fn wrong<T>(at: At, reason: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { at, reason: reason.into() })
}

impl Wrong {
    /// Line and column of the position in `text`.
    pub(super) fn locate(self, text: &str) -> Refusal {
        let mut at = self.at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        Refusal { line, column, reason: self.reason }
    }
}

/// The text with its comments `(* … *)`, which nest, replaced by blanks; positions do not change. If a comment is not
/// closed, the error is where the outermost one begins, so all comments before that are closed.
pub(super) fn without_comments(text: &str) -> Result<String, Wrong> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut open = Vec::new();
    let mut quoted = false;
    let mut at = 0;
    while at < bytes.len() {
        let pair = &bytes[at..bytes.len().min(at + 2)];
        if open.is_empty() && bytes[at] == b'"' {
            quoted = !quoted;
        }
        if bytes[at] == b'\n' {
            quoted = false;
        }
        let ends = pair == b"*)" && !open.is_empty();
        if !quoted && pair == b"(*" || ends {
            if ends {
                open.pop();
            } else {
                open.push(at);
            }
            out.extend_from_slice(b"  ");
            at += 2;
            continue;
        }
        let blank = !open.is_empty() && bytes[at] != b'\n';
        out.push(if blank { b' ' } else { bytes[at] });
        at += 1;
    }
    if let Some(&at) = open.first() {
        return wrong(at, "this comment is not closed");
    }
    String::from_utf8(out).or_else(|_| wrong(0, "the text is not UTF-8"))
}

/// A cursor in a piece of text.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    /// The position of the piece in the file.
    base: At,
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str, base: At) -> Self {
        Cursor { text, base, at: 0 }
    }

    /// The position in the file.
    pub(super) fn at(&self) -> At {
        self.base + self.at
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    pub(super) fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Skips blanks, and takes `token` if it comes next.
    pub(super) fn take(&mut self, token: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Skips blanks and takes a word of letters, digits, `_`, `.` and `'`; empty if there is none.
    pub(super) fn word(&mut self) -> &'t str {
        self.blanks();
        let rest = self.rest();
        let end =
            rest.find(|c: char| !(c.is_alphanumeric() || "_.'".contains(c))).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Skips blanks and takes a number as a 64-bit word: decimal or hexadecimal, with optional sign.
    pub(super) fn number(&mut self) -> Result<u64, Wrong> {
        self.blanks();
        let at = self.at();
        let negative = self.rest().starts_with('-');
        if negative || self.rest().starts_with('+') {
            self.at += 1;
        }
        let word = self.word();
        match number(word) {
            Some(value) => Ok(if negative { value.wrapping_neg() } else { value }),
            None => wrong(at, format!("expected a number, found {}", shown(word, self.rest()))),
        }
    }
}

fn number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// The next piece of text, for an error message.
pub(super) fn shown(word: &str, rest: &str) -> String {
    match (word.is_empty(), rest.chars().next()) {
        (false, _) => format!("`{}`", word.chars().take(40).collect::<String>()),
        (true, Some('\n')) => "the end of the line".into(),
        (true, Some(c)) => format!("`{}`", c.escape_default()),
        (true, None) => "the end of the text".into(),
    }
}
