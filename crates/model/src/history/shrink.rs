//! Shrinks a refuted history to the operations that matter.
//!
//! # Contract
//! A core is refuted too, and follows from the history: each step below turns a linearizable history into a
//! linearizable one, so a refuted result implies a refuted input. To *forget* an operation is to drop its times, its
//! output and whether it took effect. A core is minimal if forgetting any one of its operations makes it linearizable.
//!
//! - C1: cut at a time. Operations called later are removed; operations that return later never returned.
//! - C2: remove an operation that keeps the state ([`Spec::keeps_state`]).
//! - C3: remove a group, if every operation has a group or stays ([`Spec::group`]).
//! - C4: forget an operation.
//!
//! If the check of a part hits a limit, the part counts as "linearizable": the core is then larger, and not called
//! minimal.

use super::check::{Limits, Progress, Refutation, Verdict, check};
use super::operation::Operation;
use super::spec::{Group, OperationOf, Spec};
use std::collections::BTreeMap;

/// The most configurations that the check of one part may take.
const MOST_CONFIGURATIONS: u64 = 100_000;

/// The most operations that all checks together may read.
const MOST_READ: usize = 100_000_000;

/// A core of a refuted history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Core<C, O> {
    /// The operations that matter, by their index in the history, in the order of their calls.
    pub operations: Vec<u32>,
    /// The remaining history: those operations, and others that only may have taken effect.
    pub rest: Vec<Operation<C, O>>,
    /// The index in the history of each operation of `rest`.
    pub numbers: Vec<u32>,
    /// Whether forgetting any one of `operations` makes it linearizable.
    pub minimal: bool,
}

/// An operation of a part, and its index in the history.
type Piece<S> = (u32, OperationOf<S>);

/// Finds a core of a refuted history.
pub fn shrink<S: Spec>(
    spec: &S,
    history: &[OperationOf<S>],
    refutation: &Refutation,
    limits: &mut Limits<'_>,
) -> Core<S::Call, S::Output> {
    let pieces = refutation.members.iter().map(|op| (*op, history[*op as usize].clone()));
    let mut shrinking =
        Shrinking { spec, limits, pieces: pieces.collect(), left: MOST_READ, minimal: true };
    shrinking.suspects(&refutation.suspects);
    shrinking.cut();
    shrinking.leave_out();
    shrinking.cut();
    shrinking.forget();
    // An operation removed here can make others unnecessary.
    while shrinking.leave_out() {
        shrinking.forget();
    }
    let mut core =
        Core { operations: vec![], rest: vec![], numbers: vec![], minimal: shrinking.minimal };
    let mut pieces = shrinking.pieces;
    pieces.sort_by_key(|(number, operation)| (operation.called_at(), *number));
    for (number, operation) in pieces {
        if !operation.is_pending() {
            core.operations.push(number);
        }
        core.numbers.push(number);
        core.rest.push(operation);
    }
    core
}

struct Shrinking<'a, 'l, S: Spec> {
    spec: &'a S,
    limits: &'a mut Limits<'l>,
    /// The current part; always refuted.
    pieces: Vec<Piece<S>>,
    /// Operations that the checks may still read.
    left: usize,
    minimal: bool,
}

impl<S: Spec> Shrinking<'_, '_, S> {
    /// Switches to `pieces` if they are refuted.
    fn take(&mut self, pieces: Vec<Piece<S>>) -> bool {
        if pieces.len() > self.left {
            self.minimal = false;
            return false;
        }
        self.left -= pieces.len();
        let operations: Vec<_> = pieces.iter().map(|(_, operation)| operation.clone()).collect();
        let go_on = &mut self.limits.go_on;
        let mut within =
            |progress: &Progress| progress.configurations < MOST_CONFIGURATIONS && go_on(progress);
        let mut limits = Limits { memory_bytes: self.limits.memory_bytes, go_on: &mut within };
        match check(self.spec, &operations, &mut limits).verdict {
            Verdict::Refuted(_) => {
                self.pieces = pieces;
                true
            }
            Verdict::Linearizable => false,
            Verdict::Undecided(_) => {
                self.minimal = false;
                false
            }
        }
    }

