//! A set: each value is checked separately as present or absent.

use super::super::shortcuts;
use super::super::spec::{Shortcut, Spec};
use super::super::timeline::Timeline;
use super::Value;

/// A call on one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SetCall {
    /// Inserts the value; the output is whether it was absent.
    Insert(Value),
    /// Removes the value; the output is whether it was present.
    Remove(Value),
    /// Whether the value is present.
    Contains(Value),
}

/// A set, empty at the start. Outputs are booleans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Set;

impl Spec for Set {
    type Call = SetCall;
    type Output = bool;
    type State = bool;
    type Key = Value;

    fn initial(&self) -> bool {
        false
    }

    fn key(&self, call: &SetCall) -> Value {
        match call {
            SetCall::Insert(value) | SetCall::Remove(value) | SetCall::Contains(value) => *value,
        }
    }

    fn apply(&self, state: &bool, call: &SetCall, output: Option<&bool>) -> Option<bool> {
        let (answer, after) = match call {
            SetCall::Insert(_) => (!state, true),
            SetCall::Remove(_) => (*state, false),
            SetCall::Contains(_) => (*state, *state),
        };
        output.is_none_or(|output| *output == answer).then_some(after)
    }

    fn keeps_state(&self, call: &SetCall, output: Option<&bool>) -> bool {
        matches!(call, SetCall::Contains(_)) || output == Some(&false)
    }

    fn shortcut(&self, history: &Timeline<'_, SetCall, bool>) -> Shortcut {
        shortcuts::flag(history)
    }
}
