//! The path that set a run's length.
//!
//! # Contract
//! Waiting summed over threads is not time: sixty threads that wait for one make its lock look sixty times as bad, even
//! if another thread sets the pace. [`walk`] goes back from the end of the run: through a thread as long as it did not
//! wait, and from a wait to the thread that ended it. From a wait for a lock it returns to the waiter: what the holders
//! did before the wait began is not why the waiter came late. The steps of the path are as long as the time they cover.
//! [`Replay`] says how much shorter the run could be if some code held its locks for no time.
//!
//! Time between a thread's waits is its own, whether it ran, slept or waited for input. Before a thread of which it was
//! not seen that it was made, the path is unknown.
//! # Sources
//! C.-Q. Yang and B. P. Miller, "Critical path analysis for the execution of parallel and distributed programs", ICDCS
//! 1988; G. Chen and P. Stenström, "Critical lock analysis", SC 2012.
//! # Evidence
//! The tests of both files; `tests/programs`: `path.c`.

mod barging;
mod countdowns;
mod replay;
#[cfg(test)]
mod tests;

pub(crate) use barging::Held;
pub(crate) use replay::{Of, Replay, SAME_NS, parts};
use std::collections::HashMap;

/// What is known of the threads of a process, in nanoseconds since the start of the run.
#[derive(Debug, Default, Clone)]
pub(crate) struct History {
    /// Since when all waits are known.
    pub(crate) from: u64,
    /// Its threads.
    pub(crate) threads: Vec<Thread>,
}

/// A thread.
#[derive(Debug, Default, Clone)]
pub(crate) struct Thread {
    /// When it was made or, if that was not seen, first seen.
    pub(crate) start: u64,
    /// The thread that made it; none if that was not seen.
    pub(crate) creator: Option<usize>,
    /// Its waits, oldest first. None overlaps another.
    pub(crate) waits: Vec<Wait>,
    /// Other threads that it joined after their ends, without a wait: when, which one, and when that one had ended.
    pub(crate) joined: Vec<(u64, usize, u64)>,
    /// The holds for which others waited: of which code, from when and to when, in any order.
    pub(crate) holds: Vec<(usize, u64, u64)>,
}

/// A wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub(crate) began: u64,
    pub(crate) ended: u64,
    /// The lock; none for another thread's end.
    pub(crate) lock: Option<usize>,
    /// The thread that ended it, and when; none if that is unknown.
    pub(crate) by: Option<(usize, u64)>,
    /// The number of the stack of what ended it.
    pub(crate) by_stack: u32,
    /// The part of it during which the lock was free.
    pub(crate) free: u64,
    /// Whether it was for a lock: the thread that has it keeps others out, but need not come before them.
    pub(crate) excludes: bool,
    /// Whether it was for the last of several threads that wait for each other, as at a barrier: that one would have
    /// waited for this one, too.
    pub(crate) meets: bool,
    /// Whether it was for what another thread was to do, and that one ended it: not for a lock, or for its end.
    pub(crate) paced: bool,
}

/// What the path does in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// The thread's own time.
    Own,
    /// From the release or the wakeup until the waiter continued: of this lock, or of another thread's end.
    Handover(Option<usize>),
    /// A wait whose end has no known cause, or before a thread that another one made which is not known.
    Unknown,
}

/// A part of the path, in one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) thread: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) what: What,
}

/// The path since `from` that ends in `thread` at `until`, its last step first.
pub(crate) fn walk(history: &History, from: u64, (thread, until): (usize, u64)) -> Vec<Step> {
    let first = from.max(history.from);
    let mut path = Path { thread, at: until, steps: Vec::new() };
    // The waits and the beginnings that the path has yet to pass: it passes none twice.
    let mut left: HashMap<usize, (usize, bool)> = HashMap::new();
    // The waits for locks that it is in, the outermost first: which threads', and since when.
    let mut inside: Vec<(usize, u64)> = Vec::new();
    let mut jumps = 0;
    // Records that contradict themselves could go round without end.
    while jumps <= history.threads.len() {
        let limit = inside.last().map_or(first, |&(_, began)| began.max(first));
        if path.at <= limit {
            let Some((waiter, _)) = inside.pop() else { break };
            path.thread = waiter;
            continue;
        }
        let Some(of) = history.threads.get(path.thread) else { break };
        let (before_at, number) = (path.at, path.thread);
        let left = left.entry(number).or_insert((of.waits.len(), true));
        let waits = &of.waits[..left.0];
        let before = waits.partition_point(|wait| wait.began < path.at);
        match before.checked_sub(1).map(|last| waits[last]) {
            Some(wait) if wait.ended <= limit => path.back_to(limit, What::Own),
            Some(wait) => {
                if wait.began >= limit {
                    left.0 = before - 1;
                }
                path.back_to(wait.ended, What::Own);
                match wait.by.filter(|&(_, at)| at <= wait.ended && wait.ended <= before_at) {
                    Some((by, by_at)) => {
                        path.back_to(by_at.max(limit), What::Handover(wait.lock));
                        if wait.excludes && wait.began > limit {
                            inside.push((number, wait.began));
                        }
                        path.thread = by;
                    }
                    // Also a thread that does something in the middle of its wait: it contradicts itself.
                    None => path.back_to(wait.began.max(limit), What::Unknown),
                }
            }
            None => {
                let made = history.made(number).filter(|_| left.1);
                path.back_to(made.map_or(of.start, |(_, made)| made).max(limit), What::Own);
                left.1 &= path.at <= limit;
                match made {
                    Some((creator, _)) if path.at > limit => path.thread = creator,
                    _ => path.back_to(limit, What::Unknown),
                }
            }
        }
        jumps = if path.at < before_at { 0 } else { jumps + 1 };
    }
    path.steps
}

