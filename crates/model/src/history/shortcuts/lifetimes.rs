//! The lifetime of each value in a queue or stack: when it was put in and when it was taken out.
//!
//! # Contract
//! Only for histories in which every value is put in at most once. Times are positions of the timeline. A value is
//! *surely in* from the return of its put to the call of its take, if that is an interval: [`Lifetime::sure`].
//!
//! # State
//! - L1: a value whose put never returned and that was never taken is left out: it need not have gone in, and putting
//!   it in only adds to what must be taken.
//! - L2: a value that was never taken counts as taken at [`NEVER`], after everything; several values may share that
//!   time, since nothing orders them.

use super::super::operation::Operation;
use super::super::spec::Shortcut;
use super::super::timeline::{NEVER, Timeline};
use super::values::Values;

/// The meaning of an operation for a queue or stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Puts this value in.
    In(i64),
    /// Takes this value out.
    Out(i64),
    /// Found nothing to take.
    Empty,
    /// A take that never returned: it may have taken a value.
    Pending,
    /// No state allows this output.
    Impossible,
}

/// A put or a take: its operation and its two positions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub(super) op: u32,
    pub(super) called: u32,
    pub(super) returned: u32,
}

impl Way {
    /// The take of a value that was never taken (L2).
    const NONE: Way = Way { op: u32::MAX, called: NEVER, returned: NEVER };

    fn of<C, O>(timeline: &Timeline<'_, C, O>, op: u32) -> Way {
        Way { op, called: timeline.called(op), returned: timeline.returned(op) }
    }

    pub(super) fn is_none(self) -> bool {
        self.called == NEVER
    }
}

/// The put and the take of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lifetime {
    pub(super) into: Way,
    pub(super) out: Way,
}

impl Lifetime {
    /// The interval in which the value is surely in.
    pub(super) fn sure(&self) -> Option<(u32, u32)> {
        (self.into.returned < self.out.called).then_some((self.into.returned, self.out.called))
    }

    /// The operations on the value.
    pub(super) fn ops(&self) -> impl Iterator<Item = u32> {
        [self.into, self.out].into_iter().filter(|way| way.op != u32::MAX).map(|way| way.op)
    }
}

/// The lifetimes in a history of a queue or stack.
#[derive(Debug)]
pub(super) struct Lifetimes {
    /// The lifetimes that matter.
    pub(super) values: Vec<Lifetime>,
    /// The operations that found nothing.
    pub(super) empties: Vec<Way>,
    /// The positions of the calls of takes that never returned, ascending.
    pub(super) pending: Vec<u32>,
}

impl Lifetimes {
    /// Pairs the operations. Returns a verdict if that already decides, or if pairing is not possible.
    pub(super) fn of<C, O>(
        timeline: &Timeline<'_, C, O>,
        step: impl Fn(&Operation<C, O>) -> Step,
    ) -> Result<Lifetimes, Shortcut> {
        let mut numbers = Values::with_capacity(timeline.len() / 2);
        let mut lifetimes = Lifetimes { values: vec![], empties: vec![], pending: vec![] };
        let mut twice = None;
        for (op, operation) in timeline.operations() {
            let (value, is_in) = match step(operation) {
                Step::In(value) => (value, true),
                Step::Out(value) => (value, false),
                Step::Empty => {
                    lifetimes.empties.push(Way::of(timeline, op));
                    continue;
                }
                Step::Pending => {
                    lifetimes.pending.push(timeline.called(op));
                    continue;
                }
                Step::Impossible => return Err(Shortcut::No(vec![op])),
            };
            let (number, is_new) = numbers.number(value, lifetimes.values.len());
            if is_new {
                lifetimes.values.push(Lifetime { into: Way::NONE, out: Way::NONE });
            }
            let lifetime = &mut lifetimes.values[number as usize];
            let way = if is_in { &mut lifetime.into } else { &mut lifetime.out };
            match (way.is_none(), is_in) {
                (true, _) => *way = Way::of(timeline, op),
                (false, true) => return Err(Shortcut::Unknown),
                // This refutes only if the value is not put in a second time later.
                (false, false) => twice = twice.or(Some((number, op))),
            }
        }
        if let Some((number, op)) = twice {
            let ops = lifetimes.values[number as usize].ops();
            return Err(Shortcut::No(ops.chain([op]).collect()));
        }
        lifetimes.pending.sort_unstable();
        lifetimes.reasonable()
    }

    /// Checks that every value was taken after it was put in, and leaves out those that do not matter (L1).
    fn reasonable(mut self) -> Result<Lifetimes, Shortcut> {
        let wrong =
            self.values.iter().find(|lifetime| lifetime.out.returned < lifetime.into.called);
        if let Some(lifetime) = wrong {
            return Err(Shortcut::No(lifetime.ops().collect()));
        }
        self.values.retain(|lifetime| lifetime.into.returned != NEVER || !lifetime.out.is_none());
        Ok(self)
    }

    /// The first operation that found nothing although at every moment some value was surely in, with the operations on
    /// values that show it.
    ///
    /// Between two neighbouring positions the structure can be empty only if no value is surely in there.
    pub(super) fn never_empty<C, O>(&self, timeline: &Timeline<'_, C, O>) -> Option<Vec<u32>> {
        if self.empties.is_empty() {
            return None;
        }
        let events = timeline.events().len();
        let mut starts = vec![0i32; events + 1];
        for (from, to) in self.values.iter().filter_map(Lifetime::sure) {
            starts[from as usize] += 1;
            if to != NEVER {
                starts[to as usize] -= 1;
            }
        }
        // last_free[p]: the last position up to p after which no value is surely in, plus one.
        let (mut sure, mut last) = (0, 0);
        let mut last_free = Vec::with_capacity(events);
        for (position, change) in starts[..events].iter().enumerate() {
            sure += change;
            if sure == 0 {
                last = position as u32 + 1;
            }
            last_free.push(last);
        }
        let wrong = self.empties.iter().find(|e| last_free[e.returned as usize - 1] <= e.called)?;
        Some(self.cover(*wrong))
    }

    /// An operation that found nothing, and the fewest values that together were surely in throughout it.
    fn cover(&self, empty: Way) -> Vec<u32> {
        let within = |(from, to): (u32, u32)| from < empty.returned && to > empty.called;
        let sure = |lifetime| Lifetime::sure(lifetime).filter(|span| within(*span));
        let mut spans: Vec<_> =
            self.values.iter().filter_map(|lifetime| Some((sure(lifetime)?, lifetime))).collect();
        spans.sort_unstable_by_key(|(span, _)| *span);
        let mut spans = spans.into_iter().peekable();
        let mut ops = vec![empty.op];
        let mut reached = empty.called;
        while reached < empty.returned {
            let mut best: Option<(u32, &Lifetime)> = None;
            while let Some(((_, to), lifetime)) = spans.next_if(|((from, _), _)| *from <= reached) {
                if best.is_none_or(|(farthest, _)| to > farthest) {
                    best = Some((to, lifetime));
                }
            }
            let Some((to, lifetime)) = best.filter(|(to, _)| *to > reached) else { break };
            ops.extend(lifetime.ops());
            reached = to;
        }
        ops
    }
}
