//! Reads a file of lines into a history.
//!
//! # Contract
//! One pass, line by line; only its operation is kept of a line. An error states the line's number, the cause and the
//! remedy. A client has one open operation at a time, unless its operations have an `id`.

use super::forms::{CallOf, Dictionary, Form, OutputOf};
use super::line::{Line, Scalar};
use crate::failure::Failure;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{BufRead, Read as _};
use uncontended_model::history::{MOST_OPERATIONS, Operation};

/// The schema that the first line may name.
pub(super) const SCHEMA: &str = "uncontended.operations/1";

/// The longest line, in bytes.
const LONGEST: u64 = 1 << 20;

/// The byte order mark that some editors write.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes per operation that deciding takes in addition to the operation: positions, events, lifetimes.
const DECIDING: usize = 100;

/// What is wrong with a line, and the remedy.
#[derive(Debug)]
pub(super) struct Problem {
    cause: String,
    remedy: String,
}

impl Problem {
    pub(super) fn new(cause: impl Into<String>, remedy: impl Into<String>) -> Self {
        Problem { cause: cause.into(), remedy: remedy.into() }
    }
}

/// A recorded history.
pub(super) struct Recorded<F: Form> {
    pub(super) operations: Vec<Operation<CallOf<F>, OutputOf<F>>>,
    /// The line of each operation.
    pub(super) lines: Vec<u32>,
    pub(super) names: Dictionary,
    pub(super) clients: Clients,
    /// The suffix of a time: a space and the unit.
    pub(super) unit: &'static str,
    /// Pairs of operations of one client of which the second was called at the very time at which the first returned.
    pub(super) ties: u64,
    /// Why reading stopped early.
    pub(super) stopped: Option<Stopped>,
}

/// Why reading stopped early.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Stopped {
    Memory,
    Asked,
}

/// The names of clients.
#[derive(Debug, Default)]
pub(super) struct Clients {
    numbers: HashMap<Client, u32>,
    pub(super) names: Vec<String>,
    /// When each client last returned.
    returned: Vec<u64>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Client {
    Number(i64),
    Text(String),
}

impl Clients {
    fn number(&mut self, scalar: &Scalar<'_>) -> Result<u32, Problem> {
        let client = match scalar {
            Scalar::Number(number) => Client::Number(*number),
            Scalar::Text(text) => Client::Text(text.as_ref().to_owned()),
            Scalar::Nothing | Scalar::Truth(_) => {
                let why = format!("{scalar} is not a client");
                return Err(Problem::new(why, "A client is a whole number or a text."));
            }
        };
        let next = self.names.len() as u32;
        Ok(match self.numbers.entry(client) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                self.names.push(plain(scalar));
                self.returned.push(0);
                *entry.insert(next)
            }
        })
    }
}

/// A client's name, quoted only if it has more than letters, digits and the like.
fn plain(client: &Scalar<'_>) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-.:/@".contains(c);
    match client {
        Scalar::Text(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_string(),
        client => client.to_string(),
    }
}

/// An open operation: of a client, or with an id.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Key {
    Client(u32),
    Id(String),
}

/// Reads a history.
pub(super) fn read<F: Form>(
    form: &F,
    mut input: impl BufRead,
    names: Dictionary,
    max_memory_bytes: usize,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Recorded<F>, Failure> {
    let mut reading = Reading {
        form,
        recorded: Recorded {
            operations: vec![],
            lines: vec![],
            names,
            clients: Clients::default(),
            unit: " ns",
            ties: 0,
            stopped: None,
        },
        open: HashMap::new(),
        ids: HashMap::new(),
    };
    let mut text = Vec::new();
    let mut number = 0;
    loop {
        text.clear();
        let got = (&mut input).take(LONGEST).read_until(b'\n', &mut text);
        let got = got.map_err(|error| {
            Failure::new(
                format!("cannot be read: {error}"),
                "Name a file of JSON lines, or - for stdin.",
            )
        })?;
        if got == 0 {
            break;
        }
        number += 1;
        let skipped = if number == 1 && text.starts_with(BYTE_ORDER_MARK) { 3 } else { 0 };
        reading.line(number, &text[skipped..]).map_err(|problem| {
            Failure::new(format!("line {number}: {}", problem.cause), problem.remedy)
        })?;
        if number % 4096 == 0 {
            reading.recorded.stopped = match go_on(number) {
                false => Some(Stopped::Asked),
                true if reading.bytes() > max_memory_bytes => Some(Stopped::Memory),
                true => continue,
            };
            break;
        }
    }
    let recorded = reading.recorded;
    if recorded.operations.is_empty() {
        return Err(Failure::new("it holds no operations", "See `unc linearize --help`."));
    }
    Ok(recorded)
}

struct Reading<'f, F: Form> {
    form: &'f F,
    recorded: Recorded<F>,
    /// The open operation of each key.
    open: HashMap<Key, u32>,
    /// The line of each id.
    ids: HashMap<String, u32>,
}