/// A path, as far as it has been followed back.
struct Path {
    thread: usize,
    at: u64,
    steps: Vec<Step>,
}

impl Path {
    /// Its thread did this since `from`, if that is earlier.
    fn back_to(&mut self, from: u64, what: What) {
        if from < self.at {
            self.steps.push(Step { thread: self.thread, from, to: self.at, what });
            self.at = from;
        }
    }
}

/// Threads whose ends are waited for at the end of a run, for no more than this part of it, were told to end.
const TOLD: u64 = 20;

impl History {
    /// The end of the run in a thread, before the first end of a thread that it had told to end, as by a flag: what
    /// these did last says nothing of the run's length. They may also have ended by themselves at about that time.
    pub(crate) fn before_told(&self, (thread, until): (usize, u64)) -> (usize, u64) {
        let Some(of) = self.threads.get(thread) else { return (thread, until) };
        let from = until - until.saturating_sub(self.from) / TOLD;
        let has_own_pace = |(by, at): (usize, u64)| !self.keeps_pace(by, at);
        let is_told = |wait: &&Wait| {
            wait.lock.is_none() && wait.by.is_some_and(has_own_pace) && wait.began >= from
        };
        let waited = of.waits.iter().rev().take_while(is_told).count();
        let (before, told) = of.waits.split_at(of.waits.len() - waited);
        // Those that ended while this one ran: before that, it waited for what sets the length.
        let awake = before.last().map_or(of.start, |wait| wait.ended).max(from);
        let ended =
            of.joined.iter().filter(|&&(_, by, end)| awake < end && has_own_pace((by, end)));
        let ends = ended.map(|&(_, _, end)| end - 1);
        let first = told.first().map(|wait| wait.began).into_iter().chain(ends).min();
        (thread, first.map_or(until, |first| first.min(until)))
    }

    /// Whether a thread that ended at `end` had waited for what others did, in the later half of its life: it ended
    /// when it had done what they gave it.
    fn keeps_pace(&self, thread: usize, end: u64) -> bool {
        let Some(of) = self.threads.get(thread) else { return false };
        let half = of.start.midpoint(end);
        let mut paced = of.waits.iter().rev().filter(|wait| wait.paced);
        paced.next().is_some_and(|wait| wait.ended >= half)
    }

    /// Moves the ends of waits for these locks back to when the waiter might have had the lock: where a lock was
    /// released, taken by others that barged in, and released again, the wait was for its own wakeup.
    fn count_barging(&mut self, is_one: impl Fn(usize) -> bool) {
        let is_awake = |thread: usize, at: u64| {
            let Some(of) = self.threads.get(thread) else { return false };
            let before = of.waits.partition_point(|wait| wait.began < at);
            before.checked_sub(1).is_none_or(|last| of.waits[last].ended <= at)
        };
        let free_since = |wait: &Wait| {
            wait.lock.filter(|&lock| is_one(lock))?;
            let since = wait.ended.saturating_sub(wait.free).max(wait.began);
            let (by, at) = wait.by?;
            (since < at && is_awake(by, since)).then_some((by, since))
        };
        let waits = self.threads.iter().map(|thread| thread.waits.iter().map(free_since));
        let moved: Vec<Vec<_>> = waits.map(Iterator::collect).collect();
        for (thread, moved) in self.threads.iter_mut().zip(moved) {
            for (wait, moved) in thread.waits.iter_mut().zip(moved) {
                wait.by = moved.or(wait.by);
            }
        }
    }

    /// The thread that made this one, and when it was last awake before that one was first seen.
    fn made(&self, thread: usize) -> Option<(usize, u64)> {
        let of = self.threads.get(thread)?;
        let creator = of.creator.filter(|&creator| creator != thread)?;
        let waits = &self.threads.get(creator)?.waits;
        let before = waits.partition_point(|wait| wait.began < of.start);
        let last = before.checked_sub(1).map(|last| waits[last]);
        let asleep = last.filter(|wait| wait.ended > of.start);
        Some((creator, asleep.map_or(of.start, |wait| wait.began)))
    }
}