    fn keeps_state(&self, operation: &OperationOf<S>) -> bool {
        self.spec.keeps_state(operation.call(), operation.output())
    }

    fn group(&self, operation: &OperationOf<S>) -> Group {
        self.spec.group(operation.call(), operation.output())
    }

    fn has_groups(&self) -> bool {
        self.pieces.iter().all(|(_, operation)| self.group(operation) != Group::Unknown)
    }

    /// Removes at once everything unrelated to the suspects.
    fn suspects(&mut self, suspects: &[u32]) {
        let mut is_suspect = suspects.to_vec();
        is_suspect.sort_unstable();
        let is_suspect = |number: &u32| is_suspect.binary_search(number).is_ok();
        let kept =
            |(number, operation): &Piece<S>| is_suspect(number) || !self.keeps_state(operation);
        let changing: Vec<_> = self.pieces.iter().filter(|piece| kept(piece)).cloned().collect();
        self.take(changing);
        if !self.has_groups() {
            return;
        }
        let suspicious = self.pieces.iter().filter(|(number, _)| is_suspect(number));
        let mut groups: Vec<i64> = suspicious.filter_map(|(_, op)| of(self.group(op))).collect();
        groups.sort_unstable();
        let kept = |(number, operation): &Piece<S>| match self.group(operation) {
            Group::Of(group) => groups.binary_search(&group).is_ok(),
            _ => is_suspect(number) || !self.keeps_state(operation),
        };
        let few = self.pieces.iter().filter(|piece| kept(piece)).cloned().collect();
        self.take(few);
    }

    /// Cuts at the earliest return after which the part is refuted (C1).
    fn cut(&mut self) {
        let mut times: Vec<u64> =
            self.pieces.iter().filter_map(|(_, operation)| operation.returned_at()).collect();
        times.sort_unstable();
        times.dedup();
        // A history refuted at one cut is refuted at every later one, so bisection finds the earliest.
        let (mut from, mut to) = (0, times.len().saturating_sub(1));
        while from < to {
            let middle = from.midpoint(to);
            let known = self.pieces.iter();
            let known = known.filter_map(|(n, op)| Some((*n, op.until(times[middle])?))).collect();
            if self.take(known) {
                to = middle;
            } else {
                from = middle + 1;
            }
        }
    }

    /// Removes groups, and operations that keep the state (C2, C3), many at once at first. Returns whether it removed
    /// any.
    fn leave_out(&mut self) -> bool {
        let before = self.pieces.len();
        let has_groups = self.has_groups();
        let mut units: BTreeMap<(bool, i64), Vec<u32>> = BTreeMap::new();
        for (number, operation) in &self.pieces {
            let unit = match self.group(operation) {
                _ if self.keeps_state(operation) => (true, i64::from(*number)),
                Group::Of(group) if has_groups => (false, group),
                _ => continue,
            };
            units.entry(unit).or_default().push(*number);
        }
        let mut units: Vec<Vec<u32>> = units.into_values().collect();
        let mut chunk = units.len();
        while chunk > 0 {
            let mut at = 0;
            while at < units.len() {
                let end = (at + chunk).min(units.len());
                let mut out: Vec<u32> = units[at..end].concat();
                out.sort_unstable();
                let stays = |(number, _): &&Piece<S>| out.binary_search(number).is_err();
                let stay: Vec<_> = self.pieces.iter().filter(stays).cloned().collect();
                if self.take(stay) {
                    units.drain(at..end);
                } else {
                    at = end;
                }
            }
            chunk /= 2;
        }
        self.pieces.len() < before
    }

    /// Forgets every operation that it can (C4). One pass is enough: what cannot be forgotten now cannot be later,
    /// since less is known then.
    fn forget(&mut self) {
        for at in 0..self.pieces.len() {
            if !self.pieces[at].1.is_pending() {
                let mut pieces = self.pieces.clone();
                pieces[at].1 = pieces[at].1.forgotten();
                self.take(pieces);
            }
        }
    }
}

fn of(group: Group) -> Option<i64> {
    match group {
        Group::Of(group) => Some(group),
        Group::Stays | Group::Unknown => None,
    }
}
