//! Floyd's method: one draw a member, memory of the sample's size.
//!
//! # State
//! An open table of the members by hash, and the members in the order of their choice. A slot is empty unless its stamp
//! is the current sample's number, so that clearing it costs nothing.
//! # Invariants
//! T1: the table has at least twice as many slots as members, so that a probe ends.

use crate::rng::Rng;

/// Samples of bounded size from a population of any size.
#[derive(Clone, Debug)]
pub struct Floyd {
    population: u32,
    members: Vec<u32>,
    largest: u32,
    /// Stamp and member.
    slots: Vec<(u32, u32)>,
    stamp: u32,
}

impl Floyd {
    /// Makes room for samples of up to `largest` of `0..population`.
    #[must_use]
    pub fn new(population: u32, largest: u32) -> Floyd {
        let slots = (2 * largest as usize).next_power_of_two().max(2);
        Floyd {
            population,
            members: Vec::with_capacity(largest as usize),
            largest,
            slots: vec![(0, 0); slots],
            stamp: 0,
        }
    }

    /// `n` distinct members: every subset equally likely, but not every order of it.
    ///
    /// # Panics
    /// If `n` is more than the `largest` of the construction, or than the population.
    pub fn sample(&mut self, n: u32, rng: &mut Rng) -> &[u32] {
        assert!(
            n <= self.largest.min(self.population),
            "a sample of {n}, room for {}",
            self.largest
        );
        self.clear();
        for top in self.population - n..self.population {
            let member = rng.below(u64::from(top) + 1) as u32;
            if !self.insert(member) {
                self.insert(top);
            }
        }
        &self.members
    }

    /// The last sample in random order.
    pub fn shuffled(&mut self, rng: &mut Rng) -> &[u32] {
        rng.shuffle(&mut self.members);
        &self.members
    }

    fn clear(&mut self) {
        self.members.clear();
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.slots.fill((0, 0));
            self.stamp = 1;
        }
    }

    /// Whether the member was new.
    fn insert(&mut self, member: u32) -> bool {
        let mask = self.slots.len() - 1;
        let mut at = (u64::from(member).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.slots[at].0 == self.stamp {
            if self.slots[at].1 == member {
                return false;
            }
            at = (at + 1) & mask;
        }
        self.slots[at] = (self.stamp, member);
        self.members.push(member);
        debug_assert!(2 * self.members.len() <= self.slots.len(), "T1");
        true
    }
}
