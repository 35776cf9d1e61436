//! Sequential specifications of data structures.
//!
//! # Contract
//! A history is linearizable if every operation that returned, together with some of those that did not, can be put in
//! one order that keeps "returned before the other was called" and in which [`Spec::apply`] accepts every output.
//!
//! # Sources
//! Herlihy, Wing, "Linearizability: a correctness condition for concurrent objects", TOPLAS 1990.

use super::operation::Operation;
use super::timeline::Timeline;
use std::hash::Hash;

/// The sequential behaviour against which a history is checked.
///
/// A counter that is added to and read:
///
/// ```
/// use uncontended_model::history::{Limits, Operation, Spec, Verdict, check};
///
/// struct Counter;
///
/// #[derive(Clone, PartialEq, Eq, Hash)]
/// enum Call { Add(i64), Get }
///
/// impl Spec for Counter {
///     type Call = Call;
///     type Output = Option<i64>; // What `Get` saw; nothing of `Add`.
///     type State = i64;
///     type Key = (); // One counter: all operations are about the same thing.
///
///     fn initial(&self) -> i64 { 0 }
///
///     fn key(&self, _: &Call) {}
///
///     fn apply(&self, state: &i64, call: &Call, output: Option<&Option<i64>>) -> Option<i64> {
///         match call {
///             Call::Add(n) => Some(state + n),
///             // A `Get` that never returned fits any state.
///             Call::Get => output.is_none_or(|seen| *seen == Some(*state)).then_some(*state),
///         }
///     }
/// }
///
/// let add = Operation::done(0, 10, Call::Add(5), 20, None);
/// let stale = Operation::done(1, 30, Call::Get, 40, Some(0));
/// let report = check(&Counter, &[add, stale], &mut Limits::default());
/// assert!(matches!(report.verdict, Verdict::Refuted(_)));
/// ```
pub trait Spec {
    /// A call with its arguments.
    type Call: Clone + Eq + Hash;
    /// What a call returns.
    type Output: Clone + Eq + Hash;
    /// The state between two operations. Equal states must behave alike.
    type State: Clone + Eq + Hash;
    /// What an operation is about. Operations with different keys never influence each other, and each key is checked
    /// separately, from [`Spec::initial`]. `()` if there is only one key.
    type Key: Eq + Hash;

    /// The state before the first operation.
    fn initial(&self) -> Self::State;

    /// The key of an operation.
    fn key(&self, call: &Self::Call) -> Self::Key;

    /// The state after `call` in `state`, or `None` if the call could not have returned `output` there. If `output` is
    /// `None`, the operation never returned and any output fits.
    fn apply(
        &self,
        state: &Self::State,
        call: &Self::Call,
        output: Option<&Self::Output>,
    ) -> Option<Self::State>;

    /// Whether the operation leaves every state in which it fits unchanged (a read, a dequeue from an empty queue).
    /// Such an operation may be removed from a history: if the whole is linearizable, so is the rest.
    fn keeps_state(&self, _call: &Self::Call, _output: Option<&Self::Output>) -> bool {
        false
    }

    /// Groups of operations that can be removed together: if the whole is linearizable, so is the rest.
    fn group(&self, _call: &Self::Call, _output: Option<&Self::Output>) -> Group {
        Group::Unknown
    }

    /// Decides without search if the structure and the history allow it.
    fn shortcut(&self, _history: &Timeline<'_, Self::Call, Self::Output>) -> Shortcut {
        Shortcut::Unknown
    }

    /// The size of a state in bytes, for the limit on memory.
    fn state_bytes(&self, _state: &Self::State) -> usize {
        size_of::<Self::State>()
    }
}

/// The operations of a spec.
pub type OperationOf<S> = Operation<<S as Spec>::Call, <S as Spec>::Output>;

/// The operations that can be removed together with an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// All operations with this group number: for a queue, those of one value.
    Of(i64),
    /// None: the operation stays, and fits whichever groups are removed.
    Stays,
    /// Unknown: no group of this history may be removed.
    Unknown,
}

/// The result of an algorithm without search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shortcut {
    /// Linearizable.
    Yes,
    /// Not linearizable. The operations with these indices in the timeline, with all that never returned, are not
    /// linearizable either.
    No(Vec<u32>),
    /// Undecided; search must decide.
    Unknown,
}
