//! JSON that people can read in a pager: one line per field of the upper levels, deeper values on one line.
//!
//! # Contract
//! The text is ordinary JSON. Fields of objects of the first five levels have lines of their own, indented by two; a
//! histogram or a stack stays on the line of its field, which reduces the report of a long run to a third of its size.
//! # Evidence
//! Tests below; `benches/large_report.rs`.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

/// Levels with one line per field: the report, its processes, their locks, and the fields of each.
const DEPTH: usize = 5;

/// `value` as JSON text ending in a line feed.
///
/// # Errors
/// Only those of `value` itself, such as a map whose keys are not text.
pub fn text(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut text = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut text, Shallow::default()))?;
    text.push(b'\n');
    Ok(text)
}

/// Writes line feeds only in the upper levels.
#[derive(Default)]
struct Shallow {
    depth: usize,
    /// Whether the value that ends last had elements.
    filled: bool,
}

impl Shallow {
    fn open<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        out.write_all(bracket)
    }

    fn part<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        match (first, self.depth <= DEPTH) {
            (true, false) => Ok(()),
            (false, false) => out.write_all(b", "),
            (true, true) => self.line(out),
            (false, true) => out.write_all(b",").and_then(|()| self.line(out)),
        }
    }

    fn line<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        out.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| out.write_all(b"  "))
    }

    fn close<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        let own_line = self.filled && self.depth <= DEPTH;
        self.depth -= 1;
        self.filled = true;
        if own_line {
            self.line(out)?;
        }
        out.write_all(bracket)
    }
}

impl Formatter for Shallow {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.part(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.part(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn upper_levels_have_lines_and_lower_ones_do_not() {
        let value = json!({ "a": [], "b": { "c": [1, { "d": { "e": { "f": [[1, 2], [3]] } } }] } });
        let found = String::from_utf8(text(&value).unwrap()).unwrap();
        let lines = "{\n  \"a\": [],\n  \"b\": {\n    \"c\": [\n      1,\n      {\n        \"d\": {\n          \"e\": {\"f\": [[1, 2], \
                     [3]]}\n        }\n      }\n    ]\n  }\n}\n";
        assert_eq!(found, lines);
        assert_eq!(serde_json::from_str::<Value>(&found).unwrap(), value);
    }

    #[test]
    fn every_shape_is_read_back() {
        for value in [
            json!(null),
            json!([]),
            json!({}),
            json!([[[[[[[[]]]]]]]]),
            json!({ "": { "": [{}, [], "\n\"", -1.5] } }),
        ] {
            assert_eq!(serde_json::from_slice::<Value>(&text(&value).unwrap()).unwrap(), value);
        }
    }
}
