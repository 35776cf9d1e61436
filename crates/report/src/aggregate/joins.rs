//! Waits for other threads to end: which thread, and what it ran.

use super::begun;
use super::logs::Logs;
use super::stacks::Stacks;
use crate::facts::{Facts, ThreadFacts};
use crate::run::{Frame, Join};
use std::cmp::Reverse;
use uncontended_trace::layout::logged;
use uncontended_trace::reader::{ProcessRecord, Record, ThreadRecord};

/// Shorter ones are left out.
const MOST: usize = 100;

/// Those of `image`, the longest first.
pub(super) fn joins(
    record: &Record<'_>,
    image: &ProcessRecord,
    facts: &Facts,
    logs: &Logs<'_>,
    stacks: &mut Stacks<'_>,
) -> Vec<Join> {
    let mut joins: Vec<(u64, u32, Of<'_>)> = Vec::new();
    for joiner in &image.threads {
        let waits = joiner.log.waits().filter(|wait| wait.what == logged::JOIN);
        for wait in waits.filter(|wait| !logs.is_over(wait)) {
            let thread = logs.ended(wait).map(|(ended, _)| &image.threads[ended]);
            let unseen = (wait.by != 0 && logs.is_for_unseen(wait)).then_some(wait.by);
            let Some(tid) = thread.map(|thread| thread.tid).or(unseen) else { continue };
            let wait_ns = record.ns(wait.ended.saturating_sub(wait.began));
            joins.push((wait_ns, joiner.tid, Of { tid, thread }));
        }
    }
    joins.sort_by_key(|(wait_ns, tid, of)| (Reverse(*wait_ns), *tid, of.tid));
    joins.truncate(MOST);
    let join = |(wait_ns, tid, of): (u64, u32, Of<'_>)| Join {
        tid,
        of: of.tid,
        name: of.name(image.pid, facts),
        body: of.body(record, stacks),
        wait_ns,
    };
    joins.into_iter().map(join).collect()
}

/// A thread for whose end another one waited.
struct Of<'a> {
    tid: u32,
    /// Not of a thread that was not seen.
    thread: Option<&'a ThreadRecord>,
}

impl Of<'_> {
    /// Its name; empty if it is unknown.
    fn name(&self, pid: u32, facts: &Facts) -> String {
        let is_it = |counted: &&ThreadFacts| (counted.pid, counted.thread.tid) == (pid, self.tid);
        let sampled =
            || facts.threads.iter().find(is_it).map(|counted| counted.thread.name.clone());
        let recorded = self.thread.map(|thread| thread.name.clone());
        recorded.or_else(sampled).unwrap_or_default()
    }

    /// The code that it ran.
    fn body(&self, record: &Record<'_>, stacks: &mut Stacks<'_>) -> Option<Frame> {
        ran(record, self.thread?, stacks)
    }
}

/// The code that a thread ran: what its stacks show or, if they do not, what it began with, unless that only runs what
/// it is given.
pub(super) fn ran(
    record: &Record<'_>,
    thread: &ThreadRecord,
    stacks: &mut Stacks<'_>,
) -> Option<Frame> {
    body(record, thread, stacks).or_else(|| began_with(thread, stacks))
}

/// What the thread began with, or of the C++ library's functions what that ran.
fn began_with(thread: &ThreadRecord, stacks: &mut Stacks<'_>) -> Option<Frame> {
    let mut functions = stacks.functions(thread.began_in);
    let first = functions.pop()?;
    if !stacks.skipped.contains(&first) {
        return Some(first);
    }
    let called = functions.pop()?;
    begun::ran(called, &functions, stacks.skipped)
}

/// The outermost code of the thread's own that its recorded stacks show: inside what started it. Stacks that were cut
/// do not show that, nor do those of a signal handler, which end in the one function that called it.
fn body(record: &Record<'_>, thread: &ThreadRecord, stacks: &mut Stacks<'_>) -> Option<Frame> {
    let logged = thread.log.entries.iter().filter(|entry| entry.what != logged::SPAN);
    let last = thread.cells.iter().map(|&cell| record.last_site(cell));
    let mut known = logged.map(|entry| entry.stack).chain(last);
    let frames = stacks.frames(known.find(|&stack| stack != 0)?);
    let outermost = frames.iter().rposition(|frame| !stacks.skipped.contains(frame))?;
    (outermost + 2 < frames.len()).then(|| frames[outermost].clone())
}
