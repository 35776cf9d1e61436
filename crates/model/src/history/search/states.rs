//! The states of a spec as numbers, and the transitions of each operation between them.

use super::super::mix::Mix;
use super::super::spec::Spec;
use super::super::timeline::Timeline;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault};

type Mixed = BuildHasherDefault<Mix>;

/// States by number.
pub(super) struct States<'a, S: Spec> {
    spec: &'a S,
    timeline: &'a Timeline<'a, S::Call, S::Output>,
    /// Operations with the same call and output share a number.
    classes: Vec<u32>,
    states: Vec<S::State>,
    /// The hash of each state: a long state is hashed once.
    hashes: Vec<u64>,
    /// A hash table of states: the state's number plus 1, or 0 for a free place.
    places: Vec<u32>,
    states_bytes: usize,
}

impl<'a, S: Spec> States<'a, S> {
    /// Only the initial state, as number 0.
    pub(super) fn new(spec: &'a S, timeline: &'a Timeline<'a, S::Call, S::Output>) -> Self {
        let mut classes: HashMap<_, u32, Mixed> = HashMap::default();
        let number = |(_, operation): (u32, &'a super::super::Operation<S::Call, S::Output>)| {
            let next = classes.len() as u32;
            *classes.entry((operation.call(), operation.output())).or_insert(next)
        };
        let classes = timeline.operations().map(number).collect();
        let mut states = States {
            spec,
            timeline,
            classes,
            states: vec![],
            hashes: vec![],
            places: vec![0; 64],
            states_bytes: 0,
        };
        states.number(spec.initial());
        states
    }

    /// The place of a state, and its number if it has one.
    fn place(&self, state: &S::State, hash: u64) -> (usize, Option<u32>) {
        let last = self.places.len() - 1;
        let mut place = hash as usize & last;
        while let Some(number) = self.places[place].checked_sub(1) {
            if self.hashes[number as usize] == hash && self.states[number as usize] == *state {
                return (place, Some(number));
            }
            place = (place + 1) & last;
        }
        (place, None)
    }

    /// The number of a state, a new one if the state is new.
    fn number(&mut self, state: S::State) -> u32 {
        let hash = Mixed::default().hash_one(&state);
        let (place, known) = self.place(&state, hash);
        known.unwrap_or_else(|| {
            let number = self.states.len() as u32;
            self.states_bytes += self.spec.state_bytes(&state);
            self.states.push(state);
            self.hashes.push(hash);
            self.places[place] = number + 1;
            if self.states.len() * 2 > self.places.len() {
                self.grow();
            }
            number
        })
    }

    fn grow(&mut self) {
        let last = self.places.len() * 2 - 1;
        self.places = vec![0; last + 1];
        for (number, hash) in self.hashes.iter().enumerate() {
            let mut place = *hash as usize & last;
            while self.places[place] != 0 {
                place = (place + 1) & last;
            }
            self.places[place] = number as u32 + 1;
        }
    }

    /// The class of an operation.
    pub(super) fn class(&self, op: u32) -> u32 {
        self.classes[op as usize]
    }

    /// Whether an operation that returned keeps every state.
    pub(super) fn keeps_state(&self, op: u32) -> bool {
        let operation = self.timeline.operation(op);
        !operation.is_pending() && self.spec.keeps_state(operation.call(), operation.output())
    }

    fn apply(&self, state: u32, op: u32) -> Option<S::State> {
        let operation = self.timeline.operation(op);
        self.spec.apply(&self.states[state as usize], operation.call(), operation.output())
    }

    /// Whether an operation fits a state.
    pub(super) fn fits(&self, state: u32, op: u32) -> bool {
        self.apply(state, op).is_some()
    }

    /// The state after an operation in `state`, if it fits there.
    pub(super) fn after(&mut self, state: u32, op: u32) -> Option<u32> {
        self.apply(state, op).map(|after| self.number(after))
    }

    /// The same, if that state already has a number.
    pub(super) fn known_after(&self, state: u32, op: u32) -> Option<u32> {
        let after = self.apply(state, op)?;
        self.place(&after, Mixed::default().hash_one(&after)).1
    }

    pub(super) fn bytes(&self) -> usize {
        // A state's hash and its place; while these grow, the old ones exist too.
        let each = size_of::<S::State>() + size_of::<u64>();
        self.states_bytes + self.states.capacity() * each + self.places.len() * 6
    }
}
