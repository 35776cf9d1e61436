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

use crate::rows::{function, kind_name, place};
use crate::run::{Blamed, Frame, Lock, RunReport};

/// The folded form of `report`.
pub fn render(report: &RunReport) -> String {
    let mut text = String::new();
    for process in &report.processes {
        for lock in process.locks.iter().filter(|lock| lock.wait_ns.is_some()) {
            let wait = waiter(process.pid, lock);
            for (culprit, ns) in pieces(lock).into_iter().filter(|&(_, ns)| ns > 0) {
                text.push_str(&format!("{wait};;{culprit} {}\n", ns.div_ceil(1000)));
            }
        }
    }
    text
}

/// The waiter's stack, and the lock.
fn waiter(pid: u32, lock: &Lock) -> String {
    let stack = lock.worst_wait.iter().flat_map(|wait| wait.waiter.iter().rev());
    let frames: String = stack.map(|frame| format!(";{}", plain(&function(frame)))).collect();
    let name = plain(&format!("{} #{} {}", kind_name(lock.kind), lock.id, place(lock)));
    format!("pid {pid}{frames};;{name}")
}

/// What a lock's waiting is blamed on, and how much of it.
fn pieces(lock: &Lock) -> Vec<(String, u64)> {
    let Some(blame) = lock.blame else {
        let total = lock.wait_ns.as_ref().map_or(0, |wait| wait.total);
        return vec![("unknown".to_owned(), total)];
    };
    let blamed = lock.held_by.iter().chain(&lock.ended_by);
    let ended = lock.ended_by.iter().fold(0u64, |sum, by| sum.saturating_add(by.wait_ns));
    let mut pieces: Vec<(String, u64)> = blamed.map(|by| (culprit(by), by.wait_ns)).collect();
    for (name, ns) in [
        ("idle", blame.idle_ns),
        ("deadline", blame.ended_ns.saturating_sub(ended)),
        ("unknown", blame.unknown_ns),
    ] {
        pieces.push((name.to_owned(), ns));
    }
    pieces
}

fn culprit(by: &Blamed) -> String {
    let names: Vec<String> = by.stack.iter().map(|frame: &Frame| plain(&function(frame))).collect();
    if names.is_empty() { "code not recorded".to_owned() } else { names.join(";") }
}

/// A name without the frame separator of this format; control characters are already removed.
fn plain(name: &str) -> String {
    name.replace(';', ":")
}
