//! SeqCst under C11, done as RC11 does it: accesses and fences alike, and the asymmetric fences among them.
//!
//! # Contract
//! `psc` is a relation over SeqCst accesses and SeqCst fences (RC11 3.3); a graph is consistent when it has no cycle.
//!
//! ```text
//! scb  = po ∪ (po≠loc ; hb ; po≠loc) ∪ hb|loc ∪ mo ∪ rb          eco = (rf ∪ mo ∪ rb)+
//! psc  = ([Esc] ∪ [Fsc];hb?) ; scb ; ([Esc] ∪ hb?;[Fsc])   ∪   [Fsc] ; (hb ∪ hb;eco;hb) ; [Fsc]
//! ```
//!
//! A heavy fence is a SeqCst fence. A light fence takes part in the second half of `psc` against heavy fences only:
//! light and light, or light and an ordinary SeqCst fence, are ordered by nothing but happens-before. Then each pair of
//! a light and a heavy fence has an order that the rest of the graph respects. And the two synchronise, as a release
//! fence before a write and an acquire fence after a read of it do (`Graph::announced`); a light fence does so with
//! nothing else. Both together are the meaning of P1202.
//!
//! # Sources
//! Lahav, Vafeiadis, Kang, Hur, Dreyer: Repairing Sequential Consistency in C/C++11, PLDI 2017. Goldblatt: Asymmetric
//! fences, WG21 P1202.

use super::graph::{Event, EventId, Graph, Kind, NOWHERE};
use super::memory::Digraph;
use super::op::Op;

/// Place of an access in the order of its location: writes even, the reads of a write just above it.
type Rank = u32;

struct Node<'g> {
    id: EventId,
    event: &'g Event,
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Access,
    Full,
    Heavy,
    Light,
}

struct View<'g> {
    graph: &'g Graph,
    /// Accesses with their ranks.
    accesses: Vec<(EventId, &'g Event, Rank)>,
    /// The ranks by thread and number.
    ranks: Vec<Vec<Option<Rank>>>,
}

pub(crate) fn consistent(graph: &Graph) -> bool {
    if graph.sc_events < 2 {
        return true;
    }
    let nodes: Vec<Node> = graph
        .iter()
        .filter_map(|(id, event)| role(event).map(|role| Node { id, event, role }))
        .collect();
    if nodes.len() < 2 || nodes.iter().all(|node| node.role == Role::Light) {
        return true;
    }
    let view = View::new(graph);
    let summaries: Vec<Summary> = nodes.iter().map(|node| view.summary(node)).collect();
    let mut psc = Digraph::new(nodes.len());
    for from in 0..nodes.len() {
        for to in (0..nodes.len()).filter(|&to| to != from) {
            if view.edge(&nodes[from], &summaries[from], &nodes[to], &summaries[to]) {
                psc.add(from, to);
            }
        }
    }
    psc.is_acyclic()
}

fn role(event: &Event) -> Option<Role> {
    match event.op {
        Op::Heavy => Some(Role::Heavy),
        Op::Light => Some(Role::Light),
        Op::Fence { order } if order.sc => Some(Role::Full),
        _ if matches!(event.kind, Kind::Read | Kind::Write) && event.order.sc => Some(Role::Access),
        _ => None,
    }
}

/// Of a fence: per location, the lowest rank among accesses after it and the highest among those before it.
#[derive(Default)]
struct Summary {
    after: Vec<Option<Rank>>,
    before: Vec<Option<Rank>>,
}

impl<'g> View<'g> {
    fn happens_before(&self, a: EventId, b: EventId) -> bool {
        a != b && self.graph.clocks(b).hb.knows(a)
    }

