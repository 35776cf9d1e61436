//! A register: it holds one value or none.

use super::super::shortcuts;
use super::super::spec::{Group, Shortcut, Spec};
use super::super::timeline::Timeline;
use super::Value;

/// A call to a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RegisterCall {
    /// What does it hold?
    Read,
    /// It shall hold this.
    Write(Option<Value>),
    /// It shall hold `new` if it holds `old`.
    CompareAndSwap {
        /// What it must hold.
        old: Option<Value>,
        /// What it shall hold then.
        new: Option<Value>,
    },
    /// It shall hold nothing; the answer says whether it held something.
    Clear,
}

/// What a register answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RegisterOutput {
    /// Done, and nothing more is known.
    Done,
    /// It holds this.
    Value(Option<Value>),
    /// Whether the exchange happened; whether there was something to clear.
    Succeeded(bool),
}

/// A register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Register {
    /// What it holds at the start.
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

    /// Leaving out all writes and reads of a value leaves the last write before every other read as it is. An exchange
    /// depends on what other values do.
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
