//! Waiting by stack in the folded format of flame graph tools: `outer;inner weight`, one line per stack.
//!
//! # Contract
//! One line for each piece of each lock's waiting: the stack of the lock's longest wait, outermost frame first, an
//! empty frame, the lock, an empty frame, and the stack that the waiting is blamed on, innermost frame first, so that
//! both ends of the picture are where the threads began. A piece without a culprit has one frame instead: `idle` (the
//! lock was free), `deadline`, or `unknown`. The weight is the piece in microseconds, rounded up so that none vanishes.
//! The lock's other waits may have had other stacks: the record keeps only those of the longest.
//! # Sources
//! The input format of `flamegraph.pl`; the order of both stacks is that of bcc's `offwaketime`.

use crate::pieces::{Piece, pieces};
use crate::rows::{kind_of, place, whole_function};
use crate::run::{Lock, RunReport};

/// The folded form of `report`.
pub fn render(report: &RunReport) -> String {
    let mut text = String::new();
    for process in &report.processes {
        for lock in process.locks.iter().filter(|lock| lock.wait_ns.is_some()) {
            let wait = waiter(process.pid, lock);
            for piece in pieces(lock) {
                let (culprit, weight) = (culprit(&piece), piece.ns.div_ceil(1000));
                text.push_str(&format!("{wait};;{culprit} {weight}\n"));
            }
        }
    }
    text
}

/// The waiter's stack, and the lock.
fn waiter(pid: u32, lock: &Lock) -> String {
    let stack = lock.worst_wait.iter().flat_map(|wait| wait.waiter.iter().rev());
    let frames: String = stack.map(|frame| format!(";{}", plain(&whole_function(frame)))).collect();
    let name = plain(&format!("{} #{} {}", kind_of(lock), lock.id, place(lock)));
    format!("pid {pid}{frames};;{name}")
}

/// The functions of the stack that a piece is blamed on, innermost first.
fn culprit(piece: &Piece<'_>) -> String {
    let names: Vec<String> =
        piece.stack.iter().map(|frame| plain(&whole_function(frame))).collect();
    if names.is_empty() { piece.cause.word().to_owned() } else { names.join(";") }
}

/// A name without the frame separator of this format; control characters are already removed.
fn plain(name: &str) -> String {
    name.replace(';', ":")
}
