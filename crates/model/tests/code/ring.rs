//! A ring with two slots, one producer and one consumer.
//!
//! I1: `tail - head` is at most 2. I2: slots from `head` to `tail` are the consumer's, the others the producer's.
//! publish: `push` stores tail -> `pop` loads tail. vacate: `pop` stores head -> `push` loads head.

use super::Mutant;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_model::real::{AtomicUsize, UnsafeCell, spawn, spin_loop};

pub(crate) const MUTANTS: &[&str] = &[
    "ring: publish is relaxed",
    "ring: publish is read relaxed",
    "ring: vacate is relaxed",
    "ring: vacate is read relaxed",
    "ring: publish before the slot is written",
    "ring: vacate before the slot is read",
    "ring: one slot too many",
];

struct Ring {
    head: AtomicUsize,
    tail: AtomicUsize,
    slots: [UnsafeCell<u32>; 2],
    mutant: Mutant,
}

// SAFETY: a slot belongs to one side at a time (I2).
unsafe impl Sync for Ring {}

impl Ring {
    fn push(&self, value: u32) -> bool {
        let m = self.mutant;
        let tail = self.tail.load(Relaxed);
        // EDGE vacate (acquire): the consumer has finished reading the freed slot.
        let head = self.head.load(m.order("ring: vacate is read relaxed", Acquire));
        if tail - head == 2 + usize::from(m.is("ring: one slot too many")) {
            return false;
        }
        let early = m.is("ring: publish before the slot is written");
        if early {
            self.tail.store(tail + 1, Release);
        }
        // SAFETY: there is room, so the slot is the producer's (I2).
        self.slots[tail % 2].with_mut(|slot| unsafe { *slot = value });
        if !early {
            // EDGE publish (release): a `pop` that sees this tail sees the value.
            self.tail.store(tail + 1, m.order("ring: publish is relaxed", Release));
        }
        true
    }

    fn pop(&self) -> Option<u32> {
        let m = self.mutant;
        let head = self.head.load(Relaxed);
        // EDGE publish (acquire): the slot has been written.
        if self.tail.load(m.order("ring: publish is read relaxed", Acquire)) == head {
            return None;
        }
        let early = m.is("ring: vacate before the slot is read");
        if early {
            self.head.store(head + 1, Release);
        }
        // SAFETY: the ring is not empty, so the slot is the consumer's (I2).
        let value = self.slots[head % 2].with(|slot| unsafe { *slot });
        if !early {
            // EDGE vacate (release): the slot has been read.
            self.head.store(head + 1, m.order("ring: vacate is relaxed", Release));
        }
        Some(value)
    }
}

/// Three values through two slots, in order.
pub(crate) fn scenario(mutant: Mutant) {
    let slots = [UnsafeCell::new(0), UnsafeCell::new(0)];
    let ring =
        Arc::new(Ring { head: AtomicUsize::new(0), tail: AtomicUsize::new(0), slots, mutant });
    let producer = {
        let ring = Arc::clone(&ring);
        spawn(move || {
            for value in 1..=3 {
                while !ring.push(value) {
                    spin_loop();
                }
            }
        })
    };
    for expected in 1..=3 {
        let value = loop {
            match ring.pop() {
                Some(value) => break value,
                None => spin_loop(),
            }
        };
        assert_eq!(value, expected);
    }
    assert_eq!(ring.pop(), None);
    producer.join().unwrap();
}
