//! Symmetry reduction: of executions that differ only in the names of symmetric threads, one is explored.
//!
//! # Contract
//! Symmetric threads run the same code on the same values. They form a row, and each except the first has one to its
//! *left* ([`left`]). Two neighbours are *tied* as long as they have found the same. At the first event where they
//! differ, an execution is explored only if the left one comes first ([`keeps`]): it reads a write that is earlier in
//! the order of its location, or writes earlier there, or takes the higher option, or continues where the right one
//! waits. That sorts the threads: every full execution has a renaming that is sorted, and under SC and TSO only one.
//!
//! Growth works unchanged because an event of the right thread has the left one's event of the same number in its
//! prefix as long as they are tied ([`ahead`]). So a revisit never keeps the right event and cuts off the left one, and
//! what a new event finds in the way that leaves most open (the newest write, option 0) is always sorted: the left one
//! found the same or something earlier. If the left one waits, the right one waits for the same, whatever was written
//! since ([`followed`]). The sorted executions are thus closed under prefixes and can always be extended, which is all
//! that growth requires of a memory model.
//!
//! The longer prefixes have no cycle. Let tied events happen when the first of them does in a run of the execution:
//! that keeps program order and reads-from. Where the tie ends, the left read comes before the overwriting write that
//! the right one sees; writes and choices need nothing that their twins do not need. Under C11 a read need not come
//! before a write that overtakes what it found: the right read may lead to the write that the left one reads. Such a
//! pair cannot be sorted, and counts as sorted the other way round. With three threads and more an execution may then
//! be explored under more than one naming, never under none.
//!
//! # Evidence
//! tests/real_symmetric.rs: random programs with groups of 2 to 4 against the classes of all candidates, count by
//! count.
//!
//! # Sources
//! Kokologiannakis, Marmanis, Vafeiadis: SPORE: combining symmetry and partial order reduction, PLDI 2024.

use super::clock::MAX_THREADS;
use super::graph::{Event, EventId, Graph, Kind};
use super::op::{Function, Op};

/// The neighbour that must come first, as noted in a thread's begin event.
pub(crate) fn left(graph: &Graph, thread: usize) -> Option<usize> {
    neighbour(graph.threads.get(thread)?.first()?)
}

fn neighbour(begin: &Event) -> Option<usize> {
    if begin.op == Op::Begin { (begin.value as usize).checked_sub(1) } else { None }
}

/// What a thread's begin event notes.
pub(crate) fn noted(left: Option<usize>) -> u64 {
    left.map_or(0, |left| left as u64 + 1)
}

/// The rows of symmetric threads, each from left to right.
pub(crate) fn groups(graph: &Graph) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for thread in 0..graph.threads.len().min(MAX_THREADS) {
        let Some(left) = left(graph, thread) else { continue };
        match groups.iter_mut().find(|group| group.last() == Some(&left)) {
            Some(group) => group.push(thread),
            None => groups.push(vec![left, thread]),
        }
    }
    groups
}

/// The left neighbour of a thread, if it is tied to it in the thread's first `events` events.
fn tied(graph: &Graph, thread: usize, events: usize) -> Option<usize> {
    let left = left(graph, thread)?;
    (graph.ties.first[thread] >= events).then_some(left)
}

/// For each thread, how many of its first events are tied to its left neighbour's; and the thread to its right. Both
/// are derived from the events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ties {
    first: [usize; MAX_THREADS],
    right: [Option<usize>; MAX_THREADS],
}

impl Graph {
    /// Takes note of a new last event of `thread`.
    pub(super) fn tie(&mut self, thread: usize) {
        if let (Some(left), 1) = (left(self, thread), self.threads[thread].len()) {
            self.ties.right[left] = Some(thread);
        }
        for right in [Some(thread), self.ties.right.get(thread).copied().flatten()] {
            let Some(right) = right else { continue };
            let Some(left) = left(self, right) else { continue };
            let pairs = self.threads[left].iter().zip(&self.threads[right]);
            let new = pairs.skip(self.ties.first[right]);
            self.ties.first[right] +=
                new.take_while(|&(a, b)| is_tied((left, a), (right, b))).count();
        }
    }

    /// Takes note that `thread` has lost its last event, `lost`.
    pub(super) fn untie(&mut self, thread: usize, lost: &Event) {
        let events = self.threads[thread].len();
        for right in [Some(thread), self.ties.right.get(thread).copied().flatten()] {
            if let Some(first) = right.and_then(|right| self.ties.first.get_mut(right)) {
                *first = events.min(*first);
            }
        }
        if let Some(left) = neighbour(lost) {
            self.ties.right[left] = None;
        }
    }
}

/// What the left neighbour of `thread` does at the next event, as long as they are tied.
fn twin(graph: &Graph, thread: usize) -> Option<(usize, &Event)> {
    let events = graph.threads[thread].len();
    let left = tied(graph, thread, events)?;
    Some((left, graph.threads[left].get(events)?))
}

