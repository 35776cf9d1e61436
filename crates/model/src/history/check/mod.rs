//! Decides a history: each key's operations alone, without search where a shortcut can, and by search where not.
//!
//! # Contract
//! Linearizability is local: a history is linearizable if and only if the operations about each key are. A limit
//! makes the verdict [`Verdict::Undecided`], unless another key's operations are refuted. If several keys fail, one of
//! them is told: with threads, whichever is found first.
//!
//! Each key is searched for a moment at first, so that a key which is refuted at once is found even behind a hard one,
//! and small histories never start a thread.
//!
//! # Sources
//! Herlihy, Wing, "Linearizability: a correctness condition for concurrent objects", TOPLAS 1990 (theorem 1).

mod keys;
mod threads;

use super::search::{Found, Search};
use super::spec::{OperationOf, Shortcut, Spec};
use super::timeline::Timeline;
use keys::Keys;
use std::fmt;
use std::num::NonZeroUsize;

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

/// How far a search is; with threads, all searches that are under way together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Configurations that were entered.
    pub configurations: u64,
    /// The most returns that were met on one way.
    pub met: u64,
    /// Of so many in the operations that are searched.
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

/// Configurations that the first search of a key may enter where there are several keys.
const FIRST: u64 = 1 << 10;

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

/// [`check`], with several keys searched at the same time on at most `threads` threads of its own. They share
/// [`Limits::memory_bytes`]; a key that does not fit alongside others is searched alone afterwards.
/// [`Limits::go_on`] is asked on the calling thread.
///
/// # Panics
/// If there are more operations than [`super::MOST_OPERATIONS`].
pub fn check_on<S>(
    threads: NonZeroUsize,
    spec: &S,
    history: &[OperationOf<S>],
    limits: &mut Limits<'_>,
) -> Report
where
    S: Spec + Sync,
    S::Call: Sync,
    S::Output: Sync,
{
    let keys = Keys::of(spec, history);
    let mut report = Report::default();
    let mut hard = report.first(spec, history, &keys, limits, true);
    if threads.get() > 1 && hard.len() > 1 {
        hard = threads::search(threads.get(), (spec, history, &keys), &hard, limits, &mut report);
    }
    report.rest(spec, history, &keys, &hard, limits);
    report
}

fn decide<S: Spec>(
    spec: &S,
    history: &[OperationOf<S>],
    limits: &mut Limits<'_>,
    shortcuts: bool,
) -> Report {
    let keys = Keys::of(spec, history);
    let mut report = Report::default();
    let hard = report.first(spec, history, &keys, limits, shortcuts);
    report.rest(spec, history, &keys, &hard, limits);
    report
}

/// Linearizable: what is said of a history of which nothing is decided yet.
impl Default for Report {
    fn default() -> Self {
        let verdict = Verdict::Linearizable;
        Report { verdict, keys_without_search: 0, keys_by_search: 0, configurations: 0 }
    }
}

impl Report {
    /// Decides each key that takes no search or a short one. Answers with the others.
    fn first<S: Spec>(
        &mut self,
        spec: &S,
        history: &[OperationOf<S>],
        keys: &Keys,
        limits: &mut Limits<'_>,
        shortcuts: bool,
    ) -> Vec<usize> {
        let mut hard = Vec::new();
        for key in 0..keys.count() {
            let timeline = keys.timeline::<S>(history, key);
            match if shortcuts { spec.shortcut(&timeline) } else { Shortcut::Unknown } {
                Shortcut::Yes => self.keys_without_search += 1,
                Shortcut::No(suspects) => {
                    self.keys_without_search += 1;
                    self.verdict = refuted(&timeline, suspects, false);
                }
                Shortcut::Unknown if keys.count() == 1 => hard.push(key),
                Shortcut::Unknown => {
                    let (mut is_hard, go_on) = (false, &mut limits.go_on);
                    let mut within = |progress: &Progress| {
                        is_hard = progress.configurations >= FIRST;
                        !is_hard && go_on(progress)
                    };
                    let memory_bytes = limits.memory_bytes;
                    let mut short = Limits { memory_bytes, go_on: &mut within };
                    let decision = Decision::by_search(spec, &timeline, &mut short);
                    if is_hard {
                        self.configurations += decision.configurations;
                        hard.push(key);
                    } else {
                        self.add(decision);
                    }
                }
            }
            if self.is_final() {
                return vec![];
            }
        }
        hard
    }

    /// Decides `hard` keys, one after the other.
    fn rest<S: Spec>(
        &mut self,
        spec: &S,
        history: &[OperationOf<S>],
        keys: &Keys,
        hard: &[usize],
        limits: &mut Limits<'_>,
    ) {
        for key in hard {
            if self.is_final() {
                return;
            }
            self.add(Decision::by_search(spec, &keys.timeline::<S>(history, *key), limits));
        }
    }

    /// Whether no other key can change the verdict.
    fn is_final(&self) -> bool {
        matches!(self.verdict, Verdict::Refuted(_) | Verdict::Undecided(Bound::Stopped))
    }

    fn add(&mut self, decision: Decision) {
        self.keys_by_search += 1;
        self.configurations += decision.configurations;
        match decision.verdict {
            Verdict::Linearizable => (),
            // It stands whatever limit came first.
            Verdict::Refuted(_) if !matches!(self.verdict, Verdict::Refuted(_)) => {
                self.verdict = decision.verdict;
            }
            Verdict::Refuted(_) => (),
            Verdict::Undecided(_) if self.is_final() => (),
            Verdict::Undecided(_) => self.verdict = decision.verdict,
        }
    }
}

/// What search found of one key.
struct Decision {
    verdict: Verdict,
    configurations: u64,
}

impl Decision {
    fn by_search<S: Spec>(
        spec: &S,
        timeline: &Timeline<'_, S::Call, S::Output>,
        limits: &mut Limits<'_>,
    ) -> Self {
        let (found, configurations) = Search::run(spec, timeline, limits);
        let verdict = match found {
            Found::Order => Verdict::Linearizable,
            Found::Stuck(op) => refuted(timeline, vec![op], true),
            Found::Bound(bound) => Verdict::Undecided(bound),
        };
        Decision { verdict, configurations }
    }
}

fn refuted<C, O>(timeline: &Timeline<'_, C, O>, suspects: Vec<u32>, by_search: bool) -> Verdict {
    let in_history = |op: u32| timeline.number_in_history(op);
    let members = timeline.operations().map(|(op, _)| in_history(op)).collect();
    let suspects = suspects.into_iter().map(in_history).collect();
    Verdict::Refuted(Refutation { members, suspects, by_search })
}
