//! Small histories of every structure, made from bytes: algorithms without search agree with search; no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uncontended_model::history::specs::{
    Put, Queue, Register, RegisterCall, RegisterOutput, Set, SetCall, Stack, Took,
};
use uncontended_model::history::{Limits, Operation, Spec, Verdict, check, search, shrink};

/// Four bytes per operation: the call, whether it returned, the time of the call, the duration.
fn operations<C, O>(bytes: &[u8], decode: fn(u8) -> (C, O)) -> Vec<Operation<C, O>> {
    let operation = |(client, bytes): (usize, &[u8])| {
        let (call, output) = decode(bytes[0]);
        let (client, called_at) = (client as u32, u64::from(bytes[2] % 32));
        match bytes[1] % 8 {
            0 => Operation::pending(client, called_at, call),
            _ => {
                let returned_at = called_at + u64::from(bytes[3] % 16);
                Operation::done(client, called_at, call, returned_at, output)
            }
        }
    };
    bytes.chunks_exact(4).take(9).enumerate().map(operation).collect()
}

fn agrees<S: Spec>(spec: &S, history: &[Operation<S::Call, S::Output>]) {
    let is_linearizable = |verdict: &Verdict| *verdict == Verdict::Linearizable;
    let report = check(spec, history, &mut Limits::default());
    let by_search = search(spec, history, &mut Limits::default());
    assert_eq!(is_linearizable(&report.verdict), is_linearizable(&by_search.verdict));
    if let Verdict::Refuted(refutation) = &report.verdict {
        let core = shrink(spec, history, refutation, &mut Limits::default());
        let again = search(spec, &core.rest, &mut Limits::default());
        assert!(matches!(again.verdict, Verdict::Refuted(_)));
    }
}

fn put(byte: u8) -> (Put, Took) {
    let value = i64::from(byte / 8);
    match byte % 8 {
        0..4 => (Put::In(value), Took::Done),
        4..7 => (Put::Out, Took::Value(value)),
        _ => (Put::Out, Took::Empty),
    }
}

fn set(byte: u8) -> (SetCall, bool) {
    let value = i64::from(byte / 8 % 2);
    let call = match byte % 4 {
        0 | 1 => SetCall::Insert(value),
        2 => SetCall::Remove(value),
        _ => SetCall::Contains(value),
    };
    (call, byte >= 128)
}

fn register(byte: u8) -> (RegisterCall, RegisterOutput) {
    let value = Some(i64::from(byte / 8)).filter(|value| *value > 0);
    match byte % 8 {
        0..3 => (RegisterCall::Write(value), RegisterOutput::Done),
        3..7 => (RegisterCall::Read, RegisterOutput::Value(value)),
        _ => {
            let call = RegisterCall::CompareAndSwap { old: value, new: Some(1) };
            (call, RegisterOutput::Succeeded(byte >= 128))
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    match kind % 4 {
        0 => agrees(&Queue::default(), &operations(bytes, put)),
        1 => agrees(&Stack::default(), &operations(bytes, put)),
        2 => agrees(&Set, &operations(bytes, set)),
        _ => agrees(&Register::default(), &operations(bytes, register)),
    }
});
