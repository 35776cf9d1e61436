//! The rounds of a thread's waiting loops, and which of them had no effect.
//!
//! # Contract
//! A hint (`yield_now`, `spin_loop`, `sleep`) ends a *stretch*: what the thread has read, rewritten or chosen since the
//! last hint at that place. A *round* is the shortest sequence of stretches that repeats: one stretch in a plain loop,
//! several if the loop contains another one that gives hints. A round is *unsuccessful* if it changed nothing (a failed
//! exchange and a read-modify-write that stores what it found change nothing) and read the same writes as the round
//! before it. Hints force nothing by themselves: the first `most` unsuccessful rounds are explored like any other code.
//! Then the loop is left waiting, or continues if it gives up by itself (`probing`); each of its stretches must then
//! repeat that of the round before, if it begins with the same reads. Anything else it could find was found by an
//! execution with fewer rounds, or is beyond the bound, which the verdict then states.
//!
//! The checker does not see a loop's local variables, so nothing is forced before the bound. For the same reason a
//! helper that gives up and is called again is one loop. So of a loop that gives up, one round in each of `PARTS` equal
//! parts is explored like any other code: each of as many equal calls finds something new in some execution.
//!
//! # Invariants
//! W1: all state is a function of the thread's own events and hints, so a replay ends in the same state.
//! W2: `repeating` lies inside `seen`; what it stands for was read in the last round.

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

/// Into how many parts a loop that gives up is divided.
const PARTS: usize = 8;

/// The longest round, in stretches, that is recognised.
const LONGEST_ROUND: usize = 100;

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
    /// Where in `seen` its stretches began, the current one last.
    begins: Vec<usize>,
    /// Of each stretch that has ended: equal ones, at most `LONGEST_ROUND` apart, have equal numbers.
    kinds: Vec<u32>,
    /// For rounds of 1, 2, … stretches: how many stretches in a row equal the one that many before.
    repeats: Vec<u32>,
    /// It continues until it has made this many stretches, because it gives up by itself.
    followed: u32,
    /// Hints in a row with nothing between them.
    empty: u32,
}

impl Loop {
    fn new(site: &'static Site<'static>, begun: usize, begin: usize) -> Loop {
        let (kinds, repeats) = Default::default();
        Loop { site, begun, begins: vec![begin], kinds, repeats, followed: 0, empty: 0 }
    }

    fn is_endless(&self) -> bool {
        self.empty > EMPTY_ROUNDS
    }

    /// Whether the current stretch belongs to the round of its part in which anything may be found.
    fn looks_again(&self) -> bool {
        let part = |stretch: usize| stretch * PARTS / self.followed as usize;
        let made = self.begins.len();
        self.followed > 0 && part(made) != part(made.saturating_sub(self.length()))
    }

    /// Ends the current stretch.
    fn end_stretch(&mut self, seen: &[Seen]) {
        let (begin, end) = (self.begins[self.begins.len() - 1], seen.len());
        let made = &seen[begin..end];
        if self.kinds.is_empty() {
            // Where the stretch before the first hint began is unknown: it counts if it ended alike.
            let before = begin.checked_sub(made.len());
            if let Some(before) = before.filter(|&before| seen[before..begin] == *made) {
                self.begins.insert(0, before);
                self.kinds.push(0);
            }
        }
        let count = self.kinds.len();
        let stretch = |at: usize| &seen[self.begins[at]..self.begins[at + 1]];
        let recent = count.saturating_sub(LONGEST_ROUND)..count;
        let same = recent.rev().find(|&at| stretch(at) == made);
        let kind = same.map_or(count as u32, |at| self.kinds[at]);
        self.repeats.resize(count.min(LONGEST_ROUND), 0);
        for (length, repeats) in (1..).zip(&mut self.repeats) {
            *repeats = if self.kinds[count - length] == kind { *repeats + 1 } else { 0 };
        }
        self.kinds.push(kind);
        self.begins.push(end);
    }

    /// Unsuccessful rounds of this length in a row, the last one included.
    fn unsuccessful(&self, length: usize) -> u32 {
        1 + self.repeats.get(length - 1).map_or(0, |&repeats| repeats / length as u32)
    }

