//! Queues and stacks. They differ only in which value comes out.

use super::super::shortcuts::{self, Step};
use super::super::spec::{Group, Shortcut, Spec};
use super::super::timeline::Timeline;
use super::Value;
use std::collections::VecDeque;

/// A call to a queue or a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Put {
    /// Puts this value in: enqueue or push.
    In(Value),
    /// Takes a value out: dequeue or pop.
    Out,
}

/// The output of a call to a queue or a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Took {
    /// The value was put in.
    Done,
    /// There was no room for the value.
    Full,
    /// This value was taken out.
    Value(Value),
    /// There was no value to take.
    Empty,
}

/// A first-in first-out queue, empty at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Queue {
    /// Capacity; `None` for an unbounded queue, which is never full.
    pub capacity: Option<usize>,
}

/// A last-in first-out stack, empty at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stack {
    /// Capacity; `None` for an unbounded stack, which is never full.
    pub capacity: Option<usize>,
}

/// The effect of a call on a queue or stack from which `next` would come out.
enum Change {
    In(Value),
    Out,
    Nothing,
}

fn change(
    (length, capacity): (usize, Option<usize>),
    next: Option<Value>,
    call: &Put,
    output: Option<&Took>,
) -> Option<Change> {
    let full = capacity.is_some_and(|capacity| length >= capacity);
    match (call, output) {
        (Put::In(_), None) if full => Some(Change::Nothing),
        (Put::In(value), None | Some(Took::Done)) => (!full).then_some(Change::In(*value)),
        (Put::In(_), Some(Took::Full)) => full.then_some(Change::Nothing),
        (Put::Out, None) if next.is_none() => Some(Change::Nothing),
        (Put::Out, None) => Some(Change::Out),
        (Put::Out, Some(Took::Empty)) => next.is_none().then_some(Change::Nothing),
        (Put::Out, Some(Took::Value(value))) => (next == Some(*value)).then_some(Change::Out),
        (Put::In(_), Some(Took::Value(_) | Took::Empty))
        | (Put::Out, Some(Took::Done | Took::Full)) => None,
    }
}

fn keeps_state(output: Option<&Took>) -> bool {
    matches!(output, Some(Took::Full | Took::Empty))
}

/// Removing every operation on a value keeps the order of the others, but frees room: it is not sound if there is a
/// bound, or an output about room.
fn group(capacity: Option<usize>, call: &Put, output: Option<&Took>) -> Group {
    match (capacity, call, output) {
        (Some(_), ..) | (_, _, Some(Took::Full)) => Group::Unknown,
        (_, Put::In(value), _) | (_, _, Some(Took::Value(value))) => Group::Of(*value),
        (_, Put::Out, _) => Group::Stays,
    }
}

/// For unbounded queues and stacks.
fn step(call: &Put, output: Option<&Took>) -> Step {
    match (call, output) {
        (Put::In(value), None | Some(Took::Done)) => Step::In(*value),
        (Put::Out, Some(Took::Value(value))) => Step::Out(*value),
        (Put::Out, Some(Took::Empty)) => Step::Empty,
        (Put::Out, None) => Step::Pending,
        (Put::In(_), Some(Took::Value(_) | Took::Empty | Took::Full))
        | (Put::Out, Some(Took::Done | Took::Full)) => Step::Impossible,
    }
}

impl Spec for Queue {
    type Call = Put;
    type Output = Took;
    type State = VecDeque<Value>;
    type Key = ();

    fn initial(&self) -> VecDeque<Value> {
        VecDeque::new()
    }

    fn key(&self, _: &Put) {}

    fn apply(
        &self,
        state: &VecDeque<Value>,
        call: &Put,
        output: Option<&Took>,
    ) -> Option<VecDeque<Value>> {
        let next = state.front().copied();
        let change = change((state.len(), self.capacity), next, call, output)?;
        let mut state = state.clone();
        match change {
            Change::In(value) => state.push_back(value),
            Change::Out => drop(state.pop_front()),
            Change::Nothing => (),
        }
        Some(state)
    }

    fn keeps_state(&self, _: &Put, output: Option<&Took>) -> bool {
        keeps_state(output)
    }

    fn group(&self, call: &Put, output: Option<&Took>) -> Group {
        group(self.capacity, call, output)
    }

    fn shortcut(&self, history: &Timeline<'_, Put, Took>) -> Shortcut {
        match self.capacity {
            None => shortcuts::queue(history, |op| step(op.call(), op.output())),
            Some(_) => Shortcut::Unknown,
        }
    }

    fn state_bytes(&self, state: &VecDeque<Value>) -> usize {
        size_of_val(state) + state.capacity() * size_of::<Value>()
    }
}

impl Spec for Stack {
    type Call = Put;
    type Output = Took;
    type State = Vec<Value>;
    type Key = ();

    fn initial(&self) -> Vec<Value> {
        Vec::new()
    }

    fn key(&self, _: &Put) {}

    fn apply(&self, state: &Vec<Value>, call: &Put, output: Option<&Took>) -> Option<Vec<Value>> {
        let next = state.last().copied();
        let change = change((state.len(), self.capacity), next, call, output)?;
        let mut state = state.clone();
        match change {
            Change::In(value) => state.push(value),
            Change::Out => drop(state.pop()),
            Change::Nothing => (),
        }
        Some(state)
    }

    fn keeps_state(&self, _: &Put, output: Option<&Took>) -> bool {
        keeps_state(output)
    }

    fn group(&self, call: &Put, output: Option<&Took>) -> Group {
        group(self.capacity, call, output)
    }

    fn shortcut(&self, history: &Timeline<'_, Put, Took>) -> Shortcut {
        match self.capacity {
            None => shortcuts::stack(history, |op| step(op.call(), op.output())),
            Some(_) => Shortcut::Unknown,
        }
    }

    fn state_bytes(&self, state: &Vec<Value>) -> usize {
        size_of_val(state) + state.capacity() * size_of::<Value>()
    }
}
