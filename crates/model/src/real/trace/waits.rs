//! What a thread waits for, and where, if it waits forever.

use super::super::core::{Core, State};
use super::super::graph::{Event, Kind, NOWHERE};
use super::super::op::{Function, Op, queued};
use super::locks;
use super::names::{Names, is_queue, is_token};
use std::panic::Location as Site;

/// A wait that never ends.
pub(crate) struct Wait {
    verb: &'static str,
    /// What it waits for: words, then the name of a location.
    what: String,
    name: String,
    /// The thread that could end the wait.
    more: String,
    pub(crate) site: Option<&'static Site<'static>>,
    /// A wakeup of the queue that it waits in found no thread there.
    pub(crate) is_lost: bool,
}

impl Wait {
    /// In a message.
    pub(crate) fn told(&self, thread: usize) -> String {
        let Wait { verb, what, name, more, site, .. } = self;
        let at = site.map_or_else(String::new, |site| format!(" at {site}"));
        let name = if name.is_empty() { String::new() } else { format!(" `{name}`") };
        format!("thread {thread} {verb} forever{at}{what}{name}{more}")
    }

    /// In a row.
    pub(crate) fn drawn(&self) -> String {
        let gap = if self.name.is_empty() { "" } else { " " };
        format!("{} forever{}{gap}{}", self.verb, self.what, self.name)
    }
}

/// The wait of a thread at the end of the run.
pub(crate) fn of(core: &Core, names: &Names, thread: usize) -> Wait {
    let run = &core.threads[thread];
    let last = core.graph.threads[thread].last();
    if let Some(event) = last.filter(|event| event.kind == Kind::Blocked) {
        return blocked(core, names, thread, event);
    }
    let (verb, what, site) = match run.state {
        State::Joining(child, site) => ("waits", format!(" for thread {child} to end"), Some(site)),
        State::Spinning => ("loops", String::new(), run.rounds.hinted_at()),
        State::Awaiting => ("waits", " for its condition".to_owned(), run.rounds.hinted_at()),
        _ => ("waits", String::new(), None),
    };
    let reads_nothing = run.state == State::Awaiting
        && run.rounds.last().iter().all(|seen| seen.location == NOWHERE);
    let more = if reads_nothing { ", which reads nothing that can change" } else { "" };
    Wait { verb, what, name: String::new(), more: more.to_owned(), site, is_lost: false }
}

/// A wait for a value of a location.
fn blocked(core: &Core, names: &Names, thread: usize, event: &Event) -> Wait {
    let graph = &core.graph;
    let wait = |what: &str, name: &str, more: String| {
        let (what, name, site) = (what.to_owned(), name.to_owned(), Some(event.site));
        Wait { verb: "waits", what, name, more, site, is_lost: false }
    };
    let is_parked = core.threads[thread].token == Some(event.location);
    if is_parked || is_token(&graph.locations[event.location as usize]) {
        let is_in = |at: u32| {
            let newest = graph.value_of(at, graph.newest(at));
            is_queue(&graph.locations[at as usize]) && queued(newest).contains(&(thread as u64))
        };
        return match (0..graph.locations.len() as u32).find(|&at| is_in(at)) {
            Some(queue) => {
                let lost = found_nobody(core, queue);
                let told = |site| format!(", after a wakeup at {site} found no waiter");
                let more = lost.map_or_else(String::new, told);
                let wait = wait(" in the queue of", names.queue(queue), more);
                Wait { is_lost: lost.is_some(), ..wait }
            }
            None => wait(" for an unpark", "", String::new()),
        };
    }
    let name = names.of(event.location);
    if let Op::RwLock(step) = event.op {
        let (what, holder) = locks::wait(graph, event, step);
        return wait(what, name, holder);
    }
    let newest = graph.newest(event.location);
    let took = (!newest.is_initial())
        .then(|| format!(", which thread {} took at {}", newest.thread, graph.get(newest).site));
    wait(" for", name, took.unwrap_or_default())
}

/// Where the last wakeup of a queue that found no thread in it was made.
fn found_nobody(core: &Core, queue: u32) -> Option<&'static Site<'static>> {
    let all = core.log.iter().rev().map(|&id| core.graph.get(id));
    let mut wakeups = all.filter(|event| {
        event.location == queue
            && event.kind == Kind::Read
            && matches!(event.op, Op::Rmw { function: Function::Wake, .. })
    });
    wakeups.find(|event| queued(event.value).is_empty()).map(|event| event.site)
}
