//! The rounds of a thread's waiting loops, and which of them had no effect.
//!
//! # Contract
//! A hint (`yield_now`, `spin_loop`, `sleep`) ends a round of the loop around it. A round is *unsuccessful* if it
//! changed nothing (a failed exchange and a read-modify-write that stores what it found change nothing) and read the
//! same writes as the round before it. Hints force nothing by themselves: the first `most` unsuccessful rounds are
//! explored like any other code. The round after them, if it begins with the same reads, must repeat them: anything
//! else it could find was found by an execution with fewer rounds, or is beyond the bound, which the verdict then
//! states.
//!
//! The checker does not see a loop's local variables, so nothing is forced before the bound.
//!
//! # Invariants
//! W1: all state is a function of the thread's own events and hints, so a replay ends in the same state.
//! W2: `repeating` lies inside `seen`; what it stands for was read in the round just ended.

use super::graph::EventId;
use std::panic::Location as Site;

/// What a round found, or chose, at a place in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Read(EventId),
    /// A read-modify-write stored what it found, by this write.
    Rewritten(u64, EventId),
    Chosen(u64),
    Fenced,
}

/// Rounds that decide whether a loop waits forever: a loop that alternates between a few places shows them all.
const JUDGED_ROUNDS: usize = 8;

/// Consecutive hints with nothing between them after which a loop is taken to do nothing else.
pub(crate) const EMPTY_ROUNDS: u32 = 10_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) site: &'static Site<'static>,
    pub(crate) location: u32,
    pub(crate) what: What,
}

impl PartialEq for Seen {
    /// Two rounds that store what they found are compared by value: the writes are always new.
    fn eq(&self, other: &Seen) -> bool {
        let alike = match (self.what, other.what) {
            (What::Rewritten(value, _), What::Rewritten(again, _)) => value == again,
            (what, again) => what == again,
        };
        alike && self.site == other.site && self.location == other.location
    }
}

/// The loop around a hint.
#[derive(Debug)]
struct Loop {
    site: &'static Site<'static>,
    /// The events of its thread before its first hint.
    begun: usize,
    /// Where in `seen` its rounds began, the current one last.
    begins: Vec<usize>,
    unsuccessful: u32,
    empty: u32,
}

impl Loop {
    fn is_endless(&self) -> bool {
        self.empty > EMPTY_ROUNDS
    }
}

/// A round that a hint has just ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Unsuccessful rounds in a row, this one included.
    pub(crate) unsuccessful: u32,
    /// Rounds of this loop since its thread last changed something.
    pub(crate) count: u32,
    /// The round stored what it found.
    pub(crate) rewrites: bool,
    /// The loop does nothing but hint.
    pub(crate) is_endless: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// Everything read since the thread last changed something.
    seen: Vec<Seen>,
    loops: Vec<Loop>,
    /// The part of `seen` that the current round must repeat (W2).
    repeating: std::ops::Range<usize>,
    /// The round that the last hint ended.
    last: std::ops::Range<usize>,
    hinted_at: Option<&'static Site<'static>>,
}

impl Rounds {
    /// Records what the thread has read, rewritten or chosen.
    pub(crate) fn saw(&mut self, seen: Seen) {
        if let Some(&before) = self.expected(seen.site, seen.location) {
            let is_same = before == seen;
            self.repeating =
                if is_same { self.repeating.start + 1..self.repeating.end } else { 0..0 };
        } else {
            self.repeating = 0..0;
        }
        self.seen.push(seen);
    }

    /// The thread has changed something, so all its further reads count as new.
    #[inline(always)]
    pub(crate) fn changed(&mut self) {
        if !self.seen.is_empty() || !self.loops.is_empty() {
            self.forget();
        }
    }

    #[inline(never)]
    fn forget(&mut self) {
        self.seen.clear();
        self.loops.clear();
        (self.repeating, self.last) = (0..0, 0..0);
    }

    /// Resets the state for another thread.
    pub(crate) fn clear(&mut self) {
        self.forget();
        self.hinted_at = None;
    }

