//! Runs one block so that a subject that panics or hangs is reported instead of ending or blocking the benchmark.
//!
//! # Contract
//! A subject that hangs is abandoned after the limit; once the benchmark is to end, after [`GRACE`]. Its threads cannot
//! be ended from outside and keep running, so later measurements may suffer; the report says so. The report also has
//! the message of a panic, so the threads of a block print none.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

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
    /// The benchmark was to end, and it did not end in time.
    Interrupted,
    /// It measured nothing, or no operation.
    Nothing,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Panicked(message) => write!(f, "panicked: {message}"),
            Failure::Hung(limit) => write!(f, "hung: a block did not end within {limit:?}"),
            Failure::Interrupted => write!(f, "interrupted within a block"),
            Failure::Nothing => write!(f, "measured nothing"),
        }
    }
}

/// How long a block may still take once the benchmark is to end.
const GRACE: Duration = Duration::from_millis(300);
/// How often it is asked whether to end.
const ASKED: Duration = Duration::from_millis(20);

/// When to stop waiting for a block.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) limit: Duration,
    pub(crate) is_over: fn() -> bool,
}

/// Runs `work` once on a new thread, pinned as the block's first thread. Returns `work` unless it was abandoned.
pub(crate) fn run(
    mut work: Work,
    mut block: Block,
    patience: Patience,
) -> (Option<Work>, Result<Measured, Failure>) {
    let (answer, answers) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let outcome = quietly(|| {
            catch_unwind(AssertUnwindSafe(|| {
                block.pinning().clone().pin(0);
                work(&mut block);
            }))
        });
        // The receiver is gone if the block was abandoned.
        let _ = answer.send((work, block, outcome));
    });
    let (work, block, outcome) = match patience.receive(&answers) {
        Ok(answer) => answer,
        Err(failure) => return (None, Err(failure)),
    };
    // It has sent its result and is about to end.
    let _ = thread.join();
    let measured = match outcome {
        Ok(()) => block.measured.filter(|it| it.operations > 0).ok_or(Failure::Nothing),
        Err(cause) => Err(Failure::Panicked(message(&*cause))),
    };
    (Some(work), measured)
}

impl Patience {
    fn receive<T>(self, answers: &mpsc::Receiver<T>) -> Result<T, Failure> {
        let begun = Instant::now();
        let mut over = None;
        loop {
            match answers.recv_timeout(ASKED.min(self.limit)) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Err(Failure::Nothing),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if over.is_none() && (self.is_over)() {
                over = Some(Instant::now());
            }
            if over.is_some_and(|over| over.elapsed() >= GRACE) {
                return Err(Failure::Interrupted);
            }
            if begun.elapsed() >= self.limit {
                return Err(Failure::Hung(self.limit));
            }
        }
    }
}

thread_local! {
    /// Whether this thread runs a block.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` without a message if it panics; what panics elsewhere prints as before.
pub(crate) fn quietly<R>(f: impl FnOnce() -> R) -> R {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = Arc::new(std::panic::take_hook());
        std::panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.try_with(Cell::get).unwrap_or(false) {
                others(info);
            }
        }));
    });
    IS_QUIET.set(true);
    let result = f();
    IS_QUIET.set(false);
    result
}

fn message(cause: &(dyn Any + Send)) -> String {
    let text = cause.downcast_ref::<&str>().copied();
    let text = text.or_else(|| cause.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a message").to_owned()
}
