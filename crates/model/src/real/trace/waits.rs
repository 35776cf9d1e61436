//! What a thread waits for, and where, if it waits forever.

use super::super::core::{Core, State};
use super::super::graph::{Event, Kind};
use super::super::op::{Op, queued};
use super::super::rwlock::WRITER;
use super::names::{Names, is_queue, is_token, reader};
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
}

impl Wait {
    /// In a message.
    pub(crate) fn told(&self, thread: usize) -> String {
        let Wait { verb, what, name, more, site } = self;
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
    Wait { verb, what, name: String::new(), more: String::new(), site }
}

/// A wait for a value of a location.
fn blocked(core: &Core, names: &Names, thread: usize, event: &Event) -> Wait {
    let graph = &core.graph;
    let wait = |what: &str, name: &str, more: String| {
        let (what, name, site) = (what.to_owned(), name.to_owned(), Some(event.site));
        Wait { verb: "waits", what, name, more, site }
    };
    let is_parked = core.threads[thread].token == Some(event.location);
    if is_parked || is_token(&graph.locations[event.location as usize]) {
        let is_in = |at: u32| {
            let newest = graph.value_of(at, graph.newest(at));
            is_queue(&graph.locations[at as usize]) && queued(newest).contains(&(thread as u64))
        };
        return match (0..graph.locations.len() as u32).find(|&at| is_in(at)) {
            Some(queue) => wait(" to be woken in the queue of", names.queue(queue), String::new()),
            None => wait(" for an unpark", "", String::new()),
        };
    }
    let name = names.of(event.location);
    let newest = |at: u32| {
        let newest = graph.newest(at);
        (!newest.is_initial()).then(|| (newest.thread, graph.get(newest).site))
    };
    let Some(reader) = reader(&graph.locations[event.location as usize]) else {
        let took = newest(event.location);
        let took = took.map(|(holder, site)| format!(", which thread {holder} took at {site}"));
        return wait(" for", name, took.unwrap_or_default());
    };
    if matches!(event.op, Op::AwaitCas { new: WRITER, .. }) {
        let took = |other: &&Event| other.location == event.location && is_read(other);
        let read = graph.threads[reader].iter().rev().find(took);
        let told =
            |read: &Event| format!(", which thread {reader} has read-locked at {}", read.site);
        return wait(" to write-lock", name, read.map(told).unwrap_or_default());
    }
    let writer = names.lock_of(event.location).and_then(newest);
    let told = |(writer, site)| {
        format!(", which thread {writer} has write-locked, or waits to write-lock, at {site}")
    };
    wait(" to read-lock", name, writer.map(told).unwrap_or_default())
}

/// Whether this event has locked a reader-writer lock for reading.
fn is_read(event: &Event) -> bool {
    let new = match event.op {
        Op::AwaitCas { new, .. } | Op::Cas { new, .. } => new,
        _ => WRITER,
    };
    event.kind == Kind::Write && new != WRITER
}
