//! Floyd's method: one draw per member, memory proportional to the sample.
//!
//! # State
//! A hash table of the members with open addressing, and the members in the order of their choice. A slot is empty
//! unless its stamp is the current sample's number, so clearing the table costs nothing.
//! # Invariants
//! T1: the table has at least twice as many slots as members, so every probe ends.

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
    /// Allocates for samples of up to `largest` of `0..population`.
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
    /// If `n` exceeds the `largest` of the construction, or the population.
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

    /// Inserts a member; returns whether it is new.
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
