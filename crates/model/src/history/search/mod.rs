//! The search that decides any history of any spec.
//!
//! # Contract
//! Exhaustive: "yes" comes with an order that the spec accepts, "no" means that there is none; hitting a limit is
//! neither.
//!
//! Depth first over configurations. A configuration is the next return, the set of operations open at it that have
//! taken effect, and the state. Every operation that returned before has taken effect and none that is called later, so
//! these three determine the rest, and a configuration that failed once is not entered again.
//!
//! # State
//! - W1: at a configuration the operations that may take effect are those called before the next return and not done.
//!   They form a list in the order of their calls; undoing restores it in reverse.
//! - W2: of open operations with the same call and output only the one that returns first is tried: in any order that
//!   takes another first, the two can be swapped.
//! - W3: an open operation that fits and keeps every state ([`Spec::keeps_state`]) takes effect at once: it can move
//!   here in any order. One that never returned and would not change this state takes no effect here.
//! - W4: each open operation has a slot, a bit in the mask, from its call to its return; then another operation may
//!   reuse the slot.
//!
//! # Sources
//! Wing, Gong, "Testing and verifying concurrent objects", JPDC 1993; Lowe, "Testing for linearizability", CCPE 2017;
//! Horn, Kroening, "Faster linearizability checking via P-compositionality", FORTE 2015.

mod memo;
mod states;

use super::spec::Spec;
use super::timeline::{Event, NEVER, Timeline};
use super::{Bound, Limits, Progress};
use memo::Memo;
use states::States;

/// Configurations between two checks of the limits.
const BETWEEN_LOOKS: u64 = 1 << 10;

/// The result of a search.
pub(super) enum Found {
    /// There is an order.
    Order,
    /// No order goes past the return of this operation.
    Stuck(u32),
    /// A limit was hit first.
    Bound(Bound),
}

/// No operation: the ends of the list.
const NONE: u32 = u32::MAX;

/// A configuration that was entered, and how to leave it.
struct Frame {
    met: u32,
    state: u32,
    /// How many operations had taken effect before it, and when it was entered.
    done_before: u32,
    /// The operations that may take effect next: a range of `choices`, the next one last.
    choices_from: u32,
}

/// A running search.
pub(super) struct Search<'a, S: Spec> {
    timeline: &'a Timeline<'a, S::Call, S::Output>,
    states: States<'a, S>,
    /// Operations by their return.
    returns: Vec<u32>,
    /// W4.
    slots: Vec<u32>,
    mask: Vec<u64>,
    /// W1; the last entry holds the ends.
    next: Vec<u32>,
    previous: Vec<u32>,
    done: Vec<bool>,
    order: Vec<u32>,
    /// The number of returns passed, and the state.
    met: u32,
    state: u32,
    memo: Memo,
    frames: Vec<Frame>,
    /// The masks of the frames.
    masks: Vec<u64>,
    choices: Vec<u32>,
    farthest: u32,
    configurations: u64,
}

impl<'a, S: Spec> Search<'a, S> {
    /// Searches for an order of everything in `timeline`.
    pub(super) fn run(
        spec: &'a S,
        timeline: &'a Timeline<'a, S::Call, S::Output>,
        limits: &mut Limits<'_>,
    ) -> (Found, u64) {
        let mut search = Search::new(spec, timeline);
        let found = search.explore(limits);
        (found, search.configurations)
    }

    fn new(spec: &'a S, timeline: &'a Timeline<'a, S::Call, S::Output>) -> Self {
        let count = timeline.len();
        let mut returns = Vec::with_capacity(count);
        let (mut next, mut previous) = (vec![NONE; count + 1], vec![NONE; count + 1]);
        let mut slots = vec![0; count];
        let (mut free, mut used) = (Vec::new(), 0);
        let mut last = count;
        for event in timeline.events() {
            match event {
                Event::Call(op) => {
                    slots[op as usize] = free.pop().unwrap_or_else(|| {
                        used += 1;
                        used - 1
                    });
                    next[last] = op;
                    previous[op as usize] = last as u32;
                    last = op as usize;
                }
                Event::Return(op) => {
                    returns.push(op);
                    free.push(slots[op as usize]);
                }
            }
        }
        next[last] = count as u32;
        previous[count] = last as u32;
        let words = (used as usize).div_ceil(64);
        Search {
            timeline,
            states: States::new(spec, timeline),
            returns,
            slots,
            mask: vec![0; words],
            next,
            previous,
            done: vec![false; count],
            order: vec![],
            met: 0,
            state: 0,
            memo: Memo::new(1 + words),
            frames: vec![],
            masks: vec![],
            choices: vec![],
            farthest: 0,
            configurations: 0,
        }
    }

    fn explore(&mut self, limits: &mut Limits<'_>) -> Found {
        let mut enters = true;
        loop {
            if enters && let Some(found) = self.enter(limits) {
                return found;
            }
            let Some(frame) = self.frames.last() else {
                return Found::Stuck(self.returns[self.farthest as usize]);
            };
            let has_choices = self.choices.len() > frame.choices_from as usize;
            let Some(op) = self.choices.pop_if(|_| has_choices) else {
                self.leave();
                enters = false;
                continue;
            };
            let (state, returns) = (frame.state, self.timeline.returned(op) != NEVER);
            let after = self.states.after(state, op);
            let after = after.filter(|after| returns || *after != state); // W3.
            enters = after.is_some();
            if let Some(after) = after {
                self.restore();
                self.take(op);
                self.state = after;
            }
        }
    }

