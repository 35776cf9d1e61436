//! What orders the rows of a trace, and what does not.
//!
//! # Contract
//! An arrow for each read of another thread's write, for the start and the end of each thread, and for what an acquire
//! fence or an asymmetric fence learns. It `orders` where what happens before the one end happens before the other.
//! [`reasons`] says of two accesses that clash which link between them is missing.

use super::super::core::Core;
use super::super::ending::{Access, Clash};
use super::super::graph::{EventId, Kind};
use super::super::op::Op;
use crate::diagram::{Arrow, Diagram};
use std::collections::BTreeMap;

/// The row of each event that has one.
pub(crate) type RowOf = BTreeMap<EventId, usize>;

/// The arrows between rows, in the order of the rows they lead to.
pub(crate) fn arrows(core: &Core, rows: &RowOf) -> Vec<Arrow> {
    let graph = &core.graph;
    let mut arrows = Vec::new();
    let mut add = |from: Option<usize>, to: Option<usize>, orders: bool| {
        if let (Some(from), Some(to)) = (from, to) {
            arrows.push(Arrow { from, to, orders });
        }
    };
    let last_row = |id: EventId| {
        let events = EventId { index: 1, ..id }..=id;
        rows.range(events).next_back().map(|(_, &row)| row)
    };
    for (&id, &row) in rows {
        let event = graph.get(id);
        let before = id
            .index
            .checked_sub(2)
            .map(|at| &graph.threads[usize::from(id.thread)][usize::from(at)]);
        match (event.kind, event.op) {
            (Kind::Read, _) if event.from.thread != id.thread && !event.from.is_initial() => {
                add(rows.get(&event.from).copied(), Some(row), event.hb.knows(event.from));
            }
            (_, Op::Spawn { child }) => {
                let begin = EventId::new(usize::from(child), 1);
                let end = EventId { index: u16::MAX, ..begin };
                add(Some(row), rows.range(begin..=end).next().map(|(_, &row)| row), true);
            }
            (_, Op::Join { .. }) => add(last_row(event.from), Some(row), true),
            (Kind::Fence, _) => {
                for thread in (0..graph.threads.len()).filter(|&t| t != usize::from(id.thread)) {
                    let knew = before.map_or(0, |before| before.hb.get(thread));
                    if event.hb.get(thread) > knew {
                        let last = EventId::new(thread, event.hb.get(thread));
                        add(last_row(last), Some(row), true);
                    }
                }
            }
            _ => {}
        }
    }
    arrows.sort_by_key(|arrow| (arrow.to, arrow.from));
    arrows.dedup();
    arrows
}

/// Why nothing orders the two accesses, which stand in rows `earlier` and `later`.
pub(crate) fn reasons(
    core: &Core,
    diagram: &Diagram,
    rows: &RowOf,
    clash: &Clash,
    (earlier, later): (usize, usize),
) -> Vec<String> {
    let [one, other] = clash.accesses;
    let number = |row| diagram.number(row);
    let mut lines = vec![format!(
        "no release/acquire pair orders {} before {}",
        number(earlier),
        number(later)
    )];
    lines.push(match broken(core, one, other) {
        Some((write, read)) => {
            let (wrote, found) = (core.graph.get(write), core.graph.get(read));
            let told = |id: EventId| rows.get(&id).map_or_else(|| "it".into(), |&row| number(row));
            let releases = wrote.message.get(one.thread) > one.events;
            let missing = match (releases, found.order.acquire) {
                (true, _) => format!("{} ({}) does not acquire", told(read), found.order.name()),
                (false, true) => {
                    format!("{} ({}) does not release", told(write), wrote.order.name())
                }
                (false, false) => format!(
                    "{} ({}) does not release, {} ({}) does not acquire",
                    told(write),
                    wrote.order.name(),
                    told(read),
                    found.order.name()
                ),
            };
            format!(
                "{} reads what {} wrote after {}, but {missing}",
                told(read),
                told(write),
                number(earlier)
            )
        }
        None => format!(
            "nothing that leads to {} reads what thread {} wrote after {}",
            number(later),
            one.thread,
            number(earlier)
        ),
    });
    lines
}

/// The last write that `one` happens before, and its read on the way to `other` that does not learn of it.
fn broken(core: &Core, one: Access, other: Access) -> Option<(EventId, EventId)> {
    let knows = |clock: &super::super::clock::Clock| clock.get(one.thread) > one.events;
    let last = EventId::new(other.thread, other.events);
    let way = if last.is_initial() { return None } else { core.graph.get(last).prefix };
    let mut links = core.log.iter().rev().filter_map(|&id| {
        let read = core.graph.get(id);
        let is_read = read.kind == Kind::Read && !read.from.is_initial() && way.knows(id);
        let is_broken = is_read && knows(&core.graph.get(read.from).hb) && !knows(&read.hb);
        is_broken.then_some((read.from, id))
    });
    links.next()
}
