//! Writes a history as lines.
//!
//! # Contract
//! What is written is read again as the same operations of the same clients, in the same order. An operation gets an
//! `id` only if its client has another one open, or called it before another one returned.

use super::forms::Form;
use super::line::{Line, Scalar};
use super::reader::Recorded;
use super::{SCHEMA, UNITS};
use std::io::{self, Write};

/// Writes a history, one operation per line.
pub fn write<F: Form>(form: &F, recorded: &Recorded<F>, out: &mut impl Write) -> io::Result<()> {
    if recorded.unit != UNITS[0] {
        let (schema, unit) = (Some(SCHEMA.into()), Some(recorded.unit.into()));
        json(&Line { schema, unit, ..Line::default() }, out)?;
    }
    // The time from which each client may call without an id; `None` once one of its operations did not return.
    let mut free_at = vec![Some(0); recorded.clients.len()];
    for (number, operation) in recorded.operations.iter().enumerate() {
        let client = operation.client() as usize;
        let is_in_order = free_at[client].is_some_and(|free| free <= operation.called_at());
        let returned_at = operation.returned_at();
        if let Some(free) = free_at[client] {
            free_at[client] = returned_at.map(|at| at.max(free));
        }
        let line = Line {
            id: (!is_in_order).then_some(Scalar::Number(number as i64)),
            client: Some(recorded.clients[client].borrowed()),
            call: Some(operation.called_at()),
            returned: returned_at,
            ..form.line(operation.call(), operation.output(), &recorded.names)
        };
        json(&line, out)?;
    }
    Ok(())
}

fn json(line: &Line<'_>, out: &mut impl Write) -> io::Result<()> {
    let text = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(quoted);
    let scalar = |scalar: &Option<Scalar<'_>>| {
        scalar.as_ref().map(|scalar| match scalar {
            Scalar::Text(text) => quoted(text),
            plain => plain.to_string(),
        })
    };
    let time = |time: Option<u64>| time.map(|time| time.to_string());
    let fields = [
        ("schema", text(&line.schema)),
        ("unit", text(&line.unit)),
        ("id", scalar(&line.id)),
        ("client", scalar(&line.client)),
        ("op", text(&line.op)),
        ("key", scalar(&line.key)),
        ("value", scalar(&line.value)),
        ("old", scalar(&line.old)),
        ("new", scalar(&line.new)),
        ("call", time(line.call)),
        ("return", time(line.returned)),
        ("result", scalar(&line.result)),
    ];
    let there = fields.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    for (at, (name, value)) in there.enumerate() {
        write!(out, "{}\"{name}\":{value}", if at == 0 { '{' } else { ',' })?;
    }
    out.write_all(b"}\n")
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\0'..='\x1f' => quoted.push_str(&format!("\\u{:04x}", u32::from(character))),
            character => quoted.push(character),
        }
    }
    quoted + "\""
}
