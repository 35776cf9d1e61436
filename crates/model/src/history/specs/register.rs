//! A register: it holds one value or none.

use super::super::shortcuts;
use super::super::spec::{Group, Shortcut, Spec};
use super::super::timeline::Timeline;
use super::Value;

/// A call to a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RegisterCall {
    /// Reads the value.
    Read,
    /// Writes a value; `None` clears it.
    Write(Option<Value>),
    /// Replaces `old` by `new` if the register holds `old`.
    CompareAndSwap {
        /// The expected value.
        old: Option<Value>,
        /// The new value.
        new: Option<Value>,
    },
    /// Removes the value; the output is whether there was one.
    Clear,
}

/// The output of a call to a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RegisterOutput {
    /// Done, without further information.
    Done,
    /// The value held.
    Value(Option<Value>),
    /// Whether the exchange happened, or whether there was a value to clear.
    Succeeded(bool),
}

/// A register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Register {
    /// The value at the start.
    pub initial: Option<Value>,
}

impl Spec for Register {
    type Call = RegisterCall;
    type Output = RegisterOutput;
    type State = Option<Value>;
    type Key = ();

    fn initial(&self) -> Option<Value> {
        self.initial
    }

    fn key(&self, _: &RegisterCall) {}

    fn apply(
        &self,
        state: &Option<Value>,
        call: &RegisterCall,
        output: Option<&RegisterOutput>,
    ) -> Option<Option<Value>> {
        use RegisterOutput::{Done, Succeeded, Value};
        match (call, output) {
            (RegisterCall::Read, None) => Some(*state),
            (RegisterCall::Read, Some(Value(seen))) => (seen == state).then_some(*state),
            (RegisterCall::Write(value), None | Some(Done)) => Some(*value),
            (RegisterCall::CompareAndSwap { old, new }, None) => {
                Some(if old == state { *new } else { *state })
            }
            (RegisterCall::CompareAndSwap { old, new }, Some(Succeeded(done))) => {
                let after = if *done { *new } else { *state };
                ((old == state) == *done).then_some(after)
            }
            (RegisterCall::Clear, None | Some(Done)) => Some(None),
            (RegisterCall::Clear, Some(Succeeded(done))) => {
                (state.is_some() == *done).then_some(None)
            }
            (RegisterCall::Read, Some(Done | Succeeded(_)))
            | (RegisterCall::Write(_), Some(Value(_) | Succeeded(_)))
            | (RegisterCall::CompareAndSwap { .. }, Some(Done | Value(_)))
            | (RegisterCall::Clear, Some(Value(_))) => None,
        }
    }

    fn keeps_state(&self, call: &RegisterCall, output: Option<&RegisterOutput>) -> bool {
        match call {
            RegisterCall::Read => true,
            RegisterCall::CompareAndSwap { .. } | RegisterCall::Clear => {
                output == Some(&RegisterOutput::Succeeded(false))
            }
            RegisterCall::Write(_) => false,
        }
    }

    /// Removing all writes and reads of a value keeps the last write before every other read. An exchange depends on
    /// other values.
    fn group(&self, call: &RegisterCall, output: Option<&RegisterOutput>) -> Group {
        let value = match (call, output) {
            (RegisterCall::Write(value), _) => *value,
            (RegisterCall::Read, Some(RegisterOutput::Value(value))) => *value,
            (RegisterCall::Read, _) | (RegisterCall::Clear, Some(RegisterOutput::Done)) => None,
            (RegisterCall::CompareAndSwap { .. } | RegisterCall::Clear, _) => {
                return Group::Unknown;
            }
        };
        value.map_or(Group::Stays, Group::Of)
    }

    fn shortcut(&self, history: &Timeline<'_, RegisterCall, RegisterOutput>) -> Shortcut {
        shortcuts::register(history, self.initial)
    }
}