    /// What the previous round found here, if the current one must repeat it.
    fn expected(&self, site: &'static Site<'static>, location: u32) -> Option<&Seen> {
        let seen = self.seen.get(self.repeating.clone())?.first()?;
        (seen.site == site && seen.location == location).then_some(seen)
    }

    /// Ends a round of the loop around `site`, `executed` events into its thread. Beyond `most` unsuccessful rounds the
    /// next one repeats this one. A hint with nothing before it in its round ends none.
    pub(crate) fn hint(
        &mut self,
        site: &'static Site<'static>,
        executed: usize,
        most: u32,
    ) -> Ended {
        let end = self.seen.len();
        self.hinted_at = Some(site);
        let Some(entry) = self.loops.iter_mut().find(|entry| entry.site == site) else {
            let begins = vec![end];
            self.loops.push(Loop { site, begun: executed, begins, unsuccessful: 1, empty: 0 });
            (self.repeating, self.last) = (0..0, end..end);
            return Ended { unsuccessful: 1, count: 1, rewrites: false, is_endless: false };
        };
        let begin = *entry.begins.last().expect("its first round");
        let length = end - begin;
        if length == 0 {
            entry.empty += 1;
        } else {
            let before = begin.checked_sub(length).map(|before| &self.seen[before..begin]);
            let is_same = before == Some(&self.seen[begin..]);
            entry.unsuccessful = if is_same { entry.unsuccessful + 1 } else { 1 };
            entry.begins.push(end);
            entry.empty = 0;
            self.last = begin..end;
        }
        let (unsuccessful, count) = (entry.unsuccessful, entry.begins.len() as u32);
        let is_endless = entry.is_endless();
        self.repeating = if unsuccessful > most { self.last.clone() } else { 0..0 };
        Ended { unsuccessful, count, rewrites: self.last_rewrites(), is_endless }
    }

    /// The write that a read here must read again.
    pub(crate) fn repeated(&self, site: &'static Site<'static>, location: u32) -> Option<EventId> {
        match self.expected(site, location)?.what {
            What::Read(from) => Some(from),
            _ => None,
        }
    }

    /// How much has been read since the thread last changed something.
    pub(crate) fn read_so_far(&self) -> usize {
        self.seen.len()
    }

    /// Records that what was read since then is a round that waits.
    pub(crate) fn wait_since(&mut self, begin: usize, site: &'static Site<'static>) {
        self.last = begin..self.seen.len();
        self.hinted_at = Some(site);
    }

    /// Forgets the round that waits.
    pub(crate) fn undo_wait(&mut self) {
        self.seen.truncate(self.last.start);
        self.last = 0..0;
    }

    /// What the last rounds of the most recent loop found; decides whether it waits forever.
    pub(crate) fn judged(&self) -> &[Seen] {
        let hinted = self.loops.iter().find(|entry| Some(entry.site) == self.hinted_at);
        let begin = hinted.and_then(|entry| {
            entry.begins.iter().rev().take(JUDGED_ROUNDS + 1).next_back().copied()
        });
        &self.seen[begin.unwrap_or(self.seen.len())..]
    }

    /// What the last round found.
    pub(crate) fn last(&self) -> &[Seen] {
        &self.seen[self.last.clone()]
    }

    /// Whether the last round stored what it found.
    pub(crate) fn last_rewrites(&self) -> bool {
        self.last().iter().any(|seen| matches!(seen.what, What::Rewritten(..)))
    }

    /// Whether the thread only gives hints.
    pub(crate) fn is_endless(&self) -> bool {
        self.loops.iter().any(Loop::is_endless)
    }

    /// Where the last hint was given, and the events of the thread before the first one there.
    pub(crate) fn hinted(&self) -> Option<(&'static Site<'static>, usize)> {
        let site = self.hinted_at?;
        let found = self.loops.iter().find(|entry| entry.site == site)?;
        Some((site, found.begun))
    }

    /// Where the last hint was given.
    pub(crate) fn hinted_at(&self) -> Option<&'static Site<'static>> {
        self.hinted_at
    }
}
