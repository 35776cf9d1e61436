//! Queues whose values are distinct.
//!
//! # Contract
//! Complete histories are linearizable if and only if, for no value and no pair of values,
//! - a value is taken twice, before it is put in, or without being put in (found by [`Lifetimes`]);
//! - a is put in before b, but b is taken before a, or b is taken and a never is;
//! - a dequeue finds nothing while at every moment some value is surely in.
//!
//! This is the theorem of Henzinger, Sezgin and Vafeiadis. Their last rule asks for a partition of the operations; ours
//! asks for a moment at which no value is surely in. That is enough: cut there. Operations that surely happened before
//! the moment go before it, the rest after it. Operations of the first part are called before the moment and those of
//! the second return after it, so the cut orders no pair against the second rule, and makes no value surely in for
//! longer.
//!
//! Dequeues that never returned may take any value, or none. If the history is linearizable without them, the answer is
//! yes. With them, if no dequeue found nothing: a value a that was never taken must be taken by one of them that was
//! called before the first return of a dequeue of a value that was put in after a. The candidates are those called
//! early enough, so the earliest deadline is served first. Otherwise, if every remaining value could be taken by the
//! first of them and it still fails, the history is refuted. Search decides the rest.

use super::super::operation::Operation;
use super::super::spec::Shortcut;
use super::super::timeline::{Event, NEVER, Timeline};
use super::lifetimes::{Lifetime, Lifetimes, Step};

/// Decides the history of a queue.
pub(crate) fn queue<C, O>(
    timeline: &Timeline<'_, C, O>,
    step: impl Fn(&Operation<C, O>) -> Step,
) -> Shortcut {
    let mut lifetimes = match Lifetimes::of(timeline, step) {
        Ok(lifetimes) => lifetimes,
        Err(shortcut) => return shortcut,
    };
    let overtaken = Overtaken::new(timeline, &lifetimes.values);
    let Some(&earliest) = lifetimes.pending.first() else {
        return match overtaken.pair(&lifetimes.values).or_else(|| lifetimes.never_empty(timeline)) {
            Some(ops) => Shortcut::No(ops),
            None => Shortcut::Yes,
        };
    };
    let short = overtaken.short_of_pending(&lifetimes);
    if lifetimes.empties.is_empty() {
        return short.map_or(Shortcut::Yes, Shortcut::No);
    }
    if overtaken.pair(&lifetimes.values).is_none() && lifetimes.never_empty(timeline).is_none() {
        return Shortcut::Yes;
    }
    for lifetime in lifetimes.values.iter_mut().filter(|lifetime| lifetime.out.is_none()) {
        lifetime.out.called = earliest;
    }
    match short.or_else(|| lifetimes.never_empty(timeline)) {
        Some(ops) => Shortcut::No(ops),
        None => Shortcut::Unknown,
    }
}

/// For each value: of the values put in after it, the one taken first.
struct Overtaken(Vec<Option<u32>>);

impl Overtaken {
    fn new<C, O>(timeline: &Timeline<'_, C, O>, values: &[Lifetime]) -> Self {
        let mut of_op = vec![u32::MAX; timeline.len()];
        for (number, lifetime) in values.iter().enumerate() {
            of_op[lifetime.into.op as usize] = number as u32;
        }
        let mut by = vec![None; values.len()];
        let mut first: Option<u32> = None;
        let out = |number: u32| values[number as usize].out.returned;
        for event in timeline.events().rev() {
            let (Event::Call(op) | Event::Return(op)) = event;
            let number = of_op[op as usize];
            match event {
                _ if number == u32::MAX => (),
                Event::Return(_) => by[number as usize] = first,
                Event::Call(_) if out(number) == NEVER => (),
                Event::Call(_) => {
                    first = match first {
                        Some(other) if out(other) <= out(number) => Some(other),
                        _ => Some(number),
                    };
                }
            }
        }
        Overtaken(by)
    }

    /// The values that were put in before another one and taken after it: index, and the value that overtook it.
    fn all<'a>(
        &'a self,
        values: &'a [Lifetime],
    ) -> impl Iterator<Item = (&'a Lifetime, &'a Lifetime)> {
        let pairs = values.iter().zip(&self.0);
        pairs.filter_map(move |(lifetime, by)| {
            let by = &values[(*by)? as usize];
            (by.out.returned < lifetime.out.called).then_some((lifetime, by))
        })
    }

    fn pair(&self, values: &[Lifetime]) -> Option<Vec<u32>> {
        let (lifetime, by) = self.all(values).next()?;
        Some(lifetime.ops().chain(by.ops()).collect())
    }

    /// The operations that show that more values were overtaken than pending dequeues can have taken.
    fn short_of_pending(&self, lifetimes: &Lifetimes) -> Option<Vec<u32>> {
        let mut due = Vec::new();
        for (lifetime, by) in self.all(&lifetimes.values) {
            if !lifetime.out.is_none() {
                return Some(lifetime.ops().chain(by.ops()).collect());
            }
            due.push((by.out.returned, lifetime, by));
        }
        due.sort_unstable_by_key(|(deadline, ..)| *deadline);
        let mut early = lifetimes.pending.iter().peekable();
        let mut can = 0;
        for (at, (deadline, ..)) in due.iter().enumerate() {
            while early.next_if(|called| **called < *deadline).is_some() {
                can += 1;
            }
            if can <= at {
                let shown =
                    due[..=at].iter().flat_map(|(_, lifetime, by)| lifetime.ops().chain(by.ops()));
                let mut ops: Vec<u32> = shown.collect();
                ops.sort_unstable();
                ops.dedup();
                return Some(ops);
            }
        }
        None
    }
}
