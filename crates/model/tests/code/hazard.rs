//! A hazard pointer with a cheap read side. The reader: publish, light fence, check again. The reclaimer: unlink, heavy
//! fence, scan.
//!
//! I1: a node is reclaimed only if no hazard holds it after the heavy fence; a reader uses it only if it was still
//! linked after the light fence. One of the two fences comes first, so at most one of the two happens.
//! done: the reader clears its hazard -> the reclaimer finds it clear.
//!
//! Reclaiming writes the node instead of freeing it: a use that is not ordered before the write is a data race.

use super::Mutant;
use std::ptr::{self, null_mut};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_model::real::{AtomicPtr, UnsafeCell, heavy_fence, light_fence, spawn};

pub(crate) const MUTANTS: &[&str] = &[
    "hazard: no light fence",
    "hazard: no heavy fence",
    "hazard: heavy fence before unlinking",
    "hazard: light fence before publishing",
    "hazard: not looked at again",
    "hazard: cleared with a relaxed store",
    "hazard: scanned with a relaxed load",
    "hazard: linked with a relaxed store",
];

const DEAD: u32 = u32::MAX;

struct Domain {
    current: AtomicPtr<UnsafeCell<u32>>,
    hazard: AtomicPtr<UnsafeCell<u32>>,
    mutant: Mutant,
}

/// Owns the nodes of one execution.
struct Nodes(Box<[UnsafeCell<u32>; 2]>);

// SAFETY: the cells are reached through `Domain` alone, as I1 says.
unsafe impl Sync for Nodes {}
// SAFETY: as for `Sync`.
unsafe impl Send for Nodes {}

impl Domain {
    fn read(&self) -> Option<u32> {
        let m = self.mutant;
        let node = self.current.load(Acquire);
        if m.is("hazard: light fence before publishing") {
            light_fence();
        }
        self.hazard.store(node, Relaxed);
        if !m.is("hazard: no light fence") && !m.is("hazard: light fence before publishing") {
            light_fence();
        }
        let mut value = None;
        // EDGE linked (acquire): the node's first value.
        if self.current.load(Acquire) == node || m.is("hazard: not looked at again") {
            // SAFETY: the node is protected (I1); its memory lives as long as the execution.
            let node = unsafe { &*node };
            // SAFETY: protected (I1).
            value = Some(node.with(|value| unsafe { *value }));
        }
        // EDGE done (release): the use is over.
        self.hazard.store(null_mut(), m.order("hazard: cleared with a relaxed store", Release));
        value
    }

    /// Replaces the current node; returns the old one if it may be reclaimed at once.
    fn replace(&self, new: &UnsafeCell<u32>) -> Option<*mut UnsafeCell<u32>> {
        let m = self.mutant;
        if m.is("hazard: heavy fence before unlinking") {
            heavy_fence();
        }
        let old = self.current.load(Relaxed);
        // EDGE linked (release): the node's first value.
        self.current.store(
            ptr::from_ref(new).cast_mut(),
            m.order("hazard: linked with a relaxed store", Release),
        );
        if !m.is("hazard: no heavy fence") && !m.is("hazard: heavy fence before unlinking") {
            heavy_fence();
        }
        // EDGE done (acquire): the reader's use is over.
        let held = self.hazard.load(m.order("hazard: scanned with a relaxed load", Acquire)) == old;
        (!held).then_some(old)
    }
}

/// A reader against one replacement.
pub(crate) fn scenario(mutant: Mutant) {
    let first = UnsafeCell::new(1);
    let nodes = Arc::new(Nodes(Box::new([first, UnsafeCell::new(0)])));
    let address = ptr::from_ref(&nodes.0[0]).cast_mut();
    let domain = Arc::new(Domain {
        current: AtomicPtr::new(address),
        hazard: AtomicPtr::new(null_mut()),
        mutant,
    });
    let reader = {
        let (domain, nodes) = (Arc::clone(&domain), Arc::clone(&nodes));
        spawn(move || {
            let value = domain.read();
            drop(nodes);
            value
        })
    };
    // SAFETY: no other thread can reach it before it is linked.
    nodes.0[1].with_mut(|value| unsafe { *value = 2 });
    if let Some(old) = domain.replace(&nodes.0[1]) {
        // SAFETY: its memory lives as long as `nodes`.
        let old = unsafe { &*old };
        // SAFETY: no thread uses it any more (I1).
        old.with_mut(|value| unsafe { *value = DEAD });
    }
    let value = reader.join().unwrap();
    assert!(matches!(value, None | Some(1 | 2)), "{value:?}");
}
