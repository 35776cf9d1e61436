//! Why a program cannot run on this machine.

use std::fmt;
use std::io;
use uncontended_model::program::Malformed;

/// Why a program cannot run on this machine.
#[derive(Debug)]
pub enum Refusal {
    /// The generated code is for x86-64, and this is another architecture.
    Architecture,
    /// One CPU shows no concurrency.
    Processors(usize),
    /// The program refers to something that does not exist.
    Malformed(Malformed),
    /// The program has no threads.
    NoThreads,
    /// The program has more locations than the layout; the number is the program's.
    Locations(usize),
    /// A thread uses more registers than the generated code has; thread and number.
    Registers(usize, usize),
    /// An operation that the machine lacks, or that may never end on it.
    Operation {
        /// The thread.
        thread: usize,
        /// The operation within the thread, from 0.
        operation: usize,
        /// The operation, and why it cannot run.
        reason: &'static str,
    },
    /// The system refused a request.
    System {
        /// The request.
        request: &'static str,
        /// The error.
        error: io::Error,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Architecture => {
                write!(out, "this machine is not x86-64, the only one that code is generated for")
            }
            Refusal::Processors(n) => {
                write!(out, "{n} CPU available; at least 2 are needed to run threads at once")
            }
            Refusal::Malformed(fault) => fault.fmt(out),
            Refusal::NoThreads => write!(out, "the program has no threads"),
            Refusal::Locations(n) => {
                write!(out, "{n} locations; at most {} are run", crate::layout::LOCATIONS)
            }
            Refusal::Registers(thread, n) => {
                let most = crate::compile::REGISTERS.len();
                write!(out, "thread {thread} uses {n} registers; at most {most} are run")
            }
            Refusal::Operation { thread, operation, reason } => {
                write!(out, "operation {operation} of thread {thread}: {reason}")
            }
            Refusal::System { request, error } => write!(out, "{request}: {error}"),
        }
    }
}

impl std::error::Error for Refusal {}
