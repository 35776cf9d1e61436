//! Where a long run stands, on stderr: a line that is written over on a terminal, a line a table elsewhere.

use std::io::{IsTerminal, Write, stderr};

#[derive(Debug)]
pub(crate) struct Progress {
    quiet: bool,
    terminal: bool,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Progress {
        Progress { quiet, terminal: stderr().is_terminal() }
    }

    /// A table begins.
    pub(crate) fn table(&self, text: &str) {
        if !self.quiet && !self.terminal {
            self.write(&format!("{text}\n"));
        }
    }

    /// Something happened within a table.
    pub(crate) fn step(&self, text: &str) {
        if !self.quiet && self.terminal {
            self.write(&format!("\r\x1b[K{text}"));
        }
    }

    /// All tables are done.
    pub(crate) fn end(&self) {
        self.step("");
    }

    fn write(&self, text: &str) {
        // Where stderr is gone there is nobody to tell.
        let _ = stderr().write_all(text.as_bytes()).and_then(|()| stderr().flush());
    }
}
