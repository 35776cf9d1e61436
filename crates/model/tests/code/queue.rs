//! Two linked structures: Treiber's stack, and a queue of many producers and one consumer (Vyukov's, intrusive).
//!
//! I1: a node belongs to its creator until it is linked, is then shared for reading, and then belongs to the thread
//! that takes it. Nodes live in an arena as long as the execution and are used once, so no address is reused.
//! pushed: the compare-and-swap of a push -> the load of a pop. linked: a producer stores `next` -> the consumer loads
//! it.

use super::Mutant;
use std::ptr::{self, null_mut};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_model::real::{AtomicPtr, UnsafeCell, spawn};

pub(crate) const STACK_MUTANTS: &[&str] = &[
    "stack: pushed with a relaxed swap",
    "stack: popped with a relaxed load",
    "stack: pop without comparing",
];

pub(crate) const QUEUE_MUTANTS: &[&str] = &[
    "queue: linked with a relaxed store",
    "queue: followed with a relaxed load",
    "queue: the end is loaded and stored, not swapped",
    "queue: tail swapped relaxed",
];

struct Node {
    next: AtomicPtr<Node>,
    value: UnsafeCell<u32>,
}

struct Arena(Vec<Node>);

// SAFETY: a node has one owner at a time, or is only read (I1).
unsafe impl Sync for Arena {}
// SAFETY: as for `Sync`.
unsafe impl Send for Arena {}

impl Arena {
    fn new(nodes: usize) -> Arena {
        Arena(
            (0..nodes)
                .map(|_| Node { next: AtomicPtr::new(null_mut()), value: UnsafeCell::new(0) })
                .collect(),
        )
    }

    fn make(&self, at: usize, value: u32) -> *mut Node {
        // SAFETY: not linked yet (I1).
        self.0[at].value.with_mut(|cell| unsafe { *cell = value });
        ptr::from_ref(&self.0[at]).cast_mut()
    }
}

struct Stack {
    top: AtomicPtr<Node>,
    arena: Arena,
    mutant: Mutant,
}

impl Stack {
    fn push(&self, at: usize, value: u32) {
        let node = self.arena.make(at, value);
        let mut top = self.top.load(Relaxed);
        loop {
            self.arena.0[at].next.store(top, Relaxed);
            // EDGE pushed (release): the node's value and its next.
            let order = self.mutant.order("stack: pushed with a relaxed swap", Release);
            match self.top.compare_exchange_weak(top, node, order, Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        let acquire = self.mutant.order("stack: popped with a relaxed load", Acquire);
        // EDGE pushed (acquire): the node's value and its next.
        let mut top = self.top.load(acquire);
        while !top.is_null() {
            // SAFETY: the arena lives as long as the stack (I1).
            let node = unsafe { &*top };
            let next = node.next.load(Relaxed);
            if self.mutant.is("stack: pop without comparing") {
                self.top.store(next, Relaxed);
            } else if let Err(now) = self.top.compare_exchange(top, next, acquire, acquire) {
                top = now;
                continue;
            }
            // SAFETY: taken off, it belongs to this thread (I1).
            return Some(node.value.with_mut(|value| unsafe { std::mem::take(&mut *value) }));
        }
        None
    }
}

/// Two threads push; one of them and the first thread pop. Every value is popped once.
pub(crate) fn stack(mutant: Mutant) {
    let stack = Arc::new(Stack { top: AtomicPtr::new(null_mut()), arena: Arena::new(2), mutant });
    let other = {
        let stack = Arc::clone(&stack);
        spawn(move || {
            stack.push(0, 1);
            stack.pop()
        })
    };
    stack.push(1, 2);
    let mine = stack.pop();
    let theirs = other.join().unwrap();
    let mut all: Vec<u32> = [mine, theirs].into_iter().flatten().collect();
    all.extend(std::iter::from_fn(|| stack.pop()));
    all.sort_unstable();
    assert_eq!(all, [1, 2]);
}

struct Queue {
    /// Where the next producer links its node.
    end: AtomicPtr<Node>,
    arena: Arena,
    mutant: Mutant,
}

impl Queue {
    fn push(&self, at: usize, value: u32) {
        let m = self.mutant;
        let node = self.arena.make(at, value);
        let before = if m.is("queue: the end is loaded and stored, not swapped") {
            let before = self.end.load(Acquire);
            self.end.store(node, Release);
            before
        } else {
            // The predecessor exists: its maker's swap is the edge `end`.
            // EDGE end (acquire): that node's creation. EDGE end (release): this one's.
            self.end.swap(node, m.order("queue: tail swapped relaxed", AcqRel))
        };
        // SAFETY: the arena lives as long as the queue (I1).
        let before = unsafe { &*before };
        if m.is("queue: tail swapped relaxed") {
            // What the edge `end` orders: the producer may read what the one before it has written.
            // SAFETY: read, while its maker may still write (the mutant's race).
            before.value.with(|value| unsafe { *value });
        }
        // EDGE linked (release): the node's value.
        before.next.store(node, m.order("queue: linked with a relaxed store", Release));
    }

    /// The values after `from` that are linked.
    fn drain(&self, from: *mut Node) -> Vec<u32> {
        let mut values = Vec::new();
        let mut at = from;
        loop {
            // SAFETY: the arena lives as long as the queue (I1).
            let node = unsafe { &*at };
            // EDGE linked (acquire): the next node's value.
            at = node.next.load(self.mutant.order("queue: followed with a relaxed load", Acquire));
            if at.is_null() {
                return values;
            }
            // SAFETY: the arena lives as long as the queue (I1).
            let next = unsafe { &*at };
            // SAFETY: linked, so read only (I1).
            values.push(next.value.with(|value| unsafe { *value }));
        }
    }
}

/// Two producers against one consumer, which looks once while they work and once after.
pub(crate) fn queue(mutant: Mutant) {
    let arena = Arena::new(3);
    let first = ptr::from_ref(&arena.0[0]).cast_mut();
    let queue = Arc::new(Queue { end: AtomicPtr::new(first), arena, mutant });
    let producers = [1, 2].map(|at| {
        let queue = Arc::clone(&queue);
        spawn(move || queue.push(at, at as u32))
    });
    let first = ptr::from_ref(&queue.arena.0[0]).cast_mut();
    let seen = queue.drain(first);
    for producer in producers {
        producer.join().unwrap();
    }
    let all = queue.drain(first);
    assert_eq!(all[..seen.len()], seen[..], "what was seen stays");
    assert_eq!(all.iter().sum::<u32>(), 3, "both come out");
}
