//! The memory models, as one question: is this execution graph consistent?
//!
//! # Contract
//! Coherence (no read or write goes back behind what happens before it) and the atomicity of read-modify-writes are
//! kept while a graph grows (`explore`); what is asked here is the rest of each model:
//!
//! - C11: the partial order of SeqCst is acyclic, its fences and the asymmetric fences included (`c11`).
//! - TSO: the global order of memory is acyclic, stores being allowed to fall behind later loads (`ordered`).
//! - SC: program order, reads-from, write order and from-reads are acyclic together (`ordered`).
//!
//! An event that reads the newest write, or is the newest write of its location, never breaks consistency, so nobody
//! asks after those.
//!
//! Every model keeps program order and reads-from acyclic together: no load buffering, no values out of thin air.

use super::graph::Graph;
use super::op::Order;
use super::{c11, ordered};

/// The memory model that code is explored under.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// RC11 (Lahav et al. 2017) without load buffering, with the release sequences of C++20 and asymmetric fences.
    C11,
    /// x86-TSO: each thread has a store buffer; a SeqCst store and every read-modify-write drain it.
    Tso,
    /// One memory, one step at a time.
    Sc,
}

impl Memory {
    /// The order that an access asked with `order` has. On TSO and SC every store releases and every load acquires:
    /// what the hardware gives. What a compiler does to relaxed code, only C11 shows.
    pub(crate) fn effective(self, order: Order) -> Order {
        match self {
            Memory::C11 => order,
            Memory::Tso | Memory::Sc => Order { acquire: true, release: true, sc: order.sc },
        }
    }

    pub(crate) fn consistent(self, graph: &Graph) -> bool {
        match self {
            Memory::C11 => c11::consistent(graph),
            Memory::Tso => ordered::consistent(graph, true),
            Memory::Sc => ordered::consistent(graph, false),
        }
    }
}

/// A directed graph on `0..nodes`, as a set of predecessors for each node.
#[derive(Debug)]
pub(crate) struct Digraph {
    nodes: usize,
    /// 64-bit words in a set.
    words: usize,
    before: Vec<u64>,
}

impl Digraph {
    pub(crate) fn new(nodes: usize) -> Digraph {
        let words = nodes.div_ceil(64);
        Digraph { nodes, words, before: vec![0; nodes * words] }
    }

    pub(crate) fn add(&mut self, from: usize, to: usize) {
        self.before[to * self.words + from / 64] |= 1 << (from % 64);
    }

    pub(crate) fn has(&self, from: usize, to: usize) -> bool {
        self.row(to)[from / 64] >> (from % 64) & 1 == 1
    }

    fn row(&self, node: usize) -> &[u64] {
        &self.before[node * self.words..(node + 1) * self.words]
    }

    /// Whether a path leads from each node to `to`.
    pub(crate) fn ancestors(&self, to: usize) -> Vec<bool> {
        let mut found = vec![false; self.nodes];
        let mut open = vec![to];
        while let Some(node) = open.pop() {
            let row = self.row(node);
            for from in (0..self.nodes).filter(|from| row[from / 64] >> (from % 64) & 1 == 1) {
                if !std::mem::replace(&mut found[from], true) {
                    open.push(from);
                }
            }
        }
        found
    }

    /// Takes away nodes that nothing left precedes, until none is left.
    pub(crate) fn is_acyclic(&self) -> bool {
        let mut gone = vec![0u64; self.words];
        let mut left: Vec<usize> = (0..self.nodes).collect();
        loop {
            let count = left.len();
            left.retain(|&node| {
                let free =
                    self.row(node).iter().zip(&gone).all(|(before, gone)| before & !gone == 0);
                if free {
                    gone[node / 64] |= 1 << (node % 64);
                }
                !free
            });
            if left.is_empty() || left.len() == count {
                return left.is_empty();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_found_beyond_the_first_word() {
        let mut ring = Digraph::new(130);
        for node in 0..129 {
            ring.add(node, node + 1);
        }
        assert!(ring.is_acyclic());
        assert!(ring.ancestors(129)[0] && !ring.ancestors(0)[129]);
        ring.add(129, 0);
        assert!(!ring.is_acyclic());
    }
}
