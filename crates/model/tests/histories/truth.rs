//! Every algorithm against every permutation, for every spec: at least 10,000 random histories each, in seconds.

use super::brute;
use super::random::{Plan, history, spoil};
use std::fmt::Debug;
use uncontended_model::history::specs::{
    Map, MapCall, Put, Queue, Register, RegisterCall, RegisterOutput, Set, SetCall, Stack, Took,
};
use uncontended_model::history::{
    Group, Limits, Operation, OperationOf, Refutation, Spec, Verdict, check, search, shrink,
};
use uncontended_testkit::{Random, repetitions};

/// The result of a round of comparisons.
#[derive(Default, Debug)]
struct Tally {
    yes: u64,
    no: u64,
    searched: u64,
}

fn compare<S>(name: &str, spec: &S, plan: &Plan<'_, S::Call, S::Output>, seed: u64) -> Tally
where
    S: Spec,
    S::Call: Debug,
    S::Output: Debug,
{
    let mut tally = Tally::default();
    for round in 0..repetitions(name, 1_000, 20_000) {
        let mut random = Random(seed << 32 | round);
        let mut history = history(&mut random, plan);
        if round % 4 != 0 {
            spoil(&mut random, plan, &mut history);
        }
        let truth = brute::linearizable(&history, plan.step);
        assert!(truth || round % 4 != 0, "{name} {round}: by construction: {history:#?}");
        let report = check(spec, &history, &mut Limits::default());
        assert_eq!(is_yes(&report.verdict), truth, "{name} {round}: {report:?} {history:#?}");
        let by_search = search(spec, &history, &mut Limits::default());
        assert_eq!(is_yes(&by_search.verdict), truth, "{name} {round}, search: {history:#?}");
        match report.verdict {
            Verdict::Refuted(refutation) => is_core(spec, plan, &history, &refutation),
            _ => parts_may_be_left_out(spec, plan, &history),
        }
        *if truth { &mut tally.yes } else { &mut tally.no } += 1;
        tally.searched += u64::from(report.keys_by_search > 0);
    }
    println!("{name}: {tally:?}");
    assert!(tally.yes.min(tally.no) * 40 > tally.yes + tally.no, "{name}: one-sided: {tally:?}");
    tally
}

/// The core of a refuted history is refuted, and is minimal.
fn is_core<S>(
    spec: &S,
    plan: &Plan<'_, S::Call, S::Output>,
    history: &[OperationOf<S>],
    refutation: &Refutation,
) where
    S: Spec,
    S::Call: Debug,
    S::Output: Debug,
{
    let core = shrink(spec, history, refutation, &mut Limits::default());
    assert!(core.minimal, "{history:#?}");
    assert!(!brute::linearizable(&core.rest, plan.step), "{core:#?} of {history:#?}");
    let matter = core.rest.iter().filter(|operation| !operation.is_pending()).count();
    assert_eq!(core.operations.len(), matter);
    for at in (0..core.rest.len()).filter(|at| !core.rest[*at].is_pending()) {
        let mut less = core.rest.clone();
        less[at] = Operation::pending(less[at].client(), 0, less[at].call().clone());
        assert!(brute::linearizable(&less, plan.step), "{at} of {core:#?}");
    }
}

/// Operations that a spec allows to be removed can be removed.
fn parts_may_be_left_out<S: Spec>(
    spec: &S,
    plan: &Plan<'_, S::Call, S::Output>,
    history: &[OperationOf<S>],
) {
    let group = |operation: &OperationOf<S>| spec.group(operation.call(), operation.output());
    let without = |leave: &dyn Fn(&OperationOf<S>) -> bool| {
        let rest: Vec<_> = history.iter().filter(|operation| !leave(operation)).cloned().collect();
        assert!(brute::linearizable(&rest, plan.step));
    };
    without(&|operation| spec.keeps_state(operation.call(), operation.output()));
    if history.iter().all(|operation| group(operation) != Group::Unknown) {
        for out in history.iter().map(group).filter(|group| *group != Group::Stays) {
            without(&|operation| group(operation) == out);
        }
    }
}

fn is_yes(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Linearizable => true,
        Verdict::Refuted(_) => false,
        Verdict::Undecided(bound) => panic!("undecided: {bound:?}"),
    }
}

fn took(call: &Put, random: &mut Random, values: i64) -> Vec<Took> {
    match call {
        Put::In(_) => vec![Took::Done, Took::Full],
        Put::Out => {
            let mut all: Vec<Took> = (0..values).map(Took::Value).chain([Took::Empty]).collect();
            random.shuffle(&mut all);
            all
        }
    }
}

/// If `full`, twice as many puts as takes, so that the structure is rarely empty.
fn put(random: &mut Random, value: i64, full: bool) -> Put {
    if random.below(if full { 3 } else { 2 }) == 0 { Put::Out } else { Put::In(value) }
}

