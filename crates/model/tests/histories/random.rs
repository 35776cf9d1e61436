//! Random histories: produced by a correct structure, then sometimes corrupted.

use super::brute::Step;
use uncontended_model::history::Operation;
use uncontended_testkit::Random;

/// What to generate.
pub(crate) struct Plan<'a, C, O> {
    /// Calls that a client may make; the number is new in each call.
    pub(crate) call: &'a dyn Fn(&mut Random, i64) -> C,
    /// The output of a correct structure.
    pub(crate) outputs: &'a dyn Fn(&C, &mut Random) -> Vec<O>,
    pub(crate) step: Step<C, O>,
    pub(crate) operations: usize,
    pub(crate) clients: u64,
    /// One in this many never returns; none if it is 0.
    pub(crate) pending: u64,
}

struct Open<C, O> {
    client: u32,
    called_at: u64,
    call: C,
    output: Option<O>,
}

/// A linearizable history: each operation takes effect between its call and its return.
pub(crate) fn history<C: Clone, O: Clone>(
    random: &mut Random,
    plan: &Plan<'_, C, O>,
) -> Vec<Operation<C, O>> {
    let (mut state, mut time, mut made) = (Vec::new(), 0, 0);
    let mut open: Vec<Open<C, O>> = Vec::new();
    let mut history = Vec::new();
    let mut idle: Vec<u32> = (0..plan.clients as u32).collect();
    while made < plan.operations || !open.is_empty() {
        time += random.below(3); // Equal times now and then.
        let calls = made < plan.operations && !idle.is_empty();
        if calls && (open.is_empty() || random.below(2) == 0) {
            let client = idle.swap_remove(random.below(idle.len() as u64) as usize);
            let call = (plan.call)(random, made as i64 + 10);
            open.push(Open { client, called_at: time, call, output: None });
            made += 1;
            continue;
        }
        if open.is_empty() {
            break; // Every client has an operation that never returned.
        }
        let at = random.below(open.len() as u64) as usize;
        if open[at].output.is_none() {
            take_effect(random, plan, &mut state, &mut open[at]);
            continue;
        }
        let Open { client, called_at, call, output } = open.swap_remove(at);
        if plan.pending > 0 && random.below(plan.pending) == 0 {
            history.push(Operation::pending(client, called_at, call));
        } else {
            history.push(Operation::done(client, called_at, call, time, output.unwrap()));
            idle.push(client);
        }
    }
    history
}

fn take_effect<C, O>(
    random: &mut Random,
    plan: &Plan<'_, C, O>,
    state: &mut Vec<i64>,
    open: &mut Open<C, O>,
) {
    for output in (plan.outputs)(&open.call, random) {
        let mut next = state.clone();
        if (plan.step)(&mut next, &open.call, Some(&output)) {
            *state = next;
            open.output = Some(output);
            return;
        }
    }
    panic!("a correct structure has an output");
}

/// Changes one or two things: an output, a time, a lost operation.
pub(crate) fn spoil<C: Clone, O: Clone>(
    random: &mut Random,
    plan: &Plan<'_, C, O>,
    history: &mut Vec<Operation<C, O>>,
) {
    for _ in 0..=random.below(4) {
        if history.is_empty() {
            return;
        }
        let at = random.below(history.len() as u64) as usize;
        let operation = history[at].clone();
        let Some(returned_at) = operation.returned_at() else { continue };
        let (client, call) = (operation.client(), operation.call().clone());
        let (called_at, output) = (operation.called_at(), operation.output().unwrap().clone());
        match random.below(4) {
            0 => {
                let outputs = (plan.outputs)(&call, random);
                let output = outputs[random.below(outputs.len() as u64) as usize].clone();
                history[at] = Operation::done(client, called_at, call, returned_at, output);
            }
            1 => {
                let late = random.below(5);
                let (called_at, returned_at) = (called_at + late, returned_at + late);
                history[at] = Operation::done(client, called_at, call, returned_at, output);
            }
            2 => {
                let called_at = called_at + random.below(returned_at - called_at + 1);
                let returned_at = called_at + random.below(returned_at - called_at + 1);
                history[at] = Operation::done(client, called_at, call, returned_at, output);
            }
            _ => drop(history.swap_remove(at)),
        }
    }
}
