//! By how much a run could be shorter.
//!
//! # Contract
//! [`gain`] computes when each wait would have ended if the holds of some code had taken no time, all else in the order
//! recorded: a wait ends when its thread waits for it and the thread that ends it has got there, whichever is later; so
//! does the joining of a thread, if it had ended before too. So the gain is never more than the path's time in these
//! holds. It is an upper bound for changes of these holds only as far as the order stays: what would wait then, and did
//! not wait now, is not in the record.

use super::{History, Thread};
use std::collections::HashSet;

/// What takes no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Of {
    /// The holds of this code.
    Code(usize),
    /// The time from a release of one of these locks until a waiter has it.
    Handover(HashSet<usize>),
}

impl Of {
    /// Whether it is the time until a waiter has this lock.
    pub(crate) fn is_handover(&self, lock: Option<usize>) -> bool {
        matches!((self, lock), (Of::Handover(locks), Some(lock)) if locks.contains(&lock))
    }
}

/// The parts of a thread's own time in the holds of this code, oldest first and apart.
pub(crate) fn parts(thread: &Thread, is: impl Fn(usize) -> bool) -> Vec<(u64, u64)> {
    let mut holds: Vec<(u64, u64)> =
        thread.holds.iter().filter(|hold| is(hold.0)).map(|&(_, from, to)| (from, to)).collect();
    holds.sort_unstable();
    let mut parts = Vec::new();
    let mut done = thread.start;
    for (from, to) in holds {
        let mut from = from.max(done);
        let first = thread.waits.partition_point(|wait| wait.ended <= from);
        for wait in thread.waits[first..].iter().take_while(|wait| wait.began < to) {
            if from < wait.began {
                parts.push((from, wait.began));
            }
            from = wait.ended;
        }
        if from < to {
            parts.push((from, to));
        }
        done = done.max(to);
    }
    parts
}

/// How much earlier a thread would have been where it was, at each time.
#[derive(Default)]
struct Saved {
    /// From when on, and how much.
    steps: Vec<(u64, u64)>,
    /// Its own time that is left out.
    parts: Vec<(u64, u64)>,
}

impl Saved {
    fn at(&self, time: u64) -> u64 {
        let step = self.steps.partition_point(|&(from, _)| from <= time);
        let saved = step.checked_sub(1).map_or(0, |last| self.steps[last].1);
        let part = self.parts.partition_point(|&(from, _)| from < time);
        let inside = part.checked_sub(1).map(|last| self.parts[last]).filter(|&(_, to)| time < to);
        saved + inside.map_or(0, |(from, _)| time - from)
    }

    fn last(&self) -> u64 {
        self.steps.last().map_or(0, |&(_, saved)| saved)
    }
}

/// When something changes what a thread has saved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A part that is left out ends.
    Part(usize, usize),
    /// The thread begins.
    Begun(usize),
    /// This wait of the thread ends.
    Wait(usize, usize),
    /// The thread joins one that has ended.
    Joined(usize, usize),
}

/// By how much earlier `thread` would have been where it was at `until`, without `of`.
pub(crate) fn gain(history: &History, (thread, until): (usize, u64), of: &Of) -> u64 {
    let parts_of = |thread: &Thread| match of {
        Of::Code(code) => parts(thread, |of| of == *code),
        Of::Handover(_) => Vec::new(),
    };
    let mut saved: Vec<Saved> = history
        .threads
        .iter()
        .map(|thread| Saved { steps: Vec::new(), parts: parts_of(thread) })
        .collect();
    for saved in &mut saved {
        saved.parts.retain_mut(|part| {
            part.0 = part.0.max(history.from);
            part.0 < part.1
        });
    }
    for (time, event) in events(history, &saved) {
        if time > until {
            break;
        }
        let (of_thread, now) = match event {
            Event::Part(of_thread, part) => {
                let (from, to) = saved[of_thread].parts[part];
                (of_thread, saved[of_thread].last() + (to - from))
            }
            Event::Begun(of_thread) => {
                let made = history.made(of_thread);
                (of_thread, made.map_or(0, |(creator, made)| saved[creator].at(made)))
            }
            Event::Wait(of_thread, wait) => {
                let wait = history.threads[of_thread].waits[wait];
                let before = saved[of_thread].last();
                let Some((by, by_at)) = wait.by.filter(|&(_, at)| at <= wait.ended) else {
                    continue;
                };
                let late = if of.is_handover(wait.lock) { wait.ended - by_at } else { 0 };
                (of_thread, (before + (wait.ended - wait.began)).min(saved[by].at(by_at) + late))
            }
            Event::Joined(of_thread, nth) => {
                let (at, by, ended) = history.threads[of_thread].joined[nth];
                (of_thread, saved[of_thread].last().min(saved[by].at(ended) + (at - ended)))
            }
        };
        saved[of_thread].steps.push((time, now));
    }
    saved.get(thread).map_or(0, |saved| saved.at(until))
}

/// All events in the order of their times.
fn events(history: &History, saved: &[Saved]) -> Vec<(u64, Event)> {
    let mut events = Vec::new();
    for (number, (thread, saved)) in history.threads.iter().zip(saved).enumerate() {
        let known = |time: u64| time > history.from;
        events.extend(Some((thread.start, Event::Begun(number))).filter(|event| known(event.0)));
        let parts = saved.parts.iter().enumerate();
        events.extend(parts.map(|(part, &(_, to))| (to, Event::Part(number, part))));
        let waits = thread.waits.iter().enumerate().filter(|(_, wait)| known(wait.ended));
        events.extend(waits.map(|(wait, of)| (of.ended, Event::Wait(number, wait))));
        let joined = thread.joined.iter().enumerate().filter(|(_, join)| known(join.2));
        events.extend(joined.map(|(nth, &(at, ..))| (at, Event::Joined(number, nth))));
    }
    events.sort_unstable();
    events
}
