//! Reads a file of lines into a history.
//!
//! # Contract
//! One pass, line by line; only the operation of a line is kept. An error states the line's number, the cause and the
//! remedy. A client has one open operation at a time, unless its operations have an `id`.

use super::super::check::Bound;
use super::super::operation::Operation;
use super::super::timeline::MOST_OPERATIONS;
use super::forms::{CallOf, Form, OutputOf};
use super::line::{Line, Scalar};
use super::names::Dictionary;
use super::{SCHEMA, UNITS};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::io::{BufRead, Read as _};

/// The longest line, in bytes.
const LONGEST: u64 = 1 << 20;

/// The byte order mark that some editors write.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes per operation that deciding needs in addition to the operation: positions, events, lifetimes.
const DECIDING: usize = 100;

/// The cause of an error in a line, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The cause.
    pub cause: String,
    /// The remedy, as a phrase.
    pub remedy: String,
}

impl Problem {
    /// A cause and a remedy.
    pub fn new(cause: impl Into<String>, remedy: impl Into<String>) -> Self {
        Problem { cause: cause.into(), remedy: remedy.into() }
    }
}

/// Why a file cannot be read as a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The line, from 1, if the error is in one.
    pub line: Option<u64>,
    /// The cause and the remedy.
    pub problem: Problem,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { cause, remedy } = &self.problem;
        match self.line {
            Some(line) => write!(out, "line {line}: {cause} ({remedy})"),
            None => write!(out, "{cause} ({remedy})"),
        }
    }
}

impl std::error::Error for Unreadable {}

/// A history read from a file, or one to write.
pub struct Recorded<F: Form + ?Sized> {
    /// The operations.
    pub operations: Vec<Operation<CallOf<F>, OutputOf<F>>>,
    /// The line of each operation.
    pub lines: Vec<u32>,
    /// The values and keys that numbers stand for.
    pub names: Dictionary,
    /// The names of clients, by their number.
    pub clients: Vec<Scalar<'static>>,
    /// The unit of times, one of [`UNITS`].
    pub unit: &'static str,
    /// Pairs of operations of one client in which the second was called at the same time at which the first returned.
    pub ties: u64,
    /// Why reading stopped early: `operations` are then only the first of the file.
    pub stopped: Option<Bound>,
}

impl<F: Form> fmt::Debug for Recorded<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operations, clients) = (self.operations.len(), self.clients.len());
        let mut out = out.debug_struct("Recorded");
        out.field("operations", &operations).field("clients", &clients).finish_non_exhaustive()
    }
}

impl<F: Form> Recorded<F> {
    /// A history whose clients, values and keys are named by their numbers.
    pub fn new(operations: Vec<Operation<CallOf<F>, OutputOf<F>>>) -> Self {
        let clients = operations.iter().map(|operation| operation.client() + 1).max();
        Recorded {
            lines: (1..=operations.len() as u32).collect(),
            operations,
            names: Dictionary::default(),
            clients: (0..clients.unwrap_or(0))
                .map(|client| Scalar::Number(client.into()))
                .collect(),
            unit: UNITS[0],
            ties: 0,
            stopped: None,
        }
    }

    /// A client's name, quoted only if it has characters other than letters, digits and the like.
    pub fn client(&self, number: u32) -> String {
        plain(&self.clients[number as usize])
    }
}

/// The clients so far.
#[derive(Debug, Default)]
struct Clients {
    numbers: HashMap<Scalar<'static>, u32>,
    /// The time at which each client last returned.
    returned: Vec<u64>,
}

impl Clients {
    /// The number of a client; adds a new client to `names`.
    fn number(
        &mut self,
        scalar: &Scalar<'_>,
        names: &mut Vec<Scalar<'static>>,
    ) -> Result<u32, Problem> {
        if matches!(scalar, Scalar::Nothing | Scalar::Truth(_)) {
            let why = format!("{scalar} is not a client");
            return Err(Problem::new(why, "use a whole number or a string"));
        }
        let next = names.len() as u32;
        Ok(match self.numbers.entry(scalar.clone().into_owned()) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                names.push(entry.key().clone());
                self.returned.push(0);
                *entry.insert(next)
            }
        })
    }
}

/// A client's name, quoted only if it has characters other than letters, digits and the like.
fn plain(client: &Scalar<'_>) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-.:/@".contains(c);
    match client {
        Scalar::Text(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_string(),
        client => client.to_string(),
    }
}

/// The key of an open operation: its client or its id.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Key {
    Client(u32),
    Id(String),
}

