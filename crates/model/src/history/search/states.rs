//! The states of a spec as numbers, and what each operation makes of them.

use super::super::mix::Mix;
use super::super::spec::Spec;
use super::super::timeline::Timeline;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

type Mixed = BuildHasherDefault<Mix>;

/// What an operation makes of a state where that is known: no state at all, or this one.
const REFUSED: u32 = u32::MAX;

/// States and the steps between them.
pub(super) struct States<'a, S: Spec> {
    spec: &'a S,
    timeline: &'a Timeline<'a, S::Call, S::Output>,
    /// Operations with the same call and output share a number.
    classes: Vec<u32>,
    states: Vec<Rc<S::State>>,
    numbers: HashMap<Rc<S::State>, u32, Mixed>,
    steps: HashMap<u64, u32, Mixed>,
    states_bytes: usize,
}

impl<'a, S: Spec> States<'a, S> {
    /// Knows the initial state alone, as number 0.
    pub(super) fn new(spec: &'a S, timeline: &'a Timeline<'a, S::Call, S::Output>) -> Self {
        let mut classes: HashMap<_, u32, Mixed> = HashMap::default();
        let number = |(_, operation): (u32, &'a super::super::Operation<S::Call, S::Output>)| {
            let next = classes.len() as u32;
            *classes.entry((operation.call(), operation.output())).or_insert(next)
        };
        let classes = timeline.operations().map(number).collect();
        let initial = Rc::new(spec.initial());
        let mut states = States {
            spec,
            timeline,
            classes,
            states: vec![],
            numbers: HashMap::default(),
            steps: HashMap::default(),
            states_bytes: 0,
        };
        states.add(initial);
        states
    }

    fn add(&mut self, state: Rc<S::State>) -> u32 {
        let number = self.states.len() as u32;
        self.states_bytes += self.spec.state_bytes(&state);
        self.states.push(Rc::clone(&state));
        self.numbers.insert(state, number);
        number
    }

    /// The class of an operation.
    pub(super) fn class(&self, op: u32) -> u32 {
        self.classes[op as usize]
    }

    /// Whether an operation that returned leaves every state as it is.
    pub(super) fn keeps_state(&self, op: u32) -> bool {
        let operation = self.timeline.operation(op);
        !operation.is_pending() && self.spec.keeps_state(operation.call(), operation.output())
    }

    /// The state after an operation in `state`, if it fits there.
    pub(super) fn after(&mut self, state: u32, op: u32) -> Option<u32> {
        let step = u64::from(state) << 32 | u64::from(self.class(op));
        let known = self.steps.get(&step).copied();
        let after = known.unwrap_or_else(|| {
            let after = self.apply(state, op);
            self.steps.insert(step, after);
            after
        });
        (after != REFUSED).then_some(after)
    }

    /// The same, asked of the spec again.
    pub(super) fn after_anew(&self, state: u32, op: u32) -> Option<u32> {
        let operation = self.timeline.operation(op);
        let state = &self.states[state as usize];
        let after = self.spec.apply(state, operation.call(), operation.output())?;
        self.numbers.get(&after).copied()
    }

    fn apply(&mut self, state: u32, op: u32) -> u32 {
        let operation = self.timeline.operation(op);
        let state = &self.states[state as usize];
        let Some(after) = self.spec.apply(state, operation.call(), operation.output()) else {
            return REFUSED;
        };
        match self.numbers.get(&after) {
            Some(number) => *number,
            None => self.add(Rc::new(after)),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        // A state's counts, its number and its two pointers; a step with what its table leaves free.
        let (state, step) = (64, 32);
        self.states_bytes + self.states.len() * state + self.steps.capacity() * step
    }
}
