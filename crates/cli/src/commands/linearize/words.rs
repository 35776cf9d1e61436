//! Why a history is not linearizable, in a sentence.

use super::finding::count;
use serde_json::{Value, json};
use uncontended_model::history::lines::{CallOf, Form, OutputOf, Recorded};
use uncontended_model::history::{Bar, Core, Operation};

/// The suffix of a time.
fn suffix(unit: &str) -> String {
    if unit == "ticks" { String::new() } else { format!(" {unit}") }
}

/// An operation of a core, ready to be put into words.
#[derive(Debug)]
pub(super) struct Shown {
    client: String,
    line: u32,
    call: String,
    output: String,
    from: u64,
    to: Option<u64>,
    /// The suffix of a time.
    unit: String,
}

impl Shown {
    /// The operations of a core.
    pub(super) fn of<F: Form>(
        form: &F,
        recorded: &Recorded<F>,
        core: &Core<CallOf<F>, OutputOf<F>>,
    ) -> Vec<Shown> {
        let show = |(number, operation): (&u32, &Operation<CallOf<F>, OutputOf<F>>)| {
            let (call, output) = form.show(operation.call(), operation.output(), &recorded.names);
            Shown {
                client: recorded.client(operation.client()),
                line: recorded.lines[*number as usize],
                call,
                output,
                // The core may have dropped it.
                from: recorded.operations[*number as usize].called_at(),
                to: operation.returned_at(),
                unit: suffix(recorded.unit),
            }
        };
        core.numbers.iter().zip(&core.rest).map(show).collect()
    }

    /// Whether more is known of it than that it may have taken effect.
    pub(super) fn matters(&self) -> bool {
        self.to.is_some()
    }

    pub(super) fn bar(&self) -> Bar {
        Bar {
            who: format!("client {}", self.client),
            what: self.what(),
            from: self.from,
            to: self.to,
            note: format!("line {}", self.line),
            is_faint: !self.matters(),
        }
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "client": self.client,
            "line": self.line,
            "what": self.what(),
            "call": self.from,
            "return": self.to,
            "matters": self.matters(),
        })
    }

    fn what(&self) -> String {
        match self.output.is_empty() {
            true => self.call.clone(),
            false => format!("{} -> {}", self.call, self.output),
        }
    }

    /// The name of the operation, without its arguments.
    fn op(&self) -> &str {
        self.call.split(' ').next().unwrap_or_default()
    }

    fn argument(&self) -> &str {
        self.call.split_once(' ').map_or("", |(_, argument)| argument)
    }

    fn called(&self) -> String {
        format!("{}{}", self.from, self.unit)
    }

    fn returned(&self) -> String {
        self.to.map_or("never".to_owned(), |to| format!("{to}{}", self.unit))
    }

    /// The rank of its client among the others: numbers first, in order.
    pub(super) fn order(&self) -> (bool, i64, &str, u64) {
        let number = self.client.parse();
        (number.is_err(), number.unwrap_or(0), &self.client, self.from)
    }

    /// The values that it involves.
    fn values(&self) -> impl Iterator<Item = &str> {
        let is_of_map = matches!(self.op(), "get" | "put" | "delete");
        let arguments = self.argument().split(' ').skip(usize::from(is_of_map));
        arguments.chain([self.output.as_str()]).filter(|word| !["", "to"].contains(word))
    }

    /// Whether it could affect the operations that matter: it changes something, and takes whatever is there or
    /// involves one of their values.
    pub(super) fn is_near(&self, matter: &[&Shown]) -> bool {
        match self.op() {
            "read" | "get" | "contains" => false,
            "dequeue" | "pop" | "delete" => true,
            _ => {
                let theirs = || matter.iter().flat_map(|shown| shown.values());
                self.values().any(|value| theirs().any(|other| other == value))
            }
        }
    }

    /// `dequeue by client 3 returned 7 at 12.4 ms`.
    fn sentence(&self) -> String {
        let Shown { call, client, output, .. } = self;
        let at = self.returned();
        match output.as_str() {
            "" => format!("{call} by client {client} returned at {at}"),
            "empty" => {
                format!("{call} by client {client} found nothing ({} to {at})", self.called())
            }
            output => format!("{call} by client {client} returned {output} at {at}"),
        }
    }

    fn is_before(&self, other: &Shown) -> bool {
        self.to.is_some_and(|to| to < other.from)
    }
}

/// Why there is no order of these operations.
pub(super) fn reason(spec: &str, initial: Option<&str>, shown: &[Shown]) -> String {
    let matter: Vec<&Shown> = shown.iter().filter(|shown| shown.matters()).collect();
    let found = match spec {
        "register" => never_written(&matter, initial, shown).or_else(|| seen(&matter)),
        "queue" => container(&matter, "enqueue", "dequeue"),
        "stack" => container(&matter, "push", "pop"),
        _ => seen(&matter),
    };
    found.unwrap_or_else(|| match matter.as_slice() {
        [one] => format!("{}, which no order of the operations allows.", one.sentence()),
        _ => {
            let last = matter.iter().max_by_key(|shown| shown.to);
            let last = last.map_or(String::new(), |last| format!(": {}", last.sentence()));
            format!("No order of these {} fits{last}.", count(matter.len(), "operation"))
        }
    })
}

/// The past participle of an insertion.
fn done(into: &str) -> &str {
    match into {
        "push" => "pushed",
        _ => "enqueued",
    }
}

