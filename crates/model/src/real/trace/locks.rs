//! The steps of reader-writer locks: one row for each lock and unlock, though a writer passes every thread's word.

use super::super::clock::MAX_THREADS;
use super::super::graph::{Event, EventId, Graph, Kind, NOWHERE};
use super::super::op::{Function, Op};
use super::super::rwlock::WRITER;
use super::names::{Names, reader};

/// An event of a lock.
pub(crate) enum Step {
    Shown(String),
    /// A part of the next step of its thread.
    Begins,
    /// A part of the last step of its thread.
    Continues,
}

/// What an event does to a reader-writer lock, if it is about one.
pub(crate) fn step(graph: &Graph, names: &Names, id: EventId, event: &Event) -> Option<Step> {
    if event.location == NOWHERE {
        return None;
    }
    let name = names.of(event.location);
    let shown = |text: String| Some(Step::Shown(text));
    let Some(reader) = reader(&graph.locations[event.location as usize]) else {
        return names.is_lock(event.location).then(|| match (event.kind, event.op) {
            (Kind::Read, Op::Cas { .. }) if !event.exclusive => {
                Step::Shown(format!("cannot write-lock {name}: another thread writes"))
            }
            (_, Op::Store { .. }) => Step::Continues,
            _ => Step::Begins,
        });
    };
    let is_last = reader + 1 == MAX_THREADS;
    match (event.kind, event.op) {
        (Kind::Read, Op::Cas { new: WRITER, .. }) if !event.exclusive => {
            shown(format!("cannot write-lock {name}: thread {reader} reads"))
        }
        (Kind::Read, Op::Cas { .. }) if !event.exclusive => {
            shown(format!("cannot read-lock {name}: another thread writes"))
        }
        (Kind::Write, Op::Rmw { function: Function::Sub, .. }) => {
            shown(format!("read-unlocks {name}"))
        }
        (Kind::Write, Op::AwaitCas { new: WRITER, .. }) => {
            shown(format!("{name}: thread {reader} no longer reads"))
        }
        (Kind::Write, Op::Cas { new: WRITER, .. }) if is_last => {
            shown(format!("write-locks {name}"))
        }
        (Kind::Write, Op::Rmw { function: Function::Or, .. }) if is_last => {
            let end = usize::from(id.index);
            let announced = &graph.threads[usize::from(id.thread)][end - 2 * MAX_THREADS..end];
            let is_read = announced.iter().any(|event| event.kind == Kind::Read && event.value > 0);
            shown(format!(
                "{} {name}",
                if is_read { "begins to write-lock" } else { "write-locks" }
            ))
        }
        (Kind::Write, Op::AwaitCas { .. }) => shown(format!("read-locks {name}")),
        (Kind::Write, Op::Cas { new, .. }) if new != WRITER => shown(format!("read-locks {name}")),
        (Kind::Write, Op::Store { order, .. }) if reader == 0 && order.release => {
            shown(format!("write-unlocks {name}"))
        }
        (_, Op::Store { .. }) => Some(Step::Continues),
        _ => Some(Step::Begins),
    }
}