    /// Enters the current configuration: returns the result, or pushes a frame, possibly without choices.
    fn enter(&mut self, limits: &mut Limits<'_>) -> Option<Found> {
        self.configurations += 1;
        if self.configurations.is_multiple_of(BETWEEN_LOOKS)
            && let Some(bound) = self.look(limits)
        {
            return Some(Found::Bound(bound));
        }
        self.settle();
        self.farthest = self.farthest.max(self.met);
        if self.met as usize == self.returns.len() {
            debug_assert!(self.accepts(), "the order that was found is one");
            return Some(Found::Order);
        }
        self.frames.push(Frame {
            met: self.met,
            state: self.state,
            done_before: self.order.len() as u32,
            choices_from: self.choices.len() as u32,
        });
        self.masks.extend_from_slice(&self.mask);
        if self.memo.insert(self.met, self.state, &self.mask) {
            self.choose();
        }
        None
    }

    /// Applies the operations that fit and change nothing (W3), and passes the returns of those that are done.
    fn settle(&mut self) {
        loop {
            while let Some(&op) = self.returns.get(self.met as usize)
                && self.done[op as usize]
            {
                let slot = self.slots[op as usize];
                self.mask[slot as usize / 64] &= !(1 << (slot % 64));
                self.met += 1;
            }
            let Some(&due) = self.returns.get(self.met as usize) else { return };
            let end = self.timeline.returned(due);
            let mut op = self.next[self.timeline.len()];
            while (op as usize) < self.timeline.len() && self.timeline.called(op) < end {
                let next = self.next[op as usize];
                if self.states.keeps_state(op) && self.states.fits(self.state, op) {
                    self.take(op);
                }
                op = next;
            }
            if !self.done[due as usize] {
                return;
            }
        }
    }

    /// Lists the operations that may take effect next; the one that returns first comes last.
    fn choose(&mut self) {
        let end = self.timeline.returned(self.returns[self.met as usize]);
        let from = self.choices.len();
        let mut op = self.next[self.timeline.len()];
        while (op as usize) < self.timeline.len() && self.timeline.called(op) < end {
            self.choices.push(op);
            op = self.next[op as usize];
        }
        let timeline = self.timeline;
        self.choices[from..].sort_unstable_by_key(|&op| (timeline.returned(op), op));
        let mut kept = from;
        for at in from..self.choices.len() {
            let class = self.states.class(self.choices[at]);
            if self.choices[from..kept].iter().all(|other| self.states.class(*other) != class) {
                self.choices[kept] = self.choices[at]; // W2.
                kept += 1;
            }
        }
        self.choices.truncate(kept);
        self.choices[from..].sort_unstable_by_key(|&op| std::cmp::Reverse(timeline.called(op)));
    }

    /// Lets an operation take effect.
    fn take(&mut self, op: u32) {
        let (at, slot) = (op as usize, self.slots[op as usize]);
        let (previous, next) = (self.previous[at], self.next[at]);
        self.next[previous as usize] = next;
        self.previous[next as usize] = previous;
        self.mask[slot as usize / 64] |= 1 << (slot % 64);
        self.done[at] = true;
        self.order.push(op);
    }

    /// Backtracks to the last configuration that was entered.
    fn restore(&mut self) {
        let Some(frame) = self.frames.last() else { return };
        (self.met, self.state) = (frame.met, frame.state);
        let words = self.mask.len();
        self.mask.copy_from_slice(&self.masks[self.masks.len() - words..]);
        let done_before = frame.done_before as usize;
        self.undo(done_before);
    }

    /// Abandons the last configuration.
    fn leave(&mut self) {
        self.frames.pop();
        self.masks.truncate(self.masks.len() - self.mask.len());
    }

    fn undo(&mut self, done_before: usize) {
        for op in self.order.drain(done_before..).rev() {
            self.next[self.previous[op as usize] as usize] = op;
            self.previous[self.next[op as usize] as usize] = op;
            self.done[op as usize] = false;
        }
    }

    /// Whether the spec accepts the order found, and real time does: checked by their rules, not by the search's.
    fn accepts(&self) -> bool {
        let mut state = Some(0);
        let mut latest_call = 0;
        for op in &self.order {
            let returns_in_time = self.timeline.returned(*op) > latest_call;
            latest_call = latest_call.max(self.timeline.called(*op));
            state = state
                .and_then(|state| self.states.known_after(state, *op))
                .filter(|_| returns_in_time);
        }
        state.is_some() && self.returns.iter().all(|op| self.done[*op as usize])
    }

    fn look(&self, limits: &mut Limits<'_>) -> Option<Bound> {
        let memory_bytes = self.memo.bytes() + self.states.bytes();
        if memory_bytes > limits.memory_bytes {
            return Some(Bound::Memory);
        }
        let progress = Progress {
            configurations: self.configurations,
            met: u64::from(self.farthest),
            returns: self.returns.len() as u64,
            memory_bytes,
        };
        (!(limits.go_on)(&progress)).then_some(Bound::Stopped)
    }
}