fn container(matter: &[&Shown], into: &str, out: &str) -> Option<String> {
    let put = |value: &str| {
        matter.iter().copied().find(|shown| shown.op() == into && shown.argument() == value)
    };
    let taken =
        || matter.iter().copied().filter(|shown| shown.op() == out && shown.output != "empty");
    let took = |value: &str| taken().find(|shown| shown.output == value);
    if let Some(empty) = matter.iter().find(|shown| shown.output == "empty") {
        let values: Vec<&str> = matter
            .iter()
            .filter(|shown| shown.op() == into)
            .map(|shown| shown.argument())
            .collect();
        let meanwhile = match values.as_slice() {
            [] => return None,
            [value] => format!("{value} was there all that time"),
            values => format!("one of {} was there all that time", values.join(", ")),
        };
        return Some(format!("{}, but {meanwhile}.", empty.sentence()));
    }
    for (at, first) in taken().enumerate() {
        let value = &first.output;
        if let Some(second) = taken().skip(at + 1).find(|second| second.output == *value) {
            return Some(format!(
                "{} was {} once, but came out twice: {}, and {}.",
                value,
                done(into),
                first.sentence(),
                second.sentence()
            ));
        }
        let Some(put) = put(value) else {
            if matter.len() == 1 {
                let (said, done) = (first.sentence(), done(into));
                return Some(format!("{said}, but {value} had not been {done} by then."));
            }
            continue;
        };
        if first.is_before(put) && matter.len() == 2 {
            let (said, called) = (first.sentence(), put.called());
            return Some(format!("{said}, but {} was called only at {called}.", put.call));
        }
    }
    match into {
        "enqueue" => overtaken(matter, put, took),
        _ => buried(matter, put, took),
    }
}

/// One value went in on top of another, which came out first.
fn buried<'a>(
    matter: &[&'a Shown],
    put: impl Fn(&str) -> Option<&'a Shown>,
    took: impl Fn(&str) -> Option<&'a Shown>,
) -> Option<String> {
    for pop in matter.iter().filter(|shown| shown.op() == "pop") {
        let Some(below) = put(&pop.output) else { continue };
        let pushes = matter.iter().filter(|shown| shown.op() == "push");
        for above in pushes.filter(|above| below.is_before(above) && above.is_before(pop)) {
            let (a, b) = (below.argument(), above.argument());
            let then = match took(b) {
                Some(took) if pop.is_before(took) => {
                    format!("the pop that returned {b} was called only at {}", took.called())
                }
                None if matter.len() == 3 => format!("{b} had not been popped by then"),
                _ => continue,
            };
            let (said, done, next) = (pop.sentence(), below.returned(), above.called());
            return Some(format!(
                "{said}, but {b} was pushed on top of {a} (push {a} had returned by {done}; push {b} was not called until {next}) and {then}."
            ));
        }
    }
    None
}

/// One value went in before another but came out after it.
fn overtaken<'a>(
    matter: &[&'a Shown],
    put: impl Fn(&str) -> Option<&'a Shown>,
    took: impl Fn(&str) -> Option<&'a Shown>,
) -> Option<String> {
    for later in matter.iter().filter(|shown| shown.op() == "dequeue") {
        let Some(second) = put(&later.output) else { continue };
        let firsts = matter.iter().filter(|shown| shown.op() == "enqueue");
        for first in firsts.filter(|first| first.is_before(second)) {
            let (a, b) = (first.argument(), second.argument());
            let then = match took(a) {
                Some(took) if later.is_before(took) => {
                    format!("the dequeue that returned {a} was called only at {}", took.called())
                }
                None if matter.len() == 3 => format!("{a} had not been dequeued by then"),
                _ => continue,
            };
            let (said, done, next) = (later.sentence(), first.returned(), second.called());
            return Some(format!(
                "{said}, but {a} was enqueued before {b} (enqueue {a} had returned by {done}; enqueue {b} was not called until {next}) and {then}."
            ));
        }
    }
    None
}

/// A register held a value that was never written.
fn never_written(matter: &[&Shown], initial: Option<&str>, shown: &[Shown]) -> Option<String> {
    let [one] = matter else { return None };
    let value = match (one.op(), one.output.as_str()) {
        ("read", value) => value,
        ("cas", "done") => one.argument().split_once(" to ")?.0,
        _ => return None,
    };
    if shown.iter().any(|other| !other.matters() && other.argument().ends_with(value)) {
        return None;
    }
    let start = match (initial, value.starts_with('"')) {
        (Some(initial), _) => format!("the register held {initial} at the start"),
        (None, true) => format!(
            "the register held nothing at the start (if it held something: --initial '{value}')"
        ),
        (None, false) => format!(
            "the register held nothing at the start (if it held something: --initial {value})"
        ),
    };
    Some(format!("{}, but no write of {value} was called by then, and {start}.", one.sentence()))
}

/// What reads and tests returned.
fn seen(matter: &[&Shown]) -> Option<String> {
    match matter {
        [one] => {
            Some(format!("{}, but nothing that was called by then explains it.", one.sentence()))
        }
        [first, second] if first.is_before(second) || second.is_before(first) => {
            let (first, second) =
                if first.is_before(second) { (first, second) } else { (second, first) };
            Some(format!("{}; then {}.", first.sentence(), second.sentence()))
        }
        [first, second, third] if first.is_before(second) && second.is_before(third) => {
            let (first, second) = (first.sentence(), second.sentence());
            Some(format!("{first}; then {second}; then {}.", third.sentence()))
        }
        _ => None,
    }
}
