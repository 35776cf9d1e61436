//! Executions as diagrams: a column for each thread and buffer, time running down.
//!
//! # Contract
//! A [`Diagram`] is a table; [`Diagram::text`], [`Diagram::svg`] and [`Diagram::page`] render the same cells. The
//! output depends only on the table, so it can be compared with a stored file. Executions of programs
//! ([`Diagram::of_trace`]) and of real code ([`crate::real::Violation`]) use the same drawing code.
//!
//! # Evidence
//! tests/diagrams.rs, tests/real_diagrams.rs (golden files).

mod page;
mod pen;
mod svg;
mod text;

pub(crate) use pen::Pen;
#[cfg(all(
    feature = "real",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub(crate) use text::{WIDTH, wrapped};

use crate::program::{Program, Value};
use crate::search::Trace;
use crate::step::{Actor, Happening};

/// One moment of an execution: a row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// One cell per column; most are empty.
    pub cells: Vec<String>,
    /// A note next to the row: in real code, the source location.
    pub note: String,
    /// Whether the row is highlighted.
    pub marked: bool,
}

/// An arrow from a row to a later one that reads what the first wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrow {
    /// The earlier row.
    pub from: usize,
    /// The later row.
    pub to: usize,
    /// Whether the read synchronises: the earlier row happens before the later one.
    pub orders: bool,
}

/// A table whose columns are threads and store buffers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagram {
    /// The title: a heading on its first line, then facts that belong to it, one per line.
    pub title: String,
    /// The names of the columns.
    pub heads: Vec<String>,
    /// The rows, in order.
    pub rows: Vec<Row>,
    /// The result, on one line.
    pub result: String,
    /// The reasons, one per line.
    pub reasons: Vec<String>,
    /// Arrows between rows.
    pub arrows: Vec<Arrow>,
    /// Whether rows are numbered, from 1.
    pub numbered: bool,
    /// What signs and names mean, one or more per line.
    pub legend: Vec<String>,
}

impl Diagram {
    /// An empty diagram with these columns.
    pub fn new(title: impl Into<String>, heads: &[&str]) -> Self {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        Diagram { title: title.into(), heads, ..Diagram::default() }
    }

    /// Adds a row with one cell and returns the row.
    ///
    /// # Panics
    /// If the column does not exist.
    pub fn moment(&mut self, column: usize, text: impl Into<String>) -> &mut Row {
        let mut cells = vec![String::new(); self.heads.len()];
        cells[column] = text.into();
        self.rows.push(Row { cells, note: String::new(), marked: false });
        self.rows.last_mut().expect("just pushed")
    }

    /// Draws an execution.
    pub fn of_trace(
        title: impl Into<String>,
        program: &Program,
        trace: &Trace,
        result: impl Into<String>,
    ) -> Self {
        let mut drawing = Drawing::new(program, trace);
        for step in &trace.steps {
            drawing.step(step.actor, &step.happened);
        }
        for thread in 0..program.threads.len() {
            if trace.outcome.stuck >> thread & 1 == 1 {
                drawing.pen.moment(thread, "waits forever").marked = true;
            }
        }
        drawing.pen.finish(title.into(), result.into())
    }

    /// The first line of the title.
    pub(crate) fn heading(&self) -> &str {
        self.title.lines().next().unwrap_or_default()
    }

    /// The label of a row.
    pub(crate) fn number(&self, row: usize) -> String {
        format!("#{}", row + 1)
    }
}

/// An execution being drawn.
struct Drawing<'p> {
    program: &'p Program,
    pen: Pen,
}

impl<'p> Drawing<'p> {
    fn new(program: &'p Program, trace: &Trace) -> Self {
        let happened = || trace.steps.iter().flat_map(|step| &step.happened);
        let buffers = |thread: usize| {
            happened().any(
                |h| matches!(h, Happening::Buffered { thread: t, .. } if usize::from(*t) == thread),
            )
        };
        let threads =
            (0..program.threads.len()).map(|thread| (format!("P{thread}"), buffers(thread)));
        Drawing { program, pen: Pen::new(threads) }
    }

    fn name(&self, loc: u16) -> &'p str {
        &self.program.locations[usize::from(loc)].name
    }

    fn step(&mut self, actor: Actor, happened: &[Happening]) {
        let mut at = 0;
        while at < happened.len() {
            // A read and a write of memory in one step are one LOCKed operation.
            if let (
                Some(Happening::Read { thread, loc, value, .. }),
                Some(Happening::Wrote { value: new, drained, .. }),
            ) = (happened.get(at), happened.get(at + 1))
                && !drained
                && matches!(actor, Actor::Thread(_))
            {
                let text =
                    format!("{}: {} -> {} LOCKed", self.name(*loc), signed(*value), signed(*new));
                self.pen.moment(usize::from(*thread), text);
                at += 2;
                continue;
            }
            self.happening(&happened[at]);
            at += 1;
        }
    }

    fn happening(&mut self, happening: &Happening) {
        let (thread, text) = match *happening {
            Happening::Read { thread, loc, value, forwarded } => {
                let from = if forwarded { " (own buffer)" } else { "" };
                (thread, format!("read {} = {}{from}", self.name(loc), signed(value)))
            }
            Happening::Buffered { thread, loc, value } => {
                let (name, value) = (self.name(loc), signed(value));
                let waiting = format!("{name}={value}");
                self.pen.buffered(usize::from(thread), format!("{name} := {value}"), waiting);
                return;
            }
            Happening::Wrote { thread, drained: true, .. } => {
                self.pen.drained(usize::from(thread));
                return;
            }
            Happening::Wrote { thread, loc, value, drained: false } => {
                (thread, format!("{} := {}", self.name(loc), signed(value)))
            }
            Happening::Fenced { thread } => (thread, "fence".to_owned()),
            Happening::Locked { thread, loc } => (thread, format!("holds {}", self.name(loc))),
            Happening::Passed { thread, loc } => {
                (thread, format!("does not sleep on {}", self.name(loc)))
            }
            Happening::Slept { thread, loc } => (thread, format!("sleeps on {}", self.name(loc))),
            Happening::Woke { thread, loc, sleepers } => {
                let who: Vec<_> = (0..self.program.threads.len())
                    .filter(|t| sleepers >> t & 1 == 1)
                    .map(|t| format!("P{t}"))
                    .collect();
                let who = if who.is_empty() { "no thread".to_owned() } else { who.join(", ") };
                (thread, format!("wakes {who} on {}", self.name(loc)))
            }
            Happening::Asked { thread, others } => {
                let all = others.count_ones() as usize + 1 == self.program.threads.len();
                (thread, if all { "membarrier" } else { "waits for an interrupt" }.to_owned())
            }
            Happening::Interrupted { on, .. } => (on, "* interrupt *".to_owned()),
            Happening::Ticked => (0, "(tick)".to_owned()),
            Happening::Faulted { thread } => (thread, "names no location".to_owned()),
        };
        self.pen.moment(usize::from(thread), text);
    }
}

fn signed(value: Value) -> i64 {
    value.cast_signed()
}
