//! The thread that others wait for in the end, where they still wait when the record ends and do not wait for each
//! other.
//!
//! # Contract
//! From the holder of a lock that threads wait for, [`add`] follows what each thread waits for itself, to the one that
//! waits for no thread: the head of the chain, which the others cannot pass. Threads in a cycle have none: they are a
//! deadlock, and those behind it wait for that.
//! # Evidence
//! `tests/programs`: `stuck.c`.

use super::deadlocks::{Wait, Waits, behind};
use super::locks::Rows;
use super::stacks::Stacks;
use crate::run::Head;
use std::collections::HashSet;
use uncontended_trace::reader::{ProcessRecord, Record};

/// Adds the heads to the rows of `image`. For now, a lock's number is its place among them.
pub(super) fn add(
    record: &Record<'_>,
    image: &ProcessRecord,
    until_ns: u64,
    waits: &Waits<'_>,
    rows: &mut Rows,
    stacks: &mut Stacks<'_>,
) {
    let Waits { last, of: waits, number, .. } = waits;
    let graph = for_locks(waits);
    for at in 0..image.threads.len() {
        let Some(wanted) = last.wants(at).map(|wants| wants.lock) else { continue };
        let Some(steps) = chain(&graph, at) else { continue };
        let [.., before, head] = steps[..] else { continue };
        let Some(held) = last.wants(before).map(|wants| wants.lock) else { continue };
        let Some(wait) = waits[before].first().filter(|wait| wait.holds) else { continue };
        let (Some(&wanted), Some(&lock)) = (number.get(&wanted), number.get(&held)) else {
            continue;
        };
        let thread = &image.threads[head];
        let began = wait.since.and_then(|since| since.checked_sub(record.start_ticks));
        rows.locks[wanted as usize].hung_behind = Some(Head {
            tid: thread.tid,
            name: thread.name.clone(),
            lock,
            taken: stacks.frames(wait.site),
            held_ns: began.map(|ticks| until_ns.saturating_sub(record.ns(ticks))),
            through: u32::try_from(steps.len() - 2).unwrap_or(u32::MAX),
            behind: u32::try_from(behind(&graph, &[head])).unwrap_or(u32::MAX),
            is_asleep: thread.asleep_since.is_some(),
        });
    }
}

/// Which threads wait for which, without the waits for a thread's end.
pub(super) fn for_locks(waits: &[Vec<Wait>]) -> Vec<Vec<usize>> {
    let for_locks =
        |of: &Vec<Wait>| of.iter().filter(|wait| !wait.is_join).map(|wait| wait.holder).collect();
    waits.iter().map(for_locks).collect()
}

/// The threads from `from` to the one that waits for none; nothing if they end in a cycle. A thread that waits for
/// several is followed to the first.
pub(super) fn chain(graph: &[Vec<usize>], from: usize) -> Option<Vec<usize>> {
    let (mut steps, mut met) = (vec![from], HashSet::from([from]));
    while let Some(&next) = graph[*steps.last()?].first() {
        if !met.insert(next) {
            return None;
        }
        steps.push(next);
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_ends_where_a_thread_waits_for_none() {
        let graph = vec![vec![1], vec![2, 4], vec![3], vec![], vec![5], vec![4]];
        assert_eq!(chain(&graph, 0), Some(vec![0, 1, 2, 3]));
        assert_eq!(chain(&graph, 3), Some(vec![3]));
        assert_eq!((chain(&graph, 4), chain(&graph, 5)), (None, None));
    }
}
