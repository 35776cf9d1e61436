//! The steps of reader-writer locks in words.

use super::super::graph::{Event, EventId, Graph, Kind};
use super::super::op::Op;
use super::super::rwlock::{Step, WAITS, WRITER};
use super::names::Names;
use crate::real::sentence::listed;

/// What an event does to a reader-writer lock, if it is about one; the first half of a step is not told.
pub(crate) fn step(graph: &Graph, names: &Names, event: &Event) -> Option<Option<String>> {
    let Op::RwLock(step) = event.op else { return None };
    let name = names.of(event.location);
    let does = |does: &str| Some(Some(format!("{does} {name}")));
    match (event.kind, step) {
        (Kind::Write, Step::Write) if event.value & WAITS != 0 => does("begins to write-lock"),
        (Kind::Write, Step::TryRead) => does("read-locks"),
        (Kind::Write, Step::TryWrite) => does("write-locks"),
        (Kind::Write, step) => does(&step.to_string()),
        (Kind::Read, Step::TryRead | Step::TryWrite) if !event.exclusive => {
            let lock = if step == Step::TryRead { "read-lock" } else { "write-lock" };
            Some(Some(format!("cannot {lock} {name}: {}", inside(graph, event, step))))
        }
        _ => Some(None),
    }
}

/// Why a step that was tried has failed.
fn inside(graph: &Graph, event: &Event, step: Step) -> String {
    let threads = |ids: Vec<EventId>| {
        let threads: Vec<usize> = ids.iter().map(|id| usize::from(id.thread)).collect();
        let thread = if threads.len() == 1 { "thread" } else { "threads" };
        (format!("{thread} {}", listed(&threads)), threads.len() == 1)
    };
    if event.value & WRITER != 0 {
        return format!("thread {} writes", event.from.thread);
    }
    if step == Step::TryRead {
        let waits = waiting(graph, event.from);
        return waits.map_or_else(
            || "a writer waits".into(),
            |id| format!("thread {} waits to write", id.thread),
        );
    }
    let (readers, is_one) = threads(readers(graph, event.from));
    format!("{readers} {}", if is_one { "reads" } else { "read" })
}

/// The steps that have led to this change of a lock, newest first.
fn steps(graph: &Graph, change: EventId) -> impl Iterator<Item = (EventId, Step)> {
    let earlier = |id: &EventId| Some(graph.get(graph.read_half(*id)?).from);
    let step = |id: EventId| match graph.get(id).op {
        Op::RwLock(step) => Some((id, step)),
        _ => None,
    };
    let changes =
        std::iter::successors(
            Some(change),
            move |id| {
                if id.is_initial() { None } else { earlier(id) }
            },
        );
    changes.take_while(|id| !id.is_initial()).map_while(step)
}

/// The locks that readers hold after this change, oldest first.
fn readers(graph: &Graph, change: EventId) -> Vec<EventId> {
    let (mut held, mut ended) = (Vec::new(), Vec::new());
    for (id, step) in steps(graph, change) {
        match step {
            Step::EndWrite => break,
            Step::EndRead => ended.push(id.thread),
            Step::Read | Step::TryRead => {
                match ended.iter().position(|&thread| thread == id.thread) {
                    Some(at) => _ = ended.remove(at),
                    None => held.push(id),
                }
            }
            Step::Write | Step::TryWrite => {}
        }
    }
    held.reverse();
    held
}

/// The step by which a writer said that it waits, as far as that holds after this change.
fn waiting(graph: &Graph, change: EventId) -> Option<EventId> {
    let mut changes = steps(graph, change).map(|(id, _)| id);
    changes
        .find(|&id| graph.get(id).op == Op::RwLock(Step::Write) && graph.get(id).value & WAITS != 0)
}

/// What a thread that waits for a lock waits to do, and which thread is in its way.
pub(crate) fn wait(graph: &Graph, event: &Event, step: Step) -> (&'static str, String) {
    let newest = graph.newest(event.location);
    let told = |id: EventId, does: &str| {
        format!(", which thread {} {does} at {}", id.thread, graph.get(id).site)
    };
    let writes = |word: u64| word & WRITER != 0;
    let word = graph.value_of(event.location, newest);
    let holder = match step {
        _ if writes(word) => Some(told(newest, "has write-locked")),
        Step::Read => waiting(graph, newest).map(|id| told(id, "waits to write-lock")),
        _ => readers(graph, newest).first().map(|&id| told(id, "has read-locked")),
    };
    let what = if step == Step::Read { " to read-lock" } else { " to write-lock" };
    (what, holder.unwrap_or_default())
}
