//! How many cells every structure of this process has, and what changes them.
//!
//! # State
//! One decision in one word, by the first structure that needs cells; all later ones follow it. No thread waits for
//! another to decide: a child of a fork would wait forever.
//! # Edges
//! decided: decide -> here, decide. Carries what sections need to know.

use crate::backend::{Backend, Why};
use crate::section;
#[cfg(unc_model)]
use crate::section::with_decision;
use uncontended_atomic::AtomicU32;
use uncontended_atomic::Ordering::{AcqRel, Acquire};

/// How many cells a structure has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Cells for CPUs; they come first.
    pub(crate) cpus: usize,
    /// Cells for threads that have none of a CPU.
    shards: usize,
    /// Why there are none for CPUs.
    why: Option<Why>,
}

/// Where threads have cells of CPUs, few need another.
const SHARDS_BESIDE_CPUS: usize = if cfg!(unc_model) { 1 } else { 4 };
const SHARDS_ALONE: usize = if cfg!(unc_model) { 1 } else { 32 };

const UNDECIDED: u32 = 0;
/// The first reason; the number of CPUs is added to the last.
const REFUSED: u32 = 1;
const CPUS: u32 = REFUSED + Why::ALL.len() as u32;

impl Shape {
    /// That of this process.
    #[inline]
    pub(crate) fn here() -> Shape {
        with_decision(|word| {
            // EDGE decided (acquire)
            match word.load(Acquire) {
                UNDECIDED => decide(word),
                decided => Shape::read(decided),
            }
        })
    }

    #[inline]
    fn read(decided: u32) -> Shape {
        match decided.checked_sub(CPUS) {
            Some(cpus) => Shape { cpus: cpus as usize, shards: SHARDS_BESIDE_CPUS, why: None },
            None => {
                let why = Some(Why::ALL[(decided - REFUSED) as usize]);
                Shape { cpus: 0, shards: SHARDS_ALONE, why }
            }
        }
    }

    pub(crate) fn backend(self) -> Backend {
        self.why.map_or(Backend::Sequences { cpus: self.cpus as u32 }, Backend::Shards)
    }

    pub(crate) fn len(self) -> usize {
        self.cpus + self.shards
    }

    /// The numbers of the shards, from the thread's own on.
    pub(crate) fn shards(self) -> impl Iterator<Item = usize> {
        thread_local!(static MARK: u8 = const { 0 });
        // Threads have their thread-locals in different places; Fibonacci hashing spreads these.
        let at = MARK.with(|mark| std::ptr::from_ref(mark).addr() as u64);
        let first = (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        (0..self.shards).map(move |n| self.cpus + first.wrapping_add(n) % self.shards)
    }
}

#[cold]
fn decide(word: &AtomicU32) -> Shape {
    let mine = match section::decide() {
        Ok(cpus) => CPUS + cpus,
        Err(why) => {
            REFUSED + Why::ALL.iter().position(|&any| any == why).expect("it lists all") as u32
        }
    };
    // EDGE decided (release), EDGE decided (acquire)
    match word.compare_exchange(UNDECIDED, mine, AcqRel, Acquire) {
        Ok(_) => Shape::read(mine),
        Err(first) => Shape::read(first),
    }
}

#[cfg(not(unc_model))]
#[inline(always)]
fn with_decision<R>(f: impl FnOnce(&AtomicU32) -> R) -> R {
    static DECIDED: AtomicU32 = AtomicU32::new(UNDECIDED);
    f(&DECIDED)
}
