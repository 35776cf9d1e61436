//! Decides a history: each key's operations alone, without search where a shortcut can, and by search where not.
//!
//! # Contract
//! Linearizability is local: a history is linearizable if and only if the operations about each key are. A limit
//! makes the verdict [`Verdict::Undecided`], unless another key's operations are refuted.
//!
//! # Sources
//! Herlihy, Wing, "Linearizability: a correctness condition for concurrent objects", TOPLAS 1990 (theorem 1).

use super::search::{Found, Search};
use super::spec::{OperationOf, Shortcut, Spec};
use super::timeline::Timeline;
use std::collections::HashMap;
use std::fmt;

/// What bounds a decision.
pub struct Limits<'a> {
    /// Bytes that a search may use for what it remembers.
    pub memory_bytes: usize,
    /// Asked now and then; no ends the work.
    pub go_on: &'a mut dyn FnMut(&Progress) -> bool,
}

impl fmt::Debug for Limits<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Limits").field("memory_bytes", &self.memory_bytes).finish_non_exhaustive()
    }
}

/// Four gibibytes, no other limit.
impl Default for Limits<'_> {
    fn default() -> Self {
        fn always(_: &Progress) -> bool {
            true
        }
        // A function without state: leaking one is leaking nothing.
        Limits { memory_bytes: 4 << 30, go_on: Box::leak(Box::new(always)) }
    }
}

/// How far a search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Configurations that were entered.
    pub configurations: u64,
    /// The most returns that were met on one way.
    pub met: u64,
    /// Of so many, in this key's operations.
    pub returns: u64,
    /// Bytes in use for what it remembers.
    pub memory_bytes: usize,
}

/// Which limit ended a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// [`Limits::memory_bytes`].
    Memory,
    /// [`Limits::go_on`] said no.
    Stopped,
}

/// Whether a history is linearizable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Linearizable,
    /// It is not.
    Refuted(Refutation),
    /// Not known: a limit came first.
    Undecided(Bound),
}

/// Where a history fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refutation {
    /// The operations about the key that fails, by their number in the history.
    pub members: Vec<u32>,
    /// Those to look at first. They need not fail alone.
    pub suspects: Vec<u32>,
    /// Found by search; if not, without.
    pub by_search: bool,
}

/// A verdict, and how it was come by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// Keys that were decided without search.
    pub keys_without_search: u64,
    /// Keys that were decided by search.
    pub keys_by_search: u64,
    /// Configurations that search entered.
    pub configurations: u64,
}

/// Decides whether `history` is linearizable. The order of the operations in `history` does not matter.
///
/// # Panics
/// If there are more operations than [`super::MOST_OPERATIONS`].
pub fn check<S: Spec>(spec: &S, history: &[OperationOf<S>], limits: &mut Limits<'_>) -> Report {
    decide(spec, history, limits, true)
}

/// The same by search alone: slower, to hold shortcuts against.
pub fn search<S: Spec>(spec: &S, history: &[OperationOf<S>], limits: &mut Limits<'_>) -> Report {
    decide(spec, history, limits, false)
}

fn decide<S: Spec>(
    spec: &S,
    history: &[OperationOf<S>],
    limits: &mut Limits<'_>,
    shortcuts: bool,
) -> Report {
    let mut report = Report {
        verdict: Verdict::Linearizable,
        keys_without_search: 0,
        keys_by_search: 0,
        configurations: 0,
    };
    let keys = Keys::of(spec, history);
    for key in 0..keys.count() {
        let timeline = match keys.members(key) {
            Some(members) => Timeline::of_some(history, members),
            None => Timeline::of_all(history),
        };
        report.add(spec, &timeline, limits, shortcuts);
        if matches!(report.verdict, Verdict::Refuted(_) | Verdict::Undecided(Bound::Stopped)) {
            break;
        }
    }
    report
}

impl Report {
    /// Decides one key's operations.
    fn add<S: Spec>(
        &mut self,
        spec: &S,
        timeline: &Timeline<'_, S::Call, S::Output>,
        limits: &mut Limits<'_>,
        shortcuts: bool,
    ) {
        let shortcut = if shortcuts { spec.shortcut(timeline) } else { Shortcut::Unknown };
        let in_history = |op: u32| timeline.number_in_history(op);
        let refuted = |suspects: Vec<u32>, by_search| {
            let members = timeline.operations().map(|(op, _)| in_history(op)).collect();
            let suspects = suspects.into_iter().map(in_history).collect();
            Verdict::Refuted(Refutation { members, suspects, by_search })
        };
        match shortcut {
            Shortcut::Yes => self.keys_without_search += 1,
            Shortcut::No(suspects) => {
                self.keys_without_search += 1;
                self.verdict = refuted(suspects, false);
            }
            Shortcut::Unknown => {
                let (found, configurations) = Search::run(spec, timeline, limits);
                self.keys_by_search += 1;
                self.configurations += configurations;
                match found {
                    Found::Order => (),
                    Found::Stuck(op) => self.verdict = refuted(vec![op], true),
                    Found::Bound(bound) => self.verdict = Verdict::Undecided(bound),
                }
            }
        }
    }
}

/// The operations of a history by key.
struct Keys {
    /// Where each key's operations begin in `members`; the end stands behind the last.
    begins: Vec<u32>,
    members: Vec<u32>,
}

impl Keys {
    fn of<S: Spec>(spec: &S, history: &[OperationOf<S>]) -> Keys {
        if size_of::<S::Key>() == 0 {
            return Keys { begins: vec![0], members: vec![] };
        }
        let mut numbers: HashMap<S::Key, u32> = HashMap::new();
        let mut key_of = Vec::with_capacity(history.len());
        let mut begins = vec![0];
        for operation in history {
            let next = numbers.len() as u32;
            let key = *numbers.entry(spec.key(operation.call())).or_insert(next);
            if key == next {
                begins.push(0);
            }
            key_of.push(key);
            begins[key as usize + 1] += 1;
        }
        for key in 1..begins.len() {
            begins[key] += begins[key - 1];
        }
        let mut ends = begins.clone();
        let mut members = vec![0; history.len()];
        for (op, key) in key_of.iter().enumerate() {
            let end = &mut ends[*key as usize];
            members[*end as usize] = op as u32;
            *end += 1;
        }
        Keys { begins, members }
    }

    fn count(&self) -> usize {
        self.begins.len().saturating_sub(1).max(usize::from(self.members.is_empty()))
    }

    /// The operations of a key; nothing if there is one key, whose are all.
    fn members(&self, key: usize) -> Option<&[u32]> {
        let end = *self.begins.get(key + 1)?;
        Some(&self.members[self.begins[key] as usize..end as usize])
    }
}
