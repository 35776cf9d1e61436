//! What a run has ended in, and what of it led there.

use super::clock::Clock;
use super::core::{Core, State};
use super::graph::{EventId, Kind};
use super::verdict::Failure;
use std::panic::Location as Site;

/// Events in one round of a loop, at most, for it to be found.
const LONGEST_ROUND: usize = 100;

/// A use of plain memory: how many events its thread had had.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) thread: usize,
    pub(crate) events: usize,
    pub(crate) site: &'static Site<'static>,
    /// In a word: reads, writes, frees …
    pub(crate) what: &'static str,
}

/// Two accesses to plain memory, the one that this run made first before the other.
#[derive(Clone, Debug)]
pub(crate) struct Clash {
    /// What memory, in words.
    pub(crate) of: String,
    pub(crate) accesses: [Access; 2],
}

impl Access {
    /// Whether `thread`, as far as it has come, knows this access to be over.
    pub(crate) fn is_known(&self, core: &Core, thread: usize) -> bool {
        self.thread == thread || core.known(thread).get(self.thread) > self.events
    }
}

impl Core {
    /// What is wrong with where the run has ended, if nothing was wrong before: threads that wait for ever, or memory
    /// left, unless that is allowed.
    pub(crate) fn ending(&self, leaks: bool) -> Option<Failure> {
        let waiting: Vec<usize> = self.waiting().collect();
        if waiting.is_empty() {
            let leaked = if leaks { None } else { self.heap.leaked() };
            return leaked.map(|site| Failure::Leak { site });
        }
        let is_stuck = waiting.iter().all(|&thread| self.is_stuck(thread));
        is_stuck.then_some(Failure::Deadlock { threads: waiting })
    }

    /// How far each thread has come.
    pub(crate) fn progress(&self) -> Clock {
        let mut clock = Clock::default();
        self.threads.iter().enumerate().for_each(|(thread, run)| clock.set(thread, run.executed));
        clock
    }

    /// What of the run led to `failure`: program order and reads-from before it.
    pub(crate) fn needed(&self, failure: &Failure) -> Clock {
        let mut needed = Clock::default();
        let mut add = |thread: usize, events: usize| {
            if events > 0 {
                needed.join(&self.graph.get(EventId::new(thread, events)).prefix);
            }
        };
        let mut now = |thread: usize| add(thread, self.threads[thread].executed);
        match failure {
            Failure::Deadlock { .. } | Failure::Leak { .. } => return self.progress(),
            Failure::Panic { thread, .. }
            | Failure::Condition { thread, .. }
            | Failure::Unpublished { thread, .. } => now(*thread),
            Failure::Race { .. } | Failure::UseAfterFree { .. } | Failure::DoubleFree { .. } => {
                let accesses = self.clash.iter().flat_map(|clash| &clash.accesses);
                accesses.for_each(|access| add(access.thread, access.events));
            }
        }
        needed
    }

    /// The loop that the thread with the most events goes round, if it has done so three times at the end: its thread
    /// and its places.
    pub(crate) fn looping(&self) -> Option<String> {
        let (thread, run) = self.threads.iter().enumerate().max_by_key(|(_, run)| run.executed)?;
        let events = &self.graph.threads[thread][..run.executed];
        let sites: Vec<_> = events.iter().rev().map(|event| event.site).collect();
        let is_round = |length: &usize| {
            let rounds = sites.get(..3 * length);
            rounds.is_some_and(|it| it[*length..].iter().zip(it).all(|(one, other)| one == other))
        };
        let length = (1..=LONGEST_ROUND).find(is_round)?;
        let mut places: Vec<String> = Vec::new();
        for site in sites[..length].iter().rev().map(ToString::to_string) {
            if !places.contains(&site) {
                places.push(site);
            }
        }
        Some(format!("thread {thread} goes round {}", places.join(", ")))
    }

    /// The place in the code where a thread waits.
    pub(crate) fn waits_at(&self, thread: usize) -> Option<String> {
        let run = &self.threads[thread];
        match run.state {
            State::Blocked => {
                let last = self.graph.threads[thread].last()?;
                (last.kind == Kind::Blocked).then(|| last.site.to_string())
            }
            State::Spinning | State::Awaiting => Some(run.rounds.hinted_at()?.to_string()),
            _ => None,
        }
    }
}
