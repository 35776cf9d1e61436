//! Question: how long does checking ten million operations with distinct values take?
//!
//! `cargo bench -p uncontended-model --bench histories` prints the table of the README; `-- FILE` also writes the
//! queue's history as JSON lines, for `unc linearize`.

use std::collections::{HashMap, VecDeque};
use std::io::Write as _;
use std::time::Instant;
use uncontended_model::history::specs::{
    Put, Queue, Register, RegisterCall, RegisterOutput, Set, SetCall, Stack, Took,
};
use uncontended_model::history::{Limits, Operation, Spec, Verdict, check};
use uncontended_model::random::Random;

const OPERATIONS: usize = 10_000_000;
const CLIENTS: usize = 16;

/// An operation in progress.
struct Open<C, O> {
    called_at: u64,
    call: C,
    output: Option<O>,
}

/// A history of clients that call at random; a correct structure answers at a moment between call and return.
fn history<C: Clone, O>(
    mut call: impl FnMut(&mut Random, i64) -> C,
    mut effect: impl FnMut(&C, &mut Random) -> O,
) -> Vec<Operation<C, O>> {
    let mut random = Random(1);
    let mut open: Vec<Option<Open<C, O>>> = (0..CLIENTS).map(|_| None).collect();
    let mut history = Vec::with_capacity(OPERATIONS);
    let (mut time, mut made) = (0, 0);
    while history.len() < OPERATIONS {
        time += 1 + random.below(50);
        let client = random.below(CLIENTS as u64) as usize;
        match open[client].take() {
            None => {
                made += 1;
                let call = call(&mut random, made);
                open[client] = Some(Open { called_at: time, call, output: None });
            }
            Some(Open { called_at, call, output: Some(output) }) => {
                history.push(Operation::done(client as u32, called_at, call, time, output));
            }
            Some(Open { called_at, call, output: None }) => {
                let output = Some(effect(&call, &mut random));
                open[client] = Some(Open { called_at, call, output });
            }
        }
    }
    let unfinished = open.into_iter().enumerate();
    let pending = |(client, open): (usize, Option<Open<C, O>>)| {
        open.map(|open| Operation::pending(client as u32, open.called_at, open.call))
    };
    // Operations that took effect and never returned are included too.
    history.extend(unfinished.filter_map(pending));
    history
}

fn measure<S: Spec>(name: &str, spec: &S, history: &[Operation<S::Call, S::Output>]) {
    let mut times: Vec<f64> = (0..5).map(|_| seconds(spec, history)).collect();
    times.sort_by(f64::total_cmp);
    let [fastest, _, median, _, slowest] = times[..] else { unreachable!("five") };
    println!("| {name} | {} | {median:.2} | {fastest:.2} to {slowest:.2} |", history.len());
}

fn seconds<S: Spec>(spec: &S, history: &[Operation<S::Call, S::Output>]) -> f64 {
    let started = Instant::now();
    let report = check(spec, history, &mut Limits::default());
    assert_eq!((report.verdict, report.keys_by_search), (Verdict::Linearizable, 0));
    started.elapsed().as_secs_f64()
}

/// Puts and takes; puts dominate at first, so that about `depth` values stay.
fn put(random: &mut Random, value: i64, depth: i64) -> Put {
    let grows = value < 2 * depth || random.below(2) == 0;
    if grows { Put::In(value) } else { Put::Out }
}

fn queue() -> Vec<Operation<Put, Took>> {
    let mut queue = VecDeque::new();
    let effect = |call: &Put, _: &mut Random| match call {
        Put::In(value) => {
            queue.push_back(*value);
            Took::Done
        }
        Put::Out => queue.pop_front().map_or(Took::Empty, Took::Value),
    };
    history(|random, value| put(random, value, 0), effect)
}

fn stack(depth: i64) -> Vec<Operation<Put, Took>> {
    let mut stack = Vec::new();
    let effect = |call: &Put, _: &mut Random| match call {
        Put::In(value) => {
            stack.push(*value);
            Took::Done
        }
        Put::Out => stack.pop().map_or(Took::Empty, Took::Value),
    };
    history(|random, value| put(random, value, depth), effect)
}

fn set() -> Vec<Operation<SetCall, bool>> {
    let mut set: HashMap<i64, bool> = HashMap::new();
    let call = |random: &mut Random, made: i64| {
        let value = made / 8 * 4 + random.below(4) as i64;
        match random.below(3) {
            0 => SetCall::Insert(value),
            1 => SetCall::Remove(value),
            _ => SetCall::Contains(value),
        }
    };
    let effect = |call: &SetCall, _: &mut Random| match call {
        SetCall::Insert(value) => !std::mem::replace(set.entry(*value).or_default(), true),
        SetCall::Remove(value) => std::mem::take(set.entry(*value).or_default()),
        SetCall::Contains(value) => *set.entry(*value).or_default(),
    };
    history(call, effect)
}

fn register() -> Vec<Operation<RegisterCall, RegisterOutput>> {
    let mut held = None;
    let call = |random: &mut Random, value: i64| match random.below(4) {
        0 => RegisterCall::Write(Some(value)),
        _ => RegisterCall::Read,
    };
    let effect = |call: &RegisterCall, _: &mut Random| match call {
        RegisterCall::Write(value) => {
            held = *value;
            RegisterOutput::Done
        }
        _ => RegisterOutput::Value(held),
    };
    history(call, effect)
}

/// One JSON object per line, as in docs/json.md.
fn write(path: &str, history: &[Operation<Put, Took>]) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    for operation in history {
        let (client, call) = (operation.client(), operation.called_at());
        write!(out, "{{\"client\":{client},\"call\":{call}")?;
        match operation.call() {
            Put::In(value) => write!(out, ",\"op\":\"enqueue\",\"value\":{value}")?,
            Put::Out => write!(out, ",\"op\":\"dequeue\"")?,
        }
        if let Some(returned_at) = operation.returned_at() {
            write!(out, ",\"return\":{returned_at}")?;
        }
        match operation.output() {
            Some(Took::Value(value)) => write!(out, ",\"result\":{value}")?,
            Some(Took::Empty) => write!(out, ",\"result\":null")?,
            _ => (),
        }
        writeln!(out, "}}")?;
    }
    out.flush()
}

fn main() -> std::io::Result<()> {
    let file = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    println!("| structure | operations | median of 5, s | fastest to slowest |\n|---|---|---|---|");
    let operations = queue();
    measure("queue", &Queue::default(), &operations);
    if let Some(file) = file {
        write(&file, &operations)?;
    }
    drop(operations);
    measure("stack, shallow", &Stack::default(), &stack(0));
    measure("stack, a million deep", &Stack::default(), &stack(1_000_000));
    measure("register", &Register::default(), &register());
    measure("set, 4 values at a time", &Set, &set());
    Ok(())
}
