//! The memory models, as one predicate: is this execution graph consistent?
//!
//! # Contract
//! Growth of a graph (`growth`) preserves coherence (no access takes a place before what happens before it) and the
//! atomicity of read-modify-writes; this module checks the rest of each model:
//!
//! - C11: the partial order of SeqCst is acyclic, its fences and the asymmetric fences included (`c11`).
//! - TSO: the global order of memory is acyclic, stores being allowed to fall behind later loads (`ordered`).
//! - SC: program order, reads-from, write order and from-reads are acyclic together (`ordered`).
//!
//! An event that reads the newest write, or is the newest write of its location, never breaks consistency, so these are
//! not checked.
//!
//! Every model keeps program order and reads-from acyclic together: no load buffering, no values out of thin air.

use super::graph::{EventId, Graph};
use super::op::Order;
use super::{c11, ordered};

/// The memory model under which code is explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// RC11 (Lahav et al. 2017) without load buffering, with the release sequences of C++20 and asymmetric fences.
    C11,
    /// x86-TSO: each thread has a store buffer; a SeqCst store and every read-modify-write drain it.
    Tso,
    /// Sequential consistency: one memory, one step at a time.
    Sc,
}

impl Memory {
    /// The effective order of an access with `order`. On TSO and SC every store releases and every load acquires, as
    /// the hardware does. Only C11 shows what a compiler may do to relaxed code.
    pub(crate) fn effective(self, order: Order) -> Order {
        match self {
            Memory::C11 => order,
            Memory::Tso | Memory::Sc => Order { acquire: true, release: true, sc: order.sc },
        }
    }

    /// The same, given that `graph` is consistent without the events `added`, each of which is the last of its thread.
    pub(crate) fn admits(self, graph: &Graph, added: &[EventId]) -> bool {
        let admits = match self {
            Memory::C11 => return c11::consistent(graph),
            Memory::Tso => ordered::admits(graph, true, added),
            Memory::Sc => ordered::admits(graph, false, added),
        };
        debug_assert_eq!(admits, self.consistent(graph), "an order is followed as it is drawn");
        admits
    }

    pub(crate) fn consistent(self, graph: &Graph) -> bool {
        match self {
            Memory::C11 => c11::consistent(graph),
            Memory::Tso => ordered::consistent(graph, true),
            Memory::Sc => ordered::consistent(graph, false),
        }
    }
}

/// A directed graph on `0..nodes`.
#[derive(Debug)]
pub(crate) struct Digraph {
    nodes: usize,
    edges: Vec<(u32, u32)>,
}

/// The edges sorted by one end: for each node the other ends.
#[derive(Debug)]
pub(crate) struct Rows {
    starts: Vec<u32>,
    ends: Vec<u32>,
}

impl Rows {
    pub(crate) fn of(&self, node: usize) -> &[u32] {
        &self.ends[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// What can be reached from `start`; `start` itself only along a cycle.
    pub(crate) fn reached(&self, start: usize) -> Vec<bool> {
        let mut found = vec![false; self.starts.len() - 1];
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            for &next in self.of(node) {
                if !std::mem::replace(&mut found[next as usize], true) {
                    open.push(next as usize);
                }
            }
        }
        found
    }
}

impl Digraph {
    pub(crate) fn new(nodes: usize) -> Digraph {
        Digraph { nodes, edges: Vec::with_capacity(4 * nodes) }
    }

    pub(crate) fn add(&mut self, from: usize, to: usize) {
        self.edges.push((from as u32, to as u32));
    }

    /// Where edges lead to, by where they come from.
    pub(crate) fn after(&self) -> Rows {
        self.rows(|&(from, to)| (from, to))
    }

    /// Where edges come from, by where they lead to.
    pub(crate) fn before(&self) -> Rows {
        self.rows(|&(from, to)| (to, from))
    }

    fn rows(&self, sides: impl Fn(&(u32, u32)) -> (u32, u32)) -> Rows {
        let mut starts = vec![0; self.nodes + 1];
        for edge in &self.edges {
            starts[sides(edge).0 as usize + 1] += 1;
        }
        for node in 0..self.nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut ends = vec![0; self.edges.len()];
        for edge in &self.edges {
            let (node, end) = sides(edge);
            ends[next[node as usize] as usize] = end;
            next[node as usize] += 1;
        }
        Rows { starts, ends }
    }

    /// Removes nodes without predecessors until none is left (Kahn 1962).
    pub(crate) fn is_acyclic(&self) -> bool {
        let after = self.after();
        let mut preceded = vec![0u32; self.nodes];
        self.edges.iter().for_each(|&(_, to)| preceded[to as usize] += 1);
        let mut free: Vec<u32> =
            (0..self.nodes as u32).filter(|&node| preceded[node as usize] == 0).collect();
        let mut left = self.nodes;
        while let Some(node) = free.pop() {
            left -= 1;
            for &next in after.of(node as usize) {
                preceded[next as usize] -= 1;
                if preceded[next as usize] == 0 {
                    free.push(next);
                }
            }
        }
        left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_found_and_ways_are_followed() {
        let mut ring = Digraph::new(130);
        for node in 0..129 {
            ring.add(node, node + 1);
        }
        assert!(ring.is_acyclic());
        assert!(ring.before().reached(129)[0] && !ring.before().reached(0)[129]);
        assert!(ring.after().reached(0)[129] && !ring.after().reached(129)[0]);
        ring.add(129, 0);
        assert!(!ring.is_acyclic());
    }
}
