//! A map: one register per key, each checked separately.

use super::super::spec::{Group, Shortcut, Spec};
use super::super::timeline::Timeline;
use super::Value;
use super::register::{Register, RegisterCall, RegisterOutput};

/// A call on one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MapCall {
    /// The key.
    pub key: Value,
    /// The call to the key's register.
    pub call: RegisterCall,
}

/// A map from keys to values, empty at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Map;

const EACH: Register = Register { initial: None };

impl Spec for Map {
    type Call = MapCall;
    type Output = RegisterOutput;
    type State = Option<Value>;
    type Key = Value;

    fn initial(&self) -> Option<Value> {
        EACH.initial
    }

    fn key(&self, call: &MapCall) -> Value {
        call.key
    }

    fn apply(
        &self,
        state: &Option<Value>,
        call: &MapCall,
        output: Option<&RegisterOutput>,
    ) -> Option<Option<Value>> {
        EACH.apply(state, &call.call, output)
    }

    fn keeps_state(&self, call: &MapCall, output: Option<&RegisterOutput>) -> bool {
        EACH.keeps_state(&call.call, output)
    }

    fn group(&self, call: &MapCall, output: Option<&RegisterOutput>) -> Group {
        EACH.group(&call.call, output)
    }

    fn shortcut(&self, history: &Timeline<'_, MapCall, RegisterOutput>) -> Shortcut {
        super::super::shortcuts::register_by(history, EACH.initial, |call| &call.call)
    }
}
