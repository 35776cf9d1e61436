//! A flag that is switched on and off: one value of a set. Handles any history, however often the value is inserted and
//! removed.
//!
//! # Contract
//! Operations are switches (on, off) and looks (was on, was off). Returns are processed in order. A switch is made only
//! when the operation that returns now needs it; of the open switches the one that returns first is made; and every
//! look that fits takes effect at once.
//!
//! The history is linearizable if and only if a needed switch is always open. Proof: take any valid order. A look that
//! fits now can move here, since it changes nothing. Two open switches of one direction can be swapped so that the one
//! that returns first goes first. If the order's next switch is not needed for what returns now, it and everything up
//! to the next return can wait until that return: the state has two values, and the open switches of each direction
//! only grow in number. So the order can be transformed into ours step by step.
//!
//! A switch that never returned counts as returning last and need not be made. A failed insert is a look that saw the
//! value, a failed remove one that did not. Other operations that never returned, or would have changed nothing, are
//! left out.

use super::super::operation::Operation;
use super::super::spec::Shortcut;
use super::super::specs::SetCall;
use super::super::timeline::{Event, Timeline};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The role of an operation, with the direction switched to or seen.
#[derive(Clone, Copy)]
enum Part {
    Switch(bool),
    Look(bool),
    Nothing,
}

fn part(operation: &Operation<SetCall, bool>) -> Part {
    match (operation.call(), operation.output()) {
        (SetCall::Insert(_), None | Some(true)) => Part::Switch(true),
        (SetCall::Remove(_), None | Some(true)) => Part::Switch(false),
        (SetCall::Insert(_), Some(false)) => Part::Look(true),
        (SetCall::Remove(_), Some(false)) => Part::Look(false),
        (SetCall::Contains(_), Some(seen)) => Part::Look(*seen),
        (SetCall::Contains(_), None) => Part::Nothing,
    }
}

/// The flag and the operations that are open.
#[derive(Default)]
struct Flag {
    is_on: bool,
    /// For each direction: open switches by their return.
    switches: [BinaryHeap<Reverse<(u32, u32)>>; 2],
    /// For each direction: looks that did not fit yet.
    looks: [Vec<u32>; 2],
}

impl Flag {
    /// Makes the open switch that returns first, if there is one.
    fn switch(&mut self, done: &mut [bool]) -> bool {
        let to = !self.is_on;
        let Some(Reverse((_, op))) = self.switches[usize::from(to)].pop() else { return false };
        done[op as usize] = true;
        self.is_on = to;
        self.looks[usize::from(to)].drain(..).for_each(|look| done[look as usize] = true);
        true
    }

    /// Makes the switches that `part`, which returns now, needs.
    fn settle(&mut self, part: Part, done: &mut [bool]) -> bool {
        match part {
            Part::Nothing => true,
            Part::Look(_) => self.switch(done),
            Part::Switch(to) if to == self.is_on => self.switch(done) && self.switch(done),
            Part::Switch(_) => self.switch(done),
        }
    }
}

/// Decides the history of one value of a set.
pub(crate) fn flag(timeline: &Timeline<'_, SetCall, bool>) -> Shortcut {
    let mut flag = Flag::default();
    let mut done = vec![false; timeline.len()];
    for event in timeline.events() {
        match event {
            Event::Call(op) => match part(timeline.operation(op)) {
                Part::Switch(to) => {
                    flag.switches[usize::from(to)].push(Reverse((timeline.returned(op), op)));
                }
                Part::Look(at) if at == flag.is_on => done[op as usize] = true,
                Part::Look(at) => flag.looks[usize::from(at)].push(op),
                Part::Nothing => done[op as usize] = true,
            },
            Event::Return(op) if done[op as usize] => (),
            Event::Return(op) => {
                if !flag.settle(part(timeline.operation(op)), &mut done) {
                    let end = timeline.returned(op);
                    let before = |op: &u32| timeline.called(*op) < end;
                    return Shortcut::No((0..timeline.len() as u32).filter(before).collect());
                }
            }
        }
    }
    Shortcut::Yes
}
