//! Draws an execution step by step: one column per thread and, next to it, one for its store buffer.

use super::{Diagram, Row};
use std::collections::VecDeque;

/// A diagram being drawn, and the stores in each buffer.
pub(crate) struct Pen {
    diagram: Diagram,
    threads: Vec<Columns>,
}

/// The columns of a thread and of its buffer, if it has one, and the stores in it, oldest first.
struct Columns {
    thread: usize,
    buffer: Option<usize>,
    waiting: VecDeque<String>,
}

impl Pen {
    /// Threads by name, and whether each needs a column for its buffer.
    pub(crate) fn new(threads: impl Iterator<Item = (String, bool)>) -> Pen {
        let mut heads = Vec::new();
        let columns = threads.enumerate().map(|(number, (name, buffers))| {
            heads.push(name);
            let thread = heads.len() - 1;
            let buffer = buffers.then(|| {
                heads.push(format!("buffer {number}"));
                heads.len() - 1
            });
            Columns { thread, buffer, waiting: VecDeque::new() }
        });
        let threads = columns.collect();
        Pen { diagram: Diagram { heads, ..Diagram::default() }, threads }
    }

    /// Draws a step of a thread.
    pub(crate) fn moment(&mut self, thread: usize, text: impl Into<String>) -> &mut Row {
        self.diagram.moment(self.threads[thread].thread, text)
    }

    /// The step drawn last.
    #[cfg(all(
        feature = "real",
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))]
    pub(crate) fn last(&mut self) -> Option<&mut Row> {
        self.diagram.rows.last_mut()
    }

    /// A store enters the buffer of its thread; the buffer's column shows it as `waiting`.
    pub(crate) fn buffered(&mut self, thread: usize, text: String, waiting: String) -> &mut Row {
        let columns = &mut self.threads[thread];
        columns.waiting.push_back(waiting);
        let waiting: Vec<_> = columns.waiting.iter().map(String::as_str).collect();
        let waiting = columns.buffer.map(|column| (column, waiting.join(" ")));
        let row = self.diagram.moment(columns.thread, text);
        waiting.into_iter().for_each(|(column, text)| row.cells[column] = text);
        row
    }

    /// The thread's oldest store reaches memory. Returns false if there is none.
    pub(crate) fn drained(&mut self, thread: usize) -> bool {
        let columns = &mut self.threads[thread];
        let Some(oldest) = columns.waiting.pop_front() else { return false };
        let column = columns.buffer.unwrap_or(columns.thread);
        self.diagram.moment(column, format!("{oldest} to memory"));
        true
    }

    /// Finishes the diagram with its title and result.
    pub(crate) fn finish(self, title: String, result: String) -> Diagram {
        Diagram { title, result, ..self.diagram }
    }
}