/// The event of the left neighbour that comes before the next event of `thread`; a read-modify-write counts as one.
pub(crate) fn ahead(graph: &Graph, thread: usize) -> Option<EventId> {
    let (left, _) = twin(graph, thread)?;
    let number = graph.threads[thread].len() + 1;
    let half = graph.threads[left].get(number);
    Some(EventId::new(left, number + usize::from(half.is_some_and(Event::is_half))))
}

/// Why the next request of `thread`, which is new, differs from that of its tied left neighbour.
pub(crate) fn differs(
    graph: &Graph,
    thread: usize,
    (op, location): (Op, u32),
    is_address: bool,
) -> Option<String> {
    let events = graph.threads[thread].len();
    let left = tied(graph, thread, events)?;
    let Some(twin) = graph.threads[left].get(events) else {
        return Some(format!("thread {left} stops where thread {thread} continues"));
    };
    let is_queued =
        |op| matches!(op, Op::Rmw { function: Function::Enqueue | Function::Dequeue, .. });
    let is_same = op == twin.op
        || (is_address && op.same_shape(twin.op))
        || (is_queued(op) && is_queued(twin.op));
    let is_there = are_alike(graph, (left, twin.location), (thread, location));
    (!is_same || !is_there).then(|| format!("thread {left} {} at {}", twin.op, twin.site))
}

/// The write that `thread` must wait on next, because its left neighbour waits there.
pub(crate) fn followed(graph: &Graph, thread: usize, location: u32) -> Option<EventId> {
    let (_, twin) = twin(graph, thread)?;
    (twin.kind == Kind::Blocked && twin.location == location).then_some(twin.from)
}

/// Whether a wait is where it is because of its left neighbour.
pub(crate) fn follows(graph: &Graph, id: EventId) -> bool {
    let (thread, before) = (usize::from(id.thread), usize::from(id.index) - 1);
    let twin = tied(graph, thread, before).and_then(|left| graph.threads[left].get(before));
    twin.is_some_and(|twin| twin.kind == Kind::Blocked && twin.from == graph.get(id).from)
}

/// Whether these new events leave their threads sorted.
pub(crate) fn keeps(graph: &Graph, added: &[EventId]) -> bool {
    added.iter().all(|id| {
        let (thread, index) = (usize::from(id.thread), usize::from(id.index));
        tied(graph, thread, index - 1).is_none_or(|left| {
            graph.threads[left].len() < index
                || tied(graph, thread, index).is_some()
                || is_sorted(graph, EventId::new(left, index), *id)
        })
    })
}

/// Whether events of the same number of two neighbours, which are tied before them, have found the same.
fn is_tied((left, a): (usize, &Event), (right, b): (usize, &Event)) -> bool {
    match (a.kind, b.kind) {
        (Kind::Fence | Kind::Thread, _) => true,
        (Kind::Choice, _) => a.value == b.value,
        _ if a.location != b.location => {
            // Each reads its own write, which no other thread sees as long as they are tied.
            let is_own = |source: EventId, thread| {
                source.is_initial() || usize::from(source.thread) == thread
            };
            let is_own = is_own(a.from, left) && is_own(b.from, right);
            a.kind == b.kind && is_own && a.from.index == b.from.index
        }
        (Kind::Blocked, Kind::Blocked) | (Kind::Read, Kind::Read) => a.from == b.from,
        _ => false,
    }
}

/// Whether such events, which differ, are in the order in which they are explored.
fn is_sorted(graph: &Graph, a_id: EventId, b_id: EventId) -> bool {
    let (a, b) = (graph.get(a_id), graph.get(b_id));
    match (a.kind, b.kind) {
        (Kind::Choice, _) => a.value > b.value,
        _ if a.location != b.location => true,
        (Kind::Blocked, _) => false,
        (_, Kind::Blocked) => true,
        (Kind::Write, _) => graph.position(a.location, a_id) < graph.position(b.location, b_id),
        _ => {
            let place = |event: &Event| graph.position(a.location, event.from);
            let leads = || !b.from.is_initial() && graph.clocks(b.from).prefix.knows(a_id);
            place(a) < place(b) || leads()
        }
    }
}

/// Whether these locations mean the same to two threads: one shared location, or each thread's own with equal numbers.
fn are_alike(graph: &Graph, (left, a): (usize, u32), (right, b): (usize, u32)) -> bool {
    if a == b {
        return true;
    }
    let name = |at: u32| graph.locations.get(at as usize).map(|found| found.name);
    let (Some((a, a_count)), Some((b, b_count))) = (name(a), name(b)) else { return false };
    a_count == b_count && usize::from(a) ^ left == usize::from(b) ^ right
}

#[cfg(test)]
mod tests;
