//! Printing the reports of one run.

use crate::console::{Stream, unprinted};
use std::thread::JoinHandle;
use uncontended_decide::Failure;

/// The report that is being printed.
#[derive(Debug)]
pub(crate) struct Printing {
    pub(crate) stream: Stream,
    before: Option<JoinHandle<()>>,
}

impl Printing {
    pub(crate) fn on(stream: Stream) -> Self {
        Printing { stream, before: None }
    }

    /// Prints a report: the last one now, others in a thread, for a slow reader must not keep `unc`
    /// from the program. One that comes while the one before is still being printed is left out. Only that the last one
    /// could not be written is a failure; if the stream is closed, it has no reader.
    pub(crate) fn print(&mut self, text: String, is_last: bool) -> Result<(), Failure> {
        let stream = self.stream;
        let write = move || stream.write(&text);
        let before = self.before.take_if(|before| is_last || before.is_finished());
        if let Some(before) = before {
            let _ = before.join(); // It has nothing to say.
        }
        if is_last {
            let remedy = "pass --report FILE to write the report to a file";
            return write().map_err(|error| unprinted(stream.name(), &error, remedy));
        }
        if self.before.is_none() {
            let thread = std::thread::Builder::new();
            // Without one, this report is left out, too.
            self.before = thread.spawn(move || drop(write())).ok();
        }
        Ok(())
    }
}