/// All kinds of histories of a queue or stack: distinct values or few, with and without pending operations, empty or
/// not.
fn containers<S: Spec<Call = Put, Output = Took>>(
    name: &str,
    spec: &S,
    step: brute::Step<Put, Took>,
) {
    let outputs = |call: &Put, random: &mut Random| took(call, random, 20);
    let mut seed = 0;
    for full in [false, true] {
        for (distinct, pending) in [(true, 0), (true, 4), (false, 0), (false, 4)] {
            let call = |random: &mut Random, value: i64| {
                put(random, if distinct { value } else { value % 2 }, full)
            };
            for (operations, clients) in [(6, 2), (7, 3), (8, 4)] {
                let plan =
                    Plan { call: &call, outputs: &outputs, step, operations, clients, pending };
                let shape = format!("{name} {full} {distinct} {pending} {operations}");
                let tally = compare(&shape, spec, &plan, seed);
                seed += 1;
                if distinct && pending == 0 {
                    assert_eq!(tally.searched, 0, "{shape}: distinct values need no search");
                }
            }
        }
    }
}

#[test]
fn queues() {
    containers("queue", &Queue::default(), brute::queue);
}

#[test]
fn stacks() {
    containers("stack", &Stack::default(), brute::stack);
}

#[test]
fn queues_with_a_bound() {
    let outputs = |call: &Put, random: &mut Random| took(call, random, 20);
    let call = |random: &mut Random, value: i64| put(random, value % 4, true);
    for (seed, pending) in (0..10).zip([0, 5].into_iter().cycle()) {
        let step = brute::queue_of_two;
        let plan =
            Plan { call: &call, outputs: &outputs, step, operations: 7, clients: 3, pending };
        let name = format!("bounded queue {pending} {seed}");
        compare(&name, &Queue { capacity: Some(2) }, &plan, seed);
    }
}

#[test]
fn sets() {
    let outputs = |_: &SetCall, random: &mut Random| {
        let mut all = vec![true, false];
        random.shuffle(&mut all);
        all
    };
    for (seed, (values, pending)) in [(1, 0), (1, 3), (2, 0), (2, 4)].into_iter().enumerate() {
        let call = |random: &mut Random, _: i64| {
            let value = random.below(values) as i64;
            match random.below(5) {
                0 | 1 => SetCall::Insert(value),
                2 | 3 => SetCall::Remove(value),
                _ => SetCall::Contains(value),
            }
        };
        for (operations, clients) in [(6, 2), (7, 3), (8, 5)] {
            let step = brute::set;
            let plan = Plan { call: &call, outputs: &outputs, step, operations, clients, pending };
            let tally =
                compare(&format!("set {values} {pending} {operations}"), &Set, &plan, seed as u64);
            assert_eq!(tally.searched, 0, "sets need no search");
        }
    }
}

fn register_outputs(call: &RegisterCall, random: &mut Random) -> Vec<RegisterOutput> {
    let mut all = match call {
        RegisterCall::Read => (0..20).map(|v| RegisterOutput::Value(Some(v))).collect(),
        RegisterCall::Write(_) => vec![RegisterOutput::Done],
        RegisterCall::CompareAndSwap { .. } | RegisterCall::Clear => {
            [true, false].map(RegisterOutput::Succeeded).to_vec()
        }
    };
    match call {
        RegisterCall::Read => all.push(RegisterOutput::Value(None)),
        RegisterCall::Clear if random.below(2) == 0 => all.insert(0, RegisterOutput::Done),
        _ => (),
    }
    random.shuffle(&mut all);
    all
}

fn register_call(random: &mut Random, value: i64, distinct: bool) -> RegisterCall {
    let few = |random: &mut Random| Some(random.below(3) as i64).filter(|value| *value > 0);
    match (distinct, random.below(10)) {
        (_, 0..5) => RegisterCall::Read,
        (true, _) => RegisterCall::Write(Some(value)),
        (false, 5 | 6) => RegisterCall::Write(few(random)),
        (false, 7 | 8) => RegisterCall::CompareAndSwap { old: few(random), new: few(random) },
        (false, _) => RegisterCall::Clear,
    }
}

#[test]
fn registers() {
    let mut seed = 0;
    for (distinct, pending) in [(true, 0), (true, 4), (false, 0), (false, 4)] {
        let call = |random: &mut Random, value| register_call(random, value, distinct);
        for (operations, clients) in [(6, 2), (7, 3), (8, 4)] {
            let (outputs, step) = (&register_outputs, brute::register);
            let plan = Plan { call: &call, outputs, step, operations, clients, pending };
            let name = format!("register {distinct} {pending} {operations}");
            let tally = compare(&name, &Register::default(), &plan, seed);
            seed += 1;
            assert_eq!(tally.searched == 0, distinct, "{name}");
        }
    }
}

#[test]
fn maps() {
    for (seed, pending) in (0..10).zip([0, 4].into_iter().cycle()) {
        let call = |random: &mut Random, value: i64| {
            let distinct = random.below(2) == 0;
            MapCall { key: random.below(2) as i64, call: register_call(random, value, distinct) }
        };
        let outputs = |call: &MapCall, random: &mut Random| register_outputs(&call.call, random);
        let (operations, clients, step) = (8, 4, brute::map);
        let plan = Plan { call: &call, outputs: &outputs, step, operations, clients, pending };
        compare(&format!("map {pending} {seed}"), &Map, &plan, seed);
    }
}
