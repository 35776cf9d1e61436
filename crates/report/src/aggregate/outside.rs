//! What the kernel could not see of processes that it watched from outside, in sentences.

use crate::facts::{Facts, SeenFacts};
use uncontended_figures::{count, duration};

const ALWAYS: &str = "Seen by the kernel, from outside: each wait in a futex call, from its entry to its return. Not seen: \
    acquisitions that did not wait, how long locks are held, and spinning.";

const CULPRITS: &str = "Since holds are not seen, culprits are the code that woke the waiters: of several readers, the \
    last one; of a queue, the last four that woke each other.";

/// The sentences.
pub(super) fn unseen(facts: &Facts) -> Vec<String> {
    let mut unseen = vec![ALWAYS.to_owned(), CULPRITS.to_owned()];
    let Some(seen) = &facts.seen else { return unseen };
    unseen.extend(begun(seen));
    if !seen.executed.is_empty() {
        let pids = pids(&seen.executed);
        unseen.push(format!("Watched up to the exec of another program: {pids}."));
    }
    if seen.followed > 0 {
        let number = count(seen.followed);
        let late = duration(seen.late_ns);
        unseen.push(format!("Programs that were executed meanwhile, each watched from {late} after its start or earlier: {number}."));
    }
    if !seen.children.is_empty() {
        let (number, pids) =
            (count(seen.children.len() as u64), named(&seen.children, seen.children.len() as u64));
        unseen.push(format!("Child processes that ran already when watching began, and are not watched: {number} ({pids}). `unc attach` watches those that it is given, too."));
    }
    if !seen.stopped.is_empty() {
        let pids = pids(&seen.stopped);
        unseen.push(format!("Stopped (state T) when watching began, so none of its threads ran until it was continued: {pids}."));
    }
    unseen.extend(forks(seen));
    unseen.extend(losses(seen));
    unseen
}

/// From when on the program was watched.
fn begun(seen: &SeenFacts) -> Option<String> {
    if !seen.attached.is_empty() {
        return Some("Waits that were in progress when it began count from then on.".to_owned());
    }
    Some(match seen.unseen_ns? {
        0 => "The program was watched from its first instruction on.".to_owned(),
        ns => format!("The first {} of the program were not watched.", duration(ns)),
    })
}

/// That no wait was seen, as far as was looked.
pub(super) fn no_wait(seen: &SeenFacts) -> String {
    let mut parts = vec!["Nothing was seen: no thread waited for a futex".to_owned()];
    if let Some(ns) = seen.unseen_ns.filter(|&ns| ns > 0) {
        parts.push(format!(" after the first {}, which were not watched", duration(ns)));
    }
    if seen.followed > 0 {
        let late = duration(seen.late_ns);
        parts.push(format!(
            "; of programs that were executed meanwhile, up to {late} each were not watched"
        ));
    }
    parts.concat() + "."
}

/// What became of the processes that were forked meanwhile.
fn forks(seen: &SeenFacts) -> Vec<String> {
    let mut forks = Vec::new();
    if seen.forked > 0 {
        let kept = named(&seen.forked_kept, seen.forked_kept.len() as u64);
        let kept = if kept.is_empty() { "none".into() } else { kept };
        let number = count(seen.forked);
        forks.push(format!("Processes that were forked meanwhile, and watched from then on: {number}. Of these called a futex, or are still there: {kept}."));
    }
    if seen.forked_executed > 0 {
        let pids = named(&seen.forked_executed_pids, seen.forked_executed);
        forks.push(format!(
            "Of the forked processes, watched up to the exec of another program: {pids}."
        ));
    }
    if seen.forked_unwatched > 0 {
        let number = count(seen.forked_unwatched);
        forks.push(format!(
            "Processes that were forked meanwhile, and not watched, for lack of room: {number}."
        ));
    }
    forks
}

/// The first ones of `all` processes.
fn named(pids: &[u32], all: u64) -> String {
    const MOST: usize = 8;
    let mut words: Vec<String> = pids.iter().take(MOST).map(u32::to_string).collect();
    let others = all.saturating_sub(words.len() as u64);
    if others > 0 {
        words.push(format!("{} more", count(others)));
    }
    words.join(", ")
}

fn losses(seen: &SeenFacts) -> Vec<String> {
    let mut lost = Vec::new();
    if seen.lost_waits > 0 {
        let (waits, time) = (count(seen.lost_waits), duration(seen.lost_ns));
        lost.push(format!("Waits without room in the kernel's tables, in no figure: {waits}, {time} of them known."));
    }
    if seen.lost_stacks > 0 {
        let waits = count(seen.lost_stacks);
        lost.push(format!(
            "Waits or wakeups whose stacks found no room, counted without code: {waits}."
        ));
    }
    if seen.summed_ns > 0 {
        let time = duration(seen.summed_ns);
        lost.push(format!(
            "Waiting at locks with too many callers, summed by the innermost functions alone: {time}."
        ));
    }
    if seen.rest_ns > 0 {
        let time = duration(seen.rest_ns);
        lost.push(format!(
            "Waiting at locks with too many such functions, counted without code: {time}."
        ));
    }
    if seen.missed > 0 {
        let calls = count(seen.missed);
        lost.push(format!("Futex calls of all processes that the kernel did not look at, because it was busy with our tables: {calls}."));
    }
    if seen.woken_by_others > 0 {
        let waits = count(seen.woken_by_others);
        lost.push(format!(
            "Waits that a thread of a process which is not watched ended, by code that is not known: {waits}."
        ));
    }
    lost
}

fn pids(pids: &[u32]) -> String {
    pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
