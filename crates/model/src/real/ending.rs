//! How a run ended, and which of its events led there.

use super::clock::Clock;
use super::core::{Core, State, Stop};
use super::graph::{Event, EventId, Kind};
use super::verdict::{Bound, Failure};
use std::fmt;
use std::panic::Location as Site;

/// The longest round, in events, that the search for a loop considers.
const LONGEST_ROUND: usize = 100;

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Failure(failure) => failure.fmt(f),
            Stop::Bound(bound) => bound.fmt(f),
            Stop::Diverged(why) | Stop::Misfit(why) => f.write_str(why),
        }
    }
}

/// A use of plain memory, and how many events its thread had executed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) thread: usize,
    pub(crate) events: usize,
    pub(crate) site: &'static Site<'static>,
    /// The kind of use, in a word: reads, writes, frees …
    pub(crate) what: &'static str,
}

/// Two accesses to plain memory, in the order in which this run made them.
#[derive(Clone, Debug)]
pub(crate) struct Clash {
    /// The memory, as messages name it.
    pub(crate) of: String,
    pub(crate) accesses: [Access; 2],
}

impl Access {
    /// Whether this access happens before the current point of `thread`.
    pub(crate) fn is_known(&self, core: &Core, thread: usize) -> bool {
        self.thread == thread || core.known(thread).get(self.thread) > self.events
    }
}

impl Core {
    /// What is wrong with the end of the run, if nothing was wrong before: threads that wait forever, or leaked memory,
    /// unless that is allowed.
    pub(crate) fn ending(&self, leaks: bool) -> Option<Failure> {
        let waiting: Vec<usize> = self.waiting().collect();
        if waiting.is_empty() {
            let leaked = if leaks { None } else { self.heap.leaked() };
            return leaked.map(|site| Failure::Leak { site });
        }
        if !waiting.iter().all(|&thread| self.is_stuck(thread)) {
            return None;
        }
        let loops = |&thread: &usize| self.threads[thread].state == State::Spinning;
        Some(match waiting.iter().any(loops) {
            true => Failure::Livelock { threads: waiting, rounds: self.limits.spins },
            false => Failure::Deadlock { threads: waiting },
        })
    }

    /// The number of events that each thread has executed.
    pub(crate) fn progress(&self) -> Clock {
        let mut clock = Clock::default();
        self.threads.iter().enumerate().for_each(|(thread, run)| clock.set(thread, run.executed));
        clock
    }

    /// The events that led to `failure`: those before it in program order and reads-from.
    pub(crate) fn needed(&self, failure: &Failure) -> Clock {
        let mut needed = Clock::default();
        let mut add = |thread: usize, events: usize| {
            if events > 0 {
                needed.join(&self.graph.clocks(EventId::new(thread, events)).prefix);
            }
        };
        let mut now = |thread: usize| add(thread, self.threads[thread].executed);
        match failure {
            Failure::Deadlock { .. } | Failure::Livelock { .. } | Failure::Leak { .. } => {
                return self.progress();
            }
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

    /// The loop that ran into a bound, by its places in the code, with what to do about it.
    pub(crate) fn looping(&self, hit: Bound) -> Option<String> {
        if let Bound::Spins(_) = hit {
            let thread = self.threads.iter().position(|run| run.rounds.is_endless())?;
            let hint = self.threads[thread].rounds.hinted_at()?;
            return Some(format!(
                "thread {thread} only gives hints at {hint}: read what the loop waits for in each round"
            ));
        }
        let (thread, run) = self.threads.iter().enumerate().max_by_key(|(_, run)| run.executed)?;
        let round = Core::round(&self.graph.threads[thread][..run.executed])?;
        let places = |events: &mut dyn Iterator<Item = &Event>| {
            let mut places: Vec<String> = Vec::new();
            for place in events.map(|event| event.site.to_string()) {
                if !places.contains(&place) {
                    places.push(place);
                }
            }
            places.join(", ")
        };
        let written = places(&mut round.iter().filter(|event| event.kind == Kind::Write));
        let told = match (round.iter().any(|event| event.after_hint), written.is_empty()) {
            (false, _) => ", without a hint: call `spin_loop` or `yield_now` in a loop that waits, or use `wait_until`"
                .to_owned(),
            (true, true) => String::new(),
            (true, false) => format!(
                ", and each round writes ({written}): `Explorer::rounds` bounds only rounds that change nothing. Use \
                 `wait_until` and make the changes outside its condition, or let the loop give up after a few rounds"
            ),
        };
        Some(format!("thread {thread} loops at {}{told}", places(&mut round.iter())))
    }

    /// The round of a loop that a thread has run three times at the end.
    fn round(events: &[Event]) -> Option<&[Event]> {
        let is_alike = |one: &Event, other: &Event| {
            (one.site, one.kind, one.after_hint) == (other.site, other.kind, other.after_hint)
        };
        let is_round = |length: &usize| {
            let begin = events.len().checked_sub(3 * length);
            begin.is_some_and(|begin| {
                let rounds = &events[begin..];
                let mut next = rounds[*length..].iter().zip(rounds);
                next.all(|(one, other)| is_alike(one, other))
            })
        };
        let length = (1..=LONGEST_ROUND).find(is_round)?;
        Some(&events[events.len() - length..])
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
