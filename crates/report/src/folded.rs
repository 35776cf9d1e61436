//! Waiting by stack in the folded format of flame graph tools: `outer;inner weight`, one line per stack.
//!
//! # Contract
//! One line per lock that any thread waited on: the stack of its longest wait, outermost frame first, below a frame
//! that names the lock. The weight is the lock's total wait in microseconds, rounded up so that no lock vanishes.
//! The lock's other waits may have had other stacks: the record keeps only those of the longest.
//! # Sources
//! The input format of `flamegraph.pl`.

use crate::rows::{function, kind_name, place};
use crate::run::{Lock, RunReport};
use std::fmt::Write;

/// The folded form of `report`.
pub fn render(report: &RunReport) -> String {
    let mut text = String::new();
    for process in &report.processes {
        for lock in &process.locks {
            let total = lock.wait_ns.as_ref().map_or(0, |wait| wait.total);
            if total > 0 {
                line(&mut text, process.pid, lock, total.div_ceil(1000));
            }
        }
    }
    text
}

fn line(text: &mut String, pid: u32, lock: &Lock, weight: u64) {
    let lock_name = plain(&format!("{} #{} {}", kind_name(lock.kind), lock.id, place(lock)));
    let _ = write!(text, "pid {pid};{lock_name}"); // Writing to a String cannot fail.
    let stack = lock.worst_wait.iter().flat_map(|wait| wait.waiter.iter().rev());
    for frame in stack {
        let _ = write!(text, ";{}", plain(&function(frame)));
    }
    let _ = writeln!(text, " {weight}");
}

/// A name without the frame separator of this format; control characters are already removed.
fn plain(name: &str) -> String {
    name.replace(';', ":")
}
