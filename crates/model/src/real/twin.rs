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

impl Exploration {
    /// Runs the complete execution just made, which returned `result`, again with the symmetric threads in each other's
    /// places: every thread takes every place of its group once. Leaves the graph unchanged.
    pub(super) fn run_twins(&self, result: usize) -> Result<(), Diverged> {
        let groups = symmetry::groups(&self.run.core.borrow().graph);
        let longest = groups.iter().map(Vec::len).max().unwrap_or(1);
        (1..longest).try_for_each(|by| self.run_twin(result, &Exchange { groups: &groups, by }))
    }

    fn run_twin(&self, result: usize, exchange: &Exchange<'_>) -> Result<(), Diverged> {
        let (graph, log) = {
            let mut core = self.run.core.borrow_mut();
            let steps = exchange.steps(&core.graph, &core.log);
            core.growth.single = true;
            core.script = steps;
            (core.graph.clone(), core.log.clone())
        };
        let twin = self.execute(Graph::default());
        let mut core = self.run.core.borrow_mut();
        core.growth.single = false;
        let left = std::mem::take(&mut core.script).len();
        let why = match core.stop.take() {
            Some(stop) => format!("it ends early: {stop}"),
            None if left > 0 => format!("it stops {left} steps before its end"),
            None if twin != Some(result) => "it returns something else".into(),
            None => match exchange.other_value(&graph, &core.graph) {
                Some(why) => why,
                None => {
                    (core.graph, core.log) = (graph, log);
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

/// Each symmetric thread takes the place of the one `by` places further on in its group.
struct Exchange<'g> {
    groups: &'g [Vec<usize>],
    by: usize,
}

impl Exchange<'_> {
    /// The thread that takes the place of `thread`.
    fn renamed(&self, thread: usize) -> usize {
        let at = |group: &&Vec<usize>| group.contains(&thread);
        self.groups.iter().find(at).map_or(thread, |group| {
            let at = group.iter().position(|&other| other == thread).expect("it is in there");
            group[(at + self.by) % group.len()]
        })
    }

    /// An event of the twin whose value differs from its counterpart's, if there is one.
    fn other_value(&self, graph: &Graph, twin: &Graph) -> Option<String> {
        graph.iter().find_map(|(id, event)| {
            let other = EventId { thread: self.renamed(usize::from(id.thread)) as u8, ..id };
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

    /// The steps of the run with the threads in each other's places.
    fn steps(&self, graph: &Graph, log: &[EventId]) -> VecDeque<Step> {
        let mut steps = schedule::steps(graph, &gathered(graph, log, self.groups));
        for step in &mut steps {
            step.thread = self.renamed(step.thread);
            if let Find::From(from, _) = &mut step.find
                && !from.is_initial()
            {
                from.thread = self.renamed(usize::from(from.thread)) as u8;
            }
        }
        steps
    }
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
