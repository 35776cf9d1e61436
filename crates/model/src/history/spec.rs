//! What a structure does when its operations run one at a time.
//!
//! # Contract
//! A history is linearizable if every operation that returned, and any choice of those that did not, can be put in one
//! order that keeps "returned before the other was called" and in which [`Spec::apply`] accepts every output.
//!
//! # Sources
//! Herlihy, Wing, "Linearizability: a correctness condition for concurrent objects", TOPLAS 1990.

use super::operation::Operation;
use super::timeline::Timeline;
use std::hash::Hash;

/// The sequential behaviour that a history is held against.
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
    /// What can be called, with its arguments.
    type Call: Clone + Eq + Hash;
    /// What can come back.
    type Output: Clone + Eq + Hash;
    /// What the structure holds between two operations. Equal states must behave alike.
    type State: Clone + Eq + Hash;
    /// Operations with different keys are about different things and never influence each other; `()` if there is one
    /// thing. Each key's operations are checked alone, from [`Spec::initial`].
    type Key: Eq + Hash;

    /// The state before the first operation.
    fn initial(&self) -> Self::State;

    /// What an operation is about.
    fn key(&self, call: &Self::Call) -> Self::Key;

    /// The state after `call` in `state`, or nothing if it could not have returned `output` there. Where `output` is
    /// nothing the operation never returned: whatever it would return fits.
    fn apply(
        &self,
        state: &Self::State,
        call: &Self::Call,
        output: Option<&Self::Output>,
    ) -> Option<Self::State>;

    /// Whether the operation leaves every state in which it fits as it is (a read, a dequeue that found nothing). Such
    /// an operation may be left out of a history: what remains is linearizable if the whole is.
    fn keeps_state(&self, _call: &Self::Call, _output: Option<&Self::Output>) -> bool {
        false
    }

    /// Which operations may be left out together, so that what remains is linearizable if the whole is.
    fn group(&self, _call: &Self::Call, _output: Option<&Self::Output>) -> Group {
        Group::Unknown
    }

    /// Decides without search where the structure and the history allow it.
    fn shortcut(&self, _history: &Timeline<'_, Self::Call, Self::Output>) -> Shortcut {
        Shortcut::Unknown
    }

    /// The bytes that a state takes, for the limit on memory.
    fn state_bytes(&self, _state: &Self::State) -> usize {
        size_of::<Self::State>()
    }
}

/// The operations of a spec.
pub type OperationOf<S> = Operation<<S as Spec>::Call, <S as Spec>::Output>;

/// What may be left out of a history together with an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// All operations of the group of this number: for a queue, those of one value.
    Of(i64),
    /// Nothing: the operation stays, and fits whatever groups are left out.
    Stays,
    /// Not known: no group of this history may be left out.
    Unknown,
}

/// What an algorithm without search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shortcut {
    /// Linearizable.
    Yes,
    /// Not linearizable, and neither are these operations (numbers within the timeline) with all that never returned.
    No(Vec<u32>),
    /// It cannot tell; search must.
    Unknown,
}
