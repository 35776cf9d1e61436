//! Finds the orderings that are missing between two conflicting accesses to plain memory.
//!
//! # Contract
//! A read of another thread's write orders if the write releases and the read acquires; a release fence before the
//! write and an acquire fence after the read do as well, and read-modify-writes in between continue an earlier write's
//! release sequence. [`repairs`] finds the smallest sets of orderings which, added to writes and reads of this
//! execution, make one access happen before the other: all sets of that size.

use super::super::core::Core;
use super::super::ending::Access;
use super::super::graph::{EventId, Graph, Kind};
use super::super::op::Op;
use std::collections::BTreeMap;

/// The most orderings in a set.
const MOST_LACKS: usize = 4;

/// The most links to try.
const MOST_TRIALS: usize = 100_000;

/// An access that would need a stronger ordering.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Lack {
    Release(EventId),
    Acquire(EventId),
}

/// A read that should order what it comes after.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// The write that should release it.
    pub(crate) head: EventId,
    /// The write that is read: `head`, or a read-modify-write that continues its release sequence.
    pub(crate) write: EventId,
    pub(crate) read: EventId,
    releases: bool,
    /// Where the write is learned of: at the read, or at a fence after it.
    learned: EventId,
}

impl Link {
    fn acquires(&self) -> bool {
        self.learned != self.read
    }
}

/// Sets of orderings, each with the links on the way that it completes.
pub(crate) type Repairs = BTreeMap<Vec<Lack>, Vec<Link>>;

/// The smallest sets that order `one` before `other`: none if no such set is small, or nothing that leads to `other`
/// reads what comes after `one`.
pub(crate) fn repairs(core: &Core, one: Access, other: Access) -> Repairs {
    let goal = EventId::new(other.thread, other.events);
    if goal.is_initial() {
        return Repairs::new();
    }
    let mut search = Search { graph: &core.graph, goal, found: Repairs::new(), trials: 0 };
    for most in 1..=MOST_LACKS {
        search.go_on(EventId::new(one.thread, one.events + 1), most, &[], &mut Vec::new());
        if !search.found.is_empty() {
            break;
        }
    }
    search.found
}

struct Search<'g> {
    graph: &'g Graph,
    /// What has to learn of it.
    goal: EventId,
    found: Repairs,
    trials: usize,
}

impl Search<'_> {
    /// Searches on from where `after` is known, with at most `most` orderings.
    fn go_on(&mut self, after: EventId, most: usize, lacks: &[Lack], links: &mut Vec<Link>) {
        for link in self.links(after) {
            self.trials += 1;
            let mut all = lacks.to_vec();
            let release = (!link.releases).then_some(Lack::Release(link.head));
            let is_acquire = self.graph.get(link.read).order.acquire;
            let acquire = (!link.acquires() && !is_acquire).then_some(Lack::Acquire(link.read));
            for lack in release.into_iter().chain(acquire) {
                if !all.contains(&lack) {
                    all.push(lack);
                }
            }
            if all.len() == lacks.len() || all.len() > most || self.trials > MOST_TRIALS {
                continue;
            }
            links.push(link);
            if self.graph.clocks(self.goal).hb.knows(link.learned) {
                all.sort_unstable();
                self.found.entry(all).or_insert_with(|| links.clone());
            } else {
                self.go_on(link.learned, most, &all, links);
            }
            links.pop();
        }
    }

    /// The reads before the goal through which `after` could be learned of.
    fn links(&self, after: EventId) -> Vec<Link> {
        let graph = self.graph;
        let way = graph.clocks(self.goal).prefix;
        let mut links = Vec::new();
        for (read, event) in graph.iter().filter(|(id, event)| {
            // The steps of a reader-writer lock are the checker's own: no program can strengthen them.
            let is_access = event.kind == Kind::Read && !matches!(event.op, Op::RwLock(_));
            is_access && way.knows(*id) && !graph.clocks(*id).hb.knows(after)
        }) {
            let (write, mut head) = (event.from, event.from);
            let releases = graph.message_of(write).knows(after);
            let fence = self.fence_after(read);
            while !head.is_initial() {
                if releases || graph.clocks(head).hb.knows(after) {
                    for learned in [Some(read), fence].into_iter().flatten() {
                        links.push(Link { head, write, read, releases, learned });
                    }
                }
                if releases {
                    break;
                }
                head = graph.read_half(head).map_or(EventId::INITIAL, |half| graph.get(half).from);
            }
        }
        links
    }

    /// The first acquire fence of its thread after a read.
    fn fence_after(&self, read: EventId) -> Option<EventId> {
        let events = &self.graph.threads[usize::from(read.thread)];
        let later = events.iter().enumerate().skip(usize::from(read.index));
        let mut fences = later.filter(|(_, event)| match event.op {
            Op::Fence { order } => order.acquire,
            Op::Heavy => true,
            _ => false,
        });
        let (at, _) = fences.next()?;
        Some(EventId::new(usize::from(read.thread), at + 1))
    }
}
