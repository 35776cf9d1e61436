//! Runs one block so that a subject that panics or hangs is reported instead of ending or stopping the benchmark.
//!
//! # Contract
//! A subject that hangs is given up after the limit. Its threads go on: they cannot be ended from outside, so that what
//! is measured after it may suffer, which the report says.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

use crate::block::{Block, Measured};

/// A subject's code: runs one block.
pub(crate) type Work = Box<dyn FnMut(&mut Block) + Send>;

/// Why a block has no figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It panicked, with this message.
    Panicked(String),
    /// It did not end within the limit.
    Hung(Duration),
    /// It ended without having measured anything, or no operation.
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

/// Runs `work` once in a thread of its own on the block's first seat. The work comes back unless it hangs.
pub(crate) fn run(
    mut work: Work,
    mut block: Block,
    limit: Duration,
) -> (Option<Work>, Result<Measured, Failure>) {
    let (answer, answers) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            block.seats().clone().take(0);
            work(&mut block);
        }));
        // Nobody listens any more if the limit has passed.
        let _ = answer.send((work, block, outcome));
    });
    let Ok((work, block, outcome)) = answers.recv_timeout(limit) else {
        return (None, Err(Failure::Hung(limit)));
    };
    // It has sent its answer; all that is left for it is to end.
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
