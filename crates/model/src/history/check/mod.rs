//! Decides a history: each key's operations separately, without search if a shortcut applies.
//!
//! # Contract
//! Linearizability is local: a history is linearizable if and only if the operations on each key are. A limit makes the
//! verdict [`Verdict::Undecided`], unless another key's operations are refuted. If several keys fail, one of them is
//! reported: with threads, the one found first.
//!
//! Each key is first searched briefly, so that a key that is easy to refute is found even after a hard one, and small
//! histories never start a thread.
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

/// Limits of a decision.
pub struct Limits<'a> {
    /// The most bytes that a search may use for visited configurations.
    pub memory_bytes: usize,
    /// Called now and then with the progress; the work ends when it returns false.
    pub go_on: &'a mut dyn FnMut(&Progress) -> bool,
}

impl fmt::Debug for Limits<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Limits").field("memory_bytes", &self.memory_bytes).finish_non_exhaustive()
    }
}

/// Four gibibytes, and no other limit.
impl Default for Limits<'_> {
    fn default() -> Self {
        fn always(_: &Progress) -> bool {
            true
        }
        // A function without state: leaking it leaks no memory.
        Limits { memory_bytes: 4 << 30, go_on: Box::leak(Box::new(always)) }
    }
}

/// The progress of a search; with threads, of all searches together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Configurations entered.
    pub configurations: u64,
    /// The most returns passed on one path.
    pub met: u64,
    /// All returns in the operations being searched.
    pub returns: u64,
    /// Bytes in use for visited configurations.
    pub memory_bytes: usize,
}

/// The limit that ended a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// [`Limits::memory_bytes`].
    Memory,
    /// [`Limits::go_on`] returned false.
    Stopped,
}

/// Whether a history is linearizable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Linearizable,
    /// No.
    Refuted(Refutation),
    /// Unknown: a limit was hit first.
    Undecided(Bound),
}

/// The part of a history that fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refutation {
    /// The operations on the failing key, by their index in the history.
    pub members: Vec<u32>,
    /// The operations to look at first. They need not fail on their own.
    pub suspects: Vec<u32>,
    /// Whether search found it, instead of a shortcut.
    pub by_search: bool,
}

/// A verdict and how it was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// Keys decided without search.
    pub keys_without_search: u64,
    /// Keys decided by search.
    pub keys_by_search: u64,
    /// Configurations that searches entered.
    pub configurations: u64,
}

/// Configurations that the first search of a key may enter if there are several keys.
const FIRST: u64 = 1 << 10;

/// Decides whether `history` is linearizable. The order of the operations in `history` does not matter.
///
/// # Panics
/// If there are more operations than [`super::MOST_OPERATIONS`].
pub fn check<S: Spec>(spec: &S, history: &[OperationOf<S>], limits: &mut Limits<'_>) -> Report {
    decide(spec, history, limits, true)
}

/// [`check`] by search alone: slower, to test the shortcuts against.
pub fn search<S: Spec>(spec: &S, history: &[OperationOf<S>], limits: &mut Limits<'_>) -> Report {
    decide(spec, history, limits, false)
}

/// [`check`], but searches several keys in parallel on at most `threads` threads that it starts. They share
/// [`Limits::memory_bytes`]; a key that does not fit alongside others is searched alone afterwards. [`Limits::go_on`]
/// is called on the calling thread.
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

/// The initial report: linearizable, nothing decided yet.
impl Default for Report {
    fn default() -> Self {
        let verdict = Verdict::Linearizable;
        Report { verdict, keys_without_search: 0, keys_by_search: 0, configurations: 0 }
    }
}

impl Report {
    /// Decides each key that needs no search or a short one. Returns the other keys.
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

    /// Decides the `hard` keys one by one.
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
            // A refutation stands whatever limit was hit before.
            Verdict::Refuted(_) if !matches!(self.verdict, Verdict::Refuted(_)) => {
                self.verdict = decision.verdict;
            }
            Verdict::Refuted(_) => (),
            Verdict::Undecided(_) if self.is_final() => (),
            Verdict::Undecided(_) => self.verdict = decision.verdict,
        }
    }
}

/// The result of the search of one key.
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
