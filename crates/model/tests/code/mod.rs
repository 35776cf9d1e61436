//! Lock-free code as in a library, written against the stand-ins, with typical bugs as mutants.

use std::sync::atomic::Ordering;

pub(crate) mod event_count;
pub(crate) mod hazard;
pub(crate) mod lock;
pub(crate) mod queue;
pub(crate) mod ring;

/// The bug in an algorithm, by name; `""` is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mutant(pub(crate) &'static str);

impl Mutant {
    pub(crate) fn is(self, name: &str) -> bool {
        self.0 == name
    }

    /// `order`, or Relaxed in the mutant of this name.
    pub(crate) fn order(self, name: &str, order: Ordering) -> Ordering {
        if self.is(name) { Ordering::Relaxed } else { order }
    }
}
