//! A failing execution as a line of text: which thread takes each step, and what each step finds.
//!
//! # Contract
//! `c11@tests/queue.rs:12 0p 1w0 0r1.2 …`: the memory model and the place of the exploration, then the events in the
//! order in which a run executed them. Each has a thread's number and
//! - `r1.2`: reads event 2 of thread 1 (`0.0` is the initial value); `w3` after it means that the write half of an
//!   unlocked read-modify-write has three writes of its location before it;
//! - `w3`: a write with three writes of its location before it;
//! - `c1`: a choice, option 1; `p`: anything else.
//!
//! When the steps are used up, the run continues by itself and reads the newest writes.

use super::core::{Core, Request, Stop};
use super::graph::{EventId, Graph, Kind, Location};
use super::op::{Effect, Op};
use std::collections::{HashMap, VecDeque};
use std::fmt::{self, Write};

/// What a step finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Find {
    /// The write that is read, and the place of an unlocked write half.
    From(EventId, Option<usize>),
    /// The number of writes of the location before this one.
    Place(usize),
    Choice(u64),
    Plain,
}

impl Find {
    /// The place of a write among those of its location.
    pub(crate) fn place(self) -> Option<usize> {
        match self {
            Find::Place(place) | Find::From(_, Some(place)) => Some(place),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub(crate) thread: usize,
    pub(crate) find: Find,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Step { thread, find } = self;
        match find {
            Find::From(from, None) => write!(f, "{thread}r{}.{}", from.thread, from.index),
            Find::From(from, Some(place)) => {
                write!(f, "{thread}r{}.{}w{place}", from.thread, from.index)
            }
            Find::Place(place) => write!(f, "{thread}w{place}"),
            Find::Choice(value) => write!(f, "{thread}c{value}"),
            Find::Plain => write!(f, "{thread}p"),
        }
    }
}

/// The events listed in `log`, in its order, as they are in `graph`.
pub(crate) fn steps(graph: &Graph, log: &[EventId]) -> VecDeque<Step> {
    let mut places = Places::new(graph);
    let mut steps = VecDeque::new();
    for &id in log {
        let event = graph.get(id);
        let is_unlocked = matches!(event.op, Op::Unlocked { .. });
        let find = match event.kind {
            // A write half belongs to its read; a thread's begin belongs to its spawn.
            Kind::Write if event.is_half() => None,
            Kind::Thread if event.op == Op::Begin => None,
            Kind::Write => Some(Find::Place(places.of(event.location, id))),
            Kind::Read if is_unlocked => {
                let half = EventId { index: id.index + 1, ..id };
                Some(Find::From(event.from, Some(places.of(event.location, half))))
            }
            Kind::Read => Some(Find::From(event.from, None)),
            Kind::Choice => Some(Find::Choice(event.value)),
            Kind::Blocked | Kind::Fence | Kind::Thread => Some(Find::Plain),
        };
        steps.extend(find.map(|find| Step { thread: usize::from(id.thread), find }));
        if event.kind == Kind::Write {
            places.made(event.location, id);
        }
    }
    steps
}

/// Where writes go among those of their location that were made before.
struct Places {
    /// Of each write, its index in the order of its location.
    at: HashMap<EventId, usize>,
    /// By location, the indices of the writes made, in growing order.
    made: Vec<Vec<usize>>,
}

impl Places {
    fn new(graph: &Graph) -> Places {
        let order = |location: &Location| location.order.clone().into_iter().zip(0..);
        let at = graph.locations.iter().flat_map(order).collect();
        Places { at, made: vec![Vec::new(); graph.locations.len()] }
    }

    fn of(&self, location: u32, write: EventId) -> usize {
        let at = self.at[&write];
        self.made[location as usize].partition_point(|&made| made < at)
    }

