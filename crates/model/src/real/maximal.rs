//! What a revisit may cut off: only events that had been added in the way that leaves most open (see `growth`).

use super::clock::Clock;
use super::graph::{Event, EventId, Graph, Kind};
use super::symmetry;

/// Whether `read` and all that a revisit of it by a write with this prefix cuts off had been added in the way that
/// leaves most open.
pub(super) fn leaves_most_open(graph: &Graph, prefix: &Clock, read: EventId) -> bool {
    let old = graph.get(read);
    (0..graph.threads.len()).all(|thread| {
        let mut id = graph.last(thread);
        while !id.is_initial() {
            let event = graph.get(id);
            if id != read && (event.stamp <= old.stamp || prefix.knows(id)) {
                break;
            }
            if !is_maximal(graph, prefix, id, event) {
                return false;
            }
            id.index -= 1;
        }
        true
    })
}

/// Whether `event` had been added in the way that leaves most open, seen from what came before it and from what leads
/// to the write with this prefix.
fn is_maximal(graph: &Graph, prefix: &Clock, id: EventId, event: &Event) -> bool {
    let before = |other: EventId| {
        other.is_initial() || graph.get(other).stamp <= event.stamp || prefix.knows(other)
    };
    let newest_before = || {
        let order = &graph.locations[event.location as usize].order;
        order.iter().rev().copied().find(|&write| before(write)).unwrap_or(EventId::INITIAL)
    };
    match event.kind {
        Kind::Read => event.forced || newest_before() == event.from,
        Kind::Blocked => newest_before() == event.from || symmetry::follows(graph, id),
        Kind::Write => {
            let location = &graph.locations[event.location as usize];
            let is_read = |read: EventId| {
                let other = graph.get(read);
                matches!(other.kind, Kind::Read | Kind::Blocked) && other.from == id && before(read)
            };
            newest_before() == id && !location.accesses().any(is_read)
        }
        Kind::Choice => event.value == 0,
        Kind::Fence | Kind::Thread => true,
    }
}
