//! Executions as diagrams: a column for each thread and buffer, time running down.
//!
//! # Contract
//! A [`Diagram`] is a table; [`Diagram::text`] and [`Diagram::svg`] show the same cells. The output depends on nothing
//! but the table, so it can be compared with a stored file.
//! # Evidence
//! tests/diagrams.rs (golden files: the six interleavings of the lost wake-up, the flag flip).

pub mod interleavings;
mod svg;

use crate::program::{Program, Value};
use crate::search::Trace;
use crate::step::{Actor, Happening};

/// One moment: what stands in which column, and whether it is the point of the diagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// One cell for each column; most are empty.
    pub cells: Vec<String>,
    /// Set off from the others.
    pub marked: bool,
}

/// A table whose columns are threads and buffers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagram {
    /// What it shows, in one line.
    pub title: String,
    /// The names of the columns.
    pub heads: Vec<String>,
    /// The moments, first to last.
    pub rows: Vec<Row>,
    /// What came of it, in one line.
    pub result: String,
}

impl Diagram {
    /// An empty diagram with these columns.
    pub fn new(title: impl Into<String>, heads: &[&str]) -> Self {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        Diagram { title: title.into(), heads, rows: Vec::new(), result: String::new() }
    }

    /// Adds a moment with one cell.
    pub fn moment(&mut self, column: usize, text: impl Into<String>) {
        self.moment_with(vec![(column, text.into())]);
    }

    fn moment_with(&mut self, filled: Vec<(usize, String)>) {
        let mut cells = vec![String::new(); self.heads.len()];
        for (column, text) in filled {
            if let Some(cell) = cells.get_mut(column) {
                *cell = text;
            }
        }
        self.rows.push(Row { cells, marked: false });
    }

    /// The diagram of an execution.
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
                drawing.diagram.moment(drawing.threads[thread], "waits forever");
                if let Some(last) = drawing.diagram.rows.last_mut() {
                    last.marked = true;
                }
            }
        }
        Diagram { title: title.into(), result: result.into(), ..drawing.diagram }
    }

    /// The diagram in plain text, lines ending in `\n`.
    pub fn text(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row.cells[column].chars().count());
            cells.chain([self.heads[column].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.heads.len()).map(width).collect();
        let line = |cells: &[String], mark: &str| {
            let cells: Vec<_> =
                cells.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
            format!("{mark} {}", cells.join(" | ")).trim_end().to_owned() + "\n"
        };
        let mut out =
            if self.title.is_empty() { String::new() } else { format!("{}\n", self.title) };
        out += &line(&self.heads, " ");
        let rule: Vec<_> = widths.iter().map(|&width| "-".repeat(width)).collect();
        out += &format!("  {}\n", rule.join("-+-"));
        for row in &self.rows {
            out += &line(&row.cells, if row.marked { ">" } else { " " });
        }
        if !self.result.is_empty() {
            out += &format!("  => {}\n", self.result);
        }
        out
    }
}

/// A diagram of a trace being drawn.
struct Drawing<'p> {
    program: &'p Program,
    diagram: Diagram,
    /// Column of each thread, and of its buffer where it has one.
    threads: Vec<usize>,
    buffers: Vec<Option<usize>>,
    waiting: Vec<Vec<String>>,
}

impl<'p> Drawing<'p> {
    fn new(program: &'p Program, trace: &Trace) -> Self {
        let happened = || trace.steps.iter().flat_map(|step| &step.happened);
        let mut diagram = Diagram::default();
        let (mut threads, mut buffers) = (Vec::new(), Vec::new());
        for thread in 0..program.threads.len() {
            threads.push(diagram.heads.len());
            diagram.heads.push(format!("P{thread}"));
            let buffers_something = happened().any(
                |h| matches!(h, Happening::Buffered { thread: t, .. } if usize::from(*t) == thread),
            );
            buffers.push(buffers_something.then(|| {
                diagram.heads.push(format!("buffer {thread}"));
                diagram.heads.len() - 1
            }));
        }
        let waiting = vec![Vec::new(); program.threads.len()];
        Drawing { program, diagram, threads, buffers, waiting }
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
                self.diagram.moment(self.threads[usize::from(*thread)], text);
                at += 2;
                continue;
            }
            self.happening(&happened[at]);
            at += 1;
        }
    }

    fn happening(&mut self, happening: &Happening) {
        let column = |thread: u8| self.threads[usize::from(thread)];
        let (at, text) = match *happening {
            Happening::Read { thread, loc, value, forwarded } => {
                let from = if forwarded { " (own buffer)" } else { "" };
                (column(thread), format!("read {} = {}{from}", self.name(loc), signed(value)))
            }
            Happening::Buffered { thread, loc, value } => return self.buffered(thread, loc, value),
            Happening::Wrote { thread, loc, value, drained: true } => {
                return self.drained(thread, loc, value);
            }
            Happening::Wrote { thread, loc, value, drained: false } => {
                (column(thread), format!("{} := {}", self.name(loc), signed(value)))
            }
            Happening::Fenced { thread } => (column(thread), "fence".to_owned()),
            Happening::Locked { thread, loc } => {
                (column(thread), format!("holds {}", self.name(loc)))
            }
            Happening::Passed { thread, loc } => {
                (column(thread), format!("does not sleep on {}", self.name(loc)))
            }
            Happening::Slept { thread, loc } => {
                (column(thread), format!("sleeps on {}", self.name(loc)))
            }
            Happening::Woke { thread, loc, sleepers } => {
                let who: Vec<_> = (0..self.threads.len())
                    .filter(|t| sleepers >> t & 1 == 1)
                    .map(|t| format!("P{t}"))
                    .collect();
                let who = if who.is_empty() { "nobody".to_owned() } else { who.join(", ") };
                (column(thread), format!("wakes {who} on {}", self.name(loc)))
            }
            Happening::Asked { thread, others } => {
                let all = others.count_ones() as usize + 1 == self.threads.len();
                (
                    column(thread),
                    if all { "membarrier" } else { "waits for an interrupt" }.to_owned(),
                )
            }
            Happening::Interrupted { on, .. } => (column(on), "* interrupt *".to_owned()),
            Happening::Ticked => (0, "(tick)".to_owned()),
            Happening::Faulted { thread } => (column(thread), "names no location".to_owned()),
        };
        self.diagram.moment(at, text);
    }

    fn buffered(&mut self, thread: u8, loc: u16, value: Value) {
        let thread = usize::from(thread);
        let name = self.name(loc);
        self.waiting[thread].push(format!("{name}={}", signed(value)));
        let mut cells = vec![(self.threads[thread], format!("{name} := {}", signed(value)))];
        cells.extend(self.buffers[thread].map(|column| (column, self.waiting[thread].join(" "))));
        self.diagram.moment_with(cells);
    }

    fn drained(&mut self, thread: u8, loc: u16, value: Value) {
        let thread = usize::from(thread);
        if !self.waiting[thread].is_empty() {
            self.waiting[thread].remove(0);
        }
        let column = self.buffers[thread].unwrap_or(self.threads[thread]);
        self.diagram.moment(column, format!("{}={} to memory", self.name(loc), signed(value)));
    }
}

fn signed(value: Value) -> i64 {
    value.cast_signed()
}
