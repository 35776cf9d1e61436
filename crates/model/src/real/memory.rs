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

/// Whether the directed graph on `0..successors.len()` has no cycle.
pub(crate) fn acyclic(successors: &[Vec<u16>]) -> bool {
    let mut incoming = vec![0u32; successors.len()];
    for &to in successors.iter().flatten() {
        incoming[usize::from(to)] += 1;
    }
    let mut free: Vec<usize> = (0..successors.len()).filter(|&node| incoming[node] == 0).collect();
    let mut sorted = 0;
    while let Some(node) = free.pop() {
        sorted += 1;
        for &to in &successors[node] {
            incoming[usize::from(to)] -= 1;
            if incoming[usize::from(to)] == 0 {
                free.push(usize::from(to));
            }
        }
    }
    sorted == successors.len()
}
