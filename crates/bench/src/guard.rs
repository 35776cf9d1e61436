//! Runs one block so that a subject that panics or hangs is reported instead of ending or blocking the benchmark.
//!
//! # Contract
//! A subject that hangs is abandoned after the limit. Its threads cannot be ended from outside and keep running, so
//! later measurements may suffer; the report says so.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

use crate::block::{Block, Measured};

/// The code of a subject: runs one block.
pub(crate) type Work = Box<dyn FnMut(&mut Block) + Send>;

/// Why a block has no measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It panicked, with this message.
    Panicked(String),
    /// It did not end within the limit.
    Hung(Duration),
    /// It measured nothing, or no operation.
    Nothing,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Panicked(message) => write!(f, "panicked: {message}"),
            Failure::Hung(limit) => write!(f, "hung: a block did not end within {limit:?}"),
            Failure::Nothing => write!(f, "measured nothing"),
        }
    }
}

/// Runs `work` once on a new thread, pinned as the block's first thread. Returns `work` unless it hangs.
pub(crate) fn run(
    mut work: Work,
    mut block: Block,
    limit: Duration,
) -> (Option<Work>, Result<Measured, Failure>) {
    let (answer, answers) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            block.pinning().clone().pin(0);
            work(&mut block);
        }));
        // The receiver is gone if the limit has passed.
        let _ = answer.send((work, block, outcome));
    });
    let Ok((work, block, outcome)) = answers.recv_timeout(limit) else {
        return (None, Err(Failure::Hung(limit)));
    };
    // It has sent its result and is about to end.
    let _ = thread.join();
    let measured = match outcome {
        Ok(()) => block.measured.filter(|it| it.operations > 0).ok_or(Failure::Nothing),
        Err(cause) => Err(Failure::Panicked(message(&*cause))),
    };
    (Some(work), measured)
}

fn message(cause: &(dyn Any + Send)) -> String {
    let text = cause.downcast_ref::<&str>().copied();
    let text = text.or_else(|| cause.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a message").to_owned()
}
