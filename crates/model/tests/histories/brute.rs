//! Decides linearizability by trying all orders, with its own sequential structures.

use uncontended_model::history::Operation;
use uncontended_model::history::specs::{
    MapCall, Put, RegisterCall, RegisterOutput, SetCall, Took,
};

/// Applies a call to a structure and compares the output.
pub(crate) type Step<C, O> = fn(&mut Vec<i64>, &C, Option<&O>) -> bool;

pub(crate) fn linearizable<C, O>(history: &[Operation<C, O>], step: Step<C, O>) -> bool {
    extend(history, &mut vec![false; history.len()], &[], step)
}

fn extend<C, O>(
    history: &[Operation<C, O>],
    used: &mut [bool],
    state: &[i64],
    step: Step<C, O>,
) -> bool {
    let left = |used: &[bool], at: usize| !used[at] && !history[at].is_pending();
    if !(0..history.len()).any(|at| left(used, at)) {
        return true;
    }
    for at in 0..history.len() {
        let after = |other: usize| history[other].returned_at() < Some(history[at].called_at());
        if used[at] || (0..history.len()).any(|other| left(used, other) && after(other)) {
            continue;
        }
        let mut next = state.to_vec();
        if step(&mut next, history[at].call(), history[at].output()) {
            used[at] = true;
            if extend(history, used, &next, step) {
                return true;
            }
            used[at] = false;
        }
    }
    false
}

fn fits<T: PartialEq>(seen: Option<&T>, would: T) -> bool {
    seen.is_none_or(|seen| *seen == would)
}

pub(crate) fn queue(state: &mut Vec<i64>, call: &Put, seen: Option<&Took>) -> bool {
    let would = match call {
        Put::In(value) => {
            state.push(*value);
            Took::Done
        }
        Put::Out if state.is_empty() => Took::Empty,
        Put::Out => Took::Value(state.remove(0)),
    };
    fits(seen, would)
}

pub(crate) fn queue_of_two(state: &mut Vec<i64>, call: &Put, seen: Option<&Took>) -> bool {
    match call {
        Put::In(_) if state.len() == 2 => fits(seen, Took::Full),
        _ => queue(state, call, seen),
    }
}

pub(crate) fn stack(state: &mut Vec<i64>, call: &Put, seen: Option<&Took>) -> bool {
    let would = match call {
        Put::In(value) => {
            state.push(*value);
            Took::Done
        }
        Put::Out => state.pop().map_or(Took::Empty, Took::Value),
    };
    fits(seen, would)
}

pub(crate) fn set(state: &mut Vec<i64>, call: &SetCall, seen: Option<&bool>) -> bool {
    let would = match call {
        SetCall::Insert(value) => {
            let new = !state.contains(value);
            if new {
                state.push(*value);
            }
            new
        }
        SetCall::Remove(value) => {
            let before = state.len();
            state.retain(|other| other != value);
            before != state.len()
        }
        SetCall::Contains(value) => state.contains(value),
    };
    fits(seen, would)
}

/// Its state: at most one value.
pub(crate) fn register(
    state: &mut Vec<i64>,
    call: &RegisterCall,
    seen: Option<&RegisterOutput>,
) -> bool {
    let was = state.first().copied();
    let mut hold = |value: Option<i64>| *state = value.into_iter().collect();
    match call {
        RegisterCall::Read => fits(seen, RegisterOutput::Value(was)),
        RegisterCall::Write(value) => {
            hold(*value);
            fits(seen, RegisterOutput::Done)
        }
        RegisterCall::CompareAndSwap { old, new } => {
            if was == *old {
                hold(*new);
            }
            fits(seen, RegisterOutput::Succeeded(was == *old))
        }
        RegisterCall::Clear => {
            hold(None);
            seen == Some(&RegisterOutput::Done)
                || fits(seen, RegisterOutput::Succeeded(was.is_some()))
        }
    }
}

/// Its state: pairs of key and value, one after the other.
pub(crate) fn map(state: &mut Vec<i64>, call: &MapCall, seen: Option<&RegisterOutput>) -> bool {
    let at = state.chunks(2).position(|pair| pair[0] == call.key);
    let mut one: Vec<i64> =
        at.map(|at| state.drain(2 * at..2 * at + 2).nth(1).unwrap()).into_iter().collect();
    let fits = register(&mut one, &call.call, seen);
    state.extend(one.into_iter().flat_map(|value| [call.key, value]));
    fits
}
