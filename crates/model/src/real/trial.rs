//! What the memory model allows an event to do: tried on the graph, then undone.

use super::graph::{Event, EventId, Graph, Kind};
use super::growth::{Growth, insert};
use super::op::Order;

impl Growth {
    /// Whether the memory model lets the read `draft` read `from`, and write if it then does so. A wait that would
    /// continue may not.
    pub(crate) fn may_read(
        &mut self,
        graph: &mut Graph,
        thread: usize,
        draft: &Event,
        from: EventId,
    ) -> bool {
        let (stamp, events) = (graph.next_stamp, graph.threads[thread].len());
        let (share, barren, single) = (self.share, self.barren, self.single);
        self.single = true;
        let value = graph.value_of(draft.location, from);
        let read = self.place_read(graph, thread, Event { value, ..*draft }, from);
        let may = graph.get(read).kind == Kind::Read
            && self.memory.admits(graph, &[read])
            && self.finish(graph, read);
        while graph.threads[thread].len() > events {
            graph.pop(thread);
        }
        graph.next_stamp = stamp;
        (self.share, self.barren, self.single) = (share, barren, single);
        may
    }

    /// Where in its location's order the memory model lets the write `draft` go.
    pub(crate) fn possible_places(
        &self,
        graph: &mut Graph,
        thread: usize,
        draft: &Event,
        order: Order,
    ) -> Vec<usize> {
        let event = self.as_write(*draft, order, false);
        let stamp = graph.next_stamp;
        let mut places = self.places(graph, thread, &event);
        places.retain(|&place| {
            let write = insert(graph, thread, event, place);
            let may = self.memory.admits(graph, &[write]);
            graph.pop(thread);
            graph.next_stamp = stamp;
            may
        });
        places
    }
}
