//! Stacks whose values are distinct.
//!
//! # Contract
//! To linearize is to give each value a span, from a moment in its push to one in its pop, such that no two spans
//! cross. A value that need not be in at any moment ([`Lifetime::sure`]) can be pushed and popped at once, so it does
//! not matter. For the others:
//! - At a moment at which no value is surely in, the history can be cut: spans across that moment are shortened to it,
//!   which makes none cross. So an operation that found nothing fits there, and each stretch between two cuts is
//!   decided separately.
//! - Within a stretch some value is surely in at every moment. The stack is never empty there, so one value is at the
//!   bottom throughout: its push was called before the stretch begins and its pop returned after it ends.
//! - Any value of the stretch with that property can be chosen as the bottom: without it the rest is linearizable if
//!   the whole is, and around the rest it fits. So one is removed, and the stretch splits at moments at which now no
//!   value is surely in.
//! - A stretch without such a value refutes the history.
//!
//! # State
//! Values of a stretch are in the order in which they begin to be surely in; a stretch is a range of them.
//! - S1: `cover` of a value counts the remaining values before it that are surely in when it begins to be; a stretch
//!   begins at a value whose cover is zero, and that value is not in the tree any more.
//! - S2: a value that is early (or late) enough for its stretch stays so, since stretches only shrink. So each is found
//!   once.
//!
//! Pops that never returned may take any value. If the history is linearizable without them, the answer is yes. If
//! every remaining value could be taken by the first of them and it still fails, the history is refuted. Search decides
//! the rest.

use super::super::operation::Operation;
use super::super::spec::Shortcut;
use super::super::timeline::Timeline;
use super::lifetimes::{Lifetime, Lifetimes, Step};
use super::stretch::{Span, Stretches};

/// Decides the history of a stack.
pub(crate) fn stack<C, O>(
    timeline: &Timeline<'_, C, O>,
    step: impl Fn(&Operation<C, O>) -> Step,
) -> Shortcut {
    let mut lifetimes = match Lifetimes::of(timeline, step) {
        Ok(lifetimes) => lifetimes,
        Err(shortcut) => return shortcut,
    };
    let refuted = |lifetimes: &Lifetimes| {
        lifetimes.never_empty(timeline).or_else(|| crossing(&lifetimes.values))
    };
    let Some(ops) = refuted(&lifetimes) else { return Shortcut::Yes };
    let Some(&earliest) = lifetimes.pending.first() else { return Shortcut::No(ops) };
    for lifetime in lifetimes.values.iter_mut().filter(|lifetime| lifetime.out.is_none()) {
        lifetime.out.called = earliest;
    }
    refuted(&lifetimes).map_or(Shortcut::Unknown, Shortcut::No)
}

/// The operations of a stretch of values none of which can be at the bottom.
fn crossing(values: &[Lifetime]) -> Option<Vec<u32>> {
    let mut spans: Vec<Span> = Vec::new();
    for (number, lifetime) in values.iter().enumerate() {
        spans.extend(lifetime.sure().map(|(from, to)| Span {
            from,
            to,
            earliest: lifetime.into.called,
            latest: lifetime.out.returned,
            number: number as u32,
        }));
    }
    spans.sort_unstable_by_key(|span| span.from);
    let (mut first, mut end) = (0, 0);
    for at in 0..=spans.len() {
        if at == spans.len() || spans[at].from > end {
            if let Some(stuck) = Stretches::stuck(&spans[first..at]) {
                let ops = stuck.iter().flat_map(|number| values[*number as usize].ops());
                return Some(ops.collect());
            }
            first = at;
        }
        end = spans.get(at).map_or(end, |span| end.max(span.to));
    }
    None
}
