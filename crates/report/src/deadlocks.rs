//! Deadlocks in words, the same in every form of a report.

use crate::rows::called;
use crate::run::{Deadlock, Kind, Lock, Process, RunReport, Stuck};
use crate::terminal::several;
use uncontended_figures::duration;
use uncontended_figures::text::clean;

/// What a deadlock is called: threads whose wait has a deadline will leave it.
pub(crate) fn title(deadlock: &Deadlock) -> &'static str {
    match deadlock.threads.iter().any(|thread| thread.has_deadline) {
        true => "Cycle of waits",
        false => "Deadlock",
    }
}

/// How to read the block.
pub(crate) fn remark(deadlock: &Deadlock) -> &'static str {
    match deadlock.threads[..] {
        [_] => "a thread waits for a lock that it holds itself",
        _ => "each thread waits for the next one, the last for the first",
    }
}

/// How many other threads wait, in a sentence; none if no other thread does.
pub(crate) fn behind(deadlock: &Deadlock) -> Option<String> {
    let threads = several(deadlock.behind.into(), "more thread waits", "more threads wait");
    (deadlock.behind > 0).then(|| format!("{threads} for these."))
}

/// A thread, by its ID and name.
pub(crate) fn named(tid: u32, name: &str) -> String {
    let name = clean(name);
    if name.is_empty() { format!("thread {tid}") } else { format!("thread {tid} ({name})") }
}

/// A lock by its own number: a row may have several. A read-write lock, which has two rows, is called by the lower one.
pub(crate) fn lock(report: &RunReport, id: u64) -> String {
    match find(report, id) {
        Some((process, lock)) => {
            let rows = process.locks.iter().filter(|row| is_same(row, lock));
            let first = rows.min_by_key(|row| row.id).unwrap_or(lock);
            format!("lock #{} ({})", first.id, called(first))
        }
        None => format!("lock #{id}"),
    }
}

/// For what a thread has a read-write lock, to follow it; nothing of other locks.
pub(crate) fn side(report: &RunReport, id: u64) -> &'static str {
    match find(report, id).map(|(_, lock)| lock.kind) {
        Some(Kind::RwlockRead) => " to read",
        Some(Kind::RwlockWrite) => " to write",
        _ => "",
    }
}

pub(crate) fn find(report: &RunReport, id: u64) -> Option<(&Process, &Lock)> {
    let find = |process: &'_ Process| process.locks.iter().position(|lock| lock.id == id);
    report.processes.iter().find_map(|process| Some((process, &process.locks[find(process)?])))
}

/// Whether these are the sides of one read-write lock.
fn is_same(one: &Lock, other: &Lock) -> bool {
    let is_side = |lock: &Lock| matches!(lock.kind, Kind::RwlockRead | Kind::RwlockWrite);
    let is_at_one_place = one.address == other.address && one.life == other.life;
    one.id == other.id || is_side(one) && is_side(other) && is_at_one_place
}

/// What a thread waits for: the title of its stack.
pub(crate) fn waits(report: &RunReport, thread: &Stuck) -> String {
    let how = if thread.shared { "to share" } else { "for" };
    let until = if thread.has_deadline { ", until a deadline," } else { "" };
    let what = match thread.lock {
        Some(id) => format!("{how} {}", lock(report, id)),
        None => format!("for the end of thread {}", thread.holder),
    };
    let who = named(thread.tid, &thread.name);
    format!("{who} has waited {}{until} {what} in", duration(thread.wait_ns))
}

/// The thread that keeps a thread waiting: the title of the stack of its acquisition; nothing of a wait for its end.
pub(crate) fn holder(deadlock: &Deadlock, thread: &Stuck) -> Option<String> {
    thread.lock?;
    let name = deadlock.threads.iter().find(|next| next.tid == thread.holder);
    let holder = named(thread.holder, name.map_or("", |next| &next.name));
    if !thread.holds {
        return Some(format!(
            "{holder} wants it for itself; no reader comes before a waiting writer"
        ));
    }
    let held = thread.held_ns.map_or(String::new(), |ns| format!(" for {}", duration(ns)));
    let took = if thread.taken.is_empty() { "" } else { ", which took it in" };
    Some(format!("held{held} by {holder}{took}"))
}

/// A sentence of more threads is not read to its end: each has a line then.
const IN_A_SENTENCE: usize = 3;
/// Threads beyond these have none; the block of the deadlock has them all.
const LINES: usize = 16;

/// The deadlock in a sentence, with what would prevent it; of many threads, a line for each follows.
pub(crate) fn sentence(report: &RunReport, deadlock: &Deadlock) -> String {
    let threads = deadlock.threads.len();
    let parts: Vec<String> = deadlock
        .threads
        .iter()
        .take(if threads > IN_A_SENTENCE { LINES } else { threads })
        .map(|thread| {
            let waiter = named(thread.tid, &thread.name);
            let Some(id) = thread.lock else {
                return format!("{waiter} waits for the end of thread {}", thread.holder);
            };
            let lock = lock(report, id);
            match deadlock.threads.len() {
                1 => format!("{waiter} waits for {lock}, which it holds itself"),
                _ if thread.holds => {
                    format!("{waiter} waits for {lock}, held by thread {}", thread.holder)
                }
                _ => format!(
                    "{waiter} waits to share {lock}, for which thread {} waits",
                    thread.holder
                ),
            }
        })
        .collect();
    let has_join = deadlock.threads.iter().any(|thread| thread.lock.is_none());
    let is_of_one_lock = deadlock.threads.windows(2).all(|pair| pair[0].lock == pair[1].lock);
    let remedy = match is_of_one_lock {
        _ if has_join => "release the lock before waiting for the end of a thread that needs it",
        true => "release the lock before taking it again",
        false => "take these locks in the same order everywhere, or never two at a time",
    };
    let title = title(deadlock).to_lowercase();
    let ended = ended(report, deadlock);
    if threads <= IN_A_SENTENCE {
        return format!("{title}{ended}: {}; {remedy}", parts.join("; "));
    }
    let more = match threads - parts.len() {
        0 => String::new(),
        more => format!("\n… and {}", several(more as u64, "more thread", "more threads")),
    };
    format!("{title} of {threads} threads{ended}: {remedy}\n{}{more}", parts.join("\n"))
}

/// That the process of a deadlock ended before the run did.
fn ended(report: &RunReport, deadlock: &Deadlock) -> String {
    let image = report.processes.iter().rfind(|process| process.pid == deadlock.pid);
    let is_over = image.is_some_and(|image| image.ended_ns.is_some());
    if is_over { format!(" in process {}, which has ended", deadlock.pid) } else { String::new() }
}
