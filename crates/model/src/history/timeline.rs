//! The calls and returns of operations, in order.
//!
//! # Contract
//! Times become positions: whole numbers, each used once, in the order of the times. At equal times all calls come
//! before all returns, so `returned before called` on positions means `returned at a smaller time` on times.
//!
//! # State
//! - T1: `events[position]` is the operation and side at that position; `called[op]` and `returned[op]` are its
//!   inverse.
//! - T2: an operation that never returned has the position [`NEVER`], after all others.

use super::operation::Operation;

/// The position of a return that did not happen.
pub const NEVER: u32 = u32::MAX;

/// The most operations that a timeline can hold: positions have 32 bits.
pub const MOST_OPERATIONS: usize = 1 << 30;

/// A call or a return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// This operation is called.
    Call(u32),
    /// This operation returns.
    Return(u32),
}

/// Operations in the order of a history, with the positions of their calls and returns.
#[derive(Debug)]
pub struct Timeline<'a, C, O> {
    history: &'a [Operation<C, O>],
    /// The indices of the operations in the history; `None` if these are all of them.
    members: Option<&'a [u32]>,
    called: Vec<u32>,
    returned: Vec<u32>,
    events: Vec<u32>,
}

impl<'a, C, O> Timeline<'a, C, O> {
    /// The timeline of a whole history.
    pub(super) fn of_all(history: &'a [Operation<C, O>]) -> Self {
        Self::new(history, None)
    }

    /// The timeline of the operations of `history` with these indices.
    pub(super) fn of_some(history: &'a [Operation<C, O>], members: &'a [u32]) -> Self {
        Self::new(history, Some(members))
    }

    fn new(history: &'a [Operation<C, O>], members: Option<&'a [u32]>) -> Self {
        let count = members.map_or(history.len(), <[u32]>::len);
        assert!(count <= MOST_OPERATIONS, "more operations than positions");
        let mut timeline = Timeline {
            history,
            members,
            called: vec![],
            returned: vec![NEVER; count],
            events: vec![],
        };
        // Logs are almost in order already, and a stable sort is fast on those.
        let mut calls: Vec<(u64, u32)> = Vec::with_capacity(count);
        let mut returns: Vec<(u64, u32)> = Vec::with_capacity(count);
        for op in 0..count as u32 {
            let operation = timeline.operation(op);
            calls.push((operation.called_at(), op));
            returns.extend(operation.returned_at().map(|at| (at, op)));
        }
        calls.sort();
        returns.sort();
        timeline.called = vec![0; count];
        timeline.events.reserve(calls.len() + returns.len());
        let mut calls = calls.into_iter().peekable();
        for (returned_at, op) in returns {
            while let Some((_, call)) = calls.next_if(|&(called_at, _)| called_at <= returned_at) {
                timeline.place_call(call);
            }
            timeline.returned[op as usize] = timeline.events.len() as u32;
            timeline.events.push(op << 1 | 1);
        }
        calls.for_each(|(_, call)| timeline.place_call(call));
        timeline
    }

    fn place_call(&mut self, op: u32) {
        self.called[op as usize] = self.events.len() as u32;
        self.events.push(op << 1);
    }

    /// The number of operations.
    pub fn len(&self) -> usize {
        self.returned.len()
    }

    /// Whether there are no operations.
    pub fn is_empty(&self) -> bool {
        self.returned.is_empty()
    }

    /// The operation with this index in the timeline.
    pub fn operation(&self, op: u32) -> &'a Operation<C, O> {
        &self.history[self.number_in_history(op) as usize]
    }

    /// The operation's index in the whole history.
    pub fn number_in_history(&self, op: u32) -> u32 {
        self.members.map_or(op, |members| members[op as usize])
    }

    /// All operations with their indices.
    pub fn operations(&self) -> impl Iterator<Item = (u32, &'a Operation<C, O>)> {
        (0..self.len() as u32).map(|op| (op, self.operation(op)))
    }

    /// The position of its call.
    pub fn called(&self, op: u32) -> u32 {
        self.called[op as usize]
    }

    /// The position of its return, or [`NEVER`].
    pub fn returned(&self, op: u32) -> u32 {
        self.returned[op as usize]
    }

    /// All calls and returns in order; the first has position 0.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = Event> + ExactSizeIterator {
        self.events.iter().map(|&event| match event & 1 {
            0 => Event::Call(event >> 1),
            _ => Event::Return(event >> 1),
        })
    }
}