    /// The length of its rounds, in stretches: the one whose repetitions go back furthest, or else the shortest.
    fn length(&self) -> usize {
        let reach = |length: &usize| match self.repeats[length - 1] as usize {
            repeats if repeats < *length => 0,
            repeats => repeats + length,
        };
        (1..=self.repeats.len()).rev().max_by_key(reach).filter(|it| reach(it) > 0).unwrap_or(1)
    }
}

/// A round that a hint has just ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Unsuccessful rounds in a row, this one included.
    pub(crate) unsuccessful: u32,
    /// The loop does nothing but hint.
    pub(crate) is_endless: bool,
}

/// A loop at its last hint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hinted {
    pub(crate) site: &'static Site<'static>,
    /// The events of its thread before its first hint.
    pub(crate) begun: usize,
    /// Its stretches since its thread last changed something.
    pub(crate) count: u32,
    /// The length of its rounds, in stretches.
    pub(crate) length: usize,
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

    /// Ends a stretch of the loop around `site`, `executed` events into its thread. Beyond `most` unsuccessful rounds
    /// the next stretch repeats that of the last round. A hint with nothing before it ends none.
    pub(crate) fn hint(
        &mut self,
        site: &'static Site<'static>,
        executed: usize,
        most: u32,
    ) -> Ended {
        let end = self.seen.len();
        self.hinted_at = Some(site);
        let Some(entry) = self.loops.iter_mut().find(|entry| entry.site == site) else {
            self.loops.push(Loop::new(site, executed, end));
            (self.repeating, self.last) = (0..0, end..end);
            return Ended { unsuccessful: 1, is_endless: false };
        };
        if entry.begins.last() == Some(&end) {
            entry.empty += 1;
        } else {
            entry.empty = 0;
            entry.end_stretch(&self.seen);
        }
        let length = entry.length();
        let unsuccessful = entry.unsuccessful(length);
        (self.repeating, self.last) = (0..0, end..end);
        if let Some(first) = entry.kinds.len().checked_sub(length) {
            self.last = entry.begins[first]..end;
            if unsuccessful > most {
                self.repeating = entry.begins[first]..entry.begins[first + 1];
            }
        }
        Ended { unsuccessful, is_endless: entry.is_endless() }
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

    /// The loop of the last hint.
    pub(crate) fn hinted(&self) -> Option<Hinted> {
        let site = self.hinted_at?;
        let entry = self.loops.iter().find(|entry| entry.site == site)?;
        let (begun, count) = (entry.begun, entry.begins.len() as u32);
        Some(Hinted { site, begun, count, length: entry.length() })
    }

    /// Unsuccessful rounds of this loop in a row, if all its stretches since that hint repeat the ones a round before.
    pub(crate) fn repeats_since(&self, hinted: &Hinted) -> Option<u32> {
        let entry = self.loops.iter().find(|entry| entry.site == hinted.site)?;
        let since = (entry.begins.len() as u32).checked_sub(hinted.count)?;
        let repeats = entry.repeats.get(hinted.length - 1).copied().unwrap_or(0);
        (entry.begun == hinted.begun && repeats >= since).then(|| entry.unsuccessful(hinted.length))
    }

    /// Lets the loop of the last hint go on until it has made this many stretches.
    pub(crate) fn follow(&mut self, until: u32) {
        let found = self.loops.iter_mut().find(|entry| Some(entry.site) == self.hinted_at);
        found.into_iter().for_each(|entry| entry.followed = until);
        self.is_followed();
    }

    /// Whether it continues for that reason. Then nothing is forced in the rounds that look for something new.
    pub(crate) fn is_followed(&mut self) -> bool {
        let found = self.loops.iter().find(|entry| Some(entry.site) == self.hinted_at);
        let followed = found.filter(|entry| entry.begins.len() <= entry.followed as usize);
        if followed.is_some_and(Loop::looks_again) {
            self.repeating = 0..0;
        }
        followed.is_some()
    }

    /// Where the last hint was given.
    pub(crate) fn hinted_at(&self) -> Option<&'static Site<'static>> {
        self.hinted_at
    }
}