/// Reads a history. Calls `go_on` now and then with the number of lines read. Reading stops when it returns false, or
/// when the history and what deciding needs would take more than `memory_bytes`.
pub fn read<F: Form>(
    form: &F,
    mut input: impl BufRead,
    names: Dictionary,
    memory_bytes: usize,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Recorded<F>, Unreadable> {
    let mut recorded = Recorded::new(vec![]);
    recorded.names = names;
    let (open, ids, clients) = (HashMap::new(), HashMap::new(), Clients::default());
    let mut reading = Reading { form, recorded, clients, open, ids };
    let mut text = Vec::new();
    let mut number = 0;
    loop {
        text.clear();
        let got = (&mut input).take(LONGEST).read_until(b'\n', &mut text);
        let got = got.map_err(|error| {
            let why = format!("cannot be read: {error}");
            let problem = Problem::new(why, "name a file of JSON lines, or - for stdin");
            Unreadable { line: None, problem }
        })?;
        if got == 0 {
            break;
        }
        number += 1;
        let skipped = if number == 1 && text.starts_with(BYTE_ORDER_MARK) { 3 } else { 0 };
        let line = reading.line(number, &text[skipped..]);
        line.map_err(|problem| Unreadable { line: Some(number), problem })?;
        if number % 4096 == 0 {
            reading.recorded.stopped = match go_on(number) {
                false => Some(Bound::Stopped),
                true if reading.bytes() > memory_bytes => Some(Bound::Memory),
                true => continue,
            };
            break;
        }
    }
    let recorded = reading.recorded;
    if recorded.operations.is_empty() {
        let problem = Problem::new("the file has no operations", "see `unc linearize --help`");
        return Err(Unreadable { line: None, problem });
    }
    Ok(recorded)
}

struct Reading<'f, F: Form> {
    form: &'f F,
    recorded: Recorded<F>,
    clients: Clients,
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
            return Err(Problem::new(
                "the line is longer than 1 MiB",
                "write one operation per line",
            ));
        }
        if text.trim_ascii().is_empty() {
            return Ok(());
        }
        if text.trim_ascii_start().starts_with(b"[") {
            let remedy = "write one object per line, not an array: `jq -c '.[]'` splits an array";
            return Err(Problem::new("a JSON array begins here", remedy));
        }
        let line = Line::parse(text)?;
        if let Some(schema) = &line.schema {
            return self.head(number, schema, line.unit.as_deref());
        }
        let client = line.client.as_ref().ok_or_else(|| {
            Problem::new(
                "\"client\" is missing",
                "add \"client\": the client, thread or process that made the call",
            )
        })?;
        let client = self.clients.number(client, &mut self.recorded.clients)?;
        let key = match &line.id {
            Some(id) => Key::Id(id.to_string()),
            None => Key::Client(client),
        };
        match (&line.op, line.call) {
            (Some(_), Some(called_at)) => self.call(number, &line, key, client, called_at),
            (None, None) => self.returns(&line, &key, client),
            (Some(_), None) => {
                Err(Problem::new("\"call\" is missing", "add \"call\": the time of the call"))
            }
            (None, Some(_)) => {
                Err(Problem::new("\"op\" is missing", "add \"op\": the name of the operation"))
            }
        }
    }

    fn head(&mut self, number: u64, schema: &str, unit: Option<&str>) -> Result<(), Problem> {
        if number != 1 {
            return Err(Problem::new("\"schema\" belongs only in the first line", "leave it out"));
        }
        if schema != SCHEMA {
            let why = format!("unknown schema {schema:?}");
            return Err(Problem::new(why, format!("this unc reads {SCHEMA:?}")));
        }
        let unit = unit.unwrap_or(UNITS[0]);
        self.recorded.unit = UNITS.into_iter().find(|known| *known == unit).ok_or_else(|| {
            let known = format!("Use {}.", UNITS.join(", "));
            Problem::new(format!("unknown unit {unit:?}"), known)
        })?;
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
            let who = self.recorded.client(client);
            return Err(Problem::new(
                format!("client {who} calls again, but its call of line {begun} has not returned"),
                "after a call that never returned, use a new client; or give each operation an \"id\"",
            ));
        }
        if let Key::Id(id) = &key
            && let Some(before) = self.ids.insert(id.clone(), number as u32)
        {
            let why = format!("id {id} is already used in line {before}");
            return Err(Problem::new(why, "give each operation its own id"));
        }
        let last = self.clients.returned[client as usize];
        let is_in_order = matches!(key, Key::Client(_));
        if is_in_order && called_at < last {
            return Err(Problem::new(
                format!(
                    "time goes back: called at {called_at}, but the client's last operation returned at {last}"
                ),
                "write each client's operations in order, with times of one clock",
            ));
        }
        self.recorded.ties += u64::from(is_in_order && called_at == last && last > 0);
        if self.recorded.operations.len() == MOST_OPERATIONS {
            return Err(Problem::new("more than 2^30 operations", "check a part of the history"));
        }
        let call = self.form.call(line, &mut self.recorded.names)?;
        let operation = match line.returned {
            Some(returned_at) => {
                self.done(client, called_at, call, returned_at, line.result.as_ref())?
            }
            None if line.result.is_some() => {
                let why = "\"return\" is missing, although there is a \"result\"";
                return Err(Problem::new(why, "add \"return\": the time of the return"));
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
            let why = "\"op\" and \"return\" are both missing";
            return Err(Problem::new(why, "a line holds a call, a return, or both"));
        };
        let Some(op) = self.open.remove(key) else {
            let who = self.recorded.client(client);
            let why = match key {
                Key::Client(_) => format!("client {who} returns without a call"),
                Key::Id(id) => match self.ids.get(id) {
                    Some(line) => format!(
                        "the operation with id {id}, called in line {line}, has already returned"
                    ),
                    None => format!(
                        "client {who} returns from the operation with id {id}, which was never called"
                    ),
                },
            };
            return Err(Problem::new(
                why,
                "write the line of a call before the line of its return",
            ));
        };
        let open = &self.recorded.operations[op as usize];
        if open.client() != client {
            let who = self.recorded.client(open.client());
            let why = format!(
                "client {who} called the operation with this id, but another client returns from it"
            );
            return Err(Problem::new(why, "name the same client in both lines"));
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
                "take both times from one clock that never goes back",
            ));
        }
        let output = self.form.output(&call, result, &mut self.recorded.names)?;
        let last = &mut self.clients.returned[client as usize];
        *last = returned_at.max(*last);
        Ok(Operation::done(client, called_at, call, returned_at, output))
    }
}
