//! Waits for other threads to end: which thread, and what it ran.

use super::path::Logs;
use super::stacks::Stacks;
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
    logs: &Logs<'_>,
    stacks: &mut Stacks<'_>,
) -> Vec<Join> {
    let mut joins: Vec<(u64, u32, &ThreadRecord)> = Vec::new();
    for joiner in &image.threads {
        let waits = joiner.log.waits().filter(|wait| wait.what == logged::JOIN);
        for wait in waits.filter(|wait| !logs.is_over(wait)) {
            let Some((ended, _)) = logs.ended(wait) else { continue };
            let wait_ns = record.ns(wait.ended.saturating_sub(wait.began));
            joins.push((wait_ns, joiner.tid, &image.threads[ended]));
        }
    }
    joins.sort_by_key(|&(wait_ns, tid, of)| (Reverse(wait_ns), tid, of.tid));
    joins.truncate(MOST);
    let join = |(wait_ns, tid, of): (u64, u32, &ThreadRecord)| Join {
        tid,
        of: of.tid,
        name: of.name.clone(),
        body: body(record, of, stacks),
        wait_ns,
    };
    joins.into_iter().map(join).collect()
}

/// The outermost code of the thread's own that its recorded stacks show: inside what started it. Stacks that were cut
/// do not show that.
fn body(record: &Record<'_>, thread: &ThreadRecord, stacks: &mut Stacks<'_>) -> Option<Frame> {
    let logged = thread.log.entries.iter().filter(|entry| entry.what != logged::SPAN);
    let last = thread.cells.iter().map(|&cell| record.last_site(cell));
    let mut known = logged.map(|entry| entry.stack).chain(last);
    let frames = stacks.frames(known.find(|&stack| stack != 0)?);
    let outermost = frames.iter().rposition(|frame| !stacks.skipped.contains(frame))?;
    (outermost + 1 < frames.len()).then(|| frames[outermost].clone())
}