    fn new(graph: &'g Graph) -> View<'g> {
        let mut ranks: Vec<Vec<_>> =
            graph.threads.iter().map(|events| vec![None; events.len()]).collect();
        for location in &graph.locations {
            for (at, write) in location.order.iter().enumerate() {
                ranks[usize::from(write.thread)][usize::from(write.index) - 1] =
                    Some(2 * (at as Rank + 1));
            }
        }
        let mut accesses = Vec::new();
        for (id, event) in graph.iter().filter(|(_, event)| event.location != NOWHERE) {
            let rank_of = |id: EventId| ranks[usize::from(id.thread)][usize::from(id.index) - 1];
            let rank = match event.kind {
                Kind::Write => rank_of(id),
                Kind::Read if event.from.is_initial() => Some(1),
                Kind::Read => rank_of(event.from).map(|rank| rank + 1),
                _ => None,
            };
            ranks[usize::from(id.thread)][usize::from(id.index) - 1] = rank;
            accesses.extend(rank.map(|rank| (id, event, rank)));
        }
        View { graph, accesses, ranks }
    }

    fn summary(&self, node: &Node) -> Summary {
        if node.role == Role::Access {
            return Summary::default();
        }
        let locations = self.graph.locations.len();
        let mut summary = Summary { after: vec![None; locations], before: vec![None; locations] };
        for &(id, event, rank) in &self.accesses {
            let at = event.location as usize;
            if self.happens_before(node.id, id) {
                summary.after[at] = Some(summary.after[at].map_or(rank, |low| low.min(rank)));
            }
            if self.happens_before(id, node.id) {
                summary.before[at] = Some(summary.before[at].map_or(rank, |high| high.max(rank)));
            }
        }
        summary
    }

    /// Whether `psc` orders `x` before `y`.
    fn edge(&self, x: &Node, x_sum: &Summary, y: &Node, y_sum: &Summary) -> bool {
        match (x.role, y.role) {
            (Role::Access, Role::Access) => self.scb((x.id, x.event), (y.id, y.event)),
            (Role::Light, Role::Access) | (Role::Access, Role::Light) => false,
            (Role::Access, _) => self.graph.iter().any(|(id, event)| {
                (id == y.id || self.happens_before(id, y.id))
                    && self.scb((x.id, x.event), (id, event))
            }),
            (_, Role::Access) => self.graph.iter().any(|(id, event)| {
                (id == x.id || self.happens_before(x.id, id))
                    && self.scb((id, event), (y.id, y.event))
            }),
            (a, b) => {
                let strong =
                    a == Role::Heavy || b == Role::Heavy || (a == Role::Full && b == Role::Full);
                let crossed = || {
                    let pairs = x_sum.after.iter().zip(&y_sum.before);
                    pairs
                        .into_iter()
                        .any(|pair| matches!(pair, (Some(low), Some(high)) if low < high))
                };
                self.happens_before(x.id, y.id) || (strong && crossed())
            }
        }
    }

    fn scb(&self, (a, a_event): (EventId, &Event), (b, b_event): (EventId, &Event)) -> bool {
        if a.thread == b.thread {
            return a.index < b.index;
        }
        if a_event.location == b_event.location && a_event.location != NOWHERE {
            let ranks = (self.rank(a), self.rank(b));
            let ordered = b_event.kind == Kind::Write
                && matches!(ranks, (Some(low), Some(high)) if low < high);
            if ordered || self.happens_before(a, b) {
                return true;
            }
        }
        let events = |id: EventId| &self.graph.threads[usize::from(id.thread)];
        let elsewhere_after =
            events(a)[usize::from(a.index)..].iter().position(|e| e.location != a_event.location);
        let elsewhere_before = events(b)[..usize::from(b.index) - 1]
            .iter()
            .rposition(|e| e.location != b_event.location);
        match (elsewhere_after, elsewhere_before) {
            (Some(after), Some(before)) => {
                let after = EventId { index: a.index + 1 + after as u16, ..a };
                let before = EventId { index: 1 + before as u16, ..b };
                self.graph.clocks(before).hb.knows(after)
            }
            _ => false,
        }
    }

    fn rank(&self, id: EventId) -> Option<Rank> {
        self.ranks[usize::from(id.thread)][usize::from(id.index) - 1]
    }
}
