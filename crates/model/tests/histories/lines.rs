//! Histories as text: an accepted history reads back unchanged, and a refused one has no other effect.

use std::fmt::Debug;
use uncontended_model::history::lines::{
    CallOf, Container, Dictionary, Form, OutputOf, Recorded, Scalar, read, write,
};
use uncontended_model::history::specs::{
    Map, MapCall, Put, Queue, Register, RegisterCall, RegisterOutput, Set, SetCall, Took,
};
use uncontended_model::history::{Bound, Operation};
use uncontended_testkit::Random;

fn read_all<F: Form>(form: &F, text: &[u8]) -> Result<Recorded<F>, String> {
    read(form, text, Dictionary::default(), usize::MAX, &mut |_| true)
        .map_err(|error| error.to_string())
}

fn written<F: Form>(form: &F, recorded: &Recorded<F>) -> String {
    let mut text = Vec::new();
    write(form, recorded, &mut text).expect("memory takes all");
    String::from_utf8(text).expect("it is text")
}

/// Writes and reads it again: it must be the same, names included.
#[track_caller]
fn returns<F: Form>(form: &F, recorded: &Recorded<F>) {
    let text = written(form, recorded);
    let again = read_all(form, text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(again.operations.len(), recorded.operations.len(), "{text}");
    assert_eq!(written(form, &again), text);
    for (operation, again) in recorded.operations.iter().zip(&again.operations) {
        let times = |operation: &Operation<CallOf<F>, OutputOf<F>>| {
            (operation.called_at(), operation.returned_at())
        };
        assert_eq!(times(operation), times(again), "{text}");
    }
}

#[test]
fn a_recorded_history_is_written_and_read_again() {
    fn all<F: Form>(form: &F, operations: Vec<Operation<CallOf<F>, OutputOf<F>>>)
    where
        CallOf<F>: Debug,
        OutputOf<F>: Debug,
    {
        let text = written(form, &Recorded::new(operations.clone()));
        assert_eq!(
            read_all(form, text.as_bytes()).expect("it is a history").operations,
            operations
        );
    }
    let done = Operation::done;
    let puts = vec![
        done(0, 1, Put::In(-5), 2, Took::Done),
        Operation::pending(1, 2, Put::Out),
        done(0, 2, Put::In(7), 2, Took::Full),
        done(1, 3, Put::Out, 9, Took::Value(7)), // Another call before the first returned: it takes an id.
        done(1, 10, Put::Out, 11, Took::Empty),
    ];
    all(&Container::queue(Some(2)), puts.clone());
    all(&Container::stack(Some(2)), puts);
    let sets = vec![
        Operation::done(0, 1, SetCall::Insert(3), 2, true),
        Operation::done(1, 1, SetCall::Remove(3), 2, false),
        Operation::done(2, 1, SetCall::Contains(3), 2, false),
    ];
    all(&Set, sets);
    let cas = RegisterCall::CompareAndSwap { old: None, new: Some(4) };
    let registers = [
        (RegisterCall::Read, RegisterOutput::Value(None)),
        (RegisterCall::Write(Some(i64::MIN)), RegisterOutput::Done),
        (RegisterCall::Write(None), RegisterOutput::Done),
        (cas, RegisterOutput::Succeeded(true)),
    ];
    let register = |(call, output)| Operation::done(0, 1, call, 2, output);
    all(&Register::default(), registers.into_iter().map(register).collect());
    let clear = [RegisterOutput::Done, RegisterOutput::Succeeded(false)];
    let clear = clear.map(|output| (RegisterCall::Clear, output));
    let map = |(call, output)| Operation::done(0, 1, MapCall { key: 9, call }, 1, output);
    all(&Map, registers.into_iter().chain(clear).map(map).collect());
}

#[test]
fn names_units_and_ids_return() {
    let text = r#"{"schema":"uncontended.operations/1","unit":"ticks"}
{"id":"a","client":"w\u0001\"\\","op":"put","key":"k\n","value":"ä","call":5}
{"client":7,"op":"cas","key":"k\n","old":"ä","new":null,"call":6,"return":7,"result":false}
{"id":"a","client":"w\u0001\"\\","return":9}
{"client":"7","op":"get","key":"\ud83d\ude00","call":6,"return":8,"result":null}
"#;
    let recorded = read_all(&Map, text.as_bytes()).unwrap();
    assert_eq!((recorded.unit, recorded.operations.len()), ("ticks", 3));
    let texts = ["w\u{1}\"\\", "7"].map(|text| Scalar::Text(text.into()));
    assert_eq!(recorded.clients, [texts[0].clone(), Scalar::Number(7), texts[1].clone()]);
    assert_eq!(recorded.lines, [2, 3, 5]);
    returns(&Map, &recorded);
}

/// Lines that fit some structure, cut, joined and changed.
#[test]
fn whatever_is_accepted_returns() {
    const LINES: [&str; 16] = [
        r#"{"schema":"uncontended.operations/1","unit":"us"}"#,
        r#"{"client":1,"op":"enqueue","value":7,"call":10,"return":18}"#,
        r#"{"client":2,"op":"dequeue","call":12}"#,
        r#"{"client":2,"return":20,"result":7}"#,
        r#"{"client":2,"return":20,"result":null}"#,
        r#"{"id":1,"client":2,"op":"dequeue","call":12}"#,
        r#"{"id":1,"client":2,"return":30,"result":7}"#,
        r#"{"client":"a","op":"push","value":"x","call":1,"return":1}"#,
        r#"{"client":"a","op":"pop","call":1,"return":2,"result":"x"}"#,
        r#"{"client":1,"op":"insert","value":1,"call":11,"return":12,"result":true}"#,
        r#"{"client":3,"op":"contains","value":1,"call":11,"return":12,"result":false}"#,
        r#"{"client":1,"op":"write","value":null,"call":21}"#,
        r#"{"client":1,"op":"read","call":21,"return":22,"result":-4}"#,
        r#"{"client":4,"op":"cas","old":1,"new":2,"key":2,"call":31,"return":32,"result":true}"#,
        r#"{"client":1,"op":"delete","key":2,"call":31,"return":32}"#,
        r#"{"client":1,"op":"put","key":1,"value":2,"call":41,"return":42}"#,
    ];
    fn accepted<F: Form>(form: &F, text: &[u8]) -> u32 {
        let recorded = read_all(form, text);
        if let Ok(recorded) = &recorded {
            returns(form, recorded);
        }
        u32::from(recorded.is_ok())
    }
    let mut random = Random(1);
    let mut of = [0; 5];
    for _ in 0..20_000 {
        let count = 1 + random.below(3);
        let lines: Vec<&str> = (0..count).map(|_| LINES[random.below(16) as usize]).collect();
        let mut text = lines.join("\n").into_bytes();
        for _ in 0..random.below(2) {
            let at = random.below(text.len() as u64) as usize;
            text[at] = b"0123456789\"\\n,:{} -"[random.below(19) as usize];
        }
        of[0] += accepted(&Container::queue(None), &text);
        of[1] += accepted(&Container::stack(None), &text);
        of[2] += accepted(&Set, &text);
        of[3] += accepted(&Register::default(), &text);
        of[4] += accepted(&Map, &text);
    }
    assert!(of.iter().all(|accepted| *accepted > 200), "{of:?}");
}

#[test]
fn reading_can_be_stopped_and_is_bounded() {
    let text: String = (0..10_000)
        .map(|at| {
            format!(
                "{{\"client\":1,\"op\":\"enqueue\",\"value\":{at},\"call\":{at},\"return\":{at}}}\n"
            )
        })
        .collect();
    let queue: Container<Queue> = Container::queue(None);
    let stopped = |memory, go_on: &mut dyn FnMut(u64) -> bool| {
        let recorded = read(&queue, text.as_bytes(), Dictionary::default(), memory, go_on).unwrap();
        (recorded.stopped, recorded.operations.len())
    };
    assert_eq!(stopped(usize::MAX, &mut |_| true), (None, 10_000));
    assert_eq!(stopped(usize::MAX, &mut |lines| lines < 8192), (Some(Bound::Stopped), 8192));
    assert_eq!(stopped(1 << 10, &mut |_| true), (Some(Bound::Memory), 4096));
}
