//! Checks that symmetric threads are symmetric: the execution with them exchanged must exist and have the same result.

use super::core::QUEUE;
use super::exploration::Exploration;
use super::fingerprint::ADDRESSES;
use super::graph::{EventId, Graph};
use super::op::Op;
use super::schedule::{self, Find, Step};
use super::symmetry;
use super::verdict::Diverged;
use std::collections::VecDeque;

impl<T: Ord + 'static> Exploration<T> {
    /// Runs the complete execution just made, which returned `result`, with each group of symmetric threads in reverse
    /// order. Leaves the graph unchanged.
    pub(super) fn run_twin(&self, result: &T) -> Result<(), Diverged> {
        let (graph, groups, steps) = {
            let core = self.run.core.borrow();
            let groups = symmetry::groups(&core.graph);
            if groups.is_empty() {
                return Ok(());
            }
            let steps = exchanged(&core.graph, &core.log, &groups);
            (core.graph.clone(), groups, steps)
        };
        {
            let mut core = self.run.core.borrow_mut();
            core.growth.single = true;
            core.script = steps;
        }
        let twin = self.execute(Graph::default());
        let mut core = self.run.core.borrow_mut();
        core.growth.single = false;
        let left = std::mem::take(&mut core.script).len();
        let why = match core.stop.take() {
            Some(stop) => format!("it ends early: {stop:?}"),
            None if left > 0 => format!("it stops {left} steps before its end"),
            None if twin.as_ref() != Some(result) => "it returns something else".into(),
            None => match other_value(&graph, &core.graph, &groups) {
                Some(why) => why,
                None => {
                    core.graph = graph;
                    return Ok(());
                }
            },
        };
        Err(Diverged(format!(
            "threads of `spawn_symmetric` are not symmetric: if they are exchanged in an execution that breaks no \
             rule, {why}"
        )))
    }
}

/// The thread that takes the place of `thread` when each group is reversed.
fn renamed(groups: &[Vec<usize>], thread: usize) -> usize {
    let at = |group: &&Vec<usize>| group.contains(&thread);
    groups.iter().find(at).map_or(thread, |group| {
        let at = group.iter().position(|&other| other == thread).expect("it is in there");
        group[group.len() - 1 - at]
    })
}

/// An event of the twin whose value differs from its counterpart's, if there is one.
fn other_value(graph: &Graph, twin: &Graph, groups: &[Vec<usize>]) -> Option<String> {
    graph.iter().find_map(|(id, event)| {
        let other = EventId { thread: renamed(groups, usize::from(id.thread)) as u8, ..id };
        // Queues hold the names of threads; the begin events of a group note their places.
        let is_named = graph
            .locations
            .get(event.location as usize)
            .is_none_or(|it| it.name.0 != u8::MAX && it.name.0 & QUEUE != 0);
        if !twin.has(other) {
            return Some(format!("thread {} ends before {}", other.thread, event.site));
        }
        // Addresses differ between runs.
        let values = [event.value, twin.get(other).value].map(|value| value.min(ADDRESSES));
        (!is_named && values[0] != values[1])
            .then(|| format!("{} has {:#x} instead of {:#x}", event.site, values[1], values[0]))
    })
}

/// The steps of a run with each group in reverse order.
fn exchanged(graph: &Graph, log: &[EventId], groups: &[Vec<usize>]) -> VecDeque<Step> {
    let renamed = |thread: usize| renamed(groups, thread);
    let mut steps = schedule::steps(graph, &gathered(graph, log, groups));
    for step in &mut steps {
        step.thread = renamed(step.thread);
        if let Find::From(from, _) = &mut step.find
            && !from.is_initial()
        {
            from.thread = renamed(usize::from(from.thread)) as u8;
        }
    }
    steps
}

/// The same run, with each group started back to back before its first step and joined back to back after its last.
fn gathered(graph: &Graph, log: &[EventId], groups: &[Vec<usize>]) -> Vec<EventId> {
    let mut gathered = log.to_vec();
    for group in groups {
        let is_of = |child: u8| group.contains(&usize::from(child));
        let starts =
            |id: &EventId| matches!(graph.get(*id).op, Op::Spawn { child } if is_of(child));
        let joins = |id: &EventId| matches!(graph.get(*id).op, Op::Join { child } if is_of(child));
        let (spawns, mut rest): (Vec<EventId>, Vec<EventId>) =
            gathered.iter().partition(|id| starts(id));
        let first = gathered.iter().position(starts).unwrap_or(0);
        rest.splice(first..first, spawns);
        let last = rest.iter().rposition(joins).map(|at| rest[at]);
        let joined: Vec<EventId> = rest.iter().copied().filter(joins).collect();
        rest.retain(|id| !joins(id) || Some(*id) == last);
        if let Some(at) = rest.iter().position(|id| Some(*id) == last) {
            rest.splice(at..=at, joined);
        }
        gathered = rest;
    }
    gathered
}