    fn made(&mut self, location: u32, write: EventId) {
        let place = self.of(location, write);
        self.made[location as usize].insert(place, self.at[&write]);
    }
}

/// The line for these steps of the exploration called `name`.
pub(crate) fn text(name: &str, steps: &VecDeque<Step>) -> String {
    let mut text = name.to_owned();
    for step in steps {
        write!(text, " {step}").expect("a string takes all");
    }
    text
}

/// The name and the steps of a line, or why it is not a schedule.
pub(crate) fn parse(text: &str) -> Result<(&str, VecDeque<Step>), String> {
    let mut words = text.split_whitespace();
    let name = words.next().filter(|name| name.contains('@'));
    let name = name.ok_or("a schedule is MODEL@FILE:LINE and steps, as a violation prints it")?;
    let steps = words.map(|word| step(word).ok_or(format!("'{word}' is not a step")));
    Ok((name, steps.collect::<Result<_, _>>()?))
}

fn step(word: &str) -> Option<Step> {
    let (thread, rest) = word.split_at(word.find(|c: char| !c.is_ascii_digit())?);
    let (kind, rest) = rest.split_at_checked(1)?;
    let find = match kind {
        "r" => {
            let (from, place) = match rest.split_once('w') {
                Some((from, place)) => (from, Some(place.parse().ok()?)),
                None => (rest, None),
            };
            let (thread, index) = from.split_once('.')?;
            Find::From(EventId { thread: thread.parse().ok()?, index: index.parse().ok()? }, place)
        }
        "w" => Find::Place(rest.parse().ok()?),
        "c" => Find::Choice(rest.parse().ok()?),
        "p" if rest.is_empty() => Find::Plain,
        _ => return None,
    };
    Some(Step { thread: thread.parse().ok()?, find })
}

impl Core {
    /// What this request finds according to the schedule; `Some(None)` once the schedule is used up. `None`: it is
    /// another thread's turn, or the schedule does not fit.
    pub(crate) fn scripted(&mut self, thread: usize, request: &Request) -> Option<Option<Find>> {
        if self.guide.is_some() {
            return self.guided(thread, request);
        }
        let Some(&step) = self.script.front() else { return Some(None) };
        if step.thread != thread {
            return None;
        }
        self.script.pop_front();
        if !self.is_possible(step.find, thread, request) {
            let what = format!("'{step}', but thread {thread} {} at {}", request.op, request.site);
            self.stop = Some(Stop::Misfit(what));
            return None;
        }
        self.growth.place = step.find.place();
        Some(Some(step.find))
    }

    pub(super) fn is_possible(&self, find: Find, thread: usize, request: &Request) -> bool {
        let graph = &self.graph;
        let is_free = |place: usize| {
            place >= graph.floor(request.location, thread)
                && place <= graph.locations[request.location as usize].order.len()
                && graph.successor(request.location, place).is_none()
        };
        match (request.op, find) {
            (Op::Store { .. }, Find::Place(place)) => is_free(place),
            (Op::Choice { options }, Find::Choice(value)) => value < options,
            (
                Op::Load { .. }
                | Op::Rmw { .. }
                | Op::Cas { .. }
                | Op::AwaitCas { .. }
                | Op::RwLock(_),
                Find::From(from, None),
            )
            | (Op::Unlocked { .. }, Find::From(from, Some(_))) => {
                let order = &graph.locations[request.location as usize].order;
                if !from.is_initial() && !order.contains(&from) {
                    return false;
                }
                let position = graph.position(request.location, from);
                let effect = request.op.effect(graph.value_of(request.location, from));
                let fits = match (effect, find) {
                    (_, Find::From(_, Some(place))) => place >= position && is_free(place),
                    (Some(Effect::Write { .. }), _) => is_free(position),
                    (Some(Effect::Read(_)), _) => true,
                    _ => false,
                };
                fits && position >= graph.floor(request.location, thread)
            }
            (
                Op::Fence { .. }
                | Op::Light
                | Op::Heavy
                | Op::Spawn { .. }
                | Op::End
                | Op::Join { .. },
                Find::Plain,
            ) => true,
            _ => false,
        }
    }

    /// The thread whose turn it is according to the schedule. `None`: no schedule is left.
    pub(crate) fn scheduled(&mut self) -> Option<usize> {
        if self.guide.is_some() {
            return self.guided_thread();
        }
        let thread = self.script.front()?.thread;
        if thread < self.threads.len() && self.can_move(thread) {
            return Some(thread);
        }
        self.stop = Some(Stop::Misfit(format!("thread {thread} cannot move")));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_reads_back_as_it_was_written() {
        let line = "tso@a/b.rs:7 0p 1w0 0r1.2 12r0.0w3 0c1";
        let (name, steps) = parse(line).unwrap();
        assert_eq!((name, steps.len()), ("tso@a/b.rs:7", 5));
        assert_eq!(text(name, &steps), line);
    }

    #[test]
    fn what_is_not_a_schedule_is_refused() {
        for line in [
            "", "x p", "x 0", "x 0q", "x 0p1", "x 0r1", "x 0r1.", "x 0w", "x -1p", "x 0c-1", "x 0é",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