impl<F: Form> Reading<'_, F> {
    fn bytes(&self) -> usize {
        let each = size_of::<Operation<CallOf<F>, OutputOf<F>>>() + size_of::<u32>() + DECIDING;
        let names = self.recorded.names.values.bytes() + self.recorded.names.keys.bytes();
        self.recorded.operations.len() * each + names + self.ids.len() * 96
    }

    fn line(&mut self, number: u64, text: &[u8]) -> Result<(), Problem> {
        if text.len() as u64 == LONGEST {
            return Err(Problem::new("it is longer than 1 MiB", "Write one operation per line."));
        }
        if text.trim_ascii().is_empty() {
            return Ok(());
        }
        if text.trim_ascii_start().starts_with(b"[") {
            let remedy = "Write one object per line, not an array: `jq -c '.[]'` splits an array.";
            return Err(Problem::new("a JSON array begins here", remedy));
        }
        let line: Line<'_> = serde_json::from_slice(text).map_err(|error| not_json(&error))?;
        if let Some(schema) = &line.schema {
            return self.head(number, schema, line.unit.as_deref());
        }
        let client = line.client.as_ref().ok_or_else(|| {
            Problem::new("there is no \"client\"", "Say which client, thread or process it was.")
        })?;
        let client = self.recorded.clients.number(client)?;
        let key = match &line.id {
            Some(id) => Key::Id(id.to_string()),
            None => Key::Client(client),
        };
        match (&line.op, line.call) {
            (Some(_), Some(called_at)) => self.call(number, &line, key, client, called_at),
            (None, None) => self.returns(&line, &key, client),
            (Some(_), None) => {
                Err(Problem::new("there is no \"call\"", "Add \"call\": the time of the call."))
            }
            (None, Some(_)) => {
                Err(Problem::new("there is no \"op\"", "Add \"op\": what was called."))
            }
        }
    }

    fn head(&mut self, number: u64, schema: &str, unit: Option<&str>) -> Result<(), Problem> {
        if number != 1 {
            return Err(Problem::new("\"schema\" belongs only in the first line", "Leave it out."));
        }
        if schema != SCHEMA {
            let why = format!("unknown schema {schema:?}");
            return Err(Problem::new(why, format!("This unc reads {SCHEMA:?}.")));
        }
        self.recorded.unit = match unit {
            None | Some("ns") => " ns",
            Some("us") => " us",
            Some("ms") => " ms",
            Some("s") => " s",
            Some("ticks") => "",
            Some(unit) => {
                let why = format!("unknown unit {unit:?}");
                return Err(Problem::new(why, "Use ns, us, ms, s or ticks."));
            }
        };
        Ok(())
    }

    /// A line with a call, and perhaps its return.
    fn call(
        &mut self,
        number: u64,
        line: &Line<'_>,
        key: Key,
        client: u32,
        called_at: u64,
    ) -> Result<(), Problem> {
        if let Some(open) = self.open.get(&key) {
            let begun = self.recorded.lines[*open as usize];
            let who = &self.recorded.clients.names[client as usize];
            return Err(Problem::new(
                format!("client {who} calls again, but its call of line {begun} has not returned"),
                "Give it another client number after a call that never returned, or an \"id\" to each operation.",
            ));
        }
        if let Key::Id(id) = &key
            && let Some(before) = self.ids.insert(id.clone(), number as u32)
        {
            let why = format!("the id {id} was used in line {before}");
            return Err(Problem::new(why, "Give each operation an id of its own."));
        }
        let last = self.recorded.clients.returned[client as usize];
        let is_in_order = matches!(key, Key::Client(_));
        if is_in_order && called_at < last {
            return Err(Problem::new(
                format!(
                    "time goes back: called at {called_at}, but the client's last operation returned at {last}"
                ),
                "Write each client's operations in their order, with one clock.",
            ));
        }
        self.recorded.ties += u64::from(is_in_order && called_at == last && last > 0);
        if self.recorded.operations.len() == MOST_OPERATIONS {
            return Err(Problem::new("more than 2^30 operations", "Check a part of them."));
        }
        let call = self.form.call(line, &mut self.recorded.names)?;
        let operation = match line.returned {
            Some(returned_at) => {
                self.done(client, called_at, call, returned_at, line.result.as_ref())?
            }
            None if line.result.is_some() => {
                let why = "there is a \"result\", but no \"return\"";
                return Err(Problem::new(why, "Add \"return\": the time of the return."));
            }
            None => {
                self.open.insert(key, self.recorded.operations.len() as u32);
                Operation::pending(client, called_at, call)
            }
        };
        self.recorded.operations.push(operation);
        self.recorded.lines.push(number as u32);
        Ok(())
    }

    /// A line with only a return.
    fn returns(&mut self, line: &Line<'_>, key: &Key, client: u32) -> Result<(), Problem> {
        let Some(returned_at) = line.returned else {
            let why = "there is neither \"op\" nor \"return\"";
            return Err(Problem::new(why, "A line holds a call, a return, or both."));
        };
        let Some(op) = self.open.remove(key) else {
            let who = &self.recorded.clients.names[client as usize];
            let why = match key {
                Key::Client(_) => format!("client {who} returns without a call"),
                Key::Id(id) => match self.ids.get(id) {
                    Some(line) => format!(
                        "the operation with the id {id}, called in line {line}, has returned before"
                    ),
                    None => format!(
                        "client {who} returns from the operation with the id {id}, which was never called"
                    ),
                },
            };
            return Err(Problem::new(why, "Write the line of the call before that of its return."));
        };
        let open = &self.recorded.operations[op as usize];
        if open.client() != client {
            let who = &self.recorded.clients.names[open.client() as usize];
            let why = format!("client {who} called the operation with this id, another returns it");
            return Err(Problem::new(why, "Name the same client in both lines."));
        }
        let (called_at, call) = (open.called_at(), open.call().clone());
        let done = self.done(client, called_at, call, returned_at, line.result.as_ref())?;
        self.recorded.operations[op as usize] = done;
        Ok(())
    }

    fn done(
        &mut self,
        client: u32,
        called_at: u64,
        call: CallOf<F>,
        returned_at: u64,
        result: Option<&Scalar<'_>>,
    ) -> Result<Operation<CallOf<F>, OutputOf<F>>, Problem> {
        if returned_at < called_at {
            return Err(Problem::new(
                format!("time goes back: called at {called_at}, returned at {returned_at}"),
                "Take both times from one clock that never goes back.",
            ));
        }
        let output = self.form.output(&call, result, &mut self.recorded.names)?;
        let last = &mut self.recorded.clients.returned[client as usize];
        *last = returned_at.max(*last);
        Ok(Operation::done(client, called_at, call, returned_at, output))
    }
}

/// The error in the JSON of a line, and its remedy.
fn not_json(error: &serde_json::Error) -> Problem {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    let (text, remedy) = match text.split_once(": write it as text") {
        Some((text, _)) => (text, "Write it as text, in quotes."),
        None if text.contains("is not a time") => {
            (text, "Write whole numbers below 2^63, such as nanoseconds of one clock.")
        }
        None if error.is_eof() => ("the line ends too early", "Was the file cut off?"),
        None if text.starts_with("control character") => {
            ("a text does not end, or holds a control character", "Was the line cut off?")
        }
        None => (text, "A line is one JSON object; see docs/json.md."),
    };
    Problem::new(format!("column {}: {text}", error.column()), remedy)
}
